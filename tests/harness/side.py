# SPDX-License-Identifier: ISC
"""One implementation under measurement: what ./bench and ./try share."""
import os
import subprocess
import time
from pathlib import Path

from . import measure, world
from .client import Ssh
from .server import Sshd


def memory_file(w):
    """A path for data that stays in memory where the machine has a place for that."""
    base = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else w.tmp
    return base / f"bowline-data-{os.getpid()}"


class Side:
    """Its server, kept running, and its client's command line; run() measures one command."""

    def __init__(self, name, w, tested=None, old_ciphers=False):
        """old_ciphers: the server takes every one that it knows, in place of its defaults."""
        self.name, self.world, self.tested, self.old_ciphers = name, w, tested, old_ciphers
        self.server_cpu, self.client_cpu = measure.Group(name + "-server"), measure.Group(name + "-client")
        self.server = self.client = None

    def make_server(self, path=None):
        lines = ["MaxStartups 200"]
        if self.old_ciphers:
            lines.append("Ciphers " + ",".join(self.tested.query("cipher")))
        return Sshd(self.world, self.tested, lines, link=path, log_level="INFO")

    def start(self):
        self.server = self.make_server()
        launch, enter = self.server.launch, self.server_cpu.enter
        self.server.launch = lambda command, **kw: launch(command, preexec_fn=enter, **kw)
        self.server.start()

    def stop(self):
        if self.server:
            self.server.stop()
        self.server_cpu.close()
        self.client_cpu.close()

    def command(self, remote, options=(), server=None, kind="ed25519"):
        server = server or self.server
        return [*Ssh(self.world, self.tested).command(server, options, debug=False, kind=kind)[0], remote]

    def speed_command(self, cipher, mib):
        """ssh-speed with one cipher, JSON on stdout."""
        _, *options, host = Ssh(self.world, self.tested).command(self.server, debug=False)[0]
        return [self.tested.speed, *options, "-c", cipher, "--size", str(mib), "--json", host]

    def run(self, command, stdin=None, out=None):
        """(seconds, client CPU, server CPU) of one run; out: a path for stdout."""
        env = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
        standing = len(self.server_cpu.members())
        before = self.client_cpu.seconds(), self.server_cpu.seconds()
        source = open(stdin, "rb") if stdin else subprocess.DEVNULL
        sink = open(out, "wb") if out else subprocess.DEVNULL
        begin = time.monotonic()
        child = subprocess.Popen(command, stdin=source, stdout=sink, stderr=subprocess.PIPE,
                                 preexec_fn=self.client_cpu.enter, env=env)
        err = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        took = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if not self.client_cpu.exact:
            self.client_cpu.add(usage)
        if stdin:
            source.close()
        if out:
            sink.close()
        if child.returncode != 0:
            raise RuntimeError(f"{self.name}: {' '.join(command)}: {err.decode(errors='replace')}")
        # the server's side of the connection ends a little later, and its time counts too
        world.wait_until(lambda: len(self.server_cpu.members()) <= standing, 0.5, 0.005)
        return took, self.client_cpu.seconds() - before[0], self.server_cpu.seconds() - before[1]

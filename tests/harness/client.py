# SPDX-License-Identifier: ISC
"""Clients: ssh (ours or OpenSSH's) as a function from a command to its result."""
import fcntl
import os
import pty
import re
import select
import subprocess
import termios
import time
from dataclasses import dataclass
from pathlib import Path

from . import server as servers
from . import world


@dataclass
class Result:
    status: int | None          # exit status of the remote command, None when a signal ended it
    signal: str | None
    out: bytes
    err: str
    rekeys: int | None = None   # key exchanges after the first, None when the client cannot tell
    log: str = ""

    def __str__(self):
        tail = "\n".join(self.log.splitlines()[-15:])
        return f"status {self.status} signal {self.signal}\nstdout {self.out[:300]!r}\nstderr {self.err[-1500:]}\n{tail}"


def feed(command, stdin, timeout, env=None, out=None):
    """Runs a command; stdin: bytes, a path, or None; out: a path for stdout or None to keep it."""
    env = {**{k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}, **(env or {})}
    source = open(stdin, "rb") if isinstance(stdin, Path) else None
    sink = open(out, "wb") if out else subprocess.PIPE
    process = subprocess.Popen(command, env=env, start_new_session=True, stderr=subprocess.PIPE, stdout=sink,
                               stdin=source or (subprocess.DEVNULL if stdin is None else subprocess.PIPE))
    try:
        got, err = process.communicate(stdin if isinstance(stdin, bytes) else None, timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        got, err = process.communicate()
        err += b"\n*** took too long"
    finally:
        if source:
            source.close()
        if out:
            sink.close()
    world.end(process)
    return process.returncode, got or b"", err.decode(errors="replace")


def feed_tty(command, stdin, timeout, env=None):
    """The same with a terminal of its own for the three descriptors; stderr is part of the output."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    process = subprocess.Popen(command, env={**os.environ, **(env or {})}, start_new_session=True, stdin=slave,
                               stdout=slave, stderr=slave, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    got, until, typed = b"", time.monotonic() + timeout, False
    while time.monotonic() < until:
        if select.select([master], [], [], 0.2)[0]:
            try:
                block = os.read(master, 1 << 16)
            except OSError:
                break
            if not block:
                break
            got += block
            if not typed and b"/dev/" in got:   # what is typed before the far side reads may be dropped
                os.write(master, stdin)
                typed = True
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        got += b"\n*** took too long"
    world.end(process)
    os.close(master)
    return process.returncode, got, ""


class Ssh:
    """The ssh program.  Password logins go through SSH_ASKPASS."""
    can_rekey, tells_signal = True, False

    def __init__(self, w, programs):
        self.world, self.programs, self.name = w, programs, programs.name

    def command(self, server, options=(), auth="key", kind="ed25519", pty=False, debug=True, hosts=True):
        folder = world.scratch("ssh")
        known = servers.known_hosts(server, folder / "known_hosts")
        log = folder / "log"
        command = [self.programs.ssh, "-F", "none", "-p", str(server.port), "-l", server.user]
        command += ["-v", "-E", str(log)] if debug else []
        options = ["GlobalKnownHostsFile=none", "IdentitiesOnly=yes", *options]
        if hosts:
            options += [f"UserKnownHostsFile={known}", "StrictHostKeyChecking=yes"]
        if auth == "key":
            command += ["-i", str(self.world.keys.path(kind))]
            options += ["PreferredAuthentications=publickey", "BatchMode=yes"]
        else:
            options += ["PreferredAuthentications=password", "PubkeyAuthentication=no", "NumberOfPasswordPrompts=1"]
        for option in options:
            command += ["-o", option]
        if server.link:
            command = [*server.link.prefix("client"), *command]
        return [*command, *(["-tt"] if pty else []), server.host], log, folder

    def environment(self, server, auth, folder):
        """What the command of the same `auth` needs beyond os.environ."""
        if auth != "password":
            return {}
        ask = folder / "askpass"
        ask.write_text(f"#!/bin/sh\necho '{server.password}'\n")
        ask.chmod(0o700)
        return {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}

    def run(self, server, remote, stdin=None, auth="key", pty=False, rekey=None, options=(), kind="ed25519",
            timeout=120, out=None):
        options = [*options, *([f"RekeyLimit={rekey}"] if rekey else [])]
        command, log, folder = self.command(server, options, auth, kind, pty)
        code, got, err = feed([*command, remote], stdin, timeout, self.environment(server, auth, folder), out)
        text = log.read_text(errors="replace") if log.exists() else ""
        rekeys = len(re.findall(r"SSH2_MSG_NEWKEYS sent", text)) - 1
        return Result(code, None, got, err, rekeys, text)

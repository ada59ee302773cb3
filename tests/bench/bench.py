#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Bowline against the installed OpenSSH and Dropbear, in one run, interleaved, medians.

    bench.py [--rounds N] [--mib N] [--only bulk,login,roundtrips,memory] [--json FILE]

Each program talks to its own server on loopback.  Data is random, in memory, and goes to /dev/null.
CPU time is that of the client's tree and of the server's tree, apart.
"""
import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "interop")]
sys.dont_write_bytecode = True

import peers                                            # noqa: E402
from harness import link, measure, programs, world      # noqa: E402
from harness.client import Ssh                          # noqa: E402
from harness.server import Sshd                         # noqa: E402

BULK = (("aes128-gcm", ["Ciphers=aes128-gcm@openssh.com"]),
        ("chacha20-poly1305", ["Ciphers=chacha20-poly1305@openssh.com"]),
        ("aes128-ctr+sha2-256-etm", ["Ciphers=aes128-ctr", "MACs=hmac-sha2-256-etm@openssh.com"]))
GIB = 1 << 30


class Side:
    """One implementation: its server, kept running, and its client's command line."""

    def __init__(self, name, w, tested=None):
        self.name, self.world, self.tested = name, w, tested
        self.server_cpu, self.client_cpu = measure.Group(name + "-server"), measure.Group(name + "-client")
        self.server = self.client = None

    def make_server(self, path=None):
        if self.tested:
            return Sshd(self.world, self.tested, ["MaxStartups 200", "LogLevel INFO"], link=path,
                        log_level="INFO")
        return peers.DropbearServer(self.world, link=path)

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

    def command(self, remote, options=(), server=None):
        server = server or self.server
        if self.tested:
            return [*Ssh(self.world, self.tested).command(server, options, debug=False)[0], remote]
        self.client = self.client or peers.DropbearClient(self.world)
        prefix = server.link.prefix("client") if server.link else []
        return [*prefix, peers.find("dbclient"), "-y", "-y", "-p", str(server.port), "-i", str(self.client.key),
                f"{server.user}@{server.host}", remote]

    def run(self, command, stdin=None):
        """(seconds, client CPU, server CPU) of one run."""
        env = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
        standing = len(self.server_cpu.members())
        before = self.client_cpu.seconds(), self.server_cpu.seconds()
        source = open(stdin, "rb") if stdin else subprocess.DEVNULL
        begin = time.monotonic()
        child = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 preexec_fn=self.client_cpu.enter, env=env)
        err = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        took = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if not self.client_cpu.exact:
            self.client_cpu.add(usage)
        if stdin:
            source.close()
        if child.returncode != 0:
            raise RuntimeError(f"{self.name}: {' '.join(command)}: {err.decode(errors='replace')}")
        # the server's side of the connection ends a little later, and its time counts too
        world.wait_until(lambda: len(self.server_cpu.members()) <= standing, 0.5, 0.005)
        return took, self.client_cpu.seconds() - before[0], self.server_cpu.seconds() - before[1]


def median(rows):
    return [statistics.median(column) for column in zip(*rows)]


def bulk(sides, payload, rounds, report):
    size = payload.stat().st_size
    for way in ("up", "down"):
        for name, options in BULK:
            rows = {side.name: [] for side in sides if side.tested}
            for _ in range(rounds):
                for side in sides:
                    if side.tested:
                        remote = "cat >/dev/null" if way == "up" else f"cat {payload}"
                        rows[side.name].append(side.run(side.command(remote, options), payload if way == "up" else None))
            for side, values in rows.items():
                took, client, server = median(values)
                report(f"{way} {name}", "MB/s", side, size / 1e6 / took)
                report(f"{way} {name}", "client CPU-s/GB", side, client * 1e9 / size)
                report(f"{way} {name}", "server CPU-s/GB", side, server * 1e9 / size)
                report(f"{way} {name}", "CPU-s/GB", side, (client + server) * 1e9 / size)


def logins(sides, rounds, report):
    rows = {side.name: [] for side in sides}
    for _ in range(3 * rounds):
        for side in sides:
            rows[side.name].append(side.run(side.command("true")))
    for side, values in rows.items():
        took, client, server = median(values)
        report("login", "ms", side, took * 1000)
        report("login", "client CPU-ms", side, client * 1000)
        report("login", "server CPU-ms", side, server * 1000)
        report("login", "CPU-ms", side, (client + server) * 1000)
    each, rates, refused = 5, {side.name: [] for side in sides}, {side.name: 0 for side in sides}
    for _ in range(max(3, rounds // 2)):
        for side in sides:
            commands = [side.command("true") for _ in range(8)]

            def work(i, commands=commands, name=side.name):
                left, tries = each, 0
                while left and tries < 20 * each:
                    tries += 1
                    done = subprocess.run(commands[i], stdin=subprocess.DEVNULL, capture_output=True)
                    left -= done.returncode == 0
                    refused[name] += done.returncode != 0
                if left:
                    raise RuntimeError(f"{name}: login fails: {done.stderr.decode(errors='replace')}")
            rates[side.name].append(8 * each / measure.in_parallel(8, work))
    for side, values in rates.items():
        report("8 clients", "logins/s", side, statistics.median(values))
        report("8 clients", "refused, retried", side, refused[side])


def round_trips(sides, rounds, report):
    why = link.why_not()
    if why:
        print(f"round trips: not measured, {why}")
        return
    times = {side.name: {} for side in sides}
    for rtt in (0, 100):
        with link.Link(rtt) as path:
            servers = []
            try:
                for side in sides:
                    servers.append(side.make_server(path).start())
                taken = {side.name: [] for side in sides}
                for _ in range(rounds + 2):
                    for side, server in zip(sides, servers):
                        command = side.command("true", server=server)
                        begin = time.monotonic()
                        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
                        taken[side.name].append(time.monotonic() - begin)
                for name, values in taken.items():
                    times[name][rtt] = statistics.median(values)
            finally:
                for server in servers:
                    server.stop()
    for name, t in times.items():
        report("login", "round trips", name, (t[100] - t[0]) / 0.1)


def memory(sides, report):
    """PSS of the processes that one idle session adds to the server, without the user's command."""
    for side in sides:
        before = set(measure.tree(side.server.process.pid))
        client = subprocess.Popen(side.command("echo in; exec sleep 60"), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        client.stdout.readline()
        time.sleep(1.5)
        new = [p for p in measure.tree(side.server.process.pid) if p not in before]
        ours = [p for p in new if Path(f"/proc/{p}/comm").read_text().strip() not in ("sleep", "sh", "dash", "bash")]
        report("idle session", "server KiB PSS", side.name, sum(measure.pss_kib(p) for p in ours))
        report("idle session", "client KiB PSS", side.name, measure.pss_kib(client.pid))
        client.terminate()
        client.wait()
        client.stdout.close()
        for pid in new:         # without a terminal the command outlives its connection
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass


BARS = {        # what is promised against the installed OpenSSH: (row, unit) -> (at least / at most, ratio)
    ("up aes128-gcm", "MB/s"): (">=", 2.5), ("down aes128-gcm", "MB/s"): (">=", 2.5),
    ("up aes128-gcm", "CPU-s/GB"): ("<=", 0.45), ("down aes128-gcm", "CPU-s/GB"): ("<=", 0.45),
    ("up chacha20-poly1305", "MB/s"): (">=", 2.0), ("down chacha20-poly1305", "MB/s"): (">=", 2.0),
    ("login", "CPU-ms"): ("<=", 0.2), ("8 clients", "logins/s"): (">=", 4.0),
    ("idle session", "server KiB PSS"): ("<=", 0.4),
}


def table(figures, names, first):
    print(f"\n{'':30}{'':17}" + "".join(f"{n:>14}" for n in names) + "   ratio  bar")
    for (row, unit), values in figures.items():
        cells = "".join(f"{values[n]:14.{2 if values[n] < 100 else 0}f}" if n in values else f"{'-':>14}" for n in names)
        text = ""
        if first != "openssh" and first in values and values.get("openssh"):
            ratio = values[first] / values["openssh"]
            text = f"{ratio:8.2f}"
            if (row, unit) in BARS:
                sign, bar = BARS[row, unit]
                met = ratio >= bar if sign == ">=" else ratio <= bar
                text += f"  {sign} {bar} {'met' if met else 'MISSED'}"
        print(f"{row:30}{unit:17}{cells}{text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("--only", default="bulk,login,roundtrips,memory")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    tested, installed = programs.under_test(), programs.installed()
    w = world.World.make((installed or tested).keygen, payload_mib=1)
    base = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else w.tmp
    payload = base / f"bowline-bench-{os.getpid()}"
    sides, figures = [], {}

    def report(row, unit, side, value):
        figures.setdefault((row, unit), {})[side] = value
    try:
        with open(payload, "wb") as f:
            for _ in range(arguments.mib):
                f.write(os.urandom(1 << 20))
        sides.append(Side(tested.name, w, tested))
        if installed and tested != installed:
            sides.append(Side("openssh", w, installed))
        if w.account.private:
            sides.append(Side("dropbear", w))
        for side in sides:
            side.start()
        wanted = arguments.only.split(",")
        if "bulk" in wanted:
            bulk(sides, payload, arguments.rounds, report)
        if "login" in wanted:
            logins(sides, arguments.rounds, report)
        if "roundtrips" in wanted:
            round_trips(sides, arguments.rounds, report)
        if "memory" in wanted:
            memory(sides, report)
    finally:
        payload.unlink(missing_ok=True)
        for side in sides:
            side.stop()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs, Linux {platform.release()}; "
          f"{arguments.mib} MiB, medians of {arguments.rounds} and more; "
          f"CPU by {'control groups' if sides[0].server_cpu.exact else 'wait(2)'}")
    table(figures, [s.name for s in sides], sides[0].name)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({f"{r}|{u}": v for (r, u), v in figures.items()}, indent=1))


if __name__ == "__main__":
    main()

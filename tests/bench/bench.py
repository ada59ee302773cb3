#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Bowline against the installed OpenSSH and Dropbear, in one run, interleaved, medians.

    bench.py [--rounds N] [--mib N] [--only bulk,login,roundtrips,memory,ciphers,copy] [--json FILE] [PART...]

Parts by name do the same as --only; without either all but ciphers and copy run.  The options of copy: copying.py.

Each program talks to its own server on loopback.  Data is random, in memory, and goes to /dev/null.
CPU time is that of the client's tree and of the server's tree, apart.
"""
import argparse
import fcntl
import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "interop")]
sys.dont_write_bytecode = True

import ciphers                                          # noqa: E402
import copying                                          # noqa: E402
import peers                                            # noqa: E402
from harness import link, measure, programs, world      # noqa: E402
from harness.side import Side, memory_file              # noqa: E402

BULK = tuple((name, options) for name, options, _, _ in ciphers.PROTECTIONS
             if name in ("aes128-gcm", "chacha20-poly1305", "aes128-ctr hmac-sha2-256-etm"))


class DropbearSide(Side):
    def make_server(self, path=None):
        return peers.DropbearServer(self.world, link=path)

    def command(self, remote, options=(), server=None):
        server = server or self.server
        self.client = self.client or peers.DropbearClient(self.world)
        prefix = server.link.prefix("client") if server.link else []
        return [*prefix, peers.find("dbclient"), "-y", "-y", "-p", str(server.port), "-i", str(self.client.key),
                f"{server.user}@{server.host}", remote]


def median(rows):
    return [statistics.median(column) for column in zip(*rows)]


def transfers(sides, payload, rounds, report, name, options):
    """One packet protection, both directions: `name` and `options` of the client."""
    size = payload.stat().st_size
    for way in ("up", "down"):
        rows = {side.name: [] for side in sides}
        remote = "cat >/dev/null" if way == "up" else f"cat {payload}"
        for _ in range(rounds):
            for side in sides:
                rows[side.name].append(side.run(side.command(remote, options), payload if way == "up" else None))
        for side, values in rows.items():
            took, client, server = median(values)
            report(f"{way} {name}", "MB/s", side, size / 1e6 / took)
            report(f"{way} {name}", "client CPU-s/GB", side, client * 1e9 / size)
            report(f"{way} {name}", "server CPU-s/GB", side, server * 1e9 / size)
            report(f"{way} {name}", "CPU-s/GB", side, (client + server) * 1e9 / size)


def bulk(sides, payload, rounds, report):
    for name, options in BULK:
        transfers([side for side in sides if side.tested], payload, rounds, report, name, options)


def carried(make, mib=1024):
    """CPU-s/GB of bytes that one process writes into make()[1] and another reads from make()[0]."""
    block, begin = bytearray(256 * 1024), os.times()
    source, sink = make()
    children = []
    for work in ("read", "write"):
        child = os.fork()
        if child == 0:
            (sink if work == "read" else source).close()
            if work == "read":
                while source.readinto(block):
                    pass
            else:
                for _ in range(4 * mib):
                    sink.write(block)
            os._exit(0)
        children.append(child)
    source.close()
    sink.close()
    for child in children:
        os.waitpid(child, 0)
    end = os.times()
    return (end.children_user + end.children_system - begin.children_user - begin.children_system) * 1e9 / (mib << 20)


def make_pipe():
    r, w = os.pipe()
    fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 1 << 20)
    return open(r, "rb", buffering=0), open(w, "wb", buffering=0)


def make_tcp():
    with socket.create_server(("127.0.0.1", 0)) as s:
        client = socket.create_connection(s.getsockname())
        server, _ = s.accept()
    ends = server.makefile("rb", buffering=0), client.makefile("wb", buffering=0)
    server.close()
    client.close()      # the files keep them open
    return ends


def floor(rounds, report):
    """What the bytes cost on this machine without SSH: the network, and the pipe of the remote command."""
    for name, make in (("loopback TCP alone", make_tcp), ("a pipe alone", make_pipe)):
        report(name, "CPU-s/GB", "floor", statistics.median(carried(make) for _ in range(rounds)))


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
    times, path_ms = {side.name: {} for side in sides}, {}
    for rtt in (0, 100):
        with link.Link(rtt) as path:
            servers = []
            try:
                path_ms[rtt] = path.echo_ms()
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
        report("login", "round trips", name, (t[100] - t[0]) * 1000 / (path_ms[100] - path_ms[0]))


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


BARS = {        # what is promised: (row, unit) -> (at least / at most, ratio to the installed OpenSSH)
    ("login", "CPU-ms"): ("<=", 0.2), ("8 clients", "logins/s"): (">=", 4.0),
    ("idle session", "server KiB PSS"): ("<=", 0.4),
    **ciphers.bars(),
}
TRIPS = 6       # promised as such: round trips of a login


def table(figures, names, first):
    for (row, unit), values in figures.items():
        if "floor" in values:
            print(f"{row}: {values['floor']:.2f} {unit}")
    print(f"\n{'':34}{'':17}" + "".join(f"{n:>14}" for n in names) + "   ratio  bar")
    for (row, unit), values in figures.items():
        if "floor" in values:
            continue
        if "reference" in values:
            ratio, (sign, bar) = values[first] / values["reference"], values["bar"]
            met = ratio >= bar if sign == ">=" else ratio <= bar
            print(f"{row:34}{unit:17}{values[first]:14.2f}{'':{14 * (len(names) - 1)}}{ratio:8.2f}  {sign} {bar} of "
                  f"{values['reference']:.2f} {values['of']}: {'met' if met else 'MISSED'}")
            continue
        cells = "".join(f"{values[n]:14.{2 if values[n] < 100 else 0}f}" if n in values else f"{'-':>14}" for n in names)
        text = ""
        if first != "openssh" and first in values and values.get("openssh"):
            ratio = values[first] / values["openssh"]
            text = f"{ratio:8.2f}"
            if (row, unit) in BARS:
                sign, bar = BARS[row, unit]
                met = ratio >= bar if sign == ">=" else ratio <= bar
                text += f"  {sign} {bar} {'met' if met else 'MISSED'}"
            if (row, unit) == ("login", "CPU-ms") and "dropbear" in values:
                text += f", {'no more' if values[first] <= values['dropbear'] else 'MORE'} than dropbear"
            if unit == "round trips":
                text += f"  at most {TRIPS} {'met' if round(values[first], 1) <= TRIPS else 'MISSED'}"
        print(f"{row:34}{unit:17}{cells}{text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, help="512; 1024 for copy")
    parser.add_argument("--only", default="bulk,login,roundtrips,memory")
    parser.add_argument("part", nargs="*", help="bulk, login, roundtrips, memory, ciphers, copy")
    parser.add_argument("--json")
    copying.options(parser)
    arguments = parser.parse_args()
    wanted = arguments.part or arguments.only.split(",")
    tested, installed = programs.under_test(), programs.installed()
    w = world.World.make((installed or tested).keygen, payload_mib=1)
    if "copy" in wanted:
        rows = copying.run(w, tested, installed, arguments)
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(rows, indent=1))
        if wanted == ["copy"]:
            return
    payload, mib = memory_file(w), arguments.mib or 512
    sides, figures = [], {}

    def report(row, unit, side, value):
        figures.setdefault((row, unit), {})[side] = value
    try:
        world.fill(payload, mib)
        old_ciphers = "ciphers" in wanted
        sides.append(Side(tested.name, w, tested, old_ciphers))
        if installed and tested != installed:
            sides.append(Side("openssh", w, installed, old_ciphers))
        if w.account.private:
            sides.append(DropbearSide("dropbear", w))
        for side in sides:
            side.start()
        if "bulk" in wanted:
            floor(arguments.rounds, report)
            bulk(sides, payload, arguments.rounds, report)
        if "ciphers" in wanted:
            ciphers.measure([side for side in sides if side.tested], payload, arguments.rounds, report, transfers)
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
          f"{mib} MiB, medians of {arguments.rounds} and more; "
          f"CPU by {'control groups' if sides[0].server_cpu.exact else 'wait(2)'}")
    table(figures, [s.name for s in sides], sides[0].name)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({f"{r}|{u}": v for (r, u), v in figures.items()}, indent=1))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: ISC
"""scp, sftp and the sftp server against the installed OpenSSH: `./bench copy`.

Sources and destinations lie in memory, and a destination of bulk data was written before.  OpenSSH runs as Debian
ships it (its scp and sftp start ssh, its sshd starts sftp-server); ours logs in within its own process, and its sshd
serves by internal-sftp.  One and the other take turns; figures are medians.
"""
import json
import os
import pwd
import shutil
import statistics
import subprocess
import threading
import time
from pathlib import Path

from harness import link, measure, world
from harness.copier import Copy, make_tree, there
from harness.side import Side, memory_file
from harness.server import Sshd

GROUPS = ("bulk", "gcm", "foreign", "tree", "far", "list", "long", "memory")
GCM = ["Ciphers=aes128-gcm@openssh.com"]
BUFFERS = {"Debian's buffers": (6291456, 4194304), "64 MB buffers": (64 << 20, 64 << 20)}
MEMORY_BAR = 64         # MiB over idle
PROGRAMS = ("scp", "sftp")
WAYS = ("up", "down")


class Table:
    """Rows with the promise beside them: at least (>=) or at most (<=) `bar` times what `of` reached, or `bar` itself
    where of is None."""

    def __init__(self, first, names):
        self.first, self.names, self.rows = first, names, []

    def add(self, row, unit, values, sign=None, bar=None, of=None):
        self.rows.append({"row": row, "unit": unit, "values": values, "sign": sign, "bar": bar, "of": of})
        print(self.line(self.rows[-1]), flush=True)

    def head(self):
        return f"\n{'':60}{'':12}" + "".join(f"{n:>12}" for n in self.names) + "   ratio  bar"

    def line(self, r):
        values, text = r["values"], ""
        cells = "".join(f"{values[n]:12.{2 if values[n] < 100 else 0}f}" if n in values else f"{'-':>12}"
                        for n in self.names)
        mine, other = values.get(self.first), values.get(r["of"] or "openssh")
        ratio = mine / other if mine is not None and other else None
        if ratio is not None:
            text = f"{ratio:8.2f}"
        if r["sign"]:
            measured = ratio if r["of"] else mine
            met = measured is not None and (measured >= r["bar"] if r["sign"] == ">=" else measured <= r["bar"])
            of = f" of {r['of']}" if r["of"] not in (None, "openssh") else ""
            text = f"{text:8}  {r['sign']} {r['bar']:g}{of}: {'met' if met else 'MISSED'}"
        return f"{r['row']:60}{r['unit']:12}{cells}{text}"


class CopySide(Side):
    """One implementation: its client programs, and a server that has the sftp subsystem."""

    def __init__(self, name, w, tested):
        super().__init__(name, w, tested)
        self.copy = Copy(w, tested)

    def make_server(self, path=None):
        sftp = "internal-sftp" if self.tested.is_bowline else self.tested.sftp_server
        return Sshd(self.world, self.tested, ["MaxStartups 200", f"Subsystem sftp {sftp}"], link=path, log_level="INFO")

    def one(self, program, way, here, far, options=(), server=None):
        """The command that copies one file, or a tree where the program is scp -r."""
        server = server or self.server
        remote = there(server, far)
        if program == "sftp":
            return self.copy.sftp(server, f"put {here} {far}" if way == "up" else f"get {far} {here}", options=options)
        flags = ["-r"] if program == "scp -r" else []
        return self.copy.scp(server, "-q", *flags, *((here, remote) if way == "up" else (remote, here)), options=options)

    def tar(self, way, here, far):
        """The tree by tar through ssh."""
        def words(remote):
            return " ".join(f"'{w}'" for w in self.command(remote))
        if way == "up":
            return ["sh", "-c", f"tar cf - -C {here} . | {words(f'tar xf - -C {far}')}"]
        return ["sh", "-c", f"{words(f'tar cf - -C {far} .')} | tar xf - -C {here}"]

    def has(self, *names):
        """Whether the programs are there; says so where not."""
        for name in names:
            try:
                getattr(self.tested, name)
            except RuntimeError as e:
                print(f"not measured: {e}")
                return False
        return True


class Foreign(CopySide):
    """A client against the server of another side."""

    def __init__(self, name, w, tested, other):
        super().__init__(name, w, tested)
        self.server_cpu.close()
        self.other, self.server, self.server_cpu = other, other.server, other.server_cpu

    def stop(self):
        self.client_cpu.close()


class Bench:
    def __init__(self, w, tested, installed, arguments):
        self.world, self.arguments = w, arguments
        self.rounds, self.mib = arguments.rounds, arguments.mib or 1024
        first = tested.name if tested != installed else "tested"
        self.ours, self.theirs = CopySide(first, w, tested), CopySide("openssh", w, installed)
        self.sides = [self.ours, self.theirs]
        self.table = Table(first, [first, "openssh", "iperf3"])
        self.top = memory_file(w)
        self.user = pwd.getpwnam(w.account.user)

    def given(self, path):
        """The path belongs to the account now."""
        os.chown(path, self.user.pw_uid, self.user.pw_gid)
        return path

    def fresh(self, name):
        """An empty directory that the account may fill."""
        path = self.top / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=0o755)
        return self.given(path)

    def cleared(self, name):
        shutil.rmtree(self.top / name, ignore_errors=True)

    def medians(self, sides, run, rounds=None):
        """run(side) for all in turn, `rounds` times: the medians of its columns for each."""
        rows = {side.name: [] for side in sides}
        for _ in range(rounds or self.rounds):
            for side in sides:
                rows[side.name].append(run(side))
        return {name: [statistics.median(c) for c in zip(*r)] for name, r in rows.items()}


# -- bulk data on loopback

def bulk_rows(b, sides, what, options, places, bars):
    """places: way -> (here, far, the file that was written or None); bars: (MB/s, CPU-s/GB or None)."""
    size = (b.top / "payload").stat().st_size
    for program in PROGRAMS:
        if not all(side.has(program) for side in sides):
            continue
        for way, (here, far, written) in places.items():
            def run(side):
                took = side.run(side.one(program, way, here, far, options))
                if written and written.stat().st_size != size:
                    raise RuntimeError(f"{side.name}: {written} has {written.stat().st_size} bytes")
                return took
            got = b.medians(sides, run)
            if written and world.sha256_file(written) != b.digest:
                raise RuntimeError(f"{program} {way}: {written} is not what was sent")
            first, other = got[sides[0].name], got[sides[1].name]
            named = ((b.table.first, first), ("openssh", other))
            row = f"{program} {way}, {what}"
            b.table.add(row, "MB/s", {n: size / 1e6 / g[0] for n, g in named}, ">=", bars[0], "openssh")
            for i, end in ((1, "client"), (2, "server")):
                b.table.add(row, f"{end} s/GB", {n: g[i] * 1e9 / size for n, g in named})
            b.table.add(row, "CPU-s/GB", {n: (g[1] + g[2]) * 1e9 / size for n, g in named},
                        "<=" if bars[1] else None, bars[1], "openssh")


def bulk_files(b):
    """(here, far, written) for RAM files that were written before."""
    payload = b.top / "payload"
    if not payload.exists():
        world.fill(payload, b.mib)
        for name in ("up", "down"):
            shutil.copyfile(payload, b.top / name)
        b.given(b.top / "up")
        b.digest = world.sha256_file(payload)
    return {"up": (payload, b.top / "up", b.top / "up"), "down": (b.top / "down", payload, b.top / "down")}


def bulk(b):
    bulk_rows(b, b.sides, f"{b.mib} MiB", [], bulk_files(b), (5, 0.25))


def gcm(b):
    bulk_files(b)
    payload = b.top / "payload"
    places = {"up": (payload, "/dev/null", None), "down": ("/dev/null", payload, None)}
    bulk_rows(b, b.sides, f"{b.mib} MiB to /dev/null, aes128-gcm", GCM, places, (5, 0.2))


def foreign(b):
    """Our client with OpenSSH's sshd, OpenSSH's client with the same."""
    mixed = Foreign("mixed", b.world, b.ours.tested, b.theirs)
    try:
        places, null = bulk_files(b), {"up": (b.top / "payload", "/dev/null", None)}
        bulk_rows(b, [mixed, b.theirs], f"{b.mib} MiB, OpenSSH's sshd", [], places, (1.5, None))
        bulk_rows(b, [mixed, b.theirs], f"{b.mib} MiB to /dev/null, gcm, OpenSSH's sshd", GCM, null, (1.5, None))
    finally:
        mixed.stop()


# -- many files

def counted(top):
    return sum(len(files) for _, _, files in os.walk(top))


def tree(b):
    n, folders = b.arguments.files, max(b.arguments.files // 100, 1)
    source, rounds = make_tree(b.top / "tree", folders, n, 4096), max(3, b.rounds // 2)
    if not all(side.has("scp") for side in b.sides):
        return

    def run(side, how, way):
        target = b.fresh("copy")
        here, far = (source, target) if way == "up" else (target, source)
        if how == "tar":
            took = side.run(side.tar(way, here, far))
        else:
            took = side.run(side.one("scp -r", way, here, far))
        if counted(target) != n:
            raise RuntimeError(f"{side.name}: {how} {way}: {counted(target)} of {n} files")
        b.cleared("copy")
        return took
    for way in WAYS:
        runs = {side.name + how: [] for side in b.sides for how in ("scp", "tar")}
        for _ in range(rounds):
            for side in b.sides:
                for how in ("scp", "tar"):
                    runs[side.name + how].append(run(side, how, way))
        got = {k: [statistics.median(c) for c in zip(*v)] for k, v in runs.items()}
        row, first = f"scp -r {way}, {n} files of 4 KiB", b.table.first
        b.table.add(row, "files/s", {s.name: n / got[s.name + "scp"][0] for s in b.sides}, ">=", 5, "openssh")
        b.table.add(row, "s", {s.name: got[s.name + "scp"][0] for s in b.sides})
        b.table.add(row, "CPU-ms/file", {s.name: sum(got[s.name + "scp"][1:]) * 1000 / n for s in b.sides})
        b.table.add(f"tar through ssh {way}, the same", "s", {s.name: got[s.name + "tar"][0] for s in b.sides})
        for side in b.sides:
            b.table.add(f"scp -r {way} beside tar through the ssh of {side.name}", "s",
                        {first: got[first + "scp"][0], "tar": got[side.name + "tar"][0]}, "<=", 1.0, "tar")


# -- with delay

def buffers(path, most):
    for side in ("server", "client"):
        subprocess.run([*path.prefix(side), "sysctl", "-qw", f"net.ipv4.tcp_rmem=4096 131072 {most[0]}",
                        f"net.ipv4.tcp_wmem=4096 16384 {most[1]}"], check=True)


def timed(command):
    begin = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return time.monotonic() - begin


class Path50:
    """The delayed path with a server of each side behind it."""

    def __init__(self, b, rtt_ms, rate_mbit=0):
        self.b, self.link = b, link.Link(rtt_ms, rate_mbit)
        self.servers = {}

    def __enter__(self):
        self.path = self.link.__enter__()
        try:
            for side in self.b.sides:
                self.servers[side.name] = side.make_server(self.path).start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in self.servers.values():
            server.stop()
        self.link.__exit__()


def far(b):
    n, bar = b.arguments.far_files, 3.0 if b.arguments.far_files == 1000 else None
    source = make_tree(b.top / "far", 10, n, 4096)
    few = make_tree(b.top / "few", 10, n // 10, 4096)
    if not all(side.has("scp") for side in b.sides):
        return
    with Path50(b, 50) as p:
        rtt = p.path.echo_ms()

        def run(side, way, what):
            target = b.fresh("copy")
            here, there_ = (what, target) if way == "up" else (target, what)
            took = timed(side.one("scp -r", way, here, there_, server=p.servers[side.name]))
            if counted(target) != counted(what):
                raise RuntimeError(f"{side.name} {way}: {counted(target)} files came")
            b.cleared("copy")
            return [took]
        for way in WAYS:
            got = b.medians([b.ours], lambda side: run(side, way, source), max(3, b.rounds // 2))
            b.table.add(f"scp -r {way}, {n} files, round trip {rtt:.0f} ms", "s",
                        {b.table.first: got[b.ours.name][0]}, "<=" if bar else None, bar)
            got = b.medians(b.sides, lambda side: run(side, way, few), 1)
            b.table.add(f"scp -r {way}, {n // 10} files, round trip {rtt:.0f} ms", "s", {n: g[0] for n, g in got.items()})


def listing(b):
    folder = b.top / "many"
    folder.mkdir(mode=0o755)
    for i in range(10000):
        (folder / f"entry-{i:05d}").touch()
    if not all(side.has("sftp") for side in b.sides):
        return
    with Path50(b, 50) as p:
        def run(side):
            server, out = p.servers[side.name], []
            for lines in ([f"ls -l {folder}"], ["pwd"]):
                out.append(timed(side.copy.sftp(server, *lines)))
            return [out[0] - out[1], out[0]]
        got = b.medians(b.sides, run, max(3, b.rounds // 2))
        b.table.add("sftp ls -l, 10,000 entries, 50 ms, the command", "s", {n: g[0] for n, g in got.items()}, "<=", 1.0)
        b.table.add("the same with login and end", "s", {n: g[1] for n, g in got.items()})


def iperf3(path, way, mib):
    server = subprocess.Popen([*path.prefix("server"), "iperf3", "-s", "-1", "--forceflush"], stdout=subprocess.PIPE,
                              text=True)
    try:
        while "listening" not in server.stdout.readline():
            if server.poll() is not None:
                raise RuntimeError("iperf3 does not start")
        command = [*path.prefix("client"), "iperf3", "-c", link.SERVER_HOST, "-J", "-n", f"{mib}M"]
        done = subprocess.run(command + (["-R"] if way == "down" else []), capture_output=True, text=True, timeout=600)
        server.wait(20)
        return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 8e6
    finally:
        world.end(server)
        server.stdout.close()


def long(b):
    """Bulk data over delay, beside iperf3 with as many bytes on the same path.  What an empty file takes (login, opening,
    end) is taken off: iperf3 does not count such things either."""
    if shutil.which("iperf3") is None:
        print("not measured: there is no iperf3 here, and long paths are measured beside it")
        return
    if not all(side.has("scp") for side in b.sides):
        return
    mib, small = b.arguments.long_mib, min(b.arguments.long_mib, 24)
    payload, little, empty = (b.top / n for n in ("long", "little", "empty"))
    world.fill(payload, mib)
    world.fill(little, small)
    empty.touch()
    for name in ("long-up", "long-down", "little-up", "little-down", "empty-up", "empty-down"):
        shutil.copyfile(b.top / name.split("-", maxsplit=1)[0], b.top / name)
        if name.endswith("up"):
            b.given(b.top / name)
    for rtt in b.arguments.rtt:
        for name, most in BUFFERS.items():
            with Path50(b, rtt, b.arguments.rate) as p:
                buffers(p.path, most)
                long_rows(b, p, f"{rtt} ms, {name}", mib, small)


def long_rows(b, p, what, mib, small):
    def rate(side, server, way, name, size):
        def one(n):
            target = b.top / f"{n}-{way}"
            return timed(side.one("scp", way, *((b.top / n, target) if way == "up" else (target, b.top / n)), server=server))
        nothing = one("empty")
        return size * 1.048576 / max(one(name) - nothing, 1e-3)
    for way in WAYS:
        rates = {"iperf3": [], b.table.first: []}
        for _ in range(min(b.rounds, 3)):
            rates["iperf3"].append(iperf3(p.path, way, mib))
            rates[b.table.first].append(rate(b.ours, p.servers[b.ours.name], way, "long", mib))
        b.table.add(f"scp {way}, {mib} MiB, {what}", "MB/s", {n: statistics.median(v) for n, v in rates.items()}, ">=",
                    0.9, "iperf3")
        server = p.servers["openssh"]
        b.table.add(f"scp {way}, {small} MiB, {what}, OpenSSH's sshd", "MB/s",
                    {side.name: rate(side, server, way, "little", small) for side in b.sides})


# -- memory

class Watch:
    """The most memory (PSS) that processes took while something ran."""

    def __init__(self, pids):
        self.pids, self.most, self.is_over = pids, [0, 0], False
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.is_over:
            self.most = [max(m, pss(pids)) for m, pids in zip(self.most, self.pids())]
            time.sleep(0.05)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()


def pss(pids):
    total = 0
    for pid in pids:
        try:
            total += measure.pss_kib(pid)
        except (OSError, ProcessLookupError):
            pass
    return total / 1024


def processes(side, client, standing):
    """(those of the client, those that serve it)"""
    return (measure.tree(client.pid), [p for p in measure.tree(side.server.process.pid) if p not in standing])


def idle(side):
    """What an sftp session at its prompt takes."""
    standing = measure.tree(side.server.process.pid)
    command = [*side.copy.start(side.server, side.tested.sftp, []), "-q", f"{side.server.user}@{side.server.host}"]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client.stdin.write(b"pwd\n")
    client.stdin.flush()
    time.sleep(1.5)
    found = [pss(pids) for pids in processes(side, client, standing)]
    client.stdin.close()
    client.wait(20)
    return found


def memory(b):
    source = make_tree(b.top / "big", 1000, b.arguments.files * 4, 1)
    folder = source / "many"
    folder.mkdir()
    for i in range(b.arguments.files * 2):
        (folder / f"entry-{i:06d}").touch()
    world.fill(source / "large", min(b.mib, 256))
    for side in b.sides:
        if not side.has("scp", "sftp"):
            return
    found = {}
    for side in b.sides:
        rest = idle(side)
        for way in WAYS:
            target = b.fresh("copy")
            standing = measure.tree(side.server.process.pid)
            here, far_ = (source, target) if way == "up" else (target, source)
            client = subprocess.Popen(side.one("scp -r", way, here, far_), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            with Watch(lambda: processes(side, client, standing)) as watch:
                err = client.communicate()[1]
            if client.returncode != 0:
                raise RuntimeError(f"{side.name}: {err.decode(errors='replace')}")
            b.cleared("copy")
            for end, most, least in zip(("client", "server"), watch.most, rest):
                found.setdefault((way, end), {})[side.name] = most - least
    entries = counted(source)
    for (way, end), values in found.items():
        b.table.add(f"{end}'s memory over idle, scp -r {way}, {entries} files", "MiB PSS", values, "<=", MEMORY_BAR)


WORK = {"bulk": bulk, "gcm": gcm, "foreign": foreign, "tree": tree, "far": far, "list": listing, "long": long,
        "memory": memory}


def options(parser):
    parser.add_argument("--rows", default=",".join(GROUPS), help=f"copy: some of {', '.join(GROUPS)}")
    parser.add_argument("--files", type=int, default=10000, help="copy: files of the tree on loopback")
    parser.add_argument("--far-files", type=int, default=1000, help="copy: files of the tree at 50 ms")
    parser.add_argument("--long-mib", type=int, default=512, help="copy: size over the long paths")
    parser.add_argument("--rate", type=int, default=0, help="copy: Mbit/s of the long paths, 0 = as fast as it goes")
    parser.add_argument("--rtt", type=int, nargs="*", default=(100, 200), help="copy: round trips of the long paths, ms")


def run(w, tested, installed, arguments):
    """The rows; their list for --json."""
    if installed is None:
        raise SystemExit("bench copy: OpenSSH is not installed, and everything here is measured beside it")
    wanted = arguments.rows.split(",")
    if set(wanted) - set(GROUPS):
        raise SystemExit(f"bench copy: no rows {', '.join(set(wanted) - set(GROUPS))}; there are {', '.join(GROUPS)}")
    b = Bench(w, tested, installed, arguments)
    b.top.mkdir(mode=0o755)
    try:
        for side in b.sides:
            side.start()
        print(f"load average {os.getloadavg()[0]:.1f}; {b.rounds} rounds; CPU by "
              f"{'control groups' if b.ours.server_cpu.exact else 'wait(2)'}; TCP by "
              f"{Path('/proc/sys/net/ipv4/tcp_congestion_control').read_text().strip()}")
        print(b.table.head())
        for group in GROUPS:
            if group not in wanted:
                continue
            why = link.why_not() if group in ("far", "list", "long") else None
            if why:
                print(f"{group}: not measured, {why}")
                continue
            WORK[group](b)
            for path in b.top.iterdir() if group not in ("bulk", "gcm") else ():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    finally:
        for side in b.sides:
            side.stop()
        shutil.rmtree(b.top, ignore_errors=True)
    print(f"load average {os.getloadavg()[0]:.1f} at the end")
    return b.table.rows

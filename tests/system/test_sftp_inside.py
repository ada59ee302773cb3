# SPDX-License-Identifier: ISC
"""sftp in the session process: what differs from a program of its own must not be seen, nor told by what it says."""
import os
import pwd
import shutil
import socket
import stat
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from harness import world as worlds
from harness.client import Ssh, feed
from harness.rawsftp import (ATTRS, F_CREATE, F_READ, F_TRUNC, F_WRITE, CLOSE, FAILURE, LSTAT, MKDIR, NAME, NO_SUCH_FILE, OK,
                             OPEN, OPENDIR, PERMISSION_DENIED, READ, READDIR, READLINK, REALPATH, REMOVE, RENAME, RMDIR,
                             SETSTAT, STAT, STATUS, SYMLINK, WRITE, RawSftp, attrs, s, strings, u32, u64)
from harness.server import Sshd
from harness.world import wait_until

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root directory")
SFTP_LINES = ("Subsystem sftp internal-sftp", "Subsystem narrow internal-sftp -u 077 -d /usr",
              "Subsystem wide internal-sftp -u 002 -d /etc")


@pytest.fixture
def client(world, theirs):
    return Ssh(world, theirs)


@pytest.fixture
def place():
    top = worlds.scratch("inside")
    top.chmod(0o777)
    return top


class Shared:
    """One connection with many channels: OpenSSH's client as the master."""

    def __init__(self, client, server):
        command, _, folder = client.command(server, debug=False)
        self.socket = folder / "master"
        self.command = [*command[:-1], "-o", f"ControlPath={self.socket}", command[-1]]
        self.master = subprocess.Popen([*self.command[:-1], "-M", "-N", self.command[-1]], stdin=subprocess.DEVNULL,
                                       start_new_session=True)
        assert wait_until(self.socket.exists, 20)

    def sftp(self, name="sftp", init=True):
        return RawSftp(*self.command[:-1], "-s", self.command[-1], name, init=init)

    def run(self, remote, timeout=30):
        return feed([*self.command, remote], None, timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        worlds.end(self.master)


def leave(*links):
    for link in links:
        link.process.stdin.close()
        assert link.process.wait(20) == 0


def make(link, path, flags=F_WRITE | F_CREATE):
    kind, body = link.request(OPEN, s(path) + u32(flags) + attrs())
    return body if kind != STATUS else struct.unpack(">I", body[:4])[0]


def names_in(body):
    return list(strings(body[4:]))[0]


def test_channels_of_one_connection_have_their_own_umask_and_directory(world, ours, client, place):
    with Sshd(world, ours, SFTP_LINES).start() as server, Shared(client, server) as shared:
        links = {name: shared.sftp(name) for name in ("sftp", "narrow", "wide")}
        before = shared.run("umask")[1]
        for turn in range(3):
            for name, link in links.items():
                handle = make(link, f"{place}/{name}-{turn}")
                assert isinstance(handle, bytes)
                assert link.code(CLOSE, handle) == OK
                kind, body = link.request(REALPATH, s("."))
                home = str(world.account.home)
                assert names_in(body) == {"sftp": home, "narrow": "/usr", "wide": "/etc"}[name].encode()
            assert shared.run("umask; pwd")[1].split() == [before.strip(), str(world.account.home).encode()]
        own = 0o666 & ~int(before, 8)
        for name, mode in (("sftp", own), ("narrow", 0o600), ("wide", 0o664)):
            for turn in range(3):
                assert stat.S_IMODE((place / f"{name}-{turn}").stat().st_mode) == mode
        leave(*links.values())


def test_a_large_transfer_leaves_the_others_their_turn(world, ours, client, place):
    big = place / "big"
    with open(big, "wb") as f:
        f.truncate(4 << 30)
    big.chmod(0o644)
    with Sshd(world, ours, SFTP_LINES, log_level="INFO").start() as server, Shared(client, server) as shared:
        wrap = server.dir / "wrap"
        wrap.write_text(f"#!/bin/sh\nexec {' '.join(shared.command[:-1])} -s {shared.command[-1]} sftp\n")
        wrap.chmod(0o755)
        child = subprocess.Popen(["sftp", "-q", "-D", str(wrap)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        child.stdin.write(f"get {big} /dev/null\n".encode())
        child.stdin.close()
        time.sleep(0.5)
        times = []
        for _ in range(5):
            begin = time.monotonic()
            assert shared.run("echo there")[1] == b"there\n"
            times.append(time.monotonic() - begin)
        assert child.poll() is None, "the transfer was over before it was of use here"
        worlds.end(child)
        assert sorted(times)[2] < 2, times


def test_a_fifo_stops_nobody(world, ours, client, place):
    """Opening one waits for its other end: a process of its own may, this one serves others too."""
    os.mkfifo(place / "fifo", 0o666)
    os.chmod(place / "fifo", 0o666)
    with Sshd(world, ours, SFTP_LINES).start() as server, Shared(client, server) as shared:
        link = shared.sftp()
        assert make(link, place / "fifo", F_WRITE) == FAILURE
        handle = make(link, place / "fifo", F_READ)
        assert isinstance(handle, bytes)
        link.request(READ, handle + u64(0) + u32(100))
        assert shared.run("echo there")[1] == b"there\n"
        leave(link)


def test_requests_before_the_end_of_the_input_are_done(world, ours, client, place):
    with Sshd(world, ours, SFTP_LINES).start() as server, Shared(client, server) as shared:
        link = shared.sftp()
        for i in range(200):
            link.send(MKDIR, s(f"{place}/{i}") + attrs())
        link.process.stdin.close()
        rest = link.process.stdout.read()
        assert link.process.wait(20) == 0 and rest.count(bytes([STATUS])) >= 200
        assert len(os.listdir(place)) == 200


def test_what_is_no_sftp_ends_the_channel_and_not_the_connection(world, ours, client):
    with Sshd(world, ours, SFTP_LINES).start() as server, Shared(client, server) as shared:
        link = shared.sftp()
        link.write(u32(0))
        assert link.process.wait(20) == 255
        link = shared.sftp(init=False)
        link.write(u32(5) + bytes([REMOVE]) + u32(1))
        assert link.process.wait(20) == 255
        assert shared.run("echo there")[1] == b"there\n"


def test_a_client_that_takes_no_replies_costs_no_memory(world, ours, client, place):
    """The window shuts, and the process stays small; then all comes."""
    (place / "file").write_bytes(os.urandom(1 << 20))
    with Sshd(world, ours, SFTP_LINES).start() as server, Shared(client, server) as shared:
        link = shared.sftp()
        handle = make(link, place / "file", F_READ)
        count = 3000

        def ask():
            for i in range(count):
                link.send(READ, handle + u64(i % 32 * 32768) + u32(32768))
        asker = threading.Thread(target=ask)
        asker.start()
        time.sleep(2)
        pids = serving(server)
        assert pids
        for p in pids:
            assert resident_mib(p) < 64, (p, resident_mib(p))
        for i in range(count):
            frame = link.frame()
            assert len(frame) == 9 + 32768
        asker.join()
        leave(link)


def title(p):
    try:
        return p.joinpath("cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def resident_mib(p):
    for line in (p / "status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) // 1024
    return 0


def serving(server):
    """The session processes of this server, and of no other that may run here at the same time."""
    parents = {}
    for p in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(p.name)] = int(p.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue

    def is_ours(pid):
        while pid > 1 and pid != server.process.pid:
            pid = parents.get(pid, 0)
        return pid > 1
    return [p for pid in parents if is_ours(pid) and title(p := Path(f"/proc/{pid}")).startswith(f"sshd: {server.user}@")]


def is_served_inside(server):
    return any(title(p).startswith(f"sshd: {server.user}@internal-sftp") for p in serving(server))


@pytest.mark.parametrize("line,inside", (
    ("{own} -R", True), ("{own} -R -l ERROR", True), ("exec {own} -R", False), ("{own} -R 2>/dev/null", False),
    ("{theirs} -R", False), ("/usr/bin/env {own} -R", False)))
def test_our_program_is_served_here_and_nothing_else_is(world, ours, theirs, client, line, inside):
    inside = inside and ours.sftp_server == ours.beside("sftp-server")   # a copy of ours is not ours
    line = line.format(own=ours.sftp_server, theirs=theirs.sftp_server)
    with Sshd(world, ours, [f"Subsystem sftp {line}"]).start() as server:
        command, _, _ = client.command(server, debug=False)
        link = RawSftp(*command[:-1], "-s", command[-1], "sftp")
        assert is_served_inside(server) == inside
        assert link.code(MKDIR, s(server.dir / "new") + attrs()) == PERMISSION_DENIED
        leave(link)


def test_a_forced_command_that_is_our_program_is_run_by_the_shell(world, ours, client):
    with Sshd(world, ours, [f"ForceCommand {ours.sftp_server} -R", *SFTP_LINES]).start() as server:
        command, _, _ = client.command(server, debug=False)
        link = RawSftp(*command[:-1], "-s", command[-1], "sftp")
        assert not is_served_inside(server)
        assert link.code(MKDIR, s(server.dir / "new") + attrs()) == PERMISSION_DENIED
        leave(link)


# -- the log

LOG_SPACE = """set -e
mount -t tmpfs none {new}
for n in null zero full random urandom tty; do : > {new}/$n; mount --bind /dev/$n {new}/$n; done
mkdir {new}/pts {new}/shm; mount --bind /dev/pts {new}/pts; ln -s pts/ptmx {new}/ptmx
for n in fd stdin stdout stderr; do ln -s /proc/self/fd/${{n#fd}} {new}/$n 2>/dev/null || :; done
: > {new}/log; mount --bind {log} {new}/log
mount --move {new} /dev
exec "$@"
"""


@ROOT_ONLY
@pytest.mark.parametrize("chroot", (False, True), ids=("", "chroot"))
def test_the_lines_of_the_log_are_openssh_s(world, ours, client, chroot):
    """Also from a root directory without a socket of the system's log."""
    folder = worlds.scratch("syslog")
    folder.chmod(0o755)
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ear.bind(str(folder / "log"))
    os.chmod(folder / "log", 0o666)
    (folder / "dev").mkdir()
    own = worlds.own_mounts()
    if own is None:
        pytest.skip("no mount namespace can be had here")
    (folder / "space").write_text(LOG_SPACE.format(new=folder / "dev", log=folder / "log"))
    top = Path(tempfile.mkdtemp(prefix="bowline-log-", dir="/run"))
    try:
        top.chmod(0o755)
        (top / "open").mkdir()
        (top / "open").chmod(0o777)
        lines = [*([f"ChrootDirectory {top}"] if chroot else []), "Subsystem sftp internal-sftp -l VERBOSE -f LOCAL3"]
        server = Sshd(world, ours, lines)
        with server.launch([*own, "sh", str(folder / "space"), ours.sshd, "-D", "-e", "-f", str(server.config)]):
            link_command, _, _ = client.command(server, debug=False)
            link = RawSftp(*link_command[:-1], "-s", link_command[-1], "sftp")
            path = f"{'' if chroot else top}/open/a\nb"
            handle = make(link, path)
            assert link.code(WRITE, handle + u64(0) + s("12345")) == OK
            assert link.code(CLOSE, handle) == OK
            assert link.code(RMDIR, s(f"{'' if chroot else top}/nothing")) == NO_SUCH_FILE
            leave(link)
        ear.settimeout(5)
        said = []
        while not any("session closed" in line for line in said):
            said.append(ear.recv(65536).decode())
        path = path.replace("\n", "\\012")
        # LOCAL3 is 19; INFO is 6: 19 * 8 + 6
        assert all(line.startswith("<158>") and "internal-sftp[" in line for line in said), said
        words = [line.split("]: ", 1)[1] for line in said]
        assert words == [f"session opened for local user {server.user} from [127.0.0.1]", "received client version 3",
                         f'open "{path}" flags WRITE,CREATE mode 0666', f'close "{path}" bytes read 0 written 5',
                         f'rmdir name "{"" if chroot else top}/nothing"', "sent status No such file",
                         f"session closed for local user {server.user} from [127.0.0.1]"], words
    finally:
        ear.close()
        shutil.rmtree(top)


# -- nothing outside the root directory can be told from nothing

class Jail:
    """A root directory, and beside it a tree outside: once with things in it, once without."""

    def __init__(self):
        self.top = Path(tempfile.mkdtemp(prefix="bowline-jail-", dir="/run"))
        self.top.chmod(0o755)
        self.root, self.out = self.top / "root", self.top / "out"
        self.root.mkdir(mode=0o755)
        self.out.mkdir()
        self.out.chmod(0o777)

    def refresh(self):
        """The inside anew, with links that lead outside."""
        w = self.root / "w"
        shutil.rmtree(w, ignore_errors=True)
        for d in (w, w / "dir"):
            d.mkdir()
            d.chmod(0o777)
        (w / "file").write_text("inside")
        (w / "file").chmod(0o666)
        for name, to in (("abs", self.out / "there"), ("up", "../../out/there"), ("updir", "../.."),
                         ("absdir", self.out), ("deep", "../" * 40 + str(self.out)[1:] + "/there")):
            (w / name).symlink_to(to)

    def furnish(self):
        (self.out / "there").write_text("SECRET")
        (self.out / "there").chmod(0o666)
        (self.out / "sub").mkdir()
        (self.out / "sub").chmod(0o777)

    def clear(self):
        for p in (self.out / "there", self.out / "sub"):
            if p.is_dir():
                shutil.rmtree(p)
            elif p.exists():
                p.unlink()


def probes(jail):
    """(kind, body) of every request with a path, with every way to name something outside."""
    out = str(jail.out)
    ways = [f"{out}/there", f"{out}/sub", out, f"/../{out}/there", f"/w/../../..{out}/there", "/w/up", "/w/abs", "/w/deep",
            "/w/updir/out/there", "/w/absdir/there", "/w/absdir", "../" * 30 + f"{out[1:]}/there", "//..//../out/there",
            f"/proc/1/root{out}/there", f"/proc/self/root{out}/there", "/proc/self/cwd", "/proc/self/fd/3",
            f"/w/dir/../../../out/there", "~root", "~root/x", f"~/../../..{out}/there"]
    for way in ways:
        is_inner = way.startswith("/w/") and way.count("/") == 2    # a link that is the user's to move
        for kind in (STAT, LSTAT, READLINK, REALPATH, OPENDIR, RMDIR, *([] if is_inner else [REMOVE])):
            yield kind, s(way)
        for flags in (F_READ, F_WRITE, F_READ | F_WRITE, F_WRITE | F_TRUNC, F_WRITE | F_CREATE):
            yield OPEN, s(way) + u32(flags) + attrs()
        yield MKDIR, s(way) + attrs()
        yield SETSTAT, s(way) + attrs(mode=0o600)
        yield SETSTAT, s(way) + attrs(size=1)
        if not is_inner:
            yield RENAME, s(way) + s("/w/stolen")
        yield RENAME, s("/w/file") + s(way + "/x")
        yield 200, s("posix-rename@openssh.com") + s(way + "/x") + s("/w/stolen")
        yield 200, s("hardlink@openssh.com") + s(way + "/y") + s("/w/hard")
        yield 200, s("hardlink@openssh.com") + s(f"{out}/there") + s("/w/hard")
        yield 200, s("statvfs@openssh.com") + s(way)
        yield 200, s("expand-path@openssh.com") + s(way)
        yield 200, s("lsetstat@openssh.com") + s(way + "/z") + attrs(mode=0o600)
        yield 200, s("home-directory") + s("root")
    # a link may point anywhere: what is behind it stays outside
    yield SYMLINK, s(f"{out}/there") + s("/w/fresh")
    yield STAT, s("/w/fresh")
    yield OPEN, s("/w/fresh") + u32(F_READ) + attrs()
    yield REALPATH, s("/w/fresh")
    yield REMOVE, s("/w/fresh")


def answers(link, jail):
    said = []
    for kind, body in probes(jail):
        got, reply = link.request(kind, body)
        said.append((kind, body, got, reply))
        if got == 102 and kind in (OPEN, OPENDIR):
            assert link.code(CLOSE, reply) == OK
    return said


@ROOT_ONLY
@pytest.mark.parametrize("how", ("inside", "program"))
def test_what_is_outside_the_root_directory_cannot_be_told_from_nothing(world, ours, client, how):
    """The same answers, byte for byte, whether the thing outside exists or not; and it stays as it is."""
    jail = Jail()
    try:
        # -e wants a process of its own
        line = "internal-sftp -d /w" + (" -e" if how == "program" else "")
        with Sshd(world, ours, [f"ChrootDirectory {jail.root}", f"ForceCommand {line}",
                                "Subsystem sftp internal-sftp"]).start() as server:
            command, _, _ = client.command(server, debug=False)
            said = []
            for exists in (False, True):
                jail.refresh()
                jail.clear()
                if exists:
                    jail.furnish()
                link = RawSftp(*command[:-1], "-s", command[-1], "sftp")
                said.append(answers(link, jail))
                leave(link)
            assert len(said[0]) == len(said[1]) > 300
            for a, b in zip(*said):
                assert a[:3] == b[:3], (a, b)
                # free blocks of a file system and the times of what was made anew are anybody's
                if b"statvfs" not in a[1] and a[2] != ATTRS:
                    assert a == b
            assert (jail.out / "there").read_text() == "SECRET"
            assert stat.S_IMODE((jail.out / "there").stat().st_mode) == 0o666
            assert sorted(p.name for p in jail.out.iterdir()) == ["sub", "there"]
            kept = [p for p in (jail.root / "w").rglob("*") if p.is_file() and not p.is_symlink()]
            assert kept and all("SECRET" not in p.read_text() for p in kept)
            assert all(b"SECRET" not in reply for run in said for _, _, _, reply in run)
            # the test would see it: without the root directory the answers differ
        with Sshd(world, ours, ["Subsystem sftp internal-sftp"], name="open").start() as server:
            command, _, _ = client.command(server, debug=False)
            link = RawSftp(*command[:-1], "-s", command[-1], "sftp")
            assert link.request(STAT, s(jail.out / "there"))[0] != STATUS
            assert link.request(STAT, s(jail.out / "not-there"))[0] == STATUS
            leave(link)
    finally:
        shutil.rmtree(jail.top)

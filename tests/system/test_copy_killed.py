# SPDX-License-Identifier: ISC
"""Copies of trees that are killed at random moments: the client, the server's session, the network.

Whatever is there afterwards is whole, or empty, or the beginning of the original; no more files are unfinished than are
copied at once; and `scp --resume -r` finds and finishes all.

BOWLINE_KILL_ROUNDS sets how many rounds there are (20), BOWLINE_KILL_SEED the moments.  For a long record:

    BOWLINE_KILL_ROUNDS=500 tools/contain.py --accounts tests/run.py system -k test_copy_killed
"""
import hashlib
import os
import pwd
import random
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from harness import world as worlds
from harness.copier import Copy, there
from harness.measure import tree
from harness.server import Sshd

ROUNDS = int(os.environ.get("BOWLINE_KILL_ROUNDS", "20"))
SEED = int(os.environ.get("BOWLINE_KILL_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
IN_FLIGHT = 192             # files under way at once, at most (src/transfer: the window counts files, too)
VICTIMS = ("client", "client by TERM", "session", "network")


class Proxy:
    """Carries one port to another until cut() ends every connection at once, without a goodbye."""

    def __init__(self, port):
        self.to, self.pairs, self.is_over = port, [], False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.is_over:
            sockets = [self.listener, *(s for pair in self.pairs for s in pair)]
            for s in select.select(sockets, [], [], 0.1)[0]:
                if s is self.listener:
                    self.pairs.append((s.accept()[0], socket.create_connection(("127.0.0.1", self.to))))
                    continue
                pair = next((p for p in self.pairs if s in p), None)
                if pair is None:
                    continue
                try:
                    block = s.recv(1 << 16)
                    if not block:
                        raise OSError
                    pair[s is pair[0]].sendall(block)
                except OSError:
                    self.drop(pair)

    def drop(self, pair):
        if pair in self.pairs:
            self.pairs.remove(pair)
        for s in pair:
            try:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")      # a reset, no FIN
                s.close()
            except OSError:
                pass

    def cut(self):
        for pair in list(self.pairs):
            for s in pair:
                try:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def stop(self):
        self.is_over = True
        self.thread.join(5)
        self.listener.close()
        for pair in list(self.pairs):
            self.drop(pair)


def make_source(top):
    """Files of all sizes, each with bytes of its own: 300 small ones, 40 of some 100 KiB, 6 of a few MiB."""
    rng = random.Random(1)
    for i in range(346):
        size = rng.choice((0, 1, 4096, rng.randrange(20000))) if i < 300 else \
            rng.randrange(50000, 150000) if i < 340 else rng.randrange(2 << 20, 5 << 20)
        folder = top / f"d{i % 7}" / ("deep" if i % 3 == 0 else ".")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{i}").write_bytes(rng.randbytes(size))
    return top


def hashes(top):
    return {str(p.relative_to(top)): hashlib.sha256(p.read_bytes()).hexdigest() for p in top.rglob("*") if p.is_file()}


def unfinished(source, target):
    """The files of target that are not whole; what is no beginning of its original is a fault, as is a name too many."""
    short = []
    for path in (p for p in target.rglob("*") if p.is_file()):
        name = path.relative_to(target)
        assert (source / name).is_file(), f"{name} is not in the source"
        whole, part = (source / name).read_bytes(), path.read_bytes()
        assert whole[:len(part)] == part, f"{name}: {len(part)} bytes that are not its beginning"
        if len(part) < len(whole):
            short.append(str(name))
    return short


class Round:
    def __init__(self, world, programs, server, source):
        self.copy, self.server, self.source = Copy(world, programs), server, source
        self.user = pwd.getpwnam(server.user)
        self.place = worlds.scratch("killed")

    def target(self):
        """A directory for the copy, which the account may fill."""
        path = self.place / "to"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        os.chown(path, self.user.pw_uid, self.user.pw_gid)
        return path

    def words(self, way, target):
        return (f"{self.source}/.", there(self.server, target)) if way == "up" else \
            (there(self.server, f"{self.source}/."), str(target))

    def seconds(self, way):
        """How long it takes undisturbed."""
        begin = time.monotonic()
        subprocess.run(self.copy.scp(self.server, "-q", "-r", *self.words(way, self.target())), check=True, timeout=60)
        return time.monotonic() - begin

    def sessions(self):
        """The server's processes that work for the account."""
        found = []
        for pid in tree(self.server.process.pid):
            try:
                if os.stat(f"/proc/{pid}").st_uid == self.user.pw_uid or \
                        f"Uid:\t{self.user.pw_uid}" in Path(f"/proc/{pid}/status").read_text():
                    found.append(pid)
            except OSError:
                pass
        return found

    def killed(self, way, victim, after, slow):
        """(status of scp, the target)"""
        target, proxy = self.target(), Proxy(self.server.port)
        port, self.server.port = self.server.port, proxy.port
        try:
            command = self.copy.scp(self.server, "-q", "-r", *(["-l", str(slow)] if slow else []),
                                    *self.words(way, target), options=[f"HostKeyAlias=[127.0.0.1]:{port}"])
            self.known_as(command, port)
            client = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, start_new_session=True)
            time.sleep(after)
            if victim == "network":
                proxy.cut()
            elif victim == "session":
                for pid in self.sessions():
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
            else:
                os.killpg(client.pid, signal.SIGTERM if "TERM" in victim else signal.SIGKILL)
            try:
                client.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                client.kill()
                client.communicate()
                pytest.fail(f"scp does not notice: {victim} {way}")
            worlds.end(client)
        finally:
            self.server.port = port
            proxy.stop()
        assert worlds.wait_until(lambda: not self.sessions(), 15), f"the session goes on: {self.sessions()}"
        return client.returncode, target

    def known_as(self, command, port):
        """The known_hosts file of this command, with the name that stays the same behind a proxy."""
        path = next(w for w in command if w.startswith("UserKnownHostsFile=")).split("=", 1)[1]
        text = Path(path).read_text()
        Path(path).write_text(text.replace(f"[127.0.0.1]:{self.server.port} ", f"[127.0.0.1]:{port} "))


@pytest.fixture(scope="module")
def round_(world, ours):
    if not world.account.private:
        pytest.skip(world.account.why_no_password)
    source = make_source(worlds.scratch("source"))
    sftp = "internal-sftp" if ours.is_bowline else ours.sftp_server
    with Sshd(world, ours, [f"Subsystem sftp {sftp}", "MaxStartups 200", "PerSourcePenalties no"][:3 if ours.is_bowline else 2],
              log_level="ERROR").start() as server:
        yield Round(world, ours, server, source)


def test_the_check_sees_what_is_no_beginning(round_):
    target = round_.place / "wrong"
    shutil.copytree(round_.source, target)
    assert unfinished(round_.source, target) == []
    name = max((p for p in target.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    os.truncate(name, 100000)
    assert unfinished(round_.source, target) == [str(name.relative_to(target))]
    os.truncate(name, 200000)       # a hole
    with pytest.raises(AssertionError):
        unfinished(round_.source, target)


@pytest.mark.parametrize("way", ("up", "down"))
def test_what_is_left_is_a_beginning_and_resume_finishes_it(round_, ours, way):
    rng, expected = random.Random(f"{SEED}{way}"), hashes(round_.source)
    usual = sorted(round_.seconds(way) for _ in range(3))[1]
    cut_short = 0
    for i in range((ROUNDS + 1) // 2):
        victim, slow = VICTIMS[i % len(VICTIMS)], rng.choice((0, 200000, 100000))
        length = usual if not slow else max(usual, sum(p.stat().st_size for p in round_.source.rglob("*")) / (slow * 125))
        after = rng.uniform(0, length * 1.05)
        what = f"seed {SEED}, round {i}: {way}, {victim}, after {after:.3f} s of {length:.3f}, -l {slow}"
        code, target = round_.killed(way, victim, after, slow)
        short = unfinished(round_.source, target)
        is_whole = not short and hashes(target) == expected
        assert code != 0 or is_whole, what
        assert len(short) <= IN_FLIGHT, f"{what}: {len(short)} files"
        cut_short += not is_whole
        if not ours.is_bowline:
            continue
        done = subprocess.run(round_.copy.scp(round_.server, "-q", "-r", "--resume", *round_.words(way, target)),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{what}\n{done.stderr}"
        assert hashes(target) == expected, what
    assert cut_short * 3 >= (ROUNDS + 1) // 2, f"only {cut_short} were cut short"

# SPDX-License-Identifier: ISC
"""The key that let the user in the last time is offered next after what is named: LastKeyFile."""
import os
import re
import stat
import subprocess
import threading

import pytest

from harness.lent import Lent
from harness.server import Sshd
from interop.test_forward_agent import by_agent

KEYS = 8


class Place:
    """A server that grants three tries, and an agent whose right key is the last of eight."""

    def __init__(self, world, theirs, lent, server):
        self.world, self.lent, self.server, self.file = world, lent, server, lent.dir / "last"
        for i in range(KEYS):
            path = lent.dir / f"key{i}"
            subprocess.run([theirs.keygen, "-q", "-t", "ed25519", "-N", "", "-f", path, "-C", f"key{i}"], check=True)
            lent.add(str(path))
        self.right = lent.dir / f"key{KEYS - 1}"
        self.let_in(self.right)

    def let_in(self, *keys):
        (self.server.dir / "authorized_keys").write_text("".join(k.with_suffix(".pub").read_text() for k in keys))

    def login(self, ours, *options, last=None):
        code, out, err = by_agent(self.world, ours, self.server, self.lent.env, "echo in", f"-oLastKeyFile={last or self.file}", *options)
        assert (code == 0) == (out == b"in\n"), err
        return code == 0, err

    def offered(self, err):
        return re.findall(r"Offering public key: (?:\S*/)?(key\d)", err)


@pytest.fixture(params=["ours", "theirs"])
def place(request, world, ours, theirs):
    with Lent(world) as lent, Sshd(world, {"ours": ours, "theirs": theirs}[request.param], ["MaxAuthTries 3"]).start() as server:
        yield Place(world, theirs, lent, server)


def test_a_key_that_was_named_once_is_offered_first_then(place, ours):
    assert not place.login(ours)[0] and not place.file.exists()
    assert place.login(ours, "-i", str(place.right))[0]
    fingerprint = subprocess.run([ours.keygen, "-lf", place.right], capture_output=True, text=True, check=True).stdout.split()[1]
    assert re.fullmatch(r"\|1\|\S+=\|\S+= " + re.escape(fingerprint) + "\n", place.file.read_text())
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600
    before = place.file.stat()
    entered, err = place.login(ours, "-v")
    assert entered and place.offered(err) == ["key7"], err
    assert place.file.stat().st_mtime_ns == before.st_mtime_ns      # nothing new to say
    assert not place.login(ours, last="none")[0]
    assert not place.login(ours, "-oHostKeyAlias=another", "-oStrictHostKeyChecking=no")[0]


def test_what_is_named_goes_before_it(place, ours):
    assert place.login(ours, "-i", str(place.right))[0]
    entered, err = place.login(ours, "-v", "-i", str(place.lent.dir / "key3"))
    assert entered and place.offered(err) == ["key3", "key7"], err
    entered, err = place.login(ours, "-v", "-i", str(place.right))
    assert entered and place.offered(err) == ["key7"], err


def test_nothing_is_written_where_it_changes_nothing(place, ours):
    place.let_in(place.lent.dir / "key0")
    assert place.login(ours)[0] and not place.file.exists()
    assert place.login(ours, "-oIdentityAgent=none", "-i", str(place.lent.dir / "key0"))[0] and not place.file.exists()


def test_a_key_that_is_taken_no_longer_is_tried_once_and_forgotten(place, ours):
    assert place.login(ours, "-i", str(place.right))[0]
    place.let_in(place.lent.dir / "key0")
    entered, err = place.login(ours, "-v")
    assert entered and place.offered(err) == ["key7", "key0"], err
    entered, err = place.login(ours, "-v")
    assert entered and place.offered(err) == ["key0"], err
    assert len(place.file.read_text().splitlines()) == 1


def test_it_is_an_aid_only(place, ours):
    place.let_in(place.lent.dir / "key1")
    for text in (b"\x00\xff" * 5000, b"|1|a|b\n", b"|1|" + b"A" * 300000, b"* SHA256:x\n", b"host SHA256:y"):
        place.file.write_bytes(text)
        assert place.login(ours)[0]
    place.file.unlink()
    place.file.mkdir()
    assert place.login(ours)[0]
    assert place.login(ours, last=place.lent.dir / "absent" / "file")[0]
    os.mkfifo(place.lent.dir / "fifo")
    assert place.login(ours, last=place.lent.dir / "fifo")[0]


def test_old_lines_go_and_others_stay(place, ours):
    other = "|1|{:027d}=|{:027d}= SHA256:other\n"
    place.file.write_text("".join(other.format(i, i) for i in range(700)) + "a line without a hash\n")
    assert place.login(ours, "-i", str(place.right))[0]
    lines = place.file.read_text().splitlines(keepends=True)
    assert len(lines) == 500 and lines[0] == other.format(202, 202) and lines[-2] == "a line without a hash\n"
    assert place.offered(place.login(ours, "-v")[1]) == ["key7"]


def test_many_at_once_leave_a_whole_file(place, ours):
    workers = [threading.Thread(target=place.login, args=(ours, "-i", str(place.right))) for _ in range(8)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert len(place.file.read_text().splitlines()) == 1
    assert [p.name for p in place.lent.dir.iterdir() if p.name.startswith("last")] == ["last"]

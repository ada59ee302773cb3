# SPDX-License-Identifier: ISC
"""The same command line for our scp and for OpenSSH's, over the same ground: status and what is there afterwards."""
import hashlib
import os
import shutil
import stat
import subprocess

import pytest

from harness import world as worlds

UP = ("a h:@/t", "a h:@/t/", "a h:@/new", "a h:@/none/x", "-r d h:@/t", "-r d h:@/new", "d h:@/t", "-r d/ h:@/t", "a b h:@/t",
      "la h:@/t", "ld h:@/t", "-r ld h:@/t", "-r ro h:@/t", "-rp ro h:@/t", "-p a b h:@/t", "-p b h:@/new", "b h:@/new",
      "-r d h:@/a", "a h:@/d", "a h:@/ro", "a h:@/ro/x", "a a h:@/t", "a h:@/a", "e h:@/a", "a h:@/la", "a h:@/dang",
      "-- -dash h:@/t", "./-dash h:@/t", "./col:on h:@/t", "a h:/dev/null", "u h:@/t")
DOWN = ("h:@/a t", "h:@/a t/", "h:@/a new", "h:@/a new/", "h:@/a none/x", "-r h:@/d t", "-r h:@/d new", "-r h:@/d new/",
        "h:@/d t", "-r h:@/d/ t", "-r h:@/d/. new", "h:@/a h:@/b t", "h:@/[ab] t", "h:@/? t", "h:@/z* t", "h:@/none t",
        "h:@/none h:@/a t", "h:@/a h:@/none new", "h:@/dang t", "h:@/la t", "h:@/ld t", "-r h:@/ld t", "h:@/loop t",
        "-r h:@/ro t", "-rp h:@/ro t", "-p h:@/a h:@/b t", "-p h:@/b new", "h:@/b new", "-r h:@/d a", "h:@/a d",
        "h:@/u t", "h:@/a a", "h:@/e a", "h:@/a la", "h:@/a dang", "h:@/a .", "h:@/a ..", "h:@/-dash t", "h:@/col:on t")
ACROSS = ("-3 h:@/a h:@/t", "-3 -rp h:@/ro h:@/t", "-3 h:@/none h:@/t", "-3 h:@/d h:@/t", "-3 h:@/a h:@/none/x",
          "-3 h:@/a h:@/b h:@/new", "-3 h:@/a a h:@/t")
# neither protocol nor server: nothing is connected to
ALONE = ("", "a", "a b c", "-Z a b", "-P", "-l x a h:b", "-l 0 a h:b", "-l -1 a h:b", "-X x a h:b", "-X nrequests=0 a h:b",
         "-X buffer=0 a b", "-o Foo=bar a h:b", "-F /none a h:b", "a b", "a t", "-p a t", "-r d t", "-r d new", "d t", "none t",
         "a b none", "-- -dash t", "-dash t", "b t", "-rp ro t", "-T a t", "scp:// a", "a scp://h:99999/x", "scp://h:0/x a",
         "scp:///x a", "a scp://", "-O -S /bin/true a h:b", "-O -S /bin/false h:b a", "-tX", "-P 1 a 127.0.0.1:b")


def ground():
    top = worlds.scratch("twins")
    for name, words in (("a", "aaa"), ("b", "bbbb"), ("e", ""), ("u", "u"), ("with blank", "w"), ("col:on", "c"), ("-dash", "-")):
        (top / name).write_text(words)
    for name in ("d/s", "t", "ro"):
        (top / name).mkdir(parents=True)
    (top / "d/1").write_text("1")
    (top / "d/s/2").write_text("2")
    (top / "ro/x").write_text("x")
    for name, to in (("la", "a"), ("ld", "d"), ("dang", "no"), ("loop", "loop")):
        (top / name).symlink_to(to)
    for name, mode in (("a", 0o600), ("b", 0o4755), ("u", 0), ("ro", 0o555)):
        (top / name).chmod(mode)
    for name in ("a", "d", "ro", "ro/x", "b"):
        os.utime(top / name, (1000000000, 1000000000))
    return top


def what_is_there(top):
    seen = {}
    for path in sorted(top.rglob("*")):
        now = path.lstat()
        holds = os.readlink(path) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest() \
            if path.is_file() else None
        kept = int(now.st_mtime) == 1000000000
        seen[str(path.relative_to(top))] = stat.filemode(now.st_mode), holds, kept
    return seen


def outcome(scp, words, flags=()):
    top = ground()
    try:
        done = subprocess.run([scp, *flags, *(w.replace("@", str(top)) for w in words.split())], cwd=top,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
        return (done.returncode, what_is_there(top)), done.stderr
    finally:
        shutil.rmtree(top)


def compare(ours, theirs, words, flags=()):
    (mine, said), (other, heard) = outcome(ours.scp, words, flags), outcome(theirs.scp, words, flags)
    assert mine == other, (said, heard)
    if ours.is_bowline:         # OpenSSH fails without a word here and there
        assert (said == "") == (mine[0] == 0), (said, heard)


@pytest.fixture(scope="module")
def shell():
    """Stands for ssh: runs the command here."""
    path = worlds.scratch("shell") / "ssh"
    path.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("words", UP + DOWN + ACROSS)
def test_sftp(ours, theirs, words):
    compare(ours, theirs, words, ["-q", "-s", "-D", theirs.sftp_server])


@pytest.mark.parametrize("words", UP + DOWN + ACROSS)
def test_the_old_protocol(ours, theirs, shell, words):
    compare(ours, theirs, words, ["-q", "-O", "-S", str(shell)])


@pytest.mark.parametrize("words", ALONE)
def test_alone(ours, theirs, words):
    compare(ours, theirs, words)

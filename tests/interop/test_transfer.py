# SPDX-License-Identifier: ISC
"""The copying of files and trees that scp and sftp stand on (tests/probe), with two servers as children."""
import os
import random
import subprocess
from pathlib import Path

import pytest

from harness import world as ground
from harness.programs import TOP


@pytest.fixture(scope="module")
def probe():
    where = Path(os.environ.get("BOWLINE_BIN") or "build")
    where = where if where.is_absolute() else TOP / where
    path = where / "tests/probe/xfer_probe"
    if not path.is_file():
        pytest.skip(f"no xfer_probe in {where}: only a build directory has it")
    return str(path)


@pytest.fixture(scope="module", params=["openssh", "bowline"])
def server(request, ours, theirs):
    return (theirs if request.param == "openssh" else ours).sftp_server


@pytest.fixture
def top():
    return ground.scratch("transfer")


def run(probe, server, verb, *paths, options=(), status=0):
    words = [probe, "-D", str(server)]
    for option in options:
        words += ["-x", option]
    done = subprocess.run([*words, verb, *map(str, paths)], capture_output=True, timeout=60, check=False)
    out = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    assert done.returncode == status, out
    return out


def noise(n, seed=1):
    return random.Random(seed).randbytes(n)


def contents(path):
    """{name below: bytes, or None for a directory}"""
    found = {}
    for base, dirs, files in os.walk(os.fsencode(path)):
        inner = os.path.relpath(base, os.fsencode(path))
        for name in dirs:
            found[os.path.join(inner, name)] = None
        for name in files:
            with open(os.path.join(base, name), "rb") as f:
                found[os.path.join(inner, name)] = f.read()
    return found


VERBS = ("up", "down", "across", "local")
SIZES = (0, 1, 4095, 32768, 32769, 261120, 261121, 3000017)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("options", [(), ("buffer=1000", "requests=3"), ("atomic",), ("sparse",)], ids=str)
def test_files_of_many_sizes_arrive_whole(probe, server, top, verb, options):
    pairs = []
    for n in SIZES:
        (top / f"from{n}").write_bytes(noise(n, n))
        pairs += [top / f"from{n}", top / f"to{n}"]
    run(probe, server, verb, *pairs, options=options)
    for n in SIZES:
        assert (top / f"to{n}").read_bytes() == noise(n, n), n
    assert not list(top.glob(".bowline*"))


def plant(top):
    tree = top / "tree"
    (tree / "empty").mkdir(parents=True)
    (tree / "a" / "b" / "c").mkdir(parents=True)
    (tree / "a" / "b" / "c" / "deep").write_bytes(noise(70000))
    (tree / ("n" * 255)).write_bytes(b"long name")
    (tree / "with blank\nand more").write_bytes(b"1")
    with open(os.path.join(os.fsencode(tree), b"\xff\xfe latin \xe9"), "wb") as f:
        f.write(b"bytes")
    for i in range(300):
        (tree / "a" / f"small{i}").write_bytes(noise(i, i))
    return tree


@pytest.mark.parametrize("verb", VERBS)
def test_a_tree_arrives_whole_and_again_over_itself(probe, server, top, verb):
    tree = plant(top)
    run(probe, server, verb, tree, top / "copy", options=["recursive"])
    assert contents(top / "copy") == contents(tree)
    for i in range(300):
        (tree / "a" / f"small{i}").write_bytes(noise(300 - i, i))  # shorter and longer than before
    run(probe, server, verb, tree, top / "copy", options=["recursive"])
    assert contents(top / "copy") == contents(tree)


@pytest.mark.parametrize("verb", VERBS)
def test_times_and_modes_are_kept(probe, server, top, verb):
    tree = plant(top)
    (tree / "a" / "small7").chmod(0o440)
    (tree / "a" / "b").chmod(0o555)
    (tree / "a" / "small9").chmod(0o4755)
    for path in (tree / "a" / "small7", tree / "a" / "b", tree / "a", tree):
        os.utime(path, (1111111111, 1222222222))
    run(probe, server, verb, tree, top / "copy", options=["recursive", "keep"])
    for inner in ("a/small7", "a/b", "a", ""):
        before, after = (tree / inner).stat(), (top / "copy" / inner).stat()
        assert (before.st_mode, int(before.st_mtime)) == (after.st_mode, int(after.st_mtime)), inner
    assert (top / "copy" / "a" / "small9").stat().st_mode & 0o7777 == 0o755


def test_a_file_copied_onto_itself_survives(probe, server, top):
    (top / "f").write_bytes(noise(1000000))
    for verb in VERBS:
        run(probe, server, verb, top / "f", top / "f")
        assert (top / "f").read_bytes() == noise(1000000), verb


@pytest.mark.parametrize("verb", VERBS)
def test_one_bad_file_is_told_and_the_others_go_on(probe, server, top, verb):
    tree = plant(top)
    (tree / "dangling").symlink_to("nothing")
    (tree / "loop").symlink_to(".")
    (tree / "linked").symlink_to("a/small5")
    out = run(probe, server, verb, tree, top / "copy", options=["recursive", "follow", "count"], status=1)
    assert "dangling\": No such file or directory" in out
    assert "loop\": this link leads back" in out
    assert "failed 2" in out
    got = contents(top / "copy")
    assert got[b"./linked"] == noise(5, 5)
    assert len(got) == 300 + 4 + 4 + 1


WORDS = [
    ("up", "nothing", "x", 'stat local "{from}": No such file or directory'),
    ("down", "nothing", "x", 'stat remote "{from}": No such file or directory'),
    ("up", "f", "no/x", 'dest open "{to}": No such file or directory'),
    ("down", "f", "no/x", 'open local "{to}": No such file or directory'),
    ("up", "d", "x", 'local "{from}" is not a regular file'),
    ("down", "d", "x", 'download "{from}": not a regular file'),
    ("up", "fifo", "x", 'local "{from}" is not a regular file'),
    ("up", "f", "/dev/full", 'write remote "{to}": Failure'),
    ("down", "f", "/dev/full", 'write local "{to}": No space left on device'),
]


@pytest.mark.parametrize("verb,source,to,words", WORDS, ids=lambda v: str(v)[:20])
def test_what_fails_is_told_in_known_words(probe, server, top, verb, source, to, words):
    (top / "f").write_bytes(b"12345")
    (top / "d").mkdir()
    os.mkfifo(top / "fifo")
    names = {"from": top / source, "to": top / to}
    out = run(probe, server, verb, names["from"], names["to"], status=1)
    assert words.format(**names) in out

# SPDX-License-Identifier: ISC
"""The copying of files and trees that scp and sftp stand on (tests/probe), with two servers as children."""
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness import link
from harness import server as servers
from harness import world as ground
from harness.client import feed
from harness.programs import TOP
from harness.server import Sshd


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
    """A directory in memory where there is one: a disk would be what is measured."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        path = Path(name)
        path.chmod(0o777)
        yield path


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


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("there", [0, 1, 1000, 1048576, 1999999, 2000000])
def test_a_copy_is_continued_where_it_ended(probe, server, top, verb, there):
    whole = noise(2000000)
    (top / "f").write_bytes(whole)
    for option, before in (("resume", whole[:there]), ("resume_checked", whole[:there]),
                           ("resume_checked", noise(there, 9)), ("resume_checked", whole + b"longer")):
        (top / "t").write_bytes(before)
        run(probe, server, verb, top / "f", top / "t", options=[option])
        assert (top / "t").read_bytes() == whole, option


def test_what_is_there_is_not_sent_again(probe, server, top):
    (top / "f").write_bytes(noise(2000000))
    for verb in VERBS:
        (top / "t").write_bytes(b"\0" * 1500000)
        run(probe, server, verb, top / "f", top / "t", options=["resume"])
        assert (top / "t").read_bytes() == b"\0" * 1500000 + noise(2000000)[1500000:], verb


def test_a_longer_destination_is_not_continued(probe, server, top):
    (top / "f").write_bytes(b"short")
    (top / "t").write_bytes(b"longer than that")
    for verb, words in (("up", "destination file same size or larger"), ("down", "local file is larger than remote")):
        assert words in run(probe, server, verb, top / "f", top / "t", options=["resume"], status=1)
        assert (top / "t").read_bytes() == b"longer than that"


@pytest.mark.parametrize("verb", VERBS)
def test_the_end_result_is_read_back(probe, server, top, verb):
    for n in SIZES:
        (top / "f").write_bytes(noise(n, n))
        run(probe, server, verb, top / "f", top / "t", options=["checksum"])
        assert (top / "t").read_bytes() == noise(n, n)


# ---- servers that are odd or lie ---------------------------------------------------------------------------------

STRANGE = TOP / "tests/interop/strange_server.py"


def strange(probe, top, verb, source, to, *habits, options=(), status=0):
    server = top / "server"
    server.write_text("#!/bin/sh\nexec /usr/bin/python3 " + " ".join([str(STRANGE), *habits]) + "\n")
    server.chmod(0o755)
    return run(probe, server, verb, source, to, options=options, status=status)


@pytest.mark.parametrize("most", [1, 1000, 32768, 102400])
def test_a_server_that_gives_less_than_was_asked_for(probe, top, most):
    size = 5000 if most == 1 else 3000017
    (top / "f").write_bytes(noise(size))
    strange(probe, top, "down", top / "f", top / "t", f"short={most}")
    assert (top / "t").read_bytes() == noise(size)


@pytest.mark.parametrize("order", ["reverse", "shuffle"])
def test_a_server_that_answers_in_another_order(probe, top, order):
    (top / "f").write_bytes(noise(9000017))
    strange(probe, top, "down", top / "f", top / "t", order, "short=20000")
    assert (top / "t").read_bytes() == noise(9000017)
    strange(probe, top, "across", top / "f", top / "u", order)
    assert (top / "u").read_bytes() == noise(9000017)


def test_a_server_that_lies_about_a_size(probe, top):
    (top / "f").write_bytes(noise(64894))
    out = strange(probe, top, "down", top / "f", top / "t", "size=68099")
    assert "f\" ended after 64894 of 68099 bytes" in out
    assert (top / "t").read_bytes() == noise(64894)
    for lie in (0, 1, 50000, 64893):
        strange(probe, top, "down", top / "f", top / f"t{lie}", f"size={lie}")
        assert (top / f"t{lie}").read_bytes() == noise(64894), lie
    strange(probe, top, "down", top / "f", top / "v", "size=-")
    assert (top / "v").read_bytes() == noise(64894)


def test_names_that_lead_elsewhere_are_refused_and_told(probe, top):
    (top / "tree").mkdir()
    (top / "tree" / "good").write_bytes(b"good")
    (top / "f").write_bytes(b"bad")
    names = [f"name={name.encode().hex()}" for name in ("../escaped", "/tmp/escaped", "a/b", "", "nul\0x", "\x1b[2Jx/")]
    out = strange(probe, top, "down", top / "tree", top / "copy", *names, options=["recursive"], status=1)
    assert out.count("Server sent suspect path") == len(names)
    assert "\x1b" not in out
    assert contents(top / "copy") == {b"./good": b"good"}
    assert not (top / "escaped").exists()


def test_dots_among_the_names_do_not_lead_back(probe, top):
    (top / "tree").mkdir()
    (top / "tree" / "good").write_bytes(b"good")
    strange(probe, top, "down", top / "tree", top / "copy", f"name={b'.'.hex()}", f"name={b'..'.hex()}",
            options=["recursive"])
    assert contents(top / "copy") == {b"./good": b"good"}


def test_setuid_bits_are_not_taken(probe, top):
    (top / "f").write_bytes(b"x")
    (top / "f").chmod(0o6777)
    for options in ([], ["keep"]):
        strange(probe, top, "down", top / "f", top / "t", options=options)
        assert (top / "t").stat().st_mode & 0o7000 == 0


def test_a_tree_without_end_ends(probe, top):
    (top / "tree").mkdir()
    out = strange(probe, top, "down", top / "tree", top / "copy", "endless", options=["recursive"], status=1)
    assert "Maximum directory depth exceeded: 64 levels" in out
    assert out.count("exceeded") == 1


def test_a_failed_write_leaves_a_prefix(probe, top):
    (top / "f").write_bytes(noise(3000017))
    out = strange(probe, top, "up", top / "f", top / "t", "failwrite=5", status=1)
    got = (top / "t").read_bytes()
    assert got == noise(3000017)[:len(got)] and len(got) < 3000017
    assert "write remote" in out


@pytest.mark.parametrize("after", [1, 30, 200])
def test_a_server_that_dies_leaves_prefixes(probe, top, after):
    tree = plant(top)
    for verb in ("up", "down"):
        out = strange(probe, top, verb, tree, top / verb, f"die={after}", options=["recursive"], status=1)
        assert "closed" in out
        whole = contents(tree)
        for name, got in contents(top / verb).items() if (top / verb).exists() else ():
            assert name in whole and (got is None or got == whole[name][:len(got)]), name


@pytest.mark.parametrize("verb", VERBS)
def test_holes_stay_holes_and_old_bytes_do_not_show_in_them(probe, server, top, verb):
    with open(top / "f", "wb") as f:
        f.seek(20 << 20)
        f.write(noise(100000))
        f.truncate(40 << 20)
    whole = (top / "f").read_bytes()
    run(probe, server, verb, top / "f", top / "t", options=["sparse"])
    assert (top / "t").read_bytes() == whole
    if verb in ("up", "down"):
        assert (top / "t").stat().st_blocks < (10 << 20) / 512
    (top / "t").write_bytes(noise(30 << 20))
    run(probe, server, verb, top / "f", top / "t", options=["sparse"])
    assert (top / "t").read_bytes() == whole


@pytest.mark.parametrize("verb", VERBS)
def test_what_an_interrupt_leaves_is_a_prefix_and_told(probe, server, top, verb):
    whole = noise(60 << 20)
    (top / "f").write_bytes(whole)
    out = run(probe, server, verb, top / "f", top / "t", options=["interrupt=1"], status=1)
    got = (top / "t").read_bytes()
    assert "interrupted" in out
    assert got == whole[:len(got)]
    if len(got) < len(whole):
        assert '/t" is incomplete: ' in out
    run(probe, server, verb, top / "f", top / "t", options=["resume_checked"])
    assert (top / "t").read_bytes() == whole


@pytest.mark.parametrize("verb", VERBS)
def test_beside_it_and_then_in_its_place(probe, server, top, verb):
    (top / "t").write_bytes(b"old")
    kept = open(top / "t", "rb")
    (top / "f").write_bytes(noise(60 << 20))
    run(probe, server, verb, top / "f", top / "t", options=["atomic", "interrupt=1", "limit=100000000"], status=1)
    assert (top / "t").read_bytes() == b"old"
    run(probe, server, verb, top / "f", top / "t", options=["atomic"])
    assert (top / "t").read_bytes() == noise(60 << 20)
    assert kept.read() == b"old"
    assert sorted(p.name for p in top.iterdir()) == ["f", "t"]


@pytest.mark.parametrize("verb", VERBS)
def test_no_faster_than_asked(probe, server, top, verb):
    (top / "f").write_bytes(noise(1500000))
    begin = time.monotonic()
    run(probe, server, verb, top / "f", top / "t", options=["limit=1000000"])
    assert 1.2 < time.monotonic() - begin < 10
    assert (top / "t").read_bytes() == noise(1500000)


def test_a_name_that_the_server_gave_is_not_followed(probe, server, top):
    (top / "f").write_bytes(b"new")
    (top / "outside").write_bytes(b"outside")
    (top / "t").symlink_to("outside")
    out = run(probe, server, "down", top / "f", top / "t", options=["peer"], status=1)
    assert "symbolic link, which is not followed" in out
    assert (top / "outside").read_bytes() == b"outside"
    run(probe, server, "down", top / "f", top / "t")  # the person's own name is
    assert (top / "outside").read_bytes() == b"new"


def test_links_in_the_destination_of_a_tree_are_not_followed(probe, server, top):
    tree = top / "tree"
    (tree / "d").mkdir(parents=True)
    (tree / "d" / "f").write_bytes(b"new")
    (tree / "g").write_bytes(b"new")
    (top / "out").mkdir()
    (top / "out" / "g").write_bytes(b"outside")
    (top / "copy").mkdir()
    (top / "copy" / "d").symlink_to("../out")
    (top / "copy" / "g").symlink_to("../out/g")
    out = run(probe, server, "down", tree, top / "copy", options=["recursive"], status=1)
    assert f'"{top}/copy/d" exists but is not a directory' in out
    assert f'open local "{top}/copy/g": is a symbolic link, which is not followed here' in out
    assert contents(top / "out") == {b"./g": b"outside"}


def peak_kib(words):
    """Largest memory of a program that must succeed, and what it prints."""
    with subprocess.Popen(words, stdout=subprocess.PIPE) as p:
        out = p.stdout.read()
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0, out
    return used.ru_maxrss, out


def test_memory_does_not_grow_with_the_tree(probe, server, top):
    (top / "few").mkdir()
    (top / "many").mkdir()
    for i in range(10001):
        (top / "many" / f"{'x' * 200}{i}").touch()
    words = [probe, "-D", str(server), "-x", "recursive", "-x", "count", "down"]
    idle, _ = peak_kib([*words, str(top / "few"), str(top / "none")])
    peak, out = peak_kib([*words, str(top / "many"), str(top / "copy")])
    assert b"files 10001 of 10001" in out
    assert len(os.listdir(top / "copy")) == 10001
    assert peak - idle < 16 << 10


def login(server):
    known = servers.known_hosts(server, ground.scratch("transfer") / "known_hosts")
    words = ["-F", "none", "-P", str(server.port), "-i", str(server.world.keys.path("ed25519"))]
    for option in ("GlobalKnownHostsFile=none", "IdentitiesOnly=yes", "BatchMode=yes", f"UserKnownHostsFile={known}",
                   "StrictHostKeyChecking=yes"):
        words += ["-o", option]
    return words


def test_many_small_files_over_a_long_path(probe, world, ours, top):
    """1,000 files at 50 ms: many at once, not some round trips each."""
    why = link.why_not()
    if why:
        pytest.skip(why)
    (top / "one").mkdir()
    for d in range(10):
        (top / "tree" / str(d)).mkdir(parents=True)
        for i in range(100):
            (top / "tree" / str(d) / str(i)).write_bytes(noise(4096, i))

    def seconds(s, verb, source, to):
        begin = time.monotonic()
        command = [*s.link.prefix("client"), probe, *login(s), "-x", "recursive", f"{s.user}@{s.host}", verb,
                   str(source), str(to)]
        status, _, err = feed(command, None, 60)
        assert status == 0, err
        return time.monotonic() - begin

    with link.Link(50) as path, Sshd(world, ours, [f"Subsystem sftp {ours.sftp_server}"], link=path).start() as s:
        for verb in ("up", "down"):
            idle = seconds(s, verb, top / "one", top / f"{verb}0")
            took = min(seconds(s, verb, top / "tree", top / f"{verb}{i}") for i in (1, 2))
            assert contents(top / f"{verb}1") == contents(top / "tree")
            assert took - idle < 10.0, f"{verb}: {took:.2f} s, {idle:.2f} of it for an empty directory"

# SPDX-License-Identifier: ISC
"""scp and sftp with our sshd where things go wrong or are odd: the right words, the right status, and what is left."""
import hashlib
import os
import pwd
import re
import resource
import signal
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest

from harness import world as worlds
from harness.copier import Copy, there
from harness.server import Sshd

WAYS = ("up", "down")
ODD = (b"with blank", b" leading", b"back\\slash", b'quo"te', b"apo'strophe", b"two\nlines", b"star*", b"[ab]", b"q?mark",
       b"-dash", b"$HOME", b"`id`", b"semi;colon", b"\xff\xfe\x80", b"\xc3\xbc", b"tab\there", b"~", b"~root", b"n" * 255,
       b"co:lon", b"#hash", b"{a,b}", b"\x1b[31m")


class Place:
    """source/ and target/, one of them on the side of the server; both belong to the account."""

    def __init__(self, world, programs, server, way):
        self.copy, self.server, self.way, self.programs = Copy(world, programs), server, way, programs
        self.user = pwd.getpwnam(server.user)
        self.top = worlds.scratch("cases")
        self.source, self.target = self.top / "source", self.top / "target"
        for path in (self.source, self.target):
            path.mkdir()
        self.own(self.target)

    def own(self, path):
        os.chown(path, self.user.pw_uid, self.user.pw_gid, follow_symlinks=False)
        return path

    def scp(self, source, target=None, flags=("-r",), timeout=60, **kw):
        """(status, words)"""
        target = os.fspath(target or f"{self.target}/")
        sources = [os.fspath(p) for p in (source if isinstance(source, list) else [source])]
        up = self.way == "up"
        words = [*(sources if up else [there(self.server, p) for p in sources]), there(self.server, target) if up else target]
        done = subprocess.run(self.copy.scp(self.server, "-q", *flags, *words), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=timeout, **kw)
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def good(self, *args, **kw):
        code, said = self.scp(*args, **kw)
        assert code == 0, said
        return said

    def bad(self, *args, **kw):
        """The words of what fails with status 1."""
        code, said = self.scp(*args, **kw)
        assert code == 1 or code == 255 and not self.programs.is_bowline, (code, said)
        assert not re.search("[\x00-\x08\x0b-\x0c\x0e-\x1f]", said), said
        return said


@pytest.fixture(scope="module")
def server(world, ours):
    if not world.account.private:
        pytest.skip(world.account.why_no_password)
    sftp = "internal-sftp" if ours.is_bowline else ours.sftp_server
    with Sshd(world, ours, [f"Subsystem sftp {sftp}"], log_level="ERROR").start() as running:
        yield running


@pytest.fixture(params=WAYS)
def place(world, ours, server, request):
    return Place(world, ours, server, request.param)


@pytest.fixture
def bowline(ours):
    if not ours.is_bowline:
        pytest.skip("OpenSSH has no such option")


def content(top):
    return {os.fsencode(p.relative_to(top)): hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else None
            for p in Path(top).rglob("*")}


# -- no room

@pytest.fixture
def small_disk(place):
    """target/ has room for 4 MiB."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=4m,mode=755,uid={place.user.pw_uid}", "none",
                           str(place.target)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no mount here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place.target)], check=True)


def test_a_full_disk(small_disk):
    place = small_disk
    worlds.fill(place.source / "large", 9)
    said = place.bad(place.source / "large")
    assert "large" in said and re.search("No space left|Failure", said), said
    left = place.target / "large"
    if place.programs.is_bowline:       # OpenSSH may leave holes
        assert (place.source / "large").read_bytes().startswith(left.read_bytes() if left.exists() else b"")


def test_a_full_disk_inside_a_tree_is_told_for_each_file(small_disk):
    place = small_disk
    for i in range(20):
        (place.source / f"small{i:02d}").write_bytes(b"s" * 1000)
    worlds.fill(place.source / "large", 9)
    said = place.bad(f"{place.source}/.", place.target)
    assert "large" in said, said
    whole = [p for p in place.target.rglob("small*") if p.read_bytes() == b"s" * 1000]
    assert len(whole) + len(set(re.findall("small[0-9]{2}", said))) >= 20, said


def test_a_full_disk_keeps_the_old_file_when_the_new_one_replaces_it(small_disk, bowline):
    place = small_disk
    worlds.fill(place.source / "large", 9)
    (place.target / "large").write_text("older")
    place.own(place.target / "large")
    place.bad(place.source / "large", flags=["--atomic"])
    assert (place.target / "large").read_text() == "older"
    assert [p.name for p in place.target.iterdir()] == ["large"]


def test_a_limit_of_file_sizes(world, ours):
    """Like a quota: for us and, started by -D, for the server."""
    top = worlds.scratch("limit")
    worlds.fill(top / "large", 3)

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    for source, target in ((f"{top}/large", f"host:{top}/up"), (f"host:{top}/large", f"{top}/down")):
        done = subprocess.run([ours.scp, "-q", "-D", ours.sftp_server, source, target], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=30, preexec_fn=limited)
        if ours.is_bowline:
            assert done.returncode == 1 and re.search("File too large|Failure", done.stderr), done
        else:
            assert done.returncode != 0
        left = top / target.rsplit("/", 1)[1]
        assert (top / "large").read_bytes().startswith(left.read_bytes()) and left.stat().st_size <= 1 << 20


@pytest.mark.parametrize("what", ("nothing", "file", "link", "loop", "hard link", "long name"))
def test_atomic_puts_a_new_file_in_the_place(place, bowline, what):
    """What stood there, and what a link leads to, is untouched; no other name is left."""
    (place.source / "f").write_text("new")
    (place.source / "f").chmod(0o644)
    name = "n" * 255 if what == "long name" else "t"
    target, other = place.target / name, place.target / "other"
    other.write_text("other")
    if what == "file":
        target.write_text("older")
        target.chmod(0o600)
    elif what in ("link", "loop"):
        target.symlink_to("other" if what == "link" else name)
    elif what == "hard link":
        target.hardlink_to(other)
    for path in place.target.iterdir():
        place.own(path)
    place.good(place.source / "f", target, flags=["--atomic"])
    assert not target.is_symlink() and target.read_text() == "new" and other.read_text() == "other"
    assert stat.S_IMODE(target.stat().st_mode) == 0o644 and target.stat().st_nlink == other.stat().st_nlink == 1
    assert sorted(p.name for p in place.target.iterdir()) == sorted((name, "other"))


@pytest.mark.parametrize("place", ("up",), indirect=True)     # down it is root, who may write everywhere
def test_atomic_in_a_directory_that_is_not_ours_keeps_what_is_there(place, bowline):
    (place.source / "f").write_text("new")
    (place.target / "t").write_text("older")
    place.own(place.target / "t")
    place.target.chmod(0o555)
    said = place.bad(place.source / "f", place.target / "t", flags=["--atomic"])
    assert "Permission denied" in said and (place.target / "t").read_text() == "older"
    assert [p.name for p in place.target.iterdir()] == ["t"]


# -- files that come, go and grow

def test_a_link_to_nothing_and_a_missing_file_are_told(place):
    (place.source / "a").write_text("a")
    (place.source / "dangling").symlink_to("nowhere")
    (place.source / "z").write_text("z")
    said = place.bad(f"{place.source}/.", place.target)
    assert "dangling" in said and "No such file or directory" in said, said
    assert {"a", "z"} <= {p.name for p in place.target.rglob("*")}
    said = place.bad(place.source / "none")
    assert "none" in said and "No such file or directory" in said, said
    code, said = place.scp([place.source / "none", place.source / "a"])
    assert code == 1 or not place.programs.is_bowline
    assert (place.target / "a").read_text() == "a"


def test_files_that_vanish_during_a_copy_are_told(place):
    for i in range(40):
        worlds.fill(place.source / f"f{i:02d}", 1) if i % 4 == 0 else (place.source / f"f{i:02d}").write_bytes(b"x")
    worlds.fill(place.source / "z-last", 1)
    done = []
    copying = threading.Thread(target=lambda: done.append(place.scp(f"{place.source}/.", place.target,
                                                                    flags=["-r", "-l", "60000"])))
    copying.start()
    worlds.wait_until(lambda: any(place.target.rglob("f*")), 10, 0.001)
    gone = [p for p in sorted(place.source.iterdir()) if not (place.target / p.name).exists()][1:]
    for path in gone:
        path.unlink()
    copying.join()
    code, said = done[0]
    lost = [p.name for p in gone if not (place.target / p.name).exists()]
    assert all(name in said for name in lost), said
    assert code == (1 if lost else 0)
    for path in place.target.iterdir():
        if path.name not in said:
            assert path.stat().st_size in (1, 1 << 20)


def test_a_file_that_grows_is_its_beginning(place):
    path = place.source / "grows"
    worlds.fill(path, 4)
    is_over = threading.Event()

    def grow():
        with open(path, "ab") as f:
            while not is_over.is_set():
                f.write(b"more" * 1000)
                f.flush()
                time.sleep(0.001)
    thread = threading.Thread(target=grow)
    thread.start()
    try:
        code, said = place.scp(path)
    finally:
        is_over.set()
        thread.join()
    assert code in (0, 1) and (code == 0 or "grows" in said), said
    got = (place.target / "grows").read_bytes()
    assert len(got) >= 4 << 20 and path.read_bytes().startswith(got)


def test_a_file_whose_size_is_told_as_nothing_comes_whole(place):
    place.good("/proc/version", flags=())
    assert (place.target / "version").read_bytes() == Path("/proc/version").read_bytes()


def test_what_is_forbidden_inside_a_tree_is_told_and_the_rest_comes(place):
    """The account is an ordinary user: it may not read some of a tree, or not write some of the destination."""
    for name in ("a", "b", "sub/c", "sub/deep/d", "z"):
        (place.source / name).parent.mkdir(parents=True, exist_ok=True)
        (place.source / name).write_text(name)
    if place.way == "down":
        (place.source / "b").chmod(0o600)
        (place.source / "sub" / "deep").chmod(0o700)
        refused = {b"b", b"sub/deep/d"}
    else:
        (place.target / "b").write_text("older")        # root's
        (place.target / "sub").mkdir()
        place.own(place.target / "sub")
        (place.target / "sub" / "deep").mkdir()         # root's
        refused = {b"b", b"sub/deep/d"}
    said = place.bad(f"{place.source}/.", place.target)
    assert said.count("ermission denied") >= 2 and "b" in said and "deep" in said, said
    whole = content(place.source)
    got = content(place.target)
    for name in (b"a", b"sub/c", b"z"):
        assert got[name] == whole[name]
    assert not [n for n in refused if got.get(n) == whole[n]]


def test_a_file_stands_where_a_directory_is_due_and_the_other_way(place):
    (place.source / "x").mkdir()
    (place.source / "x" / "inner").write_text("inner")
    (place.source / "y").write_text("y")
    (place.source / "z").write_text("z")
    (place.target / "x").write_text("a file")
    place.own(place.target / "x")
    (place.target / "y").mkdir()
    place.own(place.target / "y")
    (place.target / "y" / "keep").write_text("keep")
    said = place.bad(f"{place.source}/.", place.target)
    assert (place.target / "x").read_text() == "a file" and (place.target / "y" / "keep").read_text() == "keep"
    assert (place.target / "z").read_text() == "z", said


def test_a_directory_without_r_is_told(place):
    (place.source / "d").mkdir()
    (place.source / "f").write_text("f")
    code, said = place.scp([place.source / "d", place.source / "f"], flags=())
    assert code == 1 and "not a regular file" in said, said
    assert content(place.target) == {b"f": content(place.source)[b"f"]}


# -- sizes

@pytest.mark.parametrize("size", (0, 1, 32767, 32768, 32769, 261120, 261121, 1 << 20))
def test_sizes_over_shorter_and_longer_files(place, size):
    (place.source / "f").write_bytes(os.urandom(size))
    for older in (None, 0, size + 1, 3 << 20):
        path = place.target / "f"
        if older is not None:
            path.write_bytes(b"o" * older)
            place.own(path)
        place.good(place.source / "f", flags=())
        assert path.read_bytes() == (place.source / "f").read_bytes(), older


def test_a_file_copied_onto_itself_survives(place):
    path = place.target / "same"
    worlds.fill(path, 3)
    place.own(path)
    before = path.read_bytes()
    place.scp(path, path, flags=())
    assert path.read_bytes() == before


def test_more_than_4_gib_with_holes(place, bowline):
    size, marks = (4 << 30) + (3 << 20) + 5, (0, 70000, (1 << 31) - 3, (4 << 30) - 4, (4 << 30) + 70001)
    with open(place.source / "sparse", "wb") as f:
        for at in marks:
            f.seek(at)
            f.write(b"marked %16d" % at)
        f.truncate(size)
    place.good(place.source / "sparse", flags=["--sparse"], timeout=120)
    info = (place.target / "sparse").stat()
    assert info.st_size == size and info.st_blocks * 512 < 64 << 20, info
    with open(place.target / "sparse", "rb") as f:
        for at in marks:
            f.seek(at)
            assert f.read(23) == b"marked %16d" % at
        f.seek(size - 5)
        assert f.read() == bytes(5)


# -- directories

@pytest.mark.parametrize("entries", (0, 101, 10001))
def test_directories_of_many_entries(place, entries):
    top = place.source / "many"
    top.mkdir()
    for i in range(entries):
        (top / f"f{i}").write_bytes(b"%d" % i)
    place.good(top)
    assert sorted(os.listdir(place.target / "many")) == sorted(os.listdir(top))
    assert all((place.target / "many" / f"f{i}").read_bytes() == b"%d" % i for i in range(entries))


def test_odd_names_in_a_tree(place):
    for i, name in enumerate(ODD):
        (place.source / os.fsdecode(name)).write_bytes(b"%d" % i)
        folder = place.source / os.fsdecode(b"d" + name[:254])
        folder.mkdir()
        (folder / os.fsdecode(name)).write_bytes(b"%d" % i)
    place.good(f"{place.source}/.", place.target)
    assert content(place.target) == content(place.source)


@pytest.mark.parametrize("name", ODD, ids=repr)
def test_odd_names_given_by_hand(place, ours, name):
    path = place.source / os.fsdecode(name)
    path.write_bytes(name)
    given = os.fsencode(path)
    if place.way == "down":         # a remote path is a pattern
        given = re.sub(rb"([\\*?\[\]{}])" if ours.is_bowline else rb"([\\*?\[\]])", rb"\\\1", given)
    place.good(os.fsdecode(given), flags=())
    assert os.listdir(os.fsencode(place.target)) == [name]
    place.way = "up"
    place.good(path, f"{place.target}/{os.fsdecode(name)[:250]}.2", flags=())
    assert len(os.listdir(place.target)) == 2


def test_links_that_lead_in_circles(place):
    (place.source / "a").mkdir()
    (place.source / "a" / "f").write_text("f")
    (place.source / "a" / "up").symlink_to("..")
    (place.source / "a" / "self").symlink_to("self")
    (place.source / "z").write_text("z")
    begin = time.monotonic()
    said = place.bad(f"{place.source}/.", place.target)
    assert "self" in said and time.monotonic() - begin < 40
    assert (place.target / "a" / "f").read_text() == "f" and (place.target / "z").read_text() == "z"
    if place.programs.is_bowline:   # OpenSSH goes round until its depth is reached
        assert len(list(place.target.rglob("*"))) < 12 and "up" in said


def test_a_link_to_a_directory_is_followed(place, bowline):
    (place.source / "real").mkdir()
    (place.source / "real" / "f").write_text("f")
    (place.source / "link").symlink_to("real")
    place.good(f"{place.source}/.", place.target)
    assert not (place.target / "link").is_symlink() and (place.target / "link" / "f").read_text() == "f"


def test_a_tree_that_is_too_deep_is_told(place):
    path = place.source
    for _ in range(80):
        path = path / "d"
    path.mkdir(parents=True)
    (place.source / "z").write_text("z")
    code, said = place.scp(f"{place.source}/.", place.target)
    assert code in (0, 1) and (code == 0 or said != ""), said
    assert (place.target / "z").read_text() == "z"
    if code == 0:
        assert content(place.target) == content(place.source)


def test_times_and_modes_are_kept(place):
    (place.source / "closed").mkdir()
    (place.source / "closed" / "f").write_text("f")
    (place.source / "x").write_text("x")
    (place.source / "x").chmod(0o755)
    (place.source / "closed" / "f").chmod(0o444)
    for path, when in ((place.source / "x", 10**9), (place.source / "closed" / "f", 5), (place.source / "closed", 1234567890)):
        os.utime(path, (when, when))
    (place.source / "closed").chmod(0o555)
    place.good(place.source / "closed", flags=["-r", "-p"])
    place.good(place.source / "x", flags=["-p"])

    def facts(top):
        return {n: (stat.S_IMODE((top / n).stat().st_mode), int((top / n).stat().st_mtime)) for n in ("x", "closed", "closed/f")}
    assert facts(place.target) == facts(place.source)


def test_modes_without_p_are_those_of_the_file_less_the_umask(place):
    if place.way == "up":
        pytest.skip("the umask of the server's account decides")
    (place.source / "x").write_text("x")
    (place.source / "x").chmod(0o4777)
    place.good(place.source / "x", flags=(), umask=0o027)
    assert stat.S_IMODE((place.target / "x").stat().st_mode) == 0o750


# -- options of our own

def test_resume_goes_on_where_a_copy_broke(place, bowline):
    worlds.fill(place.source / "f", 5)
    whole = (place.source / "f").read_bytes()
    for part in (b"", whole[:1], whole[:1000000], whole, b"other" + whole[5:3000000], whole + b"more", b"x" * (6 << 20)):
        (place.target / "f").write_bytes(part)
        place.own(place.target / "f")
        place.good(place.source / "f", flags=["--resume"])
        assert (place.target / "f").read_bytes() == whole, len(part)


def test_checksum_passes_what_is_the_same(place, bowline):
    for i in range(20):
        (place.source / f"f{i}").write_bytes(os.urandom(i * 10000))
    place.good(f"{place.source}/.", place.target, flags=["-r", "--checksum"])
    assert content(place.target) == content(place.source)


@pytest.mark.parametrize("protocol", ("-s", "-O"))
def test_an_interrupted_copy_says_what_it_left(place, protocol):
    worlds.fill(place.source / "f", 20)
    up = place.way == "up"
    words = (f"{place.source}/f", there(place.server, place.target)) if up else \
        (there(place.server, f"{place.source}/f"), str(place.target))
    process = subprocess.Popen(place.copy.scp(place.server, protocol, "-q", "-l", "40000", *words), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    got = place.target / "f"
    assert worlds.wait_until(lambda: got.exists() and got.stat().st_size > 0, 15)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=15)[0].decode(errors="replace")
    worlds.end(process)
    assert process.returncode != 0
    if place.programs.is_bowline:
        assert re.search(r'/f"?( is incomplete)?: .* of 20971520 bytes', said), said
    assert (place.source / "f").read_bytes().startswith(got.read_bytes())


# -- paths

def test_paths_of_homes(place):
    home = Path(place.user.pw_dir)
    (place.source / "f").write_text("f")
    names = {"~/c1": home / "c1", "c2": home / "c2", f"~{place.server.user}/c3": home / "c3", "./c4": home / "c4",
             "": home / "f", "~/ a b": home / " a b"}
    for given, real in names.items():
        place.way = "up"
        place.good(place.source / "f", given or ".", flags=())
        assert real.read_text() == "f", given
        place.way = "down"
        place.good(given if given else "f", place.target / "back", flags=())
        assert (place.target / "back").read_text() == "f"
        real.unlink()
        (place.target / "back").unlink()


def test_paths_of_homes_by_the_old_protocol(place):
    home = Path(place.user.pw_dir)
    (place.source / "f").write_text("f")
    for given, real in (("~/o1", home / "o1"), ("o2", home / "o2")):
        place.way = "up"
        place.good(place.source / "f", given, flags=["-O"])
        assert real.read_text() == "f", given
        place.way = "down"
        place.good(given, place.target / "back", flags=["-O"])
        assert (place.target / "back").read_text() == "f"
        real.unlink()
        (place.target / "back").unlink()


# -- causes that are named

@pytest.mark.parametrize("few", (4, 6))
def test_a_lack_of_descriptors_is_named_with_the_way_out(ours, bowline, few):
    top = worlds.scratch("few")
    (top / "a").write_text("a")

    def limited():
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, few))
    done = subprocess.run([ours.scp, "-q", "-D", ours.sftp_server, top / "a", f"host:{top}/b"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=30, preexec_fn=limited)
    assert done.returncode == 255 and "cannot be started: too many open files" in done.stderr, done
    assert "ulimit -n" in done.stderr and "system call" not in done.stderr


def test_a_batch_that_is_a_directory_is_told(ours, bowline):
    done = subprocess.run([ours.sftp, "-b", "/tmp", "-D", ours.sftp_server], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=30)
    assert done.returncode == 1 and "Commands cannot be read: Is a directory" in done.stderr, done


@pytest.mark.parametrize("words", (["/x", "TOP/y"], ["TOP/a", "host:/x"], ["-3", "host:/x", "other:/y"]),
                         ids=("down", "up", "across"))
def test_an_interrupt_ends_the_wait_for_a_server_that_says_nothing(ours, bowline, words):
    """It was started, and never says its first word."""
    top = worlds.scratch("mute")
    (top / "a").write_text("a")
    words = [w.replace("TOP", str(top)) if w != "/x" else "host:/x" for w in words]
    process = subprocess.Popen([ours.scp, "-q", "-D", "/bin/sleep 100", *words],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.wait(10)
        assert process.returncode == -signal.SIGINT
    finally:
        worlds.end(process)


def test_sftp_ends_where_nobody_takes_its_output(ours, bowline):
    top = worlds.scratch("unheard")
    (top / "lines").write_text("pwd\n" * 2000 + f"mkdir {top}/late\n")
    command = [ours.sftp, "-q", "-b", str(top / "lines"), "-D", ours.sftp_server]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == 1 and "Output cannot be written" in done.stderr and not (top / "late").exists(), done
    closed, end = os.pipe()
    os.close(closed)
    done = subprocess.run(command, stdout=end, stderr=subprocess.PIPE, text=True, timeout=30)
    os.close(end)
    assert done.returncode != 0 and not (top / "late").exists(), done
    (top / "lines").write_text(f"pwd\nmkdir {top}/late\n")      # without a standard output
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == 0 and (top / "late").exists(), done

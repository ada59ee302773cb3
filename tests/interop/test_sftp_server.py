# SPDX-License-Identifier: ISC
"""sftp-server alone, at its stdin and stdout: the same replies as OpenSSH's, and what it must refuse."""
import contextlib
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import time

import pytest

from harness import world as worlds
from harness.rawsftp import (ATTRS, CLOSE, DATA, EOF, EXTENDED, F_APPEND, F_CREATE, F_EXCL, F_READ, F_TRUNC, F_WRITE,
                             FAILURE, FSETSTAT, FSTAT, HANDLE, LSTAT, MKDIR, NAME, OK, OPEN, OPENDIR,
                             PERMISSION_DENIED, READ, READDIR, READLINK, REALPATH, REMOVE, RENAME, RMDIR, SETSTAT,
                             STAT, STATUS, SYMLINK, WRITE, RawSftp, attrs, s, u32, u64)


@pytest.fixture
def ours(ours):
    if not ours.is_bowline:
        pytest.skip("compares with the installed sftp-server, which would be the tested one")
    return ours


def grown(name):
    """A tree to play with: file (hello), sub/, link -> file, dang -> nowhere/else."""
    top = worlds.scratch(name)
    (top / "file").write_text("hello")
    (top / "sub").mkdir()
    (top / "link").symlink_to("file")
    (top / "dang").symlink_to("nowhere/else")
    os.utime(top / "file", (10**9, 10**9))
    (top / "sub").chmod(0o755)
    (top / "file").chmod(0o644)
    return top


def entries(body):
    """[(name, longname, attributes)] of a NAME reply."""
    count, rest, found = struct.unpack(">I", body[:4])[0], body[4:], []
    for _ in range(count):
        n = struct.unpack(">I", rest[:4])[0]
        m = struct.unpack(">I", rest[4 + n:8 + n])[0]
        name, long, rest = rest[4:4 + n], rest[8 + n:8 + n + m], rest[8 + n + m:]
        flags = struct.unpack(">I", rest[:4])[0]
        size = 4 + 8 * (flags & 1) + 8 * (flags >> 1 & 1) + 4 * (flags >> 2 & 1) + 8 * (flags >> 3 & 1)
        found.append((name, long, rest[:size]))
        rest = rest[size:]
    assert rest == b""
    return found


def listing(sftp, path):
    kind, handle = sftp.request(OPENDIR, s(path))
    assert kind == HANDLE
    names = []
    while True:
        kind, body = sftp.request(READDIR, handle)
        if kind == STATUS:
            assert body[:4] == u32(EOF)
            break
        assert kind == NAME and len(body) < 34000
        names += entries(body)
    assert sftp.code(CLOSE, handle) == OK
    return names


def conversation(sftp, top):
    """Each request with its variants and faults; [(what, type, body)] with times and handles taken out."""
    said, top = [], str(top).encode()

    def ask(what, kind, body):
        got, reply = sftp.request(kind, body)
        if got == HANDLE:
            said.append((what, got))
            return reply
        if got == NAME:
            reply = sorted((n, re.sub(rb" \w{3} [ \d]\d [ \d]\d:\d\d ", b" now ", long), a[:-8])
                           for n, long, a in entries(reply))
        elif got == ATTRS:
            reply = reply[:24]
        said.append((what, got, reply))
        return None

    def ext(name, body=b""):
        return ask(name, EXTENDED, s(name) + body)
    said.append(("version", [e for e in sftp.extensions.items()]))
    for path in (b"/nonexist", b"/nonexist/x", b"", b".", top + b"/dang", top + b"/link", top + b"/sub/../nof", b"/",
                 top + b"/file/x", top + b"/file/", top + b"/nof/", b"x" * 5000, b"x" * 300, b"//", top + b"//sub//."):
        ask(("realpath", path), REALPATH, s(path))
    ask("open none", OPEN, s("/nonexist") + u32(F_READ, 0))
    ask("open with a directory behind a file", OPEN, s(top + b"/file/x") + u32(F_READ, 0))
    h = ask("open", OPEN, s(top + b"/file") + u32(F_READ | F_WRITE, 0))
    for offset, n in ((0, 0), (0, 3), (0, 100), (4, 100), (5, 1), (1 << 40, 1), (2**63, 1), (0, 2**32 - 1)):
        ask(("read", offset, n), READ, h + u64(offset) + u32(n))
    ask("write nothing", WRITE, h + u64(0) + s(""))
    ask("write", WRITE, h + u64(3) + s("LO there"))
    ask("write too far", WRITE, h + u64(2**63) + s("x"))
    ask("read again", READ, h + u64(0) + u32(100))
    ask("fstat", FSTAT, h)
    ask("fsetstat", FSETSTAT, h + attrs(size=4, mode=0o640, times=(1, 2)))
    ask("fstat", FSTAT, h)
    ask("fsetstat nothing", FSETSTAT, h + attrs())
    ask("readdir of a file", READDIR, h)
    ext("fsync@openssh.com", h)
    ask("close", CLOSE, h)
    ask("close twice", CLOSE, h)
    for what, kind, tail in (("fstat", FSTAT, b""), ("fsetstat", FSETSTAT, u32(0)), ("readdir", READDIR, b""),
                             ("read", READ, u64(0) + u32(4)), ("write", WRITE, u64(0) + s(""))):
        ask((what, "closed"), kind, h + tail)
    ext("fsync@openssh.com", h)
    ext("fstatvfs@openssh.com", h)
    ext("copy-data", h + u64(0) + u64(0) + h + u64(0))
    d = ask("opendir", OPENDIR, s(top))
    ask("read a directory", READ, d + u64(0) + u32(4))
    ask("fstat a directory", FSTAT, d)
    ask("readdir", READDIR, d)
    ask("readdir", READDIR, d)
    ask("closedir", CLOSE, d)
    ask("opendir of a file", OPENDIR, s(top + b"/file"))
    ask("opendir of nothing", OPENDIR, s(top + b"/none"))
    for a, b in ((b"/file", b"/link"), (b"/file", b"/sub"), (b"/sub", b"/file"), (b"/none", b"/x"), (b"/file", b"/file"),
                 (b"/sub", b"/sub"), (b"/file", b"/sub/"), (b"/sub", b"/sub/in"), (b"/file", b"/file2"), (b"/sub", b"/sub2"),
                 (b"/link", b"/link2"), (b"/file2", b"/no/x")):
        ask(("rename", a, b), RENAME, s(top + a) + s(top + b))
    for a, b in ((b"/file2", b"/file"), (b"/sub2", b"/sub"), (b"/link2", b"/link")):
        ext("posix-rename@openssh.com", s(top + a) + s(top + b))
    for a, b in ((b"/file", b"/hard"), (b"/file", b"/hard"), (b"/sub", b"/hard2"), (b"/none", b"/hard3")):
        ext("hardlink@openssh.com", s(top + a) + s(top + b))
    for a, b in ((b"target", b"/sym"), (b"target", b"/sym"), (b"", b"/sym2"), (b"x" * 4095, b"/sym3")):
        ask(("symlink", a[:9], b), SYMLINK, s(a) + s(top + b))
    for a in (b"/sym", b"/file", b"/none", b"/link"):
        ask(("readlink", a), READLINK, s(top + a))
    ask("remove", REMOVE, s(top + b"/hard"))
    ask("remove a directory", REMOVE, s(top + b"/sub"))
    ask("remove nothing", REMOVE, s(top + b"/none"))
    ask("mkdir", MKDIR, s(top + b"/made") + attrs(mode=0o40700))
    ask("mkdir without a mode", MKDIR, s(top + b"/made2") + attrs())
    ask("mkdir again", MKDIR, s(top + b"/made") + attrs(mode=0o700))
    ask("mkdir nowhere", MKDIR, s(top + b"/none/made") + attrs(mode=0o700))
    ask("rmdir", RMDIR, s(top + b"/made2"))
    ask("rmdir of a file", RMDIR, s(top + b"/file"))
    ask("rmdir of a full one", RMDIR, s(top))
    for what, a in (("size", attrs(size=2)), ("mode", attrs(mode=0o107600)), ("times", attrs(times=(5, 2**32 - 1))),
                    ("owner", attrs(owner=(os.getuid(), os.getgid()))), ("big", attrs(size=2**63, mode=0o7)),
                    ("extended", u32(0x80000000, 1) + s("a") + s("b")), ("unknown bits", u32(0x40))):
        ask(("setstat", what), SETSTAT, s(top + b"/file") + a)
        ask("stat", STAT, s(top + b"/file"))
    ask("setstat of nothing", SETSTAT, s(top + b"/none") + attrs(mode=0o600))
    ask("setstat of a directory's size", SETSTAT, s(top + b"/sub") + attrs(size=0))
    ext("lsetstat@openssh.com", s(top + b"/link") + attrs(size=0))
    ext("lsetstat@openssh.com", s(top + b"/link") + attrs(mode=0o600))
    ext("lsetstat@openssh.com", s(top + b"/link") + attrs(times=(7, 8)))
    for path in (b"/link", b"/dang", b"/none", b"/sub"):
        ask(("stat", path), STAT, s(top + path))
        ask(("lstat", path), LSTAT, s(top + path))
    for path in (b"~", b"~/x", b"~/x/y", b"rel", b"rel/x", b"~root", b"~root/x", b"", b"/etc/./passwd"):
        ask(("expand", path), EXTENDED, s("expand-path@openssh.com") + s(path))
    ask("expand of nobody", EXTENDED, s("expand-path@openssh.com") + s("~nosuch-user/x"))
    for user in (b"root", b"nosuch-user"):
        ask(("home", user), EXTENDED, s("home-directory") + s(user))
    ext("users-groups-by-id@openssh.com", s(u32(0, 54321)) + s(u32(0, 54321, 1)))
    ext("users-groups-by-id@openssh.com", s("") + s(""))
    ext("statvfs@openssh.com", s("/nonexist"))
    ext("limits@openssh.com")
    ext("limits@openssh.com", b"and more")
    ext("unknown@example.org", b"and more")
    a = ask("append", OPEN, s(top + b"/file") + u32(F_WRITE | F_READ | F_APPEND, 0))
    ask("write", WRITE, a + u64(0) + s("at the end"))
    ask("write", WRITE, a + u64(2**63) + s("!"))
    ask("read", READ, a + u64(0) + u32(50))
    e = ask("excl", OPEN, s(top + b"/new") + u32(F_WRITE | F_CREATE | F_EXCL) + attrs(mode=0o640))
    ask("excl again", OPEN, s(top + b"/new") + u32(F_WRITE | F_CREATE | F_EXCL, 0))
    ext("copy-data", a + u64(1) + u64(0) + e + u64(2))
    ext("copy-data", a + u64(0) + u64(3) + e + u64(0))
    ext("copy-data", a + u64(0) + u64(3) + a + u64(0))
    ask("stat", STAT, s(top + b"/new"))
    t = ask("trunc", OPEN, s(top + b"/new") + u32(F_WRITE | F_CREATE | F_TRUNC, 0))
    ask("read what is for writing", READ, t + u64(0) + u32(5))
    ask("stat", STAT, s(top + b"/new"))
    ask("open a directory to write", OPEN, s(top) + u32(F_WRITE, 0))
    o = ask("open a directory", OPEN, s(top) + u32(F_READ, 0))
    ask("read an open directory", READ, o + u64(0) + u32(5))
    ask("no flags", OPEN, s(top + b"/file") + u32(0, 0))
    ask("full", WRITE, ask("full", OPEN, s("/dev/full") + u32(F_WRITE, 0)) + u64(0) + s("x"))
    return said


def test_replies_are_openssh_s(world, ours, theirs):
    """Every request, good and bad, to both: the same type, code and text."""
    said, logs = [], []
    moved = worlds.scratch("sftp-same") / "tree"    # both see the same paths, one after the other
    for programs in (theirs, ours):
        os.rename(grown("sftp-same"), moved)
        with RawSftp(programs.sftp_server, "-e", "-l", "INFO", cwd=moved, preexec_fn=lambda: os.umask(0o22)) as sftp:
            said.append(conversation(sftp, moved))
            code, log = sftp.end()
            assert code == 0
            logs.append(log)
        shutil.rmtree(moved)
    for one, other in zip(*said):
        assert one == other
    assert len(said[0]) == len(said[1]) > 150
    # the log tells the same; of a wrong handle OpenSSH says a little more
    drop = re.compile(r"\(null\)|^process_|forced|sent status|tilde_expand|^(read|write) \"|^Unknown|utimes")
    lines = [[line[:900] for line in log.replace("\r", "").splitlines() if not drop.search(line)] for log in logs]
    assert lines[0] == lines[1]


def test_frames_that_are_none_end_the_session(ours):
    for frame in (u32(0), u32(262145) + b"\5", b"\xff" * 8):
        with RawSftp(ours.sftp_server, "-e") as sftp:
            sftp.write(frame)
            assert sftp.frame() == b""
            assert sftp.process.wait(10) == 255
            assert "bad message from UNKNOWN" in sftp.process.stderr.read().decode()
    with RawSftp(ours.sftp_server, "-e", init=False) as sftp:
        sftp.send(REMOVE, s("/tmp"))
        assert sftp.frame() == b"" and sftp.process.wait(10) == 255


REQUESTS = {
    "write": (WRITE, "{h}", u64(0) + s("x")), "setstat": (SETSTAT, "file", attrs(mode=0o600)),
    "fsetstat": (FSETSTAT, "{h}", attrs(mode=0o600)), "remove": (REMOVE, "file", b""),
    "mkdir": (MKDIR, "made", attrs(mode=0o700)), "rmdir": (RMDIR, "sub", b""), "rename": (RENAME, "file", "file2"),
    "symlink": (SYMLINK, "=t", "sym"), "posix-rename": ("posix-rename@openssh.com", "file", "link"),
    "hardlink": ("hardlink@openssh.com", "file", "hard"), "fsync": ("fsync@openssh.com", "{h}", b""),
    "lsetstat": ("lsetstat@openssh.com", "link", attrs(times=(1, 2))),
    "copy-data": ("copy-data", "{h}", u64(0) + u64(0) + "{h}".encode() + u64(0)),
    "open": (OPEN, "file", u32(F_READ, 0)), "lstat": (LSTAT, "file", b""), "stat": (STAT, "file", b""),
    "fstat": (FSTAT, "{h}", b""), "opendir": (OPENDIR, "", b""), "readdir": (READDIR, "{h}", b""),
    "close": (CLOSE, "{h}", b""), "read": (READ, "{h}", u64(0) + u32(5)), "realpath": (REALPATH, "", b""),
    "readlink": (READLINK, "link", b""), "statvfs": ("statvfs@openssh.com", "", b""),
    "fstatvfs": ("fstatvfs@openssh.com", "{h}", b""), "limits": ("limits@openssh.com", None, b""),
    "expand-path": ("expand-path@openssh.com", "=~", b""), "home-directory": ("home-directory", "=root", b""),
    "users-groups-by-id": ("users-groups-by-id@openssh.com", "=", s("")),
}
CHANGING = {"write", "setstat", "fsetstat", "remove", "mkdir", "rmdir", "rename", "symlink", "posix-rename",
            "hardlink", "fsync", "lsetstat", "copy-data"}


def do(sftp, name, top, handle):
    """One request of REQUESTS; True when it was refused."""
    kind, first, rest = REQUESTS[name]

    def path(p):
        return s(p[1:]) if p.startswith("=") else s(f"{top}/{p}")
    body = b"" if first is None else handle if first == "{h}" else path(first)
    body += path(rest) if isinstance(rest, str) else rest.replace(b"{h}", handle)
    got, reply = sftp.extended(kind, body) if isinstance(kind, str) else sftp.request(kind, body)
    return got == STATUS and reply[:4] == u32(PERMISSION_DENIED)


def snapshot(top):
    return sorted((p.name, p.lstat().st_mode, p.lstat().st_size, p.lstat().st_mtime_ns, p.lstat().st_ino,
                   p.lstat().st_nlink) for p in top.rglob("*"))


def queried(ours):
    return subprocess.run([ours.sftp_server, "-Q", "requests"], capture_output=True, text=True,
                          check=True).stdout.split()


def test_every_request_is_in_the_matrix(ours, theirs):
    assert set(queried(ours)) == set(REQUESTS)
    assert queried(ours) == queried(theirs)


def test_read_only_refuses_every_change(ours):
    for name in REQUESTS:
        top = grown("sftp-ro")
        before = snapshot(top)
        with RawSftp(ours.sftp_server, "-R", "-e") as sftp:
            handle = sftp.open(top / "file")
            assert do(sftp, name, top, handle) == (name in CHANGING), name
        assert snapshot(top) == before, name
    top = grown("sftp-ro")
    before = snapshot(top)
    with RawSftp(ours.sftp_server, "-R", "-e") as sftp:
        for flags in range(64):
            for path in ("file", "new"):
                kind, body = sftp.request(OPEN, s(top / path) + u32(flags, 0))
                if flags & (F_WRITE | F_CREATE | F_TRUNC):
                    assert kind == STATUS and body[:4] == u32(PERMISSION_DENIED), (flags, path)
        for name in (b"posix-rename@openssh.com", b"copy-data", b"fsync@openssh.com"):
            assert name not in sftp.extensions
        assert b"statvfs@openssh.com" in sftp.extensions
    assert snapshot(top) == before


def test_lists_of_requests(ours):
    for name in REQUESTS:
        top = grown("sftp-list")
        with RawSftp(ours.sftp_server, "-P", name, "-e", "-l", "VERBOSE") as sftp:
            handle = s(u32(0, 1)) if name == "open" else sftp.open(top / "file")
            assert do(sftp, name, top, handle), name
            assert f"Refusing denylisted {name} request" in sftp.end()[1]
        with RawSftp(ours.sftp_server, "-p", f"{name},open") as sftp:
            handle = sftp.open(top / "file")
            assert not do(sftp, name, top, handle), name
            for other in REQUESTS:
                if other not in (name, "open"):
                    assert do(sftp, other, top, handle), (name, other)
        with RawSftp(ours.sftp_server, "-p", f"{name},open", "-P", name) as sftp:
            assert do(sftp, name, top, s(u32(0, 1))), name


@pytest.mark.parametrize("arguments", (("-P", "wirte"), ("-p", "open,unlink"), ("-l", "LOUD"), ("-f", "MARS"), ("-u", "9"),
                                       ("-u", ""), ("-P", "open", "-P", "write"), ("-Z",), ("-d", "%q"),
                                       ("-Q", "ciphers")), ids=" ".join)
def test_what_is_not_understood_serves_nothing(ours, arguments):
    done = subprocess.run([ours.sftp_server, "-e", *arguments], input=u32(5) + b"\1" + u32(3), capture_output=True, timeout=20)
    assert done.returncode == 255 and done.stdout == b"" and done.stderr != b""


def test_usage(ours, theirs):
    says = [subprocess.run([p.sftp_server, "-h"], capture_output=True, text=True) for p in (ours, theirs)]
    assert says[0].returncode == says[1].returncode == 1
    assert says[0].stderr.replace(ours.sftp_server, "X").replace("sftp-server", "X") == \
        says[1].stderr.replace("sftp-server", "X")


def test_umask_and_start_directory(ours):
    top = grown("sftp-dir")
    for mask, mode in (("077", 0o600), ("0", 0o666), ("27", 0o640)):
        with RawSftp(ours.sftp_server, "-u", mask, "-d", top) as sftp:
            name = f"made{mask}"
            assert sftp.code(CLOSE, sftp.open(name, F_WRITE | F_CREATE)) == OK
            assert stat.S_IMODE((top / name).stat().st_mode) == mode
    with RawSftp(ours.sftp_server, "-u", "777") as sftp:     # a fixed mode
        sftp.code(CLOSE, sftp.open(top / "none", F_WRITE | F_CREATE, attrs(mode=0o7777)))
        assert stat.S_IMODE((top / "none").stat().st_mode) == 0o7000
    user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    (top / f"of-{user}-{os.getuid()}-%").mkdir()
    with RawSftp(ours.sftp_server, "-d", f"{top}/of-%u-%U-%%") as sftp:
        assert entries(sftp.request(REALPATH, s("."))[1])[0][0].endswith(f"of-{user}-{os.getuid()}-%".encode())
    with RawSftp(ours.sftp_server, "-e", "-d", f"{top}/missing", cwd=top) as sftp:
        assert entries(sftp.request(REALPATH, s("."))[1])[0][0] == str(top).encode()
        assert 'missing" failed: No such file or directory' in sftp.end()[1]


def test_log_lines(ours):
    top = grown("sftp-log")
    env = {**os.environ, "SSH_CONNECTION": "192.0.2.7 4711 192.0.2.1 22"}
    user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
    with RawSftp(ours.sftp_server, "-e", "-l", "INFO", env=env) as sftp:
        h = sftp.open(top / "file", F_READ | F_WRITE)
        sftp.request(READ, h + u64(0) + u32(100))
        sftp.code(WRITE, h + u64(0) + s("12"))
        sftp.code(CLOSE, h)
        sftp.code(REMOVE, s(f"{top}/no\nsuch\x1b"))
        sftp.open(top / "file")
        code, log = sftp.end()
    assert code == 0
    assert log.replace("\r\n", "\n").splitlines() == [
        f"session opened for local user {user} from [192.0.2.7]",
        f'open "{top}/file" flags READ,WRITE mode 0666',
        f'close "{top}/file" bytes read 5 written 2',
        f'remove name "{top}/no\\012such\\033"',
        "sent status No such file",
        f'open "{top}/file" flags READ mode 0666',
        f'forced close "{top}/file" bytes read 0 written 0',
        f"session closed for local user {user} from [192.0.2.7]"]
    with RawSftp(ours.sftp_server, "-e") as sftp:       # ERROR
        sftp.code(REMOVE, s(f"{top}/none"))
        assert sftp.end() == (0, "")


def test_ten_thousand_and_one_entries(ours):
    top = worlds.scratch("sftp-many")
    names = {f"entry {i}".encode() for i in range(10001)} | {b"\xff\xfe", b"n" * 255, b"\x80" * 255, "ü\n".encode()}
    for name in names:
        os.close(os.open(os.fsencode(top) + b"/" + name, os.O_CREAT | os.O_WRONLY))
    with RawSftp(ours.sftp_server) as sftp:
        found = listing(sftp, top)
        assert {n for n, _, _ in found} == names | {b".", b".."} and len(found) == len(names) + 2
        assert sftp.id < 100    # OpenSSH's takes 100 entries at a time
        for name in (b"\xff\xfe", b"n" * 255, b"\x80" * 255):
            assert sftp.request(LSTAT, s(os.fsencode(top) + b"/" + name))[0] == ATTRS


def test_large_and_sparse(ours):
    top = worlds.scratch("sftp-large")
    far = (5 << 30) + 3
    with RawSftp(ours.sftp_server) as sftp:
        h = sftp.open(top / "sparse", F_READ | F_WRITE | F_CREATE)
        block = os.urandom(261120)
        assert sftp.code(WRITE, h + u64(far) + s(block)) == OK
        kind, body = sftp.request(READ, h + u64(far) + u32(2**32 - 1))
        assert kind == DATA and body[4:] == block
        assert sftp.request(READ, h + u64(4 << 30) + u32(7))[1] == s(bytes(7))
        assert sftp.request(FSTAT, h)[1][4:12] == u64(far + len(block))
        assert sftp.code(WRITE, h + u64(0) + s(bytes(262144 - 29))) == OK     # the largest frame
        assert sftp.code(SETSTAT, s(top / "sparse") + attrs(size=1)) == OK
    assert (top / "sparse").stat().st_size == 1


def test_a_full_disk_is_told_and_over_when_it_is_over(ours, world):
    if not world.account.private:
        pytest.skip(f"mounts a small disk: {world.account.why_no_password}")
    top = worlds.scratch("sftp-full")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", top], check=True)
    try:
        with RawSftp(ours.sftp_server) as sftp:
            h = sftp.open(top / "f", F_WRITE | F_CREATE)
            codes = [sftp.code(WRITE, h + u64(i << 16) + s(bytes(1 << 16))) for i in range(6)]
            assert codes[:3] == [OK] * 3 and codes[-1] == FAILURE
            assert sftp.code(SETSTAT, s(top / "f") + attrs(size=0)) == OK
            assert sftp.code(WRITE, h + u64(0) + s(bytes(1 << 16))) == OK
            assert sftp.code(CLOSE, h) == OK
    finally:
        subprocess.run(["umount", "-l", top], check=True)


def test_permissions_are_the_users(ours, world):
    if not world.account.private:
        pytest.skip(f"needs another account: {world.account.why_no_password}")
    top = grown("sftp-perm")
    (top / "file").chmod(0o600)
    with RawSftp(ours.sftp_server, user=world.account.user, extra_groups=[]) as sftp:
        for kind, body in ((OPEN, s(top / "file") + u32(F_READ, 0)), (REMOVE, s(top / "file")),
                           (OPEN, s(top / "new") + u32(F_WRITE | F_CREATE, 0)), (MKDIR, s(top / "d") + u32(0)),
                           (SETSTAT, s(top / "file") + attrs(mode=0o777)), (RENAME, s(top / "file") + s(top / "g"))):
            assert sftp.code(kind, body) == PERMISSION_DENIED
        # nor may the user reach into the server itself (sanitizers look for leaks that way)
        if ours.name != "bowline-asan":
            assert sftp.code(OPEN, s("/proc/self/mem") + u32(F_READ | F_WRITE, 0)) == PERMISSION_DENIED


def test_the_end_of_input_waits_for_what_was_asked(ours):
    """OpenSSH drops requests that came together with the end; we answer them."""
    top = grown("sftp-eof")
    worlds.fill(top / "mega", 1)
    reads = 30          # more than the replies that may wait
    frames = b"".join(u32(len(b)) + b for b in (
        bytes([1]) + u32(3), bytes([OPEN]) + u32(1) + s(top / "out") + u32(F_WRITE | F_CREATE, 0),
        bytes([OPEN]) + u32(2) + s(top / "mega") + u32(F_READ, 0),
        bytes([WRITE]) + u32(3) + s(u32(0, 1)) + u64(0) + s(b"x" * 100000),
        *(bytes([READ]) + u32(4 + i) + s(u32(1, 1)) + u64(i) + u32(200000) for i in range(reads)),
        bytes([WRITE]) + u32(99) + s(u32(0, 1)) + u64(100000) + s(b"y")))
    done = subprocess.run([ours.sftp_server], input=frames, capture_output=True, timeout=30)
    assert done.returncode == 0 and (top / "out").stat().st_size == 100001
    assert len(done.stdout) > reads * 200000 and done.stdout.count(b"\0\0\0\7Success") == 2


def test_a_client_that_goes_away_ends_it(ours):
    top = grown("sftp-gone")
    with RawSftp(ours.sftp_server) as sftp:         # it reads no more: EPIPE
        sftp.process.stdout.close()
        with contextlib.suppress(BrokenPipeError):  # it may have seen it already
            sftp.send(STAT, s(top / "file"))
        assert sftp.process.wait(10) == 0
    with RawSftp(ours.sftp_server) as sftp:         # in the midst of a copy without an end
        a, b = sftp.open("/dev/zero"), sftp.open("/dev/null", F_WRITE)
        sftp.send(EXTENDED, s("copy-data") + a + u64(0) + u64(0) + b + u64(0))
        time.sleep(0.2)
        assert sftp.process.poll() is None
        sftp.process.stdout.close()
        assert sftp.process.wait(10) == 0
    with RawSftp(ours.sftp_server) as sftp:         # a signal is the system's to handle
        sftp.process.send_signal(signal.SIGTERM)
        assert sftp.process.wait(10) == -signal.SIGTERM


def test_replies_that_nobody_takes_stop_the_reading(ours):
    """A client that only writes: the server's memory stays as it is, and nothing is lost."""
    top = worlds.scratch("sftp-slow")
    worlds.fill(top / "mega", 4)
    content = (top / "mega").read_bytes()
    with RawSftp(ours.sftp_server) as sftp:
        h = sftp.open(top / "mega")
        os.set_blocking(sftp.process.stdin.fileno(), False)
        request = bytes([READ]) + u32(9) + h + u64(0) + u32(261120) + bytes(8000)
        request, sent = u32(len(request)) + request, 0
        until = time.monotonic() + 5
        while time.monotonic() < until:
            try:
                sent += os.write(sftp.process.stdin.fileno(), request[sent % len(request):])
            except BlockingIOError:
                if sent > 0 and time.monotonic() > until - 4:
                    break
                time.sleep(0.05)
        assert sent < 2 << 20
        memory = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{sftp.process.pid}/status").read())[1])
        assert memory < 16384 or ours.name == "bowline-asan"
        for _ in range(sent // len(request)):
            frame = sftp.frame()
            assert frame[0] == DATA and frame[9:] == content[:261120]


def test_stdin_and_stdout_as_one_socket(ours):
    top = grown("sftp-socket")
    near, far = socket.socketpair()
    with near, subprocess.Popen([ours.sftp_server], stdin=far, stdout=far, stderr=subprocess.PIPE) as process:
        far.close()
        near.sendall(u32(5) + b"\1" + u32(3))
        assert near.recv(9)[4] == 2
        body = bytes([STAT]) + u32(1) + s(top / "file")
        near.sendall(u32(len(body)) + body)
        near.shutdown(socket.SHUT_WR)
        got = b""
        while block := near.recv(65536):
            got += block
        assert got.endswith(u32(10**9)) and bytes([ATTRS]) + u32(1) in got
        assert process.wait(10) == 0
        assert process.stderr.read() == b""


def test_symbolic_links_are_followed_as_openssh_does(ours):
    top = grown("sftp-follow")
    with RawSftp(ours.sftp_server) as sftp:
        h = sftp.open(top / "link", F_WRITE | F_TRUNC)
        assert sftp.code(WRITE, h + u64(0) + s("through")) == OK
        assert sftp.code(SETSTAT, s(top / "link") + attrs(mode=0o611)) == OK
    assert (top / "file").read_text() == "through" and (top / "link").is_symlink()
    assert stat.S_IMODE((top / "file").stat().st_mode) == 0o611


def test_plain_rename_never_replaces(ours):
    """Not even a link that points nowhere (OpenSSH replaces that by a link or a directory)."""
    top = grown("sftp-rename")
    with RawSftp(ours.sftp_server) as sftp:
        for source in ("file", "link", "sub"):
            for target in ("dang", "link", "file"):
                if source != target:
                    assert sftp.code(RENAME, s(top / source) + s(top / target)) == FAILURE
    assert os.readlink(top / "dang") == "nowhere/else" and (top / "file").read_text() == "hello"

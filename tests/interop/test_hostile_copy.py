# SPDX-License-Identifier: ISC
"""scp and sftp against servers that lie: nothing outside the destination changes, nothing crashes, nothing hangs, and
what people see holds no control bytes.

The peer is harness/evilsftp.py, started by -D (and for some cases as an sshd's subsystem), or a source of the old
protocol started in place of ssh by -S.  It runs as the same user on the same machine, so it may change the destination
while the client writes there.
"""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import termios
import time
from dataclasses import dataclass

import pytest

from harness import evilsftp, world as worlds
from harness.copier import Copy, there
from harness.measure import pss_kib
from harness.server import Sshd

LIMIT = 30
EVIL = "\x1b]0;owned\x07"           # would rename the terminal's window
HONEST = {"tree", "tree/one", "tree/sub", "tree/sub/two"}
PROGRAMS = ("scp", "sftp")


@dataclass
class Done:
    code: int
    out: bytes

    def well(self):
        assert self.code == 0, self
        return self.clean()

    def failed(self):
        assert 0 < self.code < 128 or self.code == 255, self
        return self.clean()

    def ended(self):
        """Whatever it says: by itself and with words that are safe to show."""
        assert 0 <= self.code < 128 or self.code == 255, self
        return self.clean()

    def clean(self):
        assert b"Sanitizer" not in self.out and b"runtime error" not in self.out, self.out[:3000].decode(errors="replace")
        assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]", self.out), self.out
        return self.out.decode(errors="replace")


def look(path):
    info = path.lstat()
    what = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode), info.st_mtime_ns, what


class Ground:
    """dest/ is where the client may write; secret, elsewhere/ and the current directory are not its business."""

    def __init__(self):
        self.base = worlds.scratch("hostile")
        self.dest, self.elsewhere, self.cwd = (self.base / n for n in ("dest", "elsewhere", "cwd"))
        for folder in (self.dest, self.elsewhere, self.cwd):
            folder.mkdir()
        self.secret, self.log = self.base / "secret", self.base / "log"
        self.secret.write_text("nobody's business\n")
        (self.elsewhere / "two").write_text("older\n")
        (self.base / "peer").mkdir()
        self.log.touch()
        self.before = self.outside()

    def outside(self):
        return {str(p): look(p) for p in [self.base, *self.base.rglob("*")]
                if p != self.log and p != self.base / "peer" and not p.is_relative_to(self.base / "peer")
                and (p != self.dest and not p.is_relative_to(self.dest)) and p != self.base}

    def server(self, script):
        where = f"BASE = {str(self.base)!r}\nimport shutil\nimport time\n"
        return evilsftp.program(self.base / "peer", where + script, self.log)

    def unchanged(self):
        return self.outside() == self.before

    def got(self):
        return {os.fsdecode(os.path.relpath(os.fsencode(p), os.fsencode(self.dest))) for p in self.dest.rglob("*")}

    def asked(self):
        return self.log.read_bytes().splitlines()

    def check(self, allowed, needed=()):
        """Nothing outside, nothing unexpected inside, no link, no special bit."""
        assert self.unchanged(), (self.before, self.outside())
        got = self.got()
        assert got <= set(allowed), got
        assert set(needed) <= got, got
        assert not [p for p in self.dest.rglob("*") if p.is_symlink()]


@pytest.fixture
def ground():
    return Ground()


def run(command, ground, timeout=LIMIT, stdin=b"", **kw):
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ground.cwd,
                               stderr=subprocess.STDOUT, start_new_session=True, **kw)
    try:
        out, _ = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        pytest.fail(f"took too long: {out[-500:]!r}")
    worlds.end(process)
    return Done(process.returncode, out)


def fetch(ours, ground, script, source="/srv/tree", program="scp", flags=("-r",), to=None):
    """source of the server of this script, into dest."""
    server = ground.server(script)
    to = to or f"{ground.dest}/"
    if program == "scp":
        return run([ours.scp, "-q", *flags, "-D", server, f"host:{source}", to], ground)
    lines = f'get {" ".join(flags)} {source} {to}\n'
    return run([ours.sftp, "-q", "-b", "-", "-D", server], ground, stdin=os.fsencode(lines))


def send(ours, ground, script, source, to="/srv/new", program="scp", flags=()):
    server = ground.server(script)
    if program == "scp":
        return run([ours.scp, "-q", *flags, "-D", server, source, f"host:{to}"], ground)
    return run([ours.sftp, "-q", "-b", "-", "-D", server], ground,
               stdin=os.fsencode(f'put {" ".join(flags)} {source} {to}\n'))


# -- the harness itself

CARELESS = """
import sys, os
sys.path.insert(0, {tests!r})
from harness import rawsftp as f
from harness.rawsftp import RawSftp, s, u32, u64
def names(body):
    n, rest = int.from_bytes(body[:4], "big"), body[4:]
    for _ in range(n):
        m = int.from_bytes(rest[:4], "big"); name = rest[4:4 + m]; rest = rest[4 + m:]
        k = int.from_bytes(rest[:4], "big"); rest = rest[4 + k:]
        yield name, int.from_bytes(rest[20:24], "big"); rest = rest[32:]
def copy(sftp, far, here):
    os.makedirs(here, exist_ok=True)
    handle = sftp.request(f.OPENDIR, s(far))[1]
    found = []
    while (reply := sftp.request(f.READDIR, handle))[0] == f.NAME:
        found += names(reply[1])
    for name, mode in found:
        if name in (b".", b"..") or b"\\0" in name or not name:
            continue
        if mode & 0o40000:
            copy(sftp, far + b"/" + name, os.path.join(here, name))
        else:
            data = sftp.request(f.READ, sftp.open(far + b"/" + name) + u64(0) + u32(100000))[1][4:]
            with open(os.path.join(here, name), "wb") as out:
                out.write(data)
            os.chmod(os.path.join(here, name), mode & 0o7777)
            print(name.decode("latin1"))
with RawSftp(sys.argv[1]) as sftp:
    copy(sftp, b"/srv/tree", os.path.join(sys.argv[2].encode(), b"tree"))
"""


def careless(ground, script):
    """A client that believes everything."""
    program = ground.base / "peer" / "careless.py"
    program.write_text(CARELESS.format(tests=str(evilsftp.Path(evilsftp.__file__).parent.parent)))
    return run([sys.executable, program, ground.server(script), ground.dest], ground)


EXTRA = """
class Evil(Peer):
    def listing(self, path, node):
        more = [({name!r}, {node})] if path.rstrip(b"/").endswith(b"tree") else []
        return super().listing(path, node) + more

    def find(self, path):
        return super().find(path) or {node}
"""
FILE, SETUID, FOLDER = 'File(b"EVIL")', 'File(b"EVIL", 0o6755)', 'Dir(secret=File(b"EVIL"))'
SWAP = """
class Evil(Peer):
    def {when}(self, ident, path, rest):
        if {test}:
            {what}
        super().{when}(ident, path, rest)
"""
SUB_SWAPPED = ("shutil.rmtree(BASE + '/dest/tree/sub', ignore_errors=True); "
               "os.path.islink(BASE + '/dest/tree/sub') or os.symlink(BASE + '/elsewhere', BASE + '/dest/tree/sub')")
SWAPS = {
    "a directory before a file in it": SWAP.format(when="on_open", test='path.endswith(b"/two")', what=SUB_SWAPPED),
    "a directory before its listing": SWAP.format(when="on_opendir", test='path.endswith(b"/sub")', what=SUB_SWAPPED),
    "a file before it is written": SWAP.format(
        when="on_open", test='path.endswith(b"/two")',
        what="os.makedirs(BASE + '/dest/tree/sub', exist_ok=True); os.symlink(BASE + '/secret', BASE + '/dest/tree/sub/two')"),
    "the top before all": SWAP.format(
        when="on_open", test='path.endswith(b"/one")',
        what="shutil.rmtree(BASE + '/dest/tree', ignore_errors=True); os.symlink(BASE + '/elsewhere', BASE + '/dest/tree')"),
}


def test_an_honest_server_passes(ours, ground):
    for program in PROGRAMS:
        fetch(ours, ground, "", program=program).well()
        ground.check(HONEST, HONEST)
        assert (ground.dest / "tree" / "sub" / "two").read_bytes() == b"two"
        shutil.rmtree(ground.dest / "tree")
        fetch(ours, ground, "", "/srv/*oo*", program).well()
        ground.check({"good"}, {"good"})
        (ground.dest / "good").unlink()
        source = ground.base / "peer" / "source"
        source.write_bytes(evilsftp.DATA)
        send(ours, ground, "", source, program=program).well()
        assert any(line.startswith(b"write ") for line in ground.asked())


def test_the_harness_sees_what_a_careless_client_does():
    for script in (EXTRA.format(name=b"../../secret", node=FILE), EXTRA.format(name=b"../../elsewhere/new", node=FILE),
                   EXTRA.format(name=b"../..", node=FOLDER), *SWAPS.values()):
        ground = Ground()
        careless(ground, script)
        assert not ground.unchanged(), script
    ground = Ground()
    with pytest.raises(AssertionError):
        careless(ground, EXTRA.format(name=EVIL.encode(), node=FILE)).clean()
    assert stat.S_IMODE((ground.dest / "tree" / EVIL).stat().st_mode) == 0o644
    careless(ground, EXTRA.format(name=b"x", node=SETUID))
    assert (ground.dest / "tree" / "x").stat().st_mode & stat.S_ISUID


# -- names

BAD_NAMES = (b"..", b".", b"", b"/", b"../secret", b"../../secret", b"../../elsewhere/new", b"a/b", b"./x", b"x/",
             b"sub/../../../secret", b"/tmp/bowline-evil-absolute", b"nul\0x", b"\0", b"../..", b"one/../../../secret")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("node", (FILE, FOLDER), ids=("file", "directory"))
def test_names_that_lead_elsewhere(ours, program, node):
    for name in BAD_NAMES:
        ground = Ground()
        done = fetch(ours, ground, EXTRA.format(name=name, node=node), program=program)
        ground.check(HONEST)
        assert not os.path.lexists("/tmp/bowline-evil-absolute"), name
        if ours.is_bowline:         # OpenSSH gives the whole directory up
            ground.check(HONEST, HONEST)
        if name not in (b".", b".."):
            assert done.ended() != "" or not ours.is_bowline, name
        done.ended()


@pytest.mark.parametrize("program", PROGRAMS)
def test_names_with_control_bytes_are_names_and_are_shown_escaped(ours, ground, program):
    for name in (EVIL.encode(), b"two\nlines", b"\x7f\x01", b"\xc2\x9b31m", b"\xff\xfe", b"-rf", b" ", b"~", b"n" * 255):
        ground = Ground()
        done = fetch(ours, ground, EXTRA.format(name=name, node=FILE), program=program).ended()
        ground.check(HONEST | {"tree/" + os.fsdecode(name)}, HONEST)
        assert done is not None
        if done == "":
            assert (ground.dest / "tree" / os.fsdecode(name)).read_bytes() == b"EVIL"


@pytest.mark.parametrize("program", PROGRAMS)
def test_names_too_long_for_a_file_are_told(ours, ground, program):
    done = fetch(ours, ground, EXTRA.format(name=b"n" * 5000, node=FILE), program=program)
    ground.check(HONEST, {"tree/one"})
    done.failed()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_pattern_fetches_what_it_names_and_no_more(ours, ground, program):
    script = """
class Evil(Peer):
    def listing(self, path, node):
        return [(n, File(b"EVIL")) for n in (b"ok.txt", b"../evil.txt", b"evil.sh", b"a/b.txt", b"../../secret.txt",
                                             b"..", b".txt/../../x.txt", b"/tmp/bowline-evil-absolute.txt", b"..txt")]

    def find(self, path):
        return super().find(path) or (Dir() if path.endswith(b"/") else File(b"EVIL"))
"""
    fetch(ours, ground, script, "/srv/*.txt", program, flags=()).ended()
    ground.check({"ok.txt"}, {"ok.txt"})
    assert not os.path.lexists("/tmp/bowline-evil-absolute.txt")
    for pattern in ("/srv/.*", "/srv/*/x", "/s*/[.][.]", "/srv/?*"):
        fetch(ours, ground, script, pattern, program).ended()
        if ours.is_bowline:         # OpenSSH 9.2 takes ".." for a match
            assert ground.unchanged(), pattern


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_servers_idea_of_a_path_names_nothing_here(ours, program):
    """`host:.` gets its name from the answer to REALPATH in some clients."""
    for answer in (b"/x/../../secret", b"/srv/..", b"", b"..", b"../secret", b"/srv/" + EVIL.encode(), b"/a\0b"):
        script = f"""
class Evil(Peer):
    def on_realpath(self, ident, path, rest):
        self.reply(f.NAME, ident, u32(1) + entry({answer!r}, Dir(), b""))

    def find(self, path):
        return self.tree["srv"]["tree"]
"""
        for source in (".", "..", "~/x/..", "/srv/tree"):
            ground = Ground()
            fetch(ours, ground, script, source, program).ended()
            assert ground.unchanged(), (answer, source)


@pytest.mark.parametrize("program", PROGRAMS)
def test_one_file_was_asked_for_and_a_directory_is_there(ours, ground, program):
    script = "Peer.tree['srv']['file'] = Dir(secret=File(b'EVIL'))\n"
    fetch(ours, ground, script, "/srv/file", program, flags=()).ended()
    ground.check(set())


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_directory_that_is_called_a_link_and_a_link_that_is_called_a_directory(ours, program):
    for said, real in (("Dir()", "Link(b'../../..')"), ("Link(b'/etc')", "Dir(passwd=File(b'EVIL'))"),
                       ("Dir()", "File(b'EVIL')"), ("File(b'x')", "Dir(x=File(b'EVIL'))")):
        ground = Ground()
        script = f"""
class Evil(Peer):
    def listing(self, path, node):
        return super().listing(path, node) + ([(b"x", {said})] if path.rstrip(b"/").endswith(b"tree") else [])

    def find(self, path):
        return {real} if path.endswith(b"/x") else super().find(path)
"""
        fetch(ours, ground, script, program=program).ended()
        ground.check(HONEST | {"tree/x", "tree/x/x", "tree/x/passwd"}, {"tree/one"})


# -- what changes here meanwhile

@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("which", SWAPS)
def test_links_swapped_in_meanwhile_are_not_followed(ours, ground, program, which):
    done = fetch(ours, ground, SWAPS[which], program=program)
    if not ours.is_bowline:         # it follows them: that is how this test is known to see it
        assert not ground.unchanged() or which == "a directory before its listing"
        return
    assert ground.unchanged(), ground.outside()
    done.ended()
    if not (ground.dest / "tree" / "sub").is_dir() or (ground.dest / "tree" / "sub").is_symlink():
        done.failed()


def test_times_and_modes_are_not_set_through_a_link(ours, ground):
    script = SWAP.format(when="on_close", test='self.handles.get(path, (0, b""))[1].endswith(b"/two")', what=SUB_SWAPPED)
    fetch(ours, ground, script, flags=("-r", "-p"))
    if ours.is_bowline:
        assert ground.unchanged(), ground.outside()
    else:
        assert not ground.unchanged()


@pytest.mark.parametrize("program", PROGRAMS)
def test_special_bits_of_a_server_are_not_taken_over(ours, ground, program):
    script = "Peer.tree['srv']['tree'] = Dir(a=File(b'x', 0o6755), b=File(b'x', 0o2777), sub=Dir(c=File(b'x', 0o4755)))\n" \
             "Peer.tree['srv']['tree']['sub'].mode |= 0o7000\n"
    fetch(ours, ground, script, program=program).well()
    assert len(ground.got()) == 5
    assert [oct(p.stat().st_mode) for p in ground.dest.rglob("*") if p.stat().st_mode & 0o6000] == []


# -- sizes

@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("said,real", ((68099, 64894), (10, 102400), (102400, 0), (0, 102400), (2**63, 5), (2**64 - 1, 70000)))
def test_sizes_that_are_not_true(ours, ground, program, said, real):
    script = f"Peer.tree['srv']['file'] = File(DATA[:{real}], size={said})\n"
    done = fetch(ours, ground, script, "/srv/file", program, flags=())
    done.ended()
    ground.check({"file"})
    if (said, real) == (68099, 64894):
        assert (ground.dest / "file").read_bytes() == evilsftp.DATA[:real]
    if (ground.dest / "file").exists():
        assert evilsftp.DATA.startswith((ground.dest / "file").read_bytes())
        assert (ground.dest / "file").stat().st_size in (0, real, min(said, real))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("limited", (True, False), ids=("limits", "no limits"))
def test_reads_that_bring_less_than_was_asked_for(ours, program, limited):
    for most, size in ((32768, 102400), (102400, 102400), (1000, 102400), (7, 700), (1, 40)):
        ground = Ground()
        script = f"Peer.read_max = {most}\nPeer.tree['srv']['file'] = File((DATA * 4)[:{size * 4 if most > 9999 else size}])\n"
        script += "" if limited else "Peer.extensions = {}\n"
        fetch(ours, ground, script, "/srv/file", program, flags=()).well()
        n = size * 4 if most > 9999 else size
        assert (ground.dest / "file").read_bytes() == (evilsftp.DATA * 4)[:n], most


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("limits", ((0, 0, 0, 0), (2**64 - 1,) * 4, (1000, 100, 100, 1), (262144, 0, 5, 2), (5, 5, 5, 5)), ids=str)
def test_limits_that_are_odd(ours, ground, program, limits):
    data = evilsftp.DATA if limits[0] in (0, 2**64 - 1) else evilsftp.DATA[:3000]
    script = f"Peer.limits = {limits}\nPeer.tree['srv']['file'] = File(DATA[:{len(data)}])\n"
    fetch(ours, ground, script, "/srv/file", program, flags=()).well()
    assert (ground.dest / "file").read_bytes() == data
    source = ground.base / "peer" / "source"
    source.write_bytes(data)
    send(ours, ground, script, source, program=program).well()
    assert ground.unchanged()


# -- a protocol that is broken

def on(what, body, arguments="ident, path, rest"):
    return f"class Evil(Peer):\n    def {what}(self, {arguments}):\n        {body}\n"


BROKEN = {
    "a number nobody gave": on("on_read", "self.reply(f.DATA, ident + 100000, s(b'x'))"),
    "an answer twice": on("on_read", "self.reply(f.DATA, ident, s(b'x')); self.reply(f.DATA, ident, s(b'x'))"),
    "data for an open": on("on_open", "self.reply(f.DATA, ident, s(b'x'))"),
    "attributes for a read": on("on_read", "self.reply(f.ATTRS, ident, at(File(b'x')))"),
    "names for a stat": on("on_stat", "self.reply(f.NAME, ident, u32(0))") + "    on_lstat = on_fstat = on_stat\n",
    "a handle for a read": on("on_read", "self.reply(f.HANDLE, ident, s(b'x'))"),
    "a type that there is not": on("on_open", "self.reply(77, ident, s(b'x'))"),
    "more data than asked": on("on_read", "n = struct.unpack('>I', rest[8:12])[0]; self.reply(f.DATA, ident, s(bytes(n + 1)))"),
    "data cut": on("on_read", "self.reply(f.DATA, ident, u32(1000) + b'x')"),
    "a frame of 4 GiB": on("on_read", "self.write(b'\\xff' * 4 + bytes([f.DATA]) + u32(ident))"),
    "a frame of nothing": on("on_read", "self.write(u32(0))"),
    "a frame of 300,000": on("on_read", "self.reply(f.DATA, ident, s(bytes(300000)))"),
    "a handle of 257": on("on_open", "self.reply(f.HANDLE, ident, s(b'h' * 257))"),
    "a handle cut": on("on_open", "self.reply(f.HANDLE, ident, u32(9) + b'h')"),
    "names: too many said": on("on_readdir", "self.reply(f.NAME, ident, b'\\xff' * 4 + entry(b'x', File()))"),
    "names: one missing": on("on_readdir", "self.reply(f.NAME, ident, u32(2) + entry(b'x', File()))"),
    "names: long name cut": on("on_readdir", "self.reply(f.NAME, ident, u32(1) + s('x') + u32(5000) + b'y')"),
    "names: attributes cut": on("on_readdir", "self.reply(f.NAME, ident, u32(1) + s('x') + s('x') + u32(15) + b'y')"),
    "names: 1000 extended attributes": on(
        "on_readdir", "self.reply(f.NAME, ident, u32(1) + s('x') + s('x') + u32(0x80000000, 0xffffffff))"),
    "a status cut": on("on_opendir", "self.reply(f.STATUS, ident, b'\\0')"),
    "a status of another kind": on("on_opendir", "self.status(ident, 4000000000, 'never heard')"),
    "ok where a handle is due": on("on_open", "self.status(ident, f.OK)") + "    on_opendir = on_open\n",
    "the end in the middle": on("on_read", "self.write(u32(5000) + bytes([f.DATA]) + u32(ident) + u32(4000)); sys.exit(0)"),
    "the end": on("on_open", "sys.exit(0)"),
    "version 2": "Peer.version = 2\n" + on("on_open", "sys.exit(0)"),
    "version 6": "Peer.version = 6\n",
    "version cut": on("on_init", "self.send(bytes([f.VERSION]) + b'\\0')", ""),
    "an extension cut": on("on_init", "self.send(bytes([f.VERSION]) + u32(3) + u32(99) + b'x')", ""),
    "a word before the version": on("on_init", "self.write(b'Welcome to this host!\\r\\n'); super().on_init()", ""),
    "no version": on("on_init", "self.reply(f.STATUS, 0, u32(4) + s('no') + s(''))", ""),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_protocol_ends_the_copy(ours, ground, program, what):
    done = fetch(ours, ground, BROKEN[what], program=program)
    if ours.is_bowline or what != "version 6":      # OpenSSH hopes for the best
        done.failed()
    ground.check(HONEST | {"tree/x"})


EITHER = {          # may work or fail
    "data with a tail": on("on_read", "self.reply(f.DATA, ident, s(b'x') + b'tail') if rest[:8] == u64(0) else "
                                      "self.status(ident, f.EOF)"),
    "limits cut": on("on_extended", "self.reply(f.REPLY, ident, u64(1))"),
    "an empty list of names first": """
class Evil(Peer):
    counted = 0

    def on_readdir(self, ident, handle, rest):
        self.counted += 1
        if self.counted % 2:
            self.reply(f.NAME, ident, u32(0))
        else:
            super().on_readdir(ident, handle, rest)
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("what", EITHER)
def test_what_is_broken_a_little_ends_by_itself(ours, ground, program, what):
    fetch(ours, ground, EITHER[what], program=program).ended()
    ground.check(HONEST)


TOLERATED = {
    "a status without words": on("on_close", "self.handles.pop(path); self.reply(f.STATUS, ident, u32(0))"),
    "one name at a time": """
class Evil(Peer):
    def on_readdir(self, ident, handle, rest):
        left = self.handles[handle][2]
        if left:
            self.reply(f.NAME, ident, u32(1) + entry(*left.pop(0)))
        else:
            self.status(ident, f.EOF)
""",
    "unknown extensions": "Peer.extensions = {f'x{i}@example.org': 'y' * 100 for i in range(300)}\n",
    "end of file with another word": on("on_readdir", "super().on_readdir(ident, path, rest)"),
    "handles of 256 bytes": """
class Evil(Peer):
    def new_handle(self, *what):
        handle = super().new_handle(*what)
        self.handles[handle.ljust(256, b"\\0")] = self.handles.pop(handle)
        return handle.ljust(256, b"\\0")
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("what", TOLERATED)
def test_what_is_odd_but_allowed_works(ours, ground, program, what):
    fetch(ours, ground, TOLERATED[what], program=program).well()
    ground.check(HONEST, HONEST)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_handle_given_twice_mixes_no_files(ours, ground, program):
    script = """
class Evil(Peer):
    def new_handle(self, *what):
        self.handles[b"same"] = what
        return b"same"

    def on_close(self, ident, handle, rest):
        self.status(ident, f.OK)
"""
    fetch(ours, ground, script, program=program).ended()
    ground.check(HONEST)
    for name in ("one", "sub/two"):
        path = ground.dest / "tree" / name
        assert not path.is_file() or path.read_bytes() in (b"", b"one", b"two")


ENDLESS = {
    "the same names": "self.reply(f.NAME, ident, u32(50) + entry(b'again', File(b'x')) * 50)",
    "new names": "self.k = getattr(self, 'k', 0) + 50; self.reply(f.NAME, ident, u32(50) + b''.join("
                 "entry(b'n%d' % (self.k + i), File(b'x')) for i in range(50)))",
    "none at all": "self.reply(f.NAME, ident, u32(0))",
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("what", ENDLESS)
def test_a_directory_without_an_end_does_not_eat_the_machine(ours, ground, program, what):
    """It ends by itself, or ^C ends it; memory stays bounded meanwhile."""
    server = ground.server(on("on_readdir", ENDLESS[what]))
    command = [ours.scp, "-q", "-r", "-D", server, "host:/srv/tree", f"{ground.dest}/"]
    if program == "sftp":
        command = [ours.sftp, "-q", "-b", "/dev/stdin", "-D", server]
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd=ground.cwd, start_new_session=True)
    try:
        process.stdin.write(b"ls /srv/tree\n")
        process.stdin.close()
        most, until = 0, time.monotonic() + 6
        while time.monotonic() < until and process.poll() is None:
            most = max(most, pss_of(process.pid))
            time.sleep(0.1)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                pytest.fail("^C does not end it")
    finally:
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
        worlds.end(process)
    assert process.returncode not in (-signal.SIGSEGV, -signal.SIGABRT)
    assert process.returncode != 0 or what == "none at all" or not ours.is_bowline
    assert most < (2048 if "asan" in ours.name else 512) * 1024, f"{most} KiB"
    assert ground.unchanged()


def pss_of(pid):
    try:
        return pss_kib(pid)
    except (OSError, ProcessLookupError):
        return 0


# -- what people see

SHOWN = "Peer.tree['srv']['show'] = Dir({'\\x1b]0;owned\\x07': File(b'x'), 'caf\\xc3\\xa9': File(b'x'), 'a\\nb': File(b'x')})\n"


@pytest.mark.parametrize("command", ("ls /srv/show", "ls -l /srv/show", "ls -n /srv/show", "ls -1 /srv/show",
                                     "ls -la /srv/show/*", "get -r /srv/show", "rm /srv/show/*", "cd /srv/show\npwd",
                                     "chmod 600 /srv/show/*", "rename /srv/show/* /srv/x", "ls /srv/none*", "df /srv"))
def test_sftp_shows_names_escaped(ours, ground, command):
    server = ground.server(SHOWN + on("on_realpath", "super().on_realpath(ident, path + b'/\\x1b]0;owned\\x07', rest)"
                                      if command.endswith("pwd") else "super().on_realpath(ident, path, rest)"))
    done = run([ours.sftp, "-b", "-", "-D", server], ground, stdin=f"lcd {ground.dest}\n{command}\n".encode())
    done.ended()
    if command.startswith("ls") and "show" in command:
        assert b"owned" in done.out and done.code == 0


@pytest.mark.parametrize("command", ("ls -l /srv/tree", "ls -la /srv/tree", "ls -ln /srv/tree"))
def test_sftp_shows_long_names_escaped(ours, ground, command):
    script = "entry0 = entry\ndef entry(name, node, longname=None):\n" \
             "    return entry0(name, node, b'\\x1b]0;owned\\x07 \\x9b \\xc2\\x9b ' + name)\n"
    done = run([ours.sftp, "-b", "-", "-D", ground.server(script)], ground, stdin=f"{command}\n".encode())
    done.well()
    assert b"one" in done.out


@pytest.mark.parametrize("program", PROGRAMS)
def test_words_of_a_status_are_shown_escaped(ours, ground, program):
    for code in (2, 3, 4, 99):
        for what in ("on_open", "on_opendir", "on_stat", "on_lstat", "on_realpath"):
            ground = Ground()
            fetch(ours, ground, on(what, f"self.status(ident, {code}, '\\x1b]0;owned\\x07' * 20)"), program=program).ended()
            ground.check(HONEST)


def on_terminal(command, ground, timeout=LIMIT):
    """(status, what was shown) on a terminal of 80 columns."""
    master, slave = pty.openpty()
    process = subprocess.Popen([str(c) for c in command], stdin=slave, stdout=slave, stderr=slave, cwd=ground.cwd,
                               start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    shown, until = b"", time.monotonic() + timeout
    while time.monotonic() < until:
        if select.select([master], [], [], 0.2)[0]:
            try:
                block = os.read(master, 65536)
            except OSError:
                break
            if not block:
                break
            shown += block
    os.close(master)
    process.wait(10)
    return process.returncode, shown


def test_progress_shows_names_escaped(ours, ground):
    script = "Peer.tree['srv']['show'] = Dir({'\\x1b]0;owned\\x07': File(DATA * 20), 'plain': File(b'x')})\n"
    server = ground.server(script)
    code, shown = on_terminal([ours.scp, "-r", "-D", server, "host:/srv/show", f"{ground.dest}/"], ground)
    assert code == 0 and b"owned" in shown and b"100%" in shown, shown
    assert b"\x1b]" not in shown and b"\x07" not in shown


# -- uploads

@pytest.mark.parametrize("program", PROGRAMS)
def test_a_server_that_refuses_to_write_is_told(ours, ground, program):
    source = ground.base / "peer" / "source"
    source.write_bytes(evilsftp.DATA)
    for what in ("on_write", "on_open", "on_close"):
        done = send(ours, ground, on(what, "self.status(ident, f.FAILURE, '\\x1b]0;owned\\x07')"), source, program=program)
        said = done.failed()
        assert "source" in said or "/srv/new" in said, said
    assert source.read_bytes() == evilsftp.DATA and ground.unchanged()


@pytest.mark.parametrize("program", PROGRAMS)
def test_answers_to_an_upload_that_are_broken(ours, program):
    for what, body in (("on_write", "self.status(ident + 999, f.OK)"), ("on_write", "self.reply(f.DATA, ident, s(b'x'))"),
                       ("on_open", "self.reply(f.ATTRS, ident, at(File()))"), ("on_write", "sys.exit(0)"),
                       ("on_open", "self.reply(f.HANDLE, ident, s(b'h' * 300))"), ("on_write", "self.write(b'\\xff' * 64)")):
        ground = Ground()
        source = ground.base / "peer" / "source"
        source.write_bytes(evilsftp.DATA * 3)
        send(ours, ground, on(what, body), source, program=program).failed()
        assert ground.unchanged()


def test_a_copy_between_servers_stays_where_it_was_sent(ours):
    for name in BAD_NAMES:
        for node in (FILE, FOLDER):
            ground = Ground()
            script = EXTRA.format(name=name, node=node).replace("return super().find(path) or",
                                                                "return super().find(path) if b'dst' in path else super().find(path) or")
            script += "Peer.tree['srv']['dst'] = Dir()\n"
            server = ground.server(script)
            done = run([ours.scp, "-q", "-3", "-r", "-D", server, "a:/srv/tree", "b:/srv/dst/"], ground)
            done.ended()
            assert ground.unchanged() and ground.got() == set()
            made = [line.split(b" ")[1] for line in ground.asked()
                    if line.startswith((b"open ", b"mkdir ")) and b"dst" in line]
            for path in made:
                assert b"/../" not in path + b"/" and b"//" not in path.rstrip(b"/") and b"\0" not in path, (name, path)
                assert path.rstrip(b"/") in (b"/srv/dst", *(b"/srv/dst/" + os.fsencode(n) for n in HONEST)), (name, path)


# -- through an SSH connection, in the client's own process

@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_over_ssh(world, theirs, ours, program):
    for script, whole in (("", True), (EXTRA.format(name=b"../../secret", node=FILE), False),
                          (SWAPS["a directory before a file in it"], False), (BROKEN["a number nobody gave"], False),
                          (BROKEN["the end in the middle"], False), (BROKEN["a frame of 4 GiB"], False)):
        ground = Ground()
        worlds_open(ground)
        with Sshd(world, theirs, [f"Subsystem sftp {ground.server(script)}"], log_level="INFO").start() as server:
            copy = Copy(world, ours)
            if program == "scp":
                command = copy.scp(server, "-q", "-r", there(server, "/srv/tree"), f"{ground.dest}/")
            else:
                command = copy.sftp(server, f"get -r /srv/tree {ground.dest}/")
            done = run(command, ground)
        assert b"Traceback" not in done.out, done.out
        if whole:
            done.well()
            ground.check(HONEST, HONEST)
        elif ours.is_bowline or script not in SWAPS.values():
            done.ended()
            assert ground.unchanged()


def worlds_open(ground):
    """The server's account may do there what it wants."""
    for path in (ground.base, *ground.base.rglob("*")):
        path.chmod(0o777)
    ground.before = ground.outside()


def test_a_server_without_sftp_is_told_with_the_way_out(world, theirs, ours, ground):
    with Sshd(world, theirs, log_level="INFO").start() as server:
        copy = Copy(world, ours)
        done = run(copy.scp(server, there(server, "/etc/hostname"), f"{ground.dest}/"), ground).failed()
        assert not ours.is_bowline or "-O" in done, done
        run(copy.sftp(server, "ls"), ground).failed()
        ground.check(set())
        run(copy.scp(server, "-O", "-q", there(server, "/etc/hostname"), f"{ground.dest}/"), ground).well()
        ground.check({"hostname"}, {"hostname"})


# -- the old protocol

SOURCE = """#!/usr/bin/python3
import os, select, sys
def ack():
    if not select.select([0], [], [], 2)[0]:    # it may wait for us
        return
    if os.read(0, 1) in (b"\\1", b"\\2"):
        while os.read(0, 1) not in (b"\\n", b""):
            pass
ack()
for record in {records!r}:
    try:
        sys.stdout.buffer.write(record)
        sys.stdout.buffer.flush()
        ack()
    except BrokenPipeError:
        break
try:
    sys.stdout.flush()
except BrokenPipeError:
    pass
"""


def old(ours, ground, records, source="good", flags=(), to=None):
    """scp -O from a source that sends these records."""
    ssh = ground.base / "peer" / "ssh"
    ssh.write_text(SOURCE.format(records=records))
    ssh.chmod(0o755)
    return run([ours.scp, "-q", "-O", "-S", ssh, *flags, f"host:{source}", to or f"{ground.dest}/"], ground)


GOOD = [b"C0644 5 good\n", b"good\n\0"]


def test_an_honest_source_passes(ours, ground):
    old(ours, ground, GOOD).well()
    ground.check({"good"}, {"good"})
    old(ours, ground, [b"D0755 0 tree\n", b"T1000000000 0 1000000000 0\n", b"C0600 3 one\n", b"one\0", b"D0700 0 sub\n",
                       b"C0644 3 two\n", b"two\0", b"E\n", b"E\n"], "tree", ["-r", "-p"]).well()
    ground.check(HONEST | {"good"}, HONEST)
    assert (ground.dest / "tree" / "one").stat().st_mtime == 10**9
    (ground.dest / "tree" / "sub" / "two").unlink()


OLD_BAD = {
    "up": [b"C0644 4 ../secret\n", b"EVIL\0"], "absolute": [b"C0644 4 /tmp/bowline-evil-old\n", b"EVIL\0"],
    "dot dot": [b"C0644 4 ..\n", b"EVIL\0"], "dot": [b"C0644 4 .\n", b"EVIL\0"], "empty": [b"C0644 4 \n", b"EVIL\0"],
    "slash": [b"C0644 4 a/b\n", b"EVIL\0"], "slash only": [b"C0644 4 /\n", b"EVIL\0"],
    "not asked for": [b"C0644 4 other\n", b"EVIL\0"], "not asked for, too": [*GOOD, b"C0644 4 .bashrc\n", b"EVIL\0"],
    "a directory": [b"D0755 0 good\n", b"C0644 4 x\n", b"EVIL\0", b"E\n"],
    "a directory up": [b"D0755 0 ..\n", b"C0644 4 secret\n", b"EVIL\0", b"E\n"],
    "a directory dot": [b"D0700 0 .\n", b"C0644 4 x\n", b"EVIL\0", b"E\n"],
    "too many ends": [b"E\n", b"E\n"], "size below none": [b"C0644 -1 good\n", b"EVIL\0"],
    "size too large": [b"C0644 99999999999999999999999 good\n", b"EVIL\0"], "size of letters": [b"C0644 x good\n", b"EVIL\0"],
    "mode of letters": [b"Cabcd 4 good\n", b"EVIL\0"], "mode short": [b"C64 4 good\n", b"EVIL\0"],
    "no name": [b"C0644 4\n", b"EVIL\0"], "no such record": [b"X0644 4 good\n", b"EVIL\0"],
    "control bytes": [b"C0644 4 good\x1b]0;owned\x07\n", b"EVIL\0"], "nul": [b"C0644 4 good\0/../../secret\n", b"EVIL\0"],
    "a very long line": [b"C0644 4 " + b"g" * 100000 + b"\n", b"EVIL\0"], "nothing": [],
    "words with escapes": [b"\1scp: \x1b]0;owned\x07\n"], "end with escapes": [b"\2\x1b]0;owned\x07\n"],
    "bad time": [b"Tx 0 0 0\n", *GOOD], "cut": [b"C0644 4000 good\n", b"EVIL"],
    "not well after all": [b"C0644 4 good\n", b"EVIL\1it is broken \x1b]0;owned\x07\n"],
}


@pytest.mark.parametrize("what", OLD_BAD)
def test_a_source_of_the_old_protocol_gains_nothing(ours, ground, what):
    mode = ground.dest.stat().st_mode
    done = old(ours, ground, OLD_BAD[what], flags=["-p"] if "time" in what else [])
    if ours.is_bowline and what != "too many ends":
        done.failed()
    done.ended()
    ground.check({"good"})
    assert not os.path.lexists("/tmp/bowline-evil-old") and ground.dest.stat().st_mode == mode
    assert not (ground.dest / "good").is_dir()


OLD_TREE_BAD = {
    "up": b"C0644 4 ../../secret\n", "dot dot": b"C0644 4 ..\n", "slash": b"C0644 4 sub/x\n", "empty": b"C0644 4 \n",
    "absolute": b"C0644 4 /tmp/bowline-evil-old\n", "dot": b"C0644 4 .\n",
}


@pytest.mark.parametrize("what", OLD_TREE_BAD)
def test_a_tree_of_the_old_protocol_gains_nothing(ours, ground, what):
    done = old(ours, ground, [b"D0755 0 tree\n", b"C0644 3 one\n", b"one\0", OLD_TREE_BAD[what], b"EVIL\0", b"E\n"], "tree", ["-r"])
    done.failed()
    ground.check({"tree", "tree/one"}, {"tree/one"})
    assert not os.path.lexists("/tmp/bowline-evil-old")


def test_the_top_keeps_its_mode(ours, ground):
    ground.dest.chmod(0o700)
    for flags in (["-r"], ["-r", "-p"]):
        old(ours, ground, [b"T1 0 1 0\n", b"D0777 0 .\n", b"C0644 3 one\n", b"one\0", b"E\n"], ".", flags).ended()
        assert stat.S_IMODE(ground.dest.stat().st_mode) == 0o700
        assert ground.unchanged()


def test_without_the_check_of_names_all_are_taken(ours, ground):
    """-T: that is how the refusal above is known to be the check's doing."""
    old(ours, ground, OLD_BAD["not asked for"], flags=["-T"]).well()
    ground.check({"other"}, {"other"})


def test_patterns_of_the_old_protocol_bound_the_names(ours, ground):
    for pattern, good, bad in (("*.txt", b"a.txt", b"a.sh"), ("{x,y}1", b"y1", b"z1"), ("[ab]?", b"a1", b"c1"),
                               ("dir/*.c", b"m.c", b"m.h")):
        ground = Ground()
        old(ours, ground, [b"C0644 4 " + good + b"\n", b"GOOD\0"], pattern).well()
        old(ours, ground, [b"C0644 4 " + bad + b"\n", b"EVIL\0"], pattern).failed()
        ground.check({good.decode()}, {good.decode()})


def test_special_bits_are_dropped_without_p(ours, ground):
    """CVE-2026-35385: with -O, as root, without -p."""
    if os.getuid() != 0:
        pytest.skip("only root kept the bits")
    old(ours, ground, [b"C4755 4 good\n", b"EVIL\0"]).ended()
    if (ground.dest / "good").exists():
        assert not (ground.dest / "good").stat().st_mode & 0o7000
    ground.check({"good"})


def test_links_are_not_followed_by_the_old_protocol_either(ours, ground):
    ssh = SOURCE.replace("for record", f"import os, shutil\nBASE = {str(ground.base)!r}\nfor record").replace(
        "    try:\n        sys.stdout.buffer.write(record)",
        f"    if b'two' in record:\n        {SUB_SWAPPED}\n    try:\n        sys.stdout.buffer.write(record)")
    program = ground.base / "peer" / "ssh"
    program.write_text(ssh.format(records=[b"D0755 0 tree\n", b"D0755 0 sub\n", b"C0644 4 two\n", b"EVIL\0", b"E\n", b"E\n"]))
    program.chmod(0o755)
    done = run([ours.scp, "-q", "-O", "-r", "-S", program, "host:tree", f"{ground.dest}/"], ground)
    if ours.is_bowline:
        assert ground.unchanged(), done
    else:
        assert not ground.unchanged(), done


SINK = """#!/usr/bin/python3
import os, select
os.write(1, {answer!r})
while select.select([0], [], [], 2)[0] and os.read(0, 65536):
    pass
"""


@pytest.mark.parametrize("answer", (b"", b"\2\x1b]0;owned\x07\n", b"\1\x1b]0;owned\x07\n", b"\0\1no\n\0", b"Welcome\x1b]0;owned\x07\n",
                                    b"\1" + b"x" * 100000 + b"\n", b"\xff" * 10), ids=range(7))
def test_a_sink_of_the_old_protocol_gains_nothing(ours, ground, answer):
    program, source = ground.base / "peer" / "ssh", ground.base / "peer" / "source"
    program.write_text(SINK.format(answer=answer))
    program.chmod(0o755)
    source.write_bytes(evilsftp.DATA)
    run([ours.scp, "-q", "-O", "-S", program, source, "host:x"], ground).failed()
    ground.check(set())

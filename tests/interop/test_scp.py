# SPDX-License-Identifier: ISC
"""scp with a login of its own, against our server and OpenSSH's: the cases of OpenSSH's own scripts (which put a
program in between everywhere), and those that only come up over a connection."""
import os
import pwd
import re
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from harness import agents, world as worlds
from harness.client import Ssh, feed, feed_tty
from harness.copier import Copy, make_tree, there
from harness.server import Sshd, known_hosts
from harness.world import sha256_file

import peers

ODD = ("plain", "with blank", "back\\slash", 'quo"te', "it's", "ünïcode", "n" * 255, "#hash", "-dash", "semi;colon",
       "`touch mark`", "$HOME", "a[1]b", "col:on", "~tilde")
SECONDS = 60


@pytest.fixture(scope="module", params=["openssh", "bowline"])
def programs(request, ours, theirs):
    return theirs if request.param == "openssh" else ours


@pytest.fixture(scope="module")
def server(world, programs, ours):
    """With ours, the scp that -O starts there is ours too."""
    path = Path(ours.scp if programs.is_bowline else programs.ssh).parent
    options = [f"Subsystem sftp {programs.sftp_server}", f"SetEnv PATH={path}:/usr/bin:/bin"]
    with Sshd(world, programs, options).start() as running:
        yield running


class Ends:
    """A directory here and one there, for one test; up() and down() run scp between them."""

    def __init__(self, world, server, ours):
        self.server, self.copy = server, Copy(world, ours)
        self.here, self.far = worlds.scratch("scp-here"), worlds.scratch("scp-far")
        for path in (self.here, self.far):
            path.chmod(0o777)

    def at(self, path=""):
        return there(self.server, f"{self.far}/{path}")

    def scp(self, *words, options=(), tty=False, env=None):
        command = self.copy.scp(self.server, *words, options=options)
        return (feed_tty if tty else feed)(command, None, SECONDS, env)

    def good(self, *words, **kw):
        status, out, err = self.scp(*words, **kw)
        assert status == 0, (words, out, err)
        return out, err

    def bad(self, *words, status=1, **kw):
        got, _, err = self.scp(*words, **kw)
        assert got == status, (words, got, err)
        return err


@pytest.fixture
def ends(world, server, ours):
    return Ends(world, server, ours)


@pytest.fixture(params=["sftp", "old"])
def way(request):
    """Options for each of the two protocols."""
    return ["-O"] if request.param == "old" else ["-s"]


def hashes(top):
    return {str(p.relative_to(top)): sha256_file(p) if p.is_file() else None for p in sorted(Path(top).rglob("*"))}


def same(a, b):
    assert sha256_file(a) == sha256_file(b)


# -- the cases of scp.sh, scp3.sh and scp-uri.sh ------------------------------------------------------

def test_file_to_file(ends, way):
    worlds.fill(ends.here / "data", 3)
    ends.good(*way, ends.here / "data", ends.at("copy"))
    same(ends.here / "data", ends.far / "copy")
    ends.good(*way, ends.at("copy"), ends.here / "back")
    same(ends.here / "data", ends.here / "back")


def test_onto_itself(ends, way):
    """The same file at both ends is never emptied."""
    worlds.fill(ends.far / "data", 3)
    (ends.far / "data").chmod(0o666)
    before = sha256_file(ends.far / "data")
    ends.good(*way, ends.far / "data", ends.at("data"))
    assert sha256_file(ends.far / "data") == before
    ends.good(*way, ends.at("data"), ends.far / "data")
    assert sha256_file(ends.far / "data") == before


def test_over_a_longer_file(ends, way):
    worlds.fill(ends.here / "data", 1)
    worlds.fill(ends.far / "copy", 2)
    (ends.far / "copy").chmod(0o666)
    worlds.fill(ends.here / "back", 2)
    ends.good(*way, ends.here / "data", ends.at("copy"))
    same(ends.here / "data", ends.far / "copy")
    ends.good(*way, ends.at("copy"), ends.here / "back")
    same(ends.here / "data", ends.here / "back")


def test_into_a_directory(ends, way):
    (ends.here / "data").write_text("data")
    (ends.far / "dir").mkdir(mode=0o777)
    (ends.far / "dir").chmod(0o777)
    ends.good(*way, ends.here / "data", ends.at("dir"))
    same(ends.here / "data", ends.far / "dir" / "data")
    (ends.here / "back").mkdir()
    ends.good(*way, ends.at("dir/data"), ends.here / "back")
    same(ends.here / "data", ends.here / "back" / "data")


def test_tree(ends, way):
    make_tree(ends.here / "tree", 5, 50, 1000)
    (ends.here / "tree" / "empty").mkdir()
    (ends.here / "tree" / "nothing").write_bytes(b"")
    (ends.here / "tree" / "link").symlink_to("d0000/f0000")     # followed
    ends.good(*way, "-r", ends.here / "tree", ends.at("copy"))
    assert hashes(ends.far / "copy") == hashes(ends.here / "tree")
    assert not (ends.far / "copy" / "link").is_symlink()
    ends.good(*way, "-r", ends.at("copy"), ends.here / "back")
    assert hashes(ends.here / "back") == hashes(ends.here / "tree")
    ends.good(*way, "-r", ends.at("copy"), ends.here)           # a directory that is there: into it
    assert hashes(ends.here / "copy") == hashes(ends.here / "tree")
    ends.good(*way, "-r", f"{ends.here}/tree/.", ends.at("dot"))
    assert hashes(ends.far / "dot") == hashes(ends.here / "tree")


def test_pattern_that_is_a_name(ends, way):
    (ends.here / "data").write_text("data")
    ends.good(*way, ends.here / "data", ends.at("copy.glob[123]"))
    same(ends.here / "data", ends.far / "copy.glob[123]")
    ends.good(*way, ends.at("copy.glob[123]"), ends.here / "back")
    same(ends.here / "data", ends.here / "back")
    make_tree(ends.far / "dir.glob[456]", 1, 3, 10)
    ends.good(*way, "-r", ends.at("dir.glob[456]"), ends.here / "tree")
    assert hashes(ends.far / "dir.glob[456]") == hashes(ends.here / "tree")


def test_pattern(ends, way):
    for name in ("a1", "a2", "b1", ".a3"):
        (ends.far / name).write_text(name)
    (ends.here / "got").mkdir()
    ends.good(*way, ends.at("a*"), ends.here / "got")
    assert sorted(os.listdir(ends.here / "got")) == ["a1", "a2"]
    ends.good(*way, ends.at("[ab]1"), ends.at("?2"), ends.here / "got")
    assert sorted(os.listdir(ends.here / "got")) == ["a1", "a2", "b1"]


def test_target_that_is_no_directory(ends, way):
    for name in ("a", "b", "c"):
        (ends.here / name).write_text(name)
        (ends.far / name).write_text(name)
        (ends.far / name).chmod(0o666)
    assert ends.scp(*way, ends.here / "a", ends.here / "b", ends.at("c"))[0] != 0
    assert (ends.far / "c").read_text() == "c"
    assert "Not a directory" in ends.bad(*way, ends.at("a"), ends.at("b"), ends.here / "c")
    assert (ends.here / "c").read_text() == "c"
    assert "No such file" in ends.bad(*way, ends.at("a"), ends.at("b"), ends.here / "none")


def test_uri(ends, way):
    (ends.here / "data").write_text("data")
    (ends.far / "dir").mkdir()
    (ends.far / "dir").chmod(0o777)
    start = f"scp://{ends.server.user}@127.0.0.1:{ends.server.port}/"
    ends.good(*way, "-P", "1", ends.here / "data", f"{start}{ends.far}/copy")
    ends.good(*way, "-P", "1", ends.here / "data", f"{start}{ends.far}/dir")
    ends.good(*way, "-P", "1", f"{start}{ends.far}/copy", ends.here / "back")
    for copy in (ends.far / "copy", ends.far / "dir" / "data", ends.here / "back"):
        same(ends.here / "data", copy)


def test_between_hosts(ends, way):
    worlds.fill(ends.far / "data", 2)
    make_tree(ends.far / "tree", 3, 30, 100)
    for name in ("dir", "copy"):
        (ends.far / name).mkdir()
        (ends.far / name).chmod(0o777)
    ends.good(*way, "-3", ends.at("data"), ends.at("file"))
    same(ends.far / "data", ends.far / "file")
    ends.good(*way, ends.at("data"), ends.at("file"), ends.at("dir"))
    same(ends.far / "data", ends.far / "dir" / "data")
    same(ends.far / "data", ends.far / "dir" / "file")
    ends.good(*way, "-3r", ends.at("tree"), ends.at("copy"))
    assert hashes(ends.far / "copy" / "tree") == hashes(ends.far / "tree")
    (ends.far / "b").write_text("b")
    (ends.far / "b").chmod(0o666)
    assert ends.scp(*way, "-3", ends.at("data"), ends.at("file"), ends.at("b"))[0] != 0
    assert (ends.far / "b").read_text() == "b"


def test_the_scp_at_the_other_end(world, server, programs, ours):
    """-O means nothing where another one answers than the fixture says."""
    found = Ssh(world, ours).run(server, "command -v scp").out.decode().strip()
    assert found == (ours.scp if programs.is_bowline else str(Path(programs.ssh).with_name("scp")))


# -- names, times, modes ------------------------------------------------------------------------------

def test_odd_names(ends):
    for i, name in enumerate(ODD):
        (ends.here / name).write_bytes(os.urandom(100 + i))
    (ends.here / os.fsdecode(b"latin-\xe9")).write_text("bytes")
    names = sorted(os.listdir(ends.here))
    ends.good(*(f"{ends.here}/{name}" for name in names), ends.at())
    (ends.here / "back").mkdir()
    for name in names:
        path = re.sub(r"([\\\[\]*?])", r"\\\1", name)
        ends.good(ends.at(path), ends.here / "back" / name)
    got = hashes(ends.far)
    assert got == hashes(ends.here / "back")
    assert sorted(got) == sorted(n for n in names)
    assert not Path("mark").exists()


def test_keep(ends, way):
    data = ends.here / "data"
    data.write_text("data")
    data.chmod(0o751)
    os.utime(data, (1111111111, 1234567890))
    make_tree(ends.here / "tree", 1, 1, 10)
    os.utime(ends.here / "tree" / "d0000", (1111111111, 1222222222))
    (ends.here / "tree" / "d0000").chmod(0o511)
    ends.good(*way, "-rp", data, ends.here / "tree", ends.at())
    ends.good(*way, "-rp", ends.at("data"), ends.at("tree"), ends.here)
    for top in (ends.far, ends.here):
        assert (top / "data").stat().st_mtime == 1234567890
        assert stat.S_IMODE((top / "data").stat().st_mode) == 0o751
        assert (top / "tree" / "d0000").stat().st_mtime == 1222222222
        assert stat.S_IMODE((top / "tree" / "d0000").stat().st_mode) == 0o511


def test_mode_without_keep(ends, way):
    data = ends.here / "data"
    data.write_text("data")
    data.chmod(0o755)
    ends.good(*way, data, ends.at("copy"))
    assert stat.S_IMODE((ends.far / "copy").stat().st_mode) == 0o755
    (ends.far / "copy").write_text("newer")
    (ends.far / "copy").chmod(0o700)
    os.chown(ends.far / "copy", pwd.getpwnam(ends.server.user).pw_uid, -1)
    ends.good(*way, data, ends.at("copy"))
    assert stat.S_IMODE((ends.far / "copy").stat().st_mode) == 0o700


def test_home_and_other_homes(ends, way):
    home = ends.server.world.account.home
    if not ends.server.world.account.private:
        pytest.skip(ends.server.world.account.why_no_password)
    (home / "scp-home").write_text("home")
    (home / "scp-home").chmod(0o644)
    try:
        for path in ("scp-home", "~/scp-home", f"~{ends.server.user}/scp-home", "./scp-home"):
            ends.good(*way, there(ends.server, path), ends.here / "got")
            assert (ends.here / "got").read_text() == "home"
            (ends.here / "got").unlink()
    finally:
        (home / "scp-home").unlink()
    assert "nosuchuser" in ends.bad(*way, there(ends.server, "~nosuchuser/x"), ends.here / "x")


# -- what goes wrong ----------------------------------------------------------------------------------

def test_missing_files(ends, way):
    (ends.here / "a").write_text("a")
    err = ends.bad(*way, ends.here / "none", ends.here / "a", ends.at())
    assert "none" in err and "No such file or directory" in err
    assert (ends.far / "a").read_text() == "a"
    err = ends.bad(*way, ends.at("none"), ends.at("a"), ends.here)
    assert f"{ends.far}/none: No such file or directory" in err
    err = ends.bad(*way, ends.here / "a", ends.at("no/such/dir"))
    assert "No such file or directory" in err


def test_sources_that_failed_are_named(ends, world, theirs):
    """The last line, which scripts look for; the very words of OpenSSH's scp where it has the same server's answer."""
    (ends.here / "good").write_text("good")
    (ends.here / "tree").mkdir()
    nowhere = f"{ends.far}/none/here"
    err = ends.bad(ends.here / "good", ends.at("none/here"))
    line = f"scp: failed to upload file {ends.here}/good to {nowhere}"
    assert err.splitlines()[-1] == line
    reference = Copy(world, theirs).scp(ends.server, ends.here / "good", ends.at("none/here"))
    assert feed(reference, None, SECONDS)[2].splitlines()[-1].endswith(line.split(" ", 1)[1])
    err = ends.bad("-r", ends.here / "tree", ends.at("none/here"))
    assert err.splitlines()[-1] == f"scp: failed to upload directory {ends.here}/tree to {nowhere}"
    (ends.far / "in").mkdir(mode=0o777)
    (ends.far / "in").chmod(0o777)
    err = ends.bad(ends.here / "good", ends.here / "missing", ends.at("in"))
    assert err.count("failed to upload") == 1 and f"failed to upload file {ends.here}/missing to {ends.far}/in/missing" in err
    assert (ends.far / "in" / "good").exists()


def test_path_written_for_a_shell(ends):
    """fish-shell#9704: plain blanks work, and what is there for a shell is named when it does not."""
    (ends.far / "a b").write_text("blank")
    (ends.far / "dir x").mkdir()
    (ends.far / "dir x").chmod(0o777)
    ends.good(ends.at("a b"), ends.here)
    ends.good(ends.at(r"a\ b"), ends.here)        # also the escape of a pattern
    err = ends.bad(ends.at('"a b"'), ends.here)
    assert "No such file or directory" in err and err.count("leave out quotes and backslashes") == 1
    assert "leave out" in ends.bad(ends.here / "a b", ends.at(r"dir\ x/"))
    ends.good(ends.here / "a b", ends.at("dir x/"))
    assert (ends.far / "dir x" / "a b").read_text() == "blank"
    ends.good("-O", ends.at(r"a\ b"), ends.here / "got")
    assert (ends.here / "got").read_text() == "blank"
    assert "leave out" not in ends.bad(ends.at("none"), ends.here)


def test_directory_without_r(ends, way):
    (ends.here / "dir").mkdir()
    (ends.far / "dir2").mkdir()
    assert "not a regular file" in ends.bad(*way, ends.here / "dir", ends.at())
    assert "not a regular file" in ends.bad(*way, ends.at("dir2"), ends.here)
    assert not (ends.far / "dir").exists() and not (ends.here / "dir2").exists()


def test_one_bad_file_in_a_tree(ends, way):
    make_tree(ends.far / "tree", 2, 20, 100)
    bad = ends.far / "tree" / "d0000" / "f0003"
    bad.chmod(0o000)
    err = ends.bad(*way, "-r", ends.at("tree"), ends.here)
    assert "f0003" in err and "Permission denied" in err
    assert len(hashes(ends.here / "tree")) == 21        # two directories, 20 files but one
    (ends.far / "closed").mkdir()
    (ends.far / "closed").chmod(0o755)
    err = ends.bad(*way, "-r", ends.here / "tree", ends.at("closed"))
    assert "Permission denied" in err


def test_link_that_leads_nowhere(ends):
    (ends.here / "tree").mkdir()
    (ends.here / "tree" / "loop").symlink_to(".")
    (ends.here / "tree" / "gone").symlink_to("nothing")
    (ends.here / "tree" / "file").write_text("file")
    err = ends.bad("-r", ends.here / "tree", ends.at("copy"))
    assert "gone" in err
    assert (ends.far / "copy" / "file").read_text() == "file"


def test_no_server_for_sftp(world, ours, theirs, programs):
    with Sshd(world, programs, name="nosftp").start() as server:
        e = Ends(world, server, ours)
        (e.here / "data").write_text("data")
        err = e.bad(e.here / "data", e.at("copy"), status=255)
        assert "scp -O" in err
        assert "scp -O" in e.bad("-S", theirs.ssh, e.here / "data", e.at("copy"), status=255)
        e.good("-O", e.here / "data", e.at("copy"))
        same(e.here / "data", e.far / "copy")


def test_refused_login(ends):
    (ends.here / "data").write_text("data")
    assert "Permission denied" in ends.bad(ends.here / "data", ends.at(), options=["PubkeyAuthentication=no"], status=255)


def descendants(pid):
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += [int(child), *descendants(child)]
    return found


def test_broken_connection(ends):
    """The server's process goes while files are under way."""
    make_tree(ends.here / "tree", 10, 200, 20000)
    command = ends.copy.scp(ends.server, "-r", "-l", "8000", ends.here / "tree", ends.at("copy"))
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert worlds.wait_until(lambda: (ends.far / "copy").exists())
    time.sleep(0.3)
    for pid in reversed(descendants(ends.server.process.pid)):
        try:
            os.kill(pid, 9)
        except ProcessLookupError:      # the end of another one was its end too
            pass
    out, err = child.communicate(timeout=SECONDS)
    assert child.returncode == 255 and err, err


# -- options ------------------------------------------------------------------------------------------

def test_limit(ends):
    worlds.fill(ends.here / "data", 1)
    begin = time.monotonic()
    ends.good("-l", "4096", ends.here / "data", ends.at("copy"))        # 512 KiB/s
    ends.good("-l", "4096", ends.at("copy"), ends.here / "back")
    assert 3.0 < time.monotonic() - begin < 15
    same(ends.here / "data", ends.here / "back")


@pytest.mark.parametrize("option", ["buffer=1000", "nrequests=1", "buffer=256k"])
def test_sizes(ends, option):
    worlds.fill(ends.here / "data", 1)
    ends.good("-X", option, ends.here / "data", ends.at("copy"))
    ends.good("-X", option, ends.at("copy"), ends.here / "back")
    same(ends.here / "data", ends.here / "back")


def test_verbose_and_quiet(ends):
    (ends.here / "data").write_text("data")
    assert "debug1: " in ends.good("-v", ends.here / "data", ends.at())[1]
    assert ends.good("-q", ends.here / "data", ends.at()) == (b"", "")
    assert "No such file" in ends.bad("-q", ends.here / "none", ends.at())


def test_compression_and_cipher(ends):
    (ends.here / "data").write_text("data" * 100000)
    ends.good("-C", "-c", "aes256-ctr", ends.here / "data", ends.at("copy"))
    same(ends.here / "data", ends.far / "copy")


def test_other_ssh_program(ends, theirs, way):
    (ends.here / "data").write_text("data")
    ends.good(*way, "-S", theirs.ssh, ends.here / "data", ends.at("copy"))
    ends.good(*way, "-S", theirs.ssh, ends.at("copy"), ends.here / "back")
    same(ends.here / "data", ends.here / "back")


def test_resume(ends):
    worlds.fill(ends.here / "data", 4)
    whole = (ends.here / "data").read_bytes()
    for part in (whole[:1 << 20], b"", whole[:-1], whole, b"x" + whole[1:1 << 20], whole + b"more"):
        (ends.far / "copy").write_bytes(part)
        (ends.far / "copy").chmod(0o666)
        (ends.here / "back").write_bytes(part)
        ends.good("--resume", ends.here / "data", ends.at("copy"))
        assert (ends.far / "copy").read_bytes() == whole
        ends.good("--resume", ends.at("copy"), ends.here / "back")
        assert (ends.here / "back").read_bytes() == whole


def test_atomic_keeps_the_old_file(ends):
    (ends.here / "new").write_text("new")
    (ends.far / "dir").mkdir()
    (ends.far / "dir").chmod(0o777)
    (ends.far / "dir" / "copy").write_text("old")
    before = (ends.far / "dir" / "copy").stat().st_ino
    ends.good("--atomic", ends.here / "new", ends.at("dir/copy"))
    assert (ends.far / "dir" / "copy").read_text() == "new"
    assert (ends.far / "dir" / "copy").stat().st_ino != before
    assert os.listdir(ends.far / "dir") == ["copy"]
    (ends.here / "back").write_text("old")
    ends.good("--atomic", ends.at("dir/copy"), ends.here / "back")
    assert (ends.here / "back").read_text() == "new"
    assert sorted(os.listdir(ends.here)) == ["back", "new"]


def test_checksum_and_fsync(ends):
    make_tree(ends.here / "tree", 3, 30, 10000)
    ends.good("-r", "--checksum", "--fsync", ends.here / "tree", ends.at("copy"))
    ends.good("-r", "--checksum", ends.at("copy"), ends.here / "back")
    assert hashes(ends.here / "back") == hashes(ends.here / "tree")


def test_sparse(ends):
    with open(ends.here / "data", "wb") as f:
        f.write(b"begin")
        f.seek(8 << 20)
        f.write(b"end")
    ends.good("--sparse", ends.here / "data", ends.at("copy"))
    ends.good("--sparse", ends.at("copy"), ends.here / "back")
    for copy in (ends.far / "copy", ends.here / "back"):
        same(ends.here / "data", copy)
        assert copy.stat().st_blocks * 512 < 1 << 20


def test_local_copies(ends):
    """As cp does them; with an option that cp lacks, by ourselves."""
    make_tree(ends.here / "tree", 2, 10, 100)
    ends.good("-r", ends.here / "tree", ends.here / "copy")
    ends.good("-r", "--checksum", ends.here / "tree", ends.here / "copy2")
    assert hashes(ends.here / "copy") == hashes(ends.here / "copy2") == hashes(ends.here / "tree")
    assert "cannot stat" in ends.bad(ends.here / "none", ends.here / "x")


def test_from_host_to_host_directly(world, ours, theirs):
    """-R: the first host's scp does it, so our session prints what that one says and takes its status."""
    with Sshd(world, theirs, [f"Subsystem sftp {theirs.sftp_server}"], name="direct").start() as server:
        e = Ends(world, server, ours)
        (e.far / "bin").mkdir()
        fake = e.far / "bin" / "scp"
        fake.write_text('#!/bin/sh\necho "$@"\nexit 3\n')
        fake.chmod(0o755)
        server.stop()
        server.config.write_text(server.config.read_text() + f"SetEnv PATH={e.far}/bin:/usr/bin:/bin\n")
        server.start()
        status, out, err = e.scp("-R", "-r", e.at("a b"), "me@[::1]:x")
        assert (status, out.decode()) == (1, f"-r -- {e.far}/a b me@[::1]:x\n"), err
        assert "target port not supported" in e.bad("-R", e.at("a"), "scp://h:2/x")
        assert "invalid user name" in e.bad("-R", e.at("a"), "$(x;y)@h:x")
        fake.write_text("#!/bin/sh\nexit 0\n")
        e.good("-R", e.at("a"), "h:x")


def test_progress(ends):
    worlds.fill(ends.here / "data", 2)
    (ends.here / "a").write_text("a")
    status, out, _ = ends.scp(ends.here / "data", ends.at("copy"), tty=True, env={"TERM": "xterm"})
    lines = [line for line in re.split(r"[\r\n]+", out.decode()) if line]
    assert status == 0 and re.fullmatch(r"data {41} 100% 2048KB [ \d]{3}\.\d[KMG]B/s   00:0\d    ", lines[-1]), out
    assert all(len(line) == 79 for line in lines), lines
    status, out, _ = ends.scp(ends.here / "data", ends.here / "a", ends.at(), tty=True, env={"TERM": "xterm"})
    text = out.decode()
    assert status == 0 and re.search(r"\rdata {41} 100% 2048KB [^\r]*\r\n", text) and re.search(r"\ra {44} 100%", text), text
    assert re.search(r"total: 2 of 2 files {26} 100% 2048KB .*\r\n$", text), text
    status, out, _ = ends.scp("-q", ends.here / "data", ends.at(), tty=True)
    assert (status, out) == (0, b"")
    assert ends.good(ends.here / "data", ends.at()) == (b"", "")        # no terminal, no progress


def test_interrupted(ends):
    worlds.fill(ends.here / "data", 4)
    command = ends.copy.scp(ends.server, "-l", "8000", ends.here / "data", ends.at("copy"))
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert worlds.wait_until(lambda: (ends.far / "copy").exists() and (ends.far / "copy").stat().st_size > 0)
    child.send_signal(2)
    out, err = child.communicate(timeout=10)
    assert child.returncode == -2, err
    n = (ends.far / "copy").stat().st_size
    assert n < 4 << 20 and (ends.far / "copy").read_bytes() == (ends.here / "data").read_bytes()[:n]


def test_few_descriptors(ends):
    """As many files at once as there is room for: a shell that allows 16."""
    make_tree(ends.here / "tree", 3, 60, 500)
    for words in (["-r", ends.here / "tree", ends.at("copy")], ["-r", ends.at("copy"), ends.here / "back"]):
        command = ends.copy.scp(ends.server, "-q", *words)
        status, _, err = feed(["sh", "-c", 'ulimit -n 16; exec "$@"', "sh", *command], None, SECONDS)
        assert (status, err) == (0, "")
    assert hashes(ends.here / "back") == hashes(ends.far / "copy") == hashes(ends.here / "tree")


def test_a_second_interrupt_lists_what_it_left(ours):
    """The server does not answer any more, so nothing can be cut or asked: what is half done is named all the same, and
    the server is not waited for."""
    here, far = worlds.scratch("twice"), worlds.scratch("twice-far")
    for name in ("f0", "f1", "f2"):
        worlds.fill(here / name, 30)
    process = subprocess.Popen([ours.scp, "-q", "-l", "80000", "-D", ours.sftp_server, "-r", f"{here}/.", f"h:{far}"],
                               stderr=subprocess.PIPE, text=True)
    server = None
    try:
        assert worlds.wait_until(lambda: any(p.stat().st_size for p in far.iterdir()), 15)
        server = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
        os.kill(server, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None       # it waits for what was asked
        os.kill(process.pid, signal.SIGINT)
        err = process.communicate(timeout=8)[1]
        named = [p.name for p in far.iterdir() if f"{p.name}\" is incomplete" in err]
        assert named and sorted(named) == sorted(p.name for p in far.iterdir()), err
        assert process.returncode == -signal.SIGINT
    finally:
        worlds.end(process)
        if server is not None and Path(f"/proc/{server}").exists():
            os.kill(server, signal.SIGKILL)


# -- other people's servers ---------------------------------------------------------------------------

@pytest.fixture(scope="module", params=["dropbear", "asyncssh", "paramiko"])
def stranger(request, world):
    if request.param == "dropbear" and not world.account.private:
        pytest.skip(world.account.why_no_password)
    with peers.make("server", request.param, world).start() as running:
        yield running


def test_peers(world, ours, stranger, way):
    """Each by SFTP, and by the scp of OpenSSH that its shell finds."""
    ends = Ends(world, stranger, ours)
    make_tree(ends.here / "tree", 4, 40, 5000)
    worlds.fill(ends.here / "tree" / "large", 8)
    (ends.here / "tree" / "with blank").write_text("blank")
    ends.good(*way, "-rp", ends.here / "tree", ends.at("copy"))
    assert hashes(ends.far / "copy") == hashes(ends.here / "tree")
    ends.good(*way, "-rp", ends.at("copy"), ends.here / "back")
    assert hashes(ends.here / "back") == hashes(ends.here / "tree")
    (ends.here / "got").mkdir()
    ends.good(*way, ends.at("copy/[lw]*"), ends.here / "got")
    assert sorted(os.listdir(ends.here / "got")) == ["large", "with blank"]
    assert "No such file" in ends.bad(*way, ends.at("none"), ends.here / "none")


def test_go_server(world, server, ours):
    """golang's pkg/sftp, as a program of -D: it has no limits@openssh.com."""
    ends = Ends(world, server, ours)
    run = ["-D", peers.go_peer("go-sftp")[0]]
    make_tree(ends.here / "tree", 4, 40, 5000)
    worlds.fill(ends.here / "tree" / "large", 8)
    ends.good(*run, "-r", ends.here / "tree", ends.at("copy"))
    ends.good(*run, "-r", ends.at("copy"), ends.here / "back")
    assert hashes(ends.far / "copy") == hashes(ends.here / "back") == hashes(ends.here / "tree")
    assert f"{ends.far}/none: No such file or directory" in ends.bad(*run, ends.at("none"), ends.here / "none")


def test_our_sftp_server_under_dropbear(world, ours):
    """It starts /usr/lib/sftp-server."""
    if not world.account.private:
        pytest.skip(world.account.why_no_password)
    with peers.DropbearServer(world, stands={"/usr/lib/sftp-server": ours.sftp_server}).start() as server:
        ends = Ends(world, server, ours)
        make_tree(ends.here / "tree", 4, 40, 5000)
        worlds.fill(ends.here / "tree" / "large", 8)
        ends.good("-s", "-rp", ends.here / "tree", ends.at("copy"))
        ends.good("-s", "-rp", ends.at("copy"), ends.here / "back")
        assert hashes(ends.far / "copy") == hashes(ends.here / "back") == hashes(ends.here / "tree")
        status, _, err = feed(ends.copy.sftp(server, f"cp {ends.far}/copy/large {ends.far}/again"), None, SECONDS)
        assert status == 0, err
        same(ends.far / "again", ends.here / "tree" / "large")


@pytest.mark.parametrize("names", (("dropbear", "asyncssh"), ("paramiko", "openssh"), ("asyncssh", "paramiko")), ids="-".join)
def test_between_two_strangers(world, ours, theirs, names):
    """-3: from one foreign server to another."""
    if "dropbear" in names and not world.account.private:
        pytest.skip(world.account.why_no_password)
    def make(name):
        return Sshd(world, theirs, [f"Subsystem sftp {theirs.sftp_server}"]) if name == "openssh" else \
            peers.make("server", name, world)
    with make(names[0]).start() as first, make(names[1]).start() as second:
        ends = Ends(world, first, ours)
        make_tree(ends.far / "tree", 4, 40, 5000)
        worlds.fill(ends.far / "tree" / "large", 4)
        known = [known_hosts(s, ends.here / f"known{i}") for i, s in enumerate((first, second))]
        (ends.here / "known").write_text("".join(k.read_text() for k in known))
        uris = [f"scp://{s.user}@{s.host}:{s.port}/{ends.far}" for s in (first, second)]
        option = f"UserKnownHostsFile={ends.here}/known"
        words = [option if w.startswith("UserKnownHostsFile") else w for w in ends.copy.options(first)]
        command = [ours.scp, *words, "-q", "-3", "-r"]
        status, out, err = feed([*command, f"{uris[0]}/tree", f"{uris[1]}/copy"], None, SECONDS)
        assert status == 0, (out, err)
        assert hashes(ends.far / "copy") == hashes(ends.far / "tree")
        status, _, err = feed([*command, f"{uris[0]}/none", f"{uris[1]}/x"], None, SECONDS)
        assert status == 1 and "none: No such file or directory" in err, err


@pytest.mark.parametrize("wish", ("-A", None, "-oForwardAgent=yes"))
def test_the_agent_is_lent_when_it_is_wished(world, ours, theirs, programs, way, wish):
    """The program at the other end asks for the keys of the agent here."""
    folder = worlds.scratch("lent")
    folder.chmod(0o777)
    real = theirs.sftp_server if way == ["-s"] else theirs.scp
    asks = folder / "scp"
    asks.write_text(f'#!/bin/sh\nssh-add -l >{folder}/keys 2>&1\nexec {real} "$@"\n')
    asks.chmod(0o755)
    options = [f"Subsystem sftp {asks}", f"SetEnv PATH={folder}:/usr/bin:/bin"]
    with agents.openssh(folder) as agent, Sshd(world, programs, options).start() as server:
        env = {"SSH_AUTH_SOCK": str(agent.path)}
        assert subprocess.run(["ssh-add", "-q", world.keys.path("ed25519")], env={**os.environ, **env}).returncode == 0
        ends = Ends(world, server, ours)
        (ends.here / "a").write_text("a")
        ends.good(*way, *([wish] if wish else []), ends.here / "a", ends.at("b"), env=env)
        assert (ends.far / "b").read_text() == "a"
    said = (folder / "keys").read_text()
    assert "ED25519" in said if wish else "Could not open a connection" in said, said


# -- the command line ---------------------------------------------------------------------------------

@pytest.mark.parametrize("words,says,status", [
    ([], "usage: scp [-346ABCOpqRrsTv]", 1), (["a"], "usage: scp", 1), (["-z"], "unknown option -- z", 1),
    (["--hepl"], "is --help meant", 1), (["-P"], "option requires an argument -- P", 1), (["-l", "0", "a", "b"], "-l takes", 1),
    (["-X", "foo", "a", "b"], "Invalid -X option", 255), (["-X", "buffer=1m", "a", "b"], "Invalid buffer size", 255),
    (["-1", "a", "b"], "SSH protocol v.1", 255), (["a", "scp://h:x/y"], "invalid uri", 1), (["-P", "x", "a", "b"], "Bad port", 1),
    (["-O", "--resume", "a", "h:b"], "leave -O out", 255), (["-R", "--sparse", "g:a", "h:b"], "leave -R out", 255),
    (["--atomic", "--resume", "a", "h:b"], "leave one out", 255), (["-J", "j", "a", "h:b"], "-J (jump hosts) is not", 255),
    (["-q", "-P", "1", "a", "127.0.0.1:b"], "scp: Connection closed", 255),
    (["-O", "-P", "1", "a", "127.0.0.1:b"], "Connection refused", 255),
    (["-O", "-q", "-P", "1", "a", "127.0.0.1:b"], "scp: lost connection", 255),
    (["a", "$(id)@h:b"], "contains invalid characters", 255), (["a", "h;x:b"], "contains invalid characters", 255), (["a", "me@:x"], "no host", 1)])
def test_words_that_are_wrong(ours, words, says, status):
    got, _, err = feed([ours.scp, *words], None, 20)
    assert got == status and says in err, (got, err)


def test_help(ours):
    status, out, err = feed([ours.scp, "--help"], None, 20)
    assert (status, err) == (0, "") and b"--resume" in out

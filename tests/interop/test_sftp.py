# SPDX-License-Identifier: ISC
"""Our sftp: against every server, its words against those of OpenSSH's sftp, and at a terminal."""
import difflib
import fcntl
import os
import pty
import re
import select
import signal
import stat
import subprocess
import termios
import time
from pathlib import Path

import pytest

import peers
from harness import world as worlds
from harness.copier import Copy
from harness.server import Sshd
from harness.world import sha256_file

ODD = ("plain", "with blank", "back\\slash", 'quo"te', "apo'strophe", "ünïcode", "n" * 255, "#hash", "-dash", "star*",
       "[brackets]", "semi;colon", "tab\there")
BAD_UTF8 = b"not-utf8-\xff\xfe"


def quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def tree(top):
    return {os.fsencode(p.relative_to(top)): sha256_file(p) if p.is_file() else None
            for p in sorted(Path(os.fsdecode(top)).rglob("*"))}


@pytest.fixture(scope="module")
def ours(ours):
    if not ours.is_bowline:
        pytest.skip("compares with the installed sftp, which would be the tested one")
    return ours


@pytest.fixture
def place():
    """A directory that every account may fill."""
    top = worlds.scratch("sftp-place")
    top.chmod(0o777)
    return top


@pytest.fixture(scope="module")
def source():
    top = worlds.scratch("sftp-source")
    for i, name in enumerate(ODD):
        (top / name).write_bytes(os.urandom(1000 + i))
    (top / "empty").write_bytes(b"")
    worlds.fill(top / "large", 3)
    (top / "large").chmod(0o755)
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "deep").write_text("deep")
    os.utime(top / "plain", (1234567890, 1234567890))
    return top


def run(command, lines=None, timeout=60, cwd=None, **env):
    text = None if lines is None else b"".join(os.fsencode(line) + b"\n" for line in lines)
    done = subprocess.run([str(c) for c in command], input=text, capture_output=True, timeout=timeout, cwd=cwd,
                          env={**os.environ, **env}, stdin=subprocess.DEVNULL if text is None else None)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


class End:
    """A server and the arguments that make sftp speak with it."""

    def __init__(self, name, arguments, running=None):
        self.name, self.arguments, self.running = name, [str(a) for a in arguments], running
        self.is_old = name in ("asyncssh", "paramiko", "go")    # without all of OpenSSH's extensions

    def command(self, program, *flags):
        at = len(self.arguments) if self.running is None else -1
        return [program, *self.arguments[:at], *flags, *self.arguments[at:]]


@pytest.fixture(scope="module", params=("sshd", "internal", "openssh", "alone", "asyncssh", "paramiko", "go"))
def end(request, world, ours, theirs):
    name, running = request.param, None
    if name in ("alone", "go"):
        yield End(name, ["-D", ours.sftp_server if name == "alone" else peers.go_peer("go-sftp")[0]])
        return
    if name in ("asyncssh", "paramiko"):
        running = {"asyncssh": peers.AsyncsshServer, "paramiko": peers.ParamikoServer}[name](world)
    else:
        subsystem = {"sshd": ours.sftp_server, "internal": "internal-sftp", "openssh": "/usr/lib/openssh/sftp-server"}
        running = Sshd(world, theirs if name == "openssh" else ours, [f"Subsystem sftp {subsystem[name]}"],
                       log_level="INFO")
    with running.start():
        yield End(name, [*Copy(world, ours).options(running), f"{running.user}@{running.host}"], running)


@pytest.fixture
def batch(end, ours):
    def do(*lines, flags=(), good=True):
        code, out, err = run(end.command(ours.sftp, *flags, "-b", "-"), lines)
        if good:
            assert code == 0, f"{out.decode(errors='replace')[-2000:]}\n{err}"
        return (out, err) if good else (code, out, err)
    return do


# ---- files both ways --------------------------------------------------------------------------------

def test_a_tree_goes_and_comes_back(end, batch, place, source, tmp_path):
    batch(f"lcd {source}", f"put -rp . {place}/up", f"get -rp {place}/up {tmp_path}/down")
    assert tree(place / "up") == tree(source) == tree(tmp_path / "down")
    for top in (place / "up", tmp_path / "down"):
        assert (top / "plain").stat().st_mtime == 1234567890
        assert stat.S_IMODE((top / "large").stat().st_mode) == 0o755


def test_each_odd_name_by_itself(end, batch, place, source, tmp_path):
    batch(f"cd {place}", f"lcd {source}", *(f"put -- {quoted(n)}" for n in ODD), f"lcd {tmp_path}",
          *(f"get -- {quoted(n)}" for n in ODD), *(f"rename {quoted(n)} x" for n in ODD[:1]), "rename x plain",
          *(f"ls -l -- {quoted(n)}" for n in ODD))
    assert all((tmp_path / n).read_bytes() == (source / n).read_bytes() for n in ODD)
    batch(f"cd {place}", *(f"rm -- {quoted(n)}" for n in ODD))
    assert list(place.iterdir()) == []


def test_names_that_are_no_text(end, batch, place, tmp_path):
    if end.name == "paramiko":
        pytest.skip("paramiko takes names for UTF-8")
    (tmp_path / os.fsdecode(BAD_UTF8)).write_text("bytes")
    name = os.fsdecode(BAD_UTF8)
    out, _ = batch(f"lcd {tmp_path}", f"cd {place}", f"put {name}", f"get {name} back", "ls -1")
    assert (tmp_path / "back").read_text() == "bytes" == (place / name).read_text()
    assert b"not-utf8-\\377\\376" in out        # escaped where a person reads it


def test_patterns(end, batch, place, tmp_path):
    for name in ("g1", "g2", "g[3]", "h1"):
        (place / name).write_text(name)
    (place / "gd").mkdir()
    (place / "gd").chmod(0o777)
    (place / "gd" / "in").write_text("in")
    batch(f"cd {place}", f"get g? {tmp_path}", good=False)      # gd is a directory: told, and the batch failed
    assert {p.name for p in tmp_path.iterdir()} == {"g1", "g2"}
    batch(f"cd {place}", f"mget {quoted('g[3]')} {tmp_path}", f"get */in {tmp_path}/other", f"get [h]1 {tmp_path}")
    assert (tmp_path / "g[3]").read_text() == "g[3]" and (tmp_path / "other").read_text() == "in"
    batch(f"cd {place}", f"mput {tmp_path}/g* gd", "rm g[12]", "chmod 600 gd/g[12]")
    assert {p.name for p in place.iterdir()} == {"gd", "g[3]", "h1"}
    assert {p.name for p in (place / "gd").iterdir()} == {"in", "g1", "g2", "g[3]"}
    assert {stat.S_IMODE((place / "gd" / n).stat().st_mode) for n in ("g1", "g2")} == {0o600}


@pytest.mark.parametrize("had", (0, 1, 65536, (3 << 20) - 1))
def test_a_copy_that_broke_off_goes_on(end, batch, place, source, had):
    whole = (source / "large").read_bytes()
    for name in ("up", "down", "up2", "down2"):
        (place / name).write_bytes(whole[:had])
        (place / name).chmod(0o666)
    batch(f"reput {source}/large {place}/up", f"reget {source}/large {place}/down",
          f"put -a {source}/large {place}/up2")
    batch(f"get {source}/large {place}/down2", flags=("-a",))
    assert all((place / n).read_bytes() == whole for n in ("up", "down", "up2", "down2"))


def test_what_is_not_there_again(end, batch, place, source):
    code, _, err = batch(f"get {place}/none {place}/x", good=False)
    assert code == 1 and f'File "{place}/none" not found.' in err and not (place / "x").exists()
    code, _, err = batch(f"put {source}/none {place}/x", good=False)
    assert code == 1 and f"stat {source}/none: No such file or directory" in err and not (place / "x").exists()
    code, _, err = batch(f"put {source}/plain {place}/none/x", good=False)
    assert code == 1 and "No such file" in err


def test_names_links_and_directories(end, batch, place, source):
    (place / "f").write_text("f")
    batch(f"cd {place}", "mkdir d", "rename f d/g", "ln -s d/g soft", "rename d d2", "mkdir d", "rmdir d")
    assert (place / "d2" / "g").read_text() == "f" and os.readlink(place / "soft") == "d/g"
    if end.is_old:
        return
    batch(f"cd {place}", f"put {source}/plain h", "ln h hard", "cp h copy", f"put {source}/empty e", "rename e copy",
          "cp h copy")
    assert (place / "hard").stat().st_nlink == 2 and (place / "copy").read_bytes() == (source / "plain").read_bytes()
    code, _, _ = batch(f"rename -l {place}/hard {place}/copy", good=False)
    assert code == 1 and (place / "hard").exists()


def test_lists(end, batch, place):
    for name, size, when in (("b", 10, 300), ("a", 30, 100), ("c", 20, 200), (".dot", 0, 400)):
        (place / name).write_bytes(b"x" * size)
        os.utime(place / name, (when, when))

    def names(*flags):
        out, _ = batch(f"ls -1{''.join(flags)} {place}")
        return [line.rsplit("/", 1)[1] for line in out.decode().splitlines()[1:]]
    assert names() == ["a", "b", "c"] and names("r") == ["c", "b", "a"]
    assert names("t") == ["b", "c", "a"] and names("S") == ["a", "c", "b"] and names("Sr") == ["b", "c", "a"]
    assert names("a") in ([".", "..", ".dot", "a", "b", "c"], [".dot", "a", "b", "c"])
    assert sorted(names("f")) == ["a", "b", "c"]
    out, _ = batch(f"cd {place}", "@ls -n", "@ls")
    lines = out.decode().splitlines()
    uid, gid = place.stat().st_uid, place.stat().st_gid
    assert re.fullmatch(rf"-rw-r--r-- +\S+ {uid} +{gid} +30 Jan  1  1970 a", lines[1])
    assert lines[4].split() == ["a", "b", "c"]


def test_ten_thousand_and_one_names(end, batch, place):
    for i in range(10001):
        os.close(os.open(place / f"f{i}", os.O_CREAT | os.O_WRONLY))
    begin = time.monotonic()
    out, _ = batch(f"ls -l {place}", f"ls -1 {place}/f1*")
    assert len(out.splitlines()) == 2 + 10001 + 1112 + (end.name == "openssh" and 0)
    assert time.monotonic() - begin < 40


def test_the_command_line_names_a_file_or_a_directory(end, ours, world, place, tmp_path):
    (place / "file one").write_text("1")
    (place / "f2").write_text("2")
    program = [ours.sftp, "-q", *end.arguments]
    if end.running:
        host = program.pop()
        uri = f"sftp://{end.running.user}@{end.running.host}:{end.running.port}/"
        at = program.index("-P")
        ways = [lambda p: [*program, f"{host}:{p}"],
                lambda p: [*program[:at], *program[at + 2:], uri + str(p).replace(" ", "%20")]]
    else:
        ways = [lambda p: [*program, p]]
    for i, way in enumerate(ways):
        to = tmp_path / str(i)
        to.mkdir()
        assert run(way(place / "file one"), cwd=to)[0] == 0
        assert run([*way(place / "f2"), to / "named"])[0] == 0
        assert run([*way(place / "f*"), to])[0] == 0
        assert {p.name: p.read_text() for p in to.iterdir()} == {"file one": "1", "named": "2", "f2": "2"}
        code, _, err = run(way(place / "none"), cwd=to)
        assert code == 1 and "not found" in err
        code, out, _ = run(way(place), ["pwd"])
        assert code == 0 and f"Remote working directory: {place}" in out.decode()


# ---- the same words as OpenSSH's --------------------------------------------------------------------

SAME = r"""
foo
cd /nonexist
cd d/a
lcd /nonexist
get
get nonexist
get nonexist*
get -Z x
put
put nonexist
put "unterminated
rename a
rename nonexist foo
ln a
ln nonexist foo
ln -q a b
symlink d/a d/lnk
symlink d/a d/lnk
chmod
chmod 999 x
chmod 644
chmod 644 nonexist
chown x y
chown 1
chown 99999999999 x
chown 0 nonexist
chgrp 0 nonexist
mkdir
mkdir d
rmdir
rmdir nonexist
rmdir d
rm
rm nonexist
rm nonexist*
rm d
ls nonexist
ls nonexist*
ls -Z
lls nonexist
lmkdir
lmkdir d
lumask
lumask 999
lumask 022
df -Z
cp d/a
cp d/a d/b
cp nonexist d/c
copy d d2
pwd
lpwd
progress
progress
version
!false
!echo hi there
reget
reget nonexist
reput nonexist
ls d
ls -l d
ls -la d
ls -1 d
ls -lh d
ls -1r d
ls -1 dl
ls -l d/*
ls -1 d/*
chmod 644 d/a
chmod 0644 d/*
chown 0 d/a
chgrp -h 0 d/a
get d/* nosuchdir
put d/* nosuchdir
rename -l d/b d/a
get "a"b
get 'a
ls [
#comment
  # comment
  ls -1 d
@ls -1 d
rename "a b" ""
mkdir ""
cd ""
ls -1 ""
ls -1 .
rename "a\*b" y
rename 'a\\b' y
rename a\nb y
get "a#b"
get 'a"b'"c'd"
CD d
Pwd
cd
pwd
ln a d/hard
ls -l d/sub
rm d/b*
chmod -h 600 lnk
"""
# OpenSSH shows a backslash in a name doubled, ours as it is; it makes the columns of patterns and links wider.


@pytest.fixture
def twins():
    """Two directories alike, and how to run a client in one of them against OpenSSH's sftp-server."""
    def make():
        top = worlds.scratch("sftp-twin")
        (top / "d" / "sub").mkdir(parents=True)
        (top / "d" / "a").write_text("hi")
        (top / "d" / "long").write_bytes(b"x" * 70000)
        (top / "dl").symlink_to("d")
        return top

    def client(program, flags, lines):
        top = make()
        code, out, err = run([program, *flags, "-D", "/usr/lib/openssh/sftp-server"], lines, cwd=top)

        def plain(text):
            text = re.sub(r" \w{3} [ \d]\d [ \d]\d:\d\d ", " now ", text.replace(str(top), "TOP"))
            return [line.rstrip().replace("\\\\", "\\") for line in text.splitlines()]
        return code, plain(out.decode()), plain(err)
    return client


@pytest.mark.parametrize("flags", (("-b", "-"), ("-q",), ()), ids=("batch", "quiet", "piped"))
def test_the_words_are_those_of_openssh(twins, ours, flags):
    lines = [line if line.startswith("@") or not line.strip() else "-" + line for line in SAME.splitlines()]
    theirs, mine = twins("sftp", flags, lines), twins(ours.sftp, flags, lines)
    for i, what in enumerate(("output", "errors"), 1):
        if mine[i] != theirs[i]:
            lines = difflib.unified_diff(theirs[i], mine[i], "OpenSSH", "ours", n=2, lineterm="")
            pytest.fail("\n".join((what, *lines)))
    assert mine[0] == theirs[0]


@pytest.mark.parametrize("line", [line for line in SAME.splitlines() if line.strip()])
def test_a_batch_fails_where_openssh_s_does(twins, ours, line):
    lines = ("!echo begun", line, "!echo reached")
    theirs, mine = twins("sftp", ("-b", "-"), lines), twins(ours.sftp, ("-b", "-"), lines)
    assert (mine[0], "reached" in mine[1]) == (theirs[0], "reached" in theirs[1])


@pytest.mark.parametrize("arguments", (
    ("-B", "0"), ("-B", "x"), ("-R", "0"), ("-R", "x"), ("-P", "0"), ("-P", "x"), ("-b", "/nonexist"),
    ("-b", "-", "-b", "-"), ("-l", "0"), ("-Z",), ("-h",), ("-1",), ("-X", "foo=1"), ("-2",), ("-D", "/nonexist"),
    ("-D", "/bin/false"), ("-D", "/bin/true"), ("a", "b", "c")), ids=" ".join)
def test_the_exit_status_is_that_of_openssh(ours, arguments):
    last = () if "-D" in arguments or "a" in arguments else ("-D", "/usr/lib/openssh/sftp-server")
    theirs, mine = (run([program, *arguments, *last])[0] for program in ("sftp", ours.sftp))
    assert mine == (1 if theirs in (141, -13) else theirs) or (theirs in (141, -13) and mine == 255)


def test_a_batch_stops_where_it_fails_and_goes_on_where_it_may(ours):
    end = ["-D", ours.sftp_server]
    code, out, err = run([ours.sftp, *end, "-b", "-"], ["-foo", "!echo one", "@!echo two", "foo", "!echo three"])
    assert code == 1 and out.decode().splitlines() == ["sftp> -foo", "sftp> !echo one", "one", "two", "sftp> foo"]
    code, out, _ = run([ours.sftp, *end], ["foo", "!echo reached"])
    assert code == 0 and b"reached" in out      # no batch: nothing stops it
    code, out, _ = run([ours.sftp, *end, "-b", "-"], ["# nothing", "", "   ", "bye", "!echo no"])
    assert code == 0 and b"\nno" not in out


def test_lines_end_as_they_like(ours, tmp_path):
    batch = tmp_path / "batch"
    batch.write_bytes(b"!echo one\r\n!echo two\n@!echo three")
    code, out, _ = run([ours.sftp, "-D", ours.sftp_server, "-b", batch])
    assert code == 0 and out == b"sftp> !echo one\none\nsftp> !echo two\ntwo\nthree\n"


def test_text_of_a_login_script_is_told(ours, tmp_path):
    server = tmp_path / "server"
    server.write_text("#!/bin/sh\necho 'Welcome to this machine'\nsleep 1\n")
    server.chmod(0o755)
    code, _, err = run([ours.sftp, "-D", server])
    assert code == 255 and "Received message too long" in err and "Welcome to this machine" in err
    assert err.splitlines()[-1] == "Connection closed"


def test_a_connection_that_ends_is_told(world, ours, place):
    with Sshd(world, ours, [f"Subsystem sftp {ours.sftp_server}"]).start() as server:
        command = [*Copy(world, ours).start(server, ours.sftp, ()), f"{server.user}@{server.host}"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
            client.stdin.write(b"pwd\n")
            client.stdin.flush()
            while b"Remote working" not in client.stdout.readline():
                pass
            server.stop()
            for pid in subprocess.run(["pgrep", "-f", f"sshd.*{server.config}"], capture_output=True,
                                      text=True).stdout.split():
                os.kill(int(pid), signal.SIGKILL)
            # nothing is typed: it is told while it waits for a command
            try:
                code = client.wait(20)
            finally:
                client.kill()
            assert code == 255 and b"Connection" in client.stderr.read()


# ---- at a terminal ----------------------------------------------------------------------------------

class Terminal:
    def __init__(self, command, cwd):
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        env = {**os.environ, "TERM": "vt100", "LC_ALL": "C.UTF-8", "HOME": str(cwd), "ASAN_OPTIONS": "detect_leaks=0"}
        self.process = subprocess.Popen([str(c) for c in command], stdin=slave, stdout=slave, stderr=slave, cwd=cwd,
                                        start_new_session=True, env=env,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.until("sftp> ")

    def until(self, text, seconds=20):
        got, end = b"", time.monotonic() + seconds
        while text.encode() not in got and time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    got += os.read(self.master, 65536)
                except OSError:
                    break
        text_got = got.decode(errors="replace")
        assert text in text_got, repr(text_got)
        return text_got

    def type(self, text, until="sftp> "):
        os.write(self.master, text.encode())
        return self.until(until)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        worlds.end(self.process)
        os.close(self.master)


@pytest.fixture
def terminal(world, ours, tmp_path):
    """In a directory of names, connected to our server whose first directory is another one."""
    here, away = tmp_path / "here", tmp_path / "away"
    there = ("remote1", "remote2", "only remote", "it's")
    for top, names in ((here, ("local1", "local2", "only-local")), (away, there)):
        top.mkdir()
        for name in names:
            (top / name).write_text(name)
    (away / "folder").mkdir()
    (away / "escape\033[31m").write_text("")
    with Terminal([ours.sftp, "-D", f"{ours.sftp_server} -d {away}"], here) as t:
        t.here, t.away = here, away
        yield t


def needs_editing(ours):
    if "libedit" not in subprocess.run(["ldd", ours.sftp], capture_output=True, text=True).stdout:
        pytest.skip("this build has no libedit")


def test_commands_at_a_terminal(terminal):
    assert f"Remote working directory: {terminal.away}" in terminal.type("pwd\r")
    assert "Invalid command." in terminal.type("nonsense\r")
    assert "\\033[31m" in terminal.type("ls\r")
    assert "Fetching" in terminal.type("get remote1\r") and (terminal.here / "remote1").read_text() == "remote1"
    os.write(terminal.master, b"bye\r")
    assert terminal.process.wait(10) == 0


def test_the_end_of_the_input_ends_it(terminal):
    # libedit shows its prompt a moment before it takes single keys; Ctrl-D between the two is lost
    worlds.wait_until(lambda: not termios.tcgetattr(terminal.master)[3] & termios.ICANON, 2)
    os.write(terminal.master, b"\x04")
    assert terminal.process.wait(10) == 0


def test_names_are_completed(terminal, ours):
    needs_editing(ours)
    assert "Remote working" in terminal.type("pw\t\r")
    terminal.type("get only\t\r")                         # the blank is written so that it stays one word
    assert (terminal.here / "only remote").read_text() == "only remote"
    terminal.type("get \"it\t\r")                         # in the quote that is open
    assert (terminal.here / "it's").exists()
    terminal.type("put loc\t2\r")
    assert (terminal.away / "local2").read_text() == "local2"
    terminal.type("put local1 fol\t\r")                   # the second name of put is remote
    assert (terminal.away / "folder" / "local1").exists()
    shown = terminal.type("ls remote\t\t", "remote2")     # more than one: they are listed
    assert "remote1" in shown
    terminal.type("\x03")
    shown = terminal.type("ls esc\t\r")                   # what cannot be typed is not offered
    assert "\033[31m" not in shown


def test_ctrl_c_ends_a_line_that_waits_for_names(terminal, ours):
    needs_editing(ours)
    pid = terminal.process.pid
    server = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[-1])
    os.kill(server, signal.SIGSTOP)
    try:
        os.write(terminal.master, b"ls remo\t")
        terminal.until("remo")
        time.sleep(0.3)
        terminal.type("\x03")
    finally:
        os.kill(server, signal.SIGCONT)
    assert "Remote working" in terminal.type("pwd\r")


def test_ctrl_c_gives_a_new_prompt(terminal):
    terminal.type("get something lo\x03")
    assert "Remote working" in terminal.type("pwd\r")
    os.write(terminal.master, b"!sleep 30\r")
    terminal.until("sleep 30")
    time.sleep(0.3)
    terminal.type("\x03")
    assert "Remote working" in terminal.type("pwd\r")


def test_ctrl_c_ends_a_copy_and_not_the_program(world, ours, place, tmp_path):
    worlds.fill(place / "big", 8)
    with Terminal([ours.sftp, "-l", "4000", "-D", ours.sftp_server], tmp_path) as t:
        os.write(t.master, f"get {place}/big\r".encode())
        assert worlds.wait_until(lambda: (tmp_path / "big").exists() and (tmp_path / "big").stat().st_size > 0, 20)
        assert "Interrupt" in t.type("\x03")
        had = (tmp_path / "big").read_bytes()
        assert 0 < len(had) < 8 << 20 and (place / "big").read_bytes().startswith(had)
        assert "Remote working" in t.type("pwd\r")
    code, _, err = run([ours.sftp, "-D", ours.sftp_server, "-b", "-"], [f"reget {place}/big {tmp_path}/big"])
    assert code == 0 and sha256_file(tmp_path / "big") == sha256_file(place / "big"), err


def test_the_loop_runs_while_a_command_of_this_side_does(world, ours, tmp_path):
    """A server that asks whether the client is alive gets its answers during `!`."""
    lines = [f"Subsystem sftp {ours.sftp_server}", "ClientAliveInterval 1", "ClientAliveCountMax 2"]
    with Sshd(world, ours, lines).start() as server:
        command = [*Copy(world, ours).start(server, ours.sftp, ()), f"{server.user}@{server.host}"]
        code, out, err = run(command, ["!sleep 5", "pwd"])
        assert code == 0 and b"Remote working directory" in out, err

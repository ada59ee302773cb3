# SPDX-License-Identifier: ISC
"""The old protocol of scp: ours at either end with other people's clients and servers, and hostile ones."""
import os
import shlex
import stat
import subprocess
from pathlib import Path

import pytest

from harness import programs, world as worlds
from harness.server import Sshd, known_hosts
from harness.world import sha256_file
from peers import DropbearServer, dropbear_scp, find, made

ODD = ("plain", "with blank", "back\\slash", 'quo"te', "ünïcode", "n" * 255, "#hash", "-dash", "semi;colon", "bad\udcff8",
       "star*", "$dollar", "`tick`")


def run(command, stdin=None, timeout=120, **kw):
    done = subprocess.run([str(c) for c in command], input=stdin, capture_output=True, timeout=timeout, **kw)
    err = done.stderr.decode(errors="replace")
    assert "runtime error:" not in err and "Sanitizer" not in err, err
    return done.returncode, done.stdout, err


def good(command, stdin=None, **kw):
    code, out, err = run(command, stdin, **kw)
    assert code == 0, f"{code}: {out!r} {err}"
    return out


def tree(top):
    return {str(p.relative_to(top)): (stat.S_IMODE(p.stat().st_mode), int(p.stat().st_mtime),
                                      sha256_file(p) if p.is_file() else None) for p in sorted(Path(top).rglob("*"))}


def contents(top):
    return {name: last for name, (_, _, last) in tree(top).items()}


@pytest.fixture(scope="module")
def source(world):
    top = worlds.scratch("rcp-source")
    for i, name in enumerate(ODD):
        (top / name).write_bytes(os.urandom(1000 + i))
    (top / "empty").write_bytes(b"")
    worlds.fill(top / "large", 8)
    (top / "large").chmod(0o751)
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "deep").write_text("deep")
    (top / "a").chmod(0o750)
    for i, path in enumerate([*top.rglob("*"), top]):
        os.utime(path, (1234567890 + i, 1234560000 + i))
    return top


@pytest.fixture
def place(world):
    top = worlds.scratch("rcp-place")
    top.chmod(0o777)
    return top


def far_path(scp):
    """SetEnv for a server at which `scp` is this one."""
    return f"SetEnv PATH={Path(scp).parent}:/usr/bin:/bin"


def their_scp(who, ours, theirs):
    return {"ours": lambda: ours.scp, "openssh": lambda: theirs.scp, "dropbear": dropbear_scp}[who]()


def client_scp(who, server, ours, theirs):
    """scp of the old protocol with all that a login wants."""
    if who == "dropbear-dbclient":
        key = worlds.scratch("dbclient") / "key"
        made([find("dropbearconvert"), "openssh", "dropbear", server.world.keys.path("ed25519"), key])
        wrapper = key.parent / "wrapper"
        wrapper.write_text(f'#!/bin/sh\nHOME={key.parent} exec {find("dbclient")} -y -y -i {key} "$@"\n')
        wrapper.chmod(0o755)
        return [dropbear_scp(), "-S", wrapper, "-P", server.port]
    if who == "dropbear":
        return [dropbear_scp(), "-S", ours.ssh, *options(server)]
    return [their_scp(who, ours, theirs), "-O", *options(server)]


@pytest.fixture(scope="module")
def servers(world, ours, theirs):
    """(whose sshd, whose scp there) -> a server."""
    started = {}

    def get(sshd, scp):
        if (sshd, scp) not in started:
            path = their_scp(scp, ours, theirs)
            if sshd == "dropbear":
                server = DropbearServer(world, stands={theirs.scp: path} if scp != "openssh" else None)
            else:
                server = Sshd(world, {"ours": ours, "openssh": theirs}[sshd], [far_path(path)])
            started[sshd, scp] = server.start()
        return started[sshd, scp]
    yield get
    for server in started.values():
        server.stop()


def options(server, port="-P"):
    known = known_hosts(server, worlds.scratch("hosts") / "known_hosts")
    return ["-F", "none", port, server.port, "-i", server.world.keys.path("ed25519"), "-o", f"UserKnownHostsFile={known}",
            "-o", "GlobalKnownHostsFile=none", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]


# -- scp at either end --------------------------------------------------------------------------------

# whose scp here, whose sshd there, whose scp there
ENDS = (("ours", "ours", "ours"), ("ours", "openssh", "openssh"), ("ours", "dropbear", "openssh"), ("ours", "ours", "openssh"),
        ("openssh", "ours", "ours"), ("openssh", "openssh", "ours"), ("ours", "dropbear", "dropbear"),
        ("ours", "ours", "dropbear"), ("ours", "dropbear", "ours"), ("dropbear", "ours", "ours"),
        ("dropbear", "openssh", "ours"), ("dropbear", "ours", "dropbear"), ("dropbear-dbclient", "ours", "ours"))


@pytest.mark.parametrize(("client", "sshd", "far"), ENDS, ids=["-".join(e) for e in ENDS])
def test_trees_go_both_ways(client, sshd, far, servers, ours, theirs, source, place):
    server = servers(sshd, far)
    scp = [*client_scp(client, server, ours, theirs), "-q"]
    host = f"{server.user}@127.0.0.1"
    good([*scp, "-rp", source, f"{host}:{place}/up"])
    assert tree(place / "up") == tree(source)
    good([*scp, "-rp", f"{host}:{place}/up", place / "down"])
    assert tree(place / "down") == tree(source)
    (place / "into").mkdir(mode=0o777)
    (place / "into").chmod(0o777)
    good([*scp, "-r", source / "a", source / "plain", f"{host}:{place}/into"])
    assert contents(place / "into/a") == contents(source / "a") and (place / "into/plain").exists()
    good([*scp, f"{host}:{place}/up/large", place / "one"])
    assert sha256_file(place / "one") == sha256_file(source / "large")


def test_the_other_ends_scp_is_whose_it_should_be(servers, ours, theirs):
    for sshd in ("ours", "openssh", "dropbear"):
        for far in ("ours", "openssh", "dropbear"):
            server = servers(sshd, far)
            out = good([theirs.ssh, *options(server, "-p"), f"{server.user}@127.0.0.1",
                        'cat "$(command -v scp)" | sha256sum'])
            assert out.split()[0].decode() == sha256_file(their_scp(far, ours, theirs))


@pytest.mark.parametrize(("client", "sshd", "far"), ENDS, ids=["-".join(e) for e in ENDS])
def test_failures_are_told_and_counted(client, sshd, far, servers, ours, theirs, source, place):
    server = servers(sshd, far)
    scp = client_scp(client, server, ours, theirs)
    host = f"{server.user}@127.0.0.1"
    for case, words in (([f"{host}:{place}/none", place / "x"], "none: No such file or directory"),
                        ([f"{host}:{source}", place / "x"], "not a regular file"),
                        ([source / "plain", f"{host}:{place}/none/x"], "none/x: No such file or directory"),
                        ([source / "plain", source / "empty", f"{host}:{place}/none"], "none: No such file or directory"),
                        ([source / "plain", f"{host}:/dev/full"], "No space left on device"),
                        ([source / "none", f"{host}:{place}/x"], "none: No such file or directory")):
        code, _, err = run([*scp, *case])
        assert code == 1 and words in err, (case, code, err)
        assert not (place / "x").exists()
    (place / "there").write_text("kept")
    (place / "dir").mkdir()
    code, _, err = run([*scp, "-r", f"{host}:{place}/dir", place / "there"])
    assert code == 1 and "Not a directory" in err and (place / "there").read_text() == "kept"
    # one that cannot be read does not end the others
    (place / "part").mkdir()
    (place / "part" / "good").write_text("good")
    if far == "dropbear":       # waits at a fifo for who would write
        (place / "part" / "fifo").symlink_to("/dev/null")
    else:
        os.mkfifo(place / "part" / "fifo")
    code, _, err = run([*scp, "-r", f"{host}:{place}/part", place / "got"])
    assert code == 1 and "fifo: not a regular file" in err and (place / "got" / "good").read_text() == "good"


def test_what_the_other_shell_makes_of_a_path(servers, ours, source, place):
    server = servers("ours", "ours")
    home = server.world.account.home
    scp = [ours.scp, "-O", "-q", *options(server)]
    host = f"{server.user}@127.0.0.1"
    (home / "rcp-tilde").write_text("tilde")
    (home / "rcp with blank").write_text("blank")
    try:
        good([*scp, f"{host}:~/rcp-tilde", place])
        good([*scp, f"{host}:rcp-tilde", place / "again"])
        good([*scp, f"{host}:~/rcp\\ with\\ blank", place])
        good([*scp, f"{host}:'rcp with blank'", place / "quoted"])
        assert (place / "rcp-tilde").read_text() == (place / "again").read_text() == "tilde"
        assert (place / "rcp with blank").read_text() == (place / "quoted").read_text() == "blank"
        good([*scp, place / "rcp with blank", f"{host}:rcp\\ up"])
        assert (home / "rcp up").read_text() == "blank"
        code, _, err = run([*scp, f"{host}:rcp with blank", place / "none"])
        assert code == 1 and "splits this at its blanks" in err
        good([*scp, f"{host}:{source}/[pe][lm][ap]*", place])
        assert (place / "plain").exists() and (place / "empty").exists()
        good([*scp, f"{host}:{source}/[#-]*", place])
        assert (place / "#hash").exists() and (place / "-dash").exists()
        good([*scp, f"{host}:{place}/plain {place}/empty", place / "into"] if (place / "into").mkdir() is None else [])
        assert (place / "into/plain").exists() and (place / "into/empty").exists()
        code, _, err = run([*scp, f"{host}:$(echo {source}/plain)", place / "shell"])
        assert code == 1 and "does not match request" in err and not (place / "shell").exists()
        good([*scp, "-T", f"{host}:$(echo {source}/plain)", place / "shell"])
        assert (place / "shell").exists()
    finally:
        for name in ("rcp-tilde", "rcp with blank", "rcp up"):
            (home / name).unlink(missing_ok=True)


def test_setuid_needs_keep(servers, ours, place):
    server = servers("ours", "ours")
    scp = [ours.scp, "-O", "-q", *options(server)]
    host = f"{server.user}@127.0.0.1"
    (place / "tool").write_text("x")
    (place / "tool").chmod(0o6755)
    for extra, mode in ((["-p"], 0o6755), ([], 0o755)):
        for way in ([place / "tool", f"{host}:{place}/copy"], [f"{host}:{place}/tool", place / "copy"]):
            good([*scp, *extra, *way])
            assert stat.S_IMODE((place / "copy").stat().st_mode) == mode
            (place / "copy").unlink()


def test_from_one_server_to_another(servers, ours, source, place):
    first, second = servers("ours", "ours"), servers("openssh", "openssh")
    known = known_hosts(first, place / "known1").read_text() + known_hosts(second, place / "known2").read_text()
    (place / "known").write_text(known)
    base = [ours.scp, "-O", "-q", "-F", "none", "-i", first.world.keys.path("ed25519"), "-o", f"UserKnownHostsFile={place}/known",
            "-o", "GlobalKnownHostsFile=none", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]
    ends = [f"scp://{s.user}@127.0.0.1:{s.port}/" for s in (first, second)]
    good([*base, "-P", first.port, "-rp", source, f"{first.user}@127.0.0.1:{place}/up"])
    good([*base, "-3", "-rp", f"{ends[0]}{place}/up", f"{ends[1]}{place}/there"])
    assert tree(place / "there") == tree(source)
    good([*base, "-3", "-rp", f"{ends[1]}{place}/there", f"{ends[0]}{place}/back"])
    assert tree(place / "back") == tree(source)
    code, _, err = run([*base, "-3", f"{ends[0]}{place}/none", f"{ends[1]}{place}/x"])
    assert code == 1 and "none: No such file or directory" in err
    code, _, err = run([*base, "-3", f"{ends[0]}{source}/plain", f"{ends[1]}{place}/none/x"])
    assert code == 1 and "none/x: No such file or directory" in err


# -- other people's clients ----------------------------------------------------------------------------

def test_pscp(servers, ours, source, place):
    server = servers("ours", "ours")
    home = worlds.scratch("pscp")
    key = home / "key.ppk"
    good(["puttygen", server.world.keys.path("ed25519"), "-o", key, "-O", "private"])
    finger = good([programs.installed().keygen, "-l", "-f", "/dev/stdin"], server.host_publics[0].encode() + b"\n").split()[1]
    base = ["pscp", "-scp", "-q", "-batch", "-hostkey", finger.decode(), "-P", server.port, "-l", server.user, "-i", key]
    env = {**os.environ, "HOME": str(home), "PUTTYDIR": str(home / ".putty")}
    good([*base, "-r", "-p", source, f"127.0.0.1:{place}/up"], env=env)
    sent = contents(source)
    sent["slash"] = sent.pop("back\\slash")     # for it both are the end of a folder's name
    assert contents(place / "up") == sent
    good([*base, f"127.0.0.1:{place}/up/large", home / "back"], env=env)
    assert sha256_file(home / "back") == sha256_file(source / "large")
    good([*base, "-r", f"127.0.0.1:{place}/up/a", home / "tree"], env=env)
    assert contents(home / "tree") in (contents(source / "a"), {"a": None, **{f"a/{k}": v for k, v in contents(source / "a").items()}})
    code, _, err = run([*base, f"127.0.0.1:{place}/none", home / "x"], env=env)
    assert code == 1 and "none: No such file or directory" in err
    code, _, err = run([*base, source / "plain", f"127.0.0.1:{place}/none/x"], env=env)
    assert code == 1 and "No such file or directory" in err


def test_curl(servers, source, place):
    server = servers("ours", "ours")
    key = server.world.keys.path("ed25519")
    base = ["curl", "-sS", "-k", "--key", key, "--pubkey", f"{key}.pub"]
    url = f"scp://{server.user}@127.0.0.1:{server.port}"
    good([*base, "-T", source / "large", f"{url}{place}/large"])
    assert sha256_file(place / "large") == sha256_file(source / "large")
    good([*base, "-o", place / "back", f"{url}{place}/large"])
    assert sha256_file(place / "back") == sha256_file(source / "large")
    good([*base, "-T", source / "empty", f"{url}{place}/empty"])
    good([*base, "-o", place / "blank", f"{url}{source}/with%20blank"])
    assert sha256_file(place / "blank") == sha256_file(source / "with blank")
    assert (place / "empty").read_bytes() == b""
    code, _, _ = run([*base, f"{url}{place}/none"])
    assert code != 0
    code, _, _ = run([*base, "-T", source / "plain", f"{url}{place}/none/x"])
    assert code != 0


# -- scripted ends --------------------------------------------------------------------------------------

@pytest.fixture
def scripted(ours, place):
    """A function that runs our scp with an `ssh` that is a shell script."""
    def scp(script, *arguments, **kw):
        wrapper = place / "wrapper"
        wrapper.write_text("#!/bin/sh\nfor last; do :; done\n" + script)
        wrapper.chmod(0o755)
        return run([ours.scp, "-O", "-q", "-S", wrapper, *arguments], **kw)
    return scp


HOSTILE = (  # what the server sends for a request of place/name
    ("absolute", b"D0755 0 /{place}/evil\nC755 2 file\nX\n"), ("up", b"D0755 0 ../evil\nC755 2 file\nX\n"),
    ("dots", b"D0755 0 ..\nC755 2 file\nX\n"), ("down-and-up", b"D0755 0 name\nD0755 0 ..\nD0755 0 ..\nD0755 0 evil\n"),
    ("file-up", b"D0755 0 name\nC0755 2 ../../evil\nab\0"), ("empty", b"D0000 0 \nX\n"), ("dot", b"D0000 0 .\nX\n"),
    ("extra", b"C0755 2 evil\nab\0"), ("file-absolute", b"C0755 2 {place}/evil\nab\0"), ("nul", b"C0755 2 a\0b\nab\0"),
    ("escape", b"C0755 2 \x1b[2Jname\nab\0"), ("size", b"C0755 18446744073709551617 name\nab\0"),
    ("long", b"C0755 2 " + b"n" * 5000 + b"\nab\0"), ("text", b"\1" + b"t" * 100000), ("zeros", b"\0" * 5000),
    ("times", b"T1 0 1 0\n" * 3000 + b"D0000 0 .\n"), ("hidden", b"C0755 2 .bashrc\nab\0"))


@pytest.mark.parametrize("flags", ("", "-r", "-p", "-rp"))
@pytest.mark.parametrize(("name", "said"), HOSTILE, ids=[n for n, _ in HOSTILE])
def test_hostile_servers_gain_nothing(name, said, flags, scripted, place):
    inside = place / "in"
    inside.mkdir()
    inside.chmod(0o750)
    (place / "said").write_bytes(said.replace(b"{place}", os.fsencode(place)))
    before = {p.name for p in place.iterdir()}
    asked = "host:dir/*" if name == "hidden" else "host:dir/name"
    code, out, err = scripted(f"cat {place}/said; exec cat >/dev/null\n", *([flags] if flags else []), asked, inside)
    assert code == 1, (code, out, err)
    assert "\x1b" not in err and len(err) < 4000
    assert {p.name for p in place.iterdir()} - {"wrapper"} == before - {"wrapper"}
    assert stat.S_IMODE(inside.stat().st_mode) == 0o750
    assert {str(p.relative_to(inside)) for p in inside.rglob("*")} <= {"name"}


def test_hostile_sinks_end_the_copy(scripted, source, place):
    for said, words in ((b"\0" * 200, "answers to nothing"), (b"\0\2go away\n", "go away"), (b"\1no\n", "no"),
                        (b"bash: scp: command not found\n", "bash: scp: command not found"), (b"", "lost connection"),
                        (b"\0\1" + b"x" * 100000, "no end"), (b"\0\x1b[2J\n", "\\033[2J")):
        (place / "said").write_bytes(said)
        # the first byte is the greeting, the rest waits for the record
        script = f"head -c 1 {place}/said; head -n 1 >/dev/null; tail -c +2 {place}/said; exec cat >/dev/null\n" \
            if said[:1] == b"\0" else f"cat {place}/said\n"
        code, _, err = scripted(script, source / "plain", "host:x", timeout=20)
        assert code == 1 and words in err and "\x1b" not in err, (said, code, err)


def test_a_connection_that_is_lost_tells_what_is_left(scripted, place):
    (place / "old").write_text("something longer")
    for to, left in (("new", "it holds the first 3 of 10 bytes"), ("old", "its first 3 bytes are new, of 10")):
        code, _, err = scripted("printf 'C0644 10 name\\nNEW'\n", "host:name", place / to)
        assert code == 1 and left in err, err
    assert (place / "new").read_text() == "NEW" and (place / "old").read_text() == "NEWething longer"


def test_the_command_is_one_word_that_scp_knows(scripted, place):
    (place / "f").write_text("x")
    for arguments, command in ((["-rp", place / "f", "host:to here"], "scp -r -p -t to here"),
                               ([place / "f", place / "f", "host:"], "scp -d -t ."), (["host:-x", place / "y"], "scp -f -- -x"),
                               (["host:~u/a\\ b", place / "y"], "scp -f ~u/a\\ b")):
        scripted(f"printf '%s' \"$last\" > {place}/command\n", *arguments)
        assert (place / "command").read_text() == command


def test_links_in_the_target_are_not_followed(scripted, place):
    (place / "outside").mkdir()
    (place / "outside" / "file").write_text("mine")
    (place / "in" / "tree").mkdir(parents=True)
    (place / "in" / "tree" / "dir").symlink_to(place / "outside")
    (place / "in" / "tree" / "link").symlink_to(place / "outside" / "file")
    (place / "said").write_bytes(b"D0755 0 tree\nD0755 0 dir\nC0644 3 link\nC0644 3 plain\nNEW\0E\n")
    code, _, err = scripted(f"cat {place}/said; exec cat >/dev/null\n", "-r", "host:tree", place / "in")
    assert code == 1 and "tree/dir: " in err and "tree/link: " in err
    assert (place / "outside" / "file").read_text() == "mine" and list((place / "outside").iterdir()) == [place / "outside/file"]
    assert (place / "in/tree/plain").read_text() == "NEW"


def test_server_side_is_silent_and_exact(ours, place):
    """scp -t and -f as any client starts them."""
    code, out, err = run([ours.scp, "-t", place], b"C0644 5 f\nhello\0C0644 1 ../g\nx\0")
    assert (code, err) == (1, "") and out == b"\0\0\0\2scp: error: unexpected filename: ../g\n"
    assert (place / "f").read_text() == "hello"
    code, out, err = run([ours.scp, "-f", place / "f"], b"")
    assert (code, out, err) == (1, b"", "")
    code, out, err = run([ours.scp, "-t", place, place])
    assert code == 1 and out == b"\1scp: ambiguous target\n"
    code, out, err = run([ours.scp, "-t", "-d", place / "f"], b"C0644 1 x\nx\0")
    assert code == 1 and out == b"\1scp: " + os.fsencode(place) + b"/f: Not a directory\n"
    # a simple client that sends all its answers ahead
    command = shlex.join(str(c) for c in (ours.scp, "-f", place / "f"))
    code, out, _ = run(["sh", "-c", f"(printf '\\0\\0\\0'; sleep 1) | {command}"])
    assert code == 0 and out == b"C0644 5 f\nhello\0"

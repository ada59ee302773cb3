# SPDX-License-Identifier: ISC
"""What scp and sftp stand on: a login of our own or a child, and the file system behind it (tests/probe)."""
import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from harness import link
from harness import server as servers
from harness import world as ground
from harness.client import feed
from harness.programs import TOP, for_everyone
from harness.server import Sshd


@pytest.fixture(scope="module")
def probe():
    where = Path(os.environ.get("BOWLINE_BIN") or "build")
    where = where if where.is_absolute() else TOP / where
    path = where / "tests/probe/remote_probe"
    if not path.is_file():
        pytest.skip(f"no remote_probe in {where}: only a build directory has it")
    return str(path)


@pytest.fixture(scope="module", params=["openssh", "bowline"])
def programs(request, ours, theirs):
    return theirs if request.param == "openssh" else ours


@pytest.fixture(scope="module")
def server(world, programs):
    options = [f"Subsystem sftp {programs.sftp_server}", "AcceptEnv PROBE_*"]
    with Sshd(world, programs, options).start() as s:
        yield s


@pytest.fixture(scope="module")
def tree(server):
    top = ground.scratch("tree")
    for name, size in (("one", 1), ("two", 22), ("with blank", 333)):
        (top / name).write_bytes(b"x" * size)
        (top / name).chmod(0o644)
    (top / "d").mkdir(mode=0o755)
    return top


def options(server, *more, prefix=()):
    known = servers.known_hosts(server, ground.scratch("probe") / "known_hosts")
    words = ["-F", "none", "-P", str(server.port), "-i", str(server.world.keys.path("ed25519"))]
    for option in ("GlobalKnownHostsFile=none", "IdentitiesOnly=yes", "BatchMode=yes", f"UserKnownHostsFile={known}",
                   "StrictHostKeyChecking=yes", *more):
        words += ["-o", option]
    return words


def run(probe, server, *words, more=(), before=(), env=None):
    return feed([probe, *options(server, *more), *before, f"{server.user}@{server.host}", *map(str, words)], None, 60,
                env)


LISTING = [". ", ".. ", "d ", "one 1", "two 22", "with blank 333"]


def check_listing(out):
    lines = out.decode().splitlines()
    assert len(lines) == len(LISTING)
    assert all(a.startswith(b) for a, b in zip(lines, LISTING)), lines


def test_in_process(probe, server, tree):
    status, out, err = run(probe, server, "ls", tree)
    assert (status, err) == (0, ""), err
    check_listing(out)
    assert run(probe, server, "stat", tree / "two") == (0, b"22\n", "")
    assert run(probe, server, "glob", f"{tree}/*o*") == (0, f"{tree}/one\n{tree}/two\n".encode(), "")
    status, out, err = run(probe, server, "stat", tree / "none")
    assert (status, out) == (1, b"") and err == f"probe: {tree}/none: No such file or directory\n"


def test_two_logins_in_one_loop(probe, server, tree):
    there = f"{server.user}@{server.host}"
    done = feed([probe, *options(server), there, there, "both", str(tree / "two")], None, 60)
    assert done == (0, b"22\n22\n", "")


def test_command_and_its_status(probe, server):
    status, out, err = run(probe, server, "exec", "echo out; echo err >&2; exit 7")
    assert (status, out, err) == (7, b"out\n", "err\n")
    status, out, err = run(probe, server, "exec", "echo $PROBE_A $PROBE_B", more=["SendEnv=PROBE_A", "SetEnv=PROBE_B=b"],
                           env={"PROBE_A": "a"})
    assert (status, out, err) == (0, b"a b\n", "")
    status, out, err = run(probe, server, "exec", "kill -9 $$")
    assert status == 255 or "signal KILL" in err, (status, err)


def test_own_ssh_program(probe, server, tree, theirs):
    status, out, err = run(probe, server, "ls", tree, before=["-S", theirs.ssh])
    assert status == 0, err
    check_listing(out)
    status, out, err = run(probe, server, "exec", "exit 9", before=["-S", theirs.ssh])
    assert status == 9, err


def test_words_for_the_ssh_program(probe, server):
    seen = ground.scratch("words")
    wrapper = seen / "ssh"
    wrapper.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{seen}/words\nexit 3\n')
    wrapper.chmod(0o755)
    status, _, err = feed([probe, "-S", str(wrapper), "-C", "-oUser=x", "ssh://me@host:22000", "ls", "."], None, 30)
    assert status == 1 and "Connection closed" in err, err
    words = (seen / "words").read_text().splitlines()
    assert words[:2] == ["-p", "22000"]
    assert "-C" in words and "-oControlMaster=no" in words and "-oForwardAgent=no" in words
    assert words[-6:] == ["-l", "me", "-s", "--", "host", "sftp"]
    status, _, err = feed([probe, "-S", str(seen / "none"), "host", "ls", "."], None, 30)
    assert status == 1 and "No such file or directory" in err, err


def test_own_server_program(probe, tree, programs):
    for line in (programs.sftp_server, f"{programs.sftp_server} -l ERROR -f AUTH"):
        status, out, err = feed([probe, "-D", line, "ls", str(tree)], None, 30)
        assert status == 0, err
        check_listing(out)
    status, _, err = feed([probe, "-D", "/nonexistent/server", "ls", "."], None, 30)
    assert status == 1 and "/nonexistent/server: No such file or directory" in err


def test_no_subsystem_is_said(probe, world, programs):
    with Sshd(world, programs, name="nosub").start() as s:
        status, out, err = run(probe, s, "ls", ".")
    assert (status, out) == (1, b"")
    assert "subsystem request failed on channel 0" in err and "no sftp subsystem" in err, err


def test_login_scripts_that_print_are_named(probe, world, programs):
    with Sshd(world, programs, ["Subsystem sftp echo Welcome to this machine; cat"], name="noisy").start() as s:
        status, out, err = run(probe, s, "ls", ".")
    assert (status, out) == (1, b"")
    assert "Received message too long 1466264675" in err and "print text, beginning with: Welcome to this" in err, err


def test_lost_connection_is_told(probe, server):
    status, out, err = run(probe, server, "exec", "kill -9 $PPID; sleep 5")
    assert status == 255 and err != "", (status, err)


def test_silent_server_is_given_up(probe, server):
    begin = time.monotonic()
    stop = "(sleep 12; kill -CONT $PPID) >/dev/null 2>&1 & kill -STOP $PPID"
    status, out, err = run(probe, server, "exec", stop, more=["ServerAliveInterval=1", "ServerAliveCountMax=1"])
    assert status == 255 and "Timeout, server 127.0.0.1 not responding." in err, (status, err)
    assert time.monotonic() - begin < 10


def test_new_keys_while_much_is_under_way(probe, server, tree):
    big = tree.parent / f"big-{server.programs.name}"
    big.write_bytes(os.urandom(1 << 20) * 16)
    big.chmod(0o644)
    status, out, err = run(probe, server, "pull", big, more=["RekeyLimit=1M"])
    assert status == 0 and out.startswith(b"16777216 bytes"), (status, out, err)
    big.unlink()


def test_refused_login_is_told(probe, server):
    status, out, err = run(probe, server, "ls", ".", more=["PubkeyAuthentication=no"])
    assert status == 1 and "Permission denied" in err, err


def test_large_directory_over_a_long_path(probe, world, ours):
    """10,000 entries at 50 ms: 100 answers of 100 entries each, not one round trip each."""
    why = link.why_not()
    if why:
        pytest.skip(why)
    top = ground.scratch("many")
    for i in range(10000):
        os.close(os.open(top / f"file{i:05d}", os.O_CREAT | os.O_WRONLY, 0o644))

    def seconds(s, path):
        begin = time.monotonic()
        command = [*s.link.prefix("client"), probe, *options(s), f"{s.user}@{s.host}", "ls", path]
        status, out, err = feed(command, None, 60)
        assert status == 0, err
        return time.monotonic() - begin, out.count(b"\n")

    with link.Link(50) as path, Sshd(world, ours, [f"Subsystem sftp {ours.sftp_server}"], link=path).start() as s:
        few, n = seconds(s, ".")
        many, n = min(seconds(s, str(top)) for _ in range(3))
    assert n == 10002
    assert many - few < 1.0, f"{many - few:.2f} s more than for a small one"

# SPDX-License-Identifier: ISC
"""ExposeAuthInfo: the file that SSH_USER_AUTH names, of our sshd as of OpenSSH's."""
import os
import pwd
import re
import subprocess

import pytest

from harness import server as servers
from harness import world as ground
from harness.server import Sshd

SHOW = 'echo "$SSH_USER_AUTH"; stat -c "%a %U" "$SSH_USER_AUTH"; cat "$SSH_USER_AUTH"'
KEYS = "ed25519", "ecdsa-256"


@pytest.fixture
def sshd(world, ours):
    started = []

    def start(*options, programs=ours, edit=lambda text: text):
        server = Sshd(world, programs, options)
        server.config.write_text(edit(server.config.read_text()))
        started.append(server.start())
        return server
    yield start
    for server in started:
        server.stop()


@pytest.fixture(params=["ours", "theirs"])
def side(request, ours, theirs):
    return {"ours": ours, "theirs": theirs}[request.param]


def command(programs, server, *words, keys=("ed25519",), options=()):
    known = servers.known_hosts(server, ground.scratch("login") / "known_hosts")
    line = [programs.ssh, "-F", "none", "-p", str(server.port), "-l", server.user]
    for kind in keys:
        line += ["-i", str(server.world.keys.path(kind) if isinstance(kind, str) else kind)]
    for option in ("IdentitiesOnly=yes", f"UserKnownHostsFile={known}", "GlobalKnownHostsFile=none", *options):
        line += ["-o", option]
    return [*line, server.host, *words]


def run(programs, server, *words, password=None, **more):
    env = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
    line = command(programs, server, *words, **more)
    if password is None:
        line[1:1] = ["-o", "BatchMode=yes"]
    else:
        ask = ground.scratch("ask") / "askpass"
        ask.write_text(f"#!/bin/sh\necho '{password}'\n")
        ask.chmod(0o700)
        env |= {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env={**env, "SSH_USER_AUTH": "/of/the/client"})
    return done.stdout, done.stderr + server.log()


def shown(out, server):
    """The lines of the file; what is known of it holds."""
    path, owner, *lines = out.splitlines()
    assert re.fullmatch(r"/tmp/sshauth\.\w{15}", path)
    assert owner == f"600 {server.user}"
    assert ground.wait_until(lambda: not os.path.exists(path))
    return lines


def key_line(server, kind):
    return "publickey " + " ".join(server.world.keys.public(kind).split()[:2])


def test_a_key_is_told_as_a_line(sshd, side, ours):
    server = sshd("ExposeAuthInfo yes", programs=side)
    out, said = run(ours, server, SHOW)
    assert out, said
    assert shown(out, server) == [key_line(server, "ed25519")]


def test_each_method_has_its_line_in_order(sshd, side, ours):
    server = sshd("ExposeAuthInfo yes", "AuthenticationMethods publickey,publickey", programs=side)
    out, said = run(ours, server, SHOW, keys=KEYS)
    assert out, said
    assert shown(out, server) == [key_line(server, kind) for kind in KEYS]


@pytest.mark.parametrize("method, line", [("password", "password"),
                                          ("keyboard-interactive", "keyboard-interactive/pam")])
def test_passwords_are_told_without_what_they_are(sshd, ours, world, method, line):
    if world.account.password is None:
        pytest.skip(world.account.why_no_password)
    server = sshd("ExposeAuthInfo yes", f"AuthenticationMethods publickey,{method}",
                  edit=lambda text: text.replace("KbdInteractiveAuthentication no", "KbdInteractiveAuthentication yes"))
    out, said = run(ours, server, SHOW, password=world.account.password)
    assert out, said
    assert shown(out, server) == [key_line(server, "ed25519"), line]


def test_a_certificate_is_told_whole(sshd, side, ours, theirs):
    folder = ground.scratch("cert")
    for name in ("ca", "key"):
        subprocess.run([theirs.keygen, "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    server = sshd("ExposeAuthInfo yes", f"TrustedUserCAKeys {folder}/ca.pub", programs=side)
    subprocess.run([theirs.keygen, "-q", "-s", folder / "ca", "-I", "who", "-n", server.user, folder / "key.pub"],
                   check=True)
    out, said = run(ours, server, SHOW, keys=(folder / "key",))
    assert out, said
    cert = (folder / "key-cert.pub").read_text().split()
    assert shown(out, server) == [f"publickey {cert[0]} {cert[1]}"]


def test_a_failed_try_is_no_line(sshd, ours, theirs):
    folder = ground.scratch("wrong")
    subprocess.run([theirs.keygen, "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
    server = sshd("ExposeAuthInfo yes")
    out, said = run(ours, server, SHOW, keys=(folder / "key", "ed25519"))
    assert out, said
    assert server.log().count("Failed publickey") == 1
    assert shown(out, server) == [key_line(server, "ed25519")]


@pytest.mark.parametrize("options", [(), ("ExposeAuthInfo no",), ("Match User nobody-at-all", "ExposeAuthInfo yes")])
def test_only_who_asks_is_told(sshd, ours, options):
    server = sshd(*options)
    out, said = run(ours, server, "echo ${SSH_USER_AUTH-nothing}")
    assert out == "nothing\n", said


def test_the_client_cannot_name_another_file(sshd, side, ours):
    server = sshd("ExposeAuthInfo yes", "AcceptEnv SSH_*", programs=side)
    out, said = run(ours, server, "echo $SSH_USER_AUTH", options=("SendEnv=SSH_USER_AUTH",))
    assert out.startswith("/tmp/sshauth."), said


def test_the_file_goes_with_a_session_that_is_killed(sshd, ours):
    server = sshd("ExposeAuthInfo yes")
    with subprocess.Popen(command(ours, server, "echo $SSH_USER_AUTH; read go; kill -9 $PPID; sleep 60"),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        path = client.stdout.readline().strip()
        assert os.path.exists(path)
        client.stdin.write("go\n")
        client.stdin.flush()
        assert client.wait(30) == 255
    assert ground.wait_until(lambda: not os.path.exists(path)), server.log()


def test_what_the_user_puts_there_instead_is_not_followed(sshd, ours):
    server = sshd("ExposeAuthInfo yes")
    target = ground.scratch("target")
    os.chown(target, pwd.getpwnam(server.user).pw_uid, -1)
    (target / "file").write_text("stays")
    out, said = run(ours, server, f"rm $SSH_USER_AUTH; ln -s {target}/file $SSH_USER_AUTH; echo $SSH_USER_AUTH")
    assert ground.wait_until(lambda: not os.path.lexists(out.strip())), said
    assert (target / "file").read_text() == "stays"

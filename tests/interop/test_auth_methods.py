# SPDX-License-Identifier: ISC
"""AuthenticationMethods, RevokedKeys and RevokedHostKeys: our sshd and ssh against OpenSSH and Paramiko."""
import os
import re
import subprocess

import paramiko
import pytest

from harness import server as servers
from harness import world as ground
from harness.server import Sshd

ENTERED = "Accepted (?:publickey|password) for "
PASSWORD = pytest.mark.usefixtures("account")


@pytest.fixture
def account(world):
    if world.account.password is None:
        pytest.skip(world.account.why_no_password)
    return world.account


@pytest.fixture
def sshd(world, ours):
    started = []

    def start(*options, programs=ours):
        server = Sshd(world, programs, options)
        text = server.config.read_text()
        if world.account.password and programs is ours:
            text = text.replace("KbdInteractiveAuthentication no", "KbdInteractiveAuthentication yes")
        server.config.write_text(text)
        started.append(server.start())
        return server
    yield start
    for server in started:
        server.stop()


def login(programs, server, keys=("ed25519",), options=(), password=None):
    """(logged in?, what ssh said)"""
    folder = ground.scratch("login")
    known = servers.known_hosts(server, folder / "known_hosts")
    env = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
    command = [programs.ssh, "-F", "none", "-v", "-p", str(server.port), "-l", server.user, "-o", "IdentitiesOnly=yes",
               "-o", f"UserKnownHostsFile={known}", "-o", "GlobalKnownHostsFile=none", "-o", "StrictHostKeyChecking=yes"]
    for kind in keys:
        command += ["-i", str(kind) if "/" in str(kind) else str(server.world.keys.path(kind))]
    for option in options:
        command += ["-o", option]
    if password is None:
        command += ["-o", "BatchMode=yes"]
    else:
        ask = folder / "askpass"
        ask.write_text(f"#!/bin/sh\necho '{password}'\n")
        ask.chmod(0o700)
        env |= {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
        command += ["-o", "NumberOfPasswordPrompts=1"]
    done = subprocess.run([*command, server.host, "echo in"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, env=env)
    return done.stdout == "in\n" and done.returncode == 0, done.stderr


@pytest.fixture(params=["ours", "theirs"])
def client(request, ours, theirs):
    return {"ours": ours, "theirs": theirs}[request.param]


# -- AuthenticationMethods

def test_two_keys_are_two_keys(sshd, client):
    server = sshd("AuthenticationMethods publickey,publickey")
    assert not login(client, server)[0]
    assert not login(client, server, ("ed25519", "ed25519"))[0]
    ok, said = login(client, server, ("ed25519", "ecdsa-256"))
    assert ok, said
    log = server.log()
    assert "Partial publickey for " in log and "Accepted publickey for " in log


@PASSWORD
@pytest.mark.parametrize("methods, keys, password, goes", [
    ("publickey,password", ("ed25519",), True, True),
    ("publickey,password", (), True, False),
    ("publickey,password", ("ed25519",), False, False),
    ("password,publickey", ("ed25519",), True, True),
    ("publickey,keyboard-interactive", ("ed25519",), True, True),
    ("publickey,keyboard-interactive:pam", ("ed25519",), True, True),
    ("publickey,keyboard-interactive:bsdauth", ("ed25519",), True, False),
    ("publickey,password publickey,publickey", ("ed25519", "ecdsa-256"), False, True),
    ("publickey,hostbased password", ("ed25519",), True, True),
    ("publickey,hostbased password", ("ed25519",), False, False),
    ("publickey,publickey,password", ("ed25519", "rsa-2048"), True, True),
    ("none", ("ed25519",), True, False),
    ("any", ("ed25519",), False, True),
])
def test_all_methods_of_a_list_are_needed(sshd, client, account, methods, keys, password, goes):
    server = sshd(f"AuthenticationMethods {methods}")
    ok, said = login(client, server, keys, password=account.password if password else None)
    assert ok == goes, said + server.log()


@PASSWORD
def test_a_wrong_second_proof_is_no_proof(sshd, client):
    server = sshd("AuthenticationMethods publickey,password")
    ok, said = login(client, server, password="wrong")
    assert not ok and "Partial publickey" in server.log()
    assert "Authenticated using \"publickey\" with partial success." in said


def test_match_has_its_own_lists(sshd, client, world):
    user = world.account.user
    server = sshd("AuthenticationMethods none", f"Match User {user}", "AuthenticationMethods publickey,publickey")
    assert not login(client, server)[0]
    assert login(client, server, ("ed25519", "ecdsa-256"))[0]
    server = sshd("AuthenticationMethods publickey,publickey", f"Match User {user}", "AuthenticationMethods any")
    assert login(client, server)[0]


@PASSWORD
def test_the_limits_of_every_key_hold(sshd, client, world, account):
    """What the first key forbids, the password behind it does not bring back."""
    server = sshd("AuthenticationMethods publickey,password publickey,publickey")
    authorized = server.dir / "authorized_keys"
    authorized.write_text(f'command="echo forced" {world.keys.public("ed25519")}\n{world.keys.public("ecdsa-256")}\n')
    for keys, password in ((("ed25519",), account.password), (("ecdsa-256", "ed25519"), None)):
        assert not login(client, server, keys, password=password)[0]
    assert len(re.findall(ENTERED, server.log())) == 2
    authorized.write_text(f'command="echo a" {world.keys.public("ed25519")}\n'
                          f'command="echo b" {world.keys.public("ecdsa-256")}\n')
    assert not login(client, server, ("ecdsa-256", "ed25519"))[0]
    assert "have different forced commands" in server.log()
    assert len(re.findall(ENTERED, server.log())) == 2


@PASSWORD
def test_paramiko_is_told_what_is_left(sshd, world, account):
    server = sshd("AuthenticationMethods publickey,password")
    key = paramiko.ECDSAKey.from_private_key_file(str(world.keys.path("ecdsa-256")))
    with paramiko.Transport((server.host, server.port)) as t:
        t.start_client(timeout=20)
        with pytest.raises(paramiko.BadAuthenticationType) as no:
            t.auth_password(server.user, account.password, fallback=False)
        assert no.value.allowed_types == ["publickey"]
        assert t.auth_publickey(server.user, key) == ["password"]
        assert not t.is_authenticated()
        with pytest.raises(paramiko.BadAuthenticationType) as no:
            t.auth_publickey(server.user, key)
        assert no.value.allowed_types == ["password"]
        assert t.auth_password(server.user, account.password, fallback=False) == []
        assert t.is_authenticated()


# sshd keeps a copy of its words until the end, for its title: that is no leak
KEEPS_WORDS = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


@pytest.mark.parametrize("lines, said", [
    (["AuthenticationMethods publickey,smoke"], "invalid AuthenticationMethods list"),
    (["AuthenticationMethods publickey,,publickey"], "invalid AuthenticationMethods list"),
    (["AuthenticationMethods any publickey"], "must stand alone"),
    (["AuthenticationMethods publickey,hostbased"], "cannot be satisfied"),
    (["PasswordAuthentication no", "AuthenticationMethods password"], "cannot be satisfied"),
])
def test_lists_that_nobody_can_fulfil_are_errors(ours, world, lines, said):
    config = ground.scratch("conf") / "config"
    key = world.keys.path("ed25519", "host")
    key.chmod(0o600)
    config.write_text("\n".join([f"HostKey {key}", *lines]) + "\n")
    done = subprocess.run([ours.sshd, "-t", "-f", config], capture_output=True, text=True, timeout=30, env=KEEPS_WORDS)
    assert done.returncode == 255 and said in done.stderr


def test_the_dump_shows_the_lists(ours, theirs, world):
    config = ground.scratch("conf") / "config"
    key = world.keys.path("ed25519", "host")
    key.chmod(0o600)
    for line in ("", "AuthenticationMethods publickey,password publickey,publickey", "RevokedKeys /etc/revoked"):
        config.write_text(f"HostKey {key}\n{line}\n")
        got = [[row for row in subprocess.run([p.sshd, "-T", "-f", config], capture_output=True, text=True, timeout=30, env=KEEPS_WORDS)
                .stdout.splitlines() if row.startswith(("authenticationmethods", "revokedkeys"))] for p in (ours, theirs)]
        assert sorted(got[0]) == sorted(got[1]) and len(got[0]) == 2


# -- RevokedKeys and RevokedHostKeys

def revoke(programs, path, *keys, ca=None):
    command = [programs.keygen, "-q", "-k", "-f", path, *(["-s", ca] if ca else []), *keys]
    subprocess.run(command, check=True, timeout=30, stdin=subprocess.DEVNULL)
    path.chmod(0o644)
    return path


def public(world, kind, use="user"):
    return str(world.keys.path(kind, use)) + ".pub"


@pytest.fixture(params=["krl by ours", "krl by theirs", "list", "sha1", "fingerprint"])
def revoked(request, world, ours, theirs):
    """Makes a list that revokes one key, in each of the forms."""
    def make(key):
        path, spec = (ground.scratch("revoked") / name for name in ("list", "spec"))
        if request.param == "list":
            path.write_text("# revoked\n" + open(key).read())
            path.chmod(0o644)
            return path
        if request.param.startswith("krl"):
            return revoke(ours if request.param.endswith("ours") else theirs, path, key)
        text = open(key).read()
        if request.param == "fingerprint":
            text = subprocess.run([theirs.keygen, "-lf", key], capture_output=True, text=True, check=True).stdout.split()[1]
        spec.write_text(f"{'hash' if request.param == 'fingerprint' else request.param}: {text}\n")
        return revoke(ours, path, spec)
    return make


def test_a_revoked_key_lets_nobody_in(sshd, client, world, revoked):
    server = sshd(f"RevokedKeys {revoked(public(world, 'ed25519'))}")
    ok, said = login(client, server)
    assert not ok and "Permission denied" in said
    assert "Authentication key ED25519 SHA256:" in server.log() and "revoked by file" in server.log()
    assert login(client, server, ("ecdsa-256",))[0]


def test_several_lists_count_all(sshd, client, world, ours):
    folder = ground.scratch("revoked")
    one = revoke(ours, folder / "one", public(world, "ed25519"))
    two = revoke(ours, folder / "two", public(world, "rsa-2048"))
    server = sshd(f"RevokedKeys {one} {two}")
    assert not login(client, server)[0] and not login(client, server, ("rsa-2048",))[0]
    assert login(client, server, ("ecdsa-256",))[0]


@pytest.mark.parametrize("damage", ["missing", "cut", "no key", "folder"])
def test_a_list_that_cannot_be_read_lets_no_key_in(sshd, client, world, ours, damage):
    path = revoke(ours, ground.scratch("revoked") / "list", public(world, "rsa-2048"))
    server = sshd(f"RevokedKeys {path}")
    assert login(client, server)[0]
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-3])
    elif damage == "no key":
        path.write_text("ssh-ed25519 AAAA broken\n")
    else:
        path.unlink()
    if damage == "folder":
        path.mkdir()
    ok, said = login(client, server)
    assert not ok and "Permission denied" in said
    assert f"in revoked keys file {path}: " in server.log()


def test_a_revoked_host_key_is_refused(sshd, client, world, ours, revoked):
    server = sshd()
    path = revoked(public(world, "ed25519", "host"))
    ok, said = login(client, server, options=[f"RevokedHostKeys={path}"])
    assert not ok and f"revoked by file {path}" in said
    path = revoked(public(world, "rsa-2048"))
    assert login(client, server, options=[f"RevokedHostKeys={path}"])[0]


def test_a_list_that_cannot_be_read_refuses_every_host(sshd, ours, world):
    server = sshd()
    path = revoke(ours, ground.scratch("revoked") / "list", public(world, "rsa-2048"))
    assert login(ours, server, options=[f"RevokedHostKeys={path}"])[0]
    path.write_bytes(path.read_bytes()[:-1])
    ok, said = login(ours, server, options=[f"RevokedHostKeys={path}"])
    assert not ok and "Host key verification failed" in said and "in revoked keys file" in said
    path.unlink()
    ok, said = login(ours, server, options=[f"RevokedHostKeys={path}"])
    assert not ok and "No such file" in said

# SPDX-License-Identifier: ISC
"""ssh-mldsa44-ed25519@openssh.com between our programs.

No program of Debian 12 knows this type; that we agree with OpenSSH 10.5 is what the recorded keys and
signatures of the vector tests say.
"""
import subprocess

import pytest

from harness import world as ground
from harness.client import Ssh, feed
from harness.server import Sshd

NAME = "ssh-mldsa44-ed25519@openssh.com"
ALLOW = [f"PubkeyAcceptedAlgorithms=+{NAME}", f"HostKeyAlgorithms={NAME}"]


def keygen(ours, *args, **more):
    return subprocess.run([ours.keygen, *map(str, args)], capture_output=True, text=True, timeout=30,
                          stdin=subprocess.DEVNULL, **more)


def make(ours, path, kind="mldsa44-ed25519", phrase=""):
    done = keygen(ours, "-q", "-t", kind, "-N", phrase, "-C", "one of two halves", "-f", path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def keys(ours):
    folder = ground.scratch("mldsa")
    folder.chmod(0o755)
    return {use: make(ours, folder / use) for use in ("host", "user", "other")}


def public(path):
    return (path.parent / (path.name + ".pub")).read_text().strip()


@pytest.fixture
def sshd(world, ours, keys):
    started = []

    def start(*options, host="host", kinds=()):
        lines = [*options, *([f"HostKey {keys[host]}"] if host else [])]
        s = Sshd(world, ours, lines, host_kinds=kinds)
        s.host_publics += [public(keys[host])] if host else []
        authorized = s.dir / "authorized_keys"
        authorized.write_text(authorized.read_text() + public(keys["user"]) + "\n")
        started.append(s)
        return s.start()
    yield start
    for s in started:
        s.stop()


def ssh(world, ours, server, key, options=(), remote="echo in"):
    command, log, _ = Ssh(world, ours).command(server, options)
    command[command.index("-i") + 1] = str(key)
    code, out, err = feed([*command, remote], None, 30)
    return code, out, err + log.read_text(errors="replace")


@pytest.mark.parametrize("rekey", ("default none", "64K"))
def test_login_with_it_as_host_and_user_key(sshd, world, ours, keys, rekey):
    """Later exchanges are signed by the monitor."""
    server = sshd(f"PubkeyAcceptedAlgorithms +{NAME}", f"HostKeyAlgorithms {NAME}", f"RekeyLimit {rekey}")
    code, out, text = ssh(world, ours, server, keys["user"], ALLOW, "head -c 1000000 /dev/zero; echo in")
    assert code == 0 and out == bytes(1000000) + b"in\n", text
    assert (text.count("SSH2_MSG_NEWKEYS sent") > 1) == (rekey == "64K"), text
    shown = keygen(ours, "-l", "-f", keys["user"]).stdout.split()[1]
    assert f"MLDSA44-ED25519 {shown}" in server.log()
    assert f"host key algorithm: {NAME}" in text


def test_another_key_of_the_type_opens_nothing(sshd, world, ours, keys):
    server = sshd(f"PubkeyAcceptedAlgorithms +{NAME}", f"HostKeyAlgorithms {NAME}")
    code, out, text = ssh(world, ours, server, keys["other"], ALLOW)
    assert code == 255 and out == b"" and "Permission denied" in text


def test_a_changed_host_key_is_noticed(sshd, world, ours, keys):
    server = sshd(f"PubkeyAcceptedAlgorithms +{NAME}", f"HostKeyAlgorithms {NAME}")
    server.host_publics = [public(keys["other"])]
    code, _, text = ssh(world, ours, server, keys["user"], ALLOW)
    assert code == 255 and "REMOTE HOST IDENTIFICATION HAS CHANGED" in text and "MLDSA44-ED25519" in text


def test_nobody_uses_it_unasked(sshd, world, ours, keys):
    server = sshd(kinds=("ed25519",))
    code, _, text = ssh(world, ours, server, keys["user"])
    assert code == 255 and "host key algorithm: ssh-ed25519" in text
    code, _, text = ssh(world, ours, server, keys["user"], [f"PubkeyAcceptedAlgorithms=+{NAME}"])
    assert code == 255 and "Permission denied" in text
    code, _, text = ssh(world, ours, server, keys["user"], [f"HostKeyAlgorithms={NAME}"])
    assert code == 255 and "no matching host key type found" in text


def test_a_passphrase_is_asked_for(sshd, world, ours, keys, tmp_path):
    server = sshd(f"PubkeyAcceptedAlgorithms +{NAME}", kinds=("ed25519",))
    locked = tmp_path / "locked"
    locked.write_bytes(keys["user"].read_bytes())
    locked.chmod(0o600)
    assert keygen(ours, "-p", "-N", "secret", "-f", locked).returncode == 0
    assert b"aes256-ctr" not in keys["user"].read_bytes() != locked.read_bytes()
    ask = tmp_path / "ask"
    ask.write_text("#!/bin/sh\necho secret\n")
    ask.chmod(0o700)
    command, log, _ = Ssh(world, ours).command(server, ["BatchMode=no", ALLOW[0]])
    command[command.index("-i") + 1] = str(locked)
    env = {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    code, out, err = feed([*command, "echo in"], None, 30, env)
    assert code == 0 and out == b"in\n", err + log.read_text()


@pytest.mark.parametrize("kind", ("mldsa44-ed25519", "MLDSA44-ED25519", NAME))
def test_keygen_knows_all_its_names(ours, tmp_path, kind):
    key = make(ours, tmp_path / "k", kind)
    words = public(key).split(" ", 2)
    assert words[0] == NAME and len(words[1]) == 4 * ((4 + len(NAME) + 4 + 1344 + 2) // 3)
    assert keygen(ours, "-y", "-f", key).stdout.split()[:2] == words[:2]
    shown = keygen(ours, "-l", "-f", key).stdout
    assert shown.startswith("256 SHA256:") and shown.endswith(" one of two halves (MLDSA44-ED25519)\n")
    exported = keygen(ours, "-e", "-f", key).stdout
    (tmp_path / "rfc").write_text(exported)
    assert keygen(ours, "-i", "-f", tmp_path / "rfc").stdout.split()[:2] == words[:2]


def test_no_dns_record_is_made_up_for_it(ours, keys):
    done = keygen(ours, "-r", "host.example", "-f", f"{keys['user']}.pub")
    assert done.returncode == 255 and done.stdout == "" and "no SSHFP number" in done.stderr


def test_default_files(ours, tmp_path):
    """The last of the identities; the last host key, which is not missed where it is not there."""
    shown = subprocess.run([ours.ssh, "-G", "-F", "none", "host"], capture_output=True, text=True, timeout=20).stdout
    files = [line.split()[1] for line in shown.splitlines() if line.startswith("identityfile ")]
    assert files == [f"~/.ssh/id_{k}" for k in ("rsa", "ecdsa", "ecdsa_sk", "ed25519", "ed25519_sk", "mldsa44_ed25519")]
    (tmp_path / "etc/ssh").mkdir(parents=True)
    done = keygen(ours, "-A", "-f", tmp_path)
    assert done.stdout == "ssh-keygen: generating new host keys: RSA ECDSA ED25519 MLDSA44-ED25519 \n"
    assert keygen(ours, "-l", "-f", tmp_path / "etc/ssh/ssh_host_mldsa44_ed25519_key").returncode == 0

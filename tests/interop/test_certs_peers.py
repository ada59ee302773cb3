# SPDX-License-Identifier: ISC
"""Certificates with AsyncSSH and Paramiko, which have codecs of their own: ours read by them, theirs by us."""
import subprocess
import time
import warnings

import pytest

from harness import programs

OURS = programs.under_test().keygen
TYPES = [("ed25519", "ssh-ed25519"), ("ecdsa", "ecdsa-sha2-nistp256"), ("rsa", "ssh-rsa")]
USER, HOST = 1, 2


def good(*args, cwd):
    done = subprocess.run([OURS, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=60,
                          start_new_session=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def asyncssh():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("asyncssh")


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    top = tmp_path_factory.mktemp("keys")
    for kind, _ in TYPES:
        for role in ("ca", "key"):
            size = ["-b", "2048"] if kind == "rsa" else []
            good("-q", "-t", kind, *size, "-N", "", "-C", role, "-f", f"{role}_{kind}", cwd=top)
    return top


@pytest.mark.parametrize("ca", [kind for kind, _ in TYPES])
@pytest.mark.parametrize("kind,name", TYPES)
def test_ours_is_read_by_asyncssh(keys, asyncssh, ca, kind, name):
    path = keys / f"key_{kind}-cert.pub"
    good("-q", "-s", f"ca_{ca}", "-I", "the id", "-n", "one,two", "-z", "77", "-V", "-5m:+1h", "-O", "no-pty",
         "-O", "force-command=ls -l", "-O", "source-address=10.0.0.0/8,2001:db8::/32", f"key_{kind}.pub", cwd=keys)
    cert = asyncssh.read_certificate(str(path))
    assert cert.algorithm.decode() == f"{name}-cert-v01@openssh.com"
    assert cert.principals == ["one", "two"]
    cert.validate(USER, "two")
    with pytest.raises(ValueError, match="principal"):
        cert.validate(USER, "three")
    with pytest.raises(ValueError, match="type"):
        cert.validate(HOST, "two")
    assert cert.options["force-command"] == "ls -l" and len(cert.options["source-address"]) == 2
    assert cert.options["permit-X11-forwarding"] and "permit-pty" not in cert.options
    assert cert.signing_key == asyncssh.read_public_key(str(keys / f"ca_{ca}.pub"))
    assert cert.key == asyncssh.read_public_key(str(keys / f"key_{kind}.pub"))
    good("-q", "-h", "-s", f"ca_{ca}", "-I", "h", "-n", "host.example.com", "-V", "20200101:20200102", f"key_{kind}.pub", cwd=keys)
    cert = asyncssh.read_certificate(str(path))
    assert cert.options == {}
    with pytest.raises(ValueError, match="expired"):
        cert.validate(HOST, "host.example.com")


@pytest.mark.parametrize("ca", [kind for kind, _ in TYPES])
@pytest.mark.parametrize("kind,name", TYPES)
def test_that_of_asyncssh_is_read_by_us(keys, asyncssh, ca, kind, name):
    authority = asyncssh.read_private_key(str(keys / f"ca_{ca}"))
    subject = asyncssh.read_public_key(str(keys / f"key_{kind}.pub"))
    begin = int(time.time())
    cert = authority.generate_user_certificate(
        subject, "their id", serial=2 ** 63 + 5, principals=["one", "two"], valid_after=begin, valid_before=begin + 3600,
        force_command="true", source_address=["10.0.0.0/8"], permit_pty=False)
    cert.write_certificate(str(keys / "theirs-cert.pub"))
    lines = [line.strip() for line in good("-L", "-f", "theirs-cert.pub", cwd=keys).splitlines()]
    assert lines[1] == f"Type: {name}-cert-v01@openssh.com user certificate"
    assert 'Key ID: "their id"' in lines and f"Serial: {2 ** 63 + 5}" in lines
    stamps = [time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(t)) for t in (begin, begin + 3600)]
    assert f"Valid: from {stamps[0]} to {stamps[1]}" in lines
    at = lines.index("Principals:")
    assert lines[at:at + 3] == ["Principals:", "one", "two"]
    assert "force-command true" in lines and "source-address 10.0.0.0/8" in lines
    assert "permit-user-rc" in lines and "permit-pty" not in lines
    prints = [good("-l", "-f", f"{f}.pub", cwd=keys).split()[1] for f in (f"key_{kind}", f"ca_{ca}", "theirs-cert")]
    assert prints[0] == prints[2] and prints[0] in lines[2] and prints[1] in lines[3]
    host = authority.generate_host_certificate(subject, "h", principals=["a.example", "b.example"])
    host.write_certificate(str(keys / "theirs-cert.pub"))
    text = good("-L", "-f", "theirs-cert.pub", cwd=keys)
    assert "host certificate" in text and "Valid: forever" in text and "Extensions: (none)" in text


@pytest.mark.parametrize("kind,name", TYPES)
def test_paramiko_takes_ours_beside_its_key(keys, kind, name):
    paramiko = pytest.importorskip("paramiko")
    good("-q", "-s", "ca_ed25519", "-I", "i", "-n", "one", f"key_{kind}.pub", cwd=keys)
    classes = {"ed25519": paramiko.Ed25519Key, "ecdsa": paramiko.ECDSAKey, "rsa": paramiko.RSAKey}
    key = classes[kind].from_private_key_file(str(keys / f"key_{kind}"))
    key.load_certificate(str(keys / f"key_{kind}-cert.pub"))
    assert key.public_blob.key_type == f"{name}-cert-v01@openssh.com"
    # its reader of public keys takes the numbers out of a certificate: those of the key
    assert classes[kind](data=key.public_blob.key_blob) == classes[kind](data=key.asbytes())

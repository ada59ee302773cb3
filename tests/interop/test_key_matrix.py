# SPDX-License-Identifier: ISC
"""Private key files in every form and encryption that openssl, Paramiko and we know: each reads what the other wrote."""
import subprocess

import paramiko
import pytest

from harness import programs

OURS = programs.under_test().keygen
PHRASE = "a passphrase"
KINDS = {"rsa": ("rsa", 2048, paramiko.RSAKey), "ecdsa-256": ("ecdsa", 256, paramiko.ECDSAKey), "ecdsa-384": ("ecdsa", 384, paramiko.ECDSAKey),
         "ecdsa-521": ("ecdsa", 521, paramiko.ECDSAKey), "ed25519": ("ed25519", None, paramiko.Ed25519Key)}
TRADITIONAL = ["des", "des3", "aes128", "aes192", "aes256"]
PBES2 = [(cipher, prf) for cipher in ("aes-128-cbc", "aes-192-cbc", "aes-256-cbc", "des3") for prf in ("hmacWithSHA1", "hmacWithSHA256", "hmacWithSHA512")]


def run(*command, data=None):
    return subprocess.run([str(c) for c in command], input=data, capture_output=True, text=True, timeout=60, check=False)


def good(*command, data=None):
    done = run(*command, data=data)
    assert done.returncode == 0, done.stderr
    return done.stdout


def public(path, phrase=""):
    """What our ssh-keygen finds in a private file."""
    path.chmod(0o600)
    return good(OURS, "-y", "-P", phrase, "-f", path).split()[:2]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Keys that the installed ssh-keygen made: (PKCS#8 for openssl, public half)."""
    foreign, folder, made = programs.installed().keygen, tmp_path_factory.mktemp("plain"), {}
    for kind, (name, bits, _) in KINDS.items():
        path = folder / kind
        good(foreign, "-q", "-t", name, *(["-b", bits] if bits else []), "-N", "", "-f", path)
        half = path.with_suffix(".pub").read_text().split()[:2]
        if kind == "ed25519":   # OpenSSH writes it in its own form only
            key = paramiko.Ed25519Key.from_private_key_file(str(path))
            pem = folder / "ed25519.p8"
            seed = key._signing_key._seed       # pylint: disable=protected-access
            der = bytes.fromhex("302e020100300506032b657004220420") + seed
            pem.write_text(good("openssl", "pkey", "-inform", "DER", "-in", write(folder / "der", der)))
        else:
            good(foreign, "-q", "-p", "-m", "PKCS8", "-P", "", "-N", "", "-f", path)
            pem = path
        made[kind] = (pem, half)
    return made


def write(path, data):
    path.write_bytes(data)
    return path


def both_ways(path, half, out):
    """It is read with its passphrase, refused without, and is the same key when we have written it anew."""
    assert public(path, PHRASE) == half
    assert run(OURS, "-y", "-P", "another", "-f", path).returncode == 255
    good(OURS, "-q", "-p", "-P", PHRASE, "-N", "", "-f", path)
    assert public(path) == half
    assert path.read_text().startswith("-----BEGIN OPENSSH PRIVATE KEY-----"), out


@pytest.mark.parametrize("cipher", TRADITIONAL)
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "ed25519"])
def test_dek_info_of_openssl(plain, tmp_path, kind, cipher):
    source, half = plain[kind]
    more = ["-traditional"] if kind == "rsa" else []
    path = tmp_path / "k"
    done = run("openssl", "rsa" if kind == "rsa" else "ec", f"-{cipher}", *more, "-passout", f"pass:{PHRASE}", "-in", source, "-out", path,
               *(["-provider", "legacy", "-provider", "default"] if cipher == "des" else []))
    assert done.returncode == 0 and "DEK-Info: " in path.read_text(), done.stderr
    if cipher == "des":     # known to nobody without openssl's legacy provider; the file is named and stays
        before = path.read_bytes()
        path.chmod(0o600)
        done = run(OURS, "-y", "-P", PHRASE, "-f", path)
        assert done.returncode == 255 and str(path) in done.stderr and path.read_bytes() == before
        return
    both_ways(path, half, cipher)


@pytest.mark.parametrize("cipher, prf", PBES2)
@pytest.mark.parametrize("kind", KINDS)
def test_pbes2_of_openssl(plain, tmp_path, kind, cipher, prf):
    source, half = plain[kind]
    path = tmp_path / "k"
    good("openssl", "pkcs8", "-topk8", "-v2", cipher, "-v2prf", prf, "-iter", 3000, "-passout", f"pass:{PHRASE}", "-in", source, "-out", path)
    assert "BEGIN ENCRYPTED PRIVATE KEY" in path.read_text()
    both_ways(path, half, cipher)


@pytest.mark.parametrize("how", [["-scrypt"], ["-v1", "PBE-SHA1-3DES"]])
@pytest.mark.parametrize("kind", ["rsa", "ecdsa-521", "ed25519"])
def test_other_encryptions_of_pkcs8(plain, tmp_path, kind, how):
    source, half = plain[kind]
    path = tmp_path / "k"
    good("openssl", "pkcs8", "-topk8", *how, "-passout", f"pass:{PHRASE}", "-in", source, "-out", path)
    both_ways(path, half, how)


@pytest.mark.parametrize("phrase", ["", PHRASE])
@pytest.mark.parametrize("form", ["PEM", "PKCS8"])
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "ed25519"])
def test_openssl_reads_ours(plain, tmp_path, kind, form, phrase):
    path = write(tmp_path / "k", plain[kind][0].read_bytes())
    path.chmod(0o600)
    good(OURS, "-q", "-p", "-m", form, "-P", "", "-N", phrase, "-f", path)
    ours = good("openssl", "pkey", "-in", path, "-passin", f"pass:{phrase}", "-pubout")
    assert ours == good("openssl", "pkey", "-in", plain[kind][0], "-pubout")
    assert ("ENCRYPTED" in path.read_text()) == bool(phrase)


@pytest.mark.parametrize("phrase", [None, PHRASE])
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "ed25519"])
def test_paramiko_writes(tmp_path, kind, phrase):
    _, bits, cls = KINDS[kind]
    key = cls.generate(bits=bits)
    path = tmp_path / "k"
    key.write_private_key_file(str(path), password=phrase)
    half = [key.get_name(), key.get_base64()]
    assert public(path, phrase or "") == half
    good(OURS, "-q", "-p", "-P", phrase or "", "-N", "", "-f", path)
    assert public(path) == half


# Paramiko reads these encryptions of openssh-key-v1
FORMS = [(kind, "-Z", cipher) for kind in KINDS for cipher in ("aes256-ctr", "aes256-cbc")] + [(kind, "-m", "PEM") for kind in KINDS if kind != "ed25519"]


@pytest.mark.parametrize("phrase", ["", PHRASE])
@pytest.mark.parametrize("kind, option, value", FORMS)
def test_paramiko_reads_ours(tmp_path, kind, option, value, phrase):
    name, bits, cls = KINDS[kind]
    path = tmp_path / "k"
    good(OURS, "-q", "-t", name, *(["-b", bits] if bits else []), "-N", phrase, option, value, "-f", path)
    key = cls.from_private_key_file(str(path), password=phrase or None)
    assert [key.get_name(), key.get_base64()] == path.with_suffix(".pub").read_text().split()[:2]


@pytest.mark.parametrize("bits", [1024, 2048, 3072])
def test_a_file_of_ssh_com(tmp_path, bits):
    """PuTTY writes the form of ssh.com's programs."""
    ppk, path = tmp_path / "k.ppk", tmp_path / "k"
    good("puttygen", "-q", "-t", "rsa", "-b", bits, "-o", ppk, "--new-passphrase", "/dev/null")
    good("puttygen", ppk, "-O", "private-sshcom", "-o", path, "--new-passphrase", "/dev/null")
    assert public(path) == good("puttygen", ppk, "-O", "public-openssh").split()[:2]
    assert good(OURS, "-i", "-f", path) == good(programs.installed().keygen, "-i", "-f", path)
    (tmp_path / "phrase").write_text(PHRASE)
    good("puttygen", ppk, "-O", "private-sshcom", "-o", path, "--new-passphrase", tmp_path / "phrase")
    path.chmod(0o600)
    done = run(OURS, "-y", "-P", PHRASE, "-f", path)
    assert done.returncode == 255 and str(path) in done.stderr

# SPDX-License-Identifier: ISC
"""Against the installed OpenSSH: each key exchange, host key, user key, cipher and MAC that both know."""
import re

import pytest

from harness import programs
from harness.client import Ssh
from harness.server import Sshd

BLOCK = 300_000
HOST_KINDS = ("ed25519", "ecdsa-256", "ecdsa-384", "ecdsa-521", "rsa-2048")
HOST_ALGORITHMS = {"ssh-ed25519": "ed25519", "ecdsa-sha2-nistp256": "ecdsa-256", "ecdsa-sha2-nistp384": "ecdsa-384",
                   "ecdsa-sha2-nistp521": "ecdsa-521", "rsa-sha2-256": "rsa-2048", "rsa-sha2-512": "rsa-2048",
                   "ssh-rsa": "rsa-2048"}
BITS = {"ed25519": "ed25519", "ecdsa-256": "ecdsa", "rsa-2048": "rsa"}


def both(what):
    """Names both know, at collection; nothing in common is a failure of its own (test_names_are_shared)."""
    try:
        ours, theirs = programs.under_test(), programs.installed()
        known = set(theirs.query(what)) if theirs else set()
        return [n for n in ours.query(what) if n in known]
    except RuntimeError:
        return []


KEX, CIPHER, MAC = both("kex"), both("cipher"), both("mac")
AEAD = {n for n in CIPHER if "gcm" in n or "poly1305" in n}
SIGN = [n for n in both("key-sig") if n in HOST_ALGORITHMS]


@pytest.fixture(scope="module")
def pair(world, ours, theirs):
    """(client, server) for either direction; the servers know everything that both know."""
    options = [f"KexAlgorithms {','.join(KEX)}", f"Ciphers {','.join(CIPHER)}", f"MACs {','.join(MAC)}",
               f"HostKeyAlgorithms {','.join(SIGN)}", f"PubkeyAcceptedAlgorithms {','.join(SIGN)}"]
    servers = {"out": Sshd(world, theirs, options, HOST_KINDS, name="matrix-theirs").start()}
    servers["in"] = Sshd(world, ours, options, HOST_KINDS, name="matrix-ours").start()
    clients = {"out": Ssh(world, ours), "in": Ssh(world, theirs)}
    yield lambda way: (clients[way], servers[way])
    for server in servers.values():
        server.stop()


def talk(pair, way, options, kind="ed25519"):
    client, server = pair(way)
    data = bytes(i * 7 & 0xFF for i in range(BLOCK))
    result = client.run(server, "cat", stdin=data, options=options, kind=kind, timeout=60)
    assert result.status == 0 and result.out == data, str(result)
    return result.log


def negotiated(log):
    kex = re.search(r"kex: algorithm: (\S+)", log)
    host = re.search(r"kex: host key algorithm: (\S+)", log)
    keys = re.search(r"kex: client->server cipher: (\S+) MAC: (\S+)", log)
    assert kex and host and keys, f"the client does not tell what was agreed:\n{log}"
    return kex[1], host[1], keys[1], keys[2]


def test_names_are_shared():
    assert len(KEX) >= 10 and len(CIPHER) >= 6 and len(MAC) >= 10 and len(SIGN) >= 6


@pytest.mark.parametrize("way", ("out", "in"))
@pytest.mark.parametrize("name", KEX)
def test_kex(pair, way, name):
    assert negotiated(talk(pair, way, [f"KexAlgorithms={name}"]))[0] == name


@pytest.mark.parametrize("way", ("out", "in"))
@pytest.mark.parametrize("name", SIGN)
def test_host_key(pair, way, name):
    assert negotiated(talk(pair, way, [f"HostKeyAlgorithms={name}"]))[1] == name


@pytest.mark.parametrize("way", ("out", "in"))
@pytest.mark.parametrize("name", SIGN)
def test_user_key(pair, way, name):
    talk(pair, way, [f"PubkeyAcceptedAlgorithms={name}"], kind=HOST_ALGORITHMS[name])


@pytest.mark.parametrize("way", ("out", "in"))
@pytest.mark.parametrize("name", CIPHER)
def test_cipher(pair, way, name):
    assert negotiated(talk(pair, way, [f"Ciphers={name}"]))[2] == name


@pytest.mark.parametrize("way", ("out", "in"))
@pytest.mark.parametrize("name", MAC)
@pytest.mark.parametrize("cipher", [c for c in CIPHER if c not in AEAD])
def test_mac(pair, way, cipher, name):
    log = talk(pair, way, [f"Ciphers={cipher}", f"MACs={name}"])
    assert negotiated(log)[2:] == (cipher, name)


@pytest.mark.parametrize("way", ("out", "in"))
def test_compression(pair, way):
    log = talk(pair, way, ["Compression=yes"])
    assert "compression: zlib@openssh.com" in log

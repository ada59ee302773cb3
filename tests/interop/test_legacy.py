# SPDX-License-Identifier: ISC
"""Ciphers and MACs that only old peers still need, against living ones that speak them.

What OpenSSH 9.2 knows of them is in test_matrix.py.
"""
import re
from types import SimpleNamespace

import pytest

import peers
from harness import world as harness_world
from harness.client import Ssh, feed
from harness.server import Sshd

CBC = ("3des-cbc", "aes128-cbc", "aes192-cbc", "aes256-cbc", "blowfish-cbc", "cast128-cbc")
ARCFOUR = ("arcfour", "arcfour128", "arcfour256")
RIJNDAEL = "rijndael-cbc@lysator.liu.se"
MACS = ("hmac-md5", "hmac-md5-96", "hmac-sha1-96", "hmac-md5-etm@openssh.com", "hmac-md5-96-etm@openssh.com",
        "hmac-sha1-96-etm@openssh.com")
RIPEMD = ("hmac-ripemd160", "hmac-ripemd160@openssh.com", "hmac-ripemd160-etm@openssh.com")
ALL_CIPHERS, ALL_MACS = (*CBC, RIJNDAEL, *ARCFOUR), (*MACS, *RIPEMD)
DATA = bytes(i * 7 & 0xFF for i in range(2_500_000))
REKEY = 1 << 20
PROVIDERS = """openssl_conf = start
[start]
providers = all
[all]
default = on
legacy = on
[on]
activate = 1
"""


@pytest.fixture(scope="module")
def our_server(world, ours):
    """Everything that is old, both with a rekey limit and without; started when first asked for."""
    started = {}

    def get(rekey=0):
        if rekey not in started:
            options = [f"Ciphers +{','.join(ALL_CIPHERS)}", f"MACs +{','.join(ALL_MACS)}",
                       *([f"RekeyLimit {rekey}"] if rekey else [])]
            started[rekey] = Sshd(world, ours, options, name=f"old-{rekey}").start()
        return started[rekey]
    yield get
    for server in started.values():
        server.stop()


def echoes(result):
    assert result.status == 0 and result.out == DATA, str(result)
    return result


def pairs(ciphers, macs):
    """Each cipher with a MAC of either order, and each MAC."""
    rows = [(c, m) for c in ciphers for m in ("hmac-sha1", "hmac-sha2-256-etm@openssh.com")]
    return rows + [(ciphers[i % len(ciphers)], m) for i, m in enumerate(macs)]


# -- AsyncSSH, both ways

ASYNCSSH = pairs(ARCFOUR + CBC, MACS)


@pytest.mark.parametrize("cipher,mac", ASYNCSSH)
def test_asyncssh_comes_in(world, our_server, monkeypatch, cipher, mac):
    monkeypatch.setenv("PEER_CIPHER", cipher)
    monkeypatch.setenv("PEER_MAC", mac)
    client = peers.make("client", "asyncssh", world)
    echoes(client.run(our_server(REKEY), "cat", stdin=DATA))


@pytest.fixture(scope="module")
def asyncssh_server(world):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PEER_CIPHER", ",".join({c: 0 for c, _ in ASYNCSSH}))
        patch.setenv("PEER_MAC", ",".join({m: 0 for _, m in ASYNCSSH}))
        server = peers.make("server", "asyncssh", world)
        server.start()
    yield server
    server.stop()


@pytest.mark.parametrize("cipher,mac", ASYNCSSH)
def test_asyncssh_is_reached(world, ours, asyncssh_server, cipher, mac):
    result = echoes(Ssh(world, ours).run(asyncssh_server, "cat", stdin=DATA, rekey="1M",
                                         options=[f"Ciphers={cipher}", f"MACs={mac}"]))
    assert f"cipher: {cipher} MAC: {mac}" in result.log
    assert result.rekeys > 0, str(result)


# -- the client of OpenSSH 7.5

@pytest.fixture(scope="module")
def ssh1(world):
    conf = harness_world.scratch("ssh1") / "openssl.cnf"
    conf.write_text(PROVIDERS)
    return Ssh(world, SimpleNamespace(ssh=peers.find("ssh1"), name="ssh1")), conf


# Its arcfour128 and arcfour256 end with "error in libcrypto" whomever it talks to: it drops the first bytes of the key
# stream in a way that OpenSSL 3 refuses.
@pytest.mark.parametrize("cipher,mac", pairs(("arcfour", *CBC, RIJNDAEL), RIPEMD + MACS))
def test_openssh_7_comes_in(ssh1, our_server, monkeypatch, cipher, mac):
    client, conf = ssh1
    monkeypatch.setenv("OPENSSL_CONF", str(conf))
    result = echoes(client.run(our_server(), "cat", stdin=DATA, rekey="1M",
                               options=[f"Ciphers={cipher}", f"MACs={mac}"]))
    assert re.search(rf"cipher: {cipher} MAC: {mac}", result.log), str(result)
    assert result.rekeys > 0, str(result)


# -- PuTTY

@pytest.mark.parametrize("cipher", ("arcfour", "blowfish", "3des"))
def test_plink_comes_in(world, our_server, cipher):
    client = peers.make("client", "plink", world)
    (client.home / ".putty" / "sessions" / "rekey").write_text(
        f"Protocol=ssh\nCipher={cipher},aes,WARN\nRekeyBytes=1M\n")
    server = our_server()
    before = len(server.log())
    echoes(client.run(server, "cat", stdin=DATA, rekey=REKEY))
    assert re.search(rf"cipher: {cipher}", server.log()[before:]), server.log()[before:]


# -- what the user is told

def test_what_is_old_is_told_once(world, ours, asyncssh_server):
    def run(*more):
        options = ["Ciphers=arcfour", "MACs=hmac-md5", "KexAlgorithms=curve25519-sha256", *more]
        result = echoes(Ssh(world, ours).run(asyncssh_server, "cat", stdin=DATA, rekey="1M", options=options))
        assert result.rekeys > 0
        return [line for line in result.log.splitlines() if line.startswith("** WARNING")]
    old = "** WARNING: connection is using outdated cryptography: cipher arcfour, MAC hmac-md5."
    quantum = "** WARNING: connection is not using a post-quantum key exchange algorithm."
    assert run() == [old, quantum]
    assert run("WarnWeakCrypto=no-pq-kex") == [old]
    assert run("WarnWeakCrypto=no") == []


def test_nothing_old_is_on_until_it_is_named(world, ours, asyncssh_server, monkeypatch):
    result = Ssh(world, ours).run(asyncssh_server, "true", options=["MACs=hmac-sha1"])
    assert result.status == 255 and "no matching cipher found" in result.err + result.log, str(result)
    monkeypatch.setenv("PEER_CIPHER", "arcfour")
    monkeypatch.setenv("PEER_MAC", "hmac-sha1")
    with Sshd(world, ours, name="old-none") as server:
        server.start()
        result = peers.make("client", "asyncssh", world).run(server, "true")
        assert result.status is None and "no matching cipher found" in server.log(), str(result)


@pytest.mark.parametrize("arguments,words", (
    (["-c", "arc\u2010four"], "did you mean arcfour?"),
    (["-o", "Ciphers=+3des"], "did you mean 3des-cbc?"),
    (["-m", "hmac-md5-etm"], "did you mean hmac-md5-etm@openssh.com?"),
    (["-1"], "SSH protocol v.1 is no longer supported"),
    (["-o", "Protocol=1"], "SSH protocol v.1 is no longer supported")))
def test_what_cannot_be_meant_is_refused_with_a_sentence(ours, arguments, words):
    code, out, err = feed([ours.ssh, "-F", "none", *arguments, "127.0.0.1", "true"], None, 20)
    assert code == 255 and out == b"" and words in err


def test_protocol_2_is_nothing_new(ours):
    for value in ("2", "2,1", "1,2"):
        code, out, err = feed([ours.ssh, "-F", "none", "-G", "-o", f"Protocol={value}", "h"], None, 20)
        assert code == 0 and b"hostname h" in out and err == ""

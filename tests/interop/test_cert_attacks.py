# SPDX-License-Identifier: ISC
"""Certificates that no honest tool makes, shown to our sshd by one who has the key: damaged bit by bit, or made up."""
import base64
import struct

import pytest

from interop.test_cert_login import place, sshd  # noqa: F401  pylint: disable=unused-import

paramiko = pytest.importorskip("paramiko")
CERT, PLAIN = "ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519"
FOREVER = 2**64 - 1


def string(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(data)) + data


def own_key(place, name):  # noqa: F811
    return paramiko.Ed25519Key.from_private_key_file(str(place.path(name)))


class Shown(paramiko.PKey):
    """The key, with these bytes in the place of its public half."""

    def __init__(self, key, blob):  # pylint: disable=super-init-not-called
        self.key = key
        self.public_blob = paramiko.pkey.PublicBlob(CERT, blob)

    def get_name(self):
        return PLAIN

    def asbytes(self):
        return self.key.asbytes()

    def can_sign(self):
        return True

    def sign_ssh_data(self, data, algorithm=None):
        return self.key.sign_ssh_data(data, algorithm=PLAIN)


class Attacker:
    """Tries on one connection for as long as the server keeps it."""

    def __init__(self, server, key):
        self.server, self.key, self.transport = server, key, None

    def close(self):
        if self.transport is not None:
            self.transport.close()
        self.transport = None

    def gets_in(self, blob):
        if self.transport is None or not self.transport.is_active():
            self.close()
            self.transport = paramiko.Transport((self.server.host, self.server.port))
            self.transport.start_client(timeout=30)
        try:
            self.transport.auth_publickey(self.server.user, Shown(self.key, blob))
        except paramiko.SSHException:
            return False
        is_in = self.transport.is_authenticated()
        self.close()
        return is_in


@pytest.fixture
def attacker(sshd, place):  # noqa: F811
    server = sshd(f"TrustedUserCAKeys {place.path('ca.pub')}", "MaxAuthTries 2000", "LoginGraceTime 0",
                  "PerSourcePenalties no")
    attacker = Attacker(server, own_key(place, "key"))
    yield attacker
    attacker.close()


def fields(blob):
    """(where a field begins, where it ends) of a certificate about an Ed25519 key."""
    at, found = 0, []
    for size in (None, None, None, 8, 4, None, None, 8, 8, None, None, None, None, None):
        end = at + size if size else at + 4 + struct.unpack_from(">I", blob, at)[0]
        found.append((at, end))
        at = end
    assert at == len(blob)
    return found


def test_a_bit_that_is_not_as_it_was_signed_lets_nobody_in(attacker, place):  # noqa: F811
    place.certify("-n", attacker.server.user, "-O", "force-command=true")
    good = base64.b64decode(place.path("key-cert.pub").read_text().split()[1])
    assert attacker.gets_in(good), attacker.server.log()
    edges = {p for start, end in fields(good) for p in (start, start + 3, start + 4, end - 1) if p < len(good)}
    bits = {p * 8 + bit for p in edges for bit in (0, 7)} | {p * 8 + p % 8 for p in range(0, len(good), 3)}
    for bit in sorted(bits):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        assert not attacker.gets_in(bytes(bad)), (bit // 8, bit % 8)
    for n in {end for _, end in fields(good)[:-1]} | {len(good) - 1}:
        assert not attacker.gets_in(good[:n]), n
    assert not attacker.gets_in(good + b"\0")
    assert attacker.gets_in(good), attacker.server.log()


class Forge:
    """A certificate of field after field; what is not said is as in a good one."""

    def __init__(self, place, user):  # noqa: F811
        self.ca, self.key = own_key(place, "ca"), own_key(place, "key")
        self.other = own_key(place, "other")
        self.user = user

    def make(self, signer=None, **said):
        public = string(self.key.asbytes()[-32:])
        part = {"name": string(CERT), "nonce": string(b"n" * 32), "key": public, "serial": struct.pack(">Q", 7),
                "kind": struct.pack(">I", 1), "id": string("who"), "principals": string(string(self.user)),
                "after": struct.pack(">Q", 0), "before": struct.pack(">Q", FOREVER), "critical": string(""),
                "extensions": string(string("permit-pty") + string("")), "reserved": string(""),
                "ca": string(self.ca.asbytes()), "tail": b""}
        tail = said.pop("tail", b"")
        part.update(said)
        body = b"".join(part.values())
        return body + string((signer or self.ca).sign_ssh_data(body).asbytes()) + tail

    def cert_of(self, key, signer):
        """A certificate about an authority: it stands where the authority's key should."""
        return self.make(signer, key=string(key.asbytes()[-32:]), ca=string(signer.asbytes()))


def option(name, value):
    return string(name) + string(value)


FORGED = {  # what is made, gets in?
    "as it should be": (lambda f: f.make(), True),
    "an option that holds": (lambda f: f.make(critical=string(option("force-command", string("true")))), True),
    "signed by its own key": (lambda f: f.make(f.key), False),
    "its own authority": (lambda f: f.make(f.key, ca=string(f.key.asbytes())), False),
    "signed by another, who names the authority": (lambda f: f.make(f.other), False),
    "an authority that is a certificate": (lambda f: f.make(ca=string(f.cert_of(f.ca, f.ca))), False),
    "an authority that the authority signed": (
        lambda f: f.make(f.other, ca=string(f.cert_of(f.other, f.ca))), False),
    "for hosts": (lambda f: f.make(kind=struct.pack(">I", 2)), False),
    "of no kind": (lambda f: f.make(kind=struct.pack(">I", 0)), False),
    "of a kind to come": (lambda f: f.make(kind=struct.pack(">I", 3)), False),
    "an empty name": (lambda f: f.make(principals=string(string(""))), False),
    "no names": (lambda f: f.make(principals=string("")), False),
    "a name and half a name": (lambda f: f.make(principals=string(string(f.user) + b"\0\0\0\5ab")), False),
    "a longer name": (lambda f: f.make(principals=string(string(f.user + "\0"))), False),
    "over before it begins": (lambda f: f.make(after=struct.pack(">Q", FOREVER), before=struct.pack(">Q", 0)), False),
    "over since 1970": (lambda f: f.make(before=struct.pack(">Q", 1)), False),
    "a demand nobody knows": (lambda f: f.make(critical=string(option("made-up@example.com", ""))), False),
    "a demand without a value": (lambda f: f.make(critical=string(option("force-command", ""))), False),
    "a demand with more than a value": (
        lambda f: f.make(critical=string(option("force-command", string("true") + b"x"))), False),
    "half a demand": (lambda f: f.make(critical=string(string("force-command"))), False),
    "two demands of a name": (lambda f: f.make(critical=string(
        option("force-command", string("true")) + option("force-command", string("id")))), False),
    "addresses that are none": (lambda f: f.make(critical=string(option("source-address", string("here")))), False),
    "no addresses": (lambda f: f.make(critical=string(option("source-address", string("")))), False),
    "bytes behind it": (lambda f: f.make(tail=b"\0"), False),
    "a field more": (lambda f: f.make(reserved=string("") + string("more")), False),
    "a key that is too short": (lambda f: f.make(key=string(f.key.asbytes()[-31:])), False),
    "another key": (lambda f: f.make(key=string(f.other.asbytes()[-32:])), False),
    "a name of another type": (lambda f: f.make(name=string("ssh-rsa-cert-v01@openssh.com")), False),
}


def test_forged_certificates(attacker, place):  # noqa: F811
    forge = Forge(place, attacker.server.user)
    wrong = [name for name, (make, is_in) in FORGED.items() if attacker.gets_in(make(forge)) != is_in]
    assert not wrong, f"{wrong}\n{attacker.server.log()}"
    assert attacker.gets_in(forge.make())

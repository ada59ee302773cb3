#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Writes kex.json: exchanges between a client and a server of AsyncSSH, for kex_classic.c.

Only private values are chosen here, in the form that our rng gives them: as many bytes as the key has, the first bit of
an exponent set.  Needs Debian's python3-asyncssh; run it by hand.
"""
import hashlib
import json
import os
import types
import warnings

warnings.simplefilter("ignore")
import asyncssh  # noqa: E402
from asyncssh import kex_dh  # noqa: E402
from asyncssh.crypto import ec as asyncssh_ec, ed as asyncssh_ed  # noqa: E402
from asyncssh.kex import get_kex  # noqa: E402
from asyncssh.packet import MPInt, SSHPacket, String  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec, x25519  # noqa: E402

NAMES = [f"diffie-hellman-group{group}" for group in
         ("1-sha1", "14-sha1", "14-sha256", "16-sha512", "18-sha512", "-exchange-sha1", "-exchange-sha256")]
NAMES += ["ecdh-sha2-nistp256", "ecdh-sha2-nistp384", "ecdh-sha2-nistp521", "curve25519-sha256",
          "curve25519-sha256@libssh.org"]
SIZES = {"256": 32, "384": 48, "521": 66}
EXPONENT = 64
HOST_KEY = String("ssh-ed25519") + String(bytes(range(32)))
FIELDS = {"V_C": b"SSH-2.0-vector_client with words", "V_S": b"SSH-2.0-vector_server",
          "I_C": b"\x14" + b"what the client offers" * 20, "I_S": b"\x14" + b"what the server offers" * 21}


class Conn:
    """What a key exchange of AsyncSSH wants of its connection."""

    def __init__(self, role):
        self.role, self.sent, self.done = role, [], None
        self.logger = types.SimpleNamespace(get_child=lambda *_: None)

    def is_client(self):
        return self.role == "client"

    def is_server(self):
        return self.role == "server"

    def get_hash_prefix(self):
        return b"".join(String(FIELDS[x]) for x in ("V_C", "V_S", "I_C", "I_S"))

    def send_packet(self, kind, *parts, handler=None):
        self.sent.append((kind, b"".join(parts)))

    def get_server_host_key(self):
        return types.SimpleNamespace(public_data=HOST_KEY, sign=lambda h: b"signed")

    def validate_server_host_key(self, data):
        assert data == HOST_KEY
        return types.SimpleNamespace(verify=lambda h, signature: signature == b"signed")

    def send_newkeys(self, k, h):
        self.done = (k, h)


def private(name, role):
    n = EXPONENT if "diffie" in name else 32 if "25519" in name else SIZES[name[-3:]]
    seed = f"{name} {role}".encode()
    value = bytearray(b"".join(hashlib.sha256(seed + bytes([i])).digest() for i in range(3))[:n])
    if "diffie" in name:
        value[0] |= 0x80
    elif name.endswith("521"):
        value[0] &= 1
    return bytes(value)


def exchange(name):
    chosen = {role: private(name, role) for role in ("client", "server")}
    order = iter(("client", "server"))

    def number(*_):
        return int.from_bytes(chosen[next(order)], "big")

    kex_dh.randrange = number
    curve = {"256": ec.SECP256R1, "384": ec.SECP384R1, "521": ec.SECP521R1}.get(name[-3:])
    asyncssh_ec.ECDH.__init__ = lambda self, _: setattr(self, "_priv_key", ec.derive_private_key(number(), curve()))
    asyncssh_ed.Curve25519DH.__init__ = lambda self: setattr(
        self, "_priv_key", x25519.X25519PrivateKey.from_private_bytes(chosen[next(order)]))
    conns = {role: Conn(role) for role in chosen}
    ends = {role: get_kex(conns[role], name.encode()) for role in chosen}
    ends["client"].start()
    sender, log = "client", []
    while conns[sender].sent:
        kind, payload = conns[sender].sent.pop(0)
        log.append(payload)
        sender = "server" if sender == "client" else "client"
        ends[sender]._packet_handlers[kind](ends[sender], kind, 0, SSHPacket(payload))
    assert conns["client"].done == conns["server"].done
    k, h = conns["client"].done
    out = {"kex": name, "client": chosen["client"].hex(), "server": chosen["server"].hex(),
           "hash_input_fields": {**{x: v.hex() for x, v in FIELDS.items()}, "K_S": HOST_KEY.hex()}}
    fields, first = out["hash_input_fields"], SSHPacket(log[-2])
    last = SSHPacket(log[-1])
    last.get_string()
    read = (lambda p: p.get_mpint().to_bytes(1200, "big").lstrip(b"\0")) if "diffie" in name else SSHPacket.get_string
    fields["Q_C"], fields["Q_S"] = read(first).hex(), read(last).hex()
    if "exchange" in name:
        wanted, group = SSHPacket(log[0]), SSHPacket(log[1])
        out["gex"] = [wanted.get_uint32() for _ in range(3)]
        out["p"], out["g"] = read(group).hex(), read(group).hex()
    out["encoded_shared_secret"] = MPInt(k).hex()
    out["H"] = h.hex()
    out["derived_keys"] = {x: ends["client"].compute_key(k, h, x.encode(), h, 64).hex() for x in "ABCDEF"}
    return out


where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kex.json")
with open(where, "w", encoding="ascii") as f:
    json.dump({"made_by": "AsyncSSH " + asyncssh.__version__, "cases": [exchange(name) for name in NAMES]}, f, indent=1)
    f.write("\n")

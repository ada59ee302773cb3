#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Writes pktc.json: packets sealed by AsyncSSH (and by OpenSSL and nettle beneath it), for pktc_test.c.

AsyncSSH has no HMAC of RIPEMD-160: it is given nettle's.  What the old ciphers make must also be what nettle makes.

Three packets for each cipher and MAC, one after the other in one connection's life.  The IVs stand shortly before a carry,
so that a counter of 32 or 64 bits is found out.  Needs Debian's python3-asyncssh and libnettle8; run it by hand.
"""
import ctypes
import hashlib
import json
import os
import warnings

warnings.simplefilter("ignore")
import asyncssh  # noqa: E402
import asyncssh.mac  # noqa: E402
from asyncssh.encryption import get_encryption  # noqa: E402

CIPHERS = [("aes128-ctr", 16, 16), ("aes192-ctr", 24, 16), ("aes256-ctr", 32, 16),
           ("aes128-gcm@openssh.com", 16, 12), ("aes256-gcm@openssh.com", 32, 12),
           ("chacha20-poly1305@openssh.com", 64, 0),
           ("3des-cbc", 24, 8), ("aes128-cbc", 16, 16), ("aes192-cbc", 24, 16), ("aes256-cbc", 32, 16),
           ("rijndael-cbc@lysator.liu.se", 32, 16), ("blowfish-cbc", 16, 8), ("cast128-cbc", 16, 8),
           ("arcfour", 16, 0), ("arcfour128", 16, 0), ("arcfour256", 32, 0)]
OTHER_NAMES = {"rijndael-cbc@lysator.liu.se": "aes256-cbc"}  # AsyncSSH knows it by this one alone
MACS = [(base + etm, size, etm != "@") for etm in ("@", "-etm@") for base, size in
        (("hmac-sha1", 20), ("hmac-sha1-96", 20), ("hmac-sha2-256", 32), ("hmac-sha2-512", 64), ("hmac-md5", 16),
         ("hmac-md5-96", 16), ("umac-64", 16), ("umac-128", 16), ("hmac-ripemd160", 20))]
MACS.append(("hmac-ripemd160@openssh.com", 20, False))
SEQ = 0xfffffffe  # the sequence number turns over too


class NettleRipemd(asyncssh.mac.MAC):
    """HMAC over RIPEMD-160 by libnettle"""

    def sign(self, seq, packet):
        nettle = ctypes.CDLL("libnettle.so.8")
        state = ctypes.create_string_buffer(1024)
        data = seq.to_bytes(4, "big") + packet
        tag = ctypes.create_string_buffer(20)
        nettle.nettle_hmac_ripemd160_set_key(state, ctypes.c_size_t(len(self._key)), self._key)
        nettle.nettle_hmac_ripemd160_update(state, ctypes.c_size_t(len(data)), data)
        nettle.nettle_hmac_ripemd160_digest(state, ctypes.c_size_t(20), tag)
        return tag.raw


for alg in (b"hmac-ripemd160", b"hmac-ripemd160@openssh.com", b"hmac-ripemd160-etm@openssh.com"):
    asyncssh.mac.register_mac_alg(alg, 20, 20, b"-etm" in alg, NettleRipemd, (), False)


def mac_name(name):
    if name.endswith(".com"):
        return name
    plain_hmac = name.startswith("hmac") and "-etm" not in name
    return name[:-1] if plain_hmac else name + "openssh.com"


class NettleCipher:
    """An old cipher by libnettle"""

    BLOCK = {"3des": ("des3", 8), "aes128": ("aes128", 16), "aes192": ("aes192", 16), "aes256": ("aes256", 16),
             "rijndael": ("aes256", 16), "blowfish": ("blowfish", 8), "cast128": ("cast128", 8)}

    def __init__(self, cipher, key, iv):
        self.lib = ctypes.CDLL("libnettle.so.8")
        self.state = ctypes.create_string_buffer(8192)
        self.size = ctypes.c_size_t(len(key))
        if cipher.startswith("arcfour"):
            self.block = 0
            self.lib.nettle_arcfour_set_key(self.state, self.size, key)
            if cipher != "arcfour":
                self.encrypt(bytes(1536))
            return
        name, self.block = self.BLOCK[cipher.split("-")[0]]
        self.iv = ctypes.create_string_buffer(iv, len(iv))
        if name == "blowfish":
            self.lib.nettle_blowfish_set_key(self.state, self.size, key)
        else:
            what = "set_encrypt_key" if "aes" in name else "set_key"
            getattr(self.lib, f"nettle_{name}_{what}")(self.state, key)
        self.step = getattr(self.lib, f"nettle_{name}_encrypt")

    def encrypt(self, data):
        out = ctypes.create_string_buffer(len(data))
        n = ctypes.c_size_t(len(data))
        if self.block == 0:
            self.lib.nettle_arcfour_crypt(self.state, n, out, data)
        else:
            self.lib.nettle_cbc_encrypt(self.state, self.step, ctypes.c_size_t(self.block), self.iv, n, out, data)
        return out.raw


def case(cipher, key_n, iv_n, mac, mac_n, outside):
    key = bytes(range(key_n))
    mac_key = bytes(0x80 + i for i in range(mac_n))
    iv = (b"\x00\x11\x22\x33" + b"\xff" * (iv_n - 5) + b"\xfd") if iv_n else b""
    engine = get_encryption(OTHER_NAMES.get(cipher, cipher).encode(), key, iv, mac.encode(), mac_key, outside)
    is_old = "cbc" in cipher or "arcfour" in cipher
    second = NettleCipher(cipher, key, iv) if is_old else None
    block = 16 if cipher.startswith(("aes", "rijndael")) else 8
    packets = []
    for i, payload_n in enumerate((1, 33, 32768)):
        unit = payload_n + 1 + (0 if outside else 4)
        padding_n = block - unit % block
        padding_n += block if padding_n < 4 else 0
        clear = bytes([padding_n]) + bytes((7 * k + i) & 255 for k in range(payload_n)) + b"\x55" * padding_n
        head = len(clear).to_bytes(4, "big")
        body, tag = engine.encrypt_packet((SEQ + i) & 0xffffffff, head, clear)
        wire = body + tag
        assert not second or body == (head + second.encrypt(clear) if outside else second.encrypt(head + clear))
        packet = {"clear_n": 4 + len(clear), "payload_n": payload_n}
        if len(wire) < 200:
            packet["wire"] = wire.hex()
        packet["sha256"] = hashlib.sha256(wire).hexdigest()
        packets.append(packet)
    return {"cipher": cipher, "mac": mac, "key": key.hex(), "iv": iv.hex(), "mac_key": mac_key.hex(),
            "packets": packets}


cases = [case(*cipher, mac_name(mac), mac_n, etm)
         for cipher in CIPHERS for mac, mac_n, etm in MACS
         if not ("gcm" in cipher[0] or "chacha" in cipher[0])]
cases += [case(*cipher, "", 0, True) for cipher in CIPHERS if "gcm" in cipher[0] or "chacha" in cipher[0]]
where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pktc.json")
with open(where, "w", encoding="ascii") as f:
    json.dump({"made_by": "AsyncSSH " + asyncssh.__version__, "seq": SEQ, "cases": cases}, f, indent=1)
    f.write("\n")

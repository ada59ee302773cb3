# SPDX-License-Identifier: ISC
"""A small SSH peer, either role, that does as it is told: also what no honest peer would.

It speaks curve25519-sha256, ssh-ed25519 or ecdsa-sha2-nistp256 as host key, AES-GCM, AES-CTR, AES-CBC and arcfour
with HMAC in both orders, chacha20-poly1305@openssh.com and zlib@openssh.com, and leaves every decision to the test: which
bytes go out, when, and what to make of the answers.
"""
import base64
import hashlib
import hmac
import os
import socket
import struct
import zlib

from cryptography.hazmat.primitives import hashes, poly1305, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils, x25519
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG, SERVICE_REQUEST, SERVICE_ACCEPT, EXT_INFO = 1, 2, 3, 4, 5, 6, 7
KEXINIT, NEWKEYS, ECDH_INIT, ECDH_REPLY = 20, 21, 30, 31
AUTH_REQUEST, AUTH_FAILURE, AUTH_SUCCESS, AUTH_BANNER, AUTH_PK_OK = 50, 51, 52, 53, 60
GLOBAL_REQUEST, REQUEST_SUCCESS, REQUEST_FAILURE = 80, 81, 82
CHANNEL_OPEN, OPEN_CONFIRM, OPEN_FAILURE, WINDOW_ADJUST, DATA, EXTENDED_DATA, EOF, CLOSE, CHANNEL_REQUEST, \
    CHANNEL_SUCCESS, CHANNEL_FAILURE = range(90, 101)
GCM, GCM128, CHACHA = "aes256-gcm@openssh.com", "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com"
HMAC, HMAC_ETM, HMAC512_ETM = "hmac-sha2-256", "hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com"
STRICT = {"client": "kex-strict-c-v00@openssh.com", "server": "kex-strict-s-v00@openssh.com"}


class Closed(Exception):
    """The other side ended the connection; text: its DISCONNECT, if it sent one."""


def string(b):
    b = b.encode() if isinstance(b, str) else bytes(b)
    return struct.pack(">I", len(b)) + b


def mpint(b):
    b = bytes(b).lstrip(b"\0")
    return string(b"\0" + b if b and b[0] & 0x80 else b)


def u32(n):
    return struct.pack(">I", n)


class Reader:
    def __init__(self, b):
        self.b, self.at = b, 0

    def take(self, n):
        self.at += n
        return self.b[self.at - n:self.at]

    def u8(self):
        return self.take(1)[0]

    def u32(self):
        return struct.unpack(">I", self.take(4))[0]

    def string(self):
        return self.take(self.u32())


class Gcm:
    block, aligned = 16, 0      # of what is padded; how much of the length word counts for it

    def __init__(self, bits, key, iv, *_):
        self.aead, self.iv = AESGCM(key[:bits // 8]), iv[:12]

    def nonce(self):
        now = self.iv
        self.iv = now[:4] + struct.pack(">Q", (struct.unpack(">Q", now[4:])[0] + 1) & (1 << 64) - 1)
        return now

    def seal(self, _seq, length, body):
        return length + self.aead.encrypt(self.nonce(), body, length)

    def open(self, _seq, read):
        length = read(4)
        n = struct.unpack(">I", length)[0]
        return self.aead.decrypt(self.nonce(), read(n + 16), length)


class ChaCha:
    block, aligned = 8, 0

    def __init__(self, _bits, key, *_):
        self.main, self.header = key[:32], key[32:64]

    def stream(self, key, seq, block, data):
        nonce = struct.pack("<Q", block) + struct.pack(">Q", seq)
        return Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor().update(data)

    def tag(self, seq, data):
        return poly1305.Poly1305.generate_tag(self.stream(self.main, seq, 0, bytes(32)), data)

    def seal(self, seq, length, body):
        data = self.stream(self.header, seq, 0, length) + self.stream(self.main, seq, 1, body)
        return data + self.tag(seq, data)

    def open(self, seq, read):
        first = read(4)
        n = struct.unpack(">I", self.stream(self.header, seq, 0, first))[0]
        body, tag = read(n), read(16)
        if self.tag(seq, first + body) != tag:
            raise Closed("bad tag")
        return self.stream(self.main, seq, 1, body)


class Ctr:
    """AES-CTR with an HMAC over the ciphertext (-etm) or over the plain text, whose length is hidden then."""
    block = 16

    def __init__(self, bits, key, iv, mackey, mac):
        self.etm, self.digest = "-etm" in mac, "sha512" if "512" in mac else "sha256"
        self.aligned = 0 if self.etm else 4
        self.mackey = mackey[:hashlib.new(self.digest).digest_size]
        self.stream = Cipher(algorithms.AES(key[:bits // 8]), modes.CTR(iv[:16])).encryptor()

    def tag(self, seq, data):
        return hmac.digest(self.mackey, u32(seq) + data, self.digest)

    def seal(self, seq, length, body):
        if self.etm:
            data = length + self.stream.update(body)
            return data + self.tag(seq, data)
        return self.stream.update(length + body) + self.tag(seq, length + body)

    def open(self, seq, read):
        first = read(4)
        length = first if self.etm else self.stream.update(first)
        data = read(struct.unpack(">I", length)[0])
        body = self.stream.update(data)
        if self.tag(seq, first + data if self.etm else length + body) != read(len(self.mackey)):
            raise Closed("bad tag")
        return body


class Arcfour(Ctr):
    block = 8

    def __init__(self, bits, key, iv, mackey, mac):
        super().__init__(128, key, iv, mackey, mac)
        self.stream = Cipher(algorithms.ARC4(key[:bits // 8]), mode=None).encryptor()


class Cbc(Ctr):
    def __init__(self, bits, key, iv, mackey, mac):
        super().__init__(bits, key, iv, mackey, mac)
        both = Cipher(algorithms.AES(key[:bits // 8]), modes.CBC(iv[:16]))
        self.stream, self.back = both.encryptor(), both.decryptor()

    def open(self, seq, read):
        first = read(4 if self.etm else 16)
        clear = first if self.etm else self.back.update(first)
        data = read(struct.unpack(">I", clear[:4])[0] + 4 - len(first))
        clear += self.back.update(data)
        if self.tag(seq, first + data if self.etm else clear) != read(len(self.mackey)):
            raise Closed("bad tag")
        return clear[4:]


def protection(cipher):
    """(class, key bits) of a cipher's name."""
    bits = 256 if "256" in cipher else 192 if "192" in cipher else 128
    return (ChaCha if cipher == CHACHA else Gcm if "gcm" in cipher else Cbc if "cbc" in cipher else
            Arcfour if "arcfour" in cipher else Ctr), bits


class Raw:
    """One connection.  role is what this peer plays."""

    def __init__(self, sock, role, hostkey=None, cipher=GCM, mac=HMAC, compression="none"):
        self.sock, self.role, self.hostkey, self.cipher, self.mac = sock, role, hostkey, cipher, mac
        self.compression, self.deflate, self.inflate = compression, None, None
        self.sock.settimeout(20)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.seq_in = self.seq_out = 0
        self.sealer = self.opener = None
        self.session_id = None
        self.strict = False
        self.buffer = b""
        self.seen = []              # message numbers that came, in order

    # -- bytes

    def read(self, n):
        while len(self.buffer) < n:
            block = self.sock.recv(1 << 18)
            if not block:
                raise Closed("end of stream")
            self.buffer += block
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        return out

    def versions(self, mine=b"SSH-2.0-Raw_1.0", before=b""):
        self.mine = mine
        self.sock.sendall(before + mine + b"\r\n")
        while True:
            line = b""
            while not line.endswith(b"\n"):
                line += self.read(1)
            if line.startswith(b"SSH-"):
                break
        self.theirs = line.rstrip(b"\r\n")

    # -- packets

    def packet(self, payload, pad=None):
        """One packet of plain text, as it goes on the wire before keys."""
        pad = pad if pad is not None else 8 - (len(payload) + 5) % 8 + (8 if (8 - (len(payload) + 5) % 8) < 4 else 0)
        return u32(len(payload) + 1 + pad) + bytes([pad]) + payload + bytes(pad)

    def send(self, payload):
        payload = bytes(payload)
        if self.deflate:
            payload = self.deflate.compress(payload) + self.deflate.flush(zlib.Z_PARTIAL_FLUSH)
        self.send_packed(payload)

    def sealed(self, payload, length=None):
        """One packet as it goes on the wire; length: what its length word says in place of the truth."""
        if self.sealer is None:
            wire = self.packet(payload)
            if length is not None:
                wire = u32(length) + wire[4:]
        else:
            block = self.sealer.block
            pad = block - (self.sealer.aligned + len(payload) + 1) % block
            pad += block if pad < 4 else 0
            body = bytes([pad]) + payload + os.urandom(pad)
            wire = self.sealer.seal(self.seq_out, u32(len(body) if length is None else length), body)
        self.seq_out = (self.seq_out + 1) & 0xFFFFFFFF
        return wire

    def send_packed(self, payload):
        """What is compressed already, or never will be."""
        self.send_wire(self.sealed(payload))

    def send_wire(self, wire):
        try:
            self.sock.sendall(wire)
        except (BrokenPipeError, ConnectionResetError) as e:
            raise Closed(str(e)) from None

    def recv(self):
        """The next payload, of any kind."""
        try:
            if self.opener is None:
                n = struct.unpack(">I", self.read(4))[0]
                if n > 300_000:
                    raise Closed(f"not a packet: {u32(n)!r}")
                body = self.read(n)
            else:
                body = self.opener.open(self.seq_in, self.read)
        except ConnectionResetError as e:
            raise Closed(str(e)) from None
        self.seq_in = (self.seq_in + 1) & 0xFFFFFFFF
        payload = body[1:len(body) - body[0]]
        if self.inflate:
            payload = self.inflate.decompress(payload)
        self.seen.append(payload[0])
        if payload[0] == DISCONNECT:
            r = Reader(payload[1:])
            raise Closed(f"disconnect {r.u32()}: {r.string().decode(errors='replace')}")
        return payload

    def expect(self, *numbers, skip=(IGNORE, DEBUG, EXT_INFO, GLOBAL_REQUEST, AUTH_BANNER)):
        while True:
            payload = self.recv()
            if payload[0] in numbers:
                return payload
            if payload[0] not in skip:
                raise AssertionError(f"message {payload[0]}, expected {numbers}; so far {self.seen}")

    def expect_closed(self):
        """Reads until the other side ends; the reason."""
        try:
            while True:
                self.recv()
        except Closed as e:
            return str(e)

    # -- key exchange

    def kexinit(self, kex=("curve25519-sha256",), strict=False, follows=False, more=(), ciphers=None):
        names = [*kex, *([STRICT[self.role]] if strict else []), *more]
        rows = [names, [hostkey_name(self.hostkey)], *[ciphers or [self.cipher]] * 2, *[[self.mac]] * 2,
                *[[self.compression]] * 2, [], []]
        self.my_kexinit = bytes([KEXINIT]) + os.urandom(16) + b"".join(string(",".join(r)) for r in rows) + \
            bytes([follows]) + u32(0)
        self.offered_strict = strict
        return self.my_kexinit

    def read_kexinit(self, payload):
        self.their_kexinit = payload
        r = Reader(payload[17:])
        self.their_names = [r.string().decode().split(",") for _ in range(10)]
        self.they_follow = r.u8() != 0
        other = STRICT["client" if self.role == "server" else "server"]
        if self.session_id is None:
            self.strict = self.offered_strict and other in self.their_names[0]

    def keys(self, secret, blob, init, reply):
        mine_first = self.role == "client"
        pair = (lambda a, b: (a, b) if mine_first else (b, a))
        hashed = b"".join(string(x) for x in (*pair(self.mine, self.theirs), *pair(self.my_kexinit, self.their_kexinit),
                                              blob, init, reply)) + mpint(secret)
        self.hash = hashlib.sha256(hashed).digest()
        self.session_id = self.session_id or self.hash
        out = {}
        for letter in b"ABCDEF":
            base = mpint(secret) + self.hash
            value = hashlib.sha256(base + bytes([letter]) + self.session_id).digest()
            value += hashlib.sha256(base + value).digest()
            out[chr(letter)] = value
        kind, bits = protection(self.cipher)
        to_server, to_client = (kind(bits, *(out[x] for x in way), self.mac) for way in ("CAE", "DBF"))
        return (to_server, to_client) if mine_first else (to_client, to_server)

    def exchange(self, inject=(), got=None):
        """After both KEXINITs: the exchange itself and NEWKEYS.  inject: payloads sent before NEWKEYS."""
        private = x25519.X25519PrivateKey.generate()
        public = private.public_key().public_bytes_raw() if hasattr(private.public_key(), "public_bytes_raw") else \
            private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        if self.role == "client":
            self.send(bytes([ECDH_INIT]) + string(public))
            r = Reader(self.expect(ECDH_REPLY, skip=(IGNORE, DEBUG))[1:])
            blob, theirs = r.string(), r.string()
            init, reply = public, theirs
        else:
            payload = got or self.expect(ECDH_INIT, skip=(IGNORE, DEBUG))
            theirs = Reader(payload[1:]).string()
            init, reply = theirs, public
            blob = public_blob(self.hostkey)
        secret = private.exchange(x25519.X25519PublicKey.from_public_bytes(theirs))
        out, into = self.keys(secret, blob, init, reply)
        if self.role == "server":
            self.send(bytes([ECDH_REPLY]) + string(blob) + string(reply) + string(sign(self.hostkey, self.hash)))
        for payload in inject:
            self.send(payload)
        self.send([NEWKEYS])
        self.sealer = out
        if self.strict:
            self.seq_out = 0
        self.expect(NEWKEYS, skip=(IGNORE, DEBUG))
        self.opener = into
        if self.strict:
            self.seq_in = 0

    def handshake(self, strict=True, mine=b"SSH-2.0-Raw_1.0", before=b"", inject=()):
        self.versions(mine, before)
        self.send(self.kexinit(strict=strict))
        self.read_kexinit(self.expect(KEXINIT, skip=()))
        self.exchange(inject)

    def rekey(self, their_kexinit=None):
        """A later exchange, started by us, or by them when their KEXINIT is given."""
        self.send(self.kexinit())
        self.read_kexinit(their_kexinit or self.expect(KEXINIT, skip=(DATA, WINDOW_ADJUST)))
        self.exchange()

    # -- authentication and channels

    def userauth(self):
        """As client: asks for the service that everything else needs."""
        self.send(bytes([SERVICE_REQUEST]) + string("ssh-userauth"))
        self.expect(SERVICE_ACCEPT)

    def key_request(self, user, key, signer=None, service="ssh-connection"):
        """The payload of a publickey request: a question, or with a signer the signed one."""
        body = bytes([AUTH_REQUEST]) + string(user) + string(service) + string("publickey") + \
            bytes([signer is not None]) + string(hostkey_name(key)) + string(public_blob(key))
        return body if signer is None else body + string(sign(signer, string(self.session_id) + body))

    def password_request(self, user, password, service="ssh-connection"):
        return bytes([AUTH_REQUEST]) + string(user) + string(service) + string("password") + b"\0" + string(password)

    def login(self, user, key):
        """As client, with an ed25519 private key."""
        self.userauth()
        self.send(self.key_request(user, key, key))
        self.expect(AUTH_SUCCESS)
        self.start_compression()

    def start_compression(self):
        """Both ways, where it was agreed (zlib@openssh.com begins with the login)."""
        if self.compression != "none":
            self.deflate, self.inflate = zlib.compressobj(), zlib.decompressobj()

    def admit(self):
        """As server: whoever comes is let in at the first request that carries a signature."""
        self.expect(SERVICE_REQUEST)
        self.send(bytes([SERVICE_ACCEPT]) + string("ssh-userauth"))
        while True:
            r = Reader(self.expect(AUTH_REQUEST)[1:])
            r.string(), r.string()
            method = r.string()
            if method == b"publickey":
                signed, algorithm, blob = r.u8(), r.string(), r.string()
                if signed:
                    self.send([AUTH_SUCCESS])
                    self.start_compression()
                    return
                self.send(bytes([AUTH_PK_OK]) + string(algorithm) + string(blob))
            else:
                self.send(bytes([AUTH_FAILURE]) + string("publickey") + b"\0")

    def open_session(self, number=0, window=1 << 21, packet=32768):
        """As client."""
        self.send(bytes([CHANNEL_OPEN]) + string("session") + u32(number) + u32(window) + u32(packet))
        r = Reader(self.expect(OPEN_CONFIRM)[1:])
        r.u32()
        return r.u32()

    def request(self, channel, kind, data=b"", want=True):
        self.send(bytes([CHANNEL_REQUEST]) + u32(channel) + string(kind) + bytes([want]) + data)

    def accept_session(self, window=1 << 21, packet=32768):
        """As server: confirms a session and grants its exec; (their channel number, the command)."""
        r = Reader(self.expect(CHANNEL_OPEN)[1:])
        assert r.string() == b"session"
        theirs = r.u32()
        self.their_window, self.their_packet = r.u32(), r.u32()
        self.send(bytes([OPEN_CONFIRM]) + u32(theirs) + u32(0) + u32(window) + u32(packet))
        while True:
            r = Reader(self.expect(CHANNEL_REQUEST)[1:])
            r.u32()
            kind, want = r.string(), r.u8()
            if want:
                self.send(bytes([CHANNEL_SUCCESS]) + u32(theirs))
            if kind in (b"exec", b"shell"):
                return theirs, r.string() if kind == b"exec" else b""

    def finish(self, theirs, status=0):
        """As server: exit status, end of data, close; waits for the other side's close."""
        self.request(theirs, "exit-status", u32(status), want=False)
        self.send(bytes([EOF]) + u32(theirs))
        self.send(bytes([CLOSE]) + u32(theirs))
        self.expect(CLOSE, skip=(DATA, EOF, WINDOW_ADJUST, GLOBAL_REQUEST, CHANNEL_REQUEST, IGNORE))


def load_key(path):
    return serialization.load_ssh_private_key(path.read_bytes(), None)


def new_key():
    return ed25519.Ed25519PrivateKey.generate()


def new_ecdsa_key():
    return ec.generate_private_key(ec.SECP256R1())


def hostkey_name(key):
    return "ecdsa-sha2-nistp256" if isinstance(key, ec.EllipticCurvePrivateKey) else "ssh-ed25519"


def public_blob(key):
    public = key.public_key()
    if isinstance(key, ec.EllipticCurvePrivateKey):
        point = public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        return string("ecdsa-sha2-nistp256") + string("nistp256") + string(point)
    return string("ssh-ed25519") + string(public.public_bytes(serialization.Encoding.Raw,
                                                              serialization.PublicFormat.Raw))


def sign(key, data):
    if isinstance(key, ec.EllipticCurvePrivateKey):
        r, s = utils.decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
        numbers = b"".join(mpint(n.to_bytes(32, "big")) for n in (r, s))
        return string("ecdsa-sha2-nistp256") + string(numbers)
    return string("ssh-ed25519") + string(key.sign(data))


def public_line(key):
    return f"{hostkey_name(key)} {base64.b64encode(public_blob(key)).decode()}"


def connect(port, **kw):
    return Raw(socket.create_connection(("127.0.0.1", port)), "client", **kw)

# SPDX-License-Identifier: ISC
"""A small SSH peer, either role, that does as it is told: also what no honest peer would.

It speaks curve25519-sha256, ssh-ed25519 and aes256-gcm@openssh.com, or chacha20-poly1305@openssh.com,
and leaves every decision to the test: which bytes go out, when, and what to make of the answers.
"""
import hashlib
import os
import socket
import struct

from cryptography.hazmat.primitives import poly1305, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG, SERVICE_REQUEST, SERVICE_ACCEPT, EXT_INFO = 1, 2, 3, 4, 5, 6, 7
KEXINIT, NEWKEYS, ECDH_INIT, ECDH_REPLY = 20, 21, 30, 31
AUTH_REQUEST, AUTH_FAILURE, AUTH_SUCCESS, AUTH_BANNER, AUTH_PK_OK = 50, 51, 52, 53, 60
GLOBAL_REQUEST, REQUEST_SUCCESS, REQUEST_FAILURE = 80, 81, 82
CHANNEL_OPEN, OPEN_CONFIRM, OPEN_FAILURE, WINDOW_ADJUST, DATA, EXTENDED_DATA, EOF, CLOSE, CHANNEL_REQUEST, \
    CHANNEL_SUCCESS, CHANNEL_FAILURE = range(90, 101)
GCM, CHACHA = "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"
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
    def __init__(self, key, iv):
        self.aead, self.iv = AESGCM(key[:32]), iv[:12]

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
    def __init__(self, key, _iv):
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


class Raw:
    """One connection.  role is what this peer plays."""

    def __init__(self, sock, role, hostkey=None, cipher=GCM):
        self.sock, self.role, self.hostkey, self.cipher = sock, role, hostkey, cipher
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
        if self.sealer is None:
            wire = self.packet(payload)
        else:
            block = 16 if isinstance(self.sealer, Gcm) else 8
            pad = block - (len(payload) + 1) % block
            pad += block if pad < 4 else 0
            body = bytes([pad]) + payload + os.urandom(pad)
            wire = self.sealer.seal(self.seq_out, u32(len(body)), body)
        self.seq_out = (self.seq_out + 1) & 0xFFFFFFFF
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
        rows = [names, ["ssh-ed25519"], *[ciphers or [self.cipher]] * 2, *[["hmac-sha2-256"]] * 2, *[["none"]] * 2, [], []]
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
        for letter in b"ABCD":
            base = mpint(secret) + self.hash
            value = hashlib.sha256(base + bytes([letter]) + self.session_id).digest()
            value += hashlib.sha256(base + value).digest()
            out[chr(letter)] = value
        kind = Gcm if self.cipher == GCM else ChaCha
        to_server, to_client = kind(out["C"], out["A"]), kind(out["D"], out["B"])
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
            raw = self.hostkey.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
            blob = string("ssh-ed25519") + string(raw)
        secret = private.exchange(x25519.X25519PublicKey.from_public_bytes(theirs))
        out, into = self.keys(secret, blob, init, reply)
        if self.role == "server":
            signature = string("ssh-ed25519") + string(self.hostkey.sign(self.hash))
            self.send(bytes([ECDH_REPLY]) + string(blob) + string(reply) + string(signature))
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

    def login(self, user, key):
        """As client, with an ed25519 private key."""
        self.send(bytes([SERVICE_REQUEST]) + string("ssh-userauth"))
        self.expect(SERVICE_ACCEPT)
        raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        body = bytes([AUTH_REQUEST]) + string(user) + string("ssh-connection") + string("publickey") + b"\1" + \
            string("ssh-ed25519") + string(string("ssh-ed25519") + string(raw))
        self.send(body + string(string("ssh-ed25519") + string(key.sign(string(self.session_id) + body))))
        self.expect(AUTH_SUCCESS)

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


def public_line(key):
    import base64
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return "ssh-ed25519 " + base64.b64encode(string("ssh-ed25519") + string(raw)).decode()


def connect(port, **kw):
    return Raw(socket.create_connection(("127.0.0.1", port)), "client", **kw)

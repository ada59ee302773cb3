# SPDX-License-Identifier: ISC
"""Logins with FIDO keys: an agent that plays the device, OpenSSH's ssh and ours as clients, our sshd, which must
ask for the touch and, where the line says so, for the PIN."""
import base64
import hashlib
import os
import socket
import struct
import subprocess
import threading

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils

from harness import world as ground
from harness.server import Sshd

TOUCH, PIN = 1, 4


def string(data):
    return struct.pack(">I", len(data)) + data


def mpint(n):
    return string(n.to_bytes(n.bit_length() // 8 + 1, "big"))


class Device:
    """An agent with one key, whose private half it has like a device."""

    def __init__(self, kind, flags):
        self.kind, self.flags = kind, flags
        point = serialization.PublicFormat
        if kind == "ed25519":
            self.key, self.name = ed25519.Ed25519PrivateKey.generate(), b"sk-ssh-ed25519@openssh.com"
            public = string(self.key.public_key().public_bytes(serialization.Encoding.Raw, point.Raw))
        else:
            self.key, self.name = ec.generate_private_key(ec.SECP256R1()), b"sk-ecdsa-sha2-nistp256@openssh.com"
            public = string(b"nistp256") + string(self.key.public_key().public_bytes(
                serialization.Encoding.X962, point.UncompressedPoint))
        self.blob = string(self.name) + public + string(b"ssh:")
        self.path = str(ground.scratch("device") / "agent")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def line(self):
        return f"{self.name.decode()} {base64.b64encode(self.blob).decode()} device"

    def sign(self, message):
        end = struct.pack(">BI", self.flags, 9)
        frame = hashlib.sha256(b"ssh:").digest() + end + hashlib.sha256(message).digest()
        if self.kind == "ed25519":
            raw = self.key.sign(frame)
        else:
            raw = b"".join(map(mpint, utils.decode_dss_signature(self.key.sign(frame, ec.ECDSA(hashes.SHA256())))))
        return string(self.name) + string(raw) + end

    def answer(self, body):
        if body[0] == 11:
            return b"\x0c" + struct.pack(">I", 1) + string(self.blob) + string(b"device")
        if body[0] == 13:
            blob_n = struct.unpack(">I", body[1:5])[0]
            at = 5 + blob_n
            n = struct.unpack(">I", body[at:at + 4])[0]
            return b"\x0e" + string(self.sign(body[at + 4:at + 4 + n]))
        return b"\x05"

    def talk(self, peer):
        with peer, peer.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                peer.sendall(string(self.answer(stream.read(struct.unpack(">I", head)[0]))))

    def serve(self):
        while True:
            try:
                peer = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.talk, args=(peer,), daemon=True).start()


@pytest.fixture(params=["ours", "theirs"])
def client(request, ours, theirs):
    return {"ours": ours, "theirs": theirs}[request.param]


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
@pytest.mark.parametrize("demanded,options,flags,said", [    # by PubkeyAuthOptions, by the key's line
    ("none", "", TOUCH, None),
    ("none", "", 0, "user presence"),
    ("none", "", PIN, "user presence"),
    ("none", "no-touch-required", 0, None),
    ("none", "no-touch-required,touch-required", 0, "user presence"),
    ("none", "verify-required", TOUCH, "user verification"),
    ("none", "verify-required", TOUCH | PIN, None),
    ("touch-required", "no-touch-required", 0, "user presence"),
    ("touch-required", "no-touch-required", TOUCH, None),
    ("verify-required", "", TOUCH, "user verification"),
    ("verify-required", "", TOUCH | PIN, None),
    ("verify-required", "no-touch-required", 0, "user verification"),
    ("verify-required", "no-touch-required", PIN, None),
    ("touch-required verify-required", "no-touch-required", PIN, "user presence"),
    ("touch-required verify-required", "no-touch-required", TOUCH | PIN, None),
])
def test_the_device_must_have_been_touched(world, ours, client, kind, demanded, options, flags, said):
    device, folder = Device(kind, flags), ground.scratch("fido")
    with Sshd(world, ours, [] if demanded == "none" else [f"PubkeyAuthOptions {demanded}"]) as server:
        (server.dir / "authorized_keys").write_text(f"{options} {device.line()}".strip() + "\n")
        server.start()
        (folder / "known_hosts").write_text(
            "".join(f"[{server.host}]:{server.port} {p}\n" for p in server.host_publics))
        command = [client.ssh, "-F", "none", "-p", str(server.port), "-l", server.user]
        for option in ("BatchMode=yes", f"UserKnownHostsFile={folder}/known_hosts", "GlobalKnownHostsFile=none",
                       f"IdentityAgent={device.path}", "PreferredAuthentications=publickey"):
            command += ["-o", option]
        done = subprocess.run([*command, server.host, "echo in"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, env=dict(os.environ, SSH_AUTH_SOCK=device.path))
        device.listener.close()
        assert (done.stdout == "in\n") == (said is None), done.stderr + server.log()
        if said:
            assert f"{said}" in server.log()

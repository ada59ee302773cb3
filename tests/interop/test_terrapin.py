# SPDX-License-Identifier: ISC
"""Terrapin: an attacker on the path adds a packet before the keys and takes one away after them.

The peer is AsyncSSH; the attacker stands between it and the tested program and counts packets, which
are readable until NEWKEYS.  With strict key exchange the connection must end.  The attack is proved to
work, too: with a peer that offers no strict key exchange the same steps go unnoticed by the reference.
"""
import asyncio
import socket
import struct
import subprocess
import threading
import warnings

import pytest

import peers
from harness import rawssh as raw
from harness import world as ground
from harness.client import Ssh
from harness.server import Sshd

NEWKEYS = 21


class Attacker:
    """A relay to a server.  Towards the client it adds an IGNORE just before the server's NEWKEYS and
    drops the first packet after it; towards the server likewise when attack is "server"."""

    def __init__(self, port, attack):
        self.target, self.attack = port, attack
        self.done = threading.Event()       # both steps were taken
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.relay, args=(near, far, self.attack == "server"), daemon=True).start()
            threading.Thread(target=self.relay, args=(far, near, self.attack == "client"), daemon=True).start()

    def relay(self, source, sink, attacked):
        try:
            f = source.makefile("rb")
            line = f.readline()
            sink.sendall(line)
            while True:
                head = f.read(4)
                if len(head) < 4:
                    break
                body = f.read(struct.unpack(">I", head)[0])
                if body[1] == NEWKEYS:
                    if attacked:
                        sink.sendall(bytes([0, 0, 0, 12, 6, 2, 0, 0, 0, 0]) + bytes(6))     # IGNORE
                    sink.sendall(head + body)
                    break
                sink.sendall(head + body)
            if attacked:
                # chacha20-poly1305: what follows NEWKEYS in its own write is one packet
                dropped = source.recv(65536) if not f.peek(1) else f.read1(65536)
                if dropped:
                    self.done.set()
            while block := f.read1(65536):
                sink.sendall(block)
        except (OSError, struct.error, IndexError):
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stop(self):
        self.listener.close()


@pytest.fixture
def asyncssh_server(world):
    with peers.AsyncsshServer(world).start() as server:
        yield server


class Behind:
    """A server as seen through the attacker."""
    link = None

    def __init__(self, server, attacker):
        self.host, self.port, self.user, self.password = "127.0.0.1", attacker.port, server.user, server.password
        self.host_publics, self.world = server.host_publics, server.world


CHACHA = ["Ciphers=chacha20-poly1305@openssh.com"]


def test_client_ends_when_packets_are_added_and_removed(world, ours, asyncssh_server):
    attacker = Attacker(asyncssh_server.port, "client")
    result = Ssh(world, ours).run(Behind(asyncssh_server, attacker), "echo in", options=CHACHA, timeout=30)
    attacker.stop()
    assert result.status == 255 and b"in" not in result.out, str(result)
    assert "SSH2_MSG_SERVICE_ACCEPT received" not in result.log, "the client went on after the attack"


def test_client_works_through_the_same_relay_without_the_attack(world, ours, asyncssh_server):
    attacker = Attacker(asyncssh_server.port, "nobody")
    result = Ssh(world, ours).run(Behind(asyncssh_server, attacker), "echo in", options=CHACHA, timeout=30)
    attacker.stop()
    assert result.status == 0 and result.out == b"in\n", str(result)


def asyncssh_login(world, port, server, seconds=15):
    command = [*peers.python_peer("asyncssh_client"), str(port), server.user,
               f"key:{world.keys.path('ed25519')}", " ".join(server.host_publics[0].split()[:2]), "0", "0", "echo in"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return b""
    return done.stdout


def test_server_ends_when_packets_are_added_and_removed(world, ours):
    with Sshd(world, ours, CHACHA_SERVER).start() as server:
        attacker = Attacker(server.port, "nobody")
        assert asyncssh_login(world, attacker.port, server) == b"in\n"
        attacker.stop()
        attacker = Attacker(server.port, "server")
        assert b"in" not in asyncssh_login(world, attacker.port, server)
        attacker.stop()
        assert ground.wait_until(lambda: server.log().count("Accepted publickey") == 1, 2)


CHACHA_SERVER = ["Ciphers chacha20-poly1305@openssh.com"]


def test_asyncssh_that_sends_ignore_in_the_first_exchange_is_refused(world, ours, monkeypatch):
    """AsyncSSH itself as the attacker: it offers strict key exchange and breaks it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # it loads old ciphers
        import asyncssh

    async def login(server):
        known = asyncssh.import_known_hosts(f"[127.0.0.1]:{server.port} {server.host_publics[0]}\n")
        try:
            connection = await asyncio.wait_for(asyncssh.connect(
                "127.0.0.1", server.port, username=server.user, known_hosts=known, config=None, agent_path=None,
                client_keys=[str(world.keys.path("ed25519"))]), 10)
        except (OSError, asyncssh.Error, asyncio.TimeoutError):
            return False
        connection.abort()
        return True

    kind = asyncssh.connection.SSHConnection
    honest = kind.send_newkeys

    def bad(self, k, h):
        self.send_packet(raw.IGNORE, raw.string(b"x"))
        honest(self, k, h)

    with Sshd(world, ours).start() as server:
        assert asyncio.run(login(server)), server.log()
        monkeypatch.setattr(kind, "send_newkeys", bad)
        assert not asyncio.run(login(server))


def test_the_attack_works_without_strict_key_exchange(world, theirs):
    """What the tests above would miss if the attack itself were broken: the reference, not strict."""
    def attack(strict):
        with Sshd(world, theirs, CHACHA_SERVER).start() as server:
            peer = raw.connect(server.port, cipher=raw.CHACHA)
            # the injected packet shifts the server's count by one, and the first encrypted packet is not sent
            peer.handshake(strict=strict, inject=[bytes([raw.IGNORE]) + raw.string(b"")])
            peer.seq_out = peer.seq_out if strict else peer.seq_out - 1     # an honest client never counted it
            peer.seq_out += 1                                              # the packet that the attacker dropped
            try:
                peer.login(server.user, raw.load_key(world.keys.path("ed25519")))
                return True
            except raw.Closed:
                return False
            finally:
                peer.sock.close()
    assert attack(strict=False)
    assert not attack(strict=True)

# SPDX-License-Identifier: ISC
"""Peers that are strange, broken or hostile, scripted packet by packet (harness/rawssh.py)."""
import socket
import subprocess
import time

import pytest

from harness import rawssh as raw
from harness.client import Ssh
from harness.measure import pss_kib
from harness.rawserver import RawServer, run, well
from harness.server import Sshd


def simple(peer):
    """An honest server that prints one line."""
    peer.handshake()
    peer.admit()
    theirs, _ = peer.accept_session()
    peer.send(bytes([raw.DATA]) + raw.u32(theirs) + raw.string("fine\n"))
    peer.finish(theirs)


@pytest.fixture(scope="module")
def server(world, ours):
    with Sshd(world, ours).start() as s:
        yield s


@pytest.fixture
def peer(server):
    p = raw.connect(server.port)
    yield p
    p.sock.close()


def logged_in(peer, server, **kw):
    peer.handshake(**kw)
    peer.login(server.user, raw.load_key(server.world.keys.path("ed25519")))
    return peer


# -- version exchange

@pytest.mark.parametrize("lines", (0, 1, 50, 1000))
def test_client_accepts_lines_before_the_version(world, ours, lines):
    def script(peer):
        peer.handshake(before=b"notice: maintenance\r\n" * lines)
        peer.admit()
        peer.finish(peer.accept_session()[0])
    well(*run(world, ours, script))


def test_client_shows_no_control_bytes_of_a_banner_line(world, ours):
    def script(peer):
        peer.handshake(before=b"red \x1b[31malert\x07\r\n")
        peer.admit()
        peer.finish(peer.accept_session()[0])
    result = well(*run(world, ours, script))
    shown = result.err + (result.log if ours.is_bowline else "")      # OpenSSH writes them into its log
    assert "\x1b" not in shown and "\x07" not in shown


@pytest.mark.parametrize("version", (b"SSH-2.0-a_b-c d e f", b"SSH-2.0-x", b"SSH-2.0-dashes-in-the-name- and  blanks ",
                                     b"SSH-1.99-old"))
def test_version_texts_are_hashed_as_they_are(world, ours, version):
    def script(peer):
        peer.handshake(mine=version)
        peer.admit()
        peer.finish(peer.accept_session()[0])
    well(*run(world, ours, script))


@pytest.mark.parametrize("version", (b"SSH-2.0-a_b-c d e f", b"SSH-2.0-x"))
def test_server_hashes_version_texts_as_they_are(peer, server, version):
    logged_in(peer, server, mine=version)


def test_server_refuses_lines_before_the_version(peer):
    peer.sock.sendall(b"hello\r\nSSH-2.0-Raw\r\n")
    assert b"SSH-2.0-" in peer.sock.recv(4096)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if not peer.sock.recv(4096):
                return
        except ConnectionResetError:
            return
    pytest.fail("still connected")


# -- key exchange

@pytest.mark.parametrize("message", ([raw.IGNORE, 0, 0, 0, 0], [raw.DEBUG, 0] + [0] * 8), ids=("ignore", "debug"))
@pytest.mark.parametrize("strict", (True, False), ids=("strict", "plain"))
def test_client_and_messages_inside_the_first_exchange(world, ours, message, strict):
    def script(peer):
        peer.handshake(strict=strict, inject=[bytes(message)])
        peer.admit()
        peer.finish(peer.accept_session()[0])
    result, server = run(world, ours, script)
    if strict:
        assert result.status == 255 and server.closed, str(result)
    else:
        well(result, server)


@pytest.mark.parametrize("message", ([raw.IGNORE, 0, 0, 0, 0], [raw.DEBUG, 0] + [0] * 8), ids=("ignore", "debug"))
@pytest.mark.parametrize("strict", (True, False), ids=("strict", "plain"))
def test_server_and_messages_inside_the_first_exchange(peer, server, message, strict):
    if strict:
        with pytest.raises(raw.Closed):
            logged_in(peer, server, strict=True, inject=[bytes(message)])
    else:
        logged_in(peer, server, strict=False, inject=[bytes(message)])


def test_strict_kexinit_must_be_first(peer):
    peer.versions()
    peer.send([raw.IGNORE, 0, 0, 0, 0])
    peer.send(peer.kexinit(strict=True))
    peer.read_kexinit(peer.expect(raw.KEXINIT, skip=()))
    with pytest.raises(raw.Closed):
        peer.exchange()
        peer.login("x", raw.new_key())


@pytest.mark.parametrize("right", (True, False), ids=("right", "wrong"))
def test_server_and_a_guessed_first_packet(peer, server, right):
    peer.versions()
    names = ("curve25519-sha256",) if right else ("guess@example.org", "curve25519-sha256")
    peer.send(peer.kexinit(kex=names, strict=True, follows=True))
    if not right:
        peer.send(bytes([raw.ECDH_INIT]) + raw.string(b"a guess that nobody wants"))
    peer.read_kexinit(peer.expect(raw.KEXINIT, skip=()))
    if right and peer.their_names[0][0] != "curve25519-sha256":
        # the guess is right only when both sides name it first: the first packet is dropped otherwise
        peer.send(bytes([raw.ECDH_INIT]) + raw.string(b"dropped, as the server prefers another"))
    peer.exchange()
    peer.login(server.user, raw.load_key(server.world.keys.path("ed25519")))


def test_client_drops_the_servers_wrong_guess(world, ours):
    def script(peer):
        peer.versions()
        peer.send(peer.kexinit(kex=("guess@example.org", "curve25519-sha256"), strict=True, follows=True))
        peer.send(bytes([raw.ECDH_REPLY]) + raw.string(b"a guess"))
        peer.read_kexinit(peer.expect(raw.KEXINIT, skip=()))
        peer.exchange()
        peer.admit()
        peer.finish(peer.accept_session()[0])
    well(*run(world, ours, script))


@pytest.mark.parametrize("point", (bytes(32), b"\1" + bytes(31), bytes(31), bytes(33), b""),
                         ids=("zero", "one", "short", "long", "empty"))
def test_server_refuses_bad_public_values(peer, point):
    peer.versions()
    peer.send(peer.kexinit(strict=True))
    peer.read_kexinit(peer.expect(raw.KEXINIT, skip=()))
    peer.send(bytes([raw.ECDH_INIT]) + raw.string(point))
    peer.expect_closed()
    assert raw.ECDH_REPLY not in peer.seen and raw.NEWKEYS not in peer.seen


def test_a_server_that_never_answers_is_named(world, ours):
    if not ours.is_bowline:
        pytest.skip("the installed OpenSSH waits without an end")

    def script(peer):
        peer.versions()
        peer.send(peer.kexinit(strict=True))
        peer.expect(raw.KEXINIT)
        peer.expect_closed()
    result, _ = run(world, ours, script, options=["ConnectTimeout=3"], timeout=20)
    assert result.status == 255
    assert "curve25519-sha256" in result.err + result.log and "key exchange" in (result.err + result.log).lower()


def test_client_takes_2000_data_packets_before_the_answer_to_its_kexinit(world, ours):
    def script(peer):
        peer.handshake()
        peer.admit()
        theirs, _ = peer.accept_session()
        block = bytes([raw.DATA]) + raw.u32(theirs) + raw.string(b"x" * 500)
        sent = 0
        while True:             # feed the client until it wants new keys
            for _ in range(50):
                peer.send(block)
                sent += 1
            peer.sock.settimeout(0.05)
            try:
                payload = peer.recv()
            except TimeoutError:
                continue
            finally:
                peer.sock.settimeout(20)
            if payload[0] == raw.KEXINIT:
                break
        for _ in range(2000):
            peer.send(block)
            sent += 1
        peer.rekey(payload)
        peer.send(bytes([raw.DATA]) + raw.u32(theirs) + raw.string(b"y" * sent))
        peer.finish(theirs)
    result = well(*run(world, ours, script, options=["RekeyLimit=64K"]))
    assert result.out.count(b"x") == 500 * result.out.count(b"y") and result.rekeys >= 1


# -- before authentication

@pytest.mark.parametrize("number", (raw.AUTH_SUCCESS, raw.AUTH_FAILURE, raw.AUTH_PK_OK, raw.REQUEST_SUCCESS,
                                    raw.OPEN_CONFIRM, raw.DATA, raw.CHANNEL_REQUEST, raw.CHANNEL_OPEN,
                                    raw.GLOBAL_REQUEST))
@pytest.mark.parametrize("asked", (False, True), ids=("at once", "in userauth"))
def test_server_gives_nothing_before_authentication(peer, server, number, asked):
    mark = server.world.tmp / "never"
    peer.handshake()
    if asked:
        peer.send(bytes([raw.SERVICE_REQUEST]) + raw.string("ssh-userauth"))
        peer.expect(raw.SERVICE_ACCEPT)
    body = {raw.CHANNEL_OPEN: raw.string("session") + raw.u32(0) + raw.u32(1 << 20) + raw.u32(32768),
            raw.CHANNEL_REQUEST: raw.u32(0) + raw.string("exec") + b"\1" + raw.string(f"touch {mark}"),
            raw.GLOBAL_REQUEST: raw.string("tcpip-forward") + b"\1" + raw.string("") + raw.u32(0),
            raw.DATA: raw.u32(0) + raw.string("x")}.get(number, b"")
    peer.send(bytes([number]) + body)
    peer.sock.settimeout(2)
    try:
        peer.expect_closed()
    except TimeoutError:
        pass                # still there: it must at least have given nothing
    assert not mark.exists()
    given = {raw.OPEN_CONFIRM, raw.CHANNEL_SUCCESS, raw.DATA, raw.REQUEST_SUCCESS, raw.AUTH_SUCCESS} & set(peer.seen)
    assert not given, f"got {given}"


# -- channels and requests

def test_client_answers_requests_only_when_asked(world, ours):
    answers = []

    def script(peer):
        peer.handshake()
        peer.admit()
        theirs, _ = peer.accept_session()
        peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string("hostkeys-00@openssh.com") + b"\0")
        peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string("nobody-knows@example.org") + b"\0")
        peer.request(theirs, "nobody-knows@example.org", want=False)
        peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string("nobody-knows@example.org") + b"\1")
        answers.append(peer.expect(raw.REQUEST_FAILURE, raw.REQUEST_SUCCESS, raw.UNIMPLEMENTED,
                                   skip=(raw.EOF, raw.GLOBAL_REQUEST))[0])
        peer.request(theirs, "nobody-knows@example.org", want=True)
        answers.append(peer.expect(raw.CHANNEL_FAILURE, raw.CHANNEL_SUCCESS, raw.UNIMPLEMENTED,
                                   skip=(raw.EOF, raw.GLOBAL_REQUEST))[0])
        peer.finish(theirs)
    well(*run(world, ours, script))
    assert answers == [raw.REQUEST_FAILURE, raw.CHANNEL_FAILURE]


def test_server_answers_requests_only_when_asked(peer, server):
    logged_in(peer, server)
    peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string("nobody-knows@example.org") + b"\0")
    peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string("nobody-knows@example.org") + b"\1")
    assert peer.expect(raw.REQUEST_FAILURE, raw.UNIMPLEMENTED, raw.REQUEST_SUCCESS)[0] == raw.REQUEST_FAILURE
    channel = peer.open_session()
    peer.request(channel, "nobody-knows@example.org", want=False)
    peer.request(channel, "nobody-knows@example.org", want=True)
    assert peer.expect(raw.CHANNEL_FAILURE, raw.CHANNEL_SUCCESS, raw.UNIMPLEMENTED)[0] == raw.CHANNEL_FAILURE
    peer.request(channel, "exec", raw.string("exit 7"))
    peer.expect(raw.CHANNEL_SUCCESS, skip=(raw.WINDOW_ADJUST, raw.EXT_INFO))


@pytest.mark.parametrize("window,packet,step", ((0, 32768, 100_000), (16384, 35840, 16384), (1, 1024, 50_000)))
def test_client_lives_with_small_windows(world, ours, window, packet, step):
    data, got = bytes(i * 13 & 0xFF for i in range(400_000)), []

    def script(peer):
        peer.handshake()
        peer.admit()
        theirs, _ = peer.accept_session(window, packet)
        if window == 0:
            time.sleep(0.3)
        room, total = window, 0
        while True:
            if room <= 0 or total + room < len(data):
                peer.send(bytes([raw.WINDOW_ADJUST]) + raw.u32(theirs) + raw.u32(step))
                room += step
            payload = peer.expect(raw.DATA, raw.EOF)
            if payload[0] == raw.EOF:
                break
            r = raw.Reader(payload[1:])
            r.u32()
            block = r.string()
            room -= len(block)
            total += len(block)
            assert len(block) <= packet and room >= 0, f"{len(block)} bytes, window left {room}"
            got.append(block)
        peer.finish(theirs)
    well(*run(world, ours, script, stdin=data))
    assert b"".join(got) == data


def test_server_with_a_full_window_that_nobody_widens(peer, server):
    """2^32-1 bytes from the start and not one more: 600 MB must flow."""
    logged_in(peer, server)
    channel = peer.open_session(window=0xFFFFFFFF)
    peer.request(channel, "exec", raw.string("head -c 600000000 /dev/zero"), want=False)
    total = 0
    while True:
        payload = peer.expect(raw.DATA, raw.CLOSE, skip=(raw.EOF, raw.CHANNEL_REQUEST, raw.WINDOW_ADJUST, raw.EXT_INFO,
                                                        raw.GLOBAL_REQUEST))
        if payload[0] == raw.CLOSE:
            break
        total += len(payload) - 9
    assert total == 600_000_000


def test_client_memory_is_bounded_when_data_comes_beyond_its_window(world, ours):
    def script(peer):
        peer.handshake()
        peer.admit()
        theirs, _ = peer.accept_session()
        block = bytes([raw.DATA]) + raw.u32(theirs) + raw.string(b"x" * 16384)
        for _ in range((256 << 20) // 16384):
            peer.send(block)
    # nobody reads what the client writes, so that its window must close
    with RawServer(world, script) as server:
        command, _, _ = Ssh(world, ours).command(server)
        child = subprocess.Popen([*command, "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        memory = 0
        for _ in range(50):
            if child.poll() is not None:
                break
            memory = max(memory, pss_kib(child.pid))
            time.sleep(0.1)
        status = child.poll()
        child.kill()
        child.wait()
        child.stdout.close()
    assert status in (255, None) and memory < 100_000, f"status {status}, {memory} KiB"


def test_many_sessions_on_one_connection_tell_their_status(peer, server):
    logged_in(peer, server)
    for number in range(200):
        channel = peer.open_session(number)
        peer.request(channel, "exec", raw.string(f"exit {number % 100}"), want=False)
        status, closed = None, False
        while not closed:
            payload = peer.expect(raw.CHANNEL_REQUEST, raw.CLOSE, raw.EOF, raw.DATA,
                                  skip=(raw.WINDOW_ADJUST, raw.EXT_INFO, raw.GLOBAL_REQUEST))
            r = raw.Reader(payload[1:])
            assert r.u32() == number, "a message for a closed channel"
            if payload[0] == raw.CHANNEL_REQUEST and r.string() == b"exit-status":
                r.u8()
                status = r.u32()
            closed = payload[0] == raw.CLOSE
        assert status == number % 100
        peer.send(bytes([raw.CLOSE]) + raw.u32(channel))


def test_server_survives_close_from_both_sides_at_once(peer, server):
    logged_in(peer, server)
    for number in range(50):
        channel = peer.open_session(number)
        peer.request(channel, "exec", raw.string("true"), want=False)
        peer.send(bytes([raw.EOF]) + raw.u32(channel))
        peer.send(bytes([raw.CLOSE]) + raw.u32(channel))
        peer.expect(raw.CLOSE, skip=(raw.EOF, raw.DATA, raw.CHANNEL_REQUEST, raw.WINDOW_ADJUST, raw.EXT_INFO,
                                     raw.GLOBAL_REQUEST))
    assert peer.open_session(1000) is not None


def test_rekey_started_by_a_raw_peer(world, ours, peer, server):
    logged_in(peer, server)
    channel = peer.open_session()
    peer.request(channel, "exec", raw.string("cat"), want=False)
    for n in range(3):
        peer.rekey()
        peer.send(bytes([raw.DATA]) + raw.u32(channel) + raw.string(f"round {n}"))
        payload = peer.expect(raw.DATA, skip=(raw.WINDOW_ADJUST, raw.EXT_INFO, raw.GLOBAL_REQUEST))
        assert payload[9:] == f"round {n}".encode()

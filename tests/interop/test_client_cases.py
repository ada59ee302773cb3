# SPDX-License-Identifier: ISC
"""Our client against servers that break the rules, one kind of fault a test.

The peers are scripts (harness/rawserver.py).  A fault must end the client with 255, by its own decision and
before the server gives up; where the server is only unusual, the session must go on and tell its status.
"""
import re
import socket
import subprocess
import time

import pytest

from harness import rawssh as raw
from harness.client import Ssh
from harness.rawserver import RawServer, run, well
from harness.world import wait_until

PROTECTIONS = ((raw.GCM128, raw.HMAC), (raw.GCM, raw.HMAC), (raw.CHACHA, raw.HMAC), ("aes128-ctr", raw.HMAC),
               ("aes192-ctr", raw.HMAC_ETM), ("aes256-ctr", raw.HMAC512_ETM))
LARGEST = 256 * 1024        # of a packet from a server
FIRST = 35000               # before the login (RFC 4253 6.1); OpenSSH takes the largest always


def session(peer):
    """From the version to a running command; our number of its channel."""
    peer.handshake()
    peer.admit()
    return peer.accept_session()[0]


def data(theirs, text):
    return bytes([raw.DATA]) + raw.u32(theirs) + raw.string(text)


def refused(result, server, times=1):
    """The client ended it by itself, as often as that."""
    assert wait_until(lambda: server.faults or len(server.closed) >= times, 25)
    assert not server.faults, f"{server.faults[0]!r}\n{result}"
    assert result.status == 255, f"{result}\nserver saw: {server.closed}"
    return result


# -- lengths: a length is judged before anything is done with it

@pytest.mark.parametrize("cipher,mac", PROTECTIONS, ids=lambda x: x.split("@")[0])
def test_client_judges_every_packet_length(world, ours, cipher, mac):
    """The word in front of the first packet under keys, from nothing to 4 GiB; then a tag that is wrong or short."""
    hidden = cipher.endswith("-ctr") and "-etm" not in mac
    largest = FIRST if ours.is_bowline else LARGEST
    lengths = [0, 1, 4, 5, 43, largest + 1, largest + 16, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF]
    todo = [*lengths, "flip", "cut"]
    ignore = bytes([raw.IGNORE]) + raw.string(b"x" * 22)

    def script(peer):
        case = todo.pop(0)
        peer.handshake()
        if case == "flip":
            wire = peer.sealed(ignore)
            peer.send_wire(wire[:-1] + bytes([wire[-1] ^ 1]))
        elif case == "cut":
            peer.send_wire(peer.sealed(ignore)[:-1])
            peer.sock.shutdown(1)
        else:
            peer.send_wire(peer.sealed(ignore, case))
            if hidden:          # nothing may be told from when the answer comes: it waits for a whole packet
                peer.send_wire(bytes(largest + 64))
        peer.expect_closed()
        raise raw.Closed(f"{case}")
    with RawServer(world, script, cipher=cipher, mac=mac) as server:
        for n, case in enumerate(list(todo)):
            refused(Ssh(world, ours).run(server, "x", timeout=20), server, n + 1)
            assert server.closed[-1] == str(case)


@pytest.mark.parametrize("cipher,mac", PROTECTIONS, ids=lambda x: x.split("@")[0])
def test_client_takes_the_largest_packet_and_none_above(world, ours, cipher, mac):
    """Of packet_length, less what the block size cuts off; before the login and after it."""
    first = FIRST if ours.is_bowline else LARGEST

    def filled(peer, limit, more):
        block, aligned = peer.sealer.block, peer.sealer.aligned
        largest = (limit + aligned) // block * block - aligned + more * block
        return bytes([raw.IGNORE]) + raw.string(bytes(largest - 1 - 4 - 5))

    def too_much(peer, limit):
        peer.send(filled(peer, limit, 1))
        if peer.sealer.aligned:         # its length is hidden: a whole packet is awaited
            peer.send_wire(bytes(2000))
        raise raw.Closed(peer.expect_closed())

    def script(peer):
        peer.handshake()
        peer.send(filled(peer, first, 0))
        if over == "first":
            too_much(peer, first)
        peer.admit()
        peer.send(filled(peer, LARGEST, 0))
        theirs = peer.accept_session()[0]
        if over == "later":
            too_much(peer, LARGEST)
        peer.finish(theirs)
    for over in ("", "first", "later"):
        with RawServer(world, script, cipher=cipher, mac=mac) as server:
            result = Ssh(world, ours).run(server, "x")
        if over:
            refused(result, server)
        else:
            well(result, server)


# -- messages at the wrong time

EARLY = {"ext-info": bytes([raw.EXT_INFO]) + raw.u32(1) + raw.string("server-sig-algs") + raw.string("ssh-rsa"),
         "accept": bytes([raw.SERVICE_ACCEPT]) + raw.string("ssh-userauth"),
         "banner": bytes([raw.AUTH_BANNER]) + raw.string("injected words") + raw.string(""),
         "failure": bytes([raw.AUTH_FAILURE]) + raw.string("password") + b"\0",
         "success": bytes([raw.AUTH_SUCCESS]),
         "open": bytes([raw.CHANNEL_OPEN]) + raw.string("session") + raw.u32(0) + raw.u32(9) + raw.u32(9),
         "global": bytes([raw.GLOBAL_REQUEST]) + raw.string("hostkeys-00@openssh.com") + b"\1",
         "ping": bytes([192]) + raw.string("x"),
         "newkeys": bytes([raw.NEWKEYS])}


@pytest.mark.parametrize("name", EARLY)
@pytest.mark.parametrize("strict", (True, False), ids=("strict", "plain"))
def test_client_and_what_was_said_before_encryption(world, ours, name, strict):
    """Words that anyone on the way can put into the stream count for nothing once there are keys."""
    places = ["first", "exchange"]

    def script(peer):
        place = places.pop(0)
        if place == "exchange":
            peer.handshake(strict=strict, inject=[EARLY[name]])
        else:
            peer.versions()
            peer.send(EARLY[name])
            peer.send(peer.kexinit(strict=strict))
            peer.read_kexinit(peer.expect(raw.KEXINIT, skip=()))
            peer.exchange()
        peer.admit()
        peer.finish(peer.accept_session()[0])
    with RawServer(world, script) as server:
        for n, _ in enumerate(list(places)):
            result = refused(Ssh(world, ours).run(server, "x"), server, n + 1)
            assert "injected words" not in result.err + result.log


@pytest.mark.parametrize("place", ("twice", "in login", "in session", "before the reply of a rekey"))
def test_client_and_newkeys_out_of_turn(world, ours, place):
    def script(peer):
        peer.handshake()
        if place == "twice":
            peer.send([raw.NEWKEYS])
        if place == "in login":
            peer.expect(raw.SERVICE_REQUEST)
            peer.send(bytes([raw.SERVICE_ACCEPT]) + raw.string("ssh-userauth"))
            peer.expect(raw.AUTH_REQUEST)
            peer.send([raw.NEWKEYS])
        else:
            peer.admit()
        theirs = peer.accept_session()[0]
        if place == "before the reply of a rekey":
            peer.send(peer.kexinit())
        peer.send([raw.NEWKEYS])
        raise raw.Closed(peer.expect_closed())
    refused(*run(world, ours, script, timeout=20))


@pytest.mark.parametrize("right", (True, False), ids=("right", "wrong"))
def test_client_and_a_guess_at_a_rekey(world, ours, right):
    """A wrong guess is left out, once, also later in a session; a right one is a reply to nothing."""
    guess = bytes([raw.ECDH_REPLY]) + raw.string("key") + raw.string(bytes(32)) + raw.string("signature")

    def script(peer):
        theirs = session(peer)
        names = tuple(peer.their_names[0][:1]) if right else ("guess@example.org", "curve25519-sha256")
        peer.send(peer.kexinit(kex=names, follows=True))
        peer.send(guess)
        if right:
            raise raw.Closed(peer.expect_closed())
        peer.read_kexinit(peer.expect(raw.KEXINIT, skip=(raw.EOF, raw.WINDOW_ADJUST)))
        peer.exchange()
        peer.send(data(theirs, "after"))
        peer.finish(theirs)
    # right in both lists: the first host key algorithm counts too
    options = ["KexAlgorithms=curve25519-sha256", "HostKeyAlgorithms=ssh-ed25519"]
    result, server = run(world, ours, script, options=options, timeout=20)
    if right:
        refused(result, server)
    else:
        assert well(result, server).out == b"after"


def test_client_skips_one_guess_only(world, ours):
    guess = bytes([raw.ECDH_REPLY]) + raw.string("a guess")

    def script(peer):
        theirs = session(peer)
        peer.send(peer.kexinit(kex=("guess@example.org", "curve25519-sha256"), follows=True))
        peer.send(guess)
        peer.send(guess)
        peer.read_kexinit(peer.expect(raw.KEXINIT, skip=(raw.EOF, raw.WINDOW_ADJUST)))
        peer.exchange()
        peer.finish(theirs)
    refused(*run(world, ours, script, timeout=20))


def test_client_bounds_what_it_owes_while_keys_change(world, ours):
    """Answers pile up while a key exchange holds them back: so many, then it is over."""
    sent = []

    def script(peer):
        theirs = session(peer)
        block = data(theirs, b"x" * 1000)
        while True:
            for _ in range(40):
                peer.send(block)
            peer.sock.settimeout(0.05)
            try:
                if peer.recv()[0] == raw.KEXINIT:
                    break
            except TimeoutError:
                continue
            finally:
                peer.sock.settimeout(20)
        ping = bytes([192]) + raw.string(b"y" * 200)
        for i in range(200_000):
            peer.send(ping)
            sent.append(i)
    result, server = run(world, ours, script, options=["RekeyLimit=64K"])
    refused(result, server)
    assert 0 < len(sent) < 150_000


# -- the host's key

@pytest.mark.parametrize("kind", ("ed25519", "ecdsa"))
@pytest.mark.parametrize("known", (True, False), ids=("known", "unknown"))
def test_client_and_another_host_key_at_a_rekey(world, ours, kind, known):
    """Who changes the key in the middle is asked about as at the start: of the same kind and of another one."""
    other = raw.new_key() if kind == "ed25519" else raw.new_ecdsa_key()

    def script(peer):
        theirs = session(peer)
        peer.send(data(theirs, "before "))
        peer.hostkey = other
        peer.send(peer.kexinit())
        peer.read_kexinit(peer.expect(raw.KEXINIT, skip=(raw.EOF, raw.WINDOW_ADJUST)))
        peer.exchange()
        peer.send(data(theirs, "after"))
        peer.finish(theirs)
    with RawServer(world, script) as server:
        if known:
            server.host_publics.append(raw.public_line(other))
        result = Ssh(world, ours).run(server, "x", timeout=20)
    if known:
        assert well(result, server).out == b"before after"
    else:
        refused(result, server)
        assert b"after" not in result.out
        assert "IDENTIFICATION HAS CHANGED" in result.err + result.log, str(result)


@pytest.mark.parametrize("mark", ("@revoked {name} {key}", "@revoked * {key}"))
def test_client_never_takes_a_revoked_key(world, ours, mark):
    """Not even when it is listed as good, too, and the checking is off."""
    def script(peer):
        peer.handshake()
        peer.admit()
    for checking in ("yes", "no", "accept-new"):
        with RawServer(world, script) as server:
            client = Ssh(world, ours)
            command, log, folder = client.command(server, [f"StrictHostKeyChecking={checking}"])
            known = folder / "known_hosts"
            key = server.host_publics[0]
            command = [c if c != "StrictHostKeyChecking=yes" else f"StrictHostKeyChecking={checking}" for c in command]
            known.write_text(known.read_text() + mark.format(name=f"[127.0.0.1]:{server.port}", key=key) + "\n")
            done = subprocess.run([*command, "x"], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        assert done.returncode == 255 and server.closed, checking
        assert b"REVOKED" in done.stderr + log.read_bytes()


# -- compression

def test_client_stops_a_packet_that_expands_without_end(world, ours):
    def script(peer):
        theirs = session(peer)
        assert peer.their_names[6] == ["zlib@openssh.com", "none"], "compression before the login"
        peer.send(bytes([raw.IGNORE]) + raw.string(bytes(30_000)))      # this much is right
        peer.send(data(theirs, "fine"))
        bomb = peer.deflate.compress(bytes([raw.IGNORE]) + raw.string(bytes(20_000_000)))
        peer.send_packed(bomb + peer.deflate.flush(2))
        peer.finish(theirs)
    result, server = run(world, ours, script, peer={"compression": "zlib@openssh.com"}, options=["Compression=yes"],
                         timeout=20)
    refused(result, server)
    assert result.out == b"fine"


# -- authentication

@pytest.mark.parametrize("trivial", (True, False))
def test_client_says_so_when_it_was_let_in_for_nothing(world, ours, trivial):
    """A server that wants no proof may want it later, for somebody else: the user is told."""
    def script(peer):
        peer.handshake()
        if trivial:
            peer.expect(raw.SERVICE_REQUEST)
            peer.send(bytes([raw.SERVICE_ACCEPT]) + raw.string("ssh-userauth"))
            peer.expect(raw.AUTH_REQUEST)
            peer.send([raw.AUTH_SUCCESS])
        else:
            peer.admit()
        peer.finish(peer.accept_session()[0])
    result = well(*run(world, ours, script, auth="none" if trivial else "key"))
    if ours.is_bowline:
        assert ("without asking for a key or a password" in result.err + result.log) is trivial, str(result)


def test_client_and_success_to_a_question_nobody_asked(world, ours):
    """Before the service is there, and after a mere offer was turned down."""
    def script(peer):
        peer.handshake()
        peer.send([raw.AUTH_SUCCESS])
        peer.admit()
        peer.finish(peer.accept_session()[0])
    refused(*run(world, ours, script, auth="none", timeout=20))


# -- the end of a session

def test_client_when_both_sides_close_at_once(world, ours):
    """After its CLOSE a channel is silent, whoever was first, and the status is never lost."""
    todo = list(range(30))

    def script(peer):
        status = todo.pop(0)
        theirs = session(peer)
        peer.send(data(theirs, f"{status}"))
        peer.request(theirs, "exit-status", raw.u32(status), want=False)
        peer.send(bytes([raw.EOF]) + raw.u32(theirs))
        peer.send(bytes([raw.CLOSE]) + raw.u32(theirs))
        peer.expect(raw.CLOSE, skip=(raw.DATA, raw.EOF, raw.WINDOW_ADJUST))
        try:
            while True:
                late = peer.recv()
                assert late[0] < 90, f"message {late[0]} after CLOSE"
        except raw.Closed:
            pass
    with RawServer(world, script) as server:
        for status in range(30):
            result = Ssh(world, ours).run(server, "x", stdin=b"y" * (status * 4000))
            assert well(result, server, status).out == f"{status}".encode()


@pytest.mark.parametrize("told,status", ((0, 0), (255, 255), (256, 0), (333, 77), (0xFFFFFFFF, 255)))
def test_client_and_large_statuses(world, ours, told, status):
    def script(peer):
        peer.finish(session(peer), told)
    well(*run(world, ours, script), status)


def test_client_tells_the_signal(world, ours):
    def script(peer):
        theirs = session(peer)
        peer.request(theirs, "exit-signal", raw.string("TERM") + b"\0" + raw.string("red \x1b[31m") + raw.string(""),
                     want=False)
        peer.send(bytes([raw.CLOSE]) + raw.u32(theirs))
        peer.expect(raw.CLOSE, skip=(raw.DATA, raw.EOF, raw.WINDOW_ADJUST))
    result = well(*run(world, ours, script), 255)
    if ours.is_bowline:
        assert re.search(r"signal TERM", result.err + result.log), str(result)
    assert "\x1b" not in result.err + result.log


def test_client_reads_on_when_its_reader_does(world, ours):
    """The window shuts with the reader and opens with it; nothing is granted for bytes that nobody took."""
    granted, blocked = [], []

    def script(peer):
        theirs = session(peer)
        room, sent, block = peer.their_window, 0, b"x" * 16384
        peer.sock.settimeout(0.5)
        while sent < 24 << 20:
            if room >= len(block):
                peer.send(data(theirs, block))
                room -= len(block)
                sent += len(block)
                continue
            try:
                r = raw.Reader(peer.recv())
            except TimeoutError:
                blocked.append(sent)
                go.append(True)
                continue
            if r.u8() == raw.WINDOW_ADJUST:
                r.u32()
                granted.append(r.u32())
                room += granted[-1]
        peer.sock.settimeout(20)
        peer.finish(theirs)
    go = []
    with RawServer(world, script) as server:
        command, _, _ = Ssh(world, ours).command(server)
        child = subprocess.Popen([*command, "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while not go and time.monotonic() < until:
            time.sleep(0.05)
        got = child.stdout.read()
        assert child.wait(20) == 0 and not server.faults
    assert blocked and blocked[0] < 20 << 20, "the window never shut"
    assert len(got) == 24 << 20 and got.count(b"x") == len(got), f"{len(got)} bytes, {got.count(b'x')} right"


def more_than_a_pipe(peer, theirs):
    """Fills the window as far as it is granted, up to 4 MiB; the bytes sent."""
    room, sent = peer.their_window, 0
    peer.sock.settimeout(0.3)
    try:
        while sent < 4 << 20:
            while room < 16384:
                r = raw.Reader(peer.expect(raw.WINDOW_ADJUST, skip=(raw.EOF, raw.GLOBAL_REQUEST))[5:])
                room += r.u32()
            peer.send(data(theirs, b"x" * 16384))
            sent += 16384
            room -= 16384
    except TimeoutError:
        pass
    peer.sock.settimeout(20)
    assert sent > 1_500_000, "no more than a pipe holds"
    return sent


@pytest.mark.parametrize("end", ("close", "disconnect", "cut"))
def test_what_has_arrived_outlives_the_connection(world, ours, end):
    """A server that hangs up as soon as it is done, and a reader that is slow: every byte still comes out."""
    gone, sent = [], []

    def script(peer):
        theirs = session(peer)
        sent.append(more_than_a_pipe(peer, theirs))
        if end != "cut":
            peer.finish(theirs, 5)
        if end == "disconnect":
            peer.send(bytes([raw.DISCONNECT]) + raw.u32(11) + raw.string("bye") + raw.string(""))
        peer.sock.shutdown(socket.SHUT_WR)      # not close: what it still sends would reset the connection
        gone.append(True)
        peer.expect_closed()
    with RawServer(world, script) as server:
        command, _, _ = Ssh(world, ours).command(server)
        child = subprocess.Popen([*command, "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        assert wait_until(lambda: gone, 10)
        time.sleep(0.5)
        got = child.stdout.read()
        status = child.wait(20)
        assert not server.faults
    assert len(got) == sent[0] and status == (255 if end == "cut" else 5)


def test_a_client_that_only_writes_what_is_left_obeys_signals(world, ours):
    gone = []

    def script(peer):
        theirs = session(peer)
        more_than_a_pipe(peer, theirs)
        peer.finish(theirs, 5)
        peer.sock.shutdown(socket.SHUT_WR)
        gone.append(True)
        peer.expect_closed()
    with RawServer(world, script) as server:
        command, _, _ = Ssh(world, ours).command(server)
        child = subprocess.Popen([*command, "x"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        assert wait_until(lambda: gone, 10)
        time.sleep(0.3)
        assert child.poll() is None, "it did not wait for its reader"
        child.terminate()
        assert child.wait(5) == 255
        child.stdout.close()


@pytest.mark.parametrize("how", ("pipe", "file", "late"))
def test_client_tells_the_end_of_its_input_without_a_window(world, ours, tmp_path, how):
    """The input fills the window to the last byte and nobody widens it: EOF costs nothing."""
    def script(peer):
        peer.handshake()
        peer.admit()
        theirs = peer.accept_session(window=5000)[0]
        got = b""
        while (payload := peer.expect(raw.DATA, raw.EOF))[0] == raw.DATA:
            got += payload[9:]
        assert len(got) == 5000
        peer.finish(theirs)
    source = tmp_path / "input"
    source.write_bytes(b"z" * 5000)
    if how != "late":
        well(*run(world, ours, script, stdin=source if how == "file" else b"z" * 5000, timeout=10))
        return
    with RawServer(world, script) as server:
        command, _, _ = Ssh(world, ours).command(server)
        child = subprocess.Popen([*command, "x"], stdin=subprocess.PIPE)
        child.stdin.write(b"z" * 5000)
        child.stdin.flush()
        time.sleep(0.3)
        child.stdin.close()
        assert child.wait(10) == 0 and not server.faults

# SPDX-License-Identifier: ISC
"""Our server against clients that break the rules, one kind of fault a test (harness/rawssh.py)."""
import os
import pwd
import re
import socket
import threading
import time
from pathlib import Path

import pytest

from harness import rawssh as raw
from harness.client import Ssh
from harness.measure import pss_kib, tree
from harness.server import Sshd
from harness.world import wait_until

PROTECTIONS = ((raw.GCM128, raw.HMAC), (raw.GCM, raw.HMAC), (raw.CHACHA, raw.HMAC), ("aes128-ctr", raw.HMAC),
               ("aes192-ctr", raw.HMAC_ETM), ("aes256-ctr", raw.HMAC512_ETM), ("aes128-cbc", raw.HMAC),
               ("aes256-cbc", raw.HMAC_ETM), ("arcfour", raw.HMAC))
LARGEST = 35000             # RFC 4253 6.1
QUIET = (raw.WINDOW_ADJUST, raw.EXT_INFO, raw.GLOBAL_REQUEST, raw.IGNORE, raw.DEBUG)


@pytest.fixture(scope="module")
def server(world, ours):
    with Sshd(world, ours, ["KexAlgorithms curve25519-sha256", "MaxAuthTries 40", "MaxStartups 100",
                           "Ciphers +aes128-cbc,aes256-cbc,arcfour"]) as s:
        s.config.write_text(s.config.read_text().replace("KbdInteractiveAuthentication no",
                                                         "KbdInteractiveAuthentication yes"))
        yield s.start()


@pytest.fixture
def peer(server):
    p = raw.connect(server.port)
    yield p
    p.sock.close()


def key_of(server):
    return raw.load_key(server.world.keys.path("ed25519"))


def logged_in(peer, server, **kw):
    peer.handshake(**kw)
    peer.login(server.user, key_of(server))
    return peer


def memory(server):
    """KiB of all processes of a server."""
    total = 0
    for pid in tree(server.process.pid):
        try:
            total += pss_kib(pid)
        except OSError:
            pass            # ended meanwhile
    return total


# -- lengths

@pytest.mark.parametrize("cipher,mac", PROTECTIONS, ids=lambda x: x.split("@")[0])
def test_server_judges_every_packet_length(server, cipher, mac):
    """The word in front of the first packet under keys, from nothing to 4 GiB; a tag that is wrong or short."""
    hidden = not cipher.endswith("@openssh.com") and "-etm" not in mac
    ignore = bytes([raw.IGNORE]) + raw.string(b"x" * 22)
    for case in (0, 1, 4, 5, 43, LARGEST + 1, LARGEST + 16, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF, "flip",
                 "cut"):
        peer = raw.connect(server.port, cipher=cipher, mac=mac)
        peer.handshake()
        try:
            if case == "flip":
                wire = peer.sealed(ignore)
                peer.send_wire(wire[:-1] + bytes([wire[-1] ^ 1]))
                if hidden:
                    peer.send_wire(bytes(LARGEST + 64))
            elif case == "cut":
                peer.send_wire(peer.sealed(ignore)[:-1])
                peer.sock.shutdown(socket.SHUT_WR)
            else:
                peer.send_wire(peer.sealed(ignore, case))
                if hidden:      # nothing may be told from when the answer comes: it waits for a whole packet
                    peer.send_wire(bytes(LARGEST + 64))
        except raw.Closed:
            pass
        peer.expect_closed()
        peer.sock.close()


@pytest.mark.parametrize("damage", ("length", "longer", "body", "tag"))
def test_server_tells_nothing_of_what_cbc_decrypts_to(server, damage):
    """However a packet is damaged: silence until as many bytes came as the largest packet has, then the same end."""
    peer = raw.connect(server.port, cipher="aes128-cbc", mac=raw.HMAC)
    peer.handshake()
    ignore = bytes([raw.IGNORE]) + raw.string(b"x" * 22)
    wire = bytearray(peer.sealed(ignore, {"length": 0xFFFF0000, "longer": 60}.get(damage)))
    if damage in ("body", "tag"):
        wire[20 if damage == "body" else -1] ^= 1
    peer.send_wire(bytes(wire))
    peer.send_wire(bytes(4 + LARGEST + 32 - len(wire) - 1))
    peer.sock.settimeout(0.5)
    with pytest.raises(TimeoutError):
        peer.recv()
    peer.sock.settimeout(20)
    peer.send_wire(b"\0")
    assert peer.expect_closed() == "disconnect 5: message authentication code incorrect"
    peer.sock.close()


@pytest.mark.parametrize("cipher,mac", PROTECTIONS, ids=lambda x: x.split("@")[0])
def test_server_takes_the_largest_packet_and_none_above(server, cipher, mac):
    for more in (0, 1):
        peer = raw.connect(server.port, cipher=cipher, mac=mac)
        peer.handshake()
        block, aligned = peer.sealer.block, peer.sealer.aligned
        largest = (LARGEST + aligned) // block * block - aligned + more * block
        peer.send(bytes([raw.IGNORE]) + raw.string(bytes(largest - 1 - 4 - 5)))
        if more:
            with pytest.raises(raw.Closed):
                if aligned:         # its length is hidden: a whole packet is awaited
                    peer.send_wire(bytes(2000))
                peer.login(server.user, key_of(server))
        else:
            peer.login(server.user, key_of(server))
        peer.sock.close()


# -- messages at the wrong time

EARLY = {"ext-info": bytes([raw.EXT_INFO]) + raw.u32(1) + raw.string("ext-info-in-auth@openssh.com") + raw.string("0"),
         "service": bytes([raw.SERVICE_REQUEST]) + raw.string("ssh-userauth"),
         "login": bytes([raw.AUTH_REQUEST]) + raw.string("root") + raw.string("ssh-connection") + raw.string("none"),
         "open": bytes([raw.CHANNEL_OPEN]) + raw.string("session") + raw.u32(0) + raw.u32(9) + raw.u32(9),
         "global": bytes([raw.GLOBAL_REQUEST]) + raw.string("tcpip-forward") + b"\1" + raw.string("") + raw.u32(0),
         "ping": bytes([192]) + raw.string("x"),
         "newkeys": bytes([raw.NEWKEYS])}


@pytest.mark.parametrize("name", EARLY)
@pytest.mark.parametrize("strict", (True, False), ids=("strict", "plain"))
@pytest.mark.parametrize("place", ("first", "exchange"))
def test_server_and_what_was_said_before_encryption(peer, server, name, strict, place):
    """Words that anyone on the way can put into the stream count for nothing once there are keys."""
    with pytest.raises(raw.Closed):
        if place == "exchange":
            peer.handshake(strict=strict, inject=[EARLY[name]])
        else:
            peer.versions()
            peer.send(EARLY[name])
            peer.send(peer.kexinit(strict=strict))
            peer.read_kexinit(peer.expect(raw.KEXINIT, skip=()))
            peer.exchange()
        peer.login(server.user, key_of(server))
    assert not {raw.SERVICE_ACCEPT, raw.AUTH_FAILURE, raw.AUTH_SUCCESS, raw.OPEN_CONFIRM} & set(peer.seen)


@pytest.mark.parametrize("place", ("twice", "in login", "in session", "before the reply of a rekey"))
def test_server_and_newkeys_out_of_turn(peer, server, place):
    peer.handshake()
    if place == "in login":
        peer.userauth()
    elif place != "twice":
        peer.login(server.user, key_of(server))
        peer.open_session()
    if place == "before the reply of a rekey":
        peer.send(peer.kexinit())
    with pytest.raises(raw.Closed):
        peer.send([raw.NEWKEYS])
        peer.expect(0, skip=(raw.KEXINIT, *QUIET))


@pytest.mark.parametrize("right", (True, False), ids=("right", "wrong"))
def test_server_and_a_guess_at_a_rekey(peer, server, right):
    """A right guess is the first packet of the exchange, a wrong one is left out: also later in a session."""
    logged_in(peer, server)
    channel = peer.open_session()
    peer.request(channel, "exec", raw.string("cat"), want=False)
    for _ in range(2):
        names = ("curve25519-sha256",) if right else ("guess@example.org", "curve25519-sha256")
        peer.send(peer.kexinit(kex=names, follows=True))
        if not right:
            peer.send(bytes([raw.ECDH_INIT]) + raw.string(b"a guess"))
        peer.read_kexinit(peer.expect(raw.KEXINIT, skip=QUIET))
        peer.exchange()
    peer.send(bytes([raw.DATA]) + raw.u32(channel) + raw.string("after"))
    assert peer.expect(raw.DATA, skip=QUIET)[9:] == b"after"


def test_server_skips_one_guess_only(peer, server):
    logged_in(peer, server)
    peer.send(peer.kexinit(kex=("guess@example.org", "curve25519-sha256"), follows=True))
    for _ in range(2):
        peer.send(bytes([raw.ECDH_INIT]) + raw.string(b"a guess"))
    peer.read_kexinit(peer.expect(raw.KEXINIT, skip=QUIET))
    with pytest.raises(raw.Closed):
        peer.exchange()


# -- floods

def test_server_bounds_what_it_owes_while_keys_change(world, ours):
    """Answers pile up while a key exchange holds them back: so many, then it is over."""
    with Sshd(world, ours, ["RekeyLimit 64K"]).start() as server:
        peer = logged_in(raw.connect(server.port), server)
        channel = peer.open_session()
        before = memory(server)
        peer.request(channel, "exec", raw.string("head -c 300000 /dev/zero; sleep 20"), want=False)
        peer.expect(raw.KEXINIT, skip=(raw.DATA, *QUIET))
        ping, sent = bytes([192]) + raw.string(b"y" * 200), 0
        with pytest.raises(raw.Closed):
            while sent < 150_000:
                peer.send(ping)
                sent += 1
                assert sent % 5000 or memory(server) < before + 20_000
        peer.sock.close()


def test_server_memory_is_flat_under_a_flood_before_keys(peer, server):
    """64 MiB that mean nothing, in an exchange that bears them: none of it is kept, and the login goes on."""
    peer.versions()
    peer.send(peer.kexinit())
    before = memory(server)
    noise = peer.packet(bytes([raw.IGNORE]) + raw.string(bytes(32000)))
    highest = 0
    for i in range(2000):
        peer.send_wire(noise)
        peer.seq_out += 1
        if i % 500 == 499:
            highest = max(highest, memory(server))
    assert highest < before + 10_000, f"{before} KiB, then {highest}"
    peer.read_kexinit(peer.expect(raw.KEXINIT, skip=()))
    peer.exchange()
    peer.login(server.user, key_of(server))


def test_server_memory_is_flat_over_failing_key_exchanges(server, ours):
    """What a connection took is given back also when its exchange fails, in each of its steps."""
    if "asan" in ours.name:
        pytest.skip("a sanitizer keeps freed memory back")
    def fail(step):
        with raw.connect(server.port).sock as sock:
            peer = raw.Raw(sock, "client")
            peer.versions()
            peer.send(peer.kexinit(kex=("nobody@example.org",) if step == 0 else ("curve25519-sha256",), strict=True))
            peer.read_kexinit(peer.expect(raw.KEXINIT, skip=()))
            if step == 1:
                peer.send(bytes([raw.ECDH_INIT]) + raw.string(bytes(32)))
            elif step == 2:
                peer.send(bytes([raw.ECDH_INIT]) + raw.string(b"\x09" + bytes(31)))
                peer.expect(raw.NEWKEYS, skip=(raw.ECDH_REPLY,))
                peer.send([raw.KEXINIT])
            if step < 3:
                try:
                    while sock.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
    def own():      # KiB of the process that stays; the others end with their connection
        return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())[1])
    for i in range(36):
        fail(i % 4)
    before, processes = own(), len(tree(server.process.pid))
    for i in range(160):
        fail(i % 4)
    assert own() < before + 320
    assert wait_until(lambda: len(tree(server.process.pid)) <= processes, 10), "processes stay behind"


def test_server_stops_a_packet_that_expands_without_end(server):
    peer = raw.connect(server.port, compression="zlib@openssh.com")
    peer.handshake()
    assert "zlib" not in peer.their_names[6] + peer.their_names[7], "compression before the login"
    peer.login(server.user, key_of(server))
    channel = peer.open_session()
    peer.send(bytes([raw.IGNORE]) + raw.string(bytes(30_000)))      # this much is right
    peer.request(channel, "nobody-knows@example.org")
    peer.expect(raw.CHANNEL_FAILURE, skip=QUIET)
    before = memory(server)
    bomb = peer.deflate.compress(bytes([raw.IGNORE]) + raw.string(bytes(20_000_000))) + peer.deflate.flush(2)
    with pytest.raises(raw.Closed):
        peer.send_packed(bomb)
        peer.request(channel, "nobody-knows@example.org")
        peer.expect(raw.CHANNEL_FAILURE, skip=QUIET)
    assert memory(server) < before + 5_000


# -- who may come in

def ask(peer, payload):
    peer.send(payload)
    return peer.expect(raw.AUTH_FAILURE, raw.AUTH_SUCCESS, raw.AUTH_PK_OK, 61)


def test_the_key_that_signs_is_the_one_that_counts(peer, server):
    """A key was offered and found good: that helps neither another key nor another's signature."""
    good, other = key_of(server), raw.new_key()
    user = server.user
    peer.handshake()
    peer.userauth()
    assert ask(peer, peer.key_request(user, good))[0] == raw.AUTH_PK_OK
    assert ask(peer, peer.key_request(user, good, signer=other))[0] == raw.AUTH_FAILURE
    assert ask(peer, peer.key_request(user, good))[0] == raw.AUTH_PK_OK
    assert ask(peer, peer.key_request(user, other, signer=other))[0] == raw.AUTH_FAILURE
    assert ask(peer, peer.key_request(user, other, signer=good))[0] == raw.AUTH_FAILURE
    session, peer.session_id = peer.session_id, os.urandom(32)      # a signature of another connection
    assert ask(peer, peer.key_request(user, good, signer=good))[0] == raw.AUTH_FAILURE
    peer.session_id = session
    whole = peer.key_request(user, good, signer=good)
    assert ask(peer, whole[:-1] + bytes([whole[-1] ^ 1]))[0] == raw.AUTH_FAILURE
    renamed = peer.key_request("r" + user[1:], good, signer=good)[1 + 4 + len(user):]
    assert ask(peer, bytes([raw.AUTH_REQUEST]) + raw.string(user) + renamed)[0] == raw.AUTH_FAILURE
    channel = bytes([raw.CHANNEL_OPEN]) + raw.string("session") + raw.u32(0) + raw.u32(9) + raw.u32(9)
    assert ask(peer, whole)[0] == raw.AUTH_SUCCESS
    peer.send(channel)
    peer.expect(raw.OPEN_CONFIRM, skip=QUIET)


def transcript(server, user):
    """What the server answers to each way of asking, and the least time that an answer took."""
    stranger = raw.new_key()
    peer = raw.connect(server.port)
    peer.handshake()
    peer.userauth()
    query = peer.key_request(user, stranger)
    requests = [bytes([raw.AUTH_REQUEST]) + raw.string(user) + raw.string("ssh-connection") + raw.string("none"),
                query, peer.key_request(user, stranger, stranger), query[:-20] + bytes(20),
                query.replace(b"ssh-ed25519", b"ssh-ed25510"), peer.password_request(user, "wrong"),
                peer.password_request(user, ""), peer.password_request(user, "w" * 5000),
                peer.password_request(user, "nul\0nul"),
                bytes([raw.AUTH_REQUEST]) + raw.string(user) + raw.string("ssh-connection") + raw.string("hostbased"),
                bytes([raw.AUTH_REQUEST]) + raw.string(user) + raw.string("ssh-connection") +
                raw.string("keyboard-interactive") + raw.string("") + raw.string(""),
                bytes([61]) + raw.u32(1) + raw.string("wrong")]
    said, least = [], 1.0
    for i, request in enumerate(requests):
        begin = time.monotonic()
        try:
            payload = ask(peer, request)
        except raw.Closed as e:
            said.append(re.sub(r"\d+ ", "", str(e)))
            break
        if payload[0] == raw.AUTH_FAILURE and i > 0:
            least = min(least, time.monotonic() - begin)
        said.append(payload)
    peer.sock.close()
    return said, least


def test_nobody_can_ask_who_has_an_account(server):
    """Known, unknown and barred users get the same answers, byte by byte, and none sooner than the least time."""
    known, least = transcript(server, server.user)
    assert known[-1][0] == raw.AUTH_FAILURE and len(known) == 12, known
    names = ["nobody-by-this-name", "daemon", "x" * 200, "a/b"]      # daemon has no shell that lets one in
    for name in names:
        said, soonest = transcript(server, name)
        assert said == known, name
        least = min(least, soonest)
    assert least >= 0.005


NAMES = (b"", b".", b"..", b"../x", b"/", b"a/b", b"/etc/passwd", b"a\0b", b"root\0", b"a\nAccepted publickey for root",
         b"a\rb", b"\x1b[31mred", b"\x7f", b"\x00", b"%u", b"%s%n%s%n", b"-oProxyCommand=x", b":", b"\xff\xfe",
         b"x" * 255, b"x" * 256, b"x" * 257, b"x" * 30000)


def test_names_of_users_are_only_names(server):
    """No name leads to a file, ends early, or writes a line of its own into the log."""
    for name in NAMES:
        peer = raw.connect(server.port)
        peer.handshake()
        peer.userauth()
        good = key_of(server)
        try:
            for request in (peer.key_request(name, good), peer.key_request(name, good, good),
                            peer.password_request(name, "x")):
                assert ask(peer, request)[0] == raw.AUTH_FAILURE, name
        except raw.Closed:
            pass
        assert raw.AUTH_SUCCESS not in peer.seen and raw.AUTH_PK_OK not in peer.seen, name
        peer.sock.close()
    log = server.log()
    assert not re.search(r"(?m)^Accepted publickey for root", log)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", log), "control bytes in the log"
    peer = logged_in(raw.connect(server.port), server)
    peer.sock.close()


@pytest.fixture
def account_files(world):
    """/etc/passwd and /etc/shadow may be changed: they are copies, and are put back."""
    if not world.account.private:
        pytest.skip(world.account.why_no_password)
    before = {name: Path(name).read_bytes() for name in ("/etc/passwd", "/etc/shadow")}
    yield before
    for name, text in before.items():
        Path(name).write_bytes(text)


def test_a_strange_account_name_stays_inside_the_keys_folder(world, ours, account_files):
    """%u of an account that is called ../outside."""
    with Sshd(world, ours) as server:
        folder = server.dir / "keys"
        folder.mkdir()
        folder.chmod(0o755)
        public = world.keys.public("ed25519") + "\n"
        for path in (server.dir / "outside", folder / "inside", server.dir / "keys.d"):
            path.write_text(public)
            path.chmod(0o644)
        names = {"inside": True, "../outside": False, "./inside": False, "..": False}
        Path("/etc/passwd").write_bytes(account_files["/etc/passwd"] + b"".join(
            f"{name}:x:{64200 + i}:64123::/:/bin/sh\n".encode() for i, name in enumerate(names)))
        server.config.write_text(re.sub("AuthorizedKeysFile .*", f"AuthorizedKeysFile {folder}/%u",
                                        server.config.read_text()))
        server.start()
        for name, allowed in names.items():
            assert pwd.getpwnam(name)
            peer = raw.connect(server.port)
            peer.handshake()
            peer.userauth()
            got = ask(peer, peer.key_request(name, key_of(server), key_of(server)))[0]
            assert (got == raw.AUTH_SUCCESS) is allowed, name
            peer.sock.close()


def test_no_word_in_the_password_field_lets_anyone_in(server, account_files):
    """Fields that mean "no password", with passwords that some crypt(3) could take for them."""
    user, password = server.user, server.password
    shadow = account_files["/etc/shadow"].decode()
    row = next(r for r in shadow.splitlines() if r.startswith(user + ":")).split(":")

    def attempt(field, words):
        Path("/etc/shadow").write_text(shadow.replace(":".join(row), ":".join([user, field, *row[2:]])))
        peer = raw.connect(server.port)
        peer.handshake()
        peer.userauth()
        got = [ask(peer, peer.password_request(user, word))[0] for word in words]
        peer.sock.close()
        return got
    words = ["", "*", "!", "x", "*0", "*1", "LK", password, "A" * 256, "A" * 511, "A" * 512, "A" * 1024, "A" * 5000]
    for field in ("", "*", "!", "!!", "x", "*0", "*1", "LK", "*LK*", "NP", "!" + row[1], "*" + row[1], row[1][:-1],
                  row[1] + ".", "$6$", "$6$salt$", "ab"):
        assert attempt(field, [*words, field]) == [raw.AUTH_FAILURE] * (len(words) + 1), field
    assert attempt(row[1], ["wrong", password + "\0", "A" * 512, password]) == [raw.AUTH_FAILURE] * 3 + [raw.AUTH_SUCCESS]


KINDS = {"ed25519": "ssh-ed25519", "ecdsa-256": "ecdsa-sha2-nistp256", "ecdsa-384": "ecdsa-sha2-nistp384",
         "ecdsa-521": "ecdsa-sha2-nistp521", "rsa-2048": "rsa-sha2-512"}


def test_each_algorithm_is_accepted_alone(world, ours):
    """One name in the list admits that one, not its family."""
    for kind, name in KINDS.items():
        with Sshd(world, ours, [f"PubkeyAcceptedAlgorithms {name}"]).start() as server:
            got = {k for k in KINDS if Ssh(world, ours).run(server, "true", kind=k).status == 0}
        assert got == {kind}


# -- sessions

class Channels:
    """The channels of one connection, and whether each keeps the order: data, EOF, status, CLOSE, silence."""

    def __init__(self, peer):
        self.peer, self.live, self.ended = peer, {}, {}

    def open(self, number, command, window=1 << 20):
        self.live[number] = {"theirs": None, "out": b"", "status": None, "eof": False, "command": command}
        self.peer.send(bytes([raw.CHANNEL_OPEN]) + raw.string("session") + raw.u32(number) + raw.u32(window) +
                       raw.u32(32768))

    def step(self):
        payload = self.peer.expect(raw.OPEN_CONFIRM, raw.CHANNEL_REQUEST, raw.DATA, raw.EOF, raw.CLOSE, skip=QUIET)
        kind, r = payload[0], raw.Reader(payload[1:])
        number = r.u32()
        assert number in self.live, f"message {kind} for channel {number}, which is closed"
        c = self.live[number]
        if kind == raw.OPEN_CONFIRM:
            c["theirs"] = r.u32()
            self.peer.request(c["theirs"], "exec", raw.string(c["command"]), want=False)
            self.peer.send(bytes([raw.EOF]) + raw.u32(c["theirs"]))
        elif kind == raw.DATA:
            assert not c["eof"], "data after EOF"
            c["out"] += r.string()
        elif kind == raw.EOF:
            assert not c["eof"], "EOF twice"
            c["eof"] = True
        elif kind == raw.CHANNEL_REQUEST and r.string() == b"exit-status":
            assert r.u8() == 0, "nobody answers a status"
            c["status"] = r.u32()
        elif kind == raw.CLOSE:
            self.ended[number] = self.live.pop(number)
            self.peer.send(bytes([raw.CLOSE]) + raw.u32(c["theirs"]))


def test_three_hundred_short_commands_eight_at_a_time(peer, server):
    """Nothing comes after CLOSE; output and status are always there before it."""
    channels, started = Channels(logged_in(peer, server)), 0
    while len(channels.ended) < 300:
        if len(channels.live) < 8 and started < 300:
            channels.open(started, f"echo {started}; exit {started % 100}")
            started += 1
        else:
            channels.step()
    for number, c in channels.ended.items():
        assert (c["out"], c["status"]) == (f"{number}\n".encode(), number % 100)


def test_commands_whose_channels_both_sides_close_at_once(peer, server):
    """Our CLOSE crosses theirs at every moment of a command's life; the connection stays in step."""
    logged_in(peer, server)
    for number in range(40):
        theirs = peer.open_session(number)
        peer.request(theirs, "exec", raw.string("echo x; exit 3"), want=False)
        time.sleep(number % 10 * 0.001)
        peer.send(bytes([raw.EOF]) + raw.u32(theirs))
        peer.send(bytes([raw.CLOSE]) + raw.u32(theirs))
        while True:
            payload = peer.expect(raw.CLOSE, raw.EOF, raw.DATA, raw.CHANNEL_REQUEST, skip=QUIET)
            assert raw.Reader(payload[1:]).u32() == number, "a message for an older channel"
            if payload[0] == raw.CLOSE:
                break


@pytest.mark.parametrize("command,want", (("exec 0<&- 1>&- 2>&-; sleep 0.4; exit 7", b"exit-status"),
                                          ("sleep 0.4; exit 7", b"exit-status"),
                                          ("sleep 0.4; while echo x; do :; done", b"exit-signal"),
                                          ("sleep 0.4; kill -15 $$", b"exit-signal"), ("", b"")))
def test_the_status_comes_also_to_who_has_closed(peer, server, command, want):
    """Some clients close at the end of the output and wait with the other CLOSE for the status."""
    logged_in(peer, server)
    theirs = peer.open_session()
    if command:
        peer.request(theirs, "exec", raw.string(command))
        peer.expect(raw.CHANNEL_SUCCESS, skip=QUIET)
    peer.send(bytes([raw.EOF]) + raw.u32(theirs))
    peer.send(bytes([raw.CLOSE]) + raw.u32(theirs))
    told = [peer.expect(raw.CHANNEL_REQUEST, raw.CLOSE, skip=(raw.EOF, *QUIET)) for _ in range(2 if command else 1)]
    assert told[-1][0] == raw.CLOSE
    assert want in told[0]
    assert peer.open_session(1) is not None


def test_server_waits_for_a_window_and_fills_it_exactly(peer, server):
    """From nothing, by one byte, by odd steps, to the last byte: the end itself needs no window."""
    logged_in(peer, server)
    theirs = peer.open_session(0, window=0)
    peer.request(theirs, "exec", raw.string("head -c 100000 /dev/zero; exit 5"), want=False)
    total, room, closed, seen = 0, 0, False, []
    peer.sock.settimeout(0.4)
    with pytest.raises(TimeoutError):
        while True:                 # the status may come now: the program's output waits in a pipe
            seen.append(peer.expect(raw.CHANNEL_REQUEST, skip=QUIET))
    peer.sock.settimeout(20)
    while not closed:
        if room == 0 and total < 100_000:
            room = min(1 if total == 0 else 33_333, 100_000 - total)
            peer.send(bytes([raw.WINDOW_ADJUST]) + raw.u32(theirs) + raw.u32(room))
        payload = peer.expect(raw.DATA, raw.EOF, raw.CLOSE, raw.CHANNEL_REQUEST, skip=QUIET)
        if payload[0] == raw.DATA:
            room -= len(payload) - 9
            total += len(payload) - 9
            assert room >= 0, "more than the window"
        else:
            seen.append(payload)
        closed = payload[0] == raw.CLOSE
    assert total == 100_000
    assert any(b"exit-status" in x and x.endswith(raw.u32(5)) for x in seen)


def test_server_grants_no_window_for_what_its_program_has_not_read(peer, server):
    """A program that does not read shuts the window; when it reads again, all arrives."""
    logged_in(peer, server)
    peer.send(bytes([raw.CHANNEL_OPEN]) + raw.string("session") + raw.u32(0) + raw.u32(1 << 20) + raw.u32(32768))
    r = raw.Reader(peer.expect(raw.OPEN_CONFIRM, skip=QUIET)[1:])
    r.u32()
    theirs, room = r.u32(), r.u32()
    mark = server.world.tmp / "go"
    mark.unlink(missing_ok=True)
    peer.request(theirs, "exec", raw.string(f"while [ ! -e {mark} ]; do sleep 0.05; done; wc -c"), want=False)
    total, shut, out = 24 << 20, False, b""
    left = total
    while left or not out:
        if room and left:
            n = min(room, 32768, left)
            peer.send(bytes([raw.DATA]) + raw.u32(theirs) + raw.string(bytes(n)))
            room -= n
            left -= n
            if not left:
                peer.send(bytes([raw.EOF]) + raw.u32(theirs))
            continue
        peer.sock.settimeout(20 if shut else 0.7)
        try:
            payload = peer.expect(raw.WINDOW_ADJUST, raw.DATA, skip=(raw.EXT_INFO, raw.GLOBAL_REQUEST))
        except TimeoutError:
            assert not shut, "the window stays shut"
            shut = True
            mark.touch()
            continue
        if payload[0] == raw.DATA:
            out += payload[9:]
        else:
            room += raw.Reader(payload[5:]).u32()
    assert shut and int(out) == total


def test_server_takes_2000_data_packets_before_the_answer_to_its_kexinit(world, ours):
    """What was on the way when it asked for new keys is data like any other, however much it is."""
    with Sshd(world, ours, ["RekeyLimit 64K"]).start() as server:
        peer = logged_in(raw.connect(server.port), server)
        theirs = peer.open_session()
        peer.request(theirs, "exec", raw.string("wc -c"), want=False)
        block, sent, asked = bytes([raw.DATA]) + raw.u32(theirs) + raw.string(b"x" * 500), 0, None
        while not asked:
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
            asked = payload if payload[0] == raw.KEXINIT else None
        for _ in range(2000):
            peer.send(block)
            sent += 1
        peer.rekey(asked)
        peer.send(bytes([raw.EOF]) + raw.u32(theirs))
        out = b""
        while True:
            payload = peer.expect(raw.DATA, raw.CLOSE, raw.KEXINIT, skip=(raw.EOF, raw.CHANNEL_REQUEST, *QUIET))
            if payload[0] == raw.KEXINIT:
                peer.rekey(payload)
            elif payload[0] == raw.CLOSE:
                break
            else:
                out += payload[9:]
        peer.sock.close()
    assert int(out) == sent * 500


# -- time

def test_the_login_timer_may_run_out_at_any_moment(world, ours):
    """Connections at every stage of a login when their time is over: each is closed, and the server lives."""
    with Sshd(world, ours, ["LoginGraceTime 1", "MaxStartups 100"]).start() as server:
        results = []

        def one(i):
            peer = raw.connect(server.port)
            try:
                stage = i % 5
                if stage > 0:
                    peer.versions()
                if stage > 1:
                    peer.send(peer.kexinit(strict=True))
                    peer.read_kexinit(peer.expect(raw.KEXINIT, skip=()))
                if stage > 2:
                    peer.exchange()
                if stage > 3:
                    peer.userauth()
                    while True:         # busy with a question in the very moment
                        time.sleep(0.001 * (i % 7))
                        peer.send(peer.key_request(server.user, key_of(server)))
                        peer.recv()
                elif stage > 0:
                    peer.expect_closed()
                else:
                    while peer.sock.recv(4096):
                        pass
                results.append(i)
            except (raw.Closed, ConnectionError):
                results.append(i)
            finally:
                peer.sock.close()
        threads = [threading.Thread(target=one, args=(i,)) for i in range(40)]
        for t in threads:
            t.start()
            time.sleep(0.01)
        for t in threads:
            t.join(15)
        assert sorted(results) == list(range(40))
        assert Ssh(world, ours).run(server, "exit 3").status == 3
        assert not re.search(r"(?i)signal (6|7|8|11)\b|segmentation|abort", server.log()), server.log()

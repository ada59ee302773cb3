# SPDX-License-Identifier: ISC
"""AuthenticationMethods: what each proof leads to, request by request, and clients that walk through the lists."""
import re

import pytest

from harness import rawssh as raw
from harness.client import Ssh, feed
from harness.server import Sshd

PK, PW, KI = "publickey", "password", "keyboard-interactive"
IN = "in"


class Walk:
    """One connection that offers one proof after the other."""

    def __init__(self, server):
        self.server, self.peer = server, raw.connect(server.port)
        self.peer.handshake()
        self.peer.userauth()

    def key(self, kind="ed25519"):
        key = raw.load_key(self.server.world.keys.path(kind))
        return self.told(self.peer.key_request(self.server.user, key, key))

    def query(self, kind="ed25519"):
        key = raw.load_key(self.server.world.keys.path(kind))
        return self.ask(self.peer.key_request(self.server.user, key))[0] == raw.AUTH_PK_OK

    def password(self, word=None):
        return self.told(self.peer.password_request(self.server.user, word or self.server.password))

    def none(self):
        return self.told(bytes([raw.AUTH_REQUEST]) + raw.string(self.server.user) + raw.string("ssh-connection") +
                         raw.string("none"))

    def ask(self, request):
        self.peer.send(request)
        return self.peer.expect(raw.AUTH_FAILURE, raw.AUTH_SUCCESS, raw.AUTH_PK_OK)

    def told(self, request):
        """IN, or (methods that can continue, partial success)."""
        answer = self.ask(request)
        if answer[0] == raw.AUTH_SUCCESS:
            return IN
        return raw.Reader(answer[1:]).string().decode(), answer[-1] == 1


@pytest.fixture(scope="module")
def start(world, ours):
    if not world.account.password:
        pytest.skip(world.account.why_no_password)
    running = {}

    def go(*lines):
        if lines not in running:
            server = Sshd(world, ours, ["MaxAuthTries 20", *lines])
            server.config.write_text(server.config.read_text().replace("KbdInteractiveAuthentication no",
                                                                     "KbdInteractiveAuthentication yes"))
            running[lines] = server.start()
        return running[lines]
    yield go
    for server in running.values():
        server.stop()


def methods(server, steps):
    walk = Walk(server)
    try:
        return [getattr(walk, name)(*words) for name, *words in steps]
    finally:
        walk.peer.sock.close()


ANY = f"{PK},{PW},{KI}"
WALKS = (
    # what is asked for, then proofs and what each leads to
    ("any", (("none",), (ANY, False)), (("key",), IN)),
    (f"{PK},{PW}", (("none",), (PK, False)), (("password",), (PK, False)), (("key",), (PW, True)),
     (("key",), (PW, False)), (("password", "wrong"), (PW, False)), (("password",), IN)),
    (f"{PW},{PK}", (("key",), (PW, False)), (("password",), (PK, True)), (("password",), (PK, False)), (("key",), IN)),
    (f"{PK},{PK}", (("key",), (PK, True)), (("key",), (PK, False)), (("key", "ecdsa-256"), IN)),
    (f"{PK},{PW} {PW},{PK}", (("none",), (f"{PK},{PW}", False)), (("password",), (PK, True)), (("key",), IN)),
    (f"{PK},{PK} {PW}", (("key",), (f"{PK},{PW}", True)), (("password",), IN)),
    (f"{PK},{KI}:pam", (("key",), (KI, True)), (("password",), (KI, False))),
    (f"{PK},{KI}:bsdauth", (("key",), (KI, False)),),
)


@pytest.mark.parametrize("walk", WALKS, ids=lambda w: w[0])
def test_each_proof_leads_to_what_is_left(start, walk):
    lists, *steps = walk
    server = start(f"AuthenticationMethods {lists}")
    if lists.endswith(":bsdauth"):      # a device that is not there: nobody gets past the key
        walked = methods(server, [step for step, _ in steps])
        assert IN not in walked and walked[0][1] is False, walked
        return
    for (step, wanted), got in zip(steps, methods(server, [step for step, _ in steps])):
        assert got == wanted, (lists, step)


def test_a_question_about_a_key_proves_nothing(start):
    server = start(f"AuthenticationMethods {PK},{PK}")
    walk = Walk(server)
    assert walk.query() and walk.query("ecdsa-256")
    assert walk.key("ecdsa-256") == (PK, True)
    assert not walk.query("ecdsa-256"), "a key that has served is offered again"
    assert walk.query() and walk.key() == IN
    walk.peer.sock.close()
    assert "refusing previously-used ECDSA key" in server.log()
    assert re.search(r"Partial publickey for \S+ from 127\.0\.0\.1 port \d+ ssh2: ECDSA SHA256:", server.log())


def test_lists_with_a_method_that_is_off_do_not_count(start):
    assert methods(start("PubkeyAuthentication no", f"AuthenticationMethods {PK},{PW} {PW}"),
                   [("none",), ("key",), ("password",)]) == [(PW, False), (PW, False), IN]


def test_when_no_list_can_be_met_nobody_comes_in(start, world):
    """For everybody sshd does not start; where a block makes it so, it takes no proof."""
    server = start(f"Match User {world.account.user}", "PubkeyAuthentication no", f"AuthenticationMethods {PK},{PW}")
    assert IN not in methods(server, [("none",), ("key",), ("password",)])
    assert "No AuthenticationMethods left" in server.log()


def test_a_match_block_decides_for_its_users(start, world):
    lines = ("AuthenticationMethods none", f"Match User {world.account.user}", f"AuthenticationMethods {PK},{PW}")
    assert methods(start(*lines), [("key",), ("password",)]) == [(PW, True), IN]


def test_the_options_of_every_key_hold(world, ours, theirs):
    """A restriction of the first key is there after the second: its command, and no terminal."""
    with Sshd(world, ours, [f"AuthenticationMethods {PK},{PK}"]) as server:
        keys = server.dir / "authorized_keys"
        for first, second in (("ed25519", "ecdsa-256"), ("ecdsa-256", "ed25519")):
            keys.write_text(f'command="echo forced",no-pty {world.keys.public(first)}\n{world.keys.public(second)}\n')
            keys.chmod(0o644)
            if server.process is None:
                server.start()
            result = run_keys(world, theirs, server, "ed25519", "ecdsa-256")
            assert result[:2] == (0, b"forced\n"), result
        keys.write_text(f'command="echo a" {world.keys.public("ed25519")}\ncommand="echo b" {world.keys.public("ecdsa-256")}\n')
        assert run_keys(world, theirs, server, "ed25519", "ecdsa-256")[0] == 255
        assert "different forced commands" in server.log()


def run_keys(world, programs, server, *kinds):
    command, _, _ = Ssh(world, programs).command(server, kind=kinds[0])
    for kind in kinds[1:]:
        command[1:1] = ["-o", f"IdentityFile={world.keys.path(kind)}"]
    return feed([*command, "id -un"], None, 60)


@pytest.mark.parametrize("client", ("openssh", "bowline"))
@pytest.mark.parametrize("lists", (f"{PK},{PW}", f"{PW},{PK}", f"{PK},{KI}", f"{PK},{PK}", f"{PK},{PW},{KI}"))
def test_clients_walk_through_the_lists(start, world, ours, theirs, client, lists):
    server = start(f"AuthenticationMethods {lists}")
    programs = theirs if client == "openssh" else ours
    ssh = Ssh(world, programs)
    command, log, folder = ssh.command(server, auth="key")
    words = ("PreferredAuthentications=publickey", "BatchMode=yes")
    command = [w for i, w in enumerate(command) if w not in words and command[min(i + 1, len(command) - 1)] not in words]
    command[1:1] = ["-o", f"IdentityFile={world.keys.path('ecdsa-256')}", "-o", "NumberOfPasswordPrompts=2"]
    status, out, err = feed([*command, "echo through"], None, 60, ssh.environment(server, "password", folder))
    assert (status, out) == (0, b"through\n"), (err, log.read_text())


@pytest.mark.parametrize("line,words", (("nonsense", "invalid AuthenticationMethods list"),
                                        (f"{PK},", "invalid AuthenticationMethods list"),
                                        (f"any {PK}", "must stand alone")))
def test_a_list_that_is_none_is_an_error(world, ours, line, words):
    server = Sshd(world, ours, [f"AuthenticationMethods {line}"])
    status, out, err = feed([ours.sshd, "-t", "-f", str(server.config)], None, 60)
    assert status != 0 and words in err, err

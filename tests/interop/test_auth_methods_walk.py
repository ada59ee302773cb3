# SPDX-License-Identifier: ISC
"""AuthenticationMethods: what each proof leads to, request by request (test_auth_methods.py has whole clients)."""
import re

import pytest

from harness import rawssh as raw
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

# SPDX-License-Identifier: ISC
"""Every peer of peers.toml, both ways: login, status, signal, pty, 64 MiB each way, a rekey inside."""
import re

import pytest

import peers
from harness.client import Ssh
from harness.server import Sshd
from harness.world import sha256_file

CELLS = ("key", "password", "status", "signal", "pty", "up", "down", "rekey_ours", "rekey_theirs")
REKEY = 16 << 20


@pytest.fixture(scope="module")
def our_server(world, ours):
    """Our sshd, with and without a rekey limit; started when first asked for."""
    started = {}

    def get(rekey=0):
        if rekey not in started:
            options = [f"RekeyLimit {rekey}"] if rekey else []
            started[rekey] = Sshd(world, ours, options, host_kinds=("ed25519", "ecdsa-256", "rsa-2048")).start()
        return started[rekey]
    yield get
    for server in started.values():
        server.stop()


@pytest.fixture(scope="module")
def their_server(world):
    started = {}

    def get(name, rekey=0):
        if (name, rekey) not in started:
            started[name, rekey] = peers.make("server", name, world, rekey=rekey).start()
        return started[name, rekey]
    yield get
    for server in started.values():
        server.stop()


def cell(side, name, what, world):
    """Skips what the table says this peer cannot do."""
    row = peers.TABLE[side][name]
    if what in row["skip"]:
        pytest.skip(f"{name} {row['skip'][what]}")
    if row.get("needs") == "account" and not world.account.private:
        pytest.skip(f"{name} logs in by the system's accounts: {world.account.why_no_password}")


def may_password(server):
    if not server.password:
        pytest.skip(f"password: {server.world.account.why_no_password}")


def expect(result, status=0, out=None):
    assert result.status == status, str(result)
    if out is not None:
        assert result.out == out, str(result)


def check(what, client, server, world, newkeys):
    """One cell.  newkeys(): key exchanges after the first that the tested program has seen so far."""
    if what in ("key", "password"):
        if what == "password":
            may_password(server)
        expect(client.run(server, "echo in $((40 + 2))", auth=what), 0, b"in 42\n")
    elif what == "status":
        for status in (0, 1, 7, 254):
            expect(client.run(server, f"echo out; echo err >&2; exit {status}"), status, b"out\n")
        assert "err" in client.run(server, "echo err >&2").err
    elif what == "signal":
        result = client.run(server, "kill -TERM $$; sleep 5")
        assert getattr(client, "signal_status", result.status) == result.status, str(result)
        assert result.status != 0 or hasattr(client, "signal_status"), str(result)
        if client.tells_signal:
            assert result.signal == "TERM", str(result)
    elif what == "pty":
        result = client.run(server, "tty; read line; echo got:$line; exit 5", stdin=b"hello\n", pty=True)
        assert result.status == 5 and b"/dev/" in result.out and b"got:hello" in result.out, str(result)
        expect(client.run(server, "tty"), 1)
    elif what == "up":
        result = client.run(server, "sha256sum", stdin=world.payload)
        expect(result)
        assert result.out.split()[0].decode() == world.payload_hash
    elif what == "down":
        got = world.tmp / "down"
        expect(client.run(server, f"cat {world.payload}", out=got))
        assert sha256_file(got) == world.payload_hash
    else:
        rekey = REKEY if what.endswith("client") else None
        before = newkeys(None)
        result = client.run(server, "tee /dev/stderr 2>/dev/null | sha256sum", stdin=world.payload, rekey=rekey)
        expect(result)
        assert result.out.split()[0].decode() == world.payload_hash
        down = world.tmp / "down"
        second = client.run(server, f"cat {world.payload}", out=down, rekey=rekey)
        expect(second)
        assert sha256_file(down) == world.payload_hash
        assert newkeys([result, second]) - before >= 2, f"no rekey took place\n{result}"


@pytest.mark.parametrize("what", CELLS)
@pytest.mark.parametrize("name", peers.TABLE["server"])
def test_our_client_with_their_server(name, what, world, ours, their_server):
    cell("server", name, what, world)
    rekey = REKEY if what == "rekey_theirs" else 0
    server = their_server(name, rekey)
    kind = "rekey_client" if what == "rekey_ours" else what
    check(kind, Ssh(world, ours), server, world, lambda results: sum(r.rekeys for r in results or ()))


@pytest.mark.parametrize("what", CELLS)
@pytest.mark.parametrize("name", peers.TABLE["client"])
def test_their_client_with_our_server(name, what, world, our_server):
    cell("client", name, what, world)
    server = our_server(REKEY if what == "rekey_ours" else 0)
    client = peers.make("client", name, world)
    logged = len(re.findall("SSH2_MSG_NEWKEYS sent", server.log())) if what.startswith("rekey") else 0

    def newkeys(results):
        count = len(re.findall("SSH2_MSG_NEWKEYS sent", server.log())) - logged
        return count - len(results or ())       # the first exchange of each connection
    kind = "rekey_client" if what == "rekey_theirs" else what
    check(kind, client, server, world, newkeys)

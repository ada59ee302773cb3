# SPDX-License-Identifier: ISC
"""HostKeyAgent: our sshd with public host keys on disk and the private ones in OpenSSH's ssh-agent."""
import os
import shutil
import subprocess

import pytest

from harness import world as ground
from harness.client import Ssh
from harness.server import Sshd


@pytest.fixture
def agent():
    folder = ground.scratch("agent")
    socket = folder / "socket"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", socket],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert ground.wait_until(socket.exists, 10)
    yield socket
    ground.end(process)


def add(socket, *arguments):
    return subprocess.run(["ssh-add", "-q", *map(str, arguments)], env={**os.environ, "SSH_AUTH_SOCK": str(socket)},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)


def public_copy(world, kind, folder):
    path = folder / f"host-{kind}.pub"
    path.write_text(world.keys.public(kind, "host") + "\n")
    return path


@pytest.mark.parametrize("kind", ("ed25519", "ecdsa-256", "ecdsa-521", "rsa-2048"))
@pytest.mark.parametrize("named", ("public", "private"))
def test_the_agent_signs_for_the_host(world, ours, theirs, agent, kind, named):
    folder = ground.scratch("hostkey")
    path = public_copy(world, kind, folder)
    assert add(agent, world.keys.path(kind, "host")).returncode == 0
    line = path if named == "public" else str(path)[:-4]     # the private file is not there
    server = Sshd(world, ours, [f"HostKeyAgent {agent}", f"HostKey {line}"], host_kinds=())
    server.host_publics = [world.keys.public(kind, "host")]
    with server.start():
        for programs in (theirs, ours):
            result = Ssh(world, programs).run(server, "echo in")
            assert (result.status, result.out) == (0, b"in\n"), str(result) + server.log()
        # A rekey is signed too.
        result = Ssh(world, theirs).run(server, "cat", stdin=b"x" * 300000, rekey="64K")
        assert result.status == 0 and len(result.out) == 300000 and result.rekeys > 1


def test_without_its_key_the_agent_signs_nothing(world, ours, theirs, agent):
    path = public_copy(world, "ed25519", ground.scratch("hostkey"))
    assert add(agent, world.keys.path("ed25519", "host")).returncode == 0
    server = Sshd(world, ours, [f"HostKeyAgent {agent}", f"HostKey {path}"], host_kinds=())
    server.host_publics = [world.keys.public("ed25519", "host")]
    with server.start():
        assert Ssh(world, theirs).run(server, "echo in").out == b"in\n"
        assert add(agent, "-D").returncode == 0
        assert Ssh(world, theirs).run(server, "echo in").status == 255
        assert "does not sign with host key" in server.log()
        assert add(agent, world.keys.path("ed25519", "host")).returncode == 0
        assert Ssh(world, theirs).run(server, "echo in").out == b"in\n"


def test_a_server_without_its_agent_says_so(world, ours):
    folder = ground.scratch("hostkey")
    path = public_copy(world, "ed25519", folder)
    server = Sshd(world, ours, [f"HostKeyAgent {folder}/nobody", f"HostKey {path}"], host_kinds=())
    with pytest.raises(RuntimeError) as no:
        server.start()
    assert "Could not connect to agent" in str(no.value) and "no hostkeys available" in str(no.value)
    # The private key on disk needs no agent.
    private = folder / "private"
    shutil.copy(world.keys.path("ed25519", "host"), private)
    private.chmod(0o600)
    server = Sshd(world, ours, [f"HostKeyAgent {folder}/nobody", f"HostKey {private}"], host_kinds=())
    server.host_publics = [world.keys.public("ed25519", "host")]
    with server.start():
        assert Ssh(world, ours).run(server, "echo in").out == b"in\n"

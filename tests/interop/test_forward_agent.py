# SPDX-License-Identifier: ISC
"""The agent lent to a server: both roles, each against OpenSSH's programs, and what limits it."""
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import threading
from pathlib import Path

import pytest

from harness import world as worlds
from harness.client import Ssh, feed
from harness.lent import Lent
from harness.programs import for_everyone
from harness.server import Sshd

SHOW = 'ssh-add -L; echo "status $?"; echo "at $SSH_AUTH_SOCK"'


@pytest.fixture
def agent(world):
    with Lent(world, "ecdsa-256", "rsa-2048") as lent:
        yield lent


@pytest.fixture(params=("ours to ours", "ours to theirs", "theirs to ours"))
def pair(request, ours, theirs):
    client, server = request.param.split(" to ")
    return {"ours": ours, "theirs": theirs}[client], {"ours": ours, "theirs": theirs}[server]


def ask(world, programs, server, env, remote, *words, options=(), stdin=None, timeout=60):
    client = Ssh(world, programs)
    command, _, _ = client.command(server, options=options, debug=False)
    code, out, err = feed([*command[:-1], *words, command[-1], remote], stdin, timeout, env)
    return code, out.decode(errors="replace"), err


def sockets(server):
    home = Path("~" + server.user).expanduser() / ".ssh/agent"
    return {p for p in [*home.glob("s.*.sshd.*"), *Path("/tmp").glob("ssh-*/agent.*")] if p.exists()}


def lends(out, agent):
    return agent.list() in out and "status 0" in out


def test_keys_of_a_lent_agent_are_seen_there(world, pair, agent):
    client, programs = pair
    with Sshd(world, programs).start() as server:
        code, out, err = ask(world, client, server, agent.env, SHOW, "-A")
        assert code == 0 and lends(out, agent), (out, err)


def test_without_being_asked_for_nothing_is_lent(world, pair, agent):
    client, programs = pair
    with Sshd(world, programs).start() as server:
        for words in ((), ("-a",), ("-A", "-a"), ("-oForwardAgent=no",)):
            code, out, err = ask(world, client, server, agent.env, SHOW, *words)
            assert code == 0 and "at /" not in out, (words, out, err)
        for words in (("-a", "-A"), ("-oForwardAgent=no", "-A"), ("-A", "-oForwardAgent=no")):
            code, out, err = ask(world, client, server, agent.env, SHOW, *words)
            assert lends(out, agent), (words, out, err)


def test_the_socket_is_the_users_own_and_goes_with_the_connection(world, ours, theirs, agent):
    with Sshd(world, ours).start() as server:
        before = sockets(server)
        show = 'stat -c "%a %U %F" "$SSH_AUTH_SOCK" "$(dirname "$SSH_AUTH_SOCK")"; echo "$SSH_AUTH_SOCK"'
        code, out, err = ask(world, theirs, server, agent.env, show, "-A")
        lines = out.splitlines()
        assert code == 0 and len(lines) == 3, (out, err)
        assert lines[0] == f"600 {server.user} socket" and lines[1] == f"700 {server.user} directory"
        assert "/.ssh/agent/s." in lines[2] and ".sshd." in lines[2]
        assert worlds.wait_until(lambda: sockets(server) == before, 10), sockets(server) - before


LIMITS = {"AllowAgentForwarding": (["AllowAgentForwarding no"], ""),
          "DisableForwarding": (["DisableForwarding yes"], ""),
          "DisableForwarding over AllowAgentForwarding": (["AllowAgentForwarding yes", "DisableForwarding yes"], ""),
          "Match": (["Match User *", "AllowAgentForwarding no"], ""),
          "Match DisableForwarding": (["Match User *", "DisableForwarding yes"], ""),
          "no-agent-forwarding": ([], "no-agent-forwarding "),
          "restrict": ([], "restrict "),
          "restrict,pty": ([], "restrict,pty ")}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_holds_on_every_way(world, ours, theirs, agent, limit):
    lines, option = LIMITS[limit]
    with Sshd(world, ours, [f"Subsystem show /bin/sh -c '{SHOW}'", *lines]).start() as server:
        (server.dir / "authorized_keys").write_text(option + world.keys.public("ed25519") + "\n")
        before = sockets(server)
        for words, remote, stdin in ((("-A",), SHOW, None), (("-A", "-T"), "", SHOW.encode() + b"\n"),
                                     (("-A", "-s"), "show", None), (("-A", "-tt"), SHOW, None)):
            if "-tt" in words and option == "restrict ":
                continue  # no terminal is had, and OpenSSH's client ends
            command, _, _ = Ssh(world, theirs).command(server, debug=False)
            command = [*command[:-1], *words, command[-1], *([remote] if remote else [])]
            _, out, err = feed(command, stdin, 60, agent.env)
            assert b"status 2" in out and b"at /" not in out, (words, out, err)
        assert sockets(server) == before


def test_restrict_and_agent_forwarding_lends(world, ours, theirs, agent):
    with Sshd(world, ours).start() as server:
        (server.dir / "authorized_keys").write_text("restrict,agent-forwarding " + world.keys.public("ed25519") + "\n")
        _, out, err = ask(world, theirs, server, agent.env, SHOW, "-A")
        assert lends(out, agent), (out, err)


def test_every_way_lends(world, ours, theirs, agent):
    """Else the limits above would prove nothing."""
    with Sshd(world, ours, [f"Subsystem show /bin/sh -c '{SHOW}'"]).start() as server:
        for words, remote, stdin in (((), SHOW, None), (("-T",), "", SHOW.encode() + b"\n"), (("-s",), "show", None),
                                     (("-tt",), SHOW, None)):
            command, _, _ = Ssh(world, theirs).command(server, debug=False)
            command = [*command[:-1], "-A", *words, command[-1], *([remote] if remote else [])]
            _, out, err = feed(command, stdin, 60, agent.env)
            assert b"status 0" in out and b"at /" in out, (words, out, err)


def test_forward_agent_by_path_variable_and_identity_agent(world, ours, agent):
    with Sshd(world, ours).start() as server:
        other = {"OTHER_AGENT": str(agent.path)}
        for options, env in (([f"ForwardAgent={agent.path}"], {}), (["ForwardAgent=$OTHER_AGENT"], other),
                             (["ForwardAgent=yes", f"IdentityAgent={agent.path}"], {})):
            _, out, err = ask(world, ours, server, env, SHOW, options=options)
            assert lends(out, agent), (options, out, err)
        for options, env in ((["ForwardAgent=yes"], {}), (["ForwardAgent=$NOT_SET_AT_ALL"], {}),
                             (["ForwardAgent=yes", "IdentityAgent=none"], agent.env)):
            code, out, err = ask(world, ours, server, env, SHOW, options=options)
            assert code == 0 and "at /" not in out, (options, out, err)
        code, out, err = ask(world, ours, server, {}, SHOW, options=["ForwardAgent=/none/such"])
        assert code == 0 and 'Cannot forward agent socket path "/none/such"' in err and "at /" not in out
        code, out, err = ask(world, ours, server, {}, SHOW,
                             options=["ForwardAgent=/none/such", "ExitOnForwardFailure=yes"])
        assert code == 255 and "at" not in out


def test_a_changed_host_key_gets_no_agent(world, ours, agent):
    with Sshd(world, ours).start() as server:
        wrong = server.dir / "known"
        wrong.write_text(f"[{server.host}]:{server.port} {world.keys.public('ed25519')}\n")
        command = [str(ours.ssh), "-F", "none", "-A", "-p", str(server.port), "-l", server.user,
                   "-i", str(world.keys.path("ed25519")), "-oIdentitiesOnly=yes", "-oBatchMode=yes",
                   f"-oUserKnownHostsFile={wrong}", "-oStrictHostKeyChecking=no", server.host, SHOW]
        _, out, err = feed(command, None, 60, agent.env)
        assert b"status 2" in out and b"at /" not in out
        assert "Agent forwarding is disabled to avoid man-in-the-middle attacks." in err


def test_two_hops(world, pair, agent):
    """The agent of the first machine opens the door to the third."""
    client, programs = pair
    with Sshd(world, programs).start() as first, Sshd(world, programs, name="second").start() as second:
        hop = (f"{for_everyone(programs.ssh)} -F none -A -p {second.port} -l {second.user} -oStrictHostKeyChecking=no "
               f"-oUserKnownHostsFile=/dev/null -oBatchMode=yes {second.host} '{SHOW}'")
        code, out, err = ask(world, client, first, agent.env, hop, "-A")
        assert code == 0 and lends(out, agent), (out, err)


def test_many_connections_at_once(world, pair, agent):
    client, programs = pair
    many = "i=0; while [ $i -lt 200 ]; do ssh-add -l >/dev/null && echo fine & i=$((i+1)); done; wait"
    with Sshd(world, programs).start() as server:
        code, out, err = ask(world, client, server, agent.env, many, "-A", timeout=120)
        assert code == 0 and out.count("fine") == 200, (out.count("fine"), err)


class Rude:
    """An agent that answers the binding, then pours bytes into its first connection and reads no more of it."""

    def __init__(self, folder):
        self.path, self.n = folder / "rude", 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.env = {"SSH_AUTH_SOCK": str(self.path)}
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.talk, args=(peer,), daemon=True).start()

    def talk(self, peer):
        try:
            while True:
                head = peer.recv(5, socket.MSG_WAITALL)
                if len(head) < 5:
                    return
                size, number = struct.unpack(">IB", head)
                peer.recv(size - 1, socket.MSG_WAITALL)
                if number == 27:
                    peer.sendall(struct.pack(">IB", 1, 6))
                    continue
                self.n += 1
                if self.n == 1:
                    peer.settimeout(4)  # then it goes: OpenSSH's client waits for that
                    for _ in range(1000):
                        peer.sendall(bytes(65536))
                    peer.close()
                    return
                peer.sendall(struct.pack(">IBI", 5, 12, 0))
        except OSError:
            peer.close()


FLOOD = """
import os, socket, struct
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SSH_AUTH_SOCK"]); s.settimeout(1)
ask, n = struct.pack(">IB", 1, 11), 0
try:
    while n < 60 << 20:
        n += s.send(ask * 16384)
except TimeoutError:
    print("stuck", flush=True)
t = socket.socket(socket.AF_UNIX); t.connect(os.environ["SSH_AUTH_SOCK"]); t.sendall(ask)
t.settimeout(20)
print("other", len(t.recv(9)), flush=True)
"""


def test_who_never_reads_hinders_nobody(world, pair):
    """Neither an agent nor a program that stops reading keeps the other connections waiting."""
    client, programs = pair
    rude = Rude(worlds.scratch("rude"))
    with Sshd(world, programs).start() as server:
        script = server.dir / "flood.py"
        script.write_text(FLOOD)
        script.chmod(0o644)
        server.dir.chmod(0o755)
        # OpenSSH's client stays until its channels have ended; what counts is told before
        _, out, err = ask(world, client, server, rude.env, f"/usr/bin/python3 {script}", "-A", timeout=15)
        assert "stuck" in out and "other 9" in out, (out, err)


@pytest.mark.parametrize("how", ("client killed", "client TERM", "session TERM", "session HUP", "monitor killed"))
def test_no_end_leaves_a_socket(world, ours, agent, how):
    with Sshd(world, ours).start() as server:
        before = sockets(server)
        command, _, _ = Ssh(world, ours).command(server, debug=False)
        command = [*command[:-1], "-A", command[-1], "echo $PPID; echo $(ps -o ppid= -p $PPID); exec sleep 60"]
        process = subprocess.Popen(command, env={**os.environ, **agent.env}, stdout=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            session, monitor = (int(process.stdout.readline()) for _ in range(2))
            made = sockets(server) - before
            assert len(made) == 1 and stat.S_ISSOCK(made.pop().stat().st_mode)
            number, what = {"client killed": (process.pid, signal.SIGKILL), "client TERM": (process.pid, signal.SIGTERM),
                            "session TERM": (session, signal.SIGTERM), "session HUP": (session, signal.SIGHUP),
                            "monitor killed": (monitor, signal.SIGKILL)}[how]
            os.kill(number, what)
            assert worlds.wait_until(lambda: sockets(server) == before, 10), sockets(server) - before
        finally:
            process.stdout.close()
            worlds.end(process)


def test_a_home_that_cannot_be_written_gets_a_socket_in_tmp(world, ours, theirs, agent):
    home = Path("~" + world.account.user).expanduser()
    if not world.account.private:
        pytest.skip("needs an account of its own")
    folder = home / ".ssh/agent"
    (home / ".ssh").mkdir(mode=0o700, exist_ok=True)
    kept = folder.rename(home / ".ssh/kept") if folder.exists() else None
    folder.write_text("in the way\n")
    try:
        with Sshd(world, ours).start() as server:
            _, out, err = ask(world, theirs, server, agent.env, SHOW, "-A")
            assert lends(out, agent) and "at /tmp/ssh-" in out, (out, err)
            path = Path(out.split("at ")[1].strip())
            assert worlds.wait_until(lambda: not path.parent.exists(), 10)
    finally:
        folder.unlink()
        if kept:
            kept.rename(folder)


def test_git_signs_in_through_a_lent_agent(world, ours, agent):
    """A push from the server to a second one, with the key that stays at home."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    with Sshd(world, ours).start() as first, Sshd(world, ours, name="second").start() as second:
        work = (f"set -e; d=$(mktemp -d); cd $d; git init -q --bare far.git; git init -q near; cd near; "
                f"git -c user.name=a -c user.email=b@c commit -q --allow-empty -m one; "
                f"GIT_SSH_COMMAND='{for_everyone(ours.ssh)} -F none -p {second.port} -oStrictHostKeyChecking=no "
                f"-oUserKnownHostsFile=/dev/null -oBatchMode=yes' "
                f"git push -q ssh://{second.user}@{second.host}$d/far.git HEAD:refs/heads/main; "
                f"git -C ../far.git log --oneline main; rm -rf $d")
        code, out, err = ask(world, ours, first, agent.env, work, "-A")
        assert code == 0 and "one" in out, (out, err)


# ---- keys with destinations, and the order of keys ----

def known(folder, *servers):
    path = folder / "known_for_agent"
    path.write_text("".join(f"[{s.host}]:{s.port} {key}\n" for s in servers for key in s.host_publics))
    return path


def by_agent(world, programs, server, env, remote, *options):
    """A login with what the agent has and nothing else."""
    command = [str(programs.ssh), "-F", "none", "-p", str(server.port), "-l", server.user, "-oBatchMode=yes",
               "-oIdentityFile=none", "-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null", *options,
               server.host, remote]
    return feed(command, None, 60, env)


@pytest.mark.parametrize("agents", ("theirs", "ours"))
def test_a_key_with_a_destination_opens_that_one_only(world, ours, theirs, agents):
    program = {"theirs": shutil.which("ssh-agent"), "ours": str(Path(ours.ssh).parent / "ssh-agent")}[agents]
    if agents == "ours" and not Path(program).exists():
        program = str(Path(ours.ssh).parent.parent / "ssh-agent" / "ssh-agent")
    with Lent(world, program=program) as lent, Sshd(world, ours).start() as right, \
            Sshd(world, ours, host_kinds=("ecdsa-256",), name="wrong").start() as wrong:
        lent.add("-H", str(known(lent.dir, right)), "-h", f"[{right.host}]:{right.port}",
                 str(world.keys.path("ecdsa-256")))
        code, out, err = by_agent(world, ours, right, lent.env, "echo in")
        assert (code, out) == (0, b"in\n"), err
        code, out, err = by_agent(world, ours, wrong, lent.env, "echo in")
        assert code == 255 and b"in" not in out, err


def test_a_key_with_two_hops_goes_that_way_only(world, pair):
    """The agent allows here to first to second; not here to second, and not on from the second."""
    client, programs = pair
    with Lent(world) as lent, Sshd(world, programs).start() as first, \
            Sshd(world, programs, host_kinds=("ecdsa-256",), name="second").start() as second:
        one, two = (f"[{s.host}]:{s.port}" for s in (first, second))
        lent.add("-H", str(known(lent.dir, first, second)), "-h", one, "-h", f"{one}>{two}",
                 str(world.keys.path("ecdsa-256")))
        hop = (f"{for_everyone(programs.ssh)} -F none -p {second.port} -l {second.user} -oStrictHostKeyChecking=no "
               f"-oUserKnownHostsFile=/dev/null -oBatchMode=yes -oIdentityFile=none {second.host} echo there")
        code, out, err = by_agent(world, client, first, lent.env, hop, "-A")
        assert code == 0 and out == b"there\n", err
        code, out, err = by_agent(world, client, second, lent.env, "echo in", "-A")
        assert code == 255 and b"in" not in out, err


def test_the_key_that_the_user_names_goes_before_thirty_of_the_agent(world, ours, theirs):
    with Lent(world) as lent, Sshd(world, theirs, ["MaxAuthTries 6"]).start() as server:
        (server.dir / "authorized_keys").write_text(world.keys.public("ed25519") + "\n")
        for i in range(30):
            path = lent.dir / f"key{i}"
            subprocess.run([theirs.keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
            lent.add(str(path))
        code, out, err = by_agent(world, ours, server, lent.env, "echo in", f"-oIdentityFile={world.keys.path('ed25519')}")
        assert (code, out) == (0, b"in\n"), err
        code, out, err = by_agent(world, ours, server, lent.env, "echo in")
        assert code == 255 and "Too many authentication failures" in err
        assert err.count("the server does not take it for this user") >= 5 and "IdentitiesOnly" in err


def test_z_shows_the_keys_in_their_order(world, ours, agent):
    path = world.keys.path("ed25519")
    code, out, err = feed([str(ours.ssh), "-F", "none", "-Z", "-i", str(path), "-i", str(world.keys.path("rsa-2048")),
                           "a-host"], None, 30, agent.env)
    lines = out.decode().splitlines()
    prints = {kind: subprocess.run([ours.keygen, "-lf", str(world.keys.path(kind))], capture_output=True,
                                   text=True).stdout.split()[1] for kind in ("ed25519", "rsa-2048", "ecdsa-256")}
    assert code == 0, err
    assert lines == [f"{world.keys.path('rsa-2048')} RSA {prints['rsa-2048']} explicit agent",
                     f"{path} ED25519 {prints['ed25519']} explicit",
                     f"user-ecdsa-256 ECDSA {prints['ecdsa-256']} agent"]

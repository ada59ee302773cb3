# SPDX-License-Identifier: ISC
"""Our sshd as its administrator sees it: processes, limits, signals, the log; the client is the installed OpenSSH's."""
import base64
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

from harness import rawssh as raw
from harness import world as ground
from harness.client import Ssh, feed, feed_tty
from harness.server import Sshd

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def unsanitized(ours):
    """For tests of the sandbox and of crashes, which a sanitizer's run time takes part in."""
    if "asan" in ours.name:
        pytest.skip("a build with sanitizers has no system call filter, and reports a crash itself")


@pytest.fixture
def client(world, theirs):
    return Ssh(world, theirs)


@pytest.fixture
def sshd(world, ours):
    """A function that starts one with more options; all are ended afterwards."""
    started = []

    def start(*options, **more):
        server = Sshd(world, ours, options, **more).start()
        started.append(server)
        settle(server)
        return server
    yield start
    for server in started:
        server.stop()


def settle(server):
    """Waits until the harness's own knock at the door is over."""
    def is_quiet():
        return re.search("Connection (closed|reset) by 127.0.0.1", server.log()) and \
            not any(children(pid) for pid in children(server.process.pid))
    assert ground.wait_until(is_quiet, 10)


@pytest.fixture
def account(world):
    if world.account.password is None:
        pytest.skip(world.account.why_no_password)
    return world.account


# -- processes

def children(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text()
            except OSError:
                continue
            if int(stat.rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(name))
    return found


def status(pid):
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def zygotes(server):
    """{role: pid} of the two warm processes of a server."""
    found = {}
    for pid in children(server.process.pid):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"-R" in words:
            found[words[words.index(b"-R") + 1].decode()] = pid
    return found


def zygotes_first(server):
    """The oldest of each role: numbers of processes grow."""
    begun = sorted(children(server.process.pid), key=lambda p: int(
        Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split()[19]))
    return begun[:2]


def connect(server):
    """A connection that only says its version."""
    s = socket.create_connection((server.host, server.port), timeout=20)
    s.sendall(b"SSH-2.0-quiet\r\n")
    return s


def until_closed(s, seconds):
    """What came until the other side closed; None when it did not."""
    s.settimeout(seconds)
    got = b""
    try:
        while block := s.recv(65536):
            got += block
    except TimeoutError:
        return None
    except OSError:
        pass
    return got


def in_roles(server, role, n=1):
    """The pids that a zygote has forked, once there are n."""
    assert ground.wait_until(lambda: role in zygotes(server) and len(children(zygotes(server)[role])) >= n, 10)
    return children(zygotes(server)[role])


def holds(pid, text):
    """Is it in memory that this process can write?"""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            if "rw" not in line or "[v" in line:
                continue
            begin, end = (int(x, 16) for x in line.split()[0].split("-"))
            memory.seek(begin)
            if text in memory.read(end - begin):
                return True
    return False


@needs_root
def test_the_network_process_has_nothing(sshd, unsanitized):
    server = sshd()
    with connect(server):
        pid = in_roles(server, "net")[0]
        assert ground.wait_until(lambda: status(pid)["Seccomp"].strip() == "2", 5)
        facts = status(pid)
        assert set(facts["Uid"].split()) == {facts["Uid"].split()[0]} and facts["Uid"].split()[0] != "0"
        assert facts["Gid"].split()[0] != "0" and facts["Groups"].strip() == ""
        assert facts["NoNewPrivs"].strip() == "1" and int(facts["CapEff"], 16) == 0
        assert os.listdir(f"/proc/{pid}/root/") == []
        kinds = [os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{pid}/fd")]
        assert set(kinds[3:]) <= {"socket", "anon_inode"}


def test_the_network_line_has_never_seen_a_host_key(sshd, unsanitized):
    """Nothing of the private keys is in the memory of the process that forks network processes."""
    server = sshd()
    pid = zygotes(server)["net"]
    secret = "".join(Path(server.config).read_text().split("HostKey ")[1].split()[:1])
    text = Path(secret).read_text().splitlines()[2].encode()
    assert not holds(pid, text)


@needs_root
@pytest.mark.parametrize("auth", ("key", "password"))
def test_after_login_no_process_knows_a_password_hash(sshd, client, account, unsanitized, auth):
    """Neither the user's own hash nor another account's, wherever a look-up may have left it."""
    digests = [line.split(":")[1].rsplit("$", 1)[1].encode() for line in Path("/etc/shadow").read_text().splitlines()
               if line.split(":")[1].startswith("$")]
    assert digests
    server = sshd()
    command, _, folder = client.command(server, auth=auth)
    child = subprocess.Popen([*command, "echo in; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL,
                             env={**os.environ, **client.environment(server, auth, folder)})
    assert child.stdout.readline() == b"in\n"
    zygote = zygotes(server)["monitor"]
    monitor = in_roles(server, "monitor")[0]
    assert ground.wait_until(lambda: len(children(monitor)) == 1, 5)
    pids = [zygote, monitor, *children(monitor)]
    found = [(pid, digest) for pid in pids for digest in digests if holds(pid, digest)]
    assert holds(monitor, server.user.encode())     # the search does find what is there
    child.communicate(b"x", timeout=10)
    assert found == []


def test_after_login_the_network_process_is_gone(sshd, client):
    server = sshd()
    command, _, _ = client.command(server)
    child = subprocess.Popen([*command, "echo in; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    assert child.stdout.readline() == b"in\n"
    assert ground.wait_until(lambda: not children(zygotes(server)["net"]), 5)
    monitor = in_roles(server, "monitor")[0]
    session = children(monitor)
    assert len(session) == 1
    assert int(status(session[0])["Uid"].split()[0]) == pwd.getpwnam(server.user).pw_uid
    child.communicate(b"x", timeout=10)
    assert child.returncode == 0


def test_a_quiet_session_gives_back_what_the_login_needed(sshd, client, unsanitized):
    def resident(pid):
        return int(status(pid)["VmRSS"].split()[0])
    server = sshd()
    command, _, _ = client.command(server)
    child = subprocess.Popen([*command, "echo in; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    assert child.stdout.readline() == b"in\n"
    session = children(in_roles(server, "monitor")[0])[0]
    before = resident(session)
    assert ground.wait_until(lambda: resident(session) < 0.7 * before, 10), (before, resident(session))
    child.communicate(b"x", timeout=10)
    assert child.returncode == 0


def test_nobody_is_busy_while_a_session_sleeps(sshd, client):
    server = sshd()
    command, _, _ = client.command(server)
    with subprocess.Popen([*command, "echo in; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child, connect(server):
        assert child.stdout.readline() == b"in\n"
        in_roles(server, "net")

        def ticks():
            found, todo = 0, [server.process.pid]
            while todo:
                pid = todo.pop()
                found += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
                todo += children(pid)
            return found
        time.sleep(1)
        before = ticks()
        time.sleep(2)
        assert ticks() - before <= 2
        child.communicate(b"", timeout=10)


@pytest.mark.parametrize("kind", ("ed25519", "ecdsa-256", "ecdsa-521", "rsa-2048"))
@pytest.mark.parametrize("where", ("client", "server"))
@pytest.mark.parametrize("whose", ("ours", "theirs"))
def test_the_monitor_signs_later_exchanges(sshd, world, ours, theirs, whose, where, kind):
    """The keys of the host are never where the session is; each exchange is checked and signed over there."""
    server = sshd(*(["RekeyLimit 64K"] if where == "server" else []), host_kinds=(kind,))
    block = bytes(range(256)) * 2048
    result = Ssh(world, {"ours": ours, "theirs": theirs}[whose]).run(
        server, "cat", stdin=block, rekey="64K" if where == "client" else None)
    assert result.status == 0 and result.out == block and result.rekeys >= 1, str(result)
    assert "not signed" not in server.log()


@pytest.mark.parametrize("method", ("diffie-hellman-group14-sha256", "diffie-hellman-group-exchange-sha256",
                                    "ecdh-sha2-nistp521", "curve25519-sha256", "sntrup761x25519-sha512@openssh.com"))
def test_later_exchanges_by_every_kind_of_method(sshd, client, method):
    server = sshd(f"KexAlgorithms {method}")
    block = bytes(1_000_000)
    result = client.run(server, "cat", stdin=block, rekey="256K", options=[f"KexAlgorithms={method}"])
    assert result.status == 0 and result.out == block and result.rekeys >= 1, str(result)


# -- what ps shows

HOST_KINDS = ("ed25519", "ecdsa-256", "rsa-2048")
PROVE = "hostkeys-prove-00@openssh.com"


def told_hostkeys(peer, server):
    """The blobs of hostkeys-00@openssh.com, which comes by itself after the login."""
    peer.handshake()
    peer.login(server.user, raw.load_key(server.world.keys.path("ed25519")))
    r = raw.Reader(peer.expect(raw.GLOBAL_REQUEST, skip=(raw.EXT_INFO,))[1:])
    assert r.string() == b"hostkeys-00@openssh.com" and r.u8() == 0
    blobs = []
    while r.at < len(r.b):
        blobs.append(r.string())
    return blobs


def test_all_host_keys_are_told_and_proved(sshd, world):
    server = sshd(host_kinds=HOST_KINDS)
    peer = raw.connect(server.port)
    blobs = told_hostkeys(peer, server)
    assert blobs == [base64.b64decode(line.split()[1]) for line in server.host_publics]

    def ask(*wanted):
        peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string(PROVE) + b"\1" + b"".join(map(raw.string, wanted)))
        return peer.expect(raw.REQUEST_SUCCESS, raw.REQUEST_FAILURE)
    for wanted in (blobs, blobs[::-1], blobs[1:2]):
        r = raw.Reader(ask(*wanted)[1:])
        for blob in wanted:
            line = b" ".join((raw.Reader(blob).string(), base64.b64encode(blob)))
            key = serialization.load_ssh_public_key(line)
            signed = raw.string(PROVE) + raw.string(peer.session_id) + raw.string(blob)
            s = raw.Reader(r.string())
            algorithm, value = s.string(), s.string()
            if isinstance(key, rsa.RSAPublicKey):
                assert algorithm == b"rsa-sha2-512"
                key.verify(value, signed, padding.PKCS1v15(), hashes.SHA512())
            elif isinstance(key, ec.EllipticCurvePublicKey):
                n = raw.Reader(value)
                numbers = [int.from_bytes(n.string(), "big") for _ in range(2)]
                key.verify(utils.encode_dss_signature(*numbers), signed, ec.ECDSA(hashes.SHA256()))
            else:
                key.verify(value, signed)
        assert r.at == len(r.b)
    stranger = raw.public_blob(raw.new_key())
    for wanted in ((), (stranger,), (blobs[0], stranger), (blobs[0], blobs[0]), (b"",), (blobs[0] + b"x",)):
        assert ask(*wanted) == bytes([raw.REQUEST_FAILURE])
    peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string(PROVE) + b"\1" + raw.u32(2 ** 32 - 1))
    peer.expect(raw.REQUEST_FAILURE)
    assert ask(blobs[0])[0] == raw.REQUEST_SUCCESS      # all that was bad changed nothing
    peer.sock.close()


@pytest.mark.parametrize("algorithm", ("ssh-ed25519", "rsa-sha2-256", "rsa-sha2-512", "ecdsa-sha2-nistp256"))
def test_a_client_learns_the_other_host_keys(sshd, client, tmp_path, algorithm):
    """The installed ssh writes down what was proved to it."""
    server = sshd(host_kinds=HOST_KINDS)
    file = tmp_path / "known"
    kind = {"ssh": "ssh-ed25519", "rsa": "ssh-rsa", "ecd": "ecdsa-sha2-nistp256"}[algorithm[:3]]
    known = [line for line in server.host_publics if line.startswith(kind + " ")]
    rest = "ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256"
    file.write_text(f"[{server.host}]:{server.port} {known[0]}\n")
    command, log, _ = client.command(server, [f"UserKnownHostsFile={file}", "StrictHostKeyChecking=yes", "UpdateHostKeys=yes",
                                            f"HostKeyAlgorithms={algorithm},{rest}"], hosts=False)
    assert feed([*command, "sleep 1"], None, 20)[0] == 0, log.read_text()
    learnt = {line.split()[2] for line in file.read_text().splitlines()}
    assert learnt == {line.split()[1] for line in server.host_publics}, log.read_text()


@pytest.mark.parametrize("version", (b"SSH-2.0-TTSSH/2.72 Win32", b"SSH-2.0-Cisco-1.25"))
def test_clients_that_bear_no_news_of_host_keys_get_none(sshd, world, version):
    server = sshd()
    peer = raw.connect(server.port)
    peer.handshake(mine=version)
    peer.login(server.user, raw.load_key(world.keys.path("ed25519")))
    peer.open_session()
    assert raw.GLOBAL_REQUEST not in peer.seen
    peer.sock.close()


def title(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()


def shows(pid, text):
    return ground.wait_until(lambda: title(pid) == text, 10)


def test_titles_before_login(sshd):
    server = sshd("MaxStartups 5:30:60")
    command = f"{server.programs.sshd} -D -e -f {server.config}"
    listener = server.process.pid
    assert shows(listener, f"sshd: {command} [listener] 0 of 5-60 startups"), title(listener)
    with connect(server):
        assert shows(listener, f"sshd: {command} [listener] 1 of 5-60 startups"), title(listener)
        assert shows(in_roles(server, "net")[0], "sshd: [net]")
        assert shows(in_roles(server, "monitor")[0], "sshd: [accepted]")
    assert shows(listener, f"sshd: {command} [listener] 0 of 5-60 startups"), title(listener)


def test_titles_never_show_a_name_without_account(sshd, client):
    """People type their password where the name belongs."""
    server = sshd()
    command, _, _ = client.command(server)
    command[command.index("-l") + 1] = "s3cret-pa55"
    seen = set()
    with subprocess.Popen([*command, "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as child:
        while child.poll() is None:
            for role in ("net", "monitor"):
                for pid in children(zygotes(server)[role]) if role in zygotes(server) else ():
                    try:
                        seen.add(title(pid))
                    except OSError:
                        pass
    assert "Invalid user s3cret-pa55" in server.log()
    assert not any("s3cret" in text for text in seen), seen


def test_titles_of_a_session(sshd, client):
    server = sshd()
    command, _, _ = client.command(server)
    with subprocess.Popen([*command, "echo in; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child:
        assert child.stdout.readline() == b"in\n"
        monitor = in_roles(server, "monitor")[0]
        assert shows(monitor, f"sshd: {server.user} [priv]"), title(monitor)
        session = children(monitor)[0]
        assert shows(session, f"sshd: {server.user}@notty"), title(session)
        child.communicate(b"", timeout=10)


def test_title_names_the_terminal(sshd, client):
    server = sshd()
    command, _, _ = client.command(server, pty=True)
    look = "tty; tr '\\0' '\\n' </proc/$PPID/cmdline | head -n 1"
    code, out, _ = feed_tty([*command, look], b"", 30)
    tty = re.search(rb"/dev/(pts/[0-9]+)", out)
    assert code == 0 and tty and b"sshd: %s@%s" % (server.user.encode(), tty[1]) in out, out


def test_the_arguments_outlive_the_title_in_their_place(sshd, client):
    server = sshd()
    assert title(server.process.pid).startswith("sshd: ")
    server.process.send_signal(signal.SIGHUP)
    assert ground.wait_until(lambda: server.log().count("Server listening") >= 2, 10), server.log()
    assert client.run(server, "echo again").out == b"again\n"


@pytest.mark.parametrize("role", ("net", "monitor"))
def test_a_crash_takes_its_line_along_and_no_session(sshd, client, role, unsanitized):
    server = sshd()
    command, _, _ = client.command(server)
    with subprocess.Popen([*command, "echo in; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child:
        assert child.stdout.readline() == b"in\n"
        assert ground.wait_until(lambda: not children(zygotes(server)["net"]), 5)
        before = zygotes(server)
        logged_in = children(before["monitor"])
        first, second = connect(server), connect(server)
        victims = [p for p in in_roles(server, role, 2 + len(logged_in) * (role == "monitor")) if p not in logged_in]
        os.kill(victims[0], signal.SIGSEGV)
        assert until_closed(first, 10) is not None and until_closed(second, 10) is not None
        assert ground.wait_until(lambda: zygotes(server).get(role) not in (None, before[role]), 10)
        assert client.run(server, "echo again").out == b"again\n"
        out, _ = child.communicate(b"still here", timeout=10)
        assert out == b"still here" and child.returncode == 0
    assert "has crashed" in server.log()


def test_zygotes_are_replaced_after_sixteen_forks(sshd, client):
    server = sshd()
    before = zygotes(server)
    for _ in range(20):
        assert client.run(server, "exit 3").status == 3
    after = zygotes(server)
    assert set(after) == {"net", "monitor"} and not set(before.values()) & set(after.values())


def test_the_zygote_that_is_warm_takes_over(sshd, client):
    """One after another: when the forks of one are used up, the next serves, and none is left over."""
    server = sshd()
    for _ in range(60):
        assert client.run(server, "exit 3").status == 3
        if len(children(server.process.pid)) == 4:
            break
    else:
        raise AssertionError("no zygote was warmed ahead")
    warm = set(children(server.process.pid)) - set(zygotes_first(server))
    for _ in range(8):
        assert client.run(server, "exit 3").status == 3
    assert ground.wait_until(lambda: set(children(server.process.pid)) == warm, 5)


def test_a_user_may_kill_his_own_session_only(sshd, client):
    """`kill -9 $PPID` in a session ends that one; others that are logging in go on."""
    server = sshd()
    with connect(server) as other:
        in_roles(server, "net")
        before = zygotes(server)
        result = client.run(server, "kill -9 $PPID; sleep 5")
        assert result.status == 255
        assert ground.wait_until(lambda: "ended by signal 9" in server.log(), 10)
        assert until_closed(other, 1) is None
    assert zygotes(server) == before and "has crashed" not in server.log()


def test_every_connection_may_have_its_own_exec(sshd, client):
    server = sshd("ReexecPerConnection yes")
    assert ground.wait_until(lambda: zygotes(server) == {}, 5)
    for _ in range(3):
        assert client.run(server, "exit 3").status == 3
    assert ground.wait_until(lambda: not children(server.process.pid), 5)


def test_a_new_configuration_or_no_program_changes_nothing(world, ours, client):
    """Until SIGHUP the server goes on with what it was started with."""
    folder = ground.scratch("copy")
    copy = folder / "sshd"
    shutil.copy(ours.sshd, copy)
    copy.chmod(0o755)
    programs = type(ours)(ours.name, ours.ssh, str(copy), ours.keygen)
    for options in ((), ("ReexecPerConnection yes",)):
        shutil.copy(ours.sshd, copy)
        with Sshd(world, programs, options).start() as server:
            with open(server.config, "a") as f:
                f.write("NoSuchKeyword yes\n")
            copy.unlink()
            for _ in range(18 if not options else 2):
                assert client.run(server, "exit 3").status == 3


@pytest.mark.parametrize("options", ((), ("ReexecPerConnection yes",)))
def test_processes_that_cannot_be_started_make_connections_wait(world, ours, client, options):
    """The listener lives, says why, tries again later; who has come meanwhile is served then."""
    folder = ground.scratch("copy")
    copy = folder / "sshd"
    shutil.copy(ours.sshd, copy)
    programs = type(ours)(ours.name, ours.ssh, str(copy), ours.keygen)
    copy.chmod(0o755)
    with Sshd(world, programs, options, log_level="INFO").start() as server:
        settle(server)
        copy.chmod(0o644)
        for pid in zygotes(server).values():
            os.kill(pid, signal.SIGKILL)
        if options:
            connect(server).close()
        assert ground.wait_until(lambda: server.log().count("Permission denied") == 2, 10), server.log()
        command, _, _ = client.command(server)
        child = subprocess.Popen([*command, "echo served"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        try:
            time.sleep(2)       # by now it has failed five times
            assert server.process.poll() is None and child.poll() is None, server.log()
            assert server.log().count("Permission denied") == 2, server.log()
            copy.chmod(0o755)
            assert child.communicate(timeout=20)[0] == b"served\n", server.log()
        finally:
            ground.end(child)
        assert "can be started again" in server.log()


# -- signals, files

def test_term_ends_it_with_its_pid_file(sshd):
    server = sshd()
    pid_file = server.dir / "pid"
    assert int(pid_file.read_text()) == server.process.pid
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(10) == 0
    assert not pid_file.exists() and "Received signal 15; terminating." in server.log()


def test_hup_reads_the_configuration_again(sshd, client):
    server = sshd()
    with open(server.config, "a") as f:
        f.write("SetEnv NEWLY=here\n")
    pid_file = server.dir / "pid"
    assert client.run(server, "echo $NEWLY").out == b"\n"
    pid_file.unlink()
    server.process.send_signal(signal.SIGHUP)
    assert ground.wait_until(pid_file.exists, 10) and ground.wait_until(lambda: ground.can_connect(server.port))
    assert client.run(server, "echo $NEWLY").out == b"here\n"
    assert "Received SIGHUP; restarting." in server.log()


def test_exit_codes(world, ours):
    def code(*args):
        return subprocess.run([ours.sshd, *args], capture_output=True, timeout=20, stdin=subprocess.DEVNULL)
    config = ground.scratch("conf") / "sshd_config"
    config.write_text(f"HostKey {config.parent}/none\n")
    done = code("-t", "-f", str(config))
    assert done.returncode == 1 and b"sshd: no hostkeys available -- exiting." in done.stderr
    config.write_text("Nonsense yes\n")
    done = code("-t", "-f", str(config))
    assert done.returncode == 255 and b"line 1: Bad configuration option: Nonsense" in done.stderr
    assert code("-t", "-f", str(config.parent / "missing")).returncode == 1
    done = code("-t", "-f", str(config.parent))
    assert done.returncode == 1 and done.stderr.decode().strip() == f"{config.parent}: Is a directory"
    for port in ("0", "99999", "x", "-1"):
        config.write_text(f"Port {port}\n")
        done = code("-t", "-f", str(config))
        assert done.returncode == 255 and b"line 1: Bad number" in done.stderr, port
    assert code("-t", "-z").returncode == 1
    assert code("-V").returncode == 0
    key = world.keys.path("ed25519", "host")
    key.chmod(0o600)
    config.write_text(f"HostKey {key}\n")
    assert code("-t", "-f", str(config)).returncode == 0
    assert code("-t", "-f", "/dev/null", "-h", str(key)).returncode == 0
    done = code("-t", "-f", "/dev/null", "-h", str(config.parent))
    assert done.returncode == 1 and f'host key "{config.parent}": Is a directory' in done.stderr.decode()
    open_key = config.parent / "open"
    shutil.copy(key, open_key)
    open_key.chmod(0o644)
    config.write_text(f"HostKey {open_key}\n")
    done = code("-t", "-f", str(config))
    assert done.returncode == 1 and b"UNPROTECTED PRIVATE KEY FILE" in done.stderr
    assert f"Permissions 0644 for '{open_key}' are too open." in done.stderr.decode()


def test_dump_names_a_connection(world, ours):
    config = ground.scratch("conf") / "sshd_config"
    config.write_text("Banner none\nMatch User anna\n\tBanner /anna\n")

    def banner(*args):
        done = subprocess.run([ours.sshd, "-T", "-f", str(config), *args], capture_output=True, text=True, timeout=20)
        return re.search(r"(?m)^banner (.*)$", done.stdout)[1]
    assert banner() == "none"
    assert banner("-C", "user=anna,addr=192.0.2.1,host=x") == "/anna"
    assert banner("-C", "user=bert,addr=192.0.2.1,host=x") == "none"


def test_a_wrong_name_is_told_once(world, ours, client):
    """What counts lines at the usual level (fail2ban) sees one for one attempt, as with OpenSSH."""
    with Sshd(world, ours, log_level="INFO").start() as server:
        user, server.user = server.user, "no-such-user"
        assert client.run(server, "true").status == 255
        server.user = user
        assert ground.wait_until(lambda: "Connection closed by invalid user" in server.log(), 10)
        assert len(re.findall(r"(?m)^(?:Invalid user|Failed).*no-such-user", server.log())) == 1


NAMES = (b"nobody-here", b"", b"x" * 255, b"x" * 300, b"x" * 30000, b"\x1b[31mred\x07\r\nFake line", b"\xff\xfe",
         b"../../etc", b"*", b":style", b"-l root")


def failures(server, name, service="ssh-connection"):
    """What an unknown user is told: the answers to three requests, and how long each took in ms."""
    found = []
    peer = raw.connect(server.port)
    try:
        peer.handshake()
        peer.userauth()
        key = raw.new_key()
        for request in (bytes([raw.AUTH_REQUEST]) + raw.string(name) + raw.string(service) + raw.string("none"),
                        peer.key_request(name, key, service=service),
                        peer.password_request(name, "wrong", service=service)):
            begin = time.monotonic()
            peer.send(request)
            found.append((peer.expect(raw.AUTH_FAILURE), round((time.monotonic() - begin) * 1000)))
    finally:
        peer.sock.close()
    return found


@pytest.mark.parametrize("whose", ("ours", "theirs"))
def test_every_impossible_name_is_an_unknown_user(world, ours, theirs, whose):
    programs = ours if whose == "ours" else theirs
    with Sshd(world, programs, ("PasswordAuthentication yes",), log_level="VERBOSE").start() as server:
        normal = [answer for answer, _ in failures(server, NAMES[0])]
        for name in NAMES:
            answers = failures(server, name)
            assert [a for a, _ in answers] == normal, name[:40]
        if whose == "theirs":       # the answers are what we compare with; it writes line feeds into its log
            return
        assert ground.wait_until(lambda: server.log().count(" by invalid user") == len(NAMES) + 1, 5), server.log()
        log = server.log()
        # one line for each, the name cut where it is long, nothing of it raw
        assert len(re.findall("^ *Invalid user .* from 127.0.0.1 port", log, re.M)) == len(NAMES) + 1, log
        assert f"Invalid user {'x' * 100} from" in log and "x" * 600 not in log
        assert "\x1b" not in log and "\x07" not in log and "\nFake" not in log
        assert "malformed" not in log


def test_a_service_that_there_is_not_lets_nobody_in(world, ours):
    """Answered as an unknown user is; with the right key, too."""
    with Sshd(world, ours, ("PasswordAuthentication yes",)).start() as server:
        normal = [answer for answer, _ in failures(server, "nobody-here")]
        for service in ("ssh-userauth", "", "x" * 1000):
            assert [answer for answer, _ in failures(server, server.user, service)] == normal
        peer = raw.connect(server.port)
        peer.handshake()
        peer.userauth()
        key = raw.load_key(world.keys.path("ed25519"))
        peer.send(peer.key_request(server.user, key, key, service="ssh-userauth"))
        peer.expect(raw.AUTH_FAILURE)
        peer.sock.close()


def test_a_question_may_stay_unanswered(world, ours):
    """Nobody can be asked (no terminal): the client goes on to other methods in the middle of a conversation."""
    options = ("-o", "KbdInteractiveAuthentication=yes", "-o", "PasswordAuthentication=yes")
    with Sshd(world, ours).start(*options) as server:
        command, log, _ = Ssh(world, ours).command(server)
        command[command.index("PreferredAuthentications=publickey")] = \
            "PreferredAuthentications=publickey,keyboard-interactive,password"
        command[command.index("BatchMode=yes")] = "BatchMode=no"
        command[command.index("-i") + 1] = str(world.keys.path("ed25519", "other"))
        env = {"SSH_ASKPASS_REQUIRE": "never"}
        code, _, _ = feed([*command, "true"], None, 30, env)
        assert code == 255 and "Permission denied" in log.read_text(), log.read_text()[-500:]
        assert ground.wait_until(lambda: "Connection closed by authenticating user" in server.log(), 10)
        assert "internal error" not in server.log()


# -- limits

def test_max_startups(sshd, client):
    server = sshd("MaxStartups 2:100:2")
    held = [connect(server), connect(server)]
    in_roles(server, "net", 2)
    with socket.create_connection((server.host, server.port), timeout=10) as s:
        assert until_closed(s, 10) == b"Not allowed at this time\r\n"
    assert re.search(r"drop connection #2 from \[127\.0\.0\.1\]:\d+ on \[127\.0\.0\.1\]:\d+ past MaxStartups", server.log())
    for s in held:
        s.close()
    assert ground.wait_until(lambda: client.run(server, "exit 3").status == 3, 20, 0.3)


def test_per_source_max_startups(sshd):
    server = sshd("PerSourceMaxStartups 1")
    with connect(server):
        in_roles(server, "net")
        with socket.create_connection((server.host, server.port), timeout=10) as s:
            assert until_closed(s, 10) == b"Not allowed at this time\r\n"


def test_logged_in_users_do_not_count_as_startups(sshd, client):
    server = sshd("MaxStartups 1:100:1")
    command, _, _ = client.command(server)
    with subprocess.Popen([*command, "echo in; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child:
        assert child.stdout.readline() == b"in\n"
        assert client.run(server, "exit 3").status == 3
        child.communicate(b"", timeout=10)


def test_login_grace_time(sshd):
    server = sshd("LoginGraceTime 1")
    begin = time.monotonic()
    with connect(server) as s:
        assert until_closed(s, 15) is not None
    assert 0.9 <= time.monotonic() - begin < 9
    assert re.search(r"Timeout before authentication for 127\.0\.0\.1 port \d+, pid = \d+", server.log())
    assert ground.wait_until(lambda: not children(zygotes(server)["net"]), 5)


def test_login_grace_time_needs_no_help_of_the_network_process(sshd):
    """One that does not answer any more, or has been taken over, cannot keep the connection."""
    server = sshd("LoginGraceTime 1")
    with connect(server) as s:
        stopped = in_roles(server, "net")[0]
        os.kill(stopped, signal.SIGSTOP)
        try:
            assert until_closed(s, 15) is not None
        finally:
            os.kill(stopped, signal.SIGKILL)
    assert "Timeout before authentication" in server.log()


def test_max_auth_tries(sshd, client, world):
    server = sshd("MaxAuthTries 2")
    command, log, _ = client.command(server, ["IdentitiesOnly=yes"])
    at = command.index("-i")
    wrong = [world.keys.path(k, "other") for k in ("ed25519", "ecdsa-256", "rsa-2048")]
    command[at:at + 2] = [x for k in wrong for x in ("-i", str(k))]
    code, _, _ = feed([*command, "true"], None, 30)
    assert code == 255
    assert "Too many authentication failures" in log.read_text()
    line = rf"maximum authentication attempts exceeded for {server.user} from 127\.0\.0\.1 port \d+ ssh2"
    assert ground.wait_until(lambda: re.search(line, server.log()), 10)   # the client may be told first


def test_max_sessions(sshd, client):
    server = sshd("MaxSessions 0")
    assert client.run(server, "true").status == 255


def test_client_alive(sshd, client):
    """A client that is stopped is given up after the interval times the count, and its program gets a hang-up."""
    server = sshd("ClientAliveInterval 1", "ClientAliveCountMax 2")
    command, _, _ = client.command(server)
    with subprocess.Popen([*command, "echo in; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child:
        assert child.stdout.readline() == b"in\n"
        time.sleep(2.5)   # answers keep it alive
        assert "Timeout, client not responding" not in server.log()
        child.send_signal(signal.SIGSTOP)
        assert ground.wait_until(lambda: "Timeout, client not responding" in server.log(), 10)
        child.send_signal(signal.SIGCONT)
        child.wait(10)


# -- decisions

def test_accepted_and_failed_lines(sshd, client, world):
    server = sshd()
    assert client.run(server, "true").status == 0
    finger = subprocess.run(["ssh-keygen", "-l", "-f", f"{world.keys.path('ed25519')}.pub"], capture_output=True,
                            text=True, timeout=20).stdout.split()[1]
    assert re.search(rf"Accepted publickey for {server.user} from 127\.0\.0\.1 port \d+ ssh2: ED25519 {re.escape(finger)}",
                     server.log())
    assert re.search(r"Received disconnect from 127\.0\.0\.1 port \d+:11: disconnected by user", server.log())
    assert re.search(rf"Disconnected from user {server.user} 127\.0\.0\.1 port \d+", server.log())
    server.user = "no-such-user"
    assert client.run(server, "true").status == 255
    assert re.search(r"Invalid user no-such-user from 127\.0\.0\.1 port \d+", server.log())
    assert re.search(r"Failed publickey for invalid user no-such-user from 127\.0\.0\.1 port \d+ ssh2: ED25519 SHA256:", server.log())
    closed = r"Connection closed by invalid user no-such-user 127\.0\.0\.1 port \d+ \[preauth\]"
    assert ground.wait_until(lambda: re.search(closed, server.log()), 10)


def test_passwords(sshd, client, account):
    server = sshd()
    assert client.run(server, "exit 3", auth="password").status == 3
    assert re.search(rf"Accepted password for {server.user} from 127\.0\.0\.1 port \d+ ssh2", server.log())
    right = server.password
    for wrong in ("", right + "x", right[:-1], "*", "!", "x" * 300, "x" * 600, "x" * 1100):
        server.password = wrong
        assert client.run(server, "exit 3", auth="password").status == 255, wrong
    assert re.search(rf"Failed password for {server.user} from 127\.0\.0\.1 port \d+ ssh2", server.log())
    server.user = "root"
    server.password = right
    assert client.run(server, "exit 3", auth="password").status == 255


def test_keyboard_interactive_follows_both_options(sshd, client, account):
    how = ["PreferredAuthentications=keyboard-interactive", "PasswordAuthentication=no"]
    config = "KbdInteractiveAuthentication"
    for kbdint, password, want in (("yes", "yes", 3), ("no", "yes", 255), ("yes", "no", 255)):
        # the harness writes both: the first value of a keyword wins, so ours go in front
        server = sshd()
        server.stop()
        text = server.config.read_text()
        server.config.write_text(f"{config} {kbdint}\nPasswordAuthentication {password}\n{text}")
        server.start()
        command, _, folder = client.command(server, [*how, "NumberOfPasswordPrompts=1"], auth="none")
        command = [c for c in command if c not in ("PreferredAuthentications=password", "PasswordAuthentication=no")]
        command = [x for i, x in enumerate(command) if not (x == "-o" and command[i + 1:i + 2] == ["-o"])]
        ask = folder / "askpass"
        ask.write_text(f"#!/bin/sh\necho '{server.password}'\n")
        ask.chmod(0o700)
        code, _, err = feed([*command[:1], "-o", how[0], *command[1:], "exit 3"], None, 30,
                            {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"})
        assert code == want, (kbdint, password, err, server.log())


def test_each_wrong_answer_is_a_line_for_log_scanners(world, ours, theirs, account):
    """At the usual level, from the first wrong guess on, as for the method password."""
    server = Sshd(world, ours, log_level="INFO")
    text = server.config.read_text()
    server.config.write_text(f"KbdInteractiveAuthentication yes\n{text}")
    with server.start():
        for user, known in ((server.user, ""), ("no-such-user", "invalid user ")):
            server.user = user
            command, _, folder = Ssh(world, theirs).command(server, ["NumberOfPasswordPrompts=2"], auth="none")
            ask = folder / "askpass"
            ask.write_text(f"#!/bin/sh\necho '{account.password}x'\n")
            ask.chmod(0o700)
            code, _, err = feed([command[0], "-o", "PreferredAuthentications=keyboard-interactive", "-o",
                                 "BatchMode=no", *command[1:], "exit 3"], None, 30,
                                {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"})
            assert code == 255, err
            line = rf"^Failed keyboard-interactive/pam for {known}{user} from 127\.0\.0\.1 port \d+ ssh2\r?$"
            assert len(re.findall(line, server.log(), re.M)) == 2, server.log()
        assert "Postponed" not in server.log()


@needs_root
def test_strict_modes_names_path_and_mode(sshd, client, account):
    server = sshd()
    server.stop()
    text = re.sub(r"(?m)^(StrictModes|AuthorizedKeysFile) .*\n", "", server.config.read_text())
    server.config.write_text(text)
    server.start()
    assert client.run(server, "exit 3").status == 3
    for path, mode, kind in ((account.home / ".ssh", 0o775, "directory"), (account.home, 0o757, "directory"),
                             (account.home / ".ssh" / "authorized_keys", 0o666, "file")):
        before = path.stat().st_mode & 0o7777
        path.chmod(mode)
        try:
            assert client.run(server, "exit 3").status == 255
        finally:
            path.chmod(before)
        assert re.search(rf"Authentication refused: bad ownership or modes for {kind} {path} \(owner \d+, mode {mode:04o}\)",
                         server.log())
    assert client.run(server, "exit 3").status == 3


def with_key_options(server, world, options):
    line = f"{options} {world.keys.public('ed25519')}"
    (server.dir / "authorized_keys").write_text(line + "\n")


def test_key_options(sshd, client, world):
    server = sshd("PermitUserEnvironment yes")
    run = client.run
    with_key_options(server, world, 'command="echo forced: $SSH_ORIGINAL_COMMAND"')
    assert run(server, "rm -rf x").out == b"forced: rm -rf x\n"
    with_key_options(server, world, 'environment="A=one",environment="A=two",environment="B=x y"')
    assert run(server, "echo $A $B").out == b"one x y\n"
    with_key_options(server, world, "no-pty")
    assert b"/dev/" not in run(server, "tty", pty=True).out
    with_key_options(server, world, "restrict")
    assert b"/dev/" not in run(server, "tty", pty=True).out
    with_key_options(server, world, "restrict,pty")
    assert b"/dev/" in run(server, "tty", pty=True).out
    for options, want in (('from="192.0.2.*"', 255), ('from="127.0.0.0/8"', 3), ('from="!127.0.0.1,*"', 255),
                          ('expiry-time="20010101"', 255), ('no-such-option', 255), ('command="x"x', 255)):
        with_key_options(server, world, options)
        assert run(server, "exit 3").status == want, options


@pytest.mark.parametrize("options,words", (
    ('from="192.0.2.*,198.51.100.7"', r"Authentication tried for {user} with correct key but not from a permitted host "
     r"\(host=127\.0\.0\.1, ip=127\.0\.0\.1, required=192\.0\.2\.\*,198\.51\.100\.7\)\."),
    ('expiry-time="200101010203"', r"entry expired at 2001-01-01T02:03:00")), ids=("from", "expiry"))
def test_a_key_that_its_line_refuses_is_told(world, ours, client, options, words):
    with Sshd(world, ours, log_level="INFO").start() as server:
        with_key_options(server, world, options)
        assert client.run(server, "true").status == 255
        where = re.escape(str(server.dir / "authorized_keys"))
        assert re.search(rf"^{where}:1: {words.format(user=server.user)}\r?\nRefused by key options\r?$", server.log(), re.M), \
            server.log()
        with_key_options(server, world, 'from="127.0.0.1",expiry-time="20990101"')
        before = server.log()
        assert client.run(server, "exit 3").status == 3
        assert "Refused" not in server.log()[len(before):]


def test_the_first_key_that_fits_decides(sshd, client, world):
    server = sshd()
    key = world.keys.public("ed25519")
    (server.dir / "authorized_keys").write_text(
        f"from=\"192.0.2.1\" {key}\nssh-ed25519 AAAA broken\n# {key}\ncommand=\"echo second\" {key}\n{key}\n")
    assert client.run(server, "echo third").out == b"second\n"


@needs_root
def test_root_logins(sshd, client, world):
    server = sshd()
    server.stop()
    base = server.config.read_text()
    for value, options, want in (("no", "", 255), ("prohibit-password", "", 3), ("yes", "", 3),
                                 ("forced-commands-only", "", 255),
                                 ("forced-commands-only", 'command="exit 3" ', 3)):
        server.config.write_text(f"PermitRootLogin {value}\n{base}")
        (server.dir / "authorized_keys").write_text(options + world.keys.public("ed25519") + "\n")
        server.user = "root"
        server.start()
        assert client.run(server, "exit 3").status == want, value
        server.stop()
    assert re.search(r"ROOT LOGIN REFUSED FROM 127\.0\.0\.1 port \d+", server.log())
    assert "Root login accepted for forced command." in server.log()


# -- sessions

def test_environment(sshd, client, account):
    server = sshd("AcceptEnv LC_* A?", "SetEnv FROM_SERVER=1 LC_FIXED=server LC_FIXED=second")
    out = client.run(server, "env", options=["SetEnv=LC_ONE=1 LC_FIXED=client AB=2 ABC=3 PATH=/x USER=y"]).out.decode()
    env = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    assert env["LC_ONE"] == "1" and env["AB"] == "2" and "ABC" not in env
    assert env["LC_FIXED"] == "server" and env["FROM_SERVER"] == "1"
    assert env["USER"] == env["LOGNAME"] == server.user and env["HOME"] == str(account.home)
    assert env["SHELL"] == pwd.getpwnam(server.user).pw_shell and env["PATH"] != "/x"
    assert re.fullmatch(rf"127\.0\.0\.1 \d+ 127\.0\.0\.1 {server.port}", env["SSH_CONNECTION"])
    assert re.fullmatch(rf"127\.0\.0\.1 \d+ {server.port}", env["SSH_CLIENT"])
    assert "SSH_TTY" not in env


def test_no_descriptor_reaches_a_program(sshd, client):
    server = sshd()
    out = client.run(server, "ls /proc/self/fd").out.split()
    assert set(out) <= {b"0", b"1", b"2", b"3"}   # 3: the directory that ls reads


def test_a_program_may_open_its_output_again(sshd, client):
    server = sshd()
    assert client.run(server, "echo words >/dev/stdout; echo more >/dev/stderr").out == b"words\n"


def test_ended_by_signal(sshd, client):
    server = sshd()
    assert client.run(server, "kill -9 $$").status == 255


def test_output_after_the_end_of_the_program(sshd, client):
    """What a program left behind still writes is waited for, as long as it holds the pipe."""
    server = sshd()
    begin = time.monotonic()
    result = client.run(server, "(sleep 1.5; echo late) & echo soon")
    assert result.out == b"soon\nlate\n" and result.status == 0 and time.monotonic() - begin > 1.4


def test_hang_up_reaches_a_program_on_a_terminal(sshd, client):
    server = sshd()
    mark = ground.scratch("mark")
    mark.chmod(0o777)
    command, _, _ = client.command(server, pty=True)
    child = subprocess.Popen([*command, f"trap 'echo x >{mark}/hup; exit' HUP; echo in; while :; do sleep 0.1; done"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert b"in" in child.stdout.readline()
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    assert ground.wait_until((mark / "hup").exists, 10)


def test_inetd_mode(world, ours, client):
    """sshd -i as a ProxyCommand: no socket, no address, and the network process still apart."""
    server = Sshd(world, ours)
    options = [f"ProxyCommand={ours.sshd} -i -f {server.config} -E {server.log_path}", "StrictHostKeyChecking=no"]
    command, _, _ = client.command(server, options, hosts=False)
    code, out, err = feed([*command, "echo $SSH_CONNECTION; exit 3"], None, 30)
    assert (code, out) == (3, b"UNKNOWN 65535 UNKNOWN 65535\n"), err + server.log()
    for text, want in ((b"SSH-1.5-HALLO\r\n", b"Protocol major versions differ.\r\n"),
                       (b"GET / HTTP/1.0\r\n\r\n", b"Invalid SSH identification string.\r\n")):
        done = subprocess.run([ours.sshd, "-i", "-f", str(server.config)], input=text, capture_output=True, timeout=20)
        assert done.returncode == 255 and done.stdout.startswith(b"SSH-2.0-") and want in done.stdout
    done = subprocess.run([ours.sshd, "-i", "-f", str(server.config)], input=b"", capture_output=True, timeout=20)
    assert done.stdout.startswith(b"SSH-2.0-")


def test_debug_mode_serves_one_connection(world, ours, client):
    server = Sshd(world, ours)
    server.launch([ours.sshd, "-d", "-f", str(server.config)])   # the harness's own knock is the connection
    assert ground.wait_until(lambda: server.process.poll() is not None, 10)


@needs_root
def test_without_privilege_for_one_user(world, ours, client, account, unsanitized):
    """An ordinary user runs a server for himself: no root, no chroot, still a filter."""
    entry = pwd.getpwnam(account.user)
    server = Sshd(world, ours)
    key = server.dir / "key"
    shutil.copy(world.keys.path("ed25519", "host"), key)
    key.chmod(0o600)
    server.config.write_text(re.sub(r"HostKey .*", f"HostKey {key}", server.config.read_text()))
    program = server.dir / "sshd"      # the tree may be where only root comes
    shutil.copy(ours.sshd, program)
    for path in (server.dir, key):
        os.chown(path, entry.pw_uid, entry.pw_gid)

    def become():
        os.setgroups([])
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
    with server.launch([str(program), "-D", "-e", "-f", str(server.config)], preexec_fn=become):
        result = client.run(server, "id -un; exit 3")
        assert (result.status, result.out) == (3, account.user.encode() + b"\n"), server.log()
        with connect(server):
            pid = in_roles(server, "net")[0]
            assert ground.wait_until(lambda: status(pid)["Seccomp"].strip() == "2", 5)
        server.user = "root"
        assert client.run(server, "true").status == 255
        assert "runs without privilege" in server.log()

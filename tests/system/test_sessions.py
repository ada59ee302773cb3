# SPDX-License-Identifier: ISC
"""Sessions as people use them: our client with our server."""
import base64
import hashlib
import os
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from harness import world as ground
from harness.client import Ssh, feed, feed_tty
from harness.server import Sshd, known_hosts


@pytest.fixture(scope="module")
def server(world, ours):
    with Sshd(world, ours, ["PermitUserEnvironment yes"]).start() as s:
        yield s


@pytest.fixture
def client(world, ours):
    return Ssh(world, ours)


def data(n):
    return hashlib.shake_256(str(n).encode()).digest(n)


# -- status and output

@pytest.mark.parametrize("command,status", (("exit 0", 0), ("exit 1", 1), ("exit 255", 255), ("exit 256", 0),
                                            ("exit 333", 77), ("kill -9 $$", 255)))
def test_status(client, server, command, status):
    shell = command if "kill" in command else f"bash -c '{command}'"
    assert client.run(server, shell).status == status


def test_own_errors_are_255(client, world, server):
    command, _, _ = client.command(server, ["ConnectTimeout=3"])
    command[command.index("-p") + 1] = str(ground.free_port())
    assert feed([*command, "true"], None, 20)[0] == 255
    assert client.run(server, "true", options=["HostKeyAlgorithms=ecdsa-sha2-nistp256"]).status == 255


def test_output_comes_whole_and_apart(client, server):
    result = client.run(server, "i=0; while [ $i -lt 2000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done")
    assert result.out.decode().splitlines() == [f"out {i}" for i in range(2000)]
    assert [s for s in result.err.splitlines() if s.startswith("err ")] == [f"err {i}" for i in range(2000)]


def test_early_end_of_input_and_late_answer(client, server):
    """`ssh host sort < file`: all of it, in order, after our input has long ended."""
    lines = sorted(f"{(i * 7919) % 100003:06d}" for i in range(150_000))
    shuffled = "\n".join(reversed(lines)) + "\n"
    result = client.run(server, "sleep 0.5; LC_ALL=C sort", stdin=shuffled.encode())
    assert result.status == 0 and result.out.decode().split() == lines


def test_a_reader_that_pauses_gets_everything(client, server, world):
    """Our reader stops until the window is shut, then goes on."""
    command, _, _ = client.command(server)
    child = subprocess.Popen([*command, f"cat {world.payload}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    time.sleep(2)
    digest = hashlib.sha256()
    while block := child.stdout.read(1 << 20):
        digest.update(block)
    assert child.wait() == 0 and digest.hexdigest() == world.payload_hash


def test_no_input_wanted(client, server):
    command, _, _ = client.command(server)
    code, out, _ = feed([*command[:-1], "-n", command[-1], "cat; echo end"], b"not read", 20)
    assert (code, out) == (0, b"end\n")


def test_many_short_commands(client, server):
    for i in range(25):
        assert client.run(server, f"echo {i}; exit {i}").status == i


def test_two_thousand_lines_to_a_reader_that_leaves(client, server):
    command, _, _ = client.command(server)
    child = subprocess.Popen([*command, "yes | head -n 100000000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    assert child.stdout.readline() == b"y\n"
    child.stdout.close()
    assert child.wait(20) != 0


def test_a_command_may_use_stderr_when_stdout_has_gone(client, server):
    """`ssh host command | head -1`: only writing to stdout ends the command, and its status comes back."""
    command, _, _ = client.command(server)
    child = subprocess.Popen([*command, "seq 1 1000000; sleep 0.3; echo end >&2; exit 3"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout.readline() == b"1\n"
    child.stdout.close()
    assert child.wait(20) == 3


@pytest.mark.parametrize("n", (34_000, 36_000, 120_000))
def test_long_commands(client, server, n):
    """Packets of 256 KiB are taken after login; RFC 4253's 35,000 are not enough for a script in an argument."""
    result = client.run(server, f"echo {'x' * n} | wc -c")
    assert (result.status, result.out) == (0, b"%d\n" % (n + 1)), str(result)


def test_a_proxy_command_that_dies_at_once(client, server):
    command, _, _ = client.command(server, ["ProxyCommand=exit 3"], debug=False)
    for _ in range(10):
        code, _, err = feed([*command, "true"], None, 20)
        assert code == 255 and "kex_exchange_identification" in err, (code, err)


def test_a_known_hosts_file_that_is_a_directory(client, server, tmp_path):
    """It knows nothing and says so: with StrictHostKeyChecking=no that is no obstacle, with yes it is."""
    for strict, status in (("no", 0), ("yes", 255)):
        command, _, _ = client.command(server, [f"UserKnownHostsFile={tmp_path}", f"StrictHostKeyChecking={strict}"],
                                       debug=False, hosts=False)
        code, _, err = feed([*command, "true"], None, 20)
        assert code == status and f"known hosts file {tmp_path} cannot be read: Is a directory" in err, (code, err)


def test_a_key_file_that_never_comes_can_be_interrupted(client, server, tmp_path):
    """Opening a FIFO waits for its writer; SIGTERM ends the waiting."""
    os.mkfifo(tmp_path / "key")
    command, _, _ = client.command(server, debug=False)
    command[command.index("-i") + 1] = str(tmp_path / "key")
    child = subprocess.Popen([*command, "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    assert child.poll() is None
    child.terminate()
    try:
        assert child.wait(5) != 0
    finally:
        child.kill()


def test_an_agent_that_waits_can_be_interrupted(client, server, world, tmp_path):
    """A touch or a PIN may be asked for while an agent signs; ^C ends the waiting."""
    def text(b):
        return len(b).to_bytes(4, "big") + b
    blob = base64.b64decode(world.keys.public("ed25519").split()[1])
    asked = threading.Event()
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "agent"))
        agent.listen()

        def serve():
            peer, _ = agent.accept()
            with peer, peer.makefile("rb") as stream:
                while length := stream.read(4):
                    request = stream.read(int.from_bytes(length, "big"))
                    if request[0] == 13:
                        asked.set()
                    elif request[0] == 11:
                        peer.sendall(text(b"\x0c\0\0\0\1" + text(blob) + text(b"card")))
                    else:
                        peer.sendall(text(b"\5"))
        threading.Thread(target=serve, daemon=True).start()
        command, _, _ = client.command(server, [f"IdentityAgent={tmp_path}/agent"], debug=False)
        command[command.index("IdentitiesOnly=yes")] = "IdentitiesOnly=no"
        command[command.index("-i") + 1] = str(tmp_path / "none")
        # a run in the background has told its children to ignore ^C
        child = subprocess.Popen([*command, "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        assert asked.wait(20)
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        try:
            assert child.wait(5) != 0
        finally:
            child.kill()


# -- rekeying under load

@pytest.mark.parametrize("where", ("client", "server"))
@pytest.mark.parametrize("limit", ("64K", "256K"))
def test_rekey_with_data_both_ways(world, ours, where, limit):
    block = data(3_000_000)
    with Sshd(world, ours, [f"RekeyLimit {limit}"] if where == "server" else []).start() as server:
        result = Ssh(world, ours).run(server, "cat", stdin=block, rekey=limit if where == "client" else None)
    # on a busy machine most of the data is on its way when the first one begins
    assert result.status == 0 and result.out == block and result.rekeys >= 1, str(result)


def test_rekey_by_time(world, ours):
    with Sshd(world, ours).start() as server:
        result = Ssh(world, ours).run(server, "sleep 5; echo end", options=["RekeyLimit=default 2"])
    assert result.out == b"end\n" and result.rekeys >= 1, str(result)


@pytest.mark.parametrize("cipher", ("aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes256-ctr"))
def test_compression_with_rekeys(world, ours, cipher):
    block = data(1_000_000) + bytes(2_000_000)
    with Sshd(world, ours).start() as server:
        result = Ssh(world, ours).run(server, "cat", stdin=block, rekey="256K",
                                      options=["Compression=yes", f"Ciphers={cipher}"])
    assert result.status == 0 and result.out == block and result.rekeys >= 1, str(result)


# -- the terminal

def test_terminal_is_there_and_knows_its_size(client, server):
    command, _, _ = client.command(server, pty=True)
    code, out, _ = feed_tty([*command, "tty; stty size; read x; echo got:$x; exit 4"], b"word\r", 30)
    assert code == 4 and b"/dev/pts/" in out and b"24 80" in out and b"got:word" in out, out


def test_interrupt_reaches_the_far_side(client, server):
    command, _, _ = client.command(server, pty=True)
    code, out, _ = feed_tty([*command, "trap 'echo caught; exit 9' INT; tty; while :; do sleep 0.1; done"], b"\x03", 30)
    assert code == 9 and b"caught" in out, out


def test_escape_ends_the_connection(client, server):
    command, _, _ = client.command(server, pty=True)
    code, out, _ = feed_tty([*command, "tty; sleep 30"], b"\r~.", 15)
    assert code == 255, (code, out)


def test_escape_help(client, server):
    command, _, _ = client.command(server, pty=True)
    code, out, _ = feed_tty([*command, "tty; sleep 2"], b"\r~?", 15)
    assert re.search(rb"(?m)^Supported escape sequences:", out.replace(b"\r", b"")), out


def test_login_shell(client, server):
    command, _, _ = client.command(server, pty=True)
    code, out, _ = feed_tty(command + ["exec sh -c 'tty; exec ${SHELL:-/bin/sh} -i'"], b"echo $((20+3)); exit 6\r", 20)
    assert code == 6 and b"23" in out, out


def test_no_terminal_without_asking(client, server):
    assert client.run(server, "tty").status == 1


# -- environment

def test_environment(client, server):
    out = client.run(server, "env").out.decode()
    names = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    assert names["USER"] == names["LOGNAME"] == server.user
    assert names["HOME"] == str(server.world.account.home) and names["SHELL"] and names["PATH"]
    assert re.fullmatch(rf"127\.0\.0\.1 \d+ 127\.0\.0\.1 {server.port}", names["SSH_CONNECTION"])
    assert re.fullmatch(rf"127\.0\.0\.1 \d+ {server.port}", names["SSH_CLIENT"])
    assert "SSH_TTY" not in names and "BOWLINE_TMP" not in names, "the server's own environment leaks"


def test_command_is_one_string_for_the_users_shell(client, server):
    command, _, _ = client.command(server)
    code, out, _ = feed([*command, "echo", "a  b", "'c  d'", "$((1+1))"], None, 20)
    assert (code, out) == (0, b"a b c  d 2\n")


# -- authorized_keys

def with_keys(world, ours, line, extra=()):
    server = Sshd(world, ours, ["PermitUserEnvironment yes", *extra])
    (server.dir / "authorized_keys").write_text(line + "\n")
    return server.start()


def test_forced_command(world, ours):
    key = world.keys.public("ed25519")
    with with_keys(world, ours, f'command="echo forced; echo \\"$SSH_ORIGINAL_COMMAND\\"" {key}') as server:
        assert Ssh(world, ours).run(server, "echo mine").out == b"forced\necho mine\n"


@pytest.mark.parametrize("options,allowed", (('from="127.0.0.*"', True), ('from="127.0.0.0/8"', True),
                                             ('from="192.0.2.*,198.51.100.*"', False),
                                             ('from="!127.0.0.1,127.0.0.*"', False), ('from="192.0.2.1', False),
                                             ('no-such-option', False)))
def test_from(world, ours, options, allowed):
    with with_keys(world, ours, f"{options} {world.keys.public('ed25519')}") as server:
        assert (Ssh(world, ours).run(server, "true").status == 0) is allowed


@pytest.mark.parametrize("options,has_tty", (("no-pty", False), ("restrict", False), ("restrict,pty", True)))
def test_restrictions_of_the_terminal(world, ours, options, has_tty):
    with with_keys(world, ours, f"{options} {world.keys.public('ed25519')}") as server:
        result = Ssh(world, ours).run(server, "tty", pty=True, stdin=b"")
        assert (b"/dev/" in result.out) is has_tty, str(result)


def test_environment_option(world, ours):
    with with_keys(world, ours, f'environment="COLOUR=blue sky" {world.keys.public("ed25519")}') as server:
        assert Ssh(world, ours).run(server, 'echo "$COLOUR"').out == b"blue sky\n"


def test_crlf_comments_and_no_last_newline(world, ours):
    text = f"# a comment, isn't it\r\n\r\n\t{world.keys.public('ed25519')}".replace("\n", "\r\n")
    with Sshd(world, ours) as server:
        (server.dir / "authorized_keys").write_bytes(text.encode())
        server.start()
        assert Ssh(world, ours).run(server, "true").status == 0


def test_unknown_key_is_refused(world, ours):
    with with_keys(world, ours, world.keys.public("ecdsa-521")) as server:
        result = Ssh(world, ours).run(server, "true")
        assert result.status == 255 and "Permission denied" in result.err + result.log


def test_strict_modes_name_path_and_mode(world, ours):
    if not world.account.private:
        pytest.skip(world.account.why_no_password)
    folder = world.account.home / ".ssh"
    with Sshd(world, ours) as server:
        text = server.config.read_text().replace("StrictModes no", "StrictModes yes")
        server.config.write_text(re.sub("AuthorizedKeysFile .*", "AuthorizedKeysFile .ssh/authorized_keys", text))
        server.start()
        assert Ssh(world, ours).run(server, "true").status == 0
        folder.chmod(0o777)
        try:
            result = Ssh(world, ours).run(server, "true")
        finally:
            folder.chmod(0o700)
        assert result.status == 255
        assert str(folder) in server.log(), server.log()
        if ours.is_bowline:
            assert re.search(r"0?777", server.log()), server.log()


# -- the server's programs and configuration

def run_sshd(ours, *args):
    return subprocess.run([ours.sshd, *args], capture_output=True, text=True, timeout=20)


def test_configuration_is_checked(world, ours):
    with Sshd(world, ours) as server:
        assert run_sshd(ours, "-t", "-f", str(server.config)).returncode == 0
        number = len(server.config.read_text().splitlines()) + 1
        with open(server.config, "a") as f:
            f.write("NoSuchKeyword yes\n")
        done = run_sshd(ours, "-t", "-f", str(server.config))
        assert done.returncode == 255 and re.search(rf"{re.escape(str(server.config))}.*{number}", done.stderr), done.stderr


BAD_PLACES = ("Port foo", "Port 0", "Port 65536", "Port -1", "Port 22 23", "ListenAddress 127.0.0.1:foo",
              "ListenAddress 127.0.0.1:0", "ListenAddress 127.0.0.1:99999", "ListenAddress 127.0.0.1:", "ListenAddress [::1",
              "ListenAddress [::1]x", "ListenAddress [::1]:", "ListenAddress 1.2.3.4 5", "ListenAddress 1.2.3.4/24",
              'ListenAddress ""', "ListenAddress 1.2.3.4 rdomain")


def checked(programs, folder, text, *args):
    file = folder / "conf"
    file.write_text(text)
    done = subprocess.run([programs.sshd, *(args or ("-t",)), "-f", str(file)], capture_output=True, text=True, timeout=20)
    return done.returncode, done.stdout, done.stderr, str(file)


@pytest.mark.parametrize("whose", ("ours", "theirs"))
def test_a_place_to_listen_is_checked_before_the_start(world, ours, theirs, tmp_path, whose):
    """By -t, with file and line where the word itself is wrong."""
    programs = ours if whose == "ours" else theirs
    begin = f"HostKey {world.keys.path('ed25519', 'host')}\n# a comment\n"
    for line in BAD_PLACES:
        code, _, err, file = checked(programs, tmp_path, begin + line + "\n")
        assert code == 255 and f"{file} line 3: " in err, (line, code, err)
    for line in ("ListenAddress :22", "ListenAddress name.invalid", "ListenAddress 300.1.1.1",
                 "AddressFamily inet\nListenAddress ::1"):
        code, _, err, _ = checked(programs, tmp_path, begin + line + "\n")
        assert code == 255 and ("bad addr or host" in err or "missing address" in err), (line, code, err)
    for line in ("Port ssh", "ListenAddress [::1]:22", "ListenAddress ::1", "ListenAddress 127.0.0.1:ssh", "ListenAddress [::1]"):
        assert checked(programs, tmp_path, begin + line + "\n")[0] == 0, line
    code, out, _, _ = checked(programs, tmp_path, begin + "ListenAddress [::1]:23\nPort 7\nPort ssh\nListenAddress ::\n"
                              "ListenAddress 1.2.3.4\n", "-T")
    places = [row.split()[1] for row in out.splitlines() if row.startswith("listenaddress ")]
    assert code == 0 and places == ["[::1]:23", "[::]:7", "[::]:22", "1.2.3.4:7", "1.2.3.4:22"], out


def test_a_server_does_not_start_without_one_of_its_addresses(world, ours):
    with Sshd(world, ours, ("ListenAddress name.invalid",)) as server:
        with pytest.raises(RuntimeError, match="bad addr or host"):
            server.start()


def test_dump(world, ours):
    with Sshd(world, ours, ["MaxAuthTries 3"]) as server:
        done = run_sshd(ours, "-T", "-f", str(server.config))
        rows = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
        assert done.returncode == 0 and rows["maxauthtries"] == "3" and rows["port"] == str(server.port)
        assert all(line.split(" ")[0] == line.split(" ")[0].lower() for line in done.stdout.splitlines())


@pytest.mark.parametrize("line", ("DenyUsers {user}", "AllowUsers nobody-else", "ForceCommand echo forced",
                                  "AuthenticationMethods password,publickey", "ChrootDirectory /nowhere"))
def test_a_keyword_that_limits_access_is_never_ignored(world, ours, line):
    """Obeyed, or refused at the start; never read over."""
    server = Sshd(world, ours, [line.format(user=world.account.user)])
    try:
        server.start()
    except RuntimeError:
        assert ours.is_bowline and line.split()[0] in server.log()
        return
    with server:
        result = Ssh(world, ours).run(server, "echo mine")
        assert b"mine" not in result.out, f"{line} has no effect"


def test_inetd_mode(world, ours):
    with Sshd(world, ours) as server:
        proxy = f"{ours.sshd} -i -f {server.config}"
        result = Ssh(world, ours).run(server, "echo in; exit 5", options=[f"ProxyCommand={proxy}"])
        assert (result.status, result.out) == (5, b"in\n"), str(result)


def test_pid_file_comes_and_goes(world, ours):
    server = Sshd(world, ours).start()
    pid = server.dir / "pid"
    assert ground.wait_until(pid.exists, 5) and int(pid.read_text()) == server.process.pid
    server.process.terminate()
    assert ground.wait_until(lambda: not pid.exists(), 5)
    server.stop()


def test_dead_connections_are_counted_and_limited(world, ours):
    """MaxStartups: silent connections beyond the limit are closed, a login is possible again later."""
    import socket
    with Sshd(world, ours, ["MaxStartups 3", "LoginGraceTime 3"]).start() as server:
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(6)]
        assert ground.wait_until(lambda: Ssh(world, ours).run(server, "true").status == 0, 15, 0.5)
        for s in held:
            s.close()


def test_server_ends_no_session_when_it_ends(world, ours):
    server = Sshd(world, ours).start()
    command, _, _ = Ssh(world, ours).command(server)
    child = subprocess.Popen([*command, "echo in; sleep 2; echo out"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    assert child.stdout.readline() == b"in\n"
    server.process.terminate()
    server.process.wait(5)
    assert child.stdout.readline() == b"out\n" and child.wait(10) == 0
    server.stop()


def test_log_words_for_log_scanners(client, server, world):
    client.run(server, "true")
    log = server.log()
    assert re.search(rf"Accepted publickey for {server.user} from 127\.0\.0\.1 port \d+ ssh2: ED25519 SHA256:", log), log
    with with_keys(world, client.programs, world.keys.public("ecdsa-521")) as other:
        Ssh(world, client.programs).run(other, "true")
        assert ground.wait_until(lambda: re.search(
            rf"Connection (closed|reset) by authenticating user {other.user} 127\.0\.0\.1 port \d+ \[preauth\]",
            other.log()), 5), other.log()


def test_unknown_user(world, ours):
    with Sshd(world, ours).start() as server:
        server.user = "nobody-by-this-name"
        result = Ssh(world, ours).run(server, "true")
        assert result.status == 255
        assert ground.wait_until(lambda: "Invalid user nobody-by-this-name from 127.0.0.1 port" in server.log(), 5)


# -- the client's doors

def test_unknown_host_is_refused_and_accepted_when_told(world, ours, server):
    client = Ssh(world, ours)
    empty = world.tmp / "no-hosts"
    empty.unlink(missing_ok=True)

    def run(checking):
        command, log, _ = client.command(server, [f"UserKnownHostsFile={empty}", checking], hosts=False)
        code, out, err = feed([*command, "echo in"], None, 20)
        return code, out, err + log.read_text()
    assert run("StrictHostKeyChecking=yes")[0] == 255
    code, out, text = run("StrictHostKeyChecking=accept-new")
    assert (code, out) == (0, b"in\n") and "Permanently added" in text and empty.read_text().startswith("[127.0.0.1]:")
    assert run("StrictHostKeyChecking=yes")[:2] == (0, b"in\n")
    empty.write_text(f"[127.0.0.1]:{server.port} ssh-ed25519 {world.keys.public('ed25519').split()[1]}\n")
    code, out, text = run("StrictHostKeyChecking=accept-new")
    assert code == 255 and out == b"" and "REMOTE HOST IDENTIFICATION HAS CHANGED" in text


@pytest.mark.parametrize("whose", ("ours", "theirs"))
def test_words_about_a_host_name_its_port(world, ours, theirs, server, tmp_path, whose):
    """As its line in known_hosts would: [host]:port where the port is not 22, an alias alone."""
    def say(known, *options):
        file = tmp_path / "known"
        file.write_text(known)
        client = Ssh(world, ours if whose == "ours" else theirs)
        command, log, _ = client.command(
            server, [f"UserKnownHostsFile={file}", "StrictHostKeyChecking=yes", *options], hosts=False)
        _, _, err = feed([*command, "true"], None, 20)
        return err + log.read_text().replace("\r", "")
    place = f"[{server.host}]:{server.port}"
    other = " ".join(world.keys.public("ed25519").split()[:2])
    strict = "and you have requested strict checking."
    assert f"No ED25519 host key is known for {place} {strict}" in say("")
    assert f"No ED25519 host key is known for other {strict}" in say("", "HostKeyAlias=other")
    assert f"Host key for {place} has changed {strict}" in say(f"{place} {other}\n")
    assert f"The ED25519 host key for {place} is marked as revoked." in \
        say(f"@revoked * {' '.join(server.host_publics[0].split()[:2])}\n")


@pytest.mark.parametrize("whose", ("ours", "theirs"))
def test_only_the_own_directory_is_made_for_known_hosts(world, ours, theirs, server, tmp_path, whose):
    path = tmp_path / "not there" / "known"
    client = Ssh(world, ours if whose == "ours" else theirs)
    command, log, _ = client.command(
        server, [f'UserKnownHostsFile="{path}"', "StrictHostKeyChecking=accept-new"], hosts=False)
    code, out, err = feed([*command, "echo in"], None, 20)
    assert (code, out) == (0, b"in\n") and not path.parent.exists()
    assert f"Failed to add the host to the list of known hosts ({path})." in err + log.read_text()


@pytest.mark.parametrize("whose", ("ours", "theirs"))
def test_the_question_about_a_new_host(world, ours, theirs, server, tmp_path, whose):
    """Its words, the other names of the same key, and what counts as yes."""
    client = Ssh(world, ours if whose == "ours" else theirs)
    file, ask, asked = tmp_path / "known", tmp_path / "ask", tmp_path / "asked"
    ask.write_text(f'#!/bin/sh\nprintf %s "$1" >>"{asked}"\nread line <"{tmp_path}/answer"; echo "$line"\n')
    ask.chmod(0o700)
    env = {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    key = " ".join(server.host_publics[0].split()[:2])
    other = " ".join(world.keys.public("ecdsa-256").split()[:2])

    def question(known, answer, checking="ask"):
        file.write_text(known)
        (tmp_path / "answer").write_text(answer + "\n")
        asked.write_text("")
        command, _, _ = client.command(server, [f"UserKnownHostsFile={file}", f"StrictHostKeyChecking={checking}",
                                                "HostKeyAlgorithms=ssh-ed25519"], hosts=False)
        command[command.index("BatchMode=yes")] = "BatchMode=no"
        return feed([*command, "echo in"], None, 20, env)[:2], asked.read_text()
    place = f"[{server.host}]:{server.port}"
    first = f"The authenticity of host '{place} ({place})' can't be established"
    end, text = question("", "no")
    assert end == (255, b"") and text.startswith(f"{first}.\nED25519 key fingerprint is SHA256:"), text
    assert "\nThis key is not known by any other names.\nAre you sure you want to continue connecting " in text
    fingerprint = re.search(r"SHA256:[^\s.]+", text)[0]
    for known in (f"{place} {other}\n", f"{place} {world.keys.public('ed25519')}"):   # another type is a change too
        for checking in ("ask", "accept-new"):
            end, text = question(known, "yes", checking)
            assert end == (255, b"") and text == "" and file.read_text() == known
    hashed = "|1|" + base64.b64encode(bytes(20)).decode() + "|" + base64.b64encode(bytes(20)).decode()
    lines = f"# one\nold.example {key}\n{hashed} {key}\n@revoked gone.example {other}\n" + f"more.example {key}\n" * 8
    end, text = question(lines, fingerprint)
    assert end == (0, b"in\n"), text
    assert "This host key is known by the following other names/addresses:\n" \
           f"    {file}:2: old.example\n    {file}:3: [hashed name]\n    {file}:5: more.example\n" in text, text
    assert text.count("more.example") == 6 and "    (2 additional names omitted)\n" in text
    assert f"{file}:2" in text and "gone.example" not in text


def test_an_untold_host_key_is_refused_with_cause_and_cure(world, ours, server, tmp_path):
    file = tmp_path / "known"
    place = f"[{server.host}]:{server.port}"

    def say(known, *options):
        file.write_text(known)
        command, log, _ = Ssh(world, ours).command(server, [f"UserKnownHostsFile={file}", *options], hosts=False)
        code, out, err = feed([*command, "echo in"], None, 20)
        assert (code, out) == (255, b"")
        return err + log.read_text().replace("\r", "")
    for option in ("StrictHostKeyChecking=ask", "StrictHostKeyChecking=yes"):
        text = say("", option)
        assert f"No line for {place} in {file}." in text and "StrictHostKeyChecking=accept-new to learn it." in text
        assert "Host key verification failed." in text
        assert ("BatchMode is on: nobody can be asked." in text) == option.endswith("ask")
    text = say(f"# first\n@revoked * {' '.join(server.host_publics[0].split()[:2])}\n")
    assert f"the line is {file}:2." in text and "Host key verification failed." in text


def test_unknown_keywords_may_be_ignored(ours, tmp_path):
    file = tmp_path / "config"

    def dump(text, *options):
        file.write_text(text)
        return subprocess.run([ours.ssh, "-F", file, *options, "-G", "h"], capture_output=True, text=True, timeout=20)
    for done in (dump("IgnoreUnknown FooBar\nFooBar yes\n"), dump("FooBar yes\n", "-o", "IgnoreUnknown=foo*"),
                 dump("", "-o", "IgnoreUnknown=foo*", "-o", "FooBar=yes")):
        assert done.returncode == 0 and done.stderr == "" and "ignoreunknown foo" in done.stdout.lower(), done
    for done in (dump("FooBar yes\nIgnoreUnknown FooBar\n"), dump("", "-o", "FooBar=yes", "-o", "IgnoreUnknown=foo*")):
        assert done.returncode == 255 and "Bad configuration option: foobar" in done.stderr, done


def test_a_forward_that_must_work_ends_the_run(world, ours, server):
    def run(*options):
        command, log, _ = Ssh(world, ours).command(server, options)
        code, out, err = feed([*command, "echo in"], None, 20)
        return code, out, err + log.read_text()
    for forward in ("LocalForward=1234 localhost:22", "RemoteForward=1234 localhost:22", "DynamicForward=1234"):
        code, out, text = run("ExitOnForwardFailure=yes", forward)
        assert (code, out) == (255, b"") and "is not supported yet, and ExitOnForwardFailure is on" in text
        code, out, text = run(forward)
        assert (code, out) == (0, b"in\n") and "is not supported yet and has no effect" in text


def test_numbers_that_a_client_refuses(ours):
    for option in ("ConnectionAttempts=0", "ConnectionAttempts=-1", "ConnectionAttempts=x"):
        done = subprocess.run([ours.ssh, "-F", "none", "-o", option, "-G", "h"], capture_output=True, text=True, timeout=20)
        assert done.returncode == 255 and done.stdout == "" and "umber" in done.stderr, (option, done)


def test_hashed_known_hosts(world, ours, server):
    folder = ground.scratch("hashed")
    path = folder / "known_hosts"
    known_hosts(server, path)
    done = subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(path)], capture_output=True)
    assert done.returncode == 0 and path.read_text().startswith("|1|")
    command, _, _ = Ssh(world, ours).command(
        server, [f"UserKnownHostsFile={path}", "StrictHostKeyChecking=yes"], hosts=False)
    assert feed([*command, "echo in"], None, 20)[:2] == (0, b"in\n")


@pytest.fixture
def agent(world, ours):
    """(environment, a key file whose private half only the agent has)"""
    folder = ground.scratch("agent")
    key = folder / "key"
    subprocess.run([ours.keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=20)
    env = {"SSH_AUTH_SOCK": str(folder / "sock")}
    process = subprocess.Popen(["ssh-agent", "-D", "-a", env["SSH_AUTH_SOCK"]], stdout=subprocess.DEVNULL)
    try:
        assert ground.wait_until((folder / "sock").exists, 5)
        subprocess.run(["ssh-add", "-q", str(key)], check=True, env={**os.environ, **env}, timeout=20)
        key.unlink()
        yield env, folder / "key.pub"
    finally:
        process.terminate()
        process.wait()


def test_key_from_a_running_agent(world, ours, agent):
    """The private key is only in the agent; the file named with -i is its public half."""
    env, public = agent
    with with_keys(world, ours, public.read_text().strip()) as server:
        command, _, _ = Ssh(world, ours).command(server)
        command[command.index("-i") + 1] = str(public)
        assert feed([*command, "echo in"], None, 20, env)[:2] == (0, b"in\n")
        assert feed([*command, "echo in"], None, 20)[0] == 255


def test_a_refused_login_names_its_cause(world, ours, server, agent, tmp_path):
    locked = tmp_path / "locked"
    subprocess.run([ours.keygen, "-q", "-t", "ed25519", "-N", "word", "-f", str(locked)], check=True, timeout=20)
    env, public = agent
    on_server = "Check on the server"

    def say(to, *options, key=None, env=None):
        command, log, _ = Ssh(world, ours).command(to, options)
        if key:
            command[command.index("-i") + 1] = str(key)
        code, out, err = feed([*command, "echo in"], None, 20, env)
        text = err + log.read_text().replace("\r", "")
        assert (code, out) == (255, b"") and "Permission denied (" in text, text
        return text
    text = say(server, "PubkeyAuthentication=no")
    assert "No key was offered: PubkeyAuthentication is off." in text and "configured files" not in text
    text = say(server, "PreferredAuthentications=password")
    assert 'PreferredAuthentications is "password", without publickey.' in text and on_server not in text
    assert "Keys for" not in text
    text = say(server, key=public)
    assert f"{public} is a public key, and its private key is in no agent" in text
    assert "there is no agent (SSH_AUTH_SOCK is not set)" in text and on_server not in text
    text = say(server, "IdentityAgent=none", key=public, env=env)
    assert f"{public} is a public key, and its" in text and "IdentityAgent none leaves the agent out" in text
    text = say(server, "IdentityFile=none", key=tmp_path / "absent", env=env)
    assert "IdentitiesOnly is on, and none of the agent's 1 keys" in text
    assert "the agent cannot be reached" in say(server, key=tmp_path / "absent", env={"SSH_AUTH_SOCK": "/nowhere"})
    text = say(server, key=public, env=env)
    assert on_server in text and "the server does not take it for this user" in text
    with with_keys(world, ours, (tmp_path / "locked.pub").read_text().strip()) as other:
        text = say(other, key=locked)
        assert "it needs a passphrase, and BatchMode is on" in text and on_server not in text
        assert "The server refused none of these keys: the cause is on this side." in text


def test_who_leaves_post_quantum_exchanges_out_is_named(world, ours, server):
    def say(to, kex):
        return Ssh(world, ours).run(to, "true", options=[f"KexAlgorithms={kex}"], auth="key")
    old, new = "curve25519-sha256", "sntrup761x25519-sha512"
    newer = "A newer server would offer a better one"
    with Sshd(world, ours, [f"KexAlgorithms {old}"]).start() as old_server:
        for to, kex, words in ((server, old, "KexAlgorithms of this side leaves it out"),
                               (server, f"{old},{new}", "leaves it out or puts it last"),
                               (old_server, old, "KexAlgorithms of this side has none"),
                               (old_server, f"{new},{old}", newer)):
            result = say(to, kex)
            text = result.err + result.log
            assert result.status == 0 and words in text and (newer in text) == (words == newer), text


@pytest.mark.parametrize("whose", ("ours", "theirs"))
def test_verbose_shows_version_files_and_proposals(world, ours, theirs, server, tmp_path, whose):
    client = Ssh(world, ours if whose == "ours" else theirs)
    config = tmp_path / "config"
    config.write_text("Compression no\n")

    def say(level):
        command, log, _ = client.command(server)
        command[command.index("-F") + 1] = str(config)
        code, out, err = feed([*command[:1], *[level] * (level != "-v"), *command[1:], "true"], None, 20)
        assert code == 0, err
        return (err + log.read_text()).replace("\r", "").splitlines()
    lines = say("-v")
    version = subprocess.run([client.programs.ssh, "-V"], capture_output=True, text=True, timeout=20).stderr.strip()
    assert lines[0] == f"debug1: {version}" or lines[0] == version
    assert f"debug1: Reading configuration data {config}" in lines and not any("KEXINIT proposal" in x for x in lines)
    lines = say("-vv")
    titles = ["KEX algorithms", "host key algorithms", "ciphers ctos", "ciphers stoc", "MACs ctos", "MACs stoc",
              "compression ctos", "compression stoc", "languages ctos", "languages stoc"]
    for whole in ("local client", "peer server"):
        at = lines.index(f"debug2: {whole} KEXINIT proposal")
        assert [x.split(":")[1].strip() for x in lines[at + 1:at + 11]] == titles
        assert "curve25519-sha256" in lines[at + 1] and "aes128-ctr" in lines[at + 3] and "none" in lines[at + 7]
        assert [x.strip() for x in lines[at + 11:at + 13]] == ["debug2: first_kex_follows 0", "debug2: reserved 0"]


def test_config_file(world, ours, server):
    folder = ground.scratch("config")
    known_hosts(server, folder / "known hosts")
    (folder / "more").write_text("Host other\n\tUser nobody\nHost box\n\tIdentitiesOnly = yes\n")
    (folder / "config").write_text(
        f"# it's mine\nInclude {folder}/more\nMatch host box # note\n\tHostname 127.0.0.1\n\tPort {server.port}\n"
        f"\tUser={server.user}\nHost *\n\tIdentityFile {world.keys.path('ed25519')}\n"
        f"\tUserKnownHostsFile \"{folder}/known hosts\"\n\tBatchMode yes\n")
    code, out, err = feed([ours.ssh, "-F", str(folder / "config"), "box", "echo in"], None, 20)
    assert (code, out) == (0, b"in\n"), err


@pytest.mark.parametrize("says,words", ((b"", "nothing"), (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
                                        (b"\x15\x03\x01\x00\x02\x02\x46", "TLS"),
                                        (b"220 mail.example.org ESMTP\r\n", "220 mail.example.org")))
def test_a_peer_that_is_not_ssh_is_named(world, ours, says, words):
    import socket
    import threading
    if not ours.is_bowline:
        pytest.skip("OpenSSH does not say")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            s, _ = listener.accept()
            s.sendall(says)
            time.sleep(0.5)
            s.close()
        threading.Thread(target=serve, daemon=True).start()
        code, _, err = feed([ours.ssh, "-F", "none", "-p", str(listener.getsockname()[1]), "-o", "ConnectTimeout=5",
                             "127.0.0.1", "true"], None, 20)
    assert code == 255 and words.lower() in err.lower(), err


# -- programs that run over ssh

def test_git(world, ours, server, tmp_path):
    def git(*args, cwd=None):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "safe.directory=*", *args],
                       check=True, cwd=cwd, capture_output=True, env=env, timeout=60)
    command, _, _ = Ssh(world, ours).command(server, debug=False)
    env = {**os.environ, "GIT_SSH_COMMAND": " ".join(command[:-1]), "GIT_SSH_VARIANT": "ssh"}
    far = f"/tmp/{os.path.basename(ground.scratch('git'))}"
    Ssh(world, ours).run(server, f"git init -q --bare {far}")
    near = tmp_path / "near"
    git("init", "-q", str(near))
    (near / "file").write_bytes(data(2_000_000))
    git("add", "file", cwd=near)
    git("commit", "-qm", "x", cwd=near)
    try:
        git("push", "-q", f"ssh://{server.user}@127.0.0.1:{server.port}{far}", "HEAD:refs/heads/main", cwd=near)
        git("clone", "-q", "-b", "main", f"ssh://{server.user}@127.0.0.1:{server.port}{far}", str(tmp_path / "again"))
    finally:
        Ssh(world, ours).run(server, f"rm -rf {far}")
    assert (tmp_path / "again" / "file").read_bytes() == data(2_000_000)


def test_rsync(world, ours, server, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for i in range(50):
        (source / f"f{i}").write_bytes(data(1000 * i))
    command, _, _ = Ssh(world, ours).command(server, debug=False)
    far = f"/tmp/{os.path.basename(ground.scratch('rsync'))}"
    rsh = " ".join(command[:-1])
    try:
        for a, b in ((f"{source}/", f"{server.user}@127.0.0.1:{far}/"), (f"{server.user}@127.0.0.1:{far}/", f"{tmp_path}/back/")):
            subprocess.run(["rsync", "-a", "-e", rsh, a, b], check=True, capture_output=True, timeout=60)
    finally:
        Ssh(world, ours).run(server, f"rm -rf {far}")
    assert all((tmp_path / "back" / f"f{i}").read_bytes() == data(1000 * i) for i in range(50))

# SPDX-License-Identifier: ISC
"""ssh-agent as a process: how it starts and ends, what shells are told, sockets of systemd and launchd, the stable
agent, who may look at it, many clients, and speed."""
import base64
import os
import pwd
import re
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives import serialization as ser
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from harness import agents, programs, world
from harness.programs import TOP

AGENT = programs.under_test().agent
ADD = programs.installed().add


class Home:
    """A user's home; the agents that are started in it end with it."""

    def __init__(self, path):
        self.path, self.folder = path, path / ".ssh" / "agent"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(path), "SHELL": "/bin/sh", "LANG": "C",
                    **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}
        self.pids = set()

    def run(self, *args, **env):
        done = subprocess.run([AGENT, *map(str, args)], env={**self.env, **env}, cwd=self.path, capture_output=True, text=True,
                              timeout=60)
        self.pids |= {int(n) for n in re.findall(r"Agent pid (\d+);", done.stdout)}
        return done

    def add(self, *args, sock):
        return subprocess.run([ADD, *args], env={**self.env, "SSH_AUTH_SOCK": str(sock)}, capture_output=True, text=True,
                              timeout=30)


def alive(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def home(tmp_path):
    h = Home(tmp_path)
    yield h
    for pid in h.pids:
        if alive(pid):
            os.kill(pid, signal.SIGTERM)
            world.wait_until(lambda: not alive(pid), 5)


def processor_s(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_closed_descriptors_are_no_place_for_its_socket(home):
    sock = home.path / "s"
    with subprocess.Popen(["/bin/sh", "-c", f'exec "{AGENT}" -a "{sock}" <&- >&- 2>&-'], env=home.env, cwd=home.path) as starter:
        assert starter.wait(30) == 0
    pid = next(int(n) for n in os.listdir("/proc") if n.isdigit() and str(sock).encode() in read_command(n))
    home.pids.add(pid)
    done = home.add("-l", sock=sock)
    assert (done.returncode, done.stdout) == (1, "The agent has no identities.\n"), done.stderr
    before = processor_s(pid)
    time.sleep(1)
    assert processor_s(pid) - before < 0.5


def read_command(pid):
    try:
        return open(f"/proc/{pid}/cmdline", "rb").read()
    except OSError:
        return b""


def variables(text):
    return dict(re.findall(r"^(?:setenv )?(\w+)[= ]([^;\s]+);", text, re.M))


# ---- shells -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("flag", ["-s", "-c"])
def test_shells_are_told_the_same_words_as_by_openssh(home, flag):
    """Byte for byte but for the path and the number."""
    texts = []
    theirs = subprocess.run([shutil.which("ssh-agent"), flag], env=home.env, capture_output=True, text=True, timeout=20)
    home.pids |= {int(n) for n in re.findall(r"Agent pid (\d+);", theirs.stdout)}
    ours = home.run(flag)
    for done in (theirs, ours):
        assert done.returncode == 0 and done.stderr == ""
        texts.append(re.sub(r"\d+;", "N;", re.sub(r"/[^;]+", "PATH", done.stdout)))
    assert texts[0] == texts[1]
    env = variables(ours.stdout)
    assert home.add("-l", sock=env["SSH_AUTH_SOCK"]).returncode == 1
    killed = [subprocess.run([program, flag, "-k"], env={**home.env, "SSH_AGENT_PID": variables(done.stdout)["SSH_AGENT_PID"]},
                             capture_output=True, text=True, timeout=20)
              for program, done in ((shutil.which("ssh-agent"), theirs), (AGENT, ours))]
    assert [k.returncode for k in killed] == [0, 0]
    assert re.sub(r"\d+", "N", killed[0].stdout) == re.sub(r"\d+", "N", killed[1].stdout)
    assert world.wait_until(lambda: not os.path.exists(env["SSH_AUTH_SOCK"]), 5)


def test_the_shell_decides_where_nobody_says(home):
    assert home.run(SHELL="/bin/tcsh").stdout.startswith("setenv SSH_AUTH_SOCK ")
    assert home.run(SHELL="/bin/bash").stdout.startswith("SSH_AUTH_SOCK=")


@pytest.mark.parametrize("pid,text", [(None, "SSH_AGENT_PID not set, cannot kill agent\n"),
                                      ("x", 'SSH_AGENT_PID="x", which is not a good PID\n'),
                                      ("0", 'SSH_AGENT_PID="0", which is not a good PID\n'),
                                      ("-1", 'SSH_AGENT_PID="-1", which is not a good PID\n'),
                                      ("2147483646", "kill: No such process\n")])
def test_only_an_agent_that_is_named_is_killed(home, pid, text):
    done = home.run("-k", **({"SSH_AGENT_PID": pid} if pid else {}))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", text)


@pytest.mark.parametrize("args", [["-x"], ["-c", "-s"], ["-a"], ["-d", "-D"], ["-D", "true"], ["-a", "x", "-T"], ["-t", "soon"],
                                  ["-E", "crc"], ["-O", "what"], ["--stable", "-D"]])
def test_what_does_not_go_together_is_refused(home, args):
    done = home.run(*args)
    assert done.returncode == 1 and done.stdout == "" and done.stderr
    assert not home.folder.exists()


# ---- sockets ----------------------------------------------------------------------------------------

def test_the_socket_is_the_user_s_alone(home):
    os.umask(0o022)
    path = variables(home.run("-s").stdout)["SSH_AUTH_SOCK"]
    assert re.fullmatch(rf"{home.folder}/s\.\w{{10}}\.agent\.\w{{10}}", path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.folder.parent.stat().st_mode) == 0o700


def test_sockets_that_nobody_listens_at_are_removed_after_an_hour(home):
    path = variables(home.run("-s").stdout)["SSH_AUTH_SOCK"]
    host = os.path.basename(path).split(".")[1]

    def dead(name, old=True):
        s = socket.socket(socket.AF_UNIX)
        s.bind(str(home.folder / name))
        s.close()
        if old:
            os.utime(home.folder / name, (0, time.time() - 3700))
        return name
    mine, young, other = dead(f"s.{host}.agent.AAAAAAAAAA"), dead(f"s.{host}.sshd.BBBBBBBBBB", False), dead("s.0123456789.agent.C")
    (home.folder / "s.file").write_text("")
    os.utime(path, (0, time.time() - 3700))     # old, but alive

    def left():
        return {p.name for p in home.folder.iterdir()} - {os.path.basename(p) for p in made}
    made = [path, variables(home.run("-s", "-U").stdout)["SSH_AUTH_SOCK"]]
    assert left() == {mine, young, other, "s.file"}
    made.append(variables(home.run("-s").stdout)["SSH_AUTH_SOCK"])
    assert left() == {young, other, "s.file"}
    mine = dead(f"s.{host}.agent.DDDDDDDDDD")
    done = home.run("-u")
    assert (done.returncode, done.stdout) == (0, "") and left() == {young, other, "s.file"}
    assert home.run("-uu").returncode == 0 and left() == {young, "s.file"}
    assert home.add("-l", sock=path).returncode == 1


def test_other_places(home, tmp_path):
    done = home.run("-s", "-a", "here")
    path = variables(done.stdout)["SSH_AUTH_SOCK"]
    assert path == str(tmp_path / "here") and home.add("-l", sock=path).returncode == 1
    again = home.run("-s", "-a", "here")
    assert again.returncode == 1 and "Address already in use" in again.stderr
    long = home.run("-a", tmp_path / ("x" * 200))
    assert long.returncode == 1 and "longer than" in long.stderr
    done = home.run("-s", "-T", TMPDIR=str(tmp_path))
    path = variables(done.stdout)["SSH_AUTH_SOCK"]
    assert re.fullmatch(rf"{tmp_path}/ssh-\w{{10}}/agent\.\d+", path)
    os.kill(int(variables(done.stdout)["SSH_AGENT_PID"]), signal.SIGTERM)
    assert world.wait_until(lambda: not os.path.exists(os.path.dirname(path)), 5)


def test_a_command_has_an_agent_of_its_own_and_may_leave_a_core(home):
    done = home.run("sh", "-c", f"{ADD} -l; echo $SSH_AGENT_PID $(ulimit -Hc); exit 7")
    pid, core = re.search(r"(\d+) (\w+)$", done.stdout).groups()
    assert done.returncode == 7 and "no identities" in done.stdout
    home.pids.add(int(pid))
    assert core == {resource.RLIM_INFINITY: "unlimited"}.get(resource.getrlimit(resource.RLIMIT_CORE)[1], core) != "0"
    assert world.wait_until(lambda: not alive(int(pid)), 12)
    assert home.run("/no/such/program").returncode == 1


@pytest.mark.parametrize("signo,status", [(signal.SIGTERM, 2), (signal.SIGHUP, 2), (signal.SIGINT, 2)])
def test_signals_end_it_and_take_the_socket_away(home, signo, status):
    child = subprocess.Popen([AGENT, "-D", "-a", "sock"], env=home.env, cwd=home.path, stdout=subprocess.PIPE, text=True)
    first = child.stdout.readline() + child.stdout.readline()
    assert first == f"SSH_AUTH_SOCK={home.path}/sock; export SSH_AUTH_SOCK;\necho Agent pid {child.pid};\n"
    child.send_signal(signo)
    assert child.wait(10) == status and not (home.path / "sock").exists()
    child.stdout.close()


def test_usr1_deletes_all_keys(home, theirs, tmp_path):
    subprocess.run([theirs.keygen, "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "k"], check=True, timeout=20)
    env = variables(home.run("-s", "-t", "1h").stdout)
    assert home.add(tmp_path / "k", sock=env["SSH_AUTH_SOCK"]).returncode == 0
    os.kill(int(env["SSH_AGENT_PID"]), signal.SIGUSR1)
    assert world.wait_until(lambda: home.add("-l", sock=env["SSH_AUTH_SOCK"]).returncode == 1, 5)


# ---- who started it ---------------------------------------------------------------------------------

def test_the_units_are_understood_by_systemd(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    for name in ("ssh-agent.socket", "ssh-agent.service"):
        text = (TOP / "packaging" / "systemd" / name).read_text()
        (tmp_path / name).write_text(text.replace("/usr/bin/ssh-agent", AGENT))
    done = subprocess.run(["systemd-analyze", "--user", "--man=no", "verify", tmp_path / "ssh-agent.socket", tmp_path / "ssh-agent.service"],
                          env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_socket_of_systemd_is_served(home):
    if not shutil.which("systemd-socket-activate"):
        pytest.skip("systemd-socket-activate is not installed")
    path = home.path / "activated"
    child = subprocess.Popen(["systemd-socket-activate", "-l", path, AGENT, "-D"], env=home.env, cwd=home.path,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert world.wait_until(path.exists)
        assert home.add("-l", sock=path).stdout == "The agent has no identities.\n"
        assert not home.folder.exists()
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0 and child.stdout.read() == b""
        assert path.exists(), "the socket is systemd's"
    finally:
        world.end(child)
        child.stdout.close()


def test_sockets_of_another_process_are_left_alone(home):
    """LISTEN_PID of somebody else: the descriptors are not for this agent."""
    child = subprocess.Popen([AGENT, "-D", "-a", "own"], env={**home.env, "LISTEN_PID": "1", "LISTEN_FDS": "1"}, cwd=home.path,
                             stdout=subprocess.DEVNULL)
    try:
        assert world.wait_until((home.path / "own").exists)
        assert world.wait_until(lambda: home.add("-l", sock=home.path / "own").returncode == 1)
    finally:
        world.end(child)


LAUNCHD = r"""
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
int launch_activate_socket(const char *name, int **fds, size_t *n) {
	const char *fails = getenv("FAKE_ERROR"), *path = getenv("FAKE_PATH");
	if (strcmp(name, "Listeners") != 0) return ENOENT;
	if (fails) return atoi(fails);
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	strcpy(sa.sun_path, path);
	*fds = malloc(sizeof(int));
	**fds = socket(AF_UNIX, SOCK_STREAM, 0);
	*n = 1;
	return bind(**fds, (struct sockaddr *)&sa, sizeof(sa)) || listen(**fds, 8) ? errno : 0;
}
"""


@pytest.fixture(scope="module")
def launchd(tmp_path_factory):
    if programs.under_test().name == "bowline-asan":
        pytest.skip("libasan must come first among the libraries")
    folder = tmp_path_factory.mktemp("launchd")
    (folder / "fake.c").write_text(LAUNCHD)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "fake.so", folder / "fake.c"], check=True, timeout=60)
    return str(folder / "fake.so")


def test_the_sockets_of_launchd_are_served(home, launchd):
    path = home.path / "launched"
    child = subprocess.Popen([AGENT, "-l"], env={**home.env, "LD_PRELOAD": launchd, "FAKE_PATH": str(path)}, cwd=home.path,
                             stdout=subprocess.PIPE)
    try:
        assert world.wait_until(lambda: home.add("-l", sock=path).returncode == 1)
        assert not home.folder.exists()
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0 and child.stdout.read() == b"" and path.exists()
    finally:
        world.end(child)
        child.stdout.close()


@pytest.mark.parametrize("error,reason", [("2", "no sockets with the name Listeners"), ("3", "not started by launchd"),
                                          ("22", "Invalid argument"), (None, "this system has no launchd")])
def test_a_failed_activation_says_why_and_does_not_end(home, launchd, error, reason):
    env = {**home.env, **({"LD_PRELOAD": launchd, "FAKE_ERROR": error} if error else {})}
    path = home.folder / "stable.sock"
    child = subprocess.Popen([AGENT, "-l"], env=env, cwd=home.path, stderr=subprocess.PIPE, text=True)
    try:
        told = child.stderr.readline() + child.stderr.readline()
        assert reason in told and f"serving instead at {path}" in told
        assert home.add("-l", sock=path).returncode == 1 and child.poll() is None
    finally:
        world.end(child)
        child.stderr.close()


# ---- the stable agent -------------------------------------------------------------------------------

def test_of_many_that_start_at_once_one_becomes_the_stable_agent(home):
    with ThreadPoolExecutor(12) as pool:
        told = list(pool.map(lambda _: home.run("--stable", "-s"), range(24)))
    assert {d.returncode for d in told} == {0} and {d.stderr for d in told} == {""}
    assert len({d.stdout for d in told}) == 1, "all adopt the same one"
    env = variables(told[0].stdout)
    assert env["SSH_AUTH_SOCK"] == str(home.folder / "stable.sock")
    assert home.add("-l", sock=env["SSH_AUTH_SOCK"]).returncode == 1
    # as cron does: next to no environment
    bare = subprocess.run([AGENT, "--stable", "-s"], env={"HOME": str(home.path), "PATH": "/usr/bin:/bin"}, cwd="/",
                          capture_output=True, text=True, timeout=20, start_new_session=True)
    assert bare.stdout == told[0].stdout
    # and what it runs has it; it outlives the command
    done = home.run("--stable", "sh", "-c", "echo $SSH_AUTH_SOCK $SSH_AGENT_PID")
    assert done.stdout == f"{env['SSH_AUTH_SOCK']} {env['SSH_AGENT_PID']}\n"
    # killed without a chance to clean up, it is followed by another
    os.kill(int(env["SSH_AGENT_PID"]), signal.SIGKILL)
    assert world.wait_until(lambda: not alive(int(env["SSH_AGENT_PID"])), 5)
    again = home.run("--stable", "-s")
    assert again.returncode == 0 and variables(again.stdout)["SSH_AGENT_PID"] != env["SSH_AGENT_PID"]
    assert home.add("-l", sock=env["SSH_AUTH_SOCK"]).returncode == 1


# ---- protection -------------------------------------------------------------------------------------

def in_c(text, folder, name):
    (folder / f"{name}.c").write_text(text)
    subprocess.run(["cc", "-o", folder / name, folder / f"{name}.c"], check=True, timeout=60)
    return folder / name


def test_it_leaves_no_core_and_cannot_be_looked_at(home, tmp_path):
    if programs.under_test().name == "bowline-asan":
        pytest.skip("the leak check looks at its own process")
    if os.getuid() != 0:
        pytest.skip("needs another user")
    if "BOWLINE_USER" not in os.environ:
        pytest.skip(os.environ.get("BOWLINE_NO_ACCOUNT", "no second account"))
    who = pwd.getpwnam(os.environ["BOWLINE_USER"])
    folder = world.scratch("agent-user")
    try:
        os.chown(folder, who.pw_uid, who.pw_gid)
        own = shutil.copy(programs.for_everyone(AGENT), folder)
        look = in_c("#include <sys/ptrace.h>\n#include <stdlib.h>\nint main(int n, char **v) "
                    "{ return ptrace(PTRACE_ATTACH, atoi(v[1]), 0, 0) == 0 ? 9 : 0; }", folder, "look")
        run = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": [], "env": {"HOME": str(folder), "PATH": "/usr/bin:/bin"},
               "cwd": folder, "timeout": 20, "capture_output": True, "text": True}
        pid = int(variables(subprocess.run([own, "-s"], **run).stdout)["SSH_AGENT_PID"])
        home.pids.add(pid)
        assert os.stat(f"/proc/{pid}/environ").st_uid == 0, "its files in /proc are root's"
        assert subprocess.run([look, str(pid)], **run).returncode == 0, "the user attached to it"
        for name in ("mem", "environ", "maps"):
            done = subprocess.run(["cat", f"/proc/{pid}/{name}"], **run)
            assert done.returncode == 1 and "denied" in done.stderr
        # the same user's other processes can be looked at: it is the agent that refuses
        sleeper = subprocess.Popen(["sleep", "30"], user=who.pw_uid, group=who.pw_gid, extra_groups=[])
        assert subprocess.run([look, str(sleeper.pid)], **run).returncode == 9
        sleeper.kill()
        sleeper.wait()
        status = open(f"/proc/{pid}/limits").read()
        assert re.search(r"Max core file size\s+0\s+0", status)
        assert "NoNewPrivs:\t1" in open(f"/proc/{pid}/status").read()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_other_users_are_turned_away(home):
    if os.getuid() != 0:
        pytest.skip("needs another user")
    folder = world.scratch("agent-peer")
    try:
        (folder / "in").mkdir(0o755)
        path = folder / "in" / "sock"
        home.run("-s", "-a", path)
        os.chmod(path, 0o666)
        ask = ("import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
               "s.sendall(b'\\0\\0\\0\\1\\x0b'); sys.exit(len(s.recv(99)))")
        assert subprocess.run(["/usr/bin/python3", "-c", ask, path], timeout=20).returncode == 9
        other = subprocess.run(["/usr/bin/python3", "-c", ask, path], user=65534, group=65534, extra_groups=[], timeout=20,
                               stderr=subprocess.DEVNULL)
        assert other.returncode in (0, 1), "another user got an answer"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- many, and fast ---------------------------------------------------------------------------------

def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    s.connect(path)
    return s


def exchange(s, frame):
    s.sendall(frame)
    head = s.recv(5, socket.MSG_WAITALL)
    n = struct.unpack(">I", head[:4])[0] - 1
    return head[4], s.recv(n, socket.MSG_WAITALL) if n else b""


def test_200_clients_of_which_half_never_read(home, theirs, tmp_path):
    subprocess.run([theirs.keygen, "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "k"], check=True, timeout=20)
    env = variables(home.run("-s").stdout)
    path, pid = env["SSH_AUTH_SOCK"], env["SSH_AGENT_PID"]
    assert home.add(tmp_path / "k", sock=path).returncode == 0

    def memory():
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1])
    before, greedy = memory(), [connect(path) for _ in range(100)]
    for s in greedy:
        s.setblocking(False)
        try:
            for _ in range(1000):
                s.send(agents.frame(11) * 100)
        except BlockingIOError:
            pass
    patient = [connect(path) for _ in range(100)]
    for s in patient:
        number, body = exchange(s, agents.frame(11))
        assert number == 12 and body[:4] == b"\0\0\0\1"
    # half a frame, and lengths that announce much, hold nothing either
    for i, s in enumerate(patient):
        s.sendall(struct.pack(">IB", (256 << 10) if i % 2 else 100, 17))
    assert home.add("-l", sock=path).returncode == 0
    grown = memory() - before
    assert grown < 30000 or programs.under_test().name == "bowline-asan", f"{grown} KiB more"
    for s in greedy + patient:
        s.close()
    for length in (0, (256 << 10) + 1, 2**31, 2**32 - 1):
        with connect(path) as s:
            s.sendall(struct.pack(">I", length))
            assert s.recv(1) == b"", f"a frame of {length} bytes"
    assert home.add("-l", sock=path).returncode == 0


def test_a_thousand_keys_are_held_and_listed(home):
    path = variables(home.run("-s").stdout)["SSH_AUTH_SOCK"]
    with connect(path) as s:
        for i in range(1000):
            key = Ed25519PrivateKey.generate()
            raw = key.private_bytes(ser.Encoding.Raw, ser.PrivateFormat.Raw, ser.NoEncryption())
            public = key.public_key().public_bytes(ser.Encoding.Raw, ser.PublicFormat.Raw)
            body = b"".join(agents.string(x) for x in (b"ssh-ed25519", public, raw + public, b"key %d" % i))
            assert exchange(s, agents.frame(17, body))[0] == 6
    done = home.add("-l", sock=path)
    assert len(done.stdout.splitlines()) == 1000 and done.stdout.splitlines()[999].split()[3] == "999"


def test_signatures_a_second(home, theirs, tmp_path, record_property):
    """Reported, never a reason to fail but for a disaster: the machine may be busy."""
    subprocess.run([theirs.keygen, "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "k"], check=True, timeout=20)
    env = variables(home.run("-s").stdout)
    assert home.add(tmp_path / "k", sock=env["SSH_AUTH_SOCK"]).returncode == 0
    blob = base64.b64decode((tmp_path / "k.pub").read_text().split()[1])
    frame = agents.frame(13, agents.string(blob) + agents.string(b"x" * 200) + b"\0\0\0\0")
    with connect(env["SSH_AUTH_SOCK"]) as s:
        begin, n = time.monotonic(), 0
        while time.monotonic() - begin < 1:
            assert exchange(s, frame)[0] == 14
            n += 1
    used = sum(int(x) for x in open(f"/proc/{env['SSH_AGENT_PID']}/stat").read().rsplit(")", 1)[1].split()[11:13])
    a_second = n / (used / os.sysconf("SC_CLK_TCK"))
    record_property("signatures_a_cpu_second", round(a_second))
    print(f"{n} signatures in a second of the clock, {a_second:.0f} in one of the agent's CPU")
    assert a_second > 500

# SPDX-License-Identifier: ISC
"""Passphrases remembered (UseKeychain, ssh-add) and keys given to the agent (AddKeysToAgent, IdentityAgent)."""
import os
import re
import shutil
import subprocess
import time

import pytest

from harness import agents, world as ground
from harness.server import Sshd, known_hosts

PHRASE = "open sesame"


@pytest.fixture(autouse=True)
def only_ours(ours):
    if not ours.is_bowline:
        pytest.skip("speaks of our programs")


@pytest.fixture(scope="module")
def server(world, theirs):
    with Sshd(world, theirs, log_level="INFO").start() as running:
        yield running


@pytest.fixture
def key(tmp_path, theirs, server):
    """A key with a passphrase, let in by the server."""
    path = tmp_path / "key"
    subprocess.run([theirs.keygen, "-q", "-t", "ed25519", "-a", "1", "-N", PHRASE, "-C", "the comment", "-f", path], check=True, timeout=60)
    with open(server.dir / "authorized_keys", "a", encoding="ascii") as f:
        f.write(path.with_suffix(".pub").read_text())
    return path


class Person:
    """Who answers questions: the program of SSH_ASKPASS, which notes what it was asked."""

    def __init__(self, folder):
        self.notes, self.program = folder / "asked", folder / "askpass"
        self.answer(PHRASE)

    def answer(self, *answers):
        lines = "".join(f"*{len(answers) - i}) echo '{a}' ;;\n" for i, a in enumerate(reversed(answers))) if len(answers) > 1 else ""
        self.program.write_text(f"""#!/bin/sh
echo "$1" >>{self.notes}
case $(wc -l <{self.notes}) in
{lines}*) echo '{answers[-1]}' ;;
esac
""")
        self.program.chmod(0o755)

    @property
    def asked(self):
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    def forget(self):
        self.notes.unlink(missing_ok=True)

    @property
    def env(self):
        return {"SSH_ASKPASS": str(self.program), "SSH_ASKPASS_REQUIRE": "force"}


@pytest.fixture
def person(tmp_path):
    return Person(tmp_path)


# Without folders of services: the bus would answer an early question by starting a second keyring, which stays locked.
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={path}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


@pytest.fixture(scope="module")
def bus(tmp_path_factory):
    """A private bus with gnome-keyring's Secret Service on it, unlocked."""
    if not shutil.which("gnome-keyring-daemon") or not shutil.which("dbus-daemon"):
        pytest.skip("gnome-keyring or dbus is not installed")
    folder = tmp_path_factory.mktemp("bus")
    (folder / "run").mkdir(mode=0o700)
    address = f"unix:path={folder}/bus"
    env = {**os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder / "run"), "DBUS_SESSION_BUS_ADDRESS": address,
           "XDG_DATA_HOME": str(folder / "data")}
    (folder / "bus.conf").write_text(BUS.format(path=folder / "bus"))
    running = [subprocess.Popen(["dbus-daemon", f"--config-file={folder}/bus.conf", "--nofork"], env=env, start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
    try:
        assert ground.wait_until((folder / "bus").exists)
        running.append(subprocess.Popen(["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], env=env,
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True))
        running[1].stdin.write(b"login\n")
        running[1].stdin.close()

        def answers():
            return subprocess.run(["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.secrets",
                                   "/org/freedesktop/secrets/aliases/default", "org.freedesktop.DBus.Properties.Get",
                                   "string:org.freedesktop.Secret.Collection", "string:Locked"], env=env, timeout=30,
                                  capture_output=True, check=False).stdout.find(b"boolean false") >= 0
        assert ground.wait_until(answers, 20, 0.2), "the keyring is not unlocked"
        yield {"DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": env["XDG_RUNTIME_DIR"]}
    finally:
        for process in reversed(running):
            ground.end(process)


@pytest.fixture(params=("secret-service", "kernel"))
def place(request, ours):
    """What a program needs to remember at this place."""
    env = {"BOWLINE_KEYCHAIN": request.param}
    if request.param == "secret-service":
        try:
            env["SSH_KEYCHAIN_HELPER"] = ours.keychain
        except RuntimeError:
            pytest.skip("ssh-keychain is not built: libsecret is missing")
        env.update(request.getfixturevalue("bus"))
    else:
        done = run(ours.add, "--forget", "/absent", env=env)
        if "No passphrase is remembered" not in done.stderr:
            pytest.skip(f"no kernel keyring here: {done.stderr.strip()}")
    return env


def run(program, *args, env=None, data=None):
    full = {k: v for k, v in os.environ.items() if k not in ("SSH_AUTH_SOCK", "DISPLAY", "SSH_ASKPASS")}
    return subprocess.run([str(program), *map(str, args)], input=data, stdin=None if data is not None else subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, env={**full, **(env or {})}, start_new_session=True)


def login(ours, server, key, *options, env=None):
    known = known_hosts(server, server.dir / "known")
    done = run(ours.ssh, "-F", "none", "-p", server.port, "-o", f"UserKnownHostsFile={known}", "-i", key,
               "-o", "PreferredAuthentications=publickey", "-o", "IdentitiesOnly=yes", *options,
               f"{server.user}@{server.host}", "echo in", env=env)
    assert (done.returncode == 0) == (done.stdout == "in\n"), done.stderr
    return done


@pytest.fixture
def remembered(ours, place, key):
    yield
    run(ours.add, "--forget", key, env=place)


def test_ssh_asks_once_then_never_then_forgets(ours, server, key, person, place, remembered):
    env = {**place, **person.env}
    keep = ("-o", "UseKeychain=yes")
    assert login(ours, server, key, *keep, env=env).returncode == 0
    assert person.asked == [f"Enter passphrase for key '{key}': "]
    for more in ((), ("-o", "BatchMode=yes")):
        assert login(ours, server, key, *keep, *more, env=env).returncode == 0
    assert len(person.asked) == 1
    assert login(ours, server, key, env=env).returncode == 0     # without the keyword: not looked up
    assert len(person.asked) == 2
    done = run(ours.add, "--forget", key, env=env)
    assert (done.returncode, done.stderr) == (0, f"Passphrase forgotten: {key}\n")
    done = run(ours.add, "--forget", key, env=env)
    assert (done.returncode, done.stderr) == (1, f"No passphrase is remembered for {key}\n")
    assert login(ours, server, key, *keep, "-o", "BatchMode=yes", env=env).returncode == 255
    assert login(ours, server, key, *keep, env=env).returncode == 0
    assert len(person.asked) == 3


def test_only_what_opened_the_key_is_remembered(ours, server, key, person, place, remembered, theirs):
    env, keep = {**place, **person.env}, ("-o", "UseKeychain=yes")
    person.answer("wrong", PHRASE)
    assert login(ours, server, key, *keep, env=env).returncode == 0
    assert len(person.asked) == 2
    assert login(ours, server, key, *keep, env=env).returncode == 0
    assert len(person.asked) == 2
    subprocess.run([theirs.keygen, "-q", "-p", "-a", "1", "-P", PHRASE, "-N", "another one", "-f", key], check=True, timeout=60,
                   stdout=subprocess.DEVNULL)
    person.answer("another one")                                   # what is remembered is wrong now
    assert login(ours, server, key, *keep, env=env).returncode == 0
    assert len(person.asked) == 3
    assert login(ours, server, key, *keep, env=env).returncode == 0
    assert len(person.asked) == 3


def test_ssh_add_takes_puts_and_loads(ours, key, person, place, remembered, tmp_path):
    with agents.openssh(tmp_path) as agent:
        env = {**place, **person.env, **agent.env}
        for _ in range(2):
            done = run(ours.add, "--apple-use-keychain", key, env=env)
            assert done.returncode == 0 and f"Identity added: {key} (the comment)\n" in done.stderr
            assert len(person.asked) == 1
        assert run(ours.add, "-q", "-D", env=env).returncode == 0
        done = run(ours.add, "--apple-load-keychain", env=env)
        assert (done.returncode, done.stderr) == (0, f"Identity added: {key} (the comment)\n")
        assert len(person.asked) == 1
        done = run(ours.add, "-d", "--apple-use-keychain", key, env=env)
        assert done.returncode == 0 and done.stderr.splitlines()[-1] == f"Passphrase forgotten: {key}"
        done = run(ours.add, "--apple-load-keychain", env=env)
        assert (done.returncode, done.stderr) == (1, "No identity found in the keychain.\n")
        assert run(ours.add, key, env=env).returncode == 0          # without the option: asked, not remembered
        assert len(person.asked) == 2
        assert run(ours.add, "--forget", key, env=env).returncode == 1


@pytest.mark.parametrize("place_name,words", (("none", "BOWLINE_KEYCHAIN is none"),
                                              ("paper", "BOWLINE_KEYCHAIN names a place that is not built in")))
def test_without_a_place_logins_go_on(ours, server, key, person, place_name, words):
    env = {**person.env, "BOWLINE_KEYCHAIN": place_name}
    done = login(ours, server, key, "-o", "UseKeychain=yes", env=env)
    assert done.returncode == 0 and done.stderr.strip() == f"The passphrase of {key} is not remembered: {words}"
    done = run(ours.add, "--forget", key, env=env)
    assert (done.returncode, done.stderr) == (1, f"The passphrase of {key} cannot be forgotten: {words}\n")


def test_a_service_that_is_not_there_is_named(ours, server, key, person, tmp_path):
    try:
        helper = ours.keychain
    except RuntimeError:
        pytest.skip("ssh-keychain is not built: libsecret is missing")
    env = {**person.env, "SSH_KEYCHAIN_HELPER": helper, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path}/none"}
    done = login(ours, server, key, "-o", "UseKeychain=yes", env=env)
    assert done.returncode == 0 and "is not remembered: the Secret Service does not answer" in done.stderr
    env["SSH_KEYCHAIN_HELPER"] = f"{tmp_path}/absent"
    done = login(ours, server, key, "-o", "UseKeychain=yes", env=env)
    assert done.returncode == 0 and f"{tmp_path}/absent is not installed" in done.stderr


# ---- the agent ------------------------------------------------------------------------------------------

@pytest.fixture
def agent(tmp_path):
    with agents.openssh(tmp_path) as running:
        yield running


def listed(ours, agent):
    return [line.split()[2:-1] for line in run(ours.add, "-l", env=agent.env).stdout.splitlines() if "SHA256" in line]


def test_keys_go_to_the_agent_once(ours, server, key, person, agent):
    env = {**person.env, **agent.env}
    assert login(ours, server, key, env=env).returncode == 0 and listed(ours, agent) == []
    for _ in range(2):
        assert login(ours, server, key, "-o", "AddKeysToAgent=yes", env=env).returncode == 0
    assert listed(ours, agent) == [["the", "comment"]]
    assert len(person.asked) == 2


@pytest.mark.parametrize("answer,count", (("yes", 1), ("no", 0), ("", 1)))
def test_ask_before_a_key_goes_to_the_agent(ours, server, key, person, agent, answer, count):
    person.answer(PHRASE, answer)
    assert login(ours, server, key, "-o", "AddKeysToAgent=ask", env={**person.env, **agent.env}).returncode == 0
    assert person.asked[1:] == [f"Add key {key} (the comment) to agent? "]
    assert len(listed(ours, agent)) == count


def test_times_of_keys_in_the_agent(ours, server, key, person, agent):
    assert login(ours, server, key, "-o", "AddKeysToAgent=2", env={**person.env, **agent.env}).returncode == 0
    assert len(listed(ours, agent)) == 1
    time.sleep(3.5)
    assert listed(ours, agent) == []


def test_confirmed_keys(ours, server, key, person, tmp_path):
    (tmp_path / "other").mkdir()
    said = Person(tmp_path / "other")
    said.answer("no")
    with agents.openssh(tmp_path, env={**said.env, "DISPLAY": ":99"}) as agent:
        env = {**person.env, **agent.env}
        assert login(ours, server, key, "-o", "AddKeysToAgent=confirm 1h", env=env).returncode == 0
        assert len(listed(ours, agent)) == 1 and said.asked == []
        assert login(ours, server, key, "-o", "BatchMode=yes", env=env).returncode == 255
        assert len([line for line in said.asked if line.startswith("Allow use of key")]) == 1


@pytest.mark.parametrize("form,finds", (("{path}", True), ("SSH_AUTH_SOCK", True), ("$OTHER_SOCK", True), ("${OTHER_SOCK}", True),
                                        ("{folder}/%%agent", False), ("{folder}/%u/../agent", False), ("none", False),
                                        ("{folder}/agen%%t", False), ("$UNSET_SOCK", False)))
def test_identity_agent(ours, server, key, agent, form, finds, tmp_path):
    done = run(ours.add, key, env={**agent.env, "SSH_ASKPASS_REQUIRE": "never"}, data=PHRASE + "\n")
    assert done.returncode == 0, done.stderr
    value = form.replace("{path}", str(agent.path)).replace("{folder}", str(tmp_path))
    env = {"OTHER_SOCK": str(agent.path), **(agent.env if form in ("SSH_AUTH_SOCK", "none") else {})}
    done = login(ours, server, key, "-o", "BatchMode=yes", "-o", f"IdentityAgent={value}", env=env)
    assert (done.returncode == 0) == finds, done.stderr


@pytest.mark.parametrize("shell", ("/bin/sh", "/bin/tcsh"))
@pytest.mark.parametrize("name", ("home", "my home's"))
def test_env_starts_the_stable_agent_and_says_where(ours, key, tmp_path, shell, name):
    home = tmp_path / name
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    where = os.path.dirname(ours.beside("ssh-agent"))
    env = {"HOME": str(home), "SHELL": shell, "PATH": f"{where}:{os.environ['PATH']}"}
    try:
        done = run(ours.add, "--env", env=env)
        assert done.returncode == 0, done.stderr
        assert run(ours.add, "--env", env=env).stdout == done.stdout      # the same one
        if shell == "/bin/sh":
            script = f'eval "$({ours.add} --env)"; {ours.add} -l'
            listing = run("/bin/sh", "-c", script, env=env)
            assert (listing.returncode, listing.stdout) == (1, "The agent has no identities.\n")
        else:
            assert done.stdout.startswith("setenv SSH_AUTH_SOCK ") and re.search(r"stable\.sock'?;\n$", done.stdout)
    finally:
        said = run(ours.beside("ssh-agent"), "--stable", "-s", env=env).stdout
        pid = re.search(r"SSH_AGENT_PID=(\d+)", said)
        if pid:
            os.kill(int(pid[1]), 15)


def test_env_without_an_agent_to_start(ours, tmp_path):
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / "ssh-agent").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "ssh-agent").chmod(0o755)
    if os.access("/usr/local/bin/ssh-agent", os.X_OK):
        pytest.skip("the agent is installed where the program looks first")
    done = run(ours.add, "--env", env={"HOME": str(tmp_path), "PATH": str(tmp_path)})
    assert done.returncode == 2 and done.stdout == "" and "does not start one" in done.stderr

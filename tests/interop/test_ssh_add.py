# SPDX-License-Identifier: ISC
"""ssh-add against agents of others: OpenSSH's ssh-agent, gpg-agent, pageant, and agents that misbehave."""
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import time
from base64 import b64decode, b64encode

import pytest

from harness import agents
from harness.server import Sshd, known_hosts

TYPES = {"ed25519": ("-t", "ed25519"), "ecdsa-256": ("-t", "ecdsa"), "ecdsa-521": ("-t", "ecdsa", "-b", "521"),
         "rsa": ("-t", "rsa", "-b", "2048")}
QUIET = {"SSH_ASKPASS_REQUIRE": "never"}
BOX = """@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
Permissions 0644 for 'open' are too open.
It is required that your private key files are NOT accessible by others.
This private key will be ignored.
"""


def start(program, agent, *args, data="", cwd=None, env=None, seconds=60):
    """Without a terminal: answers come on standard input."""
    full = {**os.environ, **QUIET, **(agent.env if agent else {}), **(env or {})}
    return subprocess.run([str(program), *map(str, args)], input=data, capture_output=True, text=True, timeout=seconds,
                          cwd=cwd, env=full, start_new_session=True, errors="surrogateescape")


@pytest.fixture
def only_ours(ours):
    """Where OpenSSH 9.2 has other words, or no words."""
    if not ours.is_bowline:
        pytest.skip("speaks of our programs")


@pytest.fixture(scope="module")
def their_add(theirs):
    return theirs.beside("ssh-add")


@pytest.fixture
def keys(tmp_path, theirs):
    """Made by the installed ssh-keygen."""
    def make(name, *args, phrase="", comment=None):
        subprocess.run([theirs.keygen, "-q", "-a", "1", *args, "-N", phrase, "-C", comment or f"c {name}", "-f", tmp_path / name],
                       check=True, timeout=60)
        return name
    make.folder = tmp_path
    return make


@pytest.fixture
def agent(tmp_path):
    with agents.openssh(tmp_path) as running:
        yield running


@pytest.fixture
def add(ours, agent, tmp_path):
    return lambda *args, **more: start(ours.add, agent, *args, cwd=tmp_path, **more)


def test_every_type_goes_in_is_shown_and_goes_out(add, agent, keys, their_add, tmp_path):
    for name, args in TYPES.items():
        keys(name, *args)
        done = add(name)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", f"Identity added: {name} (c {name})\n")
    for flags in (["-l"], ["-L"], ["-l", "-E", "md5"]):
        mine, other = add(*flags), start(their_add, agent, *flags)
        assert mine.returncode == 0 and mine.stdout == other.stdout and mine.stderr == ""
    done = add("-T", *(f"{name}.pub" for name in TYPES))
    assert (done.returncode, done.stderr) == (0, "")
    shown = {"ed25519": "ED25519", "rsa": "RSA"}
    for name in TYPES:
        done = add("-d", f"{name}.pub")
        kind = shown.get(name, "ECDSA")
        assert (done.returncode, done.stderr) == (0, f"Identity removed: {name}.pub {kind} (c {name})\n")
        assert add("-T", f"{name}.pub").returncode == 1
    done = add("-l")
    assert (done.returncode, done.stdout, done.stderr) == (1, "The agent has no identities.\n", "")


def test_exit_states_and_words_without_an_agent(ours, tmp_path):
    done = start(ours.add, None, "-l", env={"SSH_AUTH_SOCK": ""})
    assert (done.returncode, done.stderr) == (2, "Could not open a connection to your authentication agent.\n")
    done = start(ours.add, None, "-l", env={"SSH_AUTH_SOCK": str(tmp_path / "none")})
    assert (done.returncode, done.stderr) == (2, "Error connecting to agent: No such file or directory\n")


@pytest.mark.parametrize("args,status,words", (
    (("-E", "crc", "-l"), 255, 'Invalid hash algorithm "crc"'), (("-t", "1x"), 1, "Invalid lifetime"),
    (("-l", "-l"), 255, "-l flag already specified"), (("-l", "-D"), 255, "Invalid combination of actions"),
    (("-T",), 255, "no keys to test"), (("-t",), 1, "option requires an argument -- t"), (("-Z",), 1, "unknown option -- Z"),
    (("--wrong",), 1, "unknown option -- --wrong"), (("-s", "/x"), 1, "ssh-add: -s is not built yet (PKCS#11 keys)"),
    (("-K",), 1, "ssh-add: -K is not built yet (keys inside a FIDO device)"), (("absent",), 1, "absent: No such file or directory"),
    (("-h", "nowhere.example", "-H", "/dev/null", "x"), 255, 'No host keys found for destination "nowhere.example"')))
def test_what_is_refused(add, ours, args, status, words):
    if not ours.is_bowline and ("not built" in words or "option" in words):
        pytest.skip("speaks of our programs")
    done = add(*args)
    assert done.returncode == status and done.stdout == ""
    assert done.stderr.splitlines()[-1] == words


def test_a_passphrase_is_asked_for_until_it_is_right_or_empty(add, keys, tmp_path):
    keys("a", "-t", "ed25519", phrase="secret")
    done = add("a", data="wrong\nworse\nsecret\n")
    assert done.returncode == 0
    assert done.stderr == ("Enter passphrase for a: Bad passphrase, try again for a: Bad passphrase, try again for a: "
                           "Identity added: a (c a)\n")
    done = add("-c", "a", data="\n")
    assert (done.returncode, done.stderr) == (1, "Enter passphrase for a (will confirm each use): ")


def test_the_last_passphrase_is_tried_for_the_next_file(add, keys):
    for name in "ab":
        keys(name, "-t", "ed25519", phrase="secret")
    keys("c", "-t", "ed25519", phrase="other")
    done = add("a", "b", "c", data="secret\nother\n")
    assert done.returncode == 0
    assert done.stderr == ("Enter passphrase for a: Identity added: a (c a)\nIdentity added: b (c b)\n"
                           "Enter passphrase for c: Identity added: c (c c)\n")


def test_askpass_answers(add, keys, tmp_path):
    keys("a", "-t", "ed25519", phrase="secret")
    helper = tmp_path / "askpass"
    helper.write_text(f'#!/bin/sh\necho "$1" >>{tmp_path}/asked\necho secret\n')
    helper.chmod(0o755)
    done = add("a", env={"SSH_ASKPASS": str(helper), "SSH_ASKPASS_REQUIRE": "force"})
    assert done.returncode == 0 and (tmp_path / "asked").read_text() == "Enter passphrase for a: \n"


@pytest.mark.usefixtures("only_ours")
def test_files_that_are_no_keys_and_files_that_are_open(add, keys, tmp_path):
    keys("open", "-t", "ed25519")
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "junk").write_text("junk\n")
    (tmp_path / "junk").chmod(0o600)
    done = add("open")
    assert (done.returncode, done.stderr) == (1, BOX)
    done = add("junk")
    assert (done.returncode, done.stderr) == (1, 'Error loading key "junk": invalid format\n')
    done = add("-", data=(tmp_path / "open").read_text())       # no rule for a pipe
    assert (done.returncode, done.stderr) == (0, "Identity added: (stdin) (c open)\n")


def test_keys_are_removed_by_a_list(add, keys, tmp_path):
    names = [keys(n, "-t", "ed25519") for n in "abc"]
    assert add("-q", *names).returncode == 0
    lines = "# a comment\n\n  " + (tmp_path / "a.pub").read_text() + "broken\n" + (tmp_path / "b.pub").read_text()
    done = add("-d", "-", data=lines)
    assert done.returncode == 0
    assert done.stderr == ("Identity removed: (stdin) ED25519 (c a)\n(stdin):4: invalid key: invalid format\n"
                           "Identity removed: (stdin) ED25519 (c b)\n")
    assert [line.split()[-2] for line in add("-l").stdout.splitlines()] == ["c"]
    assert add("-D").stderr == "All identities removed.\n"
    assert add("-q", "-D").stderr == ""
    done = add("-d", "a.pub")
    assert (done.returncode, done.stderr) == (1, 'Could not remove identity "a.pub": agent refused operation\n')


def certify(theirs, folder, name, *more):
    subprocess.run([theirs.keygen, "-q", "-s", "ca", "-I", "the id", "-n", "me", *more, f"{name}.pub"], cwd=folder,
                   check=True, timeout=60)


@pytest.mark.usefixtures("only_ours")
def test_certificates_come_along_and_end(add, keys, theirs, their_add, agent, tmp_path):
    keys("ca", "-t", "ed25519")
    for name, args in TYPES.items():
        keys(name, *args)
        certify(theirs, tmp_path, name, "-V", "-1h:+1h")
        done = add(name)
        assert done.returncode == 0
        match = re.fullmatch(rf"Identity added: {name} \(c {name}\)\nCertificate added: {name}-cert.pub \(the id\)\n"
                             r"Lifetime set to (\d+) seconds\n", done.stderr)
        assert match and 3600 <= int(match[1]) <= 3600 + 300 + 60
    assert add("-L").stdout == start(their_add, agent, "-L").stdout
    assert add("-l").stdout == start(their_add, agent, "-l").stdout
    assert add("-T", *(f"{name}-cert.pub" for name in TYPES)).returncode == 0
    assert add("-d", "-k", "rsa").stderr == "Identity removed: rsa RSA (c rsa)\n"
    assert add("-d", "-C", "ed25519").stderr == "Identity removed: ed25519-cert.pub ED25519-CERT (c ed25519)\n"
    assert add("-d", "ecdsa-256").stderr == ("Identity removed: ecdsa-256 ECDSA (c ecdsa-256)\n"
                                             "Identity removed: ecdsa-256-cert.pub ECDSA-CERT (c ecdsa-256)\n")
    assert add("-q", "-D").returncode == 0
    assert add("-k", "rsa").stderr == "Identity added: rsa (c rsa)\n"
    done = add("-C", "-N", "ed25519")
    assert (done.returncode, done.stderr) == (0, "Certificate added: ed25519-cert.pub (the id)\n")
    certify(theirs, tmp_path, "ed25519", "-V", "-2h:-1h")
    done = add("-C", "ed25519")
    assert (done.returncode, done.stderr) == (1, "Certificate ed25519-cert.pub has expired: not added (-N adds it)\n")
    assert add("-C", "-N", "ed25519").returncode == 0
    shutil.copy(tmp_path / "rsa-cert.pub", tmp_path / "ed25519-cert.pub")
    assert "Certificate ed25519-cert.pub does not match private key ed25519\n" in add("ed25519").stderr


def test_limits_hold(add, keys, tmp_path):
    keys("a", "-t", "ed25519")
    done = add("-t", "1", "a")
    assert done.stderr == "Identity added: a (c a)\nLifetime set to 1 seconds\n"
    assert add("-l").returncode == 0
    time.sleep(2.5)
    assert add("-l").returncode == 1


@pytest.mark.parametrize("answer", ("yes", "no"))
def test_uses_are_confirmed(ours, keys, tmp_path, answer):
    keys("a", "-t", "ed25519")
    helper = tmp_path / "askpass"
    helper.write_text(f"#!/bin/sh\necho {answer}\n")
    helper.chmod(0o755)
    with agents.openssh(tmp_path, env={"SSH_ASKPASS": str(helper), "DISPLAY": ":99", "SSH_ASKPASS_REQUIRE": "force"}) as running:
        done = start(ours.add, running, "-c", "a", cwd=tmp_path)
        assert done.stderr == "Identity added: a (c a)\nThe user must confirm each use of the key\n"
        assert start(ours.add, running, "-T", "a.pub", cwd=tmp_path).returncode == (0 if answer == "yes" else 1)


def test_lock_and_unlock(add, keys):
    keys("a", "-t", "ed25519")
    assert add("-q", "a").returncode == 0
    done = add("-x", data="one\ntwo\n")
    assert (done.returncode, done.stderr) == (1, "Enter lock password: Again: Passwords do not match.\n")
    done = add("-x", data="one\none\n")
    assert (done.returncode, done.stderr) == (0, "Enter lock password: Again: Agent locked.\n")
    assert add("-l").stdout == "The agent has no identities.\n"
    done = add("-X", data="two\n")
    assert (done.returncode, done.stderr) == (1, "Enter lock password: Failed to unlock agent: agent refused operation\n")
    done = add("-X", data="one\n")
    assert (done.returncode, done.stderr) == (0, "Enter lock password: Agent unlocked.\n")
    assert add("-l").returncode == 0


@pytest.fixture(scope="module")
def server(world, theirs):
    with Sshd(world, theirs).start() as running:
        yield running


def login(program, server, env, *options):
    known = known_hosts(server, server.dir / "known")
    return subprocess.run([program, "-F", "none", "-p", str(server.port), "-o", f"UserKnownHostsFile={known}",
                           "-o", "BatchMode=yes", "-o", "PreferredAuthentications=publickey", *options,
                           f"{server.user}@{server.host}", "echo in"], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, env={**os.environ, **env})


def allow(server, line):
    with open(server.dir / "authorized_keys", "a", encoding="ascii") as f:
        f.write(line.strip() + "\n")


@pytest.mark.usefixtures("only_ours")
def test_a_key_for_one_destination(add, agent, keys, server, theirs, tmp_path):
    """The installed ssh tells the agent where it connects to; the agent compares with what we sent."""
    keys("a", "-t", "ed25519")
    allow(server, (tmp_path / "a.pub").read_text())
    keys("other", "-t", "ed25519")
    known = known_hosts(server, tmp_path / "known")
    host = f"[{server.host}]:{server.port}"
    with open(known, "a", encoding="ascii") as f:
        f.write("other.example " + " ".join((tmp_path / "other.pub").read_text().split()[:2]) + "\n")
    assert add("-q", "-H", known, "-h", f"{server.user}@{host}", "a").returncode == 0
    assert login(theirs.ssh, server, agent.env).stdout == "in\n"
    add("-q", "-D")
    assert add("-q", "-H", known, "-h", f"someone@{host}", "a").returncode == 0
    assert login(theirs.ssh, server, agent.env).returncode == 255
    add("-q", "-D")
    assert add("-q", "-H", known, "-h", f"{host}>other.example", "-h", "other.example", "a").returncode == 0
    assert login(theirs.ssh, server, agent.env).returncode == 255
    done = add("-H", known, "-h", f"me@{host}>other.example", "a")
    assert done.returncode == 255 and "cannot specify user on 'from' host" in done.stderr
    with open(known, "a", encoding="ascii") as f:       # a revoked key is no way in
        f.write("@revoked * " + " ".join((tmp_path / "other.pub").read_text().split()[:2]) + "\n")
    assert add("-H", known, "-h", "other.example", "a").returncode == 255


# ---- agents of others ---------------------------------------------------------------------------------

def test_gpg_agent(ours, server, tmp_path):
    found = agents.gpg(tmp_path)
    if found is None:
        pytest.skip("GnuPG is not installed")
    home, env, line = found
    sock = subprocess.run(["gpgconf", "--list-dirs", "agent-ssh-socket"], capture_output=True, text=True, env=env,
                          check=True).stdout.strip()
    try:
        subprocess.run(["gpg-connect-agent", "/bye"], env=env, check=True, capture_output=True, timeout=30)
        where = {"SSH_AUTH_SOCK": sock}
        done = start(ours.add, None, "-L", env=where)
        assert done.returncode == 0 and done.stdout.split()[:2] == line.split()[:2]
        public = tmp_path / "gpg.pub"
        public.write_text(line + "\n")
        assert start(ours.add, None, "-T", public, env=where).returncode == 0
        allow(server, line)
        assert login(ours.ssh, server, where).stdout == "in\n"
    finally:
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=env, check=False, capture_output=True, timeout=30)


def test_pageant(ours, keys, server, tmp_path):
    if not shutil.which("pageant") or not shutil.which("puttygen"):
        pytest.skip("PuTTY's pageant is not installed")
    keys("a", "-t", "ed25519")
    keys("b", "-t", "rsa", "-b", "2048")
    subprocess.run(["puttygen", tmp_path / "a", "-O", "private", "-o", tmp_path / "a.ppk"], check=True, timeout=60)
    allow(server, (tmp_path / "a.pub").read_text())
    known = known_hosts(server, tmp_path / "known")
    script = tmp_path / "script"
    script.write_text(f"""#!/bin/sh -e
{ours.add} -L
{ours.add} -T {tmp_path}/a.pub
{ours.add} {tmp_path}/b
{ours.add} -T {tmp_path}/b.pub
{ours.add} -d {tmp_path}/b.pub
{ours.ssh} -F none -p {server.port} -o UserKnownHostsFile={known} -o BatchMode=yes {server.user}@{server.host} echo in
{ours.add} -D
{ours.add} -l || echo empty $?
""")
    script.chmod(0o755)
    env = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(["pageant", tmp_path / "a.ppk", "--exec", script], capture_output=True, text=True, timeout=60, env=env,
                          stdin=subprocess.DEVNULL)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0].split()[:2] == (tmp_path / "a.pub").read_text().split()[:2]
    assert lines[1:] == ["in", "The agent has no identities.", "empty 1"]


# ---- agents that misbehave ------------------------------------------------------------------------------

LIST = 12
NOISE = agents.string(b"ssh-new@example" * 3)
BAD = {"nothing": b"", "short": b"\0\0", "zero": struct.pack(">I", 0), "huge": struct.pack(">I", 0xffffffff) + b"\x0c",
       "above": struct.pack(">I", (256 << 10) + 1) + b"\x0c", "cut": struct.pack(">I", 400) + b"\x0c\0\0",
       "wrong": agents.frame(14, b"\0\0\0\0"), "unknown": agents.frame(99), "count": agents.frame(LIST, struct.pack(">I", 2 ** 31)),
       "more": agents.frame(LIST, struct.pack(">I", 2) + NOISE * 2), "trailing": agents.frame(LIST, struct.pack(">I", 0) + b"x"),
       "success": agents.frame(6), "refused": agents.frame(5)}


@pytest.mark.usefixtures("only_ours")
@pytest.mark.parametrize("flags", (("-l",), ("-L",), ("-D",), ("-Q",)), ids=lambda f: f[0])
@pytest.mark.parametrize("kind", BAD)
def test_answers_that_are_none(ours, tmp_path, kind, flags):
    with agents.Fake(tmp_path, [BAD[kind]]) as fake:
        done = start(ours.add, fake, *flags, seconds=20)
    good = kind == "success" and flags == ("-D",)
    assert done.returncode == (0 if good else 1)
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1


@pytest.mark.usefixtures("only_ours")
def test_a_list_of_everything(ours, theirs, tmp_path, keys):
    """Unknown types, certificates, comments with newlines and bad UTF-8: the stream stays in step."""
    keys("a", "-t", "ed25519")
    blob = b64decode((tmp_path / "a.pub").read_text().split()[1])
    entries = [(agents.string(b"ssh-new@example") + b"xyz", b"new"), (blob, b"line\nfeed \x1b[31m"), (b"", b""),
               (blob[:-1], b"cut"), (blob, b"bad \xff\xfe utf"), (blob, "gr\u00fcn".encode())]
    body = struct.pack(">I", len(entries)) + b"".join(agents.string(b) + agents.string(c) for b, c in entries)
    for flag in ("-l", "-L"):
        with agents.Fake(tmp_path, [agents.frame(LIST, body)]) as fake:
            done = start(ours.add, fake, flag)
        fake.path.unlink()
        lines = done.stdout.splitlines()
        assert done.returncode == 0 and len(lines) == 3, done.stderr
        assert "line\\012feed \\033[31m" in lines[0] and "bad \\377\\376 utf" in lines[1] and "gr\u00fcn" in lines[2]
        assert len(done.stderr.splitlines()) == 3 and "ssh-new@example (new)" in done.stderr


def test_a_thousand_keys_are_listed_quickly(ours, tmp_path, keys):
    """The agent's answer is ready: what is measured is ours.  Several kinds, as people have them."""
    blobs = [b64decode((tmp_path / (keys(n, *TYPES[n]) + ".pub")).read_text().split()[1]) for n in TYPES]
    body = struct.pack(">I", 1000) + b"".join(agents.string(blobs[i % 4]) + agents.string(b"key %d" % i) for i in range(1000))
    best = 1.0
    for _ in range(5):
        with agents.Fake(tmp_path, [agents.frame(LIST, body)]) as fake:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = start(ours.add, fake, "-l")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        fake.path.unlink()
        assert len(done.stdout.splitlines()) == 1000
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    print(f"ssh-add -l with 1,000 keys: {best * 1000:.0f} ms of CPU", file=sys.stderr)
    if ours.name == "bowline":
        assert best < 0.05


def fido_file(path):
    """The private file of a FIDO key holds no secret: the device has it.  Written as PROTOCOL.key says."""
    public = os.urandom(32)
    blob = agents.string(b"sk-ssh-ed25519@openssh.com") + agents.string(public) + agents.string(b"ssh:")
    secret = (b"\1\2\3\4" * 2 + blob + b"\1" + agents.string(b"a handle") + agents.string(b"") + agents.string(b"a token"))
    secret += bytes(range(1, 9))[:-len(secret) % 8]
    body = (b"openssh-key-v1\0" + agents.string(b"none") * 2 + agents.string(b"") + struct.pack(">I", 1) + agents.string(blob)
            + agents.string(secret))
    path.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n" + b64encode(body).decode() + "\n-----END OPENSSH PRIVATE KEY-----\n")
    path.chmod(0o600)


def test_fido_keys_are_given_to_agents_that_have_devices(add, agent, their_add, tmp_path):
    fido_file(tmp_path / "sk")
    done = add("sk")
    assert (done.returncode, done.stderr) == (0, "Identity added: sk (a token)\n")
    mine, other = add("-l"), start(their_add, agent, "-l")
    assert mine.stdout == other.stdout and "(ED25519-SK)" in mine.stdout
    assert add("-d", "sk").stderr.startswith("Identity removed: sk ED25519-SK (")
    done = add("sk", env={"SSH_SK_PROVIDER": "/absent.so"})       # it went along, and the agent said no
    assert (done.returncode, done.stderr) == (1, 'Could not add identity "sk": agent refused operation\n')

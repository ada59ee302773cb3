# SPDX-License-Identifier: ISC
"""AuthorizedKeysCommand and AuthorizedPrincipalsCommand: what they are given, what of their answers counts, and
programs that must not be run or not be believed.  Where OpenSSH's sshd does the same, it is asked too."""
import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness import server as servers
from harness import world as ground
from harness.server import Sshd

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program that sshd trusts")
RUNNER = "nobody"
# what a program keeps for its title is no leak, when it ends at once
KEEPS_WORDS = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


@pytest.fixture
def safe():
    """A directory that is root's, all the way up."""
    path = Path(tempfile.mkdtemp(prefix="bowline-commands-", dir="/run"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def sshd(world, ours):
    started = []

    def start(*options, programs=ours, authorized=None, grace=None):
        server = Sshd(world, programs, options)
        (server.dir / "authorized_keys").write_text(authorized or "")
        started.append(server.start(*(["-o", f"LoginGraceTime={grace}"] if grace else [])))
        return server
    yield start
    for server in started:
        server.stop()


@pytest.fixture(params=["ours", "theirs"])
def side(request, ours, theirs):
    return {"ours": ours, "theirs": theirs}[request.param]


def program(safe, text, mode=0o755):
    path = safe / "command"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(mode)
    return path


def keys_command(command, user=RUNNER):
    return f"AuthorizedKeysCommand {command}", f"AuthorizedKeysCommandUser {user}"


def client(programs, server, *words, key=None, user=None):
    known = servers.known_hosts(server, ground.scratch("login") / "known_hosts")
    line = [programs.ssh, "-F", "none", "-p", str(server.port), "-l", user or server.user,
            "-i", str(key or server.world.keys.path("ed25519"))]
    for option in ("IdentitiesOnly=yes", f"UserKnownHostsFile={known}", "GlobalKnownHostsFile=none", "BatchMode=yes",
                   "PreferredAuthentications=publickey"):
        line += ["-o", option]
    return [*line, server.host, *(words or ("echo in",))]


def login(programs, server, *words, **more):
    """What the session printed, or None where there was none."""
    env = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
    done = subprocess.run(client(programs, server, *words, **more), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, env=env)
    return done.stdout if done.returncode == 0 else None


def public(world, kind="ed25519"):
    return " ".join(world.keys.public(kind).split()[:2])


def running(safe):
    """Processes of what stands in the directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(safe).encode() in path.read_bytes():
                found.append(path)
        except OSError:
            pass
    return found


# -- what it is given

def test_it_gets_what_the_tokens_stand_for(sshd, ours, theirs, side, safe, world):
    out = safe / "out"
    out.mkdir(mode=0o777)
    out.chmod(0o777)
    command = program(safe, f'printf "%s\\n" "$@" >{out}/args\nenv >{out}/env\nid -G >{out}/groups\nid -un >{out}/who\n'
                            f'ls /proc/self/fd >{out}/fds\npwd >{out}/cwd\necho "{public(world)}"\n')
    ends = '"%C" x%D' if side.name != "openssh" else "'127.0.0.1 1 127.0.0.1 %%' x"     # newer than 9.2
    server = sshd(*keys_command(f"{command} %u %U %h '%t and %k' %f %% {ends}"), programs=side)
    assert login(ours, server) == "in\n", server.log()
    who = pwd.getpwnam(server.user)
    kind, blob = public(world).split()
    *args, ends, domain = (out / "args").read_text().splitlines()
    fingerprint = subprocess.run([theirs.keygen, "-lf", world.keys.path("ed25519")], capture_output=True,
                                 text=True).stdout.split()[1]
    assert args == [who.pw_name, str(who.pw_uid), who.pw_dir, f"{kind} and {blob}", fingerprint, "%"]
    assert domain == "x"
    remote, rport, local, lport = ends.split()
    assert (remote, local) == ("127.0.0.1", "127.0.0.1") and rport.isdigit()
    assert lport == ("%" if side.name == "openssh" else str(server.port))
    runner = pwd.getpwnam(RUNNER)
    env = dict(line.split("=", 1) for line in (out / "env").read_text().splitlines())
    for made_by_the_shell in ("PWD", "SHLVL", "_", "OLDPWD"):
        env.pop(made_by_the_shell, None)
    assert env.pop("LANG", None) == os.environ.get("LANG")
    assert env == {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/games", "USER": RUNNER, "LOGNAME": RUNNER, "HOME": runner.pw_dir}
    assert (out / "who").read_text() == RUNNER + "\n"
    assert (out / "groups").read_text().split() == [str(g) for g in os.getgrouplist(RUNNER, runner.pw_gid)]
    assert (out / "fds").read_text().split() == ["0", "1", "2", "3"]        # the last is of ls itself


def test_without_arguments_it_gets_the_name(sshd, ours, side, safe, world):
    command = program(safe, f'[ "$*" = "{world.account.user}" ] && echo "{public(world)}"\n')
    assert login(ours, sshd(*keys_command(command), programs=side)) == "in\n"


def test_the_runner_may_be_the_user(sshd, ours, side, safe, world):
    command = program(safe, f'[ "$(id -un)" = "{world.account.user}" ] && echo "{public(world)}"\n')
    assert login(ours, sshd(*keys_command(command, "%u"), programs=side)) == "in\n"


def test_it_is_told_of_a_certificate(sshd, ours, side, safe, theirs, world):
    folder = ground.scratch("cert")
    for name in ("ca", "key"):
        subprocess.run([theirs.keygen, "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    subprocess.run([theirs.keygen, "-q", "-s", folder / "ca", "-I", "who", "-n", world.account.user,
                    folder / "key.pub"], check=True)
    ca, cert = (folder / "ca.pub").read_text(), (folder / "key-cert.pub").read_text().split()
    command = program(safe, f'[ "$1 $2" = "{cert[0]} {cert[1]}" ] && echo "cert-authority {ca}"\n')
    assert login(ours, sshd(*keys_command(f"{command} %t %k"), programs=side), key=folder / "key") == "in\n"


# -- what counts of its answer

ANSWERS = {  # what it prints ({key}: the right one, {other}: another), what the session then prints (None: nobody is in)
    "the key": ("{key}", "in\n"),
    "another": ("{other}", None),
    "nothing": ("", None),
    "rubbish": ("\\001\\377 not a key\\n\\n# {key}\\n ssh-ed25519", None),
    "the key behind rubbish": ("# x\\nwrong line\\n{other}\\n{key}", "in\n"),
    "a command": ('command=\\"echo forced\\" {key}', "forced\n"),
    "from here": ('from=\\"127.0.0.0/8\\" {key}', "in\n"),
    "from elsewhere": ('from=\\"192.0.2.0/24\\" {key}', None),
    "an unknown option": ("made-up {key}", None),
    "over": ('expiry-time=\\"20200101\\" {key}', None),
    "an authority": ("cert-authority {key}", None),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_its_lines_are_those_of_authorized_keys(sshd, ours, side, safe, world, case):
    text, expected = ANSWERS[case]
    text = text.format(key=public(world), other=public(world, "ecdsa-256"))
    command = program(safe, f'printf "{text}\\n"\n')
    server = sshd(*keys_command(command), programs=side)
    assert login(ours, server) == expected, server.log()
    if expected:
        assert f"found at {command}:" in server.log() or side.name == "openssh"


def test_the_files_come_first(sshd, ours, side, safe, world):
    ran = safe / "ran"
    ran.touch()
    ran.chmod(0o666)
    command = program(safe, f'echo x >>{ran}\necho "{public(world)}"\n')
    server = sshd(*keys_command(command), programs=side, authorized=public(world) + "\n")
    assert login(ours, server) == "in\n"
    assert ran.read_text() == ""
    server = sshd(*keys_command(command), programs=side, authorized=public(world, "ecdsa-256") + "\n")
    assert login(ours, server) == "in\n"
    assert ran.read_text() != ""


def test_nobody_asks_it_about_an_unknown_user(sshd, ours, side, safe, world):
    ran = safe / "ran"
    ran.touch()
    ran.chmod(0o666)
    command = program(safe, f'echo x >>{ran}\necho "{public(world)}"\n')
    assert login(ours, sshd(*keys_command(command), programs=side), user="no-such-user-here") is None
    assert ran.read_text() == ""


def test_it_may_be_for_some_users_only(sshd, ours, side, safe, world):
    command = program(safe, f'echo "{public(world)}"\n')
    for user, expected in ((world.account.user, "in\n"), ("somebody-else", None)):
        server = sshd(f"Match User {user}", *keys_command(command), programs=side)
        assert login(ours, server) == expected


# -- programs that are not run

def unsafe(safe, how, text):
    """A program that only its place or owner speaks against."""
    if how == "in a directory of all":
        (safe / "open").mkdir()
        path = program(safe / "open", text)
        (safe / "open").chmod(0o777)
        return path
    if how == "a link to one of all":
        (safe / "open").mkdir()
        path = program(safe / "open", text)
        (safe / "open").chmod(0o777)
        (safe / "link").symlink_to(path)
        return safe / "link"
    if how.startswith("a link in a directory"):
        target = program(safe, text)
        (safe / "open").mkdir()
        (safe / "open").chmod(0o777)
        (safe / "open" / "link").symlink_to("../" + target.name)
        if how.endswith("behind another"):
            (safe / "link").symlink_to("open/link")
            return safe / "link"
        return safe / "open" / "link"
    path = program(safe, text)
    if how == "of another owner":
        os.chown(path, pwd.getpwnam(RUNNER).pw_uid, -1)
    elif how == "writable by the group":
        path.chmod(0o775)
    elif how == "writable by all":
        path.chmod(0o757)
    elif how == "absent":
        path.unlink()
    elif how == "a directory":
        path.unlink()
        path.mkdir()
    elif how == "not executable":
        path.chmod(0o644)
    elif how == "no program":
        path.write_text("")
    return path


NOT_RUN = {
    "in a directory of all": 'Unsafe AuthorizedKeysCommand "{path}": bad ownership or modes for directory',
    "a link to one of all": 'Unsafe AuthorizedKeysCommand "{path}": bad ownership or modes for directory',
    "a link in a directory of all": 'Unsafe AuthorizedKeysCommand "{path}": bad ownership or modes for directory',
    "a link in a directory of all, behind another":
        'Unsafe AuthorizedKeysCommand "{path}": bad ownership or modes for directory',
    "of another owner": 'Unsafe AuthorizedKeysCommand "{path}": bad ownership or modes for file {path}',
    "writable by the group": 'Unsafe AuthorizedKeysCommand "{path}": bad ownership or modes for file {path}',
    "writable by all": 'Unsafe AuthorizedKeysCommand "{path}": bad ownership or modes for file {path}',
    "absent": 'Could not stat AuthorizedKeysCommand "{path}": No such file or directory',
    "a directory": 'Unsafe AuthorizedKeysCommand "{path}": {path} is not a regular file',
    "not executable": 'AuthorizedKeysCommand execve "{path} {user}": Permission denied',
    "no program": 'AuthorizedKeysCommand execve "{path} {user}": Exec format error',
}


@pytest.mark.parametrize("how", NOT_RUN)
def test_a_program_that_is_not_safe_is_not_run(sshd, ours, side, safe, world, how):
    path = unsafe(safe, how, f'echo "{public(world)}"\n')
    server = sshd(*keys_command(path), programs=side)
    if side.name == "openssh" and (how == "writable by the group" or how.startswith("a link in a directory")):
        # Debian's bears a group with the owner's name; real paths are all that it looks at
        assert login(ours, server) == "in\n"
        return
    assert login(ours, server) is None
    assert NOT_RUN[how].format(path=path, user=server.user) in server.log(), server.log()
    if how in ("of another owner", "writable by all"):      # and it was the only thing that spoke against it
        os.chown(path, 0, 0)
        path.chmod(0o755)
        assert login(ours, server) == "in\n"


def test_links_of_root_are_fine(sshd, ours, side, safe, world):
    path = program(safe, f'echo "{public(world)}"\n')
    (safe / "one").symlink_to(path)
    (safe / "dir").mkdir()
    (safe / "dir" / "two").symlink_to("../one")
    for link in ("one", "dir/two", "dir/../dir/two"):
        assert login(ours, sshd(*keys_command(safe / link), programs=side)) == "in\n"


def test_the_runner_must_be_there(sshd, ours, side, safe, world):
    command = program(safe, f'echo "{public(world)}"\n')
    server = sshd(*keys_command(command, "no-such-user-here"), programs=side)
    assert login(ours, server) is None
    assert 'AuthorizedKeysCommandUser "no-such-user-here" not found' in server.log()


def test_nobody_is_no_runner(sshd, ours, safe, world):
    server = sshd(*keys_command(program(safe, f'echo "{public(world)}"\n'), "none"))
    assert login(ours, server) is None
    assert "No user for AuthorizedKeysCommand specified, skipping" in server.log()


def test_a_token_that_is_not_known_runs_nothing(sshd, ours, safe, world):
    for words in ("%z", "%", "%i", "'open"):
        command = program(safe, f'echo "{public(world)}"\n')
        server = sshd(*keys_command(f"{command} {words}"))
        assert login(ours, server) is None
        assert f'AuthorizedKeysCommand "{command} {words}" cannot be run' in server.log()


REFUSED = {
    "AuthorizedKeysCommand bin/x\nAuthorizedKeysCommandUser nobody": "AuthorizedKeysCommand must be an absolute path",
    "AuthorizedKeysCommand /bin/x": "AuthorizedKeysCommand set without AuthorizedKeysCommandUser",
    "AuthorizedPrincipalsCommand x\nAuthorizedPrincipalsCommandUser nobody":
        "AuthorizedPrincipalsCommand must be an absolute path",
    "AuthorizedPrincipalsCommand /bin/x": "AuthorizedPrincipalsCommand set without AuthorizedPrincipalsCommandUser",
}


@pytest.mark.parametrize("lines", REFUSED)
def test_a_configuration_that_cannot_be_meant_is_refused(side, world, lines):
    server = Sshd(world, side, lines.splitlines())
    done = subprocess.run([side.sshd, "-t", "-f", server.config], capture_output=True, text=True,
                          env=KEEPS_WORDS)
    assert done.returncode == 255 and REFUSED[lines] in done.stderr


def test_none_is_none(sshd, ours, side, world):
    server = sshd("AuthorizedKeysCommand none", "AuthorizedPrincipalsCommand none", programs=side,
                  authorized=public(world) + "\n")
    assert login(ours, server) == "in\n"
    dump = subprocess.run([side.sshd, "-T", "-f", server.config], capture_output=True, text=True,
                          env=KEEPS_WORDS).stdout.lower()
    for line in ("authorizedkeyscommand none", "authorizedprincipalscommanduser none"):
        assert line in dump.splitlines()


# -- programs that are not believed, and that do no harm

@pytest.mark.parametrize("end, says", [("exit 1", "failed, status 1"), ("exit 127", "failed, status 127"),
                                       ("kill -9 $$", "exited on signal 9"), ("kill -13 $$", "exited on signal 13")])
def test_only_a_good_end_is_believed(sshd, ours, side, safe, world, end, says):
    command = program(safe, f'echo "{public(world)}"\n{end}\n')
    server = sshd(*keys_command(command), programs=side)
    assert login(ours, server) is None
    assert f"AuthorizedKeysCommand {command} {server.user} {says}" in server.log(), server.log()


@pytest.mark.parametrize("text", ['yes "# a line that does not matter" | head -n 200000; echo "{key}"',
                                  'echo "{key}"; yes "# a line that does not matter" | head -n 200000',
                                  'exec 2>&-; echo "{key}"; exec >&-; sleep 1',
                                  'exec <&-; echo no >&2; echo "{key}"',
                                  'yes | head -n 1000000; echo "{key}"'])
def test_much_and_early_is_no_matter(sshd, ours, side, safe, world, text):
    server = sshd(*keys_command(program(safe, text.format(key=public(world)) + "\n")), programs=side)
    assert login(ours, server) == "in\n", server.log()


def test_output_without_end_ends(sshd, ours, safe, world):
    command = program(safe, f'echo "{public(world)}"\nyes "# {command_mark(safe)}"\n')
    server = sshd(*keys_command(command))
    began = time.monotonic()
    assert login(ours, server) is None
    assert time.monotonic() - began < 30
    assert f"AuthorizedKeysCommand {command} {server.user} printed too much" in server.log()
    assert ground.wait_until(lambda: not running(safe))


def command_mark(safe):
    """So that what the program starts is found, too."""
    return f"{safe}/mark"


def test_the_time_to_log_in_holds_for_it_too(sshd, ours, safe, world):
    command = program(safe, f'echo "{public(world)}"\nsh -c "sleep 60; : {command_mark(safe)}"\nexit 0\n')
    server = sshd(*keys_command(command), grace=2)
    began = time.monotonic()
    assert login(ours, server) is None
    assert time.monotonic() - began < 20
    assert "took too long and was ended" in server.log()
    assert ground.wait_until(lambda: not running(safe))
    assert ground.wait_until(lambda: "Timeout before authentication" in server.log())


def test_it_ends_when_the_client_has_gone(sshd, ours, safe, world):
    command = program(safe, f'sh -c "sleep 60; : {command_mark(safe)}"\necho "{public(world)}"\n')
    server = sshd(*keys_command(command))
    with subprocess.Popen(client(ours, server), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        assert ground.wait_until(lambda: running(safe))
        process.kill()
    assert ground.wait_until(lambda: not running(safe), 5), server.log()


def test_sshd_ends_while_it_runs(sshd, ours, safe, world):
    command = program(safe, f'sh -c "sleep 60; : {command_mark(safe)}"\necho "{public(world)}"\n')
    server = sshd(*keys_command(command))
    with subprocess.Popen(client(ours, server), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        assert ground.wait_until(lambda: running(safe))
        parent = parent_of_program(safe)
        os.kill(parent, 15)
        assert process.wait(10) == 255
    assert ground.wait_until(lambda: not running(safe), 5), server.log()


def parent_of_program(safe):
    """The process of sshd that waits for it."""
    oldest = min(running(safe), key=lambda path: int(path.parent.name))
    return int(oldest.with_name("stat").read_text().rpartition(")")[2].split()[1])


# -- principals

@pytest.fixture
def authority(theirs, world):
    folder = ground.scratch("ca")
    for name in ("ca", "key"):
        subprocess.run([theirs.keygen, "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    subprocess.run([theirs.keygen, "-q", "-s", folder / "ca", "-I", "Anna B.", "-z", "7", "-n", "anna,berta",
                    folder / "key.pub"], check=True)
    return folder


def principals_command(authority, command, user=RUNNER):
    return (f"TrustedUserCAKeys {authority}/ca.pub", f"AuthorizedPrincipalsCommand {command}",
            f"AuthorizedPrincipalsCommandUser {user}")


PRINCIPALS = {  # what it prints, how it ends, what the session prints
    "one": ("berta", 0, "in\n"),
    "another": ("carla", 0, None),
    "nothing": ("", 0, None),
    "behind a comment": ("# carla\\n\\nanna # she", 0, "in\n"),
    "a command": ('command=\\"echo forced\\" anna', 0, "forced\n"),
    "from elsewhere": ('from=\\"192.0.2.0/24\\" anna', 0, None),
    "an unknown option": ("made-up anna", 0, None),
    "a bad end": ("anna", 1, None),
    "the user's own name": ("{user}", 0, None),
}


@pytest.mark.parametrize("case", PRINCIPALS)
def test_principals_come_from_a_command(sshd, ours, side, safe, world, authority, case):
    text, status, expected = PRINCIPALS[case]
    command = program(safe, f'printf "{text.format(user=world.account.user)}\\n"\nexit {status}\n')
    server = sshd(*principals_command(authority, command), programs=side)
    assert login(ours, server, key=authority / "key") == expected, server.log()
    if status:
        assert re.search(rf"AuthorizedPrincipalsCommand {command}.* failed, status 1", server.log()), server.log()


def test_the_command_for_principals_gets_the_certificate(sshd, ours, side, safe, world, authority, theirs):
    out = safe / "out"
    out.mkdir(mode=0o777)
    out.chmod(0o777)
    command = program(safe, f'printf "%s\\n" "$@" >{out}/args\necho anna\n')
    server = sshd(*principals_command(authority, f"{command} %u %i %s %t %T %f %F %k %K"), programs=side)
    assert login(ours, server, key=authority / "key") == "in\n", server.log()
    cert, ca = ((authority / name).read_text().split() for name in ("key-cert.pub", "ca.pub"))
    prints = [subprocess.run([theirs.keygen, "-lf", authority / name], capture_output=True, text=True).stdout.split()[1]
              for name in ("key.pub", "ca.pub")]
    assert (out / "args").read_text().splitlines() == [server.user, "Anna B.", "7", cert[0], ca[0], *prints, cert[1],
                                                       ca[1]]


def test_a_file_and_a_command_for_principals(sshd, ours, side, safe, authority):
    listed = safe / "principals"
    listed.write_text("dora\n")
    for printed, in_file, expected in (("anna", "dora", "in\n"), ("carla", "berta", "in\n"), ("carla", "dora", None)):
        listed.write_text(in_file + "\n")
        command = program(safe, f"echo {printed}\n")
        server = sshd(*principals_command(authority, command), f"AuthorizedPrincipalsFile {listed}", programs=side)
        assert login(ours, server, key=authority / "key") == expected, server.log()


def test_an_unsafe_command_for_principals_is_not_run(sshd, ours, side, safe, authority):
    command = program(safe, "echo anna\n", 0o777)
    server = sshd(*principals_command(authority, command), programs=side)
    assert login(ours, server, key=authority / "key") is None
    assert f'Unsafe AuthorizedPrincipalsCommand "{command}": bad ownership or modes' in server.log()

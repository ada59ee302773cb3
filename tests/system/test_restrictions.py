# SPDX-License-Identifier: ISC
"""What limits a login covers every way in: command, shell, subsystem, with a terminal and without."""
import grp
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness.client import Ssh, feed, feed_tty
from harness.server import Sshd
from harness.world import wait_until

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root directory")


@pytest.fixture
def client(world, ours):
    return Ssh(world, ours)


def ways(client, server):
    """{way: (status, output)} of everything a client can ask for; each tries to say MINE."""
    def go(more, remote, pty=False, stdin=b""):
        command, _, _ = client.command(server, pty=pty, debug=False)
        command = [*command[:-1], *more, command[-1], *remote]
        # a file server on a terminal meets no end of its input: two seconds of it are enough
        code, out, err = feed(command, stdin, 2 if pty and "-s" in more else 30)
        return code, out.decode(errors="replace").replace("\r\n", "\n"), err
    say = "echo M''INE; cat /proc/self/cmdline"
    return {"exec": go([], [say]), "shell": go([], [], stdin=say.encode() + b"\n"),
            "sftp": go(["-s"], ["sftp"]), "other": go(["-s"], ["other"]),
            "exec tty": go([], [say], pty=True), "shell tty": go([], [], pty=True, stdin=say.encode() + b"\nexit\n"),
            "sftp tty": go(["-s"], ["sftp"], pty=True), "other tty": go(["-s"], ["other"], pty=True)}


def server_with(world, ours, *lines):
    return Sshd(world, ours, ["Subsystem sftp internal-sftp", "Subsystem other /bin/sh -c 'echo M''INE'", *lines])


def says(server, words):
    """The log is written by another process than the one that ends the connection."""
    return wait_until(lambda: words in server.log(), 5)


def limit_key(server, options):
    key = server.world.keys.public("ed25519")
    (server.dir / "authorized_keys").write_text(f"{options} {key}\n")


SHOW = 'echo "$0 forced <$SSH_ORIGINAL_COMMAND>"'
ASKED = {"exec": "echo M''INE; cat /proc/self/cmdline", "shell": "", "sftp": "internal-sftp", "other": "/bin/sh -c 'echo M''INE'"}


def test_without_a_limit_every_way_leads_in(world, ours, client):
    """Else the tests below would prove nothing."""
    with server_with(world, ours).start() as server:
        said = ways(client, server)
    for way in ("exec", "shell", "other", "exec tty", "shell tty", "other tty"):
        assert "MINE" in said[way][1], (way, said[way])
    assert said["sftp"][0] == 0


@pytest.mark.parametrize("by", ("config", "match", "key", "config and key"))
def test_a_forced_command_stands_for_all(world, ours, client, by):
    lines = {"config": [f"ForceCommand {SHOW}"], "config and key": [f"ForceCommand {SHOW}"], "key": [],
             "match": ["ForceCommand echo MINE", f"Match User {world.account.user}", f"ForceCommand {SHOW}"]}[by]
    with server_with(world, ours, *lines).start() as server:
        if by == "config and key":
            limit_key(server, 'command="echo MINE"')
        if by == "key":
            quoted = SHOW.replace('"', '\\"')
            limit_key(server, f'command="{quoted}"')
        said = ways(client, server)
        log = server.log()
    for way, (code, out, _) in said.items():
        assert code == 0 and "MINE\n" not in out and f"forced <{ASKED[way.split()[0]]}>" in out, (way, out)
    place = "key-option" if by == "key" else "config"
    assert log.count(f"Starting session: forced-command ({place}) '{SHOW}'") == len(said)


@pytest.mark.parametrize("by", ("config", "key", "config and key"))
def test_forced_internal_sftp_serves_files_and_nothing_else(world, ours, client, by):
    force = "internal-sftp -R -d /etc"
    with server_with(world, ours, *([f"ForceCommand {force}"] if "config" in by else [])).start() as server:
        if "key" in by:
            limit_key(server, 'command="echo MINE"' if by == "config and key" else f'command="{force}"')
        said = ways(client, server)
        for way, (code, out, _) in said.items():
            if way.startswith("exec") or way.startswith("shell"):
                assert code == 1 and "This service allows sftp connections only.\n" in out, (way, code, out)
                assert "MINE\n" not in out
            else:
                assert "MINE" not in out and "only" not in out, (way, out)
        command, _, _ = client.command(server, debug=False)
        wrap = server.dir / "wrap"
        wrap.write_text(f"#!/bin/sh\nexec {' '.join(command)} -s sftp\n")
        wrap.chmod(0o755)
        code, out, err = feed(["sftp", "-q", "-S", "/bin/false", "-D", str(wrap)], b"pwd\nmkdir new\n", 30)
        assert "Remote working directory: /etc" in out.decode() and "ermission denied" in err, (code, out, err)
        # the subsystem of another name is the forced command too
        wrap.write_text(f"#!/bin/sh\nexec {' '.join(command)} -s other\n")
        code, out, err = feed(["sftp", "-q", "-D", str(wrap)], b"pwd\n", 30)
        assert "Remote working directory: /etc" in out.decode(), (code, out, err)


def test_a_forced_command_with_every_argument_of_internal_sftp(world, ours, client):
    """Twenty of them, the one that limits last: none is lost."""
    force = "internal-sftp -l INFO -l INFO -l INFO -l INFO -l INFO -f AUTH -f AUTH -f AUTH -f AUTH -P mkdir"
    assert len(force.split()) == 21
    with server_with(world, ours, f"ForceCommand {force}").start() as server:
        command, _, _ = client.command(server, debug=False)
        wrap = server.dir / "wrap"
        wrap.write_text(f"#!/bin/sh\nexec {' '.join(command)} -s sftp\n")
        wrap.chmod(0o755)
        _, _, err = feed(["sftp", "-q", "-D", str(wrap)], f"mkdir {server.dir}/new\n".encode(), 30)
        assert "ermission denied" in err and not (server.dir / "new").exists()


def test_force_command_none_lifts_it(world, ours, client):
    lines = (f"Match User {world.account.user}", "ForceCommand None", "Match All", "ForceCommand echo forced")
    with server_with(world, ours, *lines).start() as server:
        assert client.run(server, "echo MINE").out == b"MINE\n"


# -- who

def groups_of(user):
    entry = pwd.getpwnam(user)
    return [grp.getgrgid(g).gr_name for g in os.getgrouplist(user, entry.pw_gid)]


WHO = (  # lines, may come in, words of the log
    (["AllowUsers {user}"], True, None),
    (["AllowUsers nobody-else {user}@127.0.0.0/8"], True, None),
    (["AllowUsers nobody-else", "AllowUsers ?{rest}"], True, None),
    (["AllowUsers {user}@192.0.2.0/24"], False, "not listed in AllowUsers"),
    (["AllowUsers nobody-else"], False, "not listed in AllowUsers"),
    (["DenyUsers nobody-else"], True, None),
    (["DenyUsers {user}@192.0.2.1"], True, None),
    (["DenyUsers x {user}@127.0.0.1"], False, "listed in DenyUsers"),
    (["AllowUsers {user}", "DenyUsers {first}*"], False, "listed in DenyUsers"),
    (["AllowUsers {user}@127.0.0.1/8"], False, "not listed in AllowUsers"),    # bits of the host: no network
    (["DenyUsers {user}@192.0.2.1/8"], False, "listed in DenyUsers"),          # what cannot be read keeps out
    (["AllowGroups {group}"], True, None),
    (["AllowGroups no-such-group"], False, "none of user's groups are listed in AllowGroups"),
    (["DenyGroups no-such-group"], True, None),
    (["DenyGroups no-such-group {group}"], False, "a group is listed in DenyGroups"),
    (["AllowUsers {user}", "DenyGroups {group}"], False, "a group is listed in DenyGroups"),
    (["AllowUsers {user}", "Match User {user}", "AllowUsers nobody-else"], False, "not listed in AllowUsers"),
)


@pytest.mark.parametrize("lines,may,words", WHO, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_who_may_come_in(world, ours, client, lines, may, words):
    user = world.account.user
    fill = {"user": user, "rest": user[1:], "first": user[0], "group": groups_of(user)[0]}
    with server_with(world, ours, *(line.format(**fill) for line in lines)).start() as server:
        result = client.run(server, "echo in")
        assert (result.out == b"in\n") == may, str(result)
        if words:
            assert says(server, f"User {user} from 127.0.0.1 not allowed because {words}")


# -- another root directory

def copy_program(top, program):
    """The program and the libraries that it needs."""
    needed = re.findall(r"(/\S+)", subprocess.run(["ldd", program], capture_output=True, text=True).stdout)
    for path in [program, *needed]:
        to = top / path.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(path), to)


@pytest.fixture(scope="module")
def root():
    """A root directory with sh, cat and echo in it; no directory on the way is another's."""
    top = Path(tempfile.mkdtemp(prefix="bowline-root-", dir="/run"))
    top.chmod(0o755)
    for program in ("/bin/sh", "/bin/cat", "/bin/ls"):
        copy_program(top, program)
    (top / "mark").write_text("INSIDE")
    (top / "open").mkdir(mode=0o777)
    (top / "open").chmod(0o777)
    yield top
    shutil.rmtree(top)


@ROOT_ONLY
def test_all_ways_lead_into_the_root_directory(world, ours, client, root):
    with Sshd(world, ours, [f"ChrootDirectory {root}", "Subsystem sftp internal-sftp",
                            "Subsystem other cat /mark"]).start() as server:
        for pty in (False, True):
            result = client.run(server, "cat /mark; ls -d /etc /run", pty=pty)
            assert b"INSIDE" in result.out and result.status == 2, str(result)
            command, _, _ = client.command(server, debug=False, pty=pty)
            _, out, _ = feed(command, b"cat /mark\nexit\n", 30)
            assert b"INSIDE" in out
            _, out, _ = feed([*command[:-1], "-s", command[-1], "other"], b"", 30)
            assert b"INSIDE" in out
        wrap = server.dir / "wrap"
        wrap.write_text(f"#!/bin/sh\nexec {' '.join(client.command(server, debug=False)[0])} -s sftp\n")
        wrap.chmod(0o755)
        code, out, err = feed(["sftp", "-q", "-D", str(wrap)], b"pwd\nls -1 /\ncd /..\npwd\nls /etc/passwd\n", 30)
        assert "Remote working directory: /\n" in out.decode() and "mark" in out.decode() and "not found" in err
        assert says(server, f'Changed root directory to "{root}"')
        assert "Could not chdir" not in client.run(server, "true").err


@ROOT_ONLY
@pytest.mark.parametrize("pattern", ("{parent}/%u", "{parent}/%%/%U", "%h/../../../{parent}/%u"))
def test_tokens_of_the_root_directory(world, ours, client, root, pattern):
    entry = pwd.getpwnam(world.account.user)
    (root / entry.pw_name).mkdir(exist_ok=True)
    (root / "%" / str(entry.pw_uid)).mkdir(parents=True, exist_ok=True)
    for place in (root / entry.pw_name, root / "%" / str(entry.pw_uid)):
        (place / "here").write_text("")
    lines = [f"ChrootDirectory {pattern.format(parent=root)}", "Subsystem sftp internal-sftp"]
    with Sshd(world, ours, lines).start() as server:
        wrap = server.dir / "wrap"
        wrap.write_text(f"#!/bin/sh\nexec {' '.join(client.command(server, debug=False)[0])} -s sftp\n")
        wrap.chmod(0o755)
        code, out, err = feed(["sftp", "-q", "-D", str(wrap)], b"ls -1 /\n", 30)
        if pattern.startswith("%h"):    # the user's own directory is on the way
            assert code != 0 and says(server, "bad ownership or modes for chroot directory component")
        else:
            assert out.split()[-1] == b"/here", (out, err, server.log())


BAD = (  # what is done to the directory, words of the log
    ("others", 'bad ownership or modes for chroot directory "{path}"'),
    ("group above", 'bad ownership or modes for chroot directory component "{above}/"'),
    ("owner", 'bad ownership or modes for chroot directory "{path}"'),
    ("owner above", 'bad ownership or modes for chroot directory component "{above}/"'),
    ("file", 'chroot path "{path}" is not a directory'),
    ("nothing", 'stat("{path}"): No such file or directory'),
    ("relative", "chroot path does not begin at root"),
    ("token", "unknown key"),
    ("link", 'bad ownership or modes for chroot directory component "{behind}/"'),
)


@ROOT_ONLY
@pytest.mark.parametrize("what,words", BAD, ids=[b[0] for b in BAD])
def test_a_root_directory_that_others_could_change_lets_nobody_in(world, ours, client, root, what, words):
    above = Path(tempfile.mkdtemp(dir=root))
    above.chmod(0o755)
    path, behind = above / "dir", above / "behind"
    asked = path
    if what == "file":
        path.write_text("")
    elif what == "link":
        (behind / "dir").mkdir(parents=True)
        os.chown(behind, 65534, 65534)
        path.symlink_to("behind/dir")
    elif what != "nothing":
        path.mkdir()
    if what == "others":
        path.chmod(0o757)
    elif what == "group above":
        above.chmod(0o775)
    elif what == "owner":
        os.chown(path, 65534, 0)
    elif what == "owner above":
        os.chown(above, 65534, 0)
    elif what == "relative":
        asked = "dir"
    elif what == "token":
        asked = f"{path}/%z"
    with Sshd(world, ours, [f"ChrootDirectory {asked}", "Subsystem sftp internal-sftp"]).start() as server:
        for remote in ("echo M''INE", "-s sftp"):
            result = client.run(server, remote)
            assert result.status == 255 and b"MINE" not in result.out
        assert says(server, words.format(path=path, above=above, behind=behind)), server.log()


@ROOT_ONLY
def test_the_root_directory_and_a_forced_command(world, ours, client, root):
    lines = (f"ChrootDirectory {root}", "ForceCommand internal-sftp -d /open")
    with server_with(world, ours, *lines).start() as server:
        for way, (code, out, _) in ways(client, server).items():
            assert "MINE" not in out and (code == 1 or "other" in way or "sftp" in way), (way, code, out)
        wrap = server.dir / "wrap"
        wrap.write_text(f"#!/bin/sh\nexec {' '.join(client.command(server, debug=False)[0])} -s sftp\n")
        wrap.chmod(0o755)
        _, out, _ = feed(["sftp", "-q", "-D", str(wrap)], b"pwd\nput /etc/hostname x\nls -1\n", 30)
        assert b"Remote working directory: /open\n" in out and (root / "open" / "x").exists()


def test_without_privilege_there_is_no_other_root(world, ours, client):
    """A server of an ordinary user cannot do it, and does not leave it out."""
    if os.geteuid() == 0 and not world.account.private:
        pytest.skip("needs an account: run through ./check")
    with Sshd(world, ours, ["ChrootDirectory /usr"]) as server:
        if os.geteuid() == 0:
            entry = pwd.getpwnam(world.account.user)
            for path in (server.dir, *server.dir.iterdir(), server.host_key("ed25519")):
                os.chown(path, entry.pw_uid, entry.pw_gid)
            proxy = f"setpriv --reuid {entry.pw_uid} --regid {entry.pw_gid} --clear-groups {ours.sshd} -i -e -f {server.config}"
        else:
            proxy = f"{ours.sshd} -i -e -f {server.config}"
        result = client.run(server, "echo MINE", options=[f"ProxyCommand={proxy}"])
        assert result.out == b"" and "server lacks privileges to chroot to ChrootDirectory" in result.err + result.log, str(result)

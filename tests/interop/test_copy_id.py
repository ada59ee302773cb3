# SPDX-License-Identifier: ISC
"""ssh-copy-id against servers with SFTP, with a shell only, and with SFTP only: what the file holds afterwards, with which
mode and owner, and how often anybody was asked."""
import os
import pwd
import stat
import subprocess
import time
from pathlib import Path

import pytest

from harness import server as servers
from harness import world as worlds
from harness.client import feed
from harness.server import Sshd

import peers

SECONDS = 60
SKIPPED = "All keys were skipped because they already exist on the remote system."

# how the server lets files be reached
WAYS = {"sftp": ["Subsystem sftp internal-sftp"], "program": ["Subsystem sftp /usr/lib/openssh/sftp-server"], "shell": [],
        "broken": ["Subsystem sftp /nonexistent/sftp-server"],
        "noisy": ["Subsystem sftp /bin/echo what a login script prints"],
        "only": ["Subsystem sftp internal-sftp", "ForceCommand internal-sftp"],
        "refuses": ["Subsystem sftp internal-sftp -P posix-rename"]}

SHELLS = ("shell", "broken", "noisy")


def options(world, server, auth="key"):
    known = servers.known_hosts(server, worlds.scratch("copy-id") / "known_hosts")
    words = ["-F", "none", "-p", str(server.port)]
    lines = ["GlobalKnownHostsFile=none", f"UserKnownHostsFile={known}", "StrictHostKeyChecking=yes", "IdentitiesOnly=yes"]
    if auth == "key":
        lines += ["BatchMode=yes", f"IdentityFile={world.keys.path('ed25519')}"]
    else:
        lines += ["PubkeyAuthentication=no", "PreferredAuthentications=password"]
    for line in lines:
        words += ["-o", line]
    return words


class Ends:
    def __init__(self, world, server, ours):
        self.world, self.server, self.program = world, server, ours.copy_id
        self.far, self.here = worlds.scratch("ids-far"), worlds.scratch("ids-here")
        entry = pwd.getpwnam(server.user)
        os.chown(self.far, entry.pw_uid, entry.pw_gid)
        self.file = self.far / "sub" / "authorized_keys"
        self.a, self.b = world.keys.public("ecdsa-256", "extra"), world.keys.public("rsa-2048", "extra")

    def key(self, *lines, name="key"):
        path = self.here / f"{name}.pub"
        path.write_text("".join(line + "\n" for line in lines))
        return path

    def there(self, text, mode=0o600):
        self.file.parent.mkdir(mode=0o700, exist_ok=True)
        self.file.write_text(text)
        self.file.chmod(mode)
        entry = pwd.getpwnam(self.server.user)
        for path in (self.file.parent, self.file):
            os.chown(path, entry.pw_uid, entry.pw_gid)

    def run(self, *words, target=None, auth="key", env=None):
        if target is not False:
            words = ["-t", target or self.file, *words]
        command = [self.program, *options(self.world, self.server, auth), *map(str, words),
                   f"{self.server.user}@{self.server.host}"]
        return feed(command, None, SECONDS, env)

    def good(self, *words, **kw):
        status, out, err = self.run(*words, **kw)
        assert status == 0, (words, out, err)
        return out.decode(), err

    def bad(self, *words, **kw):
        status, out, err = self.run(*words, **kw)
        assert status == 1 and b"Number of key(s) added" not in out, (words, status, out, err)
        return err

    def mode(self):
        return stat.S_IMODE(self.file.stat().st_mode)


@pytest.fixture(scope="module", params=[f"{s}-{w}" for s in ("openssh", "bowline") for w in WAYS])
def server(request, world, ours, theirs):
    name, way = request.param.split("-")
    with Sshd(world, theirs if name == "openssh" else ours, WAYS[way], name=f"ids-{name}-{way}").start() as running:
        running.way = way
        yield running


@pytest.fixture
def ends(world, server, ours):
    return Ends(world, server, ours)


def test_keys_arrive_once_each(ends):
    """A new directory and file; a second run; several keys of which one is there; a last line without its end."""
    out, err = ends.good("-i", ends.key(ends.a))
    assert "\nNumber of key(s) added: 1\n" in out and "Now try logging into the machine, with:   \"ssh -p " in out
    assert "1 key(s) remain to be installed" in err and "added: ECDSA SHA256:" in err
    assert ends.file.read_text() == ends.a + "\n" and ends.mode() == 0o600
    assert stat.S_IMODE(ends.file.parent.stat().st_mode) == 0o700
    out, err = ends.good("-i", ends.key(" ".join(ends.a.split()[:2]) + " another comment"))
    assert out == "" and SKIPPED in err and "already there, line 1: ECDSA SHA256:" in err
    assert ends.file.read_text() == ends.a + "\n"
    ends.there("# mine\n" + ends.a, 0o644)
    out, err = ends.good("-i", ends.key(ends.a, ends.b, ends.b))
    assert "Number of key(s) added: 1\n" in out and "line 2: ECDSA" in err and "named twice, taken once: RSA" in err
    assert ends.file.read_text() == f"# mine\n{ends.a}\n{ends.b}\n" and ends.mode() == 0o644
    assert ends.file.stat().st_uid == pwd.getpwnam(ends.server.user).pw_uid
    assert [p.name for p in ends.file.parent.iterdir()] == ["authorized_keys"]


def test_nothing_changes_in_a_dry_run(ends):
    out, err = ends.good("-n", "-i", ends.key(ends.a))
    assert f"Would have added the following key(s):\n\n{ends.a}\n" in out and not ends.file.parent.exists()
    ends.there(ends.b)
    out, err = ends.good("-n", "-i", ends.key(ends.a, ends.b))
    assert ends.a in out and ends.b not in out and ends.file.read_text() == ends.b


def test_a_link_stays(ends):
    """Also one that leads nowhere yet."""
    ends.there(ends.a + "\n")
    real = ends.far / "real"
    ends.file.rename(real)
    ends.file.symlink_to("../real")
    ends.good("-i", ends.key(ends.b))
    assert ends.file.is_symlink() and real.read_text() == f"{ends.a}\n{ends.b}\n"
    real.unlink()
    ends.good("-i", ends.key(ends.b))
    assert ends.file.is_symlink() and real.read_text() == ends.b + "\n"


def test_force_adds_no_line_twice(ends):
    ends.there(ends.a + "\n")
    line = "restrict " + ends.a
    ends.good("-f", "-i", ends.key(line))
    _, err = ends.good("-f", "-i", ends.key(line))
    assert SKIPPED in err and ends.file.read_text() == f"{ends.a}\n{line}\n"


def test_odd_paths(ends):
    ends.file = ends.far / "it's \"$HOME\" `id` \\n" / "keys;id"
    ends.good("-i", ends.key(ends.a))
    assert ends.file.read_text() == ends.a + "\n"


def test_sftp_only_uses_no_shell(ends):
    if ends.server.way in SHELLS:
        err = ends.bad("-s", "-i", ends.key(ends.a))
        assert "sftp" in err.lower() or "beginning with: what a login script prints" in err
        assert not ends.file.exists()
    else:
        out, _ = ends.good("-s", "-i", ends.key(ends.a))
        assert "\"sftp -P " in out


def test_what_cannot_be_written_is_told(ends):
    """A directory in the place of the file, a file in the place of a directory, UTF-16."""
    ends.there(ends.a + "\n")
    assert "no regular file" in ends.bad("-i", ends.key(ends.b), target=ends.far / "sub") or ends.server.way in SHELLS
    ends.bad("-i", ends.key(ends.b), target=ends.file / "below")
    text = ends.a.encode("utf-16")
    ends.file.write_bytes(text)
    err = ends.bad("-i", ends.key(ends.b))
    assert "UTF-16" in err or ends.server.way in SHELLS
    assert ends.file.read_bytes() == text


# -- where the file cannot be replaced -----------------------------------------------------------------

def test_a_directory_of_others(ends):
    """The account may write the file, not beside it: the line is put at its end, in place."""
    if not ends.world.account.private:
        pytest.skip(ends.world.account.why_no_password)
    ends.there(ends.a)
    os.chown(ends.file.parent, 0, 0)
    ends.file.parent.chmod(0o755)
    inode = ends.file.stat().st_ino
    ends.good("-i", ends.key(ends.b))
    assert ends.file.read_text() == f"{ends.a}\n{ends.b}\n" and ends.file.stat().st_ino == inode
    os.chown(ends.file, 0, 0)
    ends.file.chmod(0o644)
    before = ends.file.read_bytes()
    err = ends.bad("-i", ends.key("restrict " + ends.world.keys.public("ecdsa-384", "extra")))
    assert "ermission denied" in err or ends.server.way in SHELLS
    assert ends.file.read_bytes() == before
    err = ends.bad("-i", ends.key(ends.a), target=ends.file.parent / "new")
    assert not (ends.file.parent / "new").exists()


def test_a_full_disk_leaves_the_old_file(ends):
    if os.getuid() != 0:
        pytest.skip("mounting a small file system needs root")
    top = ends.file.parent
    top.mkdir()
    uid = pwd.getpwnam(ends.server.user).pw_uid
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=8k,mode=700,uid={uid}", "none", top], capture_output=True)
    if done.returncode != 0:
        pytest.skip("this root may not mount")
    try:
        ends.there(ends.a + "\n")
        (top / "ballast").write_bytes(b"x" * 4096)
        page = [f"restrict {ends.world.keys.public('rsa-2048', f'extra{i}')}" for i in range(12)]
        err = ends.bad("-i", ends.key(*page))
        assert "writing" in err or ends.server.way in SHELLS, err
        if ends.server.way not in SHELLS:   # a shell's cat may have written a part
            assert ends.file.read_text() == ends.a + "\n"
            assert sorted(p.name for p in top.iterdir()) == ["authorized_keys", "ballast"]
    finally:
        subprocess.run(["umount", "-l", top], check=True)


# -- the account's own file ----------------------------------------------------------------------------

@pytest.fixture
def home(world):
    if not world.account.private:
        pytest.skip(world.account.why_no_password)
    folder = world.account.home / ".ssh"
    aside = folder.with_name(".ssh-aside")
    folder.rename(aside)
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)
    aside.rename(folder)


def asker(world, folder):
    """An askpass that counts its questions."""
    program, count = folder / "askpass", folder / "count"
    program.write_text(f"#!/bin/sh\necho \"$1\" >> {count}\necho '{world.account.password}'\n")
    program.chmod(0o755)
    return {"SSH_ASKPASS": str(program), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}, count


@pytest.mark.parametrize("far", ["openssh-sftp", "openssh-shell", "openssh-broken", "bowline-sftp", "bowline-shell", "dropbear"])
def test_a_password_is_asked_for_once(world, ours, theirs, home, far):
    """Nothing is there; afterwards the key logs in, at the same server."""
    name, _, way = far.partition("-")
    if name == "dropbear":
        running = peers.make("server", "dropbear", world)
    else:
        running = Sshd(world, theirs if name == "openssh" else ours,
                       ["AuthorizedKeysFile .ssh/authorized_keys", *WAYS[way]], name=f"ids-{far}")
        text = running.config.read_text().splitlines()   # the first line of a keyword counts
        running.config.write_text("\n".join(l for l in text if "/authorized_keys" not in l or ".ssh/" in l) + "\n")
    with running.start():
        ends = Ends(world, running, ours)
        env, count = asker(world, ends.here)
        out, err = ends.good("-i", world.keys.path("ecdsa-256", "extra"), target=False, auth="password", env=env)
        assert len(count.read_text().splitlines()) == 1 and "Number of key(s) added: 1" in out
        file = home / "authorized_keys"
        entry = pwd.getpwnam(world.account.user)
        for path, mode in ((home, 0o700), (file, 0o600)):
            assert stat.S_IMODE(path.stat().st_mode) == mode and path.stat().st_uid == entry.pw_uid
        assert file.read_text() == ends.a + "\n"
        out, err = feed([ours.ssh, *options(world, running)[:-2], "-o", "PreferredAuthentications=publickey", "-i",
                         str(world.keys.path("ecdsa-256", "extra")), f"{running.user}@{running.host}", "echo in"], None, SECONDS)[1:]
        assert out == b"in\n", err


@pytest.fixture(scope="module", params=["asyncssh", "paramiko"])
def stranger(request, world):
    with peers.make("server", request.param, world).start() as running:
        yield running


def test_strangers(world, ours, stranger):
    """Servers that are no OpenSSH: AsyncSSH has posix-rename, paramiko answers what it likes."""
    ends = Ends(world, stranger, ours)
    ends.good("-i", ends.key(ends.a))
    ends.there(ends.a, 0o640)
    ends.good("-i", ends.key(ends.b, ends.a))
    assert ends.file.read_text() == f"{ends.a}\n{ends.b}\n" and ends.mode() == 0o640


# -- which keys ----------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def plain(world, theirs):
    with Sshd(world, theirs, WAYS["sftp"], name="ids-plain").start() as running:
        yield running


def test_the_agent_s_keys_come_first(world, ours, theirs, plain):
    """All of them, their certificates not; with -i alone they are not asked for."""
    ends = Ends(world, plain, ours)
    socket = ends.here / "agent"
    agent = subprocess.Popen([theirs.beside("ssh-agent"), "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        assert worlds.wait_until(socket.exists)
        env = {"SSH_AUTH_SOCK": str(socket)}
        ca = world.keys.path("ed25519", "ca")
        key = world.keys.path("ecdsa-256", "extra")
        copy = ends.here / "with-cert"
        copy.write_bytes(key.read_bytes())
        copy.chmod(0o600)
        copy.with_name("with-cert.pub").write_text(ends.a + "\n")
        subprocess.run([theirs.keygen, "-q", "-s", ca, "-I", "x", "-n", "x", f"{copy}.pub"], check=True, capture_output=True)
        for path in (copy, world.keys.path("rsa-2048", "extra")):
            subprocess.run([theirs.beside("ssh-add"), "-q", str(path)], check=True, env={**os.environ, **env}, capture_output=True)
        out, err = ends.good(env=env)
        assert "Number of key(s) added: 2" in out and "the agent" in err
        got = sorted(line.split()[1] for line in ends.file.read_text().splitlines())
        assert got == sorted([ends.a.split()[1], ends.b.split()[1]])
    finally:
        worlds.end(agent)


def test_private_keys_stay_here(world, ours, plain):
    """A private key under a public name is refused; a private key alone gives its public half."""
    ends = Ends(world, plain, ours)
    secret = world.keys.path("ecdsa-256", "extra").read_text()
    path = ends.here / "wrong.pub"
    path.write_text(secret)
    path.chmod(0o600)
    assert "holds a private key" in ends.bad("-i", path) and not ends.file.exists()
    alone = ends.here / "alone"
    alone.write_text(secret)
    alone.chmod(0o600)
    ends.good("-i", alone)
    assert ends.file.read_text().split()[:2] == ends.a.split()[:2]
    assert "failed to open ID file" in ends.bad("-i", ends.here / "none")


def test_the_newest_default(world, ours, plain):
    """-i alone; certificates do not count."""
    ends = Ends(world, plain, ours)
    folder = ends.here / ".ssh"
    folder.mkdir()
    for i, (name, text) in enumerate((("id_rsa.pub", ends.b), ("id_ecdsa.pub", ends.a), ("id_ecdsa-cert.pub", "cert"))):
        (folder / name).write_text(text + "\n")
        os.utime(folder / name, (1000 + i, 1000 + i))
    own = worlds.own_mounts()
    home = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".ssh"
    if os.getuid() != 0 or own is None:
        pytest.skip("a home of its own for one process needs root")
    home.mkdir(mode=0o700, exist_ok=True)
    words = " ".join(f"'{w}'" for w in [ends.program, *options(world, plain), "-t", str(ends.file), "-i", f"{plain.user}@127.0.0.1"])
    status, out, err = feed([*own, "sh", "-c", f"mount --bind {folder} {home} && exec {words}"], None, SECONDS)
    assert status == 0, err
    assert ends.file.read_text() == ends.a + "\n"


@pytest.mark.parametrize("words,says", [
    ([], "Usage: ssh-copy-id"), (["-h"], "Usage: ssh-copy-id"), (["-?"], "Usage: ssh-copy-id"), (["-z", "h"], "unknown option -- z"),
    (["-p"], "option requires an argument -- p"), (["-p", "x", "h"], "Bad port"), (["a", "b"], "Too many arguments"),
    (["-i", "x", "-i", "y", "h"], "more than once"), (["-i", "/nonexistent", "h"], "failed to open ID file '/nonexistent.pub'")])
def test_words_that_are_wrong(ours, words, says):
    status, out, err = feed([ours.copy_id, *words], None, 20)
    assert status == 1 and out == b"" and says in err, (status, out, err)


def test_a_signal_leaves_nothing_beside(world, ours, plain):
    """Ended while it works: the file is the old or the new one, and alone."""
    ends = Ends(world, plain, ours)
    for wait in (0.02, 0.05, 0.1, 0.2):
        ends.there(ends.a + "\n")
        command = [ends.program, *options(world, plain), "-t", str(ends.file), "-i", str(ends.key(ends.b)),
                   f"{plain.user}@{plain.host}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.terminate()
        process.wait(20)
        assert worlds.wait_until(lambda: [p.name for p in ends.file.parent.iterdir()] == ["authorized_keys"], 5)
        assert ends.file.read_text() in (ends.a + "\n", f"{ends.a}\n{ends.b}\n")

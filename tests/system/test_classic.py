# SPDX-License-Identifier: ISC
"""The session that everybody begins with: a key, its copy on a server, an agent, and a large file by each old and new
cipher.  Word for word as one types it, as an ordinary user, against our sshd.  BOWLINE_CLASSIC_MIB: size of the file."""
import os
import pwd
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import world as worlds
from harness.client import feed
from harness.programs import for_everyone
from harness.server import Sshd

CIPHERS = ("3des-cbc", "aes128-cbc", "aes192-cbc", "aes256-cbc", "aes128-ctr", "aes192-ctr", "aes256-ctr",
           "aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "arcfour128", "arcfour256", "arcfour", "blowfish-cbc", "cast128-cbc")
MIB = int(os.environ.get("BOWLINE_CLASSIC_MIB", "4"))   # 512 in the story
PASSPHRASE = "a long one, of several words"
SECONDS = 60 + 3 * MIB

SESSION = """set -e
ssh-keygen
ssh-copy-id {user}@server
eval $(ssh-agent)
ssh-add
ssh-add -l
dd if=/dev/urandom of=random bs=1M count={mib} 2>/dev/null
for c in {ciphers}; do
	scp -c $c random {user}@server:{far}/copy
	cmp random {far}/copy
	rm {far}/copy
	echo "done $c"
done
ssh-agent -k
"""


@pytest.fixture
def home(world):
    """The account's own home without any file of ssh in it."""
    if not world.account.private:
        pytest.skip(world.account.why_no_password)
    folder = world.account.home / ".ssh"
    aside = folder.with_name(".ssh-aside")
    folder.rename(aside)
    yield world.account.home
    shutil.rmtree(folder, ignore_errors=True)
    (world.account.home / "random").unlink(missing_ok=True)
    aside.rename(folder)


@pytest.fixture
def server(world, ours):
    running = Sshd(world, ours, [f"Ciphers {','.join(CIPHERS)}", "Subsystem sftp internal-sftp"], name="classic")
    lines = [line for line in running.config.read_text().splitlines() if not line.startswith("AuthorizedKeysFile")]
    running.config.write_text("\n".join([*lines, "AuthorizedKeysFile .ssh/authorized_keys"]) + "\n")
    with running.start():
        yield running


def settings(world, server, home):
    """What the user has beside the programs: how the server is reached, and somebody who answers questions."""
    entry = pwd.getpwnam(world.account.user)
    config = home / ".ssh" / "config"
    config.parent.mkdir(mode=0o700)
    config.write_text(f"Host server\n  HostName 127.0.0.1\n  Port {server.port}\n  StrictHostKeyChecking accept-new\n"
                      "  WarnWeakCrypto no\n")
    far = worlds.scratch("classic")
    asked, answers = far / "asked", far / "answers"
    answers.write_text(f"""#!/bin/sh
echo "$1" >> {asked}
case "$1" in
*assphrase*) echo '{PASSPHRASE}';;
*) echo '{world.account.password}';;
esac
""")
    answers.chmod(0o755)
    for path in (config.parent, config, far):
        os.chown(path, entry.pw_uid, entry.pw_gid)
    return far, answers, asked


def test_the_classic_session(world, ours, server, home):
    far, answers, asked = settings(world, server, home)
    names = ("ssh", "scp", "ssh-keygen", "ssh-copy-id", "ssh-agent", "ssh-add")
    folders = dict.fromkeys(str(Path(for_everyone(ours.beside(n))).parent) for n in names)
    script = SESSION.format(user=world.account.user, mib=MIB, ciphers=" ".join(CIPHERS), far=far)
    env = {"PATH": ":".join([*folders, "/usr/bin", "/bin", "/usr/sbin", "/sbin"]), "HOME": str(home), "SSH_ASKPASS": str(answers),
           "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0", "USER": world.account.user}
    command = ["runuser", "-u", world.account.user, "--", "env", "-C", str(home), "bash", "-c", script]
    status, out, err = feed(command, b"\n", SECONDS, env)
    out = out.decode()
    assert status == 0, (out, err, server.log()[-3000:])
    assert "Your identification has been saved in" in out and "Number of key(s) added: 1" in out
    assert re.search(r"^256 SHA256:\S{43} .* \(ED25519\)$", out, re.M), out
    assert [line[5:] for line in out.splitlines() if line.startswith("done ")] == list(CIPHERS)
    # each by its own cipher, and by the key of the agent: nobody was asked but for the pair, the copy, and ssh-add
    log = server.log()
    for cipher in CIPHERS:
        assert f"kex: client->server cipher: {cipher} " in log, cipher
    questions = asked.read_text().splitlines()
    assert [bool(re.search("assphrase", q)) for q in questions] == [True, True, False, True], questions
    assert "agent" in out.lower() and (home / ".ssh" / "authorized_keys").read_text() == (home / ".ssh" / "id_ed25519.pub").read_text()
    left = subprocess.run(["pgrep", "-u", world.account.user, "-x", "ssh-agent"], capture_output=True, text=True).stdout
    assert left == "", left

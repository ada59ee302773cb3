# SPDX-License-Identifier: ISC
"""Our sshd as the server of sftp, served inside its session process, and still more of other people's clients."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import peers
from harness import programs, world as worlds
from harness.server import Sshd, known_hosts
from harness.world import sha256_file

ODD = ("plain", "with blank", "ünïcode", "n" * 255, "#hash", "semi;colon")


@pytest.fixture(scope="module")
def server(world, ours):
    with Sshd(world, ours, ["Subsystem sftp internal-sftp"], log_level="INFO").start() as running:
        yield running


@pytest.fixture
def place(world):
    top = worlds.scratch("sftp-place")
    top.chmod(0o777)
    return top


@pytest.fixture(scope="module")
def source(world):
    top = worlds.scratch("sftp-source")
    for i, name in enumerate(ODD):
        (top / name).write_bytes(os.urandom(1000 + i))
    (top / "empty").write_bytes(b"")
    worlds.fill(top / "large", 8)
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "deep").write_text("deep")
    return top


def tree(top):
    return {str(p.relative_to(top)): sha256_file(p) if p.is_file() else None for p in sorted(Path(top).rglob("*"))}


def good(command, stdin=None, **kw):
    done = subprocess.run([str(c) for c in command], input=stdin, capture_output=True, timeout=120, **kw)
    assert done.returncode == 0, f"{done.returncode}: {done.stdout[-2000:]!r} {done.stderr.decode(errors='replace')[-3000:]}"
    return done.stdout


def test_pscp(server, place, source):
    home = worlds.scratch("pscp")
    key = home / "key.ppk"
    good(["puttygen", server.world.keys.path("ed25519"), "-o", key, "-O", "private"])
    finger = good([programs.installed().keygen, "-l", "-f", "/dev/stdin"], server.host_publics[0].encode() + b"\n").split()[1]
    base = ["pscp", "-sftp", "-q", "-batch", "-hostkey", finger.decode(), "-P", server.port, "-l", server.user, "-i", key]
    env = {**os.environ, "HOME": str(home), "PUTTYDIR": str(home / ".putty")}
    (place / "up").mkdir()
    (place / "up").chmod(0o777)
    good([*base, "-r", "-p", source, f"127.0.0.1:{place}/up/"], env=env)
    good([*base, "-r", "-p", f"127.0.0.1:{place}/up/{source.name}", home], env=env)
    assert tree(place / "up" / source.name) == tree(home / source.name) == tree(source)
    assert int((place / "up" / source.name / "plain").stat().st_mtime) == int((source / "plain").stat().st_mtime)
    assert b" large\n" in good([*base, "-ls", f"127.0.0.1:{place}/up/{source.name}"], env=env).replace(b"\r", b"")


def test_rclone(server, place, source):
    home = worlds.scratch("rclone")
    hosts = known_hosts(server, home / "hosts")
    env = {**os.environ, "HOME": str(home), "RCLONE_CONFIG": str(home / "none.conf"), "RCLONE_SFTP_HOST": "127.0.0.1",
           "RCLONE_SFTP_PORT": str(server.port), "RCLONE_SFTP_USER": server.user,
           "RCLONE_SFTP_KEY_FILE": str(server.world.keys.path("ed25519")), "RCLONE_SFTP_KNOWN_HOSTS_FILE": str(hosts)}

    def rclone(*args):
        return good(["rclone", "--retries", "1", *args], env=env).decode()
    rclone("copy", source, f":sftp:{place}/up", "--transfers", "8")
    assert tree(place / "up") == tree(source)
    rclone("check", source, f":sftp:{place}/up", "--download")
    rclone("copy", f":sftp:{place}/up", home / "down", "--multi-thread-cutoff", "1M", "--multi-thread-streams", "4")
    assert tree(home / "down") == tree(source)
    (source / "a" / "new").write_text("new")
    try:
        rclone("sync", source, f":sftp:{place}/up")
        assert tree(place / "up") == tree(source)
    finally:
        (source / "a" / "new").unlink()
    rclone("moveto", f":sftp:{place}/up/plain", f":sftp:{place}/up/moved")
    assert sha256_file(place / "up" / "moved") == sha256_file(source / "plain")
    assert int(rclone("size", f":sftp:{place}/up", "--json").split('"count":')[1].split(",")[0].rstrip("}\n ")) == len(
        [p for p in (place / "up").rglob("*") if p.is_file()])
    rclone("purge", f":sftp:{place}/up")
    assert not (place / "up").exists()


def test_rsync_with_our_ssh_and_sshd(server, ours, place, source):
    home = worlds.scratch("rsync")
    hosts = known_hosts(server, home / "hosts")
    shell = (f"{ours.ssh} -F none -p {server.port} -i {server.world.keys.path('ed25519')} -o UserKnownHostsFile={hosts} "
             "-o GlobalKnownHostsFile=none -o BatchMode=yes")
    far = f"{server.user}@127.0.0.1:{place}/up/"
    good(["rsync", "-a", "-e", shell, f"{source}/", far])
    assert tree(place / "up") == tree(source)
    with open(place / "up" / "large", "r+b") as f:
        f.seek(1 << 20)
        f.write(b"changed")
    good(["rsync", "-a", "--checksum", "--delete", "-z", "-e", shell, f"{source}/", far])
    good(["rsync", "-a", "-e", shell, far, home / "down"])
    assert tree(place / "up") == tree(home / "down") == tree(source)


def test_libssh(server, place, source):
    folder = worlds.scratch("libssh")
    good([*peers.libssh_peer("libssh_sftp"), server.port, server.user, server.world.keys.path("ed25519"), source / "large", place],
         env={**os.environ, "HOME": str(folder)})
    assert sha256_file(place / "made" / "moved") == sha256_file(source / "large")


def test_go(server, place, source):
    good([*peers.go_peer("go-sftp-client"), server.port, server.user, server.world.keys.path("ed25519"), source / "large", place])
    assert sha256_file(place / "a" / "b" / "c" / "moved") == sha256_file(source / "large")
    assert (place / "large3").stat().st_size == 10


def test_curl_takes_and_brings_over_scp(world, ours, place, source):
    """scp:// wants our scp where the user's shell looks for it."""
    scp = Path(ours.sshd).parent.parent / "scp" / "scp"
    if not scp.exists():
        scp = Path(ours.sshd).parent / "scp"
    if not scp.exists():
        pytest.skip("the tested programs have no scp")
    folder = worlds.scratch("curl-scp")
    folder.chmod(0o755)
    shutil.copy(scp, folder / "scp")
    (folder / "scp").chmod(0o755)
    with Sshd(world, ours, [f"SetEnv PATH={folder}:/usr/bin:/bin"]).start() as server:
        key = world.keys.path("ed25519")
        base = ["curl", "-sS", "-k", "--key", key, "--pubkey", f"{key}.pub"]
        if b"scp" not in good(["curl", "-V"]):
            pytest.skip("this curl has no scp")
        url = f"scp://{server.user}@127.0.0.1:{server.port}{place}/large"
        good([*base, "-T", source / "large", url])
        good([*base, "-o", folder / "back", url])
        assert sha256_file(place / "large") == sha256_file(folder / "back") == sha256_file(source / "large")

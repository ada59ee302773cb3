# SPDX-License-Identifier: ISC
"""Our sftp-server behind our sshd, and other people's SFTP clients: trees, odd names, attributes, large files."""
import asyncio
import os
import pwd
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from harness import programs, world as worlds
from harness.rawsftp import FAILURE, NO_SUCH_FILE, OK, RENAME, RawSftp, s
from harness.server import Sshd, known_hosts
from harness.world import sha256_file

ODD = ("plain", "with blank", "back\\slash", 'quo"te', "ünïcode", "n" * 255, "#hash", "-dash", "semi;colon")


@pytest.fixture(scope="module")
def server(world, ours):
    with Sshd(world, ours, [f"Subsystem sftp {ours.sftp_server} -l INFO"], log_level="INFO").start() as running:
        yield running


@pytest.fixture
def place(world):
    """A directory that the account may fill: (path here, path there)."""
    top = worlds.scratch("sftp-place")
    top.chmod(0o777)
    return top


@pytest.fixture(scope="module")
def source(world):
    """What is sent: odd names, an empty file, one of 8 MiB, one that runs, a directory in a directory."""
    top = worlds.scratch("sftp-source")
    for i, name in enumerate(ODD):
        (top / name).write_bytes(os.urandom(1000 + i))
    (top / "empty").write_bytes(b"")
    worlds.fill(top / "large", 8)
    (top / "large").chmod(0o751)
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "deep").write_text("deep")
    os.utime(top / "plain", (1234567890, 1234567890))
    return top


def tree(top):
    return {str(p.relative_to(top)): sha256_file(p) if p.is_file() else None for p in sorted(Path(top).rglob("*"))}


def run(command, stdin=None, timeout=120, **kw):
    done = subprocess.run([str(c) for c in command], input=stdin, capture_output=True, timeout=timeout, **kw)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def good(command, stdin=None, **kw):
    code, out, err = run(command, stdin, **kw)
    assert code == 0, f"{code}: {out!r} {err}"
    return out


def options(server, port):
    known = known_hosts(server, worlds.scratch("hosts") / "known_hosts")
    return ["-F", "none", port, server.port, "-i", server.world.keys.path("ed25519"), "-o", f"UserKnownHostsFile={known}",
            "-o", "GlobalKnownHostsFile=none", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]


def quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


# -- OpenSSH ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("how", ("sshd", "alone"))
def test_openssh_sftp(how, server, ours, place, source):
    end = ["-D", ours.sftp_server] if how == "alone" else [*options(server, "-P"), f"{server.user}@127.0.0.1"]
    back = worlds.scratch("sftp-back")

    def batch(*lines):
        return good(["sftp", "-q", "-b", "-", *end], "\n".join(lines).encode() + b"\n").decode(errors="replace")
    batch(f"lcd {source}", f"cd {place}", "mkdir up", "put -rp . up", *(f"get -p {quoted('up/' + n)} {back}/" for n in ODD),
          f"get -rp up {back}/tree")
    assert tree(place / "up") == tree(back / "tree") == tree(source)
    assert all(sha256_file(back / n) == sha256_file(source / n) for n in ODD)
    assert (place / "up" / "plain").stat().st_mtime == 1234567890
    assert stat.S_IMODE((place / "up" / "large").stat().st_mode) == 0o751
    out = batch(f"cd {place}/up", "rename plain moved", "ln large hard", "ln -s moved soft", "chmod 600 moved",
                "cp large copied", "rename copied moved", "ls -1", "ls -l a", "rm soft", "mkdir d", "rmdir d", "pwd", "df",
                "ls -n moved")
    assert sha256_file(place / "up" / "moved") == sha256_file(source / "large")
    assert (place / "up" / "hard").stat().st_nlink == 2
    assert f"Remote working directory: {place}/up" in out
    assert not (place / "up" / "soft").exists()
    code, _, err = run(["sftp", "-q", "-b", "-", *end], f"rename {place}/up/hard {place}/up/a\n".encode())
    assert code == 1 and "Failure" in err       # a file in the place of a directory
    code, _, err = run(["sftp", "-q", "-b", "-", *end], f"rename -l {place}/up/hard {place}/up/large\n".encode())
    assert code == 1 and "Failure" in err
    code, _, err = run(["sftp", "-q", "-b", "-", *end], f"get {place}/nothing\n".encode())
    assert code == 1 and "not found" in err


@pytest.mark.parametrize("arguments", (("-B", "5"), ("-B", "261120"), ("-R", "1"), ("-R", "500", "-B", "1000")), ids=" ".join)
def test_openssh_sftp_with_its_sizes(arguments, ours, place, source):
    name = "plain" if "5" in arguments else "large"
    good(["sftp", "-q", *arguments, "-b", "-", "-D", ours.sftp_server],
         f"put {source}/{name} {place}/x\nget {place}/x {place}/y\n".encode())
    assert sha256_file(place / "x") == sha256_file(place / "y") == sha256_file(source / name)


def test_openssh_sftp_resumes(ours, place, source):
    whole = (source / "large").read_bytes()
    for n in (0, 1, 1024, len(whole) - 1):
        (place / "up").write_bytes(whole[:n])
        (place / "down").write_bytes(whole[:n])
        good(["sftp", "-q", "-b", "-", "-D", ours.sftp_server],
             f"reput {source}/large {place}/up\nreget {source}/large {place}/down\n".encode())
        assert (place / "up").read_bytes() == (place / "down").read_bytes() == whole


@pytest.mark.parametrize("how", ("sshd", "alone"))
def test_openssh_scp(how, server, ours, place, source):
    if how == "alone":
        end, host = ["-s", "-D", ours.sftp_server], "localhost"
    else:
        end, host = ["-s", *options(server, "-P")], f"{server.user}@127.0.0.1"
    back = worlds.scratch("scp-back")
    good(["scp", "-q", "-rp", *end, source, f"{host}:{place}/up"])
    good(["scp", "-q", "-rp", *end, f"{host}:{place}/up", back / "tree"])
    assert tree(place / "up") == tree(back / "tree") == tree(source)
    good(["scp", "-q", *end, f"{host}:{place}/up/n*", back])
    assert (back / ("n" * 255)).exists()
    if how == "sshd":       # "~" is where the session started
        (server.world.account.home / "from-tilde").write_text("tilde")
        good(["scp", "-q", *end, f"{host}:~/from-tilde", back])
        assert (back / "from-tilde").read_text() == "tilde"
    code, _, err = run(["scp", "-q", *end, f"{host}:{place}/none", back])
    assert code != 0 and "No such file" in err


def test_openssh_sees_read_only(world, ours, place, source):
    (place / "file").write_text("kept")
    line = f"Subsystem sftp {ours.sftp_server} -R"
    with Sshd(world, ours, [line]).start() as server:
        end = [*options(server, "-P"), f"{server.user}@127.0.0.1"]
        good(["sftp", "-q", "-b", "-", *end], f"get {place}/file /dev/null\nls -l {place}\n".encode())
        for command in (f"put {source}/plain {place}/new", f"rm {place}/file", f"mkdir {place}/d", f"chmod 600 {place}/file",
                        f"rename {place}/file {place}/g", f"rename -l {place}/file {place}/g", f"ln -s x {place}/l",
                        f"ln {place}/file {place}/h", f"cp {place}/file {place}/c", f"put {source}/plain {place}/file"):
            code, _, err = run(["sftp", "-q", "-b", "-", *end], command.encode() + b"\n")
            assert code == 1 and ("ermission denied" in err or "not support" in err), (command, err)
    assert [(p.name, p.read_text()) for p in place.iterdir()] == [("file", "kept")]


@pytest.fixture
def internal(world, ours):
    """A function that starts a server whose SFTP is its own."""
    running = []

    def start(arguments=""):
        running.append(Sshd(world, ours, [f"Subsystem sftp internal-sftp {arguments}"]).start())
        return running[-1], [*options(running[-1], "-P"), f"{running[-1].user}@127.0.0.1"]
    yield start
    for server in running:
        server.stop()


def test_internal_sftp(internal, place, source):
    server, end = internal("-u 027 -e  -l INFO # said to the client")
    back = worlds.scratch("sftp-back")
    lines = [f"put -r {source} {place}/up", f"get -r {place}/up {back}/down", f"mkdir {place}/made", "pwd"]
    code, out, err = run(["sftp", "-q", "-b", "-", *end], "\n".join(lines).encode() + b"\n")
    assert code == 0, err + server.log()
    assert tree(back / "down") == tree(place / "up") == tree(source)
    home = pwd.getpwnam(server.user).pw_dir
    assert f"Remote working directory: {home}" in out.decode()
    assert stat.S_IMODE((place / "made").stat().st_mode) == 0o750 and (place / "made").owner() == server.user
    assert f"session opened for local user {server.user} from [127.0.0.1]" in err
    assert f"session closed for local user {server.user} from [127.0.0.1]" in err


def test_internal_sftp_is_read_only(internal, place, source):
    (place / "file").write_text("kept")
    _, end = internal("-R")
    good(["sftp", "-q", "-b", "-", *end], f"get {place}/file /dev/null\nls -l {place}\n".encode())
    for command in (f"put {source}/plain {place}/new", f"rm {place}/file", f"mkdir {place}/d", f"chmod 600 {place}/file"):
        code, _, err = run(["sftp", "-q", "-b", "-", *end], command.encode() + b"\n")
        assert code == 1 and "ermission denied" in err, (command, err)
    assert [(p.name, p.read_text()) for p in place.iterdir()] == [("file", "kept")]


def test_internal_sftp_starts_no_program(internal, world, ours):
    """The process of the session serves, by the user's id: it has no child and no pipe."""
    server, end = internal()
    with subprocess.Popen([str(c) for c in ["sftp", "-q", *end]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as client:
        def serving():
            found = []
            for p in Path("/proc").glob("[0-9]*"):
                try:
                    if p.joinpath("cmdline").read_bytes().startswith(f"sshd: {server.user}@internal-sftp".encode()):
                        found.append(p)
                except OSError:
                    continue
            return found
        assert worlds.wait_until(lambda: len(serving()) == 1, 20)
        at = serving()[0]
        status = dict(line.split(":\t", 1) for line in (at / "status").read_text().splitlines() if ":\t" in line)
        assert set(status["Uid"].split()) == {str(pwd.getpwnam(server.user).pw_uid)}
        if os.geteuid() == 0:
            assert os.readlink(at / "exe") == str(Path(ours.sshd).resolve())
            assert not [f for f in os.listdir(at / "fd") if os.readlink(at / "fd" / f).startswith("pipe:")]
            assert not list((at / "task" / at.name).joinpath("children").read_text().split())
        client.communicate(b"bye\n", timeout=20)
        assert client.returncode == 0
        assert worlds.wait_until(lambda: not serving(), 10)


def test_internal_sftp_as_the_command_of_a_key(internal, world, place, source):
    server, end = internal()
    key = world.keys.public("ed25519")
    (server.dir / "authorized_keys").write_text(f'restrict,command="internal-sftp -R" {key}\n')
    (place / "file").write_text("kept")
    good(["sftp", "-q", "-b", "-", *end], f"get {place}/file /dev/null\n".encode())
    code, _, err = run(["sftp", "-q", "-b", "-", *end], f"rm {place}/file\n".encode())
    assert code == 1 and "ermission denied" in err, err
    ssh = ["ssh", *options(server, "-p"), f"{server.user}@127.0.0.1"]
    for asked in ([], ["true"], ["internal-sftp"]):
        code, out, err = run([*ssh, *asked], b"")
        assert (code, out) == (1, b"This service allows sftp connections only.\n"), err
    assert (place / "file").read_text() == "kept"
    (server.dir / "authorized_keys").write_text(f"{key}\n")
    assert run([*ssh, "internal-sftp"], b"")[0] == 127    # a program's name as any


def test_internal_sftp_with_arguments_that_are_wrong_serves_nothing(internal, place):
    (place / "file").write_text("kept")
    server, end = internal("-P no-such-request")
    code, _, err = run(["sftp", "-b", "-", *end], f"rm {place}/file\n".encode())
    assert code == 255 and 'Unknown request "no-such-request"' in err, err
    assert (place / "file").exists()


def test_the_log_tells_who(server, place, source):
    good(["sftp", "-q", "-b", "-", *options(server, "-P"), f"{server.user}@127.0.0.1"],
         f"put {source}/plain {place}/p\n".encode())
    assert sha256_file(place / "p") == sha256_file(source / "plain")
    assert (place / "p").owner() == server.user


# -- others -------------------------------------------------------------------------------------------

def test_paramiko(server, place, source):
    import paramiko
    transport = paramiko.Transport(("127.0.0.1", server.port))
    try:
        transport.connect(username=server.user,
                          pkey=paramiko.Ed25519Key.from_private_key_file(str(server.world.keys.path("ed25519"))))
        sftp = paramiko.SFTPClient.from_transport(transport)
        for name in (*ODD, "empty", "large"):
            sftp.put(str(source / name), f"{place}/{name}")
            sftp.get(f"{place}/{name}", str(place / "back"))
            assert sha256_file(place / name) == sha256_file(place / "back") == sha256_file(source / name)
        raw = os.fsencode(place) + b"/\xff\xfe\x80"
        with sftp.open(raw, "w") as f:
            f.write(b"bytes")
        assert raw.rsplit(b"/", 1)[1] in os.listdir(os.fsencode(place))
        sftp.remove(raw)
        sftp.chdir(str(place))
        assert sftp.getcwd() == str(place)
        sftp.mkdir("d", 0o700)
        assert stat.S_IMODE(sftp.stat("d").st_mode) == 0o700
        sftp.symlink("target", "sym")
        assert sftp.readlink("sym") == "target" and os.readlink(place / "sym") == "target"
        sftp.utime("plain", (11, 12))
        assert sftp.stat("plain").st_mtime == 12
        sftp.truncate("plain", 3)
        assert sftp.stat("plain").st_size == 3
        with pytest.raises(IOError):
            sftp.rename("plain", "large")
        sftp.posix_rename("plain", "large")
        assert sftp.stat("large").st_size == 3
        with sftp.open("far", "w+") as f:
            f.seek((5 << 30) + 1)
            f.write(b"end")
            f.seek(5 << 30)
            assert f.read(10) == b"\0end"
        with sftp.open("large", "a") as f:
            f.write(b"more")
        assert sftp.stat("large").st_size == 7
        with sftp.open("ahead", "w") as f:
            f.set_pipelined(True)
            for _ in range(300):
                f.write(bytes(32768))
        assert sftp.stat("ahead").st_size == 300 * 32768
        assert {a.filename for a in sftp.listdir_attr(".")} == {p.name for p in place.iterdir()}
        with pytest.raises(FileNotFoundError):
            sftp.stat("none")
        if server.user != "root":
            with pytest.raises(PermissionError):
                sftp.open("/etc/shadow")
    finally:
        transport.close()


def test_asyncssh(server, place, source):
    import asyncssh

    async def talk():
        async with asyncssh.connect("127.0.0.1", server.port, username=server.user, known_hosts=None, config=None,
                                    client_keys=[str(server.world.keys.path("ed25519"))]) as conn:
            async with conn.start_sftp_client() as sftp:
                await sftp.put(str(source), f"{place}/up", recurse=True, preserve=True)
                await sftp.get(f"{place}/up", f"{place}/down", recurse=True, preserve=True)
                await sftp.copy(f"{place}/up/large", f"{place}/copied")
                vfs = await sftp.statvfs(str(place))
                assert vfs.bsize > 0 and vfs.namemax == 255
                await sftp.link(f"{place}/copied", f"{place}/hard")
                await sftp.posix_rename(f"{place}/hard", f"{place}/copied2")
                assert {e.filename for e in await sftp.readdir(f"{place}/up")} >= set(ODD)
                assert await sftp.realpath(f"{place}/up/..") == str(place)
                with pytest.raises(asyncssh.SFTPNoSuchFile):
                    await sftp.stat(f"{place}/none")
    asyncio.run(asyncio.wait_for(talk(), 100))
    assert tree(place / "up") == tree(place / "down") == tree(source)
    assert (place / "copied2").stat().st_nlink == 2


def test_curl(server, place, source):
    url = f"sftp://{server.user}@127.0.0.1:{server.port}"
    key = server.world.keys.path("ed25519")
    base = ["curl", "-sS", "-k", "--key", key, "--pubkey", f"{key}.pub"]
    if "sftp" not in good(["curl", "-V"]).decode():
        pytest.skip("this curl has no sftp")
    good([*base, "-T", source / "large", f"{url}{place}/large"])
    assert sha256_file(place / "large") == sha256_file(source / "large")
    good([*base, "-o", place / "back", f"{url}{place}/large"])
    assert sha256_file(place / "back") == sha256_file(source / "large")
    assert good([*base, "-r", "1000-1999", f"{url}{place}/large"]) == (source / "large").read_bytes()[1000:2000]
    out = good([*base, f"{url}{place}/"]).decode()
    assert out.count(f"{server.user}") >= 1 and " large\n" in out
    good([*base, "-Q", f"rename {place}/large {place}/renamed", "-Q", f"mkdir {place}/made", f"{url}{place}/"])
    assert (place / "renamed").exists() and (place / "made").is_dir()


def test_psftp(server, place, source):
    home = worlds.scratch("psftp")
    key = home / "key.ppk"
    good(["puttygen", server.world.keys.path("ed25519"), "-o", key, "-O", "private"])
    finger = good([programs.installed().keygen, "-l", "-f", "/dev/stdin"], server.host_publics[0].encode() + b"\n").split()[1]
    commands = f"cd {place}\nmkdir up\nlcd {source}\nput large up/large\nput empty\nput \"with blank\"\nls\nget up/large {home}/back\n" \
               "chmod 640 up/large\nmv up/large up/moved\ndel empty\nput -r a\nquit\n"
    good(["psftp", "-batch", "-hostkey", finger.decode(), "-P", server.port, "-l", server.user, "-i", key,
          "127.0.0.1"], commands.encode(), env={**os.environ, "HOME": str(home), "PUTTYDIR": str(home / ".putty")})
    assert sha256_file(place / "up" / "moved") == sha256_file(home / "back") == sha256_file(source / "large")
    assert stat.S_IMODE((place / "up" / "moved").stat().st_mode) == 0o640
    assert (place / "a" / "b" / "deep").read_text() == "deep" and (place / "with blank").exists()
    assert not (place / "empty").exists()


def connect_program(server):
    """A ssh command line for programs that run one."""
    return " ".join(str(o) for o in ["ssh", *options(server, "-p")])


def test_lftp(server, place, source):
    home = worlds.scratch("lftp")
    script = (f"set sftp:connect-program \"{connect_program(server)} -a -x\"; set net:max-retries 2; set cmd:fail-exit yes; "
              f"open sftp://{server.user}:@127.0.0.1:{server.port}; mirror -R {source} {place}/up; "
              f"mirror {place}/up {home}/down; cls -l {place}/up; mv {place}/up/plain {place}/up/moved; "
              f"rm {place}/up/empty; chmod 600 {place}/up/moved; pget -n 3 {place}/up/large -o {home}/parts; bye")
    good(["lftp", "-c", script], env={**os.environ, "HOME": str(home)})
    assert tree(home / "down") == tree(source)
    assert sha256_file(place / "up" / "moved") == sha256_file(source / "plain")
    assert sha256_file(home / "parts") == sha256_file(source / "large")
    assert not (place / "up" / "empty").exists()


def test_sshfs(server, ours, place, source):
    if not os.access("/dev/fuse", os.W_OK):
        pytest.skip("/dev/fuse cannot be used here")
    at = worlds.scratch("sshfs")
    command = ["sshfs", "-f", "-p", server.port, "-o", f"ssh_command={connect_program(server)}",
               f"{server.user}@127.0.0.1:{place}", at]
    mount = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, start_new_session=True)
    try:
        up = worlds.wait_until(lambda: os.path.ismount(at) or mount.poll() is not None, 15) and os.path.ismount(at)
        if not up and mount.poll() is not None:
            err = mount.stderr.read().decode()
            if "fuse" in err:
                pytest.skip(f"no mount here: {err.strip()}")
        assert up
        shutil.copytree(source, at / "up")
        assert tree(at / "up") == tree(source) == tree(place / "up")
        (at / "up" / "plain").rename(at / "up" / "large")
        (at / "up" / "sym").symlink_to("large")
        assert os.readlink(at / "up" / "sym") == "large"
        os.utime(at / "up" / "large", (77, 77))
        assert (place / "up" / "large").stat().st_mtime == 77
        with open(at / "grow", "wb") as f:
            f.truncate(1 << 20)
            f.seek(100)
            f.write(b"x")
            os.fsync(f.fileno())
        assert (place / "grow").stat().st_size == 1 << 20
        with open(at / "grow", "ab") as f:
            f.write(b"tail")
        assert (place / "grow").read_bytes().endswith(b"tail")
        os.link(at / "grow", at / "hard")
        assert (place / "hard").stat().st_nlink == 2
        (at / "grow").unlink()
        assert os.statvfs(at).f_namemax == 255
        for i in range(300):
            (at / f"many{i}").write_text(str(i))
        assert len(list(at.glob("many*"))) == 300
        # this file system cannot rename without replacing, so our server does it there in steps
        (at / "one").write_text("1")
        (at / "two").write_text("2")
        (at / "folder").mkdir()
        with RawSftp(ours.sftp_server) as sftp:
            for a, b in (("one", "two"), ("folder", "two"), ("one", "folder"), ("one", "one"), ("folder", "folder")):
                assert sftp.code(RENAME, s(at / a) + s(at / b)) == FAILURE
            assert sftp.code(RENAME, s(at / "none") + s(at / "other")) == NO_SUCH_FILE
            assert sftp.code(RENAME, s(at / "one") + s(at / "three")) == OK
            assert sftp.code(RENAME, s(at / "folder") + s(at / "folder2")) == OK
        assert (place / "three").read_text() == "1" and (place / "two").read_text() == "2"
        assert not (place / "one").exists() and (place / "folder2").is_dir() and not (place / "folder").exists()
        shutil.rmtree(at / "up")
        assert not (place / "up").exists()
    finally:
        subprocess.run(["fusermount3", "-u", "-z", at], capture_output=True, timeout=20)
        worlds.end(mount)


def test_ten_thousand_and_one_files_through_sshd(server, place):
    for i in range(10001):
        os.close(os.open(place / f"f{i}", os.O_CREAT | os.O_WRONLY))
    begin = time.monotonic()
    out = good(["sftp", "-q", "-b", "-", *options(server, "-P"), f"{server.user}@127.0.0.1"], f"ls -1 {place}\n".encode())
    assert len(out.split()) == 10001 + 4        # and the echo of the command
    assert time.monotonic() - begin < 60

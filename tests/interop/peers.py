# SPDX-License-Identifier: ISC
"""How each peer of peers.toml is started.

A server class makes a listening Server; a client class has run(server, command, ...) -> Result.
Peers written here (peers/) share one command line, see peers/paramiko_client.py and _server.py.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import lru_cache
from pathlib import Path

from harness import programs, server, world
from harness.client import Result, Ssh, feed, feed_tty

HERE = Path(__file__).resolve().parent
PYTHON = sys.executable
TABLE = tomllib.loads((HERE / "peers.toml").read_text())


def find(program):
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise RuntimeError(f"{program} is not installed (./check installs it)")
    return path


def made(command, **kw):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **kw)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


@lru_cache
def libssh_peer(name):
    out = world.scratch("libssh") / name
    made([os.environ.get("CC", "gcc"), "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-o", out,
          HERE / "peers" / f"{name}.c", "-lssh", "-lutil"])
    return [str(out)]


@lru_cache
def go_peer(name):
    folder = world.scratch("go")
    out = folder / name
    made(["go", "build", "-o", out, HERE / "peers" / name / "main.go"], cwd=folder,
         env={**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOFLAGS": "",
              "GOCACHE": str(folder / "cache"), "HOME": str(folder)})
    return [str(out)]


@lru_cache
def dropbear_scp():
    """Dropbear's scp, in a folder that every user may enter."""
    return programs.for_everyone(made([programs.TOP / "tools" / "dropbear_scp.sh"]).strip())


def python_peer(name):
    return [PYTHON, "-B", str(HERE / "peers" / f"{name}.py")]


# -- servers ------------------------------------------------------------------------------------------

class OpensshServer(server.Sshd):
    def __init__(self, w, rekey=0, **kw):
        super().__init__(w, programs.installed(), [f"RekeyLimit {rekey}"] if rekey else [], **kw)


class ScriptServer(server.Server):
    """A server of peers/."""

    def __init__(self, w, rekey=0, name=None):
        super().__init__(w, type(self).__name__)
        self.password = "a word of its own"
        key = w.keys.path("ed25519", "host")
        self.host_publics = [w.keys.public("ed25519", "host")]
        self.arguments = [str(self.port), str(key), " ".join(w.keys.public("ed25519").split()[:2]), self.user,
                          self.password, str(rekey)]

    def start(self):
        return self.launch([*self.program(), *self.arguments])


class ParamikoServer(ScriptServer):
    def program(self):
        return python_peer("paramiko_server")


class AsyncsshServer(ScriptServer):
    def program(self):
        return python_peer("asyncssh_server")


class LibsshServer(ScriptServer):
    def program(self):
        return libssh_peer("libssh_server")


class GoServer(ScriptServer):
    def program(self):
        return go_peer("go-server")


class DropbearServer(server.Server):
    """stands: {path: what stands there for this server}; it looks for scp and sftp-server in places of its own."""

    def __init__(self, w, rekey=0, link=None, stands=None):
        super().__init__(w, "dropbear", link)
        self.stands = stands or {}
        self.key = self.dir / "host"
        text = made([find("dropbearkey"), "-t", "ed25519", "-f", self.key])
        self.host_publics = [next(line for line in text.splitlines() if line.startswith("ssh-ed25519"))]

    def start(self):
        command = [find("dropbear"), "-F", "-E", "-p", f"{self.host}:{self.port}", "-r", str(self.key),
                   "-P", str(self.dir / "pid")]
        if self.stands:
            mounts = [f"mount --bind {shlex.quote(str(there))} {shlex.quote(path)} &&" for path, there in self.stands.items()]
            command = [*world.own_mounts(), "sh", "-c", " ".join([*mounts, 'exec "$@"']), "sh", *command]
        return self.launch(command)


class TinysshServer(server.Server):
    def __init__(self, w, rekey=0):
        super().__init__(w, "tinysshd")
        self.keydir = self.dir / "keys"
        made([find("tinysshd-makekey"), self.keydir])
        text = made([find("tinysshd-printkey"), self.keydir])
        self.host_publics = [next(line for line in text.splitlines() if line.startswith("ssh-ed25519"))]

    def start(self):
        return self.launch([*python_peer("tcpserver"), str(self.port), find("tinysshd"), "-v", str(self.keydir)])


# -- clients ------------------------------------------------------------------------------------------

class OpensshClient(Ssh):
    def __init__(self, w):
        super().__init__(w, programs.installed())


class ScriptClient:
    """A client of peers/: tells status and signal on its last line of stderr."""
    tells_signal = True

    def __init__(self, w):
        self.world = w

    def run(self, srv, remote, stdin=None, auth="key", pty=False, rekey=None, timeout=120, out=None):
        login = f"key:{self.world.keys.path('ed25519')}" if auth == "key" else f"password:{srv.password}"
        command = [*self.program(), str(srv.port), srv.user, login, " ".join(srv.host_publics[0].split()[:2]),
                   "1" if pty else "0", str(rekey or 0), remote]
        code, got, err = feed(command, stdin if stdin is not None else b"", timeout, out=out)
        m = re.search(r"^peer: (status|signal) (\S+)\s*\Z", err, re.M)
        if not m:
            return Result(None, None, got, f"{err}\n*** ended with {code}, no status")
        return Result(int(m[2]) if m[1] == "status" else None, m[2] if m[1] == "signal" else None, got, err)


class ParamikoClient(ScriptClient):
    tells_signal = False

    def program(self):
        return python_peer("paramiko_client")


class AsyncsshClient(ScriptClient):
    def program(self):
        return python_peer("asyncssh_client")


class LibsshClient(ScriptClient):
    def program(self):
        return libssh_peer("libssh_client")


class GoClient(ScriptClient):
    def program(self):
        return go_peer("go-client")


class DropbearClient:
    """It knows no exit-signal and then ends with 0; with -t it wants a terminal itself."""
    tells_signal, signal_status = False, 0

    def __init__(self, w):
        self.world = w
        self.key = world.scratch("dbclient") / "key"
        made([find("dropbearconvert"), "openssh", "dropbear", w.keys.path("ed25519"), self.key])

    def run(self, srv, remote, stdin=None, auth="key", pty=False, rekey=None, timeout=120, out=None):
        command = [find("dbclient"), "-y", "-y", "-p", str(srv.port), *(["-t"] if pty else []),
                   *(["-i", str(self.key)] if auth == "key" else []), f"{srv.user}@127.0.0.1", remote]
        env = {"DROPBEAR_PASSWORD": srv.password} if auth == "password" else {}
        env["HOME"] = str(self.key.parent)
        if pty:
            code, got, err = feed_tty(command, stdin.replace(b"\n", b"\r"), timeout, env)
            return Result(code, None, got, err)
        code, got, err = feed(command, stdin if stdin is not None else b"", timeout, env, out)
        return Result(code, None, got, err)


class PlinkClient:
    tells_signal = False

    def __init__(self, w):
        self.world = w
        self.home = world.scratch("plink")
        self.key = self.home / "key.ppk"
        made([find("puttygen"), w.keys.path("ed25519"), "-o", self.key, "-O", "private"])
        sessions = self.home / ".putty" / "sessions"
        sessions.mkdir(parents=True)
        (sessions / "rekey").write_text("Protocol=ssh\nRekeyBytes=16M\n")

    def run(self, srv, remote, stdin=None, auth="key", pty=False, rekey=None, timeout=120, out=None):
        text = made([programs.installed().keygen, "-l", "-f", "/dev/stdin"], input=srv.host_publics[0] + "\n")
        command = [find("plink"), *(["-load", "rekey"] if rekey else []), "-ssh", "-batch", "-no-antispoof",
                   "-hostkey", text.split()[1], "-P", str(srv.port), "-l", srv.user, "-t" if pty else "-T"]
        command += ["-i", str(self.key)] if auth == "key" else ["-pw", srv.password]
        code, got, err = feed([*command, "127.0.0.1", remote], stdin if stdin is not None else b"", timeout,
                              {"HOME": str(self.home), "PUTTYDIR": str(self.home / ".putty")}, out)
        return Result(code, None, got, err)


def make(side, name, *args, **kw):
    return globals()[TABLE[side][name]["class"]](*args, **kw)

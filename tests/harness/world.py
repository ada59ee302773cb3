# SPDX-License-Identifier: ISC
"""The ground of a test run: a scratch directory, the account to log in as, keys, payloads, processes."""
import getpass
import hashlib
import os
import pwd
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

PAYLOAD = 64 << 20


def scratch(name):
    base = os.environ.get("BOWLINE_TMP") or tempfile.gettempdir()
    path = Path(tempfile.mkdtemp(prefix=name + "-", dir=base))
    path.chmod(0o755)
    return path


def own_mounts():
    """What runs a command that mounts for itself alone; None where that cannot be had."""
    command = ["unshare", "-m"]
    if subprocess.run([*command, "true"], capture_output=True).returncode == 0:
        return command
    command += ["--propagation", "unchanged"]   # in a chroot "/" is no mount point; contain.py has cut it off from outside
    works = os.environ.get("BOWLINE_USER") and subprocess.run([*command, "true"], capture_output=True).returncode == 0
    return command if works else None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(what, seconds=10.0, step=0.02):
    """True as soon as what() is; False when the time is over."""
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(step)
    return True


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
        return True
    except OSError:
        return False


def end(process, grace=3.0):
    """Ends a process that this run started, and what is left of its group."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def fill(path, mib):
    """Random data that everyone may read."""
    with open(path, "wb") as f:
        for _ in range(mib):
            f.write(os.urandom(1 << 20))
    path.chmod(0o644)


def sha256_file(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            h.update(block)
    return h.hexdigest()


@dataclass
class Account:
    """Whom tests log in as."""
    user: str
    home: Path
    password: str | None = None
    private: bool = False       # a throw-away account with a home of its own
    why_no_password: str = ""


def account():
    if os.environ.get("BOWLINE_USER"):
        return Account(os.environ["BOWLINE_USER"], Path(os.environ["BOWLINE_HOME"]),
                       os.environ["BOWLINE_PASSWORD"], True)
    why = os.environ.get("BOWLINE_NO_ACCOUNT", "run through ./check, which makes a private account")
    return Account(getpass.getuser(), Path(pwd.getpwuid(os.getuid()).pw_dir), why_no_password=why)


@dataclass
class Keys:
    """Throw-away keys made by the installed or the tested ssh-keygen: paths without .pub."""
    folder: Path
    keygen: str
    made: dict = field(default_factory=dict)

    def path(self, kind, use="user"):
        """kind: ed25519, ecdsa-256/384/521, rsa-2048...; use keeps host and user keys apart."""
        name = f"{use}-{kind}"
        if name not in self.made:
            path = self.folder / name
            kind_name, _, bits = kind.partition("-")
            command = [self.keygen, "-q", "-t", kind_name, "-N", "", "-C", name, "-f", str(path)]
            if bits:
                command += ["-b", bits]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
            self.made[name] = path
        return self.made[name]

    def public(self, kind, use="user"):
        return (self.path(kind, use).parent / (self.path(kind, use).name + ".pub")).read_text().strip()


@dataclass
class World:
    tmp: Path
    account: Account
    keys: Keys
    payload: Path
    payload_hash: str

    @classmethod
    def make(cls, keygen, payload_mib=PAYLOAD >> 20):
        tmp = scratch("world")
        (tmp / "keys").mkdir(mode=0o755)
        payload = tmp / "payload"
        fill(payload, payload_mib)
        who = account()
        keys = Keys(tmp / "keys", keygen)
        if who.private:
            file = who.home / ".ssh" / "authorized_keys"
            file.write_text("".join(keys.public(k) + "\n" for k in ("ed25519", "ecdsa-256", "rsa-2048")))
            entry = pwd.getpwnam(who.user)
            os.chown(file, entry.pw_uid, entry.pw_gid)
            file.chmod(0o600)
        return cls(tmp, who, keys, payload, sha256_file(payload))

# SPDX-License-Identifier: ISC
"""Where the programs are: those under test and the installed OpenSSH."""
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Programs:
    name: str
    ssh: str
    sshd: str
    keygen: str

    @cached_property
    def is_bowline(self):
        return self.name != "openssh"

    @cached_property
    def speed(self):
        """ssh-speed, which only we have."""
        ssh = Path(self.ssh)
        places = [ssh.parent / "ssh-speed", ssh.parent.parent / "ssh-speed" / "ssh-speed"]
        path = next((p for p in places if p.is_file()), None)
        if path is None or not self.is_bowline:
            raise RuntimeError(f"no ssh-speed beside {ssh}")
        return str(path)

    @cached_property
    def sftp_server(self):
        if not self.is_bowline:
            return "/usr/lib/openssh/sftp-server"
        ssh = Path(self.ssh)
        places = [ssh.parent / "sftp-server", ssh.parent.parent / "sftp-server" / "sftp-server"]
        path = next((p for p in places if p.is_file()), None)
        if path is None:
            raise RuntimeError(f"no sftp-server beside {ssh}")
        return str(path)

    def query(self, what):
        """The names `ssh -Q what` prints."""
        done = subprocess.run([self.ssh, "-Q", what], capture_output=True, text=True, timeout=20)
        if done.returncode != 0:
            raise RuntimeError(f"{self.ssh} -Q {what}: {done.stderr.strip()}")
        return done.stdout.split()


def installed():
    """The OpenSSH of this machine, or None."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    found = [shutil.which(name, path=path) for name in ("ssh", "sshd", "ssh-keygen")]
    return Programs("openssh", *found) if all(found) else None


def under_test():
    where = os.environ.get("BOWLINE_BIN") or str(TOP / "build")
    if where == "installed":
        programs = installed()
        if programs is None:
            raise RuntimeError("BOWLINE_BIN=installed, but OpenSSH is not installed")
        return programs
    base = Path(where)
    if not base.is_absolute():
        base = TOP / base
    found = []
    for name in ("ssh", "sshd", "ssh-keygen"):
        places = [base / name, base / "src" / "app" / name / name]
        path = next((p for p in places if p.is_file()), None)
        if path is None:
            raise RuntimeError(f"no {name} in {base}: build first (./check does)")
        found.append(str(path))
    return Programs("bowline-asan" if "asan" in base.name else "bowline", *found)

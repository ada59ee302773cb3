# SPDX-License-Identifier: ISC
"""Where the programs are: those under test and the installed OpenSSH."""
import atexit
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent


@lru_cache
def for_everyone(program):
    """The program (or folder), or a copy of it where the tree is in a place that only root may enter: a server starts
    it as another user."""
    if all(folder.stat().st_mode & 0o001 for folder in Path(program).parents):
        return program
    place = tempfile.mkdtemp(prefix="bowline-programs-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    os.chmod(place, 0o755)
    if Path(program).is_dir():
        return shutil.copytree(program, Path(place) / Path(program).name)
    return shutil.copy(program, place)


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

    def beside(self, name):
        """Another program of the same build or installation."""
        ssh = Path(self.ssh)
        places = [ssh.parent / name, ssh.parent.parent / name / name]
        path = next((p for p in places if p.is_file()), None)
        if path is None:
            raise RuntimeError(f"no {name} beside {ssh}")
        return str(path)

    @cached_property
    def scp(self):
        return for_everyone(self.beside("scp"))

    @cached_property
    def add(self):
        return self.beside("ssh-add")

    @cached_property
    def copy_id(self):
        return self.beside("ssh-copy-id")

    @cached_property
    def agent(self):
        return self.beside("ssh-agent")

    @cached_property
    def keychain(self):
        """The helper that speaks to the Secret Service, which the build may leave out."""
        return self.beside("ssh-keychain")

    @cached_property
    def sftp(self):
        return self.beside("sftp")

    @cached_property
    def sftp_server(self):
        if not self.is_bowline:
            return "/usr/lib/openssh/sftp-server"
        return for_everyone(self.beside("sftp-server"))

    def query(self, what):
        """The names `ssh -Q what` prints."""
        done = subprocess.run([self.ssh, "-Q", what], capture_output=True, text=True, timeout=20)
        if done.returncode != 0:
            raise RuntimeError(f"{self.ssh} -Q {what}: {done.stderr.strip()}")
        return done.stdout.split()


def is_openssh(program):
    """Whether -V names OpenSSH itself: ours says Bowline and may be installed under the same names."""
    try:
        done = subprocess.run([program, "-V"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    text = done.stderr + done.stdout
    return "Bowline" not in text and any(line.startswith("OpenSSH_") for line in text.splitlines())


@lru_cache
def openssh_in(path):
    """OpenSSH's programs in the folders of a PATH, passing over everything else; None without them.  ssh-keygen
    tells no version: it is the one beside ssh."""
    folders = [Path(folder) for folder in dict.fromkeys(path.split(":")) if folder]

    def named(name):
        return (folder / name for folder in folders if os.access(folder / name, os.X_OK))

    ssh = next((p for p in named("ssh") if os.access(p.with_name("ssh-keygen"), os.X_OK) and is_openssh(p)), None)
    sshd = next(filter(is_openssh, named("sshd")), None)
    return Programs("openssh", str(ssh), str(sshd), str(ssh.with_name("ssh-keygen"))) if ssh and sshd else None


def installed():
    """The OpenSSH of this machine, or None."""
    return openssh_in(os.environ.get("PATH", "") + ":/usr/bin:/usr/sbin:/bin:/sbin")


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

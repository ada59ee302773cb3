# SPDX-License-Identifier: ISC
"""Servers: sshd (ours or OpenSSH's), and anything else that listens, on a high port of loopback."""
import os
import subprocess
from pathlib import Path

from . import world
from .link import SERVER_HOST as LINK_HOST


class Server:
    """A process that accepts connections on self.port; stop() leaves nothing of it."""
    offers_password = True

    def __init__(self, w, name, link=None):
        self.world, self.name, self.link = w, name, link
        self.host = LINK_HOST if link else "127.0.0.1"
        self.dir = world.scratch(name)
        self.port = world.free_port()
        self.user, self.password = w.account.user, w.account.password
        self.process = None
        self.log_path = self.dir / "log"

    def launch(self, command, env=None, cwd=None, preexec_fn=None):
        log = open(self.log_path, "ab")
        if self.link:
            command = [*self.link.prefix("server"), *command]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        start_new_session=True, cwd=cwd, preexec_fn=preexec_fn,
                                        env={**os.environ, **(env or {})})
        log.close()
        can_connect = self.link.can_connect if self.link else world.can_connect
        if not world.wait_until(lambda: can_connect(self.port) or self.process.poll() is not None, 20) \
                or self.process.poll() is not None:
            self.stop()
            raise RuntimeError(f"{self.name} did not start: {' '.join(map(str, command))}\n{self.log()}")
        return self

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def stop(self):
        if self.process is not None:
            world.end(self.process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Sshd(Server):
    """sshd with a configuration of its own; options are more lines for it."""

    def __init__(self, w, programs, options=(), host_kinds=("ed25519",), name=None, log_level="DEBUG1",
                 link=None):
        super().__init__(w, name or f"sshd-{programs.name}", link)
        self.programs = programs
        authorized = self.dir / "authorized_keys"
        authorized.write_text("".join(w.keys.public(k) + "\n" for k in
                                      ("ed25519", "ecdsa-256", "ecdsa-384", "ecdsa-521", "rsa-2048")))
        authorized.chmod(0o644)
        lines = [f"Port {self.port}", f"ListenAddress {self.host}", f"PidFile {self.dir}/pid",
                 f"AuthorizedKeysFile {authorized}", "StrictModes no", f"LogLevel {log_level}",
                 f"PasswordAuthentication {'yes' if w.account.password else 'no'}",
                 "KbdInteractiveAuthentication no", *(f"HostKey {self.host_key(k)}" for k in host_kinds), *options]
        self.config = self.dir / "sshd_config"
        self.config.write_text("\n".join(lines) + "\n")
        self.host_publics = [w.keys.public(k, "host") for k in host_kinds]

    def host_key(self, kind):
        path = self.world.keys.path(kind, "host")
        path.chmod(0o600)
        return path

    def start(self, *args):
        return self.launch([self.programs.sshd, "-D", "-e", "-f", str(self.config), *args])


def known_hosts(server, path):
    """Writes the server's host keys for [host]:port into a known_hosts file."""
    Path(path).write_text("".join(f"[{server.host}]:{server.port} {' '.join(p.split()[:2])}\n"
                                  for p in server.host_publics))
    return path

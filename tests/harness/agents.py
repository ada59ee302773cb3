# SPDX-License-Identifier: ISC
"""Agents for tests: OpenSSH's, gpg-agent, pageant, and one that answers what it is told to."""
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
from pathlib import Path

from . import world


class Agent:
    """A process behind a socket; env is what programs need to find it."""

    def __init__(self, command, path, env=None):
        self.path = Path(path)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, start_new_session=True, env=env)
        self.env = {"SSH_AUTH_SOCK": str(path)}

    def answers(self):
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(str(self.path)) == 0

    def __enter__(self):
        if not world.wait_until(lambda: self.answers() or self.process.poll() is not None, 10) or \
                self.process.poll() is not None:
            world.end(self.process)
            raise RuntimeError(f"the agent did not start: {self.process.stderr.read()}")
        return self

    def __exit__(self, *_):
        world.end(self.process)
        self.process.stderr.close()


def openssh(folder, *args, env=None):
    program = shutil.which("ssh-agent")
    return Agent([program, "-D", "-a", str(folder / "agent"), *args], folder / "agent",
                 env={**os.environ, **(env or {})})


def ours(programs, folder, *args, env=None):
    return Agent([programs.agent, "-D", "-a", str(folder / "agent"), *args], folder / "agent", env={**os.environ, **(env or {})})


def frame(number, body=b""):
    return struct.pack(">IB", len(body) + 1, number) + body


def string(data):
    return struct.pack(">I", len(data)) + data


class Fake:
    """Answers each request with the next of `answers` (bytes as they go out; None: never)."""

    def __init__(self, folder, answers):
        self.path, self.answers, self.requests = folder / "fake", list(answers), []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.env = {"SSH_AUTH_SOCK": str(self.path)}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def request(self, peer):
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack(">I", data[:4])[0]:
            more = peer.recv(65536)
            if not more:
                return None
            data += more
        return data

    def serve(self):
        try:
            peer, _ = self.listener.accept()
            for answer in self.answers:
                asked = self.request(peer)
                if asked is None:
                    return
                self.requests.append(asked)
                if answer is None:
                    self.over.wait(60)
                    return
                peer.sendall(answer)
            peer.close()
        except OSError:
            pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def gpg(folder):
    """gpg-agent with one authentication key, as (agent, the key's public line); None without GnuPG."""
    if not shutil.which("gpg") or not shutil.which("gpg-agent"):
        return None
    home = folder / "gnupg"
    home.mkdir(mode=0o700)
    env = {**os.environ, "GNUPGHOME": str(home)}

    def run(*args, data=""):
        return subprocess.run([*args], input=data, capture_output=True, text=True, env=env, timeout=60, check=True)

    (home / "gpg-agent.conf").write_text("enable-ssh-support\n")
    run("gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-gen-key", "me@example", "ed25519", "auth",
        "never")
    grip = re.findall(r"Keygrip = (\w+)", run("gpg", "--with-keygrip", "-K").stdout)[0]
    (home / "sshcontrol").write_text(grip + "\n")
    line = run("gpg", "--export-ssh-key", "me@example").stdout.strip()
    return home, env, line

# SPDX-License-Identifier: ISC
"""An agent of OpenSSH that tests lend to servers, and what its keys' owner would type."""
import os
import shutil
import subprocess

from . import world

AGENT, ADD = shutil.which("ssh-agent"), shutil.which("ssh-add")


class Lent:
    """An agent behind a socket of its own, with the keys of these kinds in it."""

    def __init__(self, w, *kinds, program=AGENT):
        self.world, self.dir = w, world.scratch("agent")
        self.path = self.dir / "socket"
        self.process = subprocess.Popen([program, "-D", "-a", str(self.path)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        assert world.wait_until(self.path.exists, 10), "the agent did not start"
        self.env = {"SSH_AUTH_SOCK": str(self.path)}
        for kind in kinds:
            self.add(str(w.keys.path(kind)))

    def add(self, *words):
        done = subprocess.run([ADD, *words], env={**os.environ, **self.env}, capture_output=True, text=True,
                              timeout=30)
        assert done.returncode == 0, done.stderr
        return done

    def list(self):
        return subprocess.run([ADD, "-L"], env={**os.environ, **self.env}, capture_output=True, text=True,
                              timeout=30).stdout

    def stop(self):
        world.end(self.process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

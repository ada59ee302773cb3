# SPDX-License-Identifier: ISC
"""scp and sftp (ours or OpenSSH's) as command lines against a server."""
import os
from pathlib import Path

from . import server as servers
from . import world


class Copy:
    """The two programs of one implementation.  OpenSSH's are told which ssh to start; ours log in themselves."""

    def __init__(self, w, programs):
        self.world, self.programs = w, programs

    def options(self, server, options=(), debug=None):
        """What scp and sftp both take, -P too."""
        known = servers.known_hosts(server, world.scratch("copy") / "known_hosts")
        words = ["-F", "none", "-P", str(server.port), "-i", str(self.world.keys.path("ed25519"))]
        if not self.programs.is_bowline:
            words += ["-S", self.programs.ssh]
        for option in ("GlobalKnownHostsFile=none", "IdentitiesOnly=yes", "BatchMode=yes", "StrictHostKeyChecking=yes",
                       f"UserKnownHostsFile={known}", *options):
            words += ["-o", option]
        return words

    def start(self, server, program, options):
        prefix = server.link.prefix("client") if server.link else []
        return [*prefix, program, *self.options(server, options)]

    def scp(self, server, *words, options=()):
        """scp with these words behind the options; there() makes a remote one."""
        return [*self.start(server, self.programs.scp, options), *map(str, words)]

    def sftp(self, server, *lines, options=(), flags=()):
        """sftp with a batch of these lines."""
        batch = world.scratch("batch") / "lines"
        batch.write_bytes(b"".join(os.fsencode(line) + b"\n" for line in lines))
        return [*self.start(server, self.programs.sftp, options), "-q", *flags, "-b", str(batch),
                f"{server.user}@{server.host}"]


def there(server, path):
    return f"{server.user}@{server.host}:{path}"


def make_tree(top, folders, files, size, data=None):
    """`files` files of `size` bytes in `folders` directories below top, readable by everyone."""
    data = data or os.urandom(size)
    top = Path(top)
    top.mkdir(mode=0o755)
    for i in range(files):
        folder = top / f"d{i % folders:04d}"
        if i < folders:
            folder.mkdir(mode=0o755)
        (folder / f"f{i // folders:04d}").write_bytes(data)
    return top

# SPDX-License-Identifier: ISC
"""A server of one script (rawssh.py), and our client run against it."""
import socket
import threading

from . import rawssh as raw
from .client import Ssh
from .server import Server


class RawServer(Server):
    """script(peer) runs for each connection, one after the other; what it raises fails the test.

    more: how the peers are made (rawssh.Raw)."""

    def __init__(self, w, script, **more):
        super().__init__(w, "raw")
        self.key, self.script, self.more = raw.new_key(), script, more
        self.host_publics = [raw.public_line(self.key)]
        self.faults, self.closed = [], []
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=5)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            try:
                self.script(raw.Raw(connection, "server", self.key, **self.more))
            except raw.Closed as e:
                self.closed.append(str(e))
            except BaseException as e:      # noqa: B902 - told to the test's own thread
                self.faults.append(e)
            connection.close()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)


def run(world, ours, script, command="x", peer=None, **kw):
    """Our client against a script; (result, server)."""
    with RawServer(world, script, **(peer or {})) as server:
        result = Ssh(world, ours).run(server, command, timeout=kw.pop("timeout", 60), **kw)
    return result, server


def well(result, server, status=0):
    assert not server.faults, f"{server.faults[0]!r}\n{result}"
    assert result.status == status, f"{result}\nserver saw: {server.closed}"
    return result

# SPDX-License-Identifier: ISC
"""A path with delay between a server's and a client's network namespace (tests/link/link.c)."""
import os
import subprocess
import sys
from functools import lru_cache

from . import world
from .programs import TOP

SERVER_HOST = "10.77.0.1"
ECHO_SERVER = """
import socket
with socket.create_server(("0.0.0.0", 0)) as s:
    print(s.getsockname()[1], flush=True)
    c, _ = s.accept()
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while block := c.recv(4096):
        c.sendall(block)
"""
ECHO_CLIENT = """
import socket, statistics, sys, time
took = []
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as s:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(15):
        begin = time.monotonic()
        s.sendall(bytes(200))
        s.recv(4096)
        took.append((time.monotonic() - begin) * 1000)
print(statistics.median(took))
"""


def why_not():
    """Why there can be no such path here; None when there can."""
    if os.getuid() != 0:
        return "a path with delay needs root (network namespaces and TUN)"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "there is no /dev/net/tun"
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        return "no network namespaces here"
    return None


@lru_cache
def program():
    out = world.scratch("link") / "link"
    subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-o", str(out),
                    str(TOP / "tests/link/link.c")], check=True, timeout=60)
    return str(out)


class Link:
    """with Link(rtt_ms=100) as link: link.inside_server([...]), link.inside_client([...])"""

    def __init__(self, rtt_ms, rate_mbit=0, queue=1000, loss_ppm=0):
        self.arguments = [str(n) for n in (rtt_ms, rate_mbit, queue, loss_ppm)]

    def __enter__(self):
        self.process = subprocess.Popen([program(), *self.arguments], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, start_new_session=True)
        line = self.process.stdout.readline().split()
        if len(line) != 2:
            world.end(self.process)
            raise RuntimeError("the link did not start")
        self.server_pid, self.client_pid = line
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        world.end(self.process)

    def prefix(self, side):
        pid = self.server_pid if side == "server" else self.client_pid
        return ["nsenter", f"--net=/proc/{pid}/ns/net"]

    def echo_ms(self):
        """What a round trip of one small segment really takes here: the delay, and what the machine adds."""
        server = subprocess.Popen([*self.prefix("server"), sys.executable, "-c", ECHO_SERVER], text=True,
                                  stdout=subprocess.PIPE)
        port = server.stdout.readline().strip()
        done = subprocess.run([*self.prefix("client"), sys.executable, "-c", ECHO_CLIENT, SERVER_HOST, port],
                              capture_output=True, text=True, check=True)
        server.wait()
        server.stdout.close()
        return float(done.stdout)

    def can_connect(self, port):
        code = f"import socket; socket.create_connection(('{SERVER_HOST}', {port}), 5)"
        return subprocess.run([*self.prefix("client"), sys.executable, "-c", code],
                              capture_output=True).returncode == 0

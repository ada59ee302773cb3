#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""An AsyncSSH server with the arguments of all peers here:
PORT HOSTKEY-FILE USER-PUBLIC-KEY USER PASSWORD REKEY-BYTES
PEER_CIPHER and PEER_MAC in the environment: all that it offers, with commas."""
import asyncio
import fcntl
import os
import pty
import signal
import sys
import termios
import warnings

warnings.simplefilter("ignore")     # asyncssh loads old ciphers
import asyncssh

PORT, HOSTKEY, PUBLIC, USER, PASSWORD, REKEY = sys.argv[1:7]
ALLOWED = asyncssh.import_public_key(PUBLIC)


class Auth(asyncssh.SSHServer):
    def begin_auth(self, username):
        return True

    def public_key_auth_supported(self):
        return True

    def validate_public_key(self, username, key):
        return username == USER and key == ALLOWED

    def password_auth_supported(self):
        return True

    def validate_password(self, username, password):
        return username == USER and password == PASSWORD


async def up(source, sink, close):
    """What the client sends, to the child."""
    try:
        while block := await source.read(1 << 16):
            await asyncio.to_thread(write_all, sink, block)
    except (OSError, asyncssh.Error):
        pass
    if close:
        os.close(sink)


def write_all(fd, block):
    view = memoryview(block)
    while view:
        view = view[os.write(fd, view):]


async def down(source, sink):
    """What the child says, to the client, until its other end is closed."""
    while True:
        try:
            block = await asyncio.to_thread(os.read, source, 1 << 16)
        except OSError:
            break
        if not block:
            break
        sink.write(block)
        await sink.drain()
    os.close(source)


def attach(terminal):
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


async def run(process):
    if process.get_terminal_type():
        master, slave = pty.openpty()
        child = await asyncio.create_subprocess_exec("/bin/sh", "-c", process.command, stdin=slave, stdout=slave,
                                                     stderr=slave, preexec_fn=lambda: attach(slave))
        os.close(slave)
        sender = asyncio.ensure_future(up(process.stdin, os.dup(master), True))
        await down(master, process.stdout)
    else:
        pipes = [os.pipe() for _ in range(3)]
        child = await asyncio.create_subprocess_shell(process.command, stdin=pipes[0][0], stdout=pipes[1][1],
                                                      stderr=pipes[2][1])
        for fd in (pipes[0][0], pipes[1][1], pipes[2][1]):
            os.close(fd)
        sender = asyncio.ensure_future(up(process.stdin, pipes[0][1], True))
        await asyncio.gather(down(pipes[1][0], process.stdout), down(pipes[2][0], process.stderr))
    status = await child.wait()
    sender.cancel()
    if status < 0:
        process.exit_with_signal(signal.Signals(-status).name[3:])
    else:
        process.exit(status)


async def main():
    options = {"rekey_bytes": int(REKEY)} if int(REKEY) else {}
    for name, option in (("PEER_CIPHER", "encryption_algs"), ("PEER_MAC", "mac_algs")):
        if name in os.environ:
            options[option] = os.environ[name].split(",")
    server = await asyncssh.listen("127.0.0.1", int(PORT), server_factory=Auth, server_host_keys=[HOSTKEY],
                                   process_factory=run, sftp_factory=True, encoding=None, line_editor=False,
                                   **options)
    await server.wait_closed()


asyncio.run(main())

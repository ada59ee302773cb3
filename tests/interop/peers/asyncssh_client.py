#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""An AsyncSSH client with the arguments of all peers here:
PORT USER key:FILE|password:WORD HOSTKEY PTY REKEY-BYTES COMMAND
PEER_CIPHER and PEER_MAC in the environment: the only ones that it offers."""
import asyncio
import os
import sys
import warnings

warnings.simplefilter("ignore")     # asyncssh loads old ciphers
import asyncssh


async def send(sink):
    try:
        while block := await asyncio.to_thread(sys.stdin.buffer.read1, 1 << 16):
            sink.write(block)
            await sink.drain()
        sink.write_eof()
    except (BrokenPipeError, asyncssh.Error):
        pass        # the command ended without reading


async def receive(source, sink):
    while block := await source.read(1 << 18):
        sink.write(block)
    sink.flush()


async def main():
    port, user, login, hostkey, pty, rekey, command = sys.argv[1:8]
    how, what = login.split(":", 1)
    options = {"client_keys": [what], "password": None} if how == "key" else {"client_keys": None, "password": what}
    if int(rekey):
        options["rekey_bytes"] = int(rekey)
    for name, option in (("PEER_CIPHER", "encryption_algs"), ("PEER_MAC", "mac_algs")):
        if name in os.environ:
            options[option] = [os.environ[name]]
    known = asyncssh.import_known_hosts(f"[127.0.0.1]:{port} {hostkey}\n")
    async with asyncssh.connect("127.0.0.1", int(port), username=user, known_hosts=known, agent_path=None,
                                config=None, **options) as connection:
        process = await connection.create_process(
            command, encoding=None, **({"term_type": "xterm", "term_size": (80, 24)} if int(pty) else {}))
        await asyncio.gather(send(process.stdin), receive(process.stdout, sys.stdout.buffer),
                             receive(process.stderr, sys.stderr.buffer))
        await process.wait_closed()
        if process.exit_signal:
            print(f"\npeer: signal {process.exit_signal[0]}", file=sys.stderr)
        else:
            print(f"\npeer: status {process.exit_status}", file=sys.stderr)


asyncio.run(main())

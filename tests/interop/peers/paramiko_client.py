#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""A paramiko client with the arguments of all peers here:
PORT USER key:FILE|password:WORD HOSTKEY PTY REKEY-BYTES COMMAND"""
import base64
import os
import socket
import sys
import threading

import paramiko


def load_key(path):
    for kind in (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey):
        try:
            return kind.from_private_key_file(path)
        except paramiko.SSHException:
            pass
    sys.exit(f"paramiko cannot read {path}")


def pump_in(channel):
    while block := sys.stdin.buffer.read1(1 << 16):
        channel.sendall(block)
    channel.shutdown_write()


def pump_err(channel):
    while block := channel.recv_stderr(1 << 16):
        sys.stderr.buffer.write(block)


def main():
    port, user, login, hostkey, pty, rekey, command = sys.argv[1:8]
    transport = paramiko.Transport(socket.create_connection(("127.0.0.1", int(port))))
    if int(rekey):
        transport.packetizer.REKEY_BYTES = int(rekey)
    transport.start_client(timeout=30)
    if transport.get_remote_server_key().asbytes() != base64.b64decode(hostkey.split()[1]):
        sys.exit("another host key")
    how, what = login.split(":", 1)
    if how == "key":
        transport.auth_publickey(user, load_key(what))
    else:
        transport.auth_password(user, what)
    channel = transport.open_session()
    if int(pty):
        channel.get_pty("xterm", 80, 24)
    channel.exec_command(command)
    threads = [threading.Thread(target=f, args=(channel,), daemon=True) for f in (pump_in, pump_err)]
    for t in threads:
        t.start()
    while block := channel.recv(1 << 18):
        sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()
    threads[1].join(5)
    status = channel.recv_exit_status()
    sys.stderr.write(f"\npeer: status {status}\n")
    transport.close()
    sys.stderr.flush()
    os._exit(0)             # a thread may still wait for stdin, which Python's own end takes badly


main()

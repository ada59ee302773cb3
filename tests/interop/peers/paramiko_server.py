#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""A paramiko server with the arguments of all peers here:
PORT HOSTKEY-FILE USER-PUBLIC-KEY USER PASSWORD REKEY-BYTES"""
import base64
import os
import pty
import signal
import socket
import subprocess
import sys
import threading

import paramiko

from paramiko_sftp import Files

PORT, HOSTKEY, PUBLIC, USER, PASSWORD, REKEY = sys.argv[1:7]


class Session(paramiko.ServerInterface):
    def get_allowed_auths(self, username):
        return "publickey,password"

    def check_auth_publickey(self, username, key):
        good = username == USER and key.asbytes() == base64.b64decode(PUBLIC.split()[1])
        return paramiko.AUTH_SUCCESSFUL if good else paramiko.AUTH_FAILED

    def check_auth_password(self, username, password):
        good = username == USER and password == PASSWORD
        return paramiko.AUTH_SUCCESSFUL if good else paramiko.AUTH_FAILED

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED if kind == "session" else paramiko.OPEN_FAILED_UNKNOWN_CHANNEL_TYPE

    def check_channel_pty_request(self, channel, *_):
        channel.wants_pty = True
        return True

    def check_channel_env_request(self, channel, name, value):
        return True

    def check_channel_exec_request(self, channel, command):
        threading.Thread(target=run, args=(channel, command), daemon=True).start()
        return True


def copy_up(channel, fd):
    while block := channel.recv(1 << 18):
        view = memoryview(block)
        while view:
            try:
                view = view[os.write(fd, view):]
            except OSError:
                return
    if not getattr(channel, "wants_pty", False):
        os.close(fd)


def read(fd):
    try:
        return os.read(fd, 1 << 16)
    except OSError:
        return b""


def copy_down(send, fd):
    while block := read(fd):
        send(block)


def run(channel, command):
    with_pty = getattr(channel, "wants_pty", False)
    if with_pty:
        pid, fd = pty.fork()
        if pid == 0:
            os.execv("/bin/sh", ["sh", "-c", command])
        threading.Thread(target=copy_up, args=(channel, fd), daemon=True).start()
        copy_down(channel.sendall, fd)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    else:
        child = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        threading.Thread(target=copy_up, args=(channel, os.dup(child.stdin.fileno())), daemon=True).start()
        child.stdin.close()
        errors = threading.Thread(target=copy_down, args=(channel.sendall_stderr, child.stderr.fileno()))
        errors.start()
        copy_down(channel.sendall, child.stdout.fileno())
        errors.join()
        status = child.wait()
    if status >= 0:
        channel.send_exit_status(status)
    else:
        m = paramiko.Message()
        m.add_byte(bytes([98]))
        m.add_int(channel.remote_chanid)
        m.add_string("exit-signal")
        m.add_boolean(False)
        m.add_string(signal.Signals(-status).name[3:])
        m.add_boolean(False)
        m.add_string("")
        m.add_string("")
        channel.transport._send_user_message(m)
    channel.shutdown_write()
    channel.close()


def serve(sock, hostkey):
    transport = paramiko.Transport(sock)
    if int(REKEY):
        transport.packetizer.REKEY_BYTES = int(REKEY)
    transport.add_server_key(hostkey)
    transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Files)
    try:
        transport.start_server(server=Session())
    except (paramiko.SSHException, EOFError) as e:
        print(e, file=sys.stderr)


listener = socket.create_server(("127.0.0.1", int(PORT)), backlog=20)
key = paramiko.Ed25519Key.from_private_key_file(HOSTKEY)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection, key), daemon=True).start()

#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""A super-server for programs that speak on stdin and stdout: PORT COMMAND [ARG...]"""
import os
import signal
import socket
import sys

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=50)
while True:
    connection, address = listener.accept()
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ.update(TCPREMOTEIP=address[0], TCPREMOTEPORT=str(address[1]))
        os.dup2(connection.fileno(), 0)
        os.dup2(connection.fileno(), 1)
        os.execvp(sys.argv[2], sys.argv[2:])
    connection.close()

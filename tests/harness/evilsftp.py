#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""An SFTP server of version 3 on stdin and stdout, honest until a script says otherwise.

    evilsftp.py SCRIPT

It serves a tree in memory, /srv.  SCRIPT is Python that may change Peer's tree, or derive a class named Evil from Peer
and override what is to go wrong; the names of this file are known to it.  Clients start it with -D (program() writes
what they start), or as the subsystem of an sshd.
"""
import os
import stat as modes
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True

from harness import rawsftp as f                      # noqa: E402
from harness.programs import for_everyone             # noqa: E402
from harness.rawsftp import s, u32, u64, attrs        # noqa: E402,F401

REG, DIR, LNK = modes.S_IFREG, modes.S_IFDIR, modes.S_IFLNK
DATA = bytes(range(256)) * 400          # 102,400 bytes


class File:
    def __init__(self, data=b"", mode=0o644, size=None):
        self.data, self.mode, self.said = bytearray(data), REG | mode, size

    @property
    def size(self):
        return len(self.data) if self.said is None else self.said


class Link:
    mode, size = LNK | 0o777, 5

    def __init__(self, to):
        self.to = to


class Dir(dict):
    mode, size = DIR | 0o755, 4096


def at(node):
    return attrs(size=node.size, owner=(os.getuid(), os.getgid()), mode=node.mode, times=(10**9, 10**9))


def entry(name, node, longname=None):
    long = b"-rw-r--r--    1 user     group  " + str(node.size).encode().rjust(10) + b" Sep  9  2001 " + name
    return s(name) + s(long if longname is None else longname) + at(node)


class Peer:
    extensions = {"posix-rename@openssh.com": "1", "limits@openssh.com": "1", "expand-path@openssh.com": "1"}
    limits = (262144, 261120, 261120, 0)
    read_max = 261120
    version = 3
    tree = Dir(srv=Dir(good=File(b"good\n"), tree=Dir(one=File(b"one"), sub=Dir(two=File(b"two")))))

    def __init__(self, read, write):
        self.read_bytes, self.write = read, write
        self.handles, self.next = {}, 0
        self.log = os.environ.get("EVIL_LOG")

    def note(self, *words):
        """For the test: what was asked."""
        if self.log:
            with open(self.log, "ab") as log:
                log.write(b" ".join(w if isinstance(w, bytes) else str(w).encode() for w in words) + b"\n")

    # -- frames

    def send(self, payload):
        self.write(u32(len(payload)) + payload)

    def reply(self, kind, ident, body):
        self.send(bytes([kind]) + u32(ident) + body)

    def status(self, ident, code, text="told so"):
        self.reply(f.STATUS, ident, u32(code) + s(text) + s(""))

    def run(self):
        while True:
            head = self.read_bytes(4)
            if len(head) < 4:
                return
            frame = self.read_bytes(struct.unpack(">I", head)[0])
            if frame[0] == f.INIT:
                self.on_init()
                continue
            ident, rest = struct.unpack(">I", frame[1:5])[0], frame[5:]
            self.handle(frame[0], ident, rest)

    def on_init(self):
        self.send(bytes([f.VERSION]) + u32(self.version) + b"".join(s(k) + s(v) for k, v in self.extensions.items()))

    def handle(self, kind, ident, body):
        strings, rest = [], body
        for _ in range({f.RENAME: 2, f.SYMLINK: 2}.get(kind, 1)):
            n = struct.unpack(">I", rest[:4])[0]
            strings.append(rest[4:4 + n])
            rest = rest[4 + n:]
        name = {getattr(f, n): "on_" + n.lower() for n in ("OPEN", "CLOSE", "READ", "WRITE", "LSTAT", "FSTAT", "SETSTAT",
                                                           "FSETSTAT", "OPENDIR", "READDIR", "REMOVE", "MKDIR", "RMDIR",
                                                           "REALPATH", "STAT", "RENAME", "READLINK", "SYMLINK",
                                                           "EXTENDED")}[kind]
        self.note(name[3:], *strings)
        getattr(self, name)(ident, *strings, rest)

    # -- the tree

    def resolve(self, path):
        parts = [p for p in path.split(b"/") if p not in (b"", b".")]
        real = []
        for p in parts:
            real = real[:-1] if p == b".." else [*real, p]
        return real if path.startswith(b"/") else [b"srv", *real]

    def find(self, path):
        node = self.tree
        for part in self.resolve(path):
            if not isinstance(node, dict):
                return None
            node = node.get(part, node.get(part.decode("latin1")))
            if node is None:
                return None
        return node

    def new_handle(self, *what):
        self.next += 1
        handle = b"h%d" % self.next
        self.handles[handle] = what
        return handle

    # -- requests

    def on_realpath(self, ident, path, rest):
        self.reply(f.NAME, ident, u32(1) + entry(b"/" + b"/".join(self.resolve(path)), Dir(), b""))

    def on_stat(self, ident, path, rest):
        node = self.find(path)
        if node is None:
            self.status(ident, f.NO_SUCH_FILE, "No such file")
        else:
            self.reply(f.ATTRS, ident, at(node))

    on_lstat = on_stat

    def on_fstat(self, ident, handle, rest):
        self.reply(f.ATTRS, ident, at(self.handles[handle][0]))

    def on_setstat(self, ident, *rest):
        self.status(ident, f.OK)

    on_fsetstat = on_rename = on_symlink = on_remove = on_rmdir = on_setstat

    def on_mkdir(self, ident, path, rest):
        self.find(b"/".join(path.split(b"/")[:-1]) or b"/")[path.split(b"/")[-1]] = Dir()
        self.status(ident, f.OK)

    def on_readlink(self, ident, path, rest):
        self.reply(f.NAME, ident, u32(1) + s(self.find(path).to) + s("") + attrs())

    def on_opendir(self, ident, path, rest):
        node = self.find(path)
        if not isinstance(node, dict):
            self.status(ident, f.NO_SUCH_FILE, "No such file")
            return
        self.reply(f.HANDLE, ident, s(self.new_handle(node, path, self.listing(path, node))))

    def listing(self, path, node):
        """[(name, node)] of a directory"""
        own = [(n if isinstance(n, bytes) else n.encode("latin1"), x) for n, x in node.items()]
        return [(b".", node), (b"..", node), *own]

    def on_readdir(self, ident, handle, rest):
        _, _, left = self.handles[handle]
        now, left[:] = left[:50], left[50:]
        if now:
            self.reply(f.NAME, ident, u32(len(now)) + b"".join(entry(n, x) for n, x in now))
        else:
            self.status(ident, f.EOF, "End of file")

    def on_open(self, ident, path, rest):
        flags = struct.unpack(">I", rest[:4])[0]
        node = self.find(path)
        if node is None and flags & f.F_CREATE:
            folder = self.find(b"/".join(path.split(b"/")[:-1]) or b"/")
            if isinstance(folder, dict):
                node = folder[path.split(b"/")[-1]] = File()
        if not isinstance(node, File):
            self.status(ident, f.NO_SUCH_FILE if node is None else f.FAILURE, "No such file")
            return
        if flags & f.F_TRUNC:
            del node.data[:]
        self.reply(f.HANDLE, ident, s(self.new_handle(node, path)))

    def on_close(self, ident, handle, rest):
        self.handles.pop(handle, None)
        self.status(ident, f.OK)

    def on_read(self, ident, handle, rest):
        offset, n = struct.unpack(">QI", rest[:12])
        data = bytes(self.handles[handle][0].data[offset:offset + min(n, self.read_max)])
        if data:
            self.reply(f.DATA, ident, s(data))
        else:
            self.status(ident, f.EOF, "End of file")

    def on_write(self, ident, handle, rest):
        offset, n = struct.unpack(">QI", rest[:12])
        data = self.handles[handle][0].data
        data.extend(bytes(max(0, offset - len(data))))
        data[offset:offset + n] = rest[12:12 + n]
        self.status(ident, f.OK)

    def on_extended(self, ident, name, rest):
        if name == b"limits@openssh.com":
            self.reply(f.REPLY, ident, b"".join(u64(v) for v in self.limits))
        elif name == b"expand-path@openssh.com":
            self.on_realpath(ident, rest[4:].replace(b"~", b"/srv", 1), b"")
        else:
            self.status(ident, f.OK if name.startswith(b"posix-rename") else f.OP_UNSUPPORTED)


def program(folder, script, log=None):
    """What a client may start by -D: a program without arguments.  `script` is the text of SCRIPT."""
    case, start = Path(folder) / "case.py", Path(folder) / "server"
    case.write_text(script)
    server = Path(for_everyone(Path(__file__).resolve().parent)) / Path(__file__).name
    start.write_text(f"#!/bin/sh\n{f'EVIL_LOG={log} ' if log else ''}exec /usr/bin/python3 {server} {case}\n")
    start.chmod(0o755)
    return start


def main():
    known = dict(globals())
    exec(compile(Path(sys.argv[1]).read_text(), sys.argv[1], "exec"), known)    # the test's own text
    out = sys.stdout.buffer

    def write(data):
        out.write(data)
        out.flush()
    try:
        known.get("Evil", known["Peer"])(sys.stdin.buffer.read, write).run()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: ISC
"""SFTP 3 spoken byte by byte to an sftp-server program: what a client of ours would never send, too."""
import struct
import subprocess

from . import world

INIT, VERSION, STATUS, HANDLE, DATA, NAME, ATTRS, REPLY = 1, 2, 101, 102, 103, 104, 105, 201
OPEN, CLOSE, READ, WRITE, LSTAT, FSTAT, SETSTAT, FSETSTAT, OPENDIR, READDIR = range(3, 13)
REMOVE, MKDIR, RMDIR, REALPATH, STAT, RENAME, READLINK, SYMLINK = range(13, 21)
EXTENDED = 200
OK, EOF, NO_SUCH_FILE, PERMISSION_DENIED, FAILURE, BAD_MESSAGE, _, _, OP_UNSUPPORTED = range(9)
F_READ, F_WRITE, F_APPEND, F_CREATE, F_TRUNC, F_EXCL = 1, 2, 4, 8, 16, 32


def s(b):
    b = b if isinstance(b, bytes) else str(b).encode()
    return struct.pack(">I", len(b)) + b


def u32(*v):
    return struct.pack(f">{len(v)}I", *v)


def u64(v):
    return struct.pack(">Q", v)


def attrs(size=None, owner=None, mode=None, times=None):
    flags = (size is not None) | (owner is not None) << 1 | (mode is not None) << 2 | (times is not None) << 3
    return (u32(flags) + (u64(size) if size is not None else b"") + (u32(*owner) if owner else b"")
            + (u32(mode) if mode is not None else b"") + (u32(*times) if times else b""))


def strings(b):
    while b:
        n = struct.unpack(">I", b[:4])[0]
        yield b[4:4 + n]
        b = b[4 + n:]


class RawSftp:
    """One server program with its stdin and stdout; request() gives (type, body behind the id)."""

    def __init__(self, *command, init=True, **kw):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True, **kw)
        self.id, self.extensions = 0, {}
        if init:
            self.write(u32(5) + bytes([INIT]) + u32(3))
            frame = self.frame()
            assert frame[:5] == bytes([VERSION]) + u32(3), frame
            words = list(strings(frame[5:]))
            self.extensions = dict(zip(words[::2], words[1::2]))

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def frame(self):
        head = self.process.stdout.read(4)
        if len(head) < 4:
            return b""
        return self.process.stdout.read(struct.unpack(">I", head)[0])

    def send(self, kind, body=b""):
        self.id += 1
        self.write(u32(len(body) + 5) + bytes([kind]) + u32(self.id) + body)

    def request(self, kind, body=b""):
        self.send(kind, body)
        frame = self.frame()
        assert frame[1:5] == u32(self.id), frame
        return frame[0], frame[5:]

    def extended(self, name, body=b""):
        return self.request(EXTENDED, s(name) + body)

    def code(self, kind, body=b""):
        """The code of a reply that is STATUS."""
        got, reply = self.request(kind, body)
        assert got == STATUS, (got, reply)
        return struct.unpack(">I", reply[:4])[0]

    def open(self, path, flags=F_READ, a=u32(0)):
        kind, body = self.request(OPEN, s(path) + u32(flags) + a)
        assert kind == HANDLE, (path, body)
        return body             # as a string, ready to be sent

    def end(self):
        """Closes its stdin; (status, stderr)."""
        self.process.stdin.close()
        rest = self.process.stdout.read()
        err = self.process.stderr.read().decode(errors="replace")
        assert rest == b"", rest
        return self.process.wait(20), err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except OSError:
                pass
        world.end(self.process)

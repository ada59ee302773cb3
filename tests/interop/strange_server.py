# SPDX-License-Identifier: ISC
"""An SFTP server on two descriptors with habits that no good one has, for the copying engine.

    strange_server.py [short=N] [reverse|shuffle] [size=N|-] [name=HEX]... [endless] [failwrite=N] [die=N]

short      READ gives at most N bytes
reverse    answers of READ are held back, and given last first (shuffle: in a random order)
size       what every file says it has; - = nothing
name       one more name in every directory
endless    every directory has one in it
failwrite  the N-th WRITE fails, the others do not
die        after N requests
"""
import os
import random
import select
import stat
import struct
import sys

HABITS = [word.partition("=")[::2] for word in sys.argv[1:]]
HABIT = dict(HABITS)
NAMES = [bytes.fromhex(value) for key, value in HABITS if key == "name"]
OK, EOF, MISSING, FAILURE = 0, 1, 2, 4


def text(b):
    return struct.pack(">I", len(b)) + b


def attrs(st, fake=True):
    size = HABIT.get("size")
    flags, body = 0, b""
    if size != "-" or not fake:
        flags |= 1
        body += struct.pack(">Q", int(size) if fake and size and stat.S_ISREG(st.st_mode) else st.st_size)
    body += struct.pack(">III", st.st_mode, int(st.st_atime), int(st.st_mtime))
    return struct.pack(">I", flags | 4 | 8) + body


class Server:
    def __init__(self):
        self.held, self.open, self.dirs, self.next, self.writes, self.requests = [], {}, {}, 0, 0, 0

    def send(self, kind, body):
        data = text(bytes([kind]) + body)
        while data:
            data = data[os.write(1, data):]

    def status(self, id_, code):
        self.send(101, struct.pack(">II", id_, code) + text(b"") + text(b""))

    def release(self):
        if "shuffle" in HABIT:
            random.shuffle(self.held)
        else:
            self.held.reverse()
        for kind, body in self.held:
            self.send(kind, body)
        self.held = []

    def read(self, id_, r):
        fd, offset, n = self.open[r.text()], r.u64(), r.u32()
        data = os.pread(fd, min(n, int(HABIT.get("short", n))), offset)
        reply = (103, struct.pack(">I", id_) + text(data)) if data else \
            (101, struct.pack(">II", id_, EOF) + text(b"") + text(b""))
        if "reverse" in HABIT or "shuffle" in HABIT:
            self.held.append(reply)
        else:
            self.send(*reply)

    def handle(self, id_, value, table):
        self.next += 1
        name = b"h%d" % self.next
        table[name] = value
        self.send(102, struct.pack(">I", id_) + text(name))

    def readdir(self, id_, r):
        path = self.dirs[r.text()]
        if path[1]:
            return self.status(id_, EOF)
        path[1] = True
        names = [(n, os.stat(os.path.join(path[0], n))) for n in os.listdir(path[0])]
        file = os.stat(__file__)
        names += [(n, file) for n in NAMES]
        if "endless" in HABIT:
            names.append((b"again", os.stat("/")))
        self.send(104, struct.pack(">II", id_, len(names)) +
                  b"".join(text(n) + text(b"") + attrs(st) for n, st in names))

    def real(self, path):
        while "endless" in HABIT and path.endswith(b"/again"):
            path = path[:-len(b"/again")]
        return path

    def request(self, kind, id_, r):
        if kind == 3:
            path, flags = r.text(), r.u32()
            how = (os.O_RDWR if flags & 1 else os.O_WRONLY) if flags & 2 else os.O_RDONLY
            how |= os.O_CREAT if flags & 8 else 0
            how |= os.O_EXCL if flags & 32 else 0
            self.handle(id_, os.open(path, how, 0o644), self.open)
        elif kind == 4:
            name = r.text()
            if name in self.open:
                os.close(self.open.pop(name))
            else:
                del self.dirs[name]
            self.status(id_, OK)
        elif kind == 5:
            self.read(id_, r)
        elif kind == 6:
            fd, offset, data = self.open[r.text()], r.u64(), r.text()
            self.writes += 1
            if self.writes == int(HABIT.get("failwrite", 0)):
                return self.status(id_, FAILURE)
            os.pwrite(fd, data, offset)
            self.status(id_, OK)
        elif kind in (7, 17):
            self.send(105, struct.pack(">I", id_) + attrs(os.stat(self.real(r.text()))))
        elif kind == 8:
            self.send(105, struct.pack(">I", id_) + attrs(os.fstat(self.open[r.text()]), False))
        elif kind in (9, 10):
            target = r.text()
            target = self.open[target] if kind == 10 else target
            if r.u32() & 1:
                os.truncate(target, r.u64())
            self.status(id_, OK)
        elif kind == 11:
            self.handle(id_, [self.real(r.text()), False], self.dirs)
        elif kind == 12:
            self.readdir(id_, r)
        elif kind == 14:
            os.mkdir(r.text())
            self.status(id_, OK)
        else:
            self.status(id_, 8)
        return None

    def run(self):
        while True:
            if self.held and not select.select([0], [], [], 0.005)[0]:
                self.release()
            head = take(4)
            frame = take(struct.unpack(">I", head)[0])
            if frame[0] == 1:
                self.send(2, struct.pack(">I", 3))
                continue
            id_ = struct.unpack(">I", frame[1:5])[0]
            self.requests += 1
            if self.requests == int(HABIT.get("die", 0)):
                sys.exit(0)
            try:
                self.request(frame[0], id_, Reader(frame[5:]))
            except FileNotFoundError:
                self.status(id_, MISSING)
            except OSError:
                self.status(id_, FAILURE)


class Reader:
    def __init__(self, data):
        self.data = data

    def u32(self):
        value, self.data = struct.unpack(">I", self.data[:4])[0], self.data[4:]
        return value

    def u64(self):
        value, self.data = struct.unpack(">Q", self.data[:8])[0], self.data[8:]
        return value

    def text(self):
        n = self.u32()
        value, self.data = self.data[:n], self.data[n:]
        return value


def take(n):
    got = b""
    while len(got) < n:
        more = os.read(0, n - len(got))
        if not more:
            sys.exit(0)
        got += more
    return got


Server().run()

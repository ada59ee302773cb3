# SPDX-License-Identifier: ISC
"""CPU time and memory of process trees."""
import os
import threading
import time
from pathlib import Path

from . import world


class Group:
    """Whose CPU time is counted: a control group where one can be made, else what wait(2) reports.

    Start processes with preexec_fn=group.enter.  Without control groups the time of processes that no
    one of the tree waited for is missing; exact tells.
    """

    def __init__(self, name):
        self.path, self.extra = None, 0.0
        for base, file in (("/sys/fs/cgroup/cpuacct", "cpuacct.usage"), ("/sys/fs/cgroup", "cpu.stat")):
            path = Path(base) / f"bowline-{os.getpid()}-{name}"
            try:
                path.mkdir()
            except OSError:
                continue
            if (path / file).exists():
                self.path, self.file = path, path / file
                break
            path.rmdir()

    @property
    def exact(self):
        return self.path is not None

    def enter(self):
        if self.path:
            (self.path / "cgroup.procs").write_text("0")

    def members(self):
        return (self.path / "cgroup.procs").read_text().split() if self.path else []

    def seconds(self):
        if not self.path:
            return self.extra
        text = self.file.read_text()
        return int(text) / 1e9 if self.file.name == "cpuacct.usage" else int(text.split()[1]) / 1e6

    def add(self, usage):
        """For what wait4 gave, where there is no control group."""
        self.extra += usage.ru_utime + usage.ru_stime

    def close(self):
        if self.path:
            world.wait_until(lambda: not self.members(), 3)
            try:
                self.path.rmdir()
            except OSError:
                pass


def tree(pid):
    """pid and everything below it."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents.setdefault(int(Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()[1]),
                                   []).append(int(name))
            except (OSError, IndexError):
                pass
    found, todo = [pid], [pid]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return found


def pss_kib(pid):
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def in_parallel(n, work):
    """work(i) in n threads; gives the seconds until all are done."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    begin = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return time.monotonic() - begin

#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Runs a command and leaves nothing behind: no process, no file, no account.

    contain.py [--accounts] COMMAND [ARG...]

Everything that the command started is ended when it ends, also what left its process group or its
parent (this process is the reaper of all its descendants, and signals only those).  The command gets a
fresh directory in BOWLINE_TMP, removed at the end.

With --accounts and root, the command runs in a mount namespace of its own, where copies of the account
files stand over the real ones: one more user ("bowline-test") exists there and nowhere else, who may
become anyone by sudo.  Its name and password are in BOWLINE_USER and BOWLINE_PASSWORD.  Where such a namespace cannot be had the command
runs without, and BOWLINE_NO_ACCOUNT says why; tests that need the account skip with that reason.
"""
import ctypes
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import crypt

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_CHILD_SUBREAPER = 36
USER, UID = "bowline-test", 64123

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    if getattr(libc, name)(*args) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def mount(source, target, kind, flags, options=None):
    call("mount", source.encode(), target.encode(), kind.encode() if kind else None,
         ctypes.c_ulong(flags), options)


def descendants():
    """Process ids below this one, deepest last."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as f:
                    parents.setdefault(int(f.read().rsplit(b")", 1)[1].split()[1]), []).append(int(name))
            except (OSError, IndexError):
                pass
    found, todo = [], [os.getpid()]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return found


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end_all():
    """TERM, two seconds of grace, KILL, until no descendant is left."""
    for sig, grace in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
        until = time.monotonic() + grace
        while time.monotonic() < until:
            left = descendants()
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, sig)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)
            reap()


def write(path, text, mode):
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text)
    os.chmod(path, mode)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as f:
            return f.read()
    except OSError:
        return ""


def make_account(tmp, leaked):
    """In the child: a mount namespace with one more user.  leaked() tells whether mounts escape it."""
    call("unshare", CLONE_NEWNS)
    try:
        mount("none", "/", None, MS_REC | MS_PRIVATE)
    except OSError:
        pass                # in a chroot "/" is no mount point; the probe below decides
    probe = os.path.join(tmp, "probe")
    os.mkdir(probe)
    mount("none", probe, "tmpfs", 0)
    if leaked(probe):
        libc.umount2(probe.encode(), 2)
        raise OSError("mounts made in a namespace show outside of it")
    password = secrets.token_hex(8)
    mount("none", "/run", "tmpfs", 0, b"mode=755")
    os.mkdir("/run/sshd", 0o755)    # the installed OpenSSH wants it
    home = "/run/" + USER           # not below /tmp: tinysshd wants each parent closed to others
    os.mkdir(home, 0o755)
    os.mkdir(home + "/.ssh", 0o700)
    for path in (home, home + "/.ssh"):
        os.chown(path, UID, UID)
    days = int(time.time() // 86400)
    extra = {
        "passwd": (f"{USER}:x:{UID}:{UID}:Bowline's tests:{home}:/bin/sh\n", 0o644),
        "group": (f"{USER}:x:{UID}:\n", 0o644),
        "shadow": (f"{USER}:{crypt.crypt(password, crypt.mksalt(crypt.METHOD_SHA512, rounds=1000))}"
                   f":{days}:0:99999:7:::\n", 0o600),
    }
    for name, (line, mode) in extra.items():
        copy = os.path.join(tmp, "etc-" + name)
        write(copy, read("/etc/" + name) + line, mode)
        mount(copy, "/etc/" + name, None, MS_BIND)
    if os.path.exists("/etc/sudoers"):      # scripts that must not be root become it by sudo
        copy = os.path.join(tmp, "etc-sudoers")
        write(copy, f"Defaults:{USER} !env_reset\n{USER} ALL=(ALL:ALL) NOPASSWD: ALL\nroot ALL=(ALL:ALL) ALL\n", 0o440)
        mount(copy, "/etc/sudoers", None, MS_BIND)
    os.environ.update(BOWLINE_USER=USER, BOWLINE_PASSWORD=password, BOWLINE_HOME=home)


def child(tmp, accounts, command, ask, told):
    os.setpgid(0, 0)
    if accounts:
        def leaked(path):
            os.write(ask, path.encode())
            return os.read(told, 1) == b"y"
        if os.getuid() != 0:
            os.environ["BOWLINE_NO_ACCOUNT"] = "a second account needs root"
        else:
            try:
                make_account(tmp, leaked)
            except OSError as e:
                os.environ["BOWLINE_NO_ACCOUNT"] = f"no private account here: {e}"
    os.close(ask)
    os.close(told)
    os.environ["BOWLINE_TMP"] = tmp
    try:
        os.execvp(command[0], command)
    except OSError as e:
        print(f"{command[0]}: {e.strerror}", file=sys.stderr)
    os._exit(127)


def main():
    args = sys.argv[1:]
    accounts = args[:1] == ["--accounts"]
    command = args[1:] if accounts else args
    if not command:
        sys.exit(__doc__)
    call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    tmp = tempfile.mkdtemp(prefix="bowline-")
    os.chmod(tmp, 0o755)
    ask_r, ask_w = os.pipe()
    told_r, told_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ask_r)
        os.close(told_w)
        child(tmp, accounts, command, ask_w, told_r)
    os.close(ask_w)
    os.close(told_r)

    caught = []

    def forward(sig, _frame):
        caught.append(sig)
        try:
            os.killpg(pid, sig)
        except ProcessLookupError:
            pass
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, forward)

    question = os.read(ask_r, 4096)
    if question:
        os.write(told_w, b"y" if os.path.ismount(question) else b"n")
    while True:             # orphans come to us as well
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            break
    end_all()
    shutil.rmtree(tmp, ignore_errors=True)
    if caught:
        sys.exit(128 + caught[0])
    sys.exit(os.waitstatus_to_exitcode(status) & 0xFF if not os.WIFSIGNALED(status)
             else 128 + os.WTERMSIG(status))


if __name__ == "__main__":
    main()

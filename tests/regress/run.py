#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Debian's openssh-tests against the programs under test.

    run.py [--record] [SCRIPT...]

scripts.toml says which must pass.  A script can say "ok" and have tested nothing, so its inner cases are
counted: each run of ssh and of ssh-keygen, and each line of progress.  They are compared with the counts
of the installed OpenSSH in reference.json.  As the scripts loop over what `ssh -Q` lists, the reference
was run with its lists cut down to the names that the tested programs know; when those lists change the
reference is run again by itself (--record writes it to the tree).
"""
import concurrent.futures
import hashlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import time
import tomllib
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.dont_write_bytecode = True

from harness import programs, world     # noqa: E402

REGRESS = Path("/usr/lib/openssh/regress")
SECONDS = 900
AT_ONCE = 2
QUERIES = ("cipher", "cipher-auth", "mac", "kex", "key", "key-plain", "key-cert", "key-sig", "compression")
NO_KEY_HERE = ("ssh-dss", "sk-", "webauthn-")      # types that OpenSSH lists and of which no key can be made
UNKNOWN_TO_THE_SUITE = ("ssh-mldsa44-ed25519",)     # names newer than it; tests/system has them
TABLE = tomllib.loads((HERE / "scripts.toml").read_text())
REFERENCE = HERE / "reference.json"


def lists(tested, reference):
    """{query: names that both know}, and the names only the reference has."""
    shared, missing = {}, []
    for what in QUERIES:
        try:
            known = tested.query(what)
        except RuntimeError:
            known = []
        theirs = reference.query(what)
        shared[what] = [n for n in theirs if n in known]
        missing += [n for n in theirs if n not in known and not n.startswith(("sk-", "webauthn-"))]
    return shared, sorted(set(missing))


def without_new_names(tested):
    """What -Q answers to the scripts: a list only where it holds a name that they cannot know."""
    cut = {}
    for what in QUERIES:
        try:
            names = tested.query(what)
        except RuntimeError:
            continue
        kept = [n for n in names if not n.startswith(UNKNOWN_TO_THE_SUITE)]
        if kept != names:
            cut[what] = kept
    return cut


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def wrap(folder, p, shared):
    """Counting front ends of ssh and ssh-keygen; shared: what -Q answers instead of all it knows."""
    count = folder / "count"
    answers = ""
    for what, names in (shared or {}).items():
        text = "".join(f"{n}\\n" for n in names)
        answers += f'[ "$1 $2" = "-Q {what}" ] && {{ printf "{text}"; exit 0; }}\n'
    note = 'case "$1" in -Q|-V) ;; *) echo {0} >>{1} ;; esac\n'
    # test-exec.sh puts -E in front of everything
    shift = 'case "$1" in -E*) first=$1; shift ;; *) first= ;; esac\n'
    ssh = script(folder / "ssh", shift + answers + note.format("ssh", count) + f'exec {p.ssh} $first "$@"\n')
    keygen = script(folder / "ssh-keygen", f'echo keygen >>{count}\nexec {p.keygen} "$@"\n')
    return ssh, keygen, count


def in_path(folder, ssh, shared, p):
    """A folder for PATH: some scripts ask the ssh there which types of key to make."""
    known = (shared or {}).get("key-sig") or p.query("key-sig")
    names = "".join(f"{n}\\n" for n in known if not n.startswith(NO_KEY_HERE))
    path = folder / "bin"
    path.mkdir()
    script(path / "ssh", f'[ "$*" = "-Q key-sig" ] && {{ printf "{names}"; exit 0; }}\nexec {ssh} "$@"\n')
    return path


def as_user(folder, env, programs_env):
    """What Popen needs to run a script as the ordinary user, who may use sudo; programs_env: variables whose programs
    become the user's own, as the scripts change their owner and mode."""
    if "BOWLINE_USER" not in os.environ:
        raise RuntimeError(os.environ.get("BOWLINE_NO_ACCOUNT", "run it below tools/contain.py --accounts"))
    who = pwd.getpwnam(os.environ["BOWLINE_USER"])
    own = folder / "own"
    own.mkdir()
    for name in programs_env:
        env[name] = shutil.copy(env[name], own)
    for path in (folder, own, folder / "obj", folder / "count", *own.iterdir()):
        os.chown(path, who.pw_uid, who.pw_gid)
    folder.chmod(0o755)
    env.update(USER=who.pw_name, LOGNAME=who.pw_name, HOME=who.pw_dir, SUDO="sudo")
    return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}


def edited(name, folder, p):
    """The script as it is run.  Where 10.5 has another rule than the scripts, scripts.toml says which words change for
    the tested programs (`edit`); every one of them must be there."""
    original = REGRESS / f"{name}.sh"
    changes = TABLE["pass"].get(name, {}).get("edit", ())
    if not p.is_bowline or not changes:
        return original
    text = original.read_text()
    for before, after in changes:
        if before not in text:
            raise RuntimeError(f"{name}.sh has no {before!r}")
        text = text.replace(before, after)
    beside = folder / "src"             # the scripts look for their helpers beside themselves
    beside.mkdir()
    for other in REGRESS.iterdir():
        if other != original:
            (beside / other.name).symlink_to(other)
    (beside / original.name).write_text(text)
    return beside / original.name


def run(name, p, shared=None):
    """{"ok", "counts", "seconds", "text"} of one script."""
    # Not the script's name: hostkey-agent takes every line with "hostkey" out of its configurations.
    folder = world.scratch("regress")
    obj = folder / "obj"
    obj.mkdir()
    for tool in ("netcat", "modpipe", "mkdtemp", "setuid-allowed", "check-perm", "valgrind-out"):
        if (REGRESS / tool).exists():
            (obj / tool).symlink_to(REGRESS / tool)
    shutil.copy(HERE / "config.h", obj / "config.h")
    is_user = TABLE["pass"].get(name, {}).get("as") == "user"
    may = programs.for_everyone if is_user else str     # the tree may be where only root may go
    ssh, keygen, count = wrap(folder, types.SimpleNamespace(ssh=may(p.ssh), keygen=may(p.keygen)), shared)
    count.touch()
    path = f"{in_path(folder, ssh, shared, p)}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    env = {"PATH": path, "HOME": os.environ.get("HOME", "/"), "LANG": "C", "TEST_SHELL": "sh",
           "BUILDDIR": str(obj), "SRC": str(REGRESS), "TEST_SSH_SSH": ssh, "TEST_SSH_SSHD": may(p.sshd),
           "TEST_SSH_SSHKEYGEN": keygen, "TEST_SSH_SSHAGENT": may(p.agent),
           "TEST_SSH_SSHADD": may(p.add),
           # only by a whole path does test-exec.sh see that PuTTY is there
           **{f"TEST_SSH_{name.upper()}": found for name in ("plink", "puttygen") if (found := shutil.which(name))},
           "TEST_SSH_SFTPSERVER": p.sftp_server, "TEST_SSH_SFTP": p.sftp,
           "TEST_SSH_SCP": p.scp, "TEST_SSH_PORT": str(world.free_port()),
           "TEST_SSH_TRACE": "yes", "TEST_SSH_UNSAFE_PERMISSIONS": "1", "BOWLINE_TMP": str(folder),
           **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}
    who = as_user(folder, env, ("TEST_SSH_SSHAGENT", "TEST_SSH_SSHADD")) if is_user else {}
    begin = time.monotonic()
    child = subprocess.Popen(["sh", str(REGRESS / "test-exec.sh"), str(obj), str(edited(name, folder, p))], env=env,
                             cwd=obj, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             errors="replace", start_new_session=True, **who)
    try:
        text, errors = child.communicate(timeout=SECONDS)
        status = child.returncode
    except subprocess.TimeoutExpired:
        world.end(child)
        text, errors, status = f"took longer than {SECONDS} s", "", -1
    world.end(child)
    if (obj / "pidfile").exists():      # a failed script may leave its server, which is then ours to end
        pid = (obj / "pidfile").read_text().strip()
        if pid.isdigit() and os.path.exists(f"/proc/{pid}"):
            os.kill(int(pid), 15)
    lines = text.splitlines()
    counts = {"ssh": 0, "keygen": 0, "lines": len([s for s in lines if not s.startswith(("ok ", "failed "))])}
    for line in count.read_text().split():
        counts[line] += 1
    ok = status == 0 and any(s.startswith("ok ") for s in lines) and not any("SKIPPED" in s for s in lines)
    text += errors[-2000:]
    if not ok:
        for log in ("failed-regress.log", "failed-ssh.log", "failed-sshd.log"):
            if (obj / log).exists():
                text += f"\n--- {log}\n" + "\n".join((obj / log).read_text(errors="replace").splitlines()[-25:])
    shutil.rmtree(folder, ignore_errors=True)
    return {"ok": ok, "counts": counts, "seconds": round(time.monotonic() - begin), "text": text}


def many(names, p, shared=None):
    """Two at a time, the slow ones first."""
    slow = ("rekey", "integrity", "try-ciphers", "login-timeout", "kextype")
    names = sorted(names, key=lambda n: slow.index(n) if n in slow else len(slow))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for name, result in zip(names, pool.map(lambda n: run(n, p, shared), names)):
            print(f"  {name}: {'ok' if result['ok'] else 'FAILED'}, {result['seconds']} s, {result['counts']}",
                  flush=True)
            yield name, result


def reference_counts(names, installed, shared, record):
    key = hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:16]
    stored = json.loads(REFERENCE.read_text()) if REFERENCE.exists() else {}
    if stored.get("lists") != key or record:
        stored = {"lists": key, "counts": {}} if stored.get("lists") != key else stored
        missing = names
    else:
        missing = [n for n in names if n not in stored["counts"]]
    if missing:
        print("the installed OpenSSH first, with the names that both know:")
        for name, result in many(missing, installed, shared):
            if result["ok"]:
                stored["counts"][name] = result["counts"]
            else:
                print(result["text"][-3000:])
        if record:
            REFERENCE.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")
    return stored["counts"]


def verdict(name, row, result, reference):
    """The reason why the script does not count, or None."""
    if not result["ok"]:
        return result["text"][-4000:]
    if reference is None:
        return "the installed OpenSSH does not pass it here, so there is nothing to compare with"
    for what, n in reference.items():
        if result["counts"][what] < int(n * row.get("share", 1.0)):
            return f"ran {result['counts'][what]} of {what}, the installed OpenSSH {n}: it left something out"
    return None


def main():
    arguments = [a for a in sys.argv[1:] if a != "--record"]
    record = "--record" in sys.argv[1:]
    passed = failed = 0
    present = {p.stem for p in REGRESS.glob("*.sh")}
    if not present:
        print(f"{REGRESS} is missing: openssh-tests is not installed")
        print("regress: 0 passed, 1 failed, 0 skipped")
        sys.exit(1)
    for name in sorted(present - set(TABLE["pass"]) - set(TABLE["not_yet"])):
        print(f"FAIL {name}: stands in neither list of scripts.toml")
        failed += 1
    names = [n for n in TABLE["pass"] if not arguments or n in arguments]
    ready = []
    for name in names:
        needs = [p for p in TABLE["pass"][name].get("needs", ()) if not shutil.which(p)]
        if needs or name not in present:
            print(f"FAIL {name}: {', '.join(needs) or 'the script'} is not here")
            failed += 1
        else:
            ready.append(name)
    tested, installed = programs.under_test(), programs.installed()
    shared, missing = lists(tested, installed)
    if missing:
        print(f"names that only the installed OpenSSH has: {' '.join(missing)}")
    reference = reference_counts(ready, installed, shared, record)
    for name, result in many(ready, tested, without_new_names(tested)):
        why = verdict(name, TABLE["pass"][name], result, reference.get(name))
        if why is None:
            passed += 1
        else:
            failed += 1
            print(f"FAIL {name}: {why}")
    print(f"not yet: {len(TABLE['not_yet'])} scripts, reasons in tests/regress/scripts.toml")
    print(f"regress: {passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

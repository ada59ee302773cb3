#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Replays the corpus of every fuzz target, then gives each a few fresh seconds.

    fuzz_replay.py BUILD-DIR [SECONDS]

A target is an executable BUILD-DIR/tests/fuzz/NAME; its corpus is tests/fuzz/corpus/NAME/, its words are
BUILD-DIR/tests/fuzz/NAME.dict.  Each corpus file is a case, and the fresh seconds are one more.  A target
without a corpus has failed.  Executables fuzz_* are tools.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent


def run(target, *args):
    done = subprocess.run([str(target), "-timeout=10", "-rss_limit_mb=2048", *args], capture_output=True,
                          text=True, errors="replace", timeout=300, cwd=os.environ.get("BOWLINE_TMP", "/tmp"))
    return done.returncode, done.stderr


def recordings(folder):
    """Recorded peers must still be understood to their end: else the engines' draws have changed, and the
    recordings are to be made anew (doc/fuzzing.md)."""
    faults, seen = [], 0
    for role in ("server", "client"):
        for path in sorted((TOP / "tests/fuzz/corpus" / f"first_{role}").glob("openssh_*")):
            done = subprocess.run([str(folder / "fuzz_seeds"), role, os.devnull], input=path.read_bytes()[1:],
                                  capture_output=True, timeout=60)
            said = re.search(rb"recorded: keys (\d+), questions (\d+)", done.stderr)
            seen += 1
            if not said or int(said[1]) < 1 or int(said[2]) < 1:
                faults.append(f"{path.name}: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return seen, faults


def main():
    build, seconds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    folder = build / "tests" / "fuzz"
    targets = [p for p in sorted(folder.glob("*")) if p.is_file() and os.access(p, os.X_OK)
               and not p.name.startswith("fuzz_")]
    passed = failed = 0
    if not targets:
        print(f"no fuzz target in {folder}")
        failed = 1
    for target in targets:
        files = sorted(str(p) for p in (TOP / "tests/fuzz/corpus" / target.name).glob("*"))
        if not files:
            print(f"FAIL {target.name}: no corpus")
            failed += 1
            continue
        code, text = run(target, *files)
        if code == 0:
            passed += len(files)
        else:
            failed += 1
            print(f"FAIL {target.name}, replay:\n" + "\n".join(text.splitlines()[-40:]))
            continue
        scratch = Path(os.environ.get("BOWLINE_TMP", "/tmp")) / f"fuzz-{target.name}"
        scratch.mkdir(exist_ok=True)
        code, text = run(target, f"-max_total_time={seconds}", "-entropic=0", "-max_len=20000",
                         f"-dict={target}.dict", str(scratch),
                         str(TOP / "tests/fuzz/corpus" / target.name))
        if code == 0:
            passed += 1
        else:
            failed += 1
            print(f"FAIL {target.name}, fresh input:\n" + "\n".join(text.splitlines()[-60:]))
    seen, faults = recordings(folder)
    for fault in faults:
        print(f"FAIL recording {fault}")
    passed, failed = passed + seen - len(faults), failed + len(faults)
    print(f"fuzz: {passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Runs the meson tests of one folder of tests/ and counts their cases.

    suite.py BUILD-DIR SUITE [WRAPPER...]

A program tells how many cases it ran: by cmocka's lines, or by a line `N passed, N failed[, N skipped]`.
A program that ran none has failed; so has one that says nothing.  The last line printed is
`SUITE: N passed, N failed, N skipped`, the exit status 1 when something failed.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

OWN = re.compile(r"^.*?\b(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", re.M)
CMOCKA = {"passed": r"\[  PASSED  \] (\d+) test", "failed": r"\[  FAILED  \] .*?(\d+) test",
          "skipped": r"\[  SKIPPED \] (\d+) test"}


def count(text):
    """(passed, failed, skipped) as the output says, None when it says nothing."""
    found = OWN.findall(text)
    if found:
        return tuple(int(n or 0) for n in found[-1])
    if "[==========]" not in text:
        return None
    return tuple(sum(int(n) for n in re.findall(CMOCKA[k], text)) for k in ("passed", "failed", "skipped"))


def chosen(build, suite):
    folder = str(build / "tests" / suite) + os.sep
    unit = str(build / "tests" / "unit" / suite) + os.sep
    tests = json.loads(subprocess.run(["meson", "introspect", "--tests", str(build)], check=True,
                                      capture_output=True, text=True).stdout)
    return [t["name"] for t in tests
            if os.path.realpath(t["cmd"][0]).startswith((folder, unit))
            or any(s.split(":")[-1] == suite for s in t["suite"])]


def main():
    build, suite, wrapper = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    names = chosen(build, suite)
    totals = [0, 0, 0]
    if not names:
        print(f"{suite}: there is no test program in {build}")
        totals[1] += 1
    else:
        command = ["meson", "test", "-C", str(build), "--no-rebuild", "--num-processes", "2",
                   "--timeout-multiplier", "4", *names]
        if wrapper:
            command += ["--wrapper", " ".join(wrapper)]
        log = build / "meson-logs" / "testlog.json"
        log.unlink(missing_ok=True)
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        seen = set()
        for line in log.read_text().splitlines() if log.exists() else []:
            result = json.loads(line)
            seen.add(result["name"].split(" / ")[-1].split(":")[-1])
            text = (result.get("stdout") or "") + "\n" + (result.get("stderr") or "")
            cases = count(text)
            if result["result"] == "SKIP":
                why = text.strip().splitlines()
                print(f"SKIP {result['name']}: {why[-1] if why else 'no reason given'}")
                totals[2] += 1
                continue
            if cases is None or sum(cases) == 0:
                cases = (0, 1, 0)
                print(f"FAIL {result['name']}: ran no case ({result['result']})")
            elif result["result"] not in ("OK", "EXPECTEDFAIL") and cases[1] == 0:
                cases = (cases[0], 1, cases[2])
            if cases[1]:
                print(f"FAIL {result['name']} ({result['result']}):")
                print("\n".join("    " + s for s in text.strip().splitlines()[-40:]))
            totals = [a + b for a, b in zip(totals, cases)]
        for name in names:
            if name not in seen:
                print(f"FAIL {name}: did not run")
                totals[1] += 1
    print(f"{suite}: {totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    sys.exit(1 if totals[1] else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Runs one pytest suite (a folder of tests/) and ends with its counts.

    run.py SUITE [pytest argument...]

BOWLINE_BIN tells which programs are tested: a build directory (default: build), a directory that holds
ssh, sshd and ssh-keygen, or the word "installed" for the OpenSSH of this machine.
"""
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


class Counter:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed += 1
        elif report.failed:
            self.failed += 1
        elif report.skipped:
            self.skipped += 1
            print(f"SKIP {report.nodeid.split('::', 1)[-1]}: {report.longrepr[2]}"
                  if isinstance(report.longrepr, tuple) else f"SKIP {report.nodeid}")

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed += 1


def main():
    suite = sys.argv[1]
    sys.path.insert(0, str(HERE))
    sys.dont_write_bytecode = True
    counter = Counter()
    pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", "--durations=5", f"--rootdir={HERE}",
                 f"--confcutdir={HERE}", str(HERE / suite),
                 *sys.argv[2:]], plugins=[counter])
    print(f"{suite}: {counter.passed} passed, {counter.failed} failed, {counter.skipped} skipped")
    sys.exit(1 if counter.failed or not counter.passed else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: ISC
"""What the programs are made of.

Code that a program loads without need is code that can be turned against it before main() runs: so each
program names its libraries here, one by one, and nothing else may come in, also not through a resolver
function (IFUNC) or a search path inside the file.
"""
import re
import subprocess

import pytest

from harness.programs import TOP

ALWAYS = {"ssh": {"libcrypto.so.3", "libz.so.1", "libc.so.6"},
          "sshd": {"libcrypto.so.3", "libz.so.1", "libcrypt.so.1", "libc.so.6"},
          "keygen": {"libcrypto.so.3", "libc.so.6"}, "add": {"libcrypto.so.3", "libc.so.6"},
          "agent": {"libcrypto.so.3", "libc.so.6"},
          "sftp": {"libcrypto.so.3", "libz.so.1", "libc.so.6"},
          "scp": {"libcrypto.so.3", "libz.so.1", "libc.so.6"},
          "speed": {"libcrypto.so.3", "libz.so.1", "libc.so.6"}, "sftp_server": {"libc.so.6"}}
# parts that the build may leave out
ARGON2 = "libargon2.so.1"  # key files of PuTTY
MAYBE = {"ssh": {"libIPSec_MB.so.1", ARGON2}, "sshd": {"libIPSec_MB.so.1", "libseccomp.so.2", ARGON2},
         "keygen": {ARGON2}, "add": {ARGON2}, "agent": set(), "sftp": {"libIPSec_MB.so.1", "libedit.so.2", ARGON2},
         "scp": {"libIPSec_MB.so.1", ARGON2}, "speed": {"libIPSec_MB.so.1", ARGON2}, "sftp_server": set()}
LOADER = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
SANITIZERS = {"libasan.so.8", "libubsan.so.1", "libm.so.6", "libgcc_s.so.1"}


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], capture_output=True, text=True, check=True,
                          timeout=60).stdout


@pytest.fixture(params=sorted(ALWAYS))
def program(request, ours):
    if not ours.is_bowline:
        pytest.skip("speaks of our programs")
    return request.param, getattr(ours, request.param)


def test_libraries_are_exactly_these(program, ours):
    name, path = program
    needed = {line.split("[")[1].split("]")[0] for line in readelf(path, "-d").splitlines() if "(NEEDED)" in line}
    needed -= LOADER
    if ours.name == "bowline-asan":
        needed -= SANITIZERS
    assert needed - MAYBE[name] == ALWAYS[name]


def test_nothing_runs_or_is_found_behind_our_back(program):
    _, path = program
    dynamic, program_headers = readelf(path, "-d"), readelf(path, "-l")
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic and "TEXTREL" not in dynamic
    assert "NOW" in dynamic, "relocations stay writable"
    stack = next(line for line in program_headers.splitlines() if "GNU_STACK" in line)
    assert "E" not in stack.split()[6], stack
    ifuncs = [line.split()[-1] for line in readelf(path, "-s").splitlines() if " IFUNC " in line]
    assert [n for n in ifuncs if "@" not in n] == []


def test_no_signal_runs_code_of_ours(program):
    """A handler may run between any two instructions: there are none, signals are read like messages."""
    _, path = program
    imported = {line.split()[-1].split("@")[0] for line in readelf(path, "--dyn-syms").splitlines() if " UND " in line}
    assert not imported & {"sigaction", "bsd_signal", "sigset", "sigvec", "alarm", "setitimer", "timer_create"}
    calls = re.findall(r"\bsignal\(([^;]*)\);", "\n".join(p.read_text() for p in (TOP / "src").rglob("*.c")))
    assert calls and all(c.split(",")[-1].strip() in ("SIG_IGN", "SIG_DFL") for c in calls), calls

#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The static checks: layers, sizes, format, licence lines, what must not be in the text, manual pages, and the
analyzers cppcheck, gcc -fanalyzer and clang-tidy.

    static.py BUILD-DIR
"""
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SCRIPTS = ("check", "try", "bench", ".ci/run", "tools/dropbear_scp.sh", "tools/lib.sh")


def tree(*suffixes):
    return [str(p.relative_to(TOP)) for d in ("src", "tests") for p in sorted((TOP / d).rglob("*"))
            if p.suffix in suffixes]


def run(*command):
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def check_format(_build):
    code, text = run("clang-format-14", "--dry-run", "-Werror", *tree(".c", ".h"))
    first = {}
    for line in text.splitlines():
        if "error:" in line:
            first.setdefault(line.split(":")[0], line)
    return code, "\n".join(first.values()) if first else text


def check_layers(build):
    return run("tools/layers.py", build)


def check_size(_build):
    return run("tools/size.py")


def check_cppcheck(build):
    return run("cppcheck", "--quiet", "--std=c11", "--language=c", "--error-exitcode=1", "-j2",
               "--enable=warning,portability", "--inline-suppr", "--suppressions-list=tools/cppcheck.suppress",
               "-D__linux__", "-Isrc", f"-I{build}", *tree(".c"))


def check_scripts(_build):
    """Shell and Python parse; each carries the licence line."""
    faults = []
    for name in (*SCRIPTS, *(str(p.relative_to(TOP)) for d in ("tools", "tests")
                             for p in sorted((TOP / d).rglob("*.py")))):
        path = TOP / name
        if not path.exists():
            continue
        text = path.read_text()
        if "SPDX-License-Identifier: ISC" not in "\n".join(text.splitlines()[:3]):
            faults.append(f"{name}: no licence line")
        if name.endswith(".py"):
            try:
                compile(text, name, "exec")
            except SyntaxError as e:
                faults.append(f"{name}: {e}")
        else:
            code, said = run("bash", "-n", name)
            if code:
                faults.append(said)
    return len(faults), "\n".join(faults)


def check_grep(_build):
    """Rules of the style guide that a pattern can see."""
    rules = (
        (r"\b(?:gets|strcpy|strcat|sprintf|strtok|alloca)\s*\(", "src", (".c", ".h"), "unbounded or stateful C"),
        (r"\b(?:signal|sigaction)\s*\(", "src", (".c",), "signal handlers stand in os/ only"),
        (r"\bRAND_(?:bytes|priv_bytes)\b|\b(?:arc4random|random|rand|drand48)\s*\(", "src", (".c",),
         "randomness comes from the env's rng"),
        (r"\bNO" r"LINT", "src", (".c", ".h", ".def"), "findings are suppressed in tools/findings.suppress"),
        (r"\bT" r"ODO\b|\bF" r"IXME\b|\bX" r"XX\b", "src", (".c", ".h", ".def"), "a mark left behind"),
    )
    faults = []
    for pattern, folder, suffixes, why in rules:
        for path in sorted((TOP / folder).rglob("*")):
            name = str(path.relative_to(TOP))
            if path.suffix not in suffixes or (why.startswith("signal") and name.startswith("src/os/")):
                continue
            text = re.sub(r"/\*.*?\*/",
                          lambda m: m[0] if re.search("T" "ODO|NO" "LINT", m[0]) else re.sub(r"[^\n]", " ", m[0]),
                          path.read_text(errors="replace"), flags=re.S)
            for number, line in enumerate(text.splitlines(), 1):
                if re.search(pattern, line):
                    faults.append(f"{name}:{number}: {why}: {line.strip()}")
    return len(faults), "\n".join(faults)


def check_man(_build):
    return run("tools/man_check.py")


def check_gcc(build):
    return run("tools/analyze.py", build, "gcc")


def check_tidy(build):
    return run("tools/analyze.py", build, "clang-tidy")


def main():
    build = os.path.abspath(sys.argv[1])
    checks = (("layers", check_layers), ("size", check_size), ("format", check_format),
              ("scripts", check_scripts), ("grep", check_grep), ("man", check_man), ("cppcheck", check_cppcheck),
              ("gcc", check_gcc), ("clang-tidy", check_tidy))
    failed = 0
    for name, check in checks:
        code, text = check(build)
        if code:
            failed += 1
            print(f"FAIL {name}:")
            print("\n".join("    " + line for line in text.strip().splitlines()[:60]))
        elif text.strip():
            print(text.strip().splitlines()[-1])
    print(f"static: {len(checks) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The layer rule, checked.

    layers.py [BUILD-DIR]

The rule is the table in doc/architecture.md: the lines "folder folder <- folder folder".  Checked are
each #include "folder/..." under src/, the places where libcrypto's and libipsec-mb's headers may be
included, and, with a build directory, that the static libraries of the core leave no symbol undefined
but those they define themselves and those of tools/core_symbols.allow: so the core calls no kernel,
reads no clock and never exits.
"""
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
CORE = ("base", "crypto", "wire", "algorithm", "key", "transport", "auth", "connection", "config",
        "sftp", "agent", "mux")
ONLY_IN = {"openssl/": "crypto/libcrypto/", "intel-ipsec-mb.h": "crypto/ipsecmb/",
           "argon2.h": "crypto/argon2/"}


def read_rule(path):
    """{folder: set of folders, or None for "everything"} from the table in the document."""
    if not path.exists():
        sys.exit(f"layers: {path.relative_to(TOP)} is missing; the layer rule is read from it")
    rule, last = {}, None
    for line in path.read_text().splitlines():
        if "<-" not in line:
            continue
        for cell in re.split(r"\s{2,}(?=\w+(?: \w+)*\s*<-)", line.strip()):
            m = re.fullmatch(r"\|?\s*`?([a-z0-9, ]+?)\s*<-\s*(.*?)`?\s*\|?", cell)
            if not m:
                continue
            names, uses = re.findall(r"\w+", m[1]), m[2]
            if uses.startswith("everything"):
                allowed = None
            elif uses.startswith("nothing"):
                allowed = set()
            elif uses.startswith("the same, and"):
                allowed = rule["transport"] | set(re.findall(r"\w+", uses[len("the same, and"):]))
            else:
                allowed = set(re.findall(r"\w+", uses))
            for name in names:
                rule[name] = allowed
    if not rule:
        sys.exit(f"layers: no line with '<-' in {path}")
    return rule


def check_includes(rule):
    faults = []
    for path in sorted((TOP / "src").rglob("*.[chdi]*")):
        if path.suffix not in (".c", ".h", ".def", ".inc"):
            continue
        name = str(path.relative_to(TOP / "src"))
        folder = name.split("/")[0]
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            m = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not m:
                continue
            for header, place in ONLY_IN.items():
                if m[2].startswith(header) and not name.startswith(place):
                    faults.append(f"src/{name}:{number}: <{m[2]}> belongs into src/{place} only")
            if m[1] == "<" or "/" not in m[2]:
                continue
            used = m[2].split("/")[0]
            if folder not in rule:
                faults.append(f"src/{name}: folder {folder} is not in the layer table")
                break
            allowed = rule[folder]
            if used != folder and used in rule and allowed is not None and used not in allowed:
                faults.append(f"src/{name}:{number}: {folder} may not use {used} ({m[2]})")
    return faults


def symbols(library, flag):
    out = subprocess.run(["nm", "-A", flag, str(library)], capture_output=True, text=True).stdout
    return [(line.split(":")[1], line.split()[-1]) for line in out.splitlines() if " " in line]


def check_symbols(build):
    rows = [line.split("#")[0].strip()
            for line in (TOP / "tools/core_symbols.allow").read_text().splitlines()]

    def allowed(symbol):
        verdict = False
        for row in rows:
            if row and fnmatchcase(symbol, row.lstrip("!")):
                verdict = row[0] != "!"
        return verdict
    libraries = [p for p in (build / "src").rglob("*.a") if p.relative_to(build / "src").parts[0] in CORE]
    if not libraries:
        return [f"no static library of the core in {build}"]
    defined = {s for lib in libraries for _, s in symbols(lib, "--defined-only")}
    faults = []
    for lib in libraries:
        for member, symbol in symbols(lib, "--undefined-only"):
            if symbol not in defined and not allowed(symbol):
                faults.append(f"{lib.name}({member}): {symbol} is not in tools/core_symbols.allow")
    return sorted(set(faults))


def main():
    faults = check_includes(read_rule(TOP / "doc/architecture.md"))
    if len(sys.argv) > 1:
        faults += check_symbols(Path(sys.argv[1]))
    for fault in faults:
        print(fault)
    print(f"layers: {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

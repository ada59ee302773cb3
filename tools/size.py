#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Size limits: functions, files, headers, parameters, and the line that names the licence.

    size.py [-v]      -v also lists what is over the wished size, and the ten longest functions
"""
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
FUNCTION, FUNCTION_WISH = 100, 60
FILE, FILE_WISH = 1000, 600
HEADER = 300
PARAMETERS = 5
WIDTH = 100
CALLBACKS = "tests/interop/peers/"  # their signatures are the foreign library's


def blank_out(text):
    """The text without comments, strings and preprocessor lines, line for line."""
    def spaces(m):
        return re.sub(r"[^\n]", " ", m[0])
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', spaces, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", spaces, text, flags=re.M)


def functions(text):
    """(name, first line, lines, parameters) of each function: K&R, its braces in column 0."""
    lines = blank_out(text).split("\n")
    for at, line in enumerate(lines):
        if line.rstrip() != "{":
            continue
        head, first = [], at
        while first > 0 and lines[first - 1].strip() and not re.search(r"[;}]\s*$", lines[first - 1]):
            first -= 1
            head.insert(0, lines[first])
        end = next((i for i in range(at, len(lines)) if lines[i].startswith("}")), len(lines) - 1)
        m = re.search(r"(\w+)\s*\(([^{}]*)\)\s*(?:\w+\([^()]*\)\s*)?$", " ".join(head).strip())
        if not m:
            continue
        depth, count = 0, 1 if m[2].strip() not in ("", "void") else 0
        for c in m[2]:
            depth += (c == "(") - (c == ")")
            count += c == "," and depth == 0
        yield m[1], first + 1, end - first + 1, count


def main():
    verbose = "-v" in sys.argv[1:]
    faults, wishes, longest = [], [], []
    for path in sorted([*(TOP / "src").rglob("*"), *(TOP / "tests").rglob("*")]):
        if path.suffix not in (".c", ".h", ".def", ".inc"):
            continue
        name, text = path.relative_to(TOP), path.read_text(errors="replace")
        lines = text.count("\n")
        limit = HEADER if path.suffix == ".h" else FILE
        if lines > limit:
            faults.append(f"{name}: {lines} lines, at most {limit}")
        elif lines > FILE_WISH:
            wishes.append(f"{name}: {lines} lines, wished {FILE_WISH}")
        if not text.startswith("/* SPDX-License-Identifier: ISC */\n"):
            faults.append(f"{name}:1: the first line is /* SPDX-License-Identifier: ISC */")
        if path.suffix != ".c":
            continue
        for function, first, n, parameters in functions(text):
            longest.append((n, f"{name}:{first} {function}"))
            if n > FUNCTION:
                faults.append(f"{name}:{first}: {function} has {n} lines, at most {FUNCTION}")
            elif n > FUNCTION_WISH:
                wishes.append(f"{name}:{first}: {function} has {n} lines, wished {FUNCTION_WISH}")
            if parameters > PARAMETERS and not str(name).startswith(CALLBACKS):
                faults.append(f"{name}:{first}: {function} has {parameters} parameters, at most {PARAMETERS}")
    if verbose:
        print(*wishes, sep="\n")
        for n, what in sorted(longest, reverse=True)[:10]:
            print(f"{n:4} {what}")
    for fault in faults:
        print(fault)
    print(f"size: {len(faults)} faults, {len(longest)} functions seen")
    sys.exit(1 if faults or not longest else 0)


if __name__ == "__main__":
    main()

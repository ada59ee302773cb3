#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Runs a static analyzer over every file of src/ that the build compiles.

    analyze.py BUILD-DIR gcc | clang-tidy

Each finding is a fault unless tools/findings.suppress names it.  First a sample with a known mistake is
looked at: an analyzer that finds nothing there would find nothing anywhere.  What an analyzer said is kept
in the clone (.git/analyze, else BUILD-DIR/analyze) under a hash of its version, its options and all that
the file includes, so that a second run, also of another worktree, looks only at what changed.
"""
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from size import functions

TOP = Path(__file__).resolve().parent.parent
SUPPRESS = TOP / "tools" / "findings.suppress"
JOBS = 2
WIDENING = "bugprone-implicit-widening-of-multiplication-result"
KEPT_S = 14 * 86400  # how long an answer that nobody asks for is kept
SAMPLE = """#include <stdlib.h>
void sample(char *p);
void sample(char *p)
{
	free(p);
	free(p);
}
"""


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"})
    return done.returncode, done.stdout, done.stderr


class Gcc:
    """GCC's -fanalyzer; its other warnings are the build's matter."""
    kind = "-Wanalyzer-"
    config = None
    version = ("gcc-12", "--version")

    def command(self, flags, source):
        return ["gcc-12", *flags, "-O1", "-fanalyzer", "-fdiagnostics-format=json", "-S",
                "-o", "/dev/null", source]

    def findings(self, done):
        code, _, err = done
        start = err.find("[")
        if code or start < 0:
            return [("failed", "", 0, err.strip()[:2000])]
        found = []
        for said in json.JSONDecoder().raw_decode(err[start:])[0]:
            if said.get("option", "").startswith(self.kind):
                place, path = said["locations"][0]["caret"], said.get("path") or [{}]
                found.append((said["option"], place["file"], place["line"],
                              f"{said['message']} (from {path[0].get('function', '?')})"))
        return found


class Tidy:
    """clang-tidy with the checks of .clang-tidy, and what clang itself warns of."""
    kind = ""
    literals = re.compile(r"\d+[uU]?\s*\*\s*\d+[uU]?\s*[,;)]")
    config = TOP / ".clang-tidy"
    version = ("clang-tidy-14", "--version")

    def command(self, flags, source):
        return ["clang-tidy-14", "--quiet", "--config=" + self.config.read_text(), source, "--", *flags]

    def is_of_literals(self, out, at):
        """A product such as 64 * 1024 fits, or the compiler says so; the line stands below the finding."""
        line = out[at:].split("\n", 3)[1:3]
        column = line[1].find("^") if len(line) == 2 else -1
        return column >= 0 and self.literals.match(line[0].expandtabs(8)[column:]) is not None

    def findings(self, done):
        code, out, err = done
        found = []
        matches = list(re.finditer(r"^(\S+?):(\d+):\d+: (?:warning|error): (.*) \[([^\]]+)\]$", out, re.M))
        for m in matches:
            if not (m[4] == WIDENING and self.is_of_literals(out, m.start())):
                found.append((m[4], m[1], int(m[2]), m[3]))
        if not matches and (code or "error" in out):
            found = [("failed", "", 0, (out + err).strip()[:2000])]
        return found


def compiled(build):
    """{source: compiler flags}, paths as seen from the build directory."""
    sources = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        if not str(path).startswith(str(TOP / "src") + os.sep):
            continue
        words = shlex.split(entry["command"])
        flags = []
        skip = False
        for word in words[1:]:
            if skip:
                skip = False
            elif word in ("-o", "-MF", "-MQ", "-MT", "-c"):
                skip = True
            elif word not in ("-MD", "-Werror", "-fdiagnostics-color=always") and word[0] == "-":
                flags.append(word)
        sources.setdefault(os.path.relpath(path, build), flags)
    return sources


@lru_cache(maxsize=None)
def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def key(tool, build, flags, source):
    code, out, _ = run(["gcc-12", *flags, "-M", source], build)
    if code:
        return None
    names = out.split(":", 1)[1].replace("\\\n", " ").split()
    parts = [tool.said, *tool.command(flags, source), *(n + digest(os.path.join(build, n)) for n in names)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def keep_folder(build):
    folder = build / "analyze"
    if (TOP / ".git").exists() and shutil.which("git"):
        code, out, _ = run(["git", "rev-parse", "--path-format=absolute", "--git-common-dir"], TOP)
        folder = Path(out.strip()) / "analyze" if code == 0 else folder
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        folder = build / "analyze"
        folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.stat().st_mtime < time.time() - KEPT_S:
            old.unlink(missing_ok=True)
    return folder


def look(tool, build, flags, source):
    """[(check, file, line, message)], files as seen from the top"""
    name = key(tool, build, flags, source)
    kept = tool.folder / name if name else None
    if kept and kept.exists():
        os.utime(kept)
        return [tuple(f) for f in json.loads(kept.read_text())]
    found = [(check, os.path.relpath(os.path.join(build, path or source), TOP), line, message)
             for check, path, line, message in tool.findings(run(tool.command(flags, source), build))]
    if kept and not any(f[0] == "failed" for f in found):
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(found))
        part.replace(kept)
    return found


def suppressions(tool):
    """{(check, file, function): used?} and what is wrong with the list itself."""
    known, faults, reason = {}, [], False
    for number, line in enumerate(SUPPRESS.read_text().splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            reason = bool(words)
        elif len(words) != 3 or not reason:
            faults.append(f"{SUPPRESS.name}:{number}: a line is CHECK FILE FUNCTION, a comment above says why")
        elif words[0].startswith("-Wanalyzer-") == (tool.kind != ""):
            known[tuple(words)] = False
    return known, faults


@lru_cache(maxsize=None)
def places(name):
    path = TOP / name
    return [(first, first + n, f) for f, first, n, _ in functions(path.read_text())] if path.is_file() else []


def function_at(name, line):
    return next((f for first, end, f in places(name) if first <= line < end), "-")


def prove(tool, build):
    """Whether the analyzer sees the mistake of the sample."""
    sample = build / "analyze-sample.c"
    sample.write_text(SAMPLE)
    found = tool.findings(run(tool.command(["-std=gnu17"], str(sample)), build))
    return any("free" in message and check != "failed" for check, _, _, message in found)


def main():
    build = Path(sys.argv[1]).resolve()
    name = sys.argv[2]
    tool = {"gcc": Gcc, "clang-tidy": Tidy}[name]()
    tool.folder = keep_folder(build)
    tool.said = run(tool.version, build)[1]
    sources = compiled(build)
    known, faults = suppressions(tool)
    if not prove(tool, build):
        faults.append("the sample's second free was not found")
    with ThreadPoolExecutor(JOBS) as pool:
        answers = list(pool.map(lambda s: look(tool, build, sources[s], s), sources))
    seen, quiet = set(), set()
    for found in answers:
        for check, where, line, message in found:
            function = function_at(where, line)
            at = next(((c, where, function) for c in check.split(",") if (c, where, function) in known), None)
            if at:
                known[at] = True
                quiet.add((check, where, line))
            elif (check, where, line) not in seen:
                seen.add((check, where, line))
                faults.append(f"{where}:{line}: {function}: {message} [{check}]")
    looked = {os.path.relpath(build / s, TOP) for s in sources}
    faults += [f"{SUPPRESS.name}: nothing to suppress: {' '.join(entry)}" for entry, used in known.items()
               if not used and (entry[1] in looked or entry[1].endswith(".h"))]
    faults += [f"{SUPPRESS.name}: no such file: {entry[1]}" for entry in known if not (TOP / entry[1]).exists()]
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{name}: {len(sources)} files, {len(faults)} faults, {len(quiet)} findings suppressed")
    sys.exit(1 if faults or not sources else 0)


if __name__ == "__main__":
    main()

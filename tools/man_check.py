#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The manual pages against the tables of the code, and mandoc's own opinion of them.

    man_check.py [--write]

Options (src/app/*/flags.def, or the getopt string), keywords and defaults (src/config/*.def), algorithms
(src/algorithm/*.def), the options of authorized_keys and the commands of sftp stand in the pages, and the pages
name no others.
--write brings the lists of algorithms and the section OTHER KEYWORDS up to date; the rest wants words.
"""
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
MAN = TOP / "man"
GROUPS = {"ssh_config.5": {"Host", "Include", "Match"}, "sshd_config.5": {"Include", "Match"}}
NAME = r"[A-Za-z0-9]"
WIDTH = 100
ALGORITHMS = {"CIPHER": 6, "MAC": 5, "KEX": 5, "HOSTKEY": 4, "HOSTCERT": 4}  # where a row has its rank
DEFAULTS, OTHERS = "The default, in this order:", "Not in the default:"
WRITE = "tools/man_check.py --write puts it in"


class Check:
    def __init__(self):
        self.faults, self.cases = [], 0

    def that(self, holds, page, says):
        self.cases += 1
        if not holds:
            self.faults.append(f"man/{page}: {says}")

    def same(self, page, what, table, text):
        """The names of a table are those of the page, no more and no fewer."""
        for name in sorted(set(table) | set(text)):
            self.that(name in text, page, f"{what} {name} is in the table, not in the page")
            self.that(name in table, page, f"{what} {name} is in the page, not in the table")


def code(path):
    """A table file without its comments."""
    return re.sub(r"/\*.*?\*/", "", (TOP / path).read_text(), flags=re.S)


def rows(path, kind):
    """The arguments of each row KIND(...), as written."""
    text = code(path)
    found = [[a.strip() for a in re.findall(r'(?:"[^"]*"|\'[^\']*\'|[^,"\'])+', m[1])]
             for m in re.finditer(rf'\b{kind} ?\(((?:"[^"]*"|\'[^\']*\'|[^()"\'])*)\)', text)]
    if len(found) != len(re.findall(rf"\b{kind} ?\(", text)):
        sys.exit(f"{path}: a row {kind}(...) is not understood")
    return found


def plain(text):
    """An argument's string, None for NULL."""
    return "".join(re.findall(r'"([^"]*)"', text)) if '"' in text else None


class Page:
    """A page as sections of (macro, words) lines."""

    def __init__(self, name):
        self.name = name
        self.lines = (MAN / name).read_text().splitlines()

    def write(self):
        (MAN / self.name).write_text("\n".join(self.lines) + "\n")

    def replace_section(self, title, lines):
        if f".Sh {title}" in self.lines:
            at = self.lines.index(f".Sh {title}") + 1
            self.lines[at:at + len(self.section(title))] = lines

    def block(self, keyword):
        """(where, the lines) of the list of algorithms in the item of a keyword"""
        at = next((i for i, line in enumerate(self.lines) if line.split() == [".It", "Cm", keyword]), None)
        while at is not None and self.lines[at] != DEFAULTS:
            at = at + 1 if not self.lines[at + 1].startswith((".It", ".El")) else None
        if at is None:
            return None, []
        end = at + 1
        while self.lines[end].startswith(".Cm ") or self.lines[end] == OTHERS:
            end += 1
        return at, self.lines[at:end]

    def section(self, title):
        inside, found = False, []
        for line in self.lines:
            if line.startswith(".Sh "):
                inside = line[4:].strip() == title
            elif inside:
                found.append(line)
        return found

    def items(self, lines, macro):
        """[(the words behind `.It MACRO`, the lines of the item)]; a nested list belongs to its item."""
        found, depth, at = [], 0, None
        for line in lines:
            if line.startswith(".It ") and (at is None or depth <= at):
                words = re.findall(r'"[^"]*"|\S+', line[4:])
                at = depth if words[0] == macro else None
                if at is not None:
                    found.append((words[1:], []))
                continue
            depth += line.startswith(".Bl ") - line.startswith(".El")
            if at is not None and depth < at:
                at = None
            if at is not None:
                found[-1][1].append(line)
        return found


def macro_words(lines, macro):
    """What stands behind a macro, wherever it is called: `.Cm a , b` gives a and b."""
    known = {"Ar", "Cm", "Fl", "Op", "Pa", "Li", "Ns", "Sq", "Dq", "Ql", "Ev", "Oo", "Oc", "Pq", "No"}
    found = []
    for line in lines:
        words = line[1:].split() if line.startswith(".") else []
        while words and words[0] in ("Op", "It", "Dl"):
            words.pop(0)
        current = None
        for word in words:
            if word in known:
                current = word
            elif current == macro and not re.fullmatch(r"[,.;:|()=]+", word):
                found.append(word)
    return found


# ---- options ----------------------------------------------------------------------------------------

def program_flags(folder):
    """{flag: (argument name, True or None, does it work?)} of a program; --names carry their first dash."""
    table = folder / "flags.def"
    flags = {}
    if not table.exists():
        text = "".join(p.read_text() for p in sorted(folder.glob("*.c")))
        for letters in re.findall(r'getopt\(\s*\w+,\s*\w+,\s*"([^"]*)"', text):
            for letter, colon in re.findall(r"(\w)(:?)", letters):
                flags[letter] = (bool(colon) or None, None)
        return flags
    path = table.relative_to(TOP)
    forms = {"SET": None, "ARG": 2, "DO": 1, "NONE": None, "LATER": 1, "FLAG": 3, "SIDE": 1}
    for kind, at in forms.items():
        for row in rows(path, kind):
            flags[row[0].strip("'")] = (plain(row[at]) if at else None, kind != "LATER")
    for row in rows(path, "LONG"):
        for name in ["-" + plain(row[0])] + ([row[1].strip("'")] if row[1] != "0" else []):
            flags[name] = (plain(row[2]), True)
    return flags


def check_options(check, page, flags):
    described = {}
    for words, _ in page.items(page.lines, "Fl"):
        names, argument = [], None
        for i, word in enumerate(words):
            if word == "Ar":
                argument = " ".join(w for w in words[i + 1:] if w not in ("Oo", "Oc", "Ns", ":"))
                break
            if word not in (",", "Fl"):
                names.append(word)
        described.update((n, argument) for n in names)
    mentioned = set(macro_words(page.lines, "Fl"))
    table = set(flags)
    singles = {letter for letter in table if len(letter) == 1}
    for name in sorted(mentioned):
        if name not in table and not name.startswith("-") and set(name) <= singles:
            mentioned.discard(name)
            mentioned |= set(name)
            check.that(all(flags[n][0] is None for n in name), page.name,
                       f"-{name} groups an option that takes an argument")
    check.same(page.name, "option", {"-" + n for n in table}, {"-" + n for n in mentioned | set(described)})
    for name, (argument, works) in flags.items():
        if works is not None:
            check.that(works == (name in described), page.name,
                       f"option -{name} " + ("is not described in a list" if works else "is described and not built"))
        if name in described:
            wanted = argument is not None if argument in (True, None) else argument
            given = described[name] is not None if argument in (True, None) else described[name]
            check.that(wanted == given, page.name,
                       f"option -{name}: its argument is {described[name]} here and {argument} in the table")


# ---- keywords ---------------------------------------------------------------------------------------

def filled(names, end="."):
    """`.Cm a , b ,` lines of names, as long as lines may be."""
    lines = []
    for i, name in enumerate(names):
        word = f"{name} {end if i == len(names) - 1 else ','}"
        if lines and len(lines[-1]) + 1 + len(word) <= WIDTH:
            lines[-1] += " " + word
        else:
            lines.append(".Cm " + word)
    return lines


def other_keywords(table):
    """The section about the rows that are no options, as it must stand in the page."""
    aliases = rows(table, "ALIAS")
    lines = ["Other names for keywords above are"]
    for i, (name, real) in enumerate(aliases):
        lines += [f".Cm {name}", "for", f".Cm {real} " + ("." if i == len(aliases) - 1 else ",")]
    dead = sorted({row[0] for row in rows(table, "DEAD")})
    later = {action: sorted(row[0] for row in rows(table, "LATER") if row[1] == action)
             for action in ("WARN", "FORWARD", "REFUSE")}
    for names, says in ((dead, "These are read and have no effect:"),
                        (later["WARN"], "These are not built yet; they are named in a warning and have no effect:"),
                        (later["FORWARD"], "So are these, but where ExitOnForwardFailure is on the program ends:"),
                        (later["REFUSE"], "These limit access or trust and are not built yet; with one of them "
                                          "the program ends:")):
        lines += [".Pp", says, *filled(names)] if names else []
    return lines


def check_keywords(check, page, table):
    described = {words[0]: lines for words, lines in page.items(page.section("DESCRIPTION"), "Cm")}
    options = {row[0]: row for row in rows(table, "OPT")}
    check.same(page.name, "keyword", set(options) | GROUPS[page.name], set(described))
    for name, row in options.items():
        if name not in described:
            continue
        lines = described[name]
        text = " ".join(re.sub(rf"^\.{NAME}{{2}} ", "", line) for line in lines)
        said = re.search(r"The default is (.*)", text)
        default = plain(row[4])
        if said:
            value = re.sub(r"\s+", " ", said[1])
            check.that(default is not None and re.match(rf"{re.escape(default)}(\s?[.,:;]|$)", value, re.I),
                       page.name, f"{name}: the default is {default} in the table, here: {value}")
        if page.name == "sshd_config.5":
            check.that(("(Match)" in lines) == bool(re.search(r"\bM\b", row[5])), page.name,
                       f"{name}: (Match) and the table differ")
    others = page.section("OTHER KEYWORDS")
    table_names = {row[0] for kind in ("ALIAS", "DEAD", "LATER") for row in rows(table, kind)}
    wanted = other_keywords(table)
    told = set(macro_words(others, "Cm"))
    check.same(page.name, "other keyword", table_names | (told & set(options)), told)
    check.that(others == wanted, page.name, f"OTHER KEYWORDS is not as the table has it; {WRITE}")
    page.replace_section("OTHER KEYWORDS", wanted)


# ---- algorithms -------------------------------------------------------------------------------------

def algorithms(path, kind, is_server):
    """(the default proposal in its order, the others in the table's)"""
    defaults, others = [], []
    for row in [row for part in kind.split() for row in rows(path, part)]:
        rank = int(row[ALGORITHMS[kind.split()[0]]])
        if rank > 0 and (kind != "KEX" or not is_server or "AF_SERVER" in row[4]):
            defaults.append((rank, plain(row[0])))
        else:
            others.append(plain(row[0]))
    return [name for _, name in sorted(defaults)], others


def check_algorithms(check, page, is_server):
    for keyword, path, kind in (("Ciphers", "cipher", "CIPHER"), ("MACs", "mac", "MAC"),
                                ("KexAlgorithms", "kex", "KEX"), ("HostKeyAlgorithms", "hostkey", "HOSTKEY HOSTCERT")):
        keyword = keyword.capitalize() if is_server and kind == "MAC" else keyword
        defaults, others = algorithms(f"src/algorithm/{path}.def", kind, is_server)
        wanted = [DEFAULTS, *filled(defaults), *([OTHERS, *filled(others)] if others else [])]
        at, told = page.block(keyword)
        check.same(page.name, f"{keyword}: algorithm", set(defaults + others), set(macro_words(told, "Cm")))
        check.that(told == wanted, page.name, f"{keyword} is not as the table has it; {WRITE}")
        if at is not None:
            page.lines[at:at + len(told)] = wanted
    described = {words[0]: lines for words, lines in page.items(page.section("DESCRIPTION"), "Cm")}
    names = {plain(row[0]) for row in rows("src/algorithm/compression.def", "COMP")} - {"none"}
    check.same(page.name, "Compression: method", names,
               {w for w in macro_words(described.get("Compression", []), "Cm") if "zlib" in w})


def check_authorized_keys(check, page):
    source = code("src/key/ak_options.c")
    permits = set(re.findall(r'^\t\{"([\w-]+)",\s*K_(?:PERMIT|TOUCH|VERIFY)\b', source, re.M))
    names = set(re.findall(r'^\t\{"([\w-]+)",\s*K_\w+', source, re.M)) | {"no-" + p for p in permits}
    told = macro_words(page.section("AUTHORIZED KEYS"), "Cm")
    check.same(page.name, "authorized_keys option", names, {w for w in told if re.fullmatch(r"[a-z0-9-]+", w)})


def check_commands(check, page, table):
    """The commands of sftp: names and flags."""
    told = {}
    for words, _ in page.items(page.section("COMMANDS"), "Ic"):
        end = next((i for i, w in enumerate(words) if w in ("Ar", "Oo", "Op")), len(words))
        flags = next((w[2:] for w in words if w.startswith("\\-")), "")
        told.update({w.removeprefix("\\&"): flags for w in words[:end] if w != ","})
    commands = {plain(row[0]): row for row in rows(table, "CMD") if plain(row[0])}
    same = {plain(row[0]): plain(row[1]) for row in rows(table, "SAME") if plain(row[0])}
    check.same(page.name, "command", set(commands) | set(same), set(told))
    for name, flags in told.items():
        row = commands.get(same.get(name, name))
        if row is None:
            continue
        shown = re.match(r"\[-(\w+)\]", plain(row[4]))
        check.that(flags == (shown[1] if shown else ""), page.name,
                   f"{name}: its flags are {flags} here and {plain(row[4])} in the table")
        check.that(set(flags) <= set(plain(row[1])), page.name, f"{name}: -{flags} is more than the table takes")


# ---- all --------------------------------------------------------------------------------------------

def check_lint(check, pages):
    for page in pages:
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(MAN / page)],
                              capture_output=True, text=True)
        check.that(done.returncode == 0 and not done.stdout, page, (done.stdout + done.stderr).strip())


def main():
    check = Check()
    pages = sorted(p.name for p in MAN.iterdir())
    programs = {p.parent.name: p.parent for p in sorted((TOP / "src/app").glob("*/meson.build"))
                if "executable(" in p.read_text()}
    for name, folder in programs.items():
        page = next((p for p in pages if re.fullmatch(rf"{re.escape(name)}\.[18]", p)), None)
        check.that(page is not None, f"{name}.1", "there is no such page")
        if page is None:
            continue
        flags = program_flags(folder)
        takes_none = not any("getopt" in p.read_text() for p in folder.glob("*.c")) and not (folder / "flags.def").exists()
        check.that(bool(flags) or takes_none, page, "its options are in no table")
        check_options(check, Page(page), flags)
    for page, table in (("ssh_config.5", "client"), ("sshd_config.5", "server")):
        text = Page(page)
        check_keywords(check, text, f"src/config/{table}.def")
        check_algorithms(check, text, table == "server")
        if "--write" in sys.argv[1:]:
            text.write()
    check_authorized_keys(check, Page("sshd.8"))
    check_commands(check, Page("sftp.1"), "src/app/sftp/commands.def")
    check_lint(check, pages)
    print(*check.faults, sep="\n", end="\n" if check.faults else "")
    print(f"man: {len(pages)} pages, {check.cases} cases, {len(check.faults)} faults")
    sys.exit(1 if check.faults or not check.cases or not programs else 0)


if __name__ == "__main__":
    main()

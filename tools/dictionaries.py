#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Writes libFuzzer dictionaries made from the tables: a row that is added is a word for the fuzzers.

    dictionaries.py KIND OUT     KIND: wire, config, key, sftp, line, rcp
"""
import re
import sys
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
# Words of the protocol that stand in no table, because the code knows each at one place only.
WIRE = ("ssh-userauth ssh-connection none password publickey keyboard-interactive "
        "publickey-hostbound-v00@openssh.com server-sig-algs ext-info-c ext-info-s "
        "ext-info-in-auth@openssh.com ping@openssh.com kex-strict-c-v00@openssh.com "
        "kex-strict-s-v00@openssh.com session direct-tcpip forwarded-tcpip shell exec subsystem "
        "pty-req env signal window-change exit-status exit-signal eow@openssh.com SSH-2.0- SSH-1.99- "
        "keepalive@openssh.com no-more-sessions@openssh.com hostkeys-00@openssh.com").split()


def rows(name, pattern):
    return re.findall(pattern, (SRC / name).read_text())


def wire():
    names = [w for t in ("kex", "hostkey", "cipher", "mac", "compression")
             for w in rows(f"algorithm/{t}.def", r'(?m)^[A-Z]+\("([^"]+)"')]
    peers = [p.strip("!*") for line in rows("transport/peer.def", r'(?m)^PEER\("([^"]+)"')
             for p in line.split(",")]
    numbers = rows("wire/ssh.def", r"(?m)^M\(\w+,\s*(\d+)")
    return [*WIRE, *names, *peers], [bytes([int(n)]) for n in numbers]


def config():
    words = ["Host", "Match", "Include", "all", "final", "canonical", "exec", "user", "host", "originalhost",
             "localuser", "group", "address", "localport", "yes", "no", "none", "ask", "any", "default"]
    for table in ("client", "server"):
        words += rows(f"config/{table}.def", r"\b(?:OPT|ALIAS|DEAD|LATER)\((\w+)")
        words += [w for w in rows(f"config/{table}.def", r'"([^"\s]+)"')]
    return words + wire()[0][len(WIRE):], []


def key():
    types = re.findall(r'"([^"\s]+)"', (SRC / "key/types.def").read_text())
    options = re.findall(r'"([a-z][a-z0-9-]+)(?:=)?"', (SRC / "key/ak_options.c").read_text())
    options += re.findall(r'(?m)^\t\{"([\w-]+)", +(?:true|false)', (SRC / "key/cert_check.c").read_text())
    return [*types, *options, "@revoked", "@cert-authority", "|1|", "openssh-key-v1", "none", "aes256-ctr",
            "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY-----"], []


def sftp():
    wire = rows("sftp/sftp.def", r'(?m)^X\(\w+,\s*"[^"]+",\s*"([^"]+)"')
    policy = rows("sftp/sftp.def", r"(?m)^[QX]\((\w+),")
    numbers = rows("sftp/sftp.def", r"(?m)^[QR]\(\w+,\s*(\d+)")
    return [*wire, *policy, "/file", "/dir", "/dir/inner", "/link", "/dangling", "~me"], [bytes([int(n)]) for n in numbers]


def line():
    names = rows("app/sftp/commands.def", r'(?m)^(?:CMD|SAME)\("([^"]+)"')
    flags = rows("app/sftp/commands.def", r'(?m)^CMD\("[^"]+",\s*"([^"]*)"')
    return [*names, *(f"-{f}" for f in dict.fromkeys("".join(flags))), "--", "0644", "\\ ", "\\\\", "\\*", "'", '"', "#", "-@"], []


def rcp():
    """Records and answers; the names that the target asks for."""
    return ["C0644 5 name\n", "C4755 0 ", "D0755 0 dir\n", "D0555 0 .\n", "E\n", "T1 0 1 0\n", "C0644 9223372036854775807 f\n",
            "\1scp: text\n", "\2text\n", "name\n", "ab1x", "ac9.", "a b", "c\n", "..\n", "../x\n", "/", " 0 ", "\n", "hello",
            "999999", "18446744073709551615", "0644"], [b"\0", b"\0\0", b"\n\0", b"hello\0", b"\1\n", b"\2\n", b"\x7f"]


def quoted(b):
    return '"' + "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\x{c:02x}" for c in b) + '"'


def main():
    words, raw = {"wire": wire, "config": config, "key": key, "sftp": sftp, "line": line, "rcp": rcp}[sys.argv[1]]()
    if len(words) < 20:
        sys.exit(f"dictionaries: {sys.argv[1]}: only {len(words)} words, the tables were not understood")
    seen = dict.fromkeys(w.encode() for w in words if w)
    lines = [quoted(w) for w in seen]
    if sys.argv[1] in ("wire", "sftp"):  # also as RFC 4251 strings
        lines += [quoted(len(w).to_bytes(4, "big") + w) for w in seen]
    lines += [quoted(b) for b in raw]
    Path(sys.argv[2]).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: ISC
"""ssh-audit against a server with the lines of doc/hardening.md."""
import re
import subprocess

import peers
from harness.programs import TOP
from harness.server import Sshd

# names that this ssh-audit is too old to know
UNKNOWN = {"mlkem768x25519-sha256", "sntrup761x25519-sha512", "kex-strict-s-v00@openssh.com", "ext-info-s"}


def hardened(programs):
    """The documented lines, without names that the tested programs lack."""
    text = (TOP / "doc/hardening.md").read_text()
    lines = re.search(r"```sshd_config\n(.*?)```", text, re.S)[1].splitlines()
    known = {"KexAlgorithms": "kex", "Ciphers": "cipher", "MACs": "mac", "HostKeyAlgorithms": "key-sig"}
    out = []
    for line in lines:
        keyword, names = line.split()
        have = programs.query(known[keyword])
        if programs.is_bowline:
            missing = [n for n in names.split(",") if n not in have]
            assert not missing, f"doc/hardening.md names what is not built: {missing}"
        out.append(f"{keyword} {','.join(n for n in names.split(',') if n in have)}")
    return out


def audit(world, programs, lines):
    with Sshd(world, programs, lines, ("ed25519", "rsa-4096")).start() as server:
        done = subprocess.run([peers.find("ssh-audit"), "-n", "-p", str(server.port), "127.0.0.1"], text=True,
                              capture_output=True, timeout=120)
    assert "(kex)" in done.stdout and "(enc)" in done.stdout, done.stdout + done.stderr
    findings, name = [], None
    for line in done.stdout.splitlines():
        m = re.match(r"\((?:kex|key|enc|mac)\) (\S+)", line)
        name = m[1] if m else name
        m = re.search(r"\[(fail|warn)\] (.*)", line)
        if m:
            findings.append((name, m[1], m[2].strip()))
    return findings


def test_hardened_server_has_no_finding(world, ours):
    bad = [f for f in audit(world, ours, hardened(ours))
           if not (f[1] == "warn" and f[2].startswith("unknown algorithm") and f[0] in UNKNOWN)]
    assert not bad, bad


def test_the_audit_sees_a_weak_server(world, ours):
    findings = audit(world, ours, ["KexAlgorithms +diffie-hellman-group14-sha1", "MACs hmac-sha1"])
    assert any(level == "fail" for _, level, _ in findings), findings

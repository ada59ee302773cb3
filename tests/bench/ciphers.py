# SPDX-License-Identifier: ISC
"""Every packet protection against the installed OpenSSH, and the old ciphers against the primitive alone."""
import re
import statistics
import subprocess
import tempfile
from pathlib import Path


def ctr(bits, mac):
    return [f"Ciphers=aes{bits}-ctr", f"MACs={mac}@openssh.com"]


def cbc(bits):
    return [f"Ciphers=aes{bits}-cbc", "MACs=hmac-sha2-256-etm@openssh.com"]


# name, options of the client, MB/s at least, CPU-s/GB at most (ratios to the installed OpenSSH)
PROTECTIONS = (
    ("aes128-gcm", ["Ciphers=aes128-gcm@openssh.com"], 3.0, 0.4),
    ("aes256-gcm", ["Ciphers=aes256-gcm@openssh.com"], 3.0, 0.4),
    ("chacha20-poly1305", ["Ciphers=chacha20-poly1305@openssh.com"], 2.5, 0.45),
    *((f"aes{bits}-ctr {mac}", ctr(bits, mac), 2.5, 0.45)
      for mac in ("hmac-sha2-256-etm", "hmac-sha2-512-etm", "hmac-sha1-etm", "umac-64-etm", "umac-128-etm")
      for bits in (128, 256)),
    *((f"aes{bits}-cbc sha2-256-etm", cbc(bits), 1.5, 0.6) for bits in (128, 256)),
)
# the cipher, what `openssl speed` calls it, MiB that take a few seconds
OLD = (("3des-cbc", "des-ede3-cbc", 48), ("arcfour", "rc4", 512), ("blowfish-cbc", "bf-cbc", 128),
       ("cast128-cbc", "cast5-cbc", 128))
OLD_BAR = 0.9


def bars():
    rows = {}
    for name, _, speed, cpu in PROTECTIONS:
        for way in ("up", "down"):
            rows[f"{way} {name}", "MB/s"] = (">=", speed)
            rows[f"{way} {name}", "CPU-s/GB"] = ("<=", cpu)
    return rows


def primitive(name):
    """MB/s of the cipher alone, by the tool of the library; None where the library has it not."""
    done = subprocess.run(["openssl", "speed", "-elapsed", "-seconds", "1", "-bytes", "32768",
                           "-provider", "legacy", "-provider", "default", "-evp", name], capture_output=True, text=True)
    rate = re.search(r"^\S.* (\d+\.\d+)k\s*$", done.stdout, re.MULTILINE)
    return float(rate.group(1)) / 1000 if rate else None


def old(side, rounds, report):
    for cipher, primitive_name, mib in OLD:
        with tempfile.NamedTemporaryFile(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as data:
            data.truncate(mib << 20)
            options = [f"Ciphers={cipher}", "MACs=umac-64-etm@openssh.com"]
            speeds, alone = [], []
            for _ in range(rounds):
                alone.append(primitive(primitive_name))
                took, _, _ = side.run(side.command("cat >/dev/null", options), data.name)
                speeds.append((mib << 20) / 1e6 / took)
        if None in alone:
            print(f"{cipher}: not compared, this libcrypto has no {primitive_name}")
            continue
        row = (f"up {cipher} umac-64-etm", "MB/s")
        report(*row, side.name, statistics.median(speeds))
        report(*row, "reference", statistics.median(alone))
        report(*row, "of", "MB/s (openssl speed)")
        report(*row, "bar", (">=", OLD_BAR))


def rekeying(side, payload, rounds, report):
    """What new keys every 64 MB cost."""
    rates = {}
    for _ in range(rounds):
        for limit in ("64M", "none"):
            options = ["Ciphers=aes128-gcm@openssh.com"] + (["RekeyLimit=64M"] if limit == "64M" else [])
            took, _, _ = side.run(side.command("cat >/dev/null", options), payload)
            rates.setdefault(limit, []).append(payload.stat().st_size / 1e6 / took)
    row = ("up aes128-gcm, RekeyLimit 64M", "MB/s")
    report(*row, side.name, statistics.median(rates["64M"]))
    report(*row, "reference", statistics.median(rates["none"]))
    report(*row, "of", "MB/s without")
    report(*row, "bar", (">=", 0.95))


def measure(sides, payload, rounds, report, transfers):
    for name, options, _, _ in PROTECTIONS:
        transfers(sides, payload, rounds, report, name, options)
    rekeying(sides[0], payload, rounds, report)
    old(sides[0], rounds, report)

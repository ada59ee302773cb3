# SPDX-License-Identifier: ISC
"""ssh-speed: the tables of this machine."""
import csv
import io
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time

import pytest

QUICK = ("--seconds", "0.0005")
TABLES = ("packets", "kex", "signatures", "macs", "primitives")


@pytest.fixture(scope="module")
def speed(ours):
    if not ours.is_bowline:
        pytest.skip("OpenSSH has no such program")

    def run(*args, **kw):
        return subprocess.run([ours.speed, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=kw.pop("timeout", 120), **kw)
    return run


@pytest.fixture(scope="module")
def everything(speed):
    done = speed(*QUICK, "--json", "--compare")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return json.loads(done.stdout)


def names(tables, table):
    return [line["name"] for line in tables["tables"][table]]


def columns(line):
    return {k: v for k, v in line.items() if k not in ("name", "by", "mac", "error")}


# -- this machine

def test_every_row_of_the_tables_is_there(everything, ours):
    ciphers, macs = ours.query("cipher"), ours.query("mac")
    packets = {n.split()[0] for n in names(everything, "packets")}
    assert packets == set(ciphers)
    pairs = {n.split()[1] for n in names(everything, "packets") if " " in n}
    assert pairs == set(macs)
    assert names(everything, "kex") == ours.query("kex")
    assert {n.split()[0] for n in names(everything, "signatures")} == set(ours.query("key-sig"))
    assert names(everything, "macs") == [m for m in macs if "-etm" not in m]


def test_the_rows_that_openssl_speed_has_made_known(everything):
    known = {"md5", "sha256", "sha512", "hmac-md5", "aes-128-cbc encrypt", "aes-256-cbc encrypt"}
    assert known <= set(names(everything, "primitives"))
    sizes = {f"mb_s_{n}" for n in (16, 64, 256, 1024, 8192)}
    assert all(sizes <= line.keys() for line in everything["tables"]["primitives"])
    signs = set(names(everything, "signatures"))
    assert {"rsa-sha2-512 2048", "rsa-sha2-512 4096", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp521",
            "ssh-ed25519"} <= signs


def test_every_cell_is_a_positive_number(everything):
    for table in TABLES:
        for line in everything["tables"][table]:
            assert line["error"] is None, line
            assert all(isinstance(v, (int, float)) and v > 0 for v in columns(line).values()), line


def test_who_does_the_work_is_told(everything):
    by = {line["by"] for line in everything["tables"]["packets"]}
    assert "libcrypto" in by        # --compare shows it alone
    facts = everything["facts"]
    assert facts["implementations"].startswith("AES-GCM by ")
    if "ipsec-mb" in facts["implementations"]:
        assert "ipsec-mb" in by and "aes" in facts["cpu_features"].split()
        twice = names(everything, "packets")
        assert twice.count("aes128-gcm@openssh.com") == 2


def test_only_some_tables_as_text_and_csv(speed):
    done = speed(*QUICK, "--only", "macs,kex")
    assert done.returncode == 0
    assert "Key exchange" in done.stdout and "MACs" in done.stdout and "Packet" not in done.stdout
    done = speed(*QUICK, "--only=macs", "--csv")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert rows[0][:3] == ["name", "by", "mb_s_16"] and len(rows) > 5
    assert all(len(row) == len(rows[0]) for row in rows)


@pytest.mark.parametrize("args,said", (
    (["--jsn"], "is --json meant"), (["--wat"], "unknown option --wat"), (["--only", "nothing"], "there are packets,"),
    (["--seconds", "x"], "--seconds takes a number"), (["--seconds"], "--seconds needs an argument"),
    (["--json=1"], "takes no argument"), (["--json", "--csv"], "both want standard output")))
def test_wrong_usage_is_told(speed, args, said):
    done = speed(*args)
    assert done.returncode == 255 and said in done.stderr and done.stdout == "", done.stderr


def test_help_lists_every_option(speed, ours):
    text = speed("--help").stdout
    for option in ("--compare", "--csv", "--html file", "--json", "--only tables", "--seconds seconds", "--version"):
        assert option in text
    assert "Bowline" in speed("--version").stdout


def test_output_that_cannot_be_written(speed, ours, tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run([ours.speed, *QUICK, "--only", "macs"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 255 and "cannot be written" in done.stderr
    done = speed(*QUICK, "--only", "macs", "--html", str(tmp_path / "none" / "x.html"))
    assert done.returncode == 255 and "No such file" in done.stderr and "umac-64" in done.stdout


def test_interrupt_writes_what_there_is(ours, tmp_path):
    page = tmp_path / "page.html"
    child = subprocess.Popen([ours.speed, "--seconds", "0.03", "--html", str(page)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    time.sleep(3)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130 and err == ""
    assert "aes128-ctr hmac-sha1" in out and "Interrupted" in out and "ssh-rsa" not in out
    assert "Interrupted" in page.read_text()
    assert os.listdir(tmp_path) == ["page.html"]


def test_progress_only_on_a_terminal(ours):
    master, slave = pty.openpty()
    child = subprocess.Popen([ours.speed, "--seconds", "0.05", "--only", "kex"], stdout=subprocess.PIPE, stderr=slave,
                             stdin=subprocess.DEVNULL)
    os.close(slave)
    out, seen = child.communicate(timeout=60)[0], b""
    try:
        while block := os.read(master, 65536):
            seen += block
    except OSError:
        pass
    os.close(master)
    assert re.search(rb"\r\[#+\.*\] +\d+% [a-z0-9@.-]+", seen) and seen.endswith(b"\r\x1b[K")
    assert b"[#" not in out and b"\x1b" not in out


# -- the page

def dump(page, *args):
    chromium = shutil.which("chromium")
    assert chromium, "chromium is not installed (./check installs it)"
    done = subprocess.run([chromium, "--no-sandbox", "--headless", "--disable-gpu", "--window-size=390,844",
                           "--virtual-time-budget=2000", *args, page.as_uri()], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "HOME": str(page.parent)})
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_page(page):
    """One file, nothing from elsewhere, and what a browser makes of it has the bars and the table."""
    source = page.read_text()
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import", source)
    assert "prefers-color-scheme: dark" in source and 'name="viewport"' in source
    dom = dump(page, "--dump-dom")
    assert dom.count("<rect") >= 2 and "<table>" in dom and "</html>" in dom
    assert source.count("<rect") == dom.count("<rect") and source.count("<tr>") == dom.count("<tr>")
    return dom


def test_page_in_a_browser(speed, tmp_path):
    page = tmp_path / "local.html"
    page.write_text("old")
    assert speed(*QUICK, "--html", str(page), "--only", "packets,kex").returncode == 0
    dom = check_page(page)
    assert "aes128-gcm@openssh.com" in dom and "curve25519-sha256" in dom
    assert page.stat().st_mode & 0o777 == 0o644

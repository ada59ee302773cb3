# SPDX-License-Identifier: ISC
"""ssh-speed: the tables of this machine, and a host."""
import csv
import fcntl
import io
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import termios
import time

import pytest

from harness import world as ground
from harness.client import Ssh
from harness.server import Sshd

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
    # a certificate signs as its key does, and a device signs elsewhere
    signers = {n for n in ours.query("key-sig") if "-cert-" not in n and not n.startswith(("sk-", "webauthn-"))}
    assert {n.split()[0] for n in names(everything, "signatures")} == signers
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
    (["--json=1"], "takes no argument"), (["--json", "--csv"], "both want standard output"),
    (["--size", "4"], "--size is for a run with a host"), (["--compare", "host"], "--compare is for a run without"),
    (["--size", "0", "host"], "--size takes 1M"), (["--size", "2T", "host"], "--size takes 1M"),
    (["-J", "jump", "host"], "-J (jump hosts) is not built"), (["a", "b"], "not expected behind the host"),
    (["-p", "x", "host"], "Bad port"), (["a@", ], "is no destination"),
    (["-c", "aes128-gmc", "host"], "is aes128-gcm@openssh.com meant?"),
    (["-c", "aes128-gmc@openssh.com", "host"], "is aes128-gcm@openssh.com meant?"),
    (["-c", "aes128-gcm@opensh.org", "host"], "is aes128-gcm@openssh.com meant?"),
    (["-c", "aes128-gcm", "host"], "is aes128-gcm@openssh.com meant?"),
    (["-c", "aes128-crt", "host"], "is aes128-ctr meant?"),
    (["-c", "rot13", "host"], "ssh -Q cipher lists")))
def test_wrong_usage_is_told(speed, args, said):
    done = speed(*args)
    assert done.returncode == 255 and said in done.stderr and done.stdout == "", done.stderr


def test_help_lists_every_option(speed, ours):
    text = speed("--help").stdout
    for option in ("--compare", "--csv", "--html file", "--json", "--only tables", "--seconds seconds", "--version",
                   "--size size", "-c, --ciphers list", "-p port", "-i file", "-o option"):
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
    assert re.search(r"^\S+ \S+ +[0-9.]+ +[0-9.]+ ", out, re.M), out
    assert "Interrupted" in out and "ssh-rsa" not in out
    assert "Interrupted" in page.read_text()
    assert os.listdir(tmp_path) == ["page.html"]


def with_terminal(line):
    """(status, stdout, what the terminal showed) of a run whose stderr is a terminal."""
    master, slave = pty.openpty()
    child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=slave, stdin=subprocess.DEVNULL)
    os.close(slave)
    out, seen = child.communicate(timeout=60)[0], b""
    try:
        while block := os.read(master, 65536):
            seen += block
    except OSError:
        pass
    os.close(master)
    return child.returncode, out, seen


def test_progress_only_on_a_terminal(ours):
    _, out, seen = with_terminal([ours.speed, "--seconds", "0.05", "--only", "kex"])
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


# -- a host

ROW = {"name", "mac", "up_mb_s", "down_mb_s", "client_cpu_s_per_gb", "login_ms", "round_trips", "rtt_ms", "error"}


@pytest.fixture(scope="module")
def server(world, ours):
    if not ours.is_bowline:
        pytest.skip("OpenSSH has no such program")
    ciphers = ",".join(c for c in ours.query("cipher") if c != "aes192-ctr")
    with Sshd(world, ours, [f"Ciphers {ciphers}", "MaxStartups 100"]).start() as s:
        yield s


@pytest.fixture
def to(world, ours):
    """to(server, arguments...): a finished run against it."""
    def command(server, *args, auth="key", options=()):
        ssh, _, folder = Ssh(world, ours).command(server, options, auth=auth, debug=False)
        return [ours.speed, *ssh[1:-1], *args, ssh[-1]], folder

    def run(server, *args, auth="key", options=(), env=None, timeout=120):
        line, _ = command(server, *args, auth=auth, options=options)
        clean = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
        return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout,
                              env={**clean, **(env or {})})
    run.command = command
    return run


def test_every_cipher_that_both_know(to, server, ours):
    done = to(server, "--size", "4", "--json")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    report = json.loads(done.stdout)
    rows = report["tables"]["ciphers"]
    offered = {"aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes128-ctr",
               "aes256-ctr"}                                                       # the server lacks aes192-ctr
    assert {row["name"] for row in rows} == offered
    for row in rows:
        assert row.keys() == ROW and row["error"] is None
        assert row["up_mb_s"] > 0 and row["down_mb_s"] > 0 and row["client_cpu_s_per_gb"] > 0
        assert 0 < row["login_ms"] < 20000 and 3 <= row["round_trips"] <= 8 and row["rtt_ms"] > 0
        assert (row["mac"] is None) == ("ctr" not in row["name"])
    assert report["choice"] in offered and report["why"] and report["interrupted"] is False
    facts = report["facts"]
    assert facts["server"].startswith("SSH-2.0-OpenSSH_Bowline_") and f"port {server.port}" in facts["host"]
    assert "cat >/dev/null" in facts["up_command"] and "/dev/zero" in facts["down_command"]


def test_all_measures_the_old_ones_too(to, server, ours):
    done = to(server, "--size", "1", "--all", "--csv")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["name"] for row in rows} == set(ours.query("cipher")) - {"aes192-ctr"}
    assert all(float(row["up_mb_s"]) > 0 and float(row["down_mb_s"]) > 0 and row["error"] == "" for row in rows)
    assert set(rows[0]) == ROW


def test_old_ciphers_are_never_the_choice(to, server):
    done = to(server, "--size", "1", "-c", "arcfour,3des-cbc", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["choice"] is None
    done = to(server, "--size", "1", "-c", "3des-cbc,aes256-ctr")
    assert "Best choice: aes256-ctr" in done.stdout and "the only one" in done.stdout
    assert "By itself" not in done.stdout                                      # nothing to compare it with


def test_a_choice_by_a_small_sample_is_called_so(to, server):
    done = to(server, "--size", "4", "-c", "chacha20-poly1305@openssh.com,aes128-gcm@openssh.com")
    assert "Best choice: " in done.stdout and "The sample is small (4 MiB)" in done.stdout
    assert "ssh takes" not in done.stdout and "Ciphers ^" not in done.stdout
    done = to(server, "--size", "64", "-c", "chacha20-poly1305@openssh.com,aes128-gcm@openssh.com")
    assert "sample is small" not in done.stdout and "ssh takes" in done.stdout
    done = to(server, "--size", "64", "-c", "aes128-ctr")
    assert "sample is small" not in done.stdout and "ssh takes" not in done.stdout and "the only one" in done.stdout
    done = to(server, "--size", "64", "-c", "aes128-ctr,aes256-ctr")
    assert "ssh takes" not in done.stdout                                      # what it takes was not measured


def test_the_amount_goes_through_both_ways(to, server):
    """What the server counts is what was asked for."""
    before = server.log()
    done = to(server, "--size", "8", "-c", "aes128-ctr", options=["LogLevel=VERBOSE"])
    assert done.returncode == 0, done.stderr
    assert "8 MiB up and down" in done.stdout and "aes128-ctr" in done.stdout
    assert server.log()[len(before):].count("Accepted publickey") == 2         # the scout and the cipher


def test_a_cipher_of_the_list_that_the_server_lacks(to, server):
    done = to(server, "--size", "1", "-c", "aes128-ctr,aes192-ctr")
    assert done.returncode == 1
    assert re.search(r"^aes192-ctr +the server does not offer it$", done.stdout, re.M)
    assert re.search(r"^aes128-ctr +[0-9.]+ ", done.stdout, re.M)
    done = to(server, "-c", "aes192-ctr")
    assert done.returncode == 255 and "no matching cipher found" in done.stderr and done.stdout == ""


def test_password_is_asked_for_once(to, server, world, tmp_path):
    if not world.account.password:
        pytest.skip(world.account.why_no_password)
    ask, count = tmp_path / "ask", tmp_path / "count"
    ask.write_text(f"#!/bin/sh\necho x >>{count}\necho '{world.account.password}'\n")
    ask.chmod(0o700)
    env = {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    done = to(server, "--size", "1", auth="password", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("aes") >= 4 and count.read_text() == "x\n"


def test_passphrase_is_asked_for_once(to, server, world, theirs, tmp_path):
    key, ask, count = tmp_path / "key", tmp_path / "ask", tmp_path / "count"
    shutil.copy(world.keys.path("ed25519"), key)
    subprocess.run([theirs.keygen, "-q", "-p", "-P", "", "-N", "open sesame", "-f", str(key)], check=True, timeout=20)
    ask.write_text(f"#!/bin/sh\necho x >>{count}\necho 'open sesame'\n")
    ask.chmod(0o700)
    env = {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    line, _ = to.command(server, "--size", "1", "-c", "aes128-ctr,aes256-ctr")
    line[line.index("-i") + 1] = str(key)
    line[line.index("BatchMode=yes")] = "BatchMode=no"
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    assert count.read_text() == "x\n"


def test_wrong_password_ends_it_with_words(to, server, world, tmp_path):
    ask = tmp_path / "ask"
    ask.write_text("#!/bin/sh\necho wrong\n")
    ask.chmod(0o700)
    env = {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    done = to(server, auth="password", env=env)
    assert done.returncode == 255 and "Permission denied (" in done.stderr and done.stdout == "", done.stderr


def test_host_that_is_not_there(to, server):
    line, _ = to.command(server)
    line[line.index("-p") + 1] = str(ground.free_port())
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert done.returncode == 255 and "Connection refused" in done.stderr and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_unknown_host_key_is_refused(to, server, tmp_path):
    line, _ = to.command(server, options=["StrictHostKeyChecking=yes"])
    line = [f"UserKnownHostsFile={tmp_path}/none" if w.startswith("UserKnownHostsFile=") else w for w in line]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    assert done.returncode == 255 and "Host key verification failed" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("force,said", (("exit 7", "status 7"), ("echo no shell for you", "ended with status 0"),
                                        ("internal-sftp", "")))
def test_server_that_runs_no_command(to, world, theirs, force, said):
    """A forced command takes the place of ours: nothing is measured that is not what it seems."""
    with Sshd(world, theirs, [f"ForceCommand {force}"], name="forced").start() as s:
        done = to(s, timeout=60)
    assert done.returncode == 255 and done.stdout == "", done.stdout
    assert "ssh-speed: 127.0.0.1: " in done.stderr and said in done.stderr, done.stderr


def test_one_session_a_connection(to, world, ours):
    with Sshd(world, ours, ["MaxSessions 1"], name="single").start() as s:
        done = to(s, "--size", "1", "-c", "aes128-ctr")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^aes128-ctr +[0-9.]+ +[0-9.]+ ", done.stdout, re.M)


def test_through_a_proxy_command(to, server, tmp_path):
    """No TCP of our own: the round trip is not known, all else is."""
    relay = tmp_path / "relay.py"
    relay.write_text("""import os, select, socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    for f in select.select([0, s], [], [])[0]:
        data = os.read(0, 65536) if f == 0 else s.recv(65536)
        if not data:
            sys.exit()
        if f == 0:
            s.sendall(data)
        else:
            view = memoryview(data)
            while view:
                view = view[os.write(1, view):]
""")
    proxy = f"ProxyCommand=/usr/bin/python3 {relay} {server.port}"
    done = to(server, "--size", "1", "-c", "aes128-ctr,aes256-ctr", "--json", options=[proxy])
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["tables"]["ciphers"]
    assert len(rows) == 2 and all(r["rtt_ms"] is None and r["up_mb_s"] > 0 and r["error"] is None for r in rows)


def test_progress_to_a_host_only_on_a_terminal(to, server):
    line, _ = to.command(server, "--size", "64", "-c", "aes128-ctr", "--csv")
    status, out, seen = with_terminal(line)
    assert status == 0
    assert re.search(rb"\r\[[#.]+\] +\d+% aes128-ctr (up|down) [0-9.]+ MB/s", seen), seen
    assert seen.endswith(b"\r\x1b[K") and b"\x1b" not in out


def test_rekeys_do_not_disturb(to, server):
    done = to(server, "--size", "16", "-c", "aes128-gcm@openssh.com", options=["RekeyLimit=1M"])
    assert done.returncode == 0 and re.search(r"^aes128-gcm\S+ +[0-9.]+ +[0-9.]+ ", done.stdout, re.M), done.stderr


def test_interrupt_writes_what_was_measured_and_leaves_nobody(to, server, tmp_path):
    """The second cipher moves far more than there is time for."""
    page = tmp_path / "page.html"
    line, _ = to.command(server, "--size", "256", "--json", "--html", str(page))
    before = server.log().count("Accepted publickey")
    child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert ground.wait_until(lambda: server.log().count("Accepted publickey") >= before + 3, 60)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130, err
    report = json.loads(out)
    assert report["interrupted"] is True and report["tables"]["ciphers"][0]["up_mb_s"] > 0
    assert len(report["tables"]["ciphers"]) < 5
    assert "Interrupted" in page.read_text() and os.listdir(tmp_path) == ["page.html"]


def test_interrupt_before_there_is_anything(to, server, tmp_path):
    """The address that answers nothing: the run ends at once."""
    line, _ = to.command(server, options=["ProxyCommand=sleep 60", "ConnectTimeout=50"])
    child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
    time.sleep(1)
    os.killpg(child.pid, signal.SIGINT)     # as the terminal does
    out, _ = child.communicate(timeout=10)
    assert child.returncode in (130, -signal.SIGINT) and out == ""


def test_interrupt_at_the_question(to, server):
    """Ctrl-C at the password prompt: status 130, the echo is back, no report."""
    line, _ = to.command(server, auth="password")
    env = {k: v for k, v in os.environ.items() if not k.startswith("SSH_") and k != "DISPLAY"}
    master, slave = pty.openpty()
    child = subprocess.Popen(line, stdin=slave, stdout=subprocess.PIPE, stderr=slave, env=env,
                             start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    seen = b""
    while b"password: " not in seen:
        seen += os.read(master, 4096)
    os.write(master, b"\x03")
    out, _ = child.communicate(timeout=20)
    echo = termios.tcgetattr(slave)[3] & termios.ECHO
    os.close(slave)
    os.close(master)
    assert child.returncode == 130 and out == b"" and echo


def test_page_of_a_host_in_a_browser(to, server, tmp_path):
    page = tmp_path / "host.html"
    done = to(server, "--size", "1", "--html", str(page))
    assert done.returncode == 0, done.stderr
    dom = check_page(page)
    assert "Best choice: " in dom and "aes128-gcm@openssh.com" in dom and "SSH-2.0-OpenSSH_Bowline_" in dom
    assert "echo bowline-&quot;ready&quot;" in page.read_text()

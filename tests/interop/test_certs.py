# SPDX-License-Identifier: ISC
"""Certificates with the installed OpenSSH: what one signs the other reads, in the same words, and each refuses what
the other refuses."""
import base64
import os
import re
import subprocess

import pytest

from harness import programs

OURS = programs.under_test().keygen
TYPES = [("ed25519", None), ("ecdsa", 256), ("ecdsa", 384), ("ecdsa", 521), ("rsa", 2048)]
NAMES = [f"{kind}{bits or ''}" for kind, bits in TYPES]


@pytest.fixture(scope="module")
def foreign():
    openssh = programs.installed()
    if openssh is None:
        pytest.skip("no foreign ssh-keygen is installed")
    return openssh.keygen


@pytest.fixture(scope="module")
def keys(tmp_path_factory, foreign):
    """A key and an authority of each type."""
    top = tmp_path_factory.mktemp("keys")
    for (kind, bits), name in zip(TYPES, NAMES):
        for role in ("ca", "key"):
            size = ["-b", bits] if bits else []
            good(foreign, top, "-q", "-t", kind, *size, "-N", "", "-C", f"{role} of {name}", "-f", f"{role}_{name}")
    return top


def run(program, cwd, *args, stdin="", **more):
    """With the line ends of text files: OpenSSH ends log lines with CR LF."""
    done = subprocess.run([program, *map(str, args)], input=stdin, cwd=cwd, capture_output=True, text=True, timeout=60,
                          start_new_session=True, **more)
    done.stderr = done.stderr.replace("\r", "")
    return done


def good(program, cwd, *args, **more):
    done = run(program, cwd, *args, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def certify(program, keys, *args, ca="ca_ed25519", key="key_ed25519"):
    """Signs; gives the program's words and its certificate."""
    cert = keys / f"{key}-cert.pub"
    cert.unlink(missing_ok=True)
    done = run(program, keys, "-s", ca, *args, f"{key}.pub")
    return done, cert.read_text() if cert.exists() else None


def shown(keys, foreign, key="key_ed25519"):
    """What -L prints, which must be the same from both."""
    texts = [run(program, keys, "-L", "-f", f"{key}-cert.pub") for program in (OURS, foreign)]
    assert texts[0].returncode == texts[1].returncode == 0
    assert texts[0].stdout == texts[1].stdout
    return texts[0].stdout


@pytest.mark.parametrize("key", NAMES)
@pytest.mark.parametrize("ca", NAMES)
def test_each_type_signed_by_each_type_reads_the_same(keys, foreign, ca, key):
    for kind in ((), ("-h",)):
        args = (*kind, "-I", "name of it", "-n", "one,two", "-z", "12", "-V", "20200101:20300101")
        said = []
        for program in (OURS, foreign):
            done, text = certify(program, keys, *args, ca=f"ca_{ca}", key=f"key_{key}")
            said.append((done.returncode, done.stderr, shown(keys, foreign, f"key_{key}")))
            assert text.endswith(f" key of {key}\n")
            lines = [good(p, keys, "-l", "-v", "-f", f"key_{key}-cert.pub") for p in (OURS, foreign)]
            assert lines[0] == lines[1] and "-CERT)" in lines[0]
        assert said[0] == said[1]
        assert said[0][0] == 0 and ("host certificate" if kind else "user certificate") in said[0][2]


def sk_public(keys, kind):
    """A public key as a security key has it; nobody has its private half."""
    def packed(data):
        return len(data).to_bytes(4, "big") + data
    name = b"sk-ssh-ed25519@openssh.com" if kind == "ed25519" else b"sk-ecdsa-sha2-nistp256@openssh.com"
    if kind == "ed25519":
        fields = packed(bytes(range(32)))
    else:
        blob = base64.b64decode((keys / "key_ecdsa256.pub").read_text().split()[1])
        fields = blob[4 + len("ecdsa-sha2-nistp256"):]
    data = packed(name) + fields + packed(b"ssh:words")
    (keys / f"key_sk{kind}.pub").write_text(f"{name.decode()} {base64.b64encode(data).decode()} key of sk{kind}\n")
    return f"key_sk{kind}"


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
@pytest.mark.parametrize("ca", ["ed25519", "rsa2048"])
def test_keys_of_security_keys_are_signed(keys, foreign, ca, kind):
    key = sk_public(keys, kind)
    texts = []
    for program in (OURS, foreign):
        done, text = certify(program, keys, "-I", "x", "-n", "me", "-O", "no-touch-required", "-O", "verify-required", ca=f"ca_{ca}", key=key)
        texts.append((done.returncode, done.stderr, shown(keys, foreign, key), good(program, keys, "-l", "-f", f"{key}-cert.pub")))
        assert text.endswith(f" key of sk{kind}\n")
    assert texts[0] == texts[1] and texts[0][0] == 0
    assert f"({kind.upper()}-SK-CERT)" in texts[0][3] and "no-touch-required\n" in texts[0][2]


OPTIONS = [
    ["clear"], ["CLEAR"], ["permit-pty"], ["no-pty"], ["no-x11-forwarding"], ["No-X11-Forwarding"], ["no-agent-forwarding"],
    ["no-port-forwarding", "no-user-rc"], ["clear", "permit-x11-forwarding"], ["permit-user-rc", "clear"],
    ["force-command=ls -l"], ["Force-Command=x"], ["force-command="], ["force-command"], ["force-command=a", "force-command=b"],
    ["source-address=10.0.0.0/8,1.2.3.4,2001:db8::/32"], ["source-address=10.0.0.1/8"], ["source-address=name"],
    ["source-address="], ["source-address=1.2.3.4,"], ["source-address=*"], ["source-address=!1.2.3.4"],
    ["source-address=1.2.3.4", "source-address=1.2.3.5"],
    ["no-touch-required"], ["no-touch-required", "touch-required"], ["verify-required"],
    ["verify-required", "no-verify-required"], ["verify-required=1"], ["critical:foo"], ["critical:foo=bar"],
    ["critical:"], ["critical:force-command=x"], ["critical:verify-required"], ["extension:foo@x=bar"], ["extension:foo"],
    ["extension:foo="], ["extension:=bar"], ["extension:permit-pty"], ["extension:verify-required"], ["nonsense"],
    ["clear", "permit-pty", "extension:b=1", "extension:a=2", "extension:a=1", "critical:zzz=1", "critical:aaa",
     "force-command=x"],
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: ",".join(o))
@pytest.mark.parametrize("kind", ["user", "host"])
def test_options_do_the_same(keys, foreign, options, kind):
    args = ["-I", "id", *(["-h"] if kind == "host" else []), *[f"-O{o}" for o in options]]
    results = []
    for program in (OURS, foreign):
        done, text = certify(program, keys, *args)
        last = done.stderr.splitlines()[-1]  # about addresses OpenSSH says more before
        results.append((done.returncode, last, shown(keys, foreign) if text else None))
    assert results[0] == results[1]


VALIDITY = [
    "0x10:0x20", "0x10:0xffffffffffffffff", "0x0:0x20", "0x10:0xf000000000000", "always:forever", "always:20300101",
    "20200101:forever", "20200101:20300101", "20200101Z:20300101120000Z", "202001010101z:forever", "20200101000060:forever",
    "20200230:forever", "20200101", "20200101:20190101", "20200101:20200101", "20201301:forever", "19690101:20200101", "always", "forever",
    "always:always", "forever:forever", "ALWAYS:forever", "-1d", "+1d:", ":+1d", ":", "a:b:c", "20200101:20300101:", "2020:2021",
    "0x:0x20", "0xZZ:0x20", "0X10:0x20", "+:+1", "+-1:+2", "+5X:+6", "+1y:+2y", "-100000w:forever", "+99999999999999999999:forever",
]


@pytest.mark.parametrize("interval", VALIDITY)
def test_intervals_mean_the_same(keys, foreign, interval):
    env = {**os.environ, "TZ": "America/New_York"}
    results = []
    for program in (OURS, foreign):
        cert = keys / "key_ed25519-cert.pub"
        cert.unlink(missing_ok=True)
        done = run(program, keys, "-s", "ca_ed25519", "-I", "id", "-V", interval, "key_ed25519.pub", env=env)
        results.append((done.returncode, done.stderr, cert.exists() and cert_times(cert.read_text())))
    assert results[0] == results[1]


def string(data, at):
    n = int.from_bytes(data[at:at + 4], "big")
    return data[at + 4:at + 4 + n], at + 4 + n


def cert_times(line):
    """Of an Ed25519 certificate."""
    data, at = base64.b64decode(line.split()[1]), 0
    for _ in range(3):  # type, nonce, key
        _, at = string(data, at)
    at += 12
    for _ in range(2):  # key id, principals
        _, at = string(data, at)
    return int.from_bytes(data[at:at + 8], "big"), int.from_bytes(data[at + 8:at + 16], "big")


@pytest.mark.parametrize("interval,start,end", [
    ("+52w", None, 52 * 7 * 86400), ("+1w2d3h4m5s6:+4w", 788651 + 0, 4 * 7 * 86400), ("-5m:+1d", -300, 86400),
    ("-1D:forever", -86400, None), ("+0:+1H", 0, 3600), ("20200101Z:+1d", 1577836800, 86400),
])
def test_intervals_from_now(keys, foreign, interval, start, end):
    """Within the seconds that the two runs are apart."""
    for program in (OURS, foreign):
        before = int(good("date", keys, "+%s"))
        done, text = certify(program, keys, "-I", "id", "-V", interval)
        after = int(good("date", keys, "+%s"))
        assert done.returncode == 0, done.stderr
        first, last = cert_times(text)
        if start is None:
            assert first % 60 == 0 and before - 120 < first <= after - 59
        elif start > 1e9:
            assert first == start
        else:
            assert before + start <= first <= after + start
        assert last == 2 ** 64 - 1 if end is None else before + end <= last <= after + end


@pytest.mark.parametrize("args", [
    ["-I", ""], ["-I", "x", "-n", "a,b,c", "-z", "5"], ["-I", "x", "-n", "a b"], ["-I", "x", "-n", "a,b,"], ["-I", "x", "-n", ""],
    ["-I", "x", "-n", ",".join(map(str, range(256)))], ["-I", "x", "-n", ",".join(map(str, range(257)))],
    ["-I", "x", "-z", "18446744073709551615"], ["-I", "x", "-z", "18446744073709551616"], ["-I", "x", "-z", "-1"],
    ["-I", "x", "-z", "x"], ["-I", "x", "-z", "+"], ["-I", "x", "-z", " 5"], ["-I", "x", "-z", "0x10"], ["-I", "x", "-z", "+7"], [],
    ["-I", "x", "-t", "rsa-sha2-256"], ["-I", "x", "-t", "ssh-ed25519"], ["-h", "-I", "the host", "-n", "*.foo,bar"],
], ids=str)
def test_other_values_do_the_same(keys, foreign, args):
    results = []
    for program in (OURS, foreign):
        done, text = certify(program, keys, *args)
        results.append((done.returncode, done.stderr, shown(keys, foreign) if text else None))
    assert results[0] == results[1]


@pytest.mark.parametrize("alg", ["rsa-sha2-256", "rsa-sha2-512", "ssh-rsa", None])
def test_an_rsa_authority_signs_with_the_hash_of_t(keys, foreign, alg):
    args = ["-I", "x", *(["-t", alg] if alg else [])]
    for program in (OURS, foreign):
        done, _ = certify(program, keys, *args, ca="ca_rsa2048")
        assert done.returncode == 0, done.stderr
        assert f"(using {alg or 'rsa-sha2-512'})\n" in shown(keys, foreign)


def test_names_of_certificates_and_several_keys(keys, foreign, tmp_path):
    for program in (OURS, foreign):
        place = tmp_path / ("ours" if program == OURS else "theirs")
        place.mkdir()
        for name in ("a.b.pub", "plain", "pair", "pair.pub", "x.public", "alone"):
            suffix = "" if name in ("pair", "alone") else ".pub"
            (place / name).write_text((keys / f"key_ecdsa256{suffix}").read_text())
            (place / name).chmod(0o600)
        done = run(program, place, "-s", keys / "ca_ecdsa384", "-I", "i", "-z", "+9", "a.b.pub", "plain", "pair", "x.public", "alone")
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines() == [
            f'Signed user key {name}-cert.pub: id "i" serial {9 + i} valid forever'
            for i, name in enumerate(["a.b", "plain", "pair", "x.public", "alone"])]
        assert {p.name for p in place.glob("*cert*")} == {f"{n}-cert.pub" for n in ("a.b", "plain", "pair", "x.public", "alone")}
        assert oct((place / "plain-cert.pub").stat().st_mode & 0o777) == "0o644"
        assert run(program, place, "-q", "-s", keys / "ca_ecdsa384", "-I", "i", "plain").stderr == ""


def test_what_cannot_be_signed_is_told(keys, foreign, tmp_path):
    certify(OURS, keys, "-I", "x")
    (keys / "empty").touch()
    for name, words in (("absent", "No such file"), ("key_ed25519-cert.pub", "cannot be certified"), ("empty", "invalid format")):
        for program in (OURS, foreign):
            done = run(program, keys, "-s", "ca_ed25519", "-I", "x", name)
            assert done.returncode == 255 and name in done.stderr
        assert words in run(OURS, keys, "-s", "ca_ed25519", "-I", "x", name).stderr
    for args, status in ((("-s", "ca_ed25519", "-I", "x"), 1), (("-s", "absent", "-I", "x", "key_ed25519.pub"), 255)):
        assert [run(p, keys, *args).returncode for p in (OURS, foreign)] == [status, status]
    assert 'Load key "absent": No such file or directory\n' in run(OURS, keys, "-s", "absent", "-I", "x", "key_ed25519.pub").stderr


def test_a_list_of_certificates_is_shown_with_its_lines(keys, foreign):
    certs = [certify(OURS, keys, "-I", name, key=f"key_{name}")[1] for name in NAMES]
    plain = (keys / "key_rsa2048.pub").read_text()
    damaged = certs[0].replace("AAAAIHNz", "AAAAIHNy")
    texts = ["".join(certs), certs[0], f"# words\n \t{certs[1]}{plain}nonsense\n{certs[2]}", plain, "nonsense\n", "",
             certs[0].rstrip("\n"), damaged, certs[0][:-200] + "\n", f"option {certs[0]}", certs[0].replace("\n", "\r\n")]
    for text in texts:
        (keys / "list").write_text(text)
        for where, stdin in (("list", ""), ("-", text)):
            results = [run(p, keys, "-L", "-f", where, stdin=stdin) for p in (OURS, foreign)]
            assert [r.returncode for r in results] == [0 if "certificate\n" in results[1].stdout else 1] * 2
            assert results[0].stdout == results[1].stdout
            words = [[line.split(" key: ")[0] for line in r.stderr.splitlines()] for r in results]  # reasons differ
            assert words[0] == words[1]
            for more in (["-l"], ["-l", "-E", "md5"], ["-B"]):
                outs = [run(p, keys, *more, "-f", where, stdin=stdin) for p in (OURS, foreign)]
                if outs[1].returncode == 0:
                    assert outs[0].stdout.split() == outs[1].stdout.split()  # theirs shows a CR
    assert run(OURS, keys, "-L", "-f", "absent").returncode == 255
    (keys / "list").write_text(certs[0])
    md5 = [good(p, keys, "-L", "-E", "md5", "-f", "list") for p in (OURS, foreign)]
    assert md5[0] == md5[1] and "MD5:" in md5[0]


def test_no_damaged_certificate_is_shown(keys, foreign):
    """Every byte, several bits of it, and every length: both say no."""
    _, text = certify(foreign, keys, "-I", "id", "-n", "user", "-O", "force-command=ls", ca="ca_ecdsa256")
    name, blob, _ = text.split(" ", 2)
    data = base64.b64decode(blob)
    bad = [data[:i] for i in range(1, len(data))] + [data + b"\0"]
    for i in range(len(data)):
        for bit in (0, 7):
            bad.append(data[:i] + bytes([data[i] ^ 1 << bit]) + data[i + 1:])
    (keys / "list").write_text("".join(f"{name} {base64.b64encode(b).decode()}\n" for b in bad))
    for program in (OURS, foreign):
        done = run(program, keys, "-L", "-f", "list")
        assert done.returncode == 1 and done.stdout == ""
        assert len(done.stderr.splitlines()) == len(bad)


@pytest.mark.parametrize("whose", ["ours", "theirs"])
@pytest.mark.parametrize("ca", ["ed25519", "rsa2048", "ecdsa521"])
def test_an_authority_in_the_agent(keys, foreign, ca, whose):
    agents = (programs.under_test() if whose == "ours" else programs.installed()).agent
    with subprocess.Popen([agents, "-D"], stdout=subprocess.PIPE, text=True) as agent:
        try:
            env = {**os.environ, "SSH_AUTH_SOCK": re.search("SSH_AUTH_SOCK=([^;]+)", agent.stdout.readline())[1]}
            good("ssh-add", keys, "-q", f"ca_{ca}", env=env)
            for path in (f"ca_{ca}", f"ca_{ca}.pub"):
                done = run(OURS, keys, "-U", "-s", path, "-I", "by agent", "key_ecdsa384.pub", env=env)
                assert done.returncode == 0, done.stderr
                assert 'Key ID: "by agent"' in shown(keys, foreign, "key_ecdsa384")
            if ca == "rsa2048":
                for alg in ("rsa-sha2-256", "rsa-sha2-512"):
                    good(OURS, keys, "-U", "-s", f"ca_{ca}", "-t", alg, "-I", "i", "key_ecdsa384.pub", env=env)
                    assert f"(using {alg})" in shown(keys, foreign, "key_ecdsa384")
            done = run(OURS, keys, "-U", "-s", "ca_ecdsa256", "-I", "i", "key_ecdsa384.pub", env=env)
            assert done.returncode == 255 and done.stderr == "CA key ca_ecdsa256 not found in agent\n"
        finally:
            agent.terminate()
    env.pop("SSH_AUTH_SOCK")
    done = run(OURS, keys, "-U", "-s", f"ca_{ca}", "-I", "i", "key_ecdsa384.pub", env=env)
    assert done.returncode == 255 and done.stderr == "Cannot use public key for CA signature: agent not present\n"


def test_an_authority_with_a_passphrase(keys, foreign):
    if not (keys / "ca_locked").exists():
        good(foreign, keys, "-q", "-t", "ed25519", "-N", "a secret", "-f", "ca_locked")
    assert certify(OURS, keys, "-P", "a secret", "-I", "x", ca="ca_locked")[0].returncode == 0
    assert "ED25519" in shown(keys, foreign)
    done, text = certify(OURS, keys, "-P", "wrong", "-I", "x", ca="ca_locked")
    assert done.returncode == 255 and text is None
    assert done.stderr == 'Load key "ca_locked": incorrect passphrase supplied to decrypt private key\n'


def test_what_a_certificate_says_is_escaped(keys, foreign):
    certify(foreign, keys, "-I", "a\x1b[31m\nb", "-n", "x\ny", "-O", "force-command=\x07ls", "-O", "critical:new\x1b=1")
    text = good(OURS, keys, "-L", "-f", "key_ed25519-cert.pub")
    assert "\x1b" not in text and "\x07" not in text and '"a\\033[31m\\012b"' in text and "x\\012y\n" in text


def test_the_words_of_a_key_with_mldsa(keys, foreign):
    """No other program of Debian knows the type; a certificate of one signs and is signed all the same."""
    if not (keys / "ca_mldsa").exists():
        for role in ("ca", "key"):
            good(OURS, keys, "-q", "-t", "mldsa44-ed25519", "-N", "", "-C", "c", "-f", f"{role}_mldsa")
    done, _ = certify(OURS, keys, "-I", "x", ca="ca_mldsa", key="key_mldsa")
    assert done.returncode == 0, done.stderr
    text = good(OURS, keys, "-L", "-f", "key_mldsa-cert.pub")
    assert "Type: ssh-mldsa44-ed25519-cert-v01@openssh.com user certificate" in text
    assert "Signing CA: MLDSA44-ED25519 SHA256:" in text
    assert good(OURS, keys, "-l", "-f", "key_mldsa-cert.pub").endswith(" c (MLDSA44-ED25519-CERT)\n")

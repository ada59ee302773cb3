# SPDX-License-Identifier: ISC
"""ssh-keygen with the installed OpenSSH: what one makes the other reads, the words that scripts depend on, and
that an operation that fails leaves the old key."""
import os
import pty
import re
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from harness import programs

TYPES = [("ed25519", None), ("ecdsa", 256), ("ecdsa", 384), ("ecdsa", 521), ("rsa", 1024), ("rsa", 2048)]
CIPHERS = ["aes128-ctr", "aes192-ctr", "aes256-ctr", "aes128-cbc", "aes192-cbc", "aes256-cbc", "3des-cbc",
           "aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"]
OURS = programs.under_test().keygen
FLAGS = Path(__file__).resolve().parents[2] / "src/app/ssh-keygen/flags.def"


@pytest.fixture(scope="module")
def foreign():
    openssh = programs.installed()
    if openssh is None:
        pytest.skip("no foreign ssh-keygen is installed")
    return openssh.keygen


def run(program, *args, stdin="", **more):
    return subprocess.run([program, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=60,
                          start_new_session=True, **more)


def good(program, *args, **more):
    done = run(program, *args, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def make(program, path, kind, bits=None, passphrase="", comment="a comment", *more):
    size = ["-b", bits] if bits else []
    good(program, "-q", "-t", kind, *size, "-N", passphrase, "-C", comment, "-f", path, *more)
    return path


def blob(text):
    return text.split()[:2]


@pytest.mark.parametrize("kind,bits", TYPES)
@pytest.mark.parametrize("direction", ["ours", "theirs"])
def test_a_pair_is_read_by_the_other(tmp_path, foreign, kind, bits, direction):
    maker, reader = (OURS, foreign) if direction == "ours" else (foreign, OURS)
    key = make(maker, tmp_path / "k", kind, bits)
    public = (tmp_path / "k.pub").read_text()
    assert good(reader, "-y", "-f", key) == public
    assert good(reader, "-l", "-f", key) == good(maker, "-l", "-f", key)
    assert good(reader, "-l", "-v", "-E", "md5", "-f", f"{key}.pub") == good(maker, "-l", "-v", "-E", "md5", "-f", f"{key}.pub")
    assert good(reader, "-B", "-f", f"{key}.pub") == good(maker, "-B", "-f", f"{key}.pub")
    # each changes what the other made, and gives it back
    good(reader, "-p", "-P", "", "-N", "first secret", "-f", key)
    good(maker, "-p", "-P", "first secret", "-N", "second", "-f", key)
    good(reader, "-c", "-P", "second", "-C", "new words", "-f", key)
    assert good(maker, "-y", "-P", "second", "-f", key).split(" ", 2)[2] == "new words\n"
    assert blob(good(maker, "-y", "-P", "second", "-f", key)) == blob(public)


@pytest.mark.parametrize("cipher", CIPHERS)
@pytest.mark.parametrize("direction", ["ours", "theirs"])
def test_encrypted_files_of_every_cipher_are_read_by_the_other(tmp_path, foreign, cipher, direction):
    maker, reader = (OURS, foreign) if direction == "ours" else (foreign, OURS)
    key = make(maker, tmp_path / "k", "ecdsa", 256, "pass phrase", "c", "-Z", cipher, "-a", 3)
    assert good(reader, "-y", "-P", "pass phrase", "-f", key) == (tmp_path / "k.pub").read_text()
    wrong = run(reader, "-y", "-P", "wrong", "-f", key)
    assert wrong.returncode == 255 and "incorrect passphrase supplied to decrypt private key" in wrong.stderr


@pytest.mark.parametrize("form", ["PEM", "PKCS8"])
@pytest.mark.parametrize("passphrase", ["", "pass phrase"])
@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
def test_older_formats_are_read_and_become_new_ones(tmp_path, foreign, form, passphrase, kind):
    key = make(foreign, tmp_path / "k", kind, None, passphrase, "c", "-m", form)
    public = (tmp_path / "k.pub").read_text()
    assert blob(good(OURS, "-y", "-P", passphrase, "-f", key)) == blob(public)
    good(OURS, "-p", "-P", passphrase, "-N", "new", "-f", key)
    assert key.read_text().startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert blob(good(foreign, "-y", "-P", "new", "-f", key)) == blob(public)


@pytest.mark.parametrize("name,shown,bits", [
    ("ssh-ed25519", "ED25519", 256), ("ecdsa-sha2-nistp256", "ECDSA", 256), ("ecdsa-sha2-nistp384", "ECDSA", 384),
    ("ecdsa-sha2-nistp521", "ECDSA", 521), ("ssh-rsa", "RSA", 3072), ("ECDSA", "ECDSA", 256)])
def test_full_names_are_types_too(tmp_path, name, shown, bits):
    key = make(OURS, tmp_path / "k", name)
    line = good(OURS, "-l", "-f", key)
    assert re.fullmatch(rf"{bits} SHA256:.{{43}} a comment \({shown}\)\n", line)


def test_a_size_for_ed25519_is_ignored(tmp_path):
    key = make(OURS, tmp_path / "k", "ed25519", 512)
    assert good(OURS, "-l", "-f", key).startswith("256 ")


def test_the_words_of_a_new_key(tmp_path):
    key = tmp_path / "k"
    out = good(OURS, "-t", "ed25519", "-N", "", "-C", "c", "-f", key)
    lines = out.splitlines()
    assert lines[0] == "Generating public/private ed25519 key pair."
    assert lines[1] == f"Your identification has been saved in {key}"
    assert lines[2] == f"Your public key has been saved in {key}.pub"
    assert lines[3] == "The key fingerprint is:"
    assert re.fullmatch(r"SHA256:.{43} c", lines[4])
    assert lines[5] == "The key's randomart image is:"
    assert lines[6] == "+--[ED25519 256]--+" and lines[-1] == "+----[SHA256]-----+" and len(lines) == 17
    assert key.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "k.pub").stat().st_mode & 0o777 == 0o644


def talk(args, exchanges, cwd):
    """Runs the program on a terminal; each exchange is (text to wait for, answer)."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execv(OURS, [OURS, *args])
    seen = b""
    try:
        for expect, answer in exchanges:
            while expect.encode() not in seen:
                seen_now = os.read(fd, 4096)
                assert seen_now, seen
                seen += seen_now
            head, _, seen_rest = seen.partition(expect.encode())
            talk.log += head + expect.encode()
            seen = seen_rest
            os.write(fd, answer.encode() + b"\n")
        while True:
            part = os.read(fd, 4096)
            if not part:
                break
            seen += part
    except OSError:
        pass  # the program closed the terminal
    finally:
        os.close(fd)
    talk.log += seen
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_as_people_type_it(tmp_path):
    key = tmp_path / "typed"
    talk.log = b""
    status = talk(["-t", "ecdsa", "-b", "521"], [
        ("Enter file in which to save the key (", str(key)),
        ("(empty for no passphrase): ", "one secret"), ("Enter same passphrase again: ", "another"),
        ("(empty for no passphrase): ", "one secret"), ("Enter same passphrase again: ", "one secret"),
    ], tmp_path)
    assert status == 0
    assert b"secret" not in talk.log and b"do not match" in talk.log
    assert good(OURS, "-y", "-P", "one secret", "-f", key).startswith("ecdsa-sha2-nistp521 ")
    before = key.read_bytes()
    assert talk(["-t", "ecdsa", "-f", str(key)], [("Overwrite (y/n)? ", "n")], tmp_path) == 1
    assert key.read_bytes() == before
    assert talk(["-t", "ecdsa", "-f", str(key), "-N", ""], [("Overwrite (y/n)? ", "y")], tmp_path) == 0
    assert key.read_bytes() != before
    assert talk(["-p", "-f", str(key)], [
        ("Enter new passphrase (empty for no passphrase): ", "abc"), ("Enter same passphrase again: ", "abd")],
        tmp_path) == 1
    assert good(OURS, "-y", "-P", "", "-f", key)


def test_ctrl_c_at_a_passphrase_ends_it_and_makes_no_file(tmp_path):
    key = tmp_path / "k"
    talk.log = b""
    status = talk(["-t", "ed25519", "-f", str(key)], [("(empty for no passphrase): ", "abc\x03")], tmp_path)
    assert status == -signal.SIGINT
    assert not key.exists()


def test_wrong_passphrases_say_so_and_change_nothing(tmp_path):
    key = make(OURS, tmp_path / "k", "ed25519", None, "right")
    before = key.read_bytes(), (tmp_path / "k.pub").read_bytes()
    for args, words in ((("-p", "-N", "x"), f"Failed to load key {key}: incorrect passphrase"),
                        (("-c", "-C", "x"), f'Cannot load private key "{key}": incorrect passphrase'),
                        (("-y",), f'Load key "{key}": incorrect passphrase')):
        done = run(OURS, *args, "-P", "wrong", "-f", key)
        assert done.returncode == 255 and words in done.stderr
    assert before == (key.read_bytes(), (tmp_path / "k.pub").read_bytes())


def test_a_full_disk_leaves_the_old_pair(tmp_path):
    key = make(OURS, tmp_path / "k", "rsa", 2048, "right")
    before = key.read_bytes(), (tmp_path / "k.pub").read_bytes()

    def tiny_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
    for args in (("-p", "-P", "right", "-N", "x"), ("-c", "-P", "right", "-C", "x")):
        done = run(OURS, *args, "-f", key, preexec_fn=tiny_files)
        assert done.returncode == 1 and "failed: File too large" in done.stderr
    done = run(OURS, "-q", "-t", "rsa", "-b", 2048, "-N", "", "-f", key, stdin="y\n", preexec_fn=tiny_files)
    assert done.returncode == 1
    assert before == (key.read_bytes(), (tmp_path / "k.pub").read_bytes())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k", "k.pub"]


def test_a_link_stays_a_link(tmp_path):
    key = make(OURS, tmp_path / "real", "ed25519")
    (tmp_path / "link").symlink_to(key)
    good(OURS, "-p", "-N", "x", "-f", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    good(OURS, "-y", "-P", "x", "-f", key)


def test_an_open_private_key_is_refused_with_the_box(tmp_path):
    key = make(OURS, tmp_path / "k", "ed25519")
    key.chmod(0o644)
    done = run(OURS, "-y", "-f", key)
    rule = "@" * 59
    assert done.returncode == 255 and done.stdout == ""
    assert done.stderr.splitlines() == [
        rule, "@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @", rule,
        f"Permissions 0644 for '{key}' are too open.",
        "It is required that your private key files are NOT accessible by others.",
        "This private key will be ignored.", f'Load key "{key}": bad permissions']


def test_damaged_files_say_what_is_wrong(tmp_path):
    text = make(OURS, tmp_path / "good", "ed25519").read_text()
    cases = {
        "PuTTY-User-Key-File-3: ssh-ed25519\n": "truncated",
        text.replace("\n", "\\n"): "line structure",
        text.replace("-----END OPENSSH PRIVATE KEY-----\n", ""): "END line",
        text[:120] + "\n-----END OPENSSH PRIVATE KEY-----\n": "truncated",
        (tmp_path / "good.pub").read_text(): "public key",
        "hello\n": "invalid format",
    }
    for content, words in cases.items():
        bad = tmp_path / "bad"
        bad.write_text(content)
        bad.chmod(0o600)
        done = run(OURS, "-y", "-f", bad)
        assert done.returncode == 255 and words in done.stderr, done.stderr
    for content in (text.replace("\n", "\r\n"), text.rstrip("\n"), "\n# mine\n" + text):
        bad.write_bytes(content.encode())
        good(OURS, "-y", "-f", bad)


@pytest.mark.parametrize("args,status,words", [
    (("-t", "foo", "-f", "x"), 255, "unknown key type foo"),
    (("-t", "rsa", "-b", "512", "-f", "x"), 255, "Invalid RSA key length: minimum is 1024 bits"),
    (("-t", "rsa", "-b", "20000", "-f", "x"), 255, "Invalid RSA key length: maximum is 16384 bits"),
    (("-t", "ecdsa", "-b", "512", "-f", "x"), 255,
     "Invalid ECDSA key length: valid lengths are 256, 384 or 521 bits"),
    (("-t", "rsa", "-b", "0", "-f", "x"), 255, "Bits has bad value 0 (too small)"),
    (("-t", "rsa", "-b", "5x12", "-f", "x"), 255, "Bits has bad value 5x12 (invalid)"),
    (("-E", "foo", "-l", "-f", "x"), 255, 'Invalid hash algorithm "foo"'),
    (("-a", "0", "-f", "x"), 255, "Invalid number: 0 (too small)"),
    (("-Z", "foo", "-f", "x", "-N", "secret"), 255, "Invalid OpenSSH-format cipher 'foo'"),
    (("-y", "-f", "absent"), 255, "absent: No such file or directory"),
    (("-l", "-f", "absent"), 255, "absent: No such file or directory"),
    (("-F", "h", "-f", "absent"), 255, "Cannot stat absent: No such file or directory"),
    (("-t", "ed25519", "-N", "", "-f", "absent/k"), 1, 'Saving key "absent/k" failed: No such file or directory'),
    (("-J",), 1, "unknown option -- J"), (("words",), 1, "Too many arguments."), (("-f",), 1, "usage:"),
])
def test_refusals_have_their_words_and_states(tmp_path, args, status, words):
    done = run(OURS, *args, cwd=tmp_path)
    assert done.returncode == status and words in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("letter", re.findall(r"LATER\('(.)'", FLAGS.read_text()))
@pytest.mark.parametrize("arguments", [(), ("x", "y")], ids=["bare", "more"])
def test_what_is_not_built_is_one_sentence(tmp_path, letter, arguments):
    done = run(OURS, f"-{letter}", *arguments, cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert re.fullmatch(rf"ssh-keygen: -{letter} is not built yet \([^()]+\)\n", done.stderr), done.stderr


@pytest.mark.parametrize("args", [("-J",), ("-f",), ("-l", "-f")])
def test_the_error_stands_behind_the_usage(args):
    assert re.search(r"(unknown option -- J|option requires an argument -- f)\n$", run(OURS, *args).stderr)


FORMS = {("rsa", "PEM"): "RSA PRIVATE KEY", ("ecdsa", "PEM"): "EC PRIVATE KEY"}


@pytest.mark.parametrize("phrase", ["", "five5"])
@pytest.mark.parametrize("form", ["PEM", "pkcs8"])
@pytest.mark.parametrize("kind,bits", [("rsa", 1024), ("ecdsa", 256), ("ecdsa", 521)])
def test_private_keys_are_written_in_the_forms_of_openssl(tmp_path, foreign, kind, bits, form, phrase):
    key = make(OURS, tmp_path / "k", kind, bits, phrase, "lost", "-m", form)
    public = blob((tmp_path / "k.pub").read_text())
    head = FORMS.get((kind, form), "ENCRYPTED PRIVATE KEY" if phrase else "PRIVATE KEY")
    assert key.read_text().startswith(f"-----BEGIN {head}-----\n") and key.stat().st_mode & 0o777 == 0o600
    assert ("lost" in key.read_text()) is False
    good("openssl", "pkey", "-in", key, "-passin", f"pass:{phrase}", "-noout")
    for reader in (foreign, OURS):
        assert blob(good(reader, "-y", "-P", phrase, "-f", key)) == public
    # and the passphrase of such a file is changed, in the form that is asked for
    good(OURS, "-p", "-P", phrase, "-N", "another", "-m", form, "-f", key)
    assert blob(good(foreign, "-y", "-P", "another", "-f", key)) == public
    good(OURS, "-p", "-P", "another", "-N", "", "-f", key)
    assert key.read_text().startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert blob(good(foreign, "-y", "-f", key)) == public


@pytest.mark.parametrize("form", ["PEM", "PKCS8"])
@pytest.mark.parametrize("kind,bits", [("rsa", 1024), ("ecdsa", 256), ("ecdsa", 384), ("ecdsa", 521)])
def test_public_keys_go_to_the_forms_of_openssl_and_back(tmp_path, foreign, kind, bits, form):
    key = make(foreign, tmp_path / "k", kind, bits)
    text = good(OURS, "-e", "-m", form, "-f", f"{key}.pub")
    assert text == good(foreign, "-e", "-m", form, "-f", f"{key}.pub")
    for line_end in ("\n", "\r\n"):
        (tmp_path / "x").write_bytes(text.replace("\n", line_end).encode())
        assert blob(good(OURS, "-i", "-m", form, "-f", tmp_path / "x")) == blob((tmp_path / "k.pub").read_text())


@pytest.mark.parametrize("kind", ["ed25519", "mldsa44-ed25519"])
@pytest.mark.parametrize("form", ["PEM", "PKCS8"])
def test_types_without_these_forms_keep_their_own(tmp_path, kind, form):
    key = make(OURS, tmp_path / "k", kind, None, "abc", "kept", "-m", form)
    assert key.read_text().startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert good(OURS, "-y", "-P", "abc", "-f", key).endswith(" kept\n")
    done = run(OURS, "-e", "-m", form, "-f", f"{key}.pub")
    assert done.returncode == 255 and f"have no form {form}" in done.stderr


def test_a_short_passphrase_is_refused_and_the_old_key_stays(tmp_path):
    key = make(OURS, tmp_path / "k", "rsa", 1024, "long enough", "c", "-m", "PEM")
    before = key.read_bytes()
    done = run(OURS, "-p", "-P", "long enough", "-N", "four", "-m", "PEM", "-f", key)
    assert done.returncode == 1 and "passphrase is too short (minimum five characters)" in done.stderr
    assert key.read_bytes() == before
    done = run(OURS, "-i", "-m", "PKCS8", "-f", key)
    assert done.returncode == 255 and "invalid format" in done.stderr
    assert run(OURS, "-e", "-m", "DER", "-f", key).returncode == 255


def test_what_is_no_rfc4716_file_is_told(tmp_path):
    make(OURS, tmp_path / "k", "ecdsa", 521)
    (tmp_path / "empty").touch()
    for name, words in (("k.pub", "it is an OpenSSH public key already"), ("k", "no line is"), ("empty", "no line is")):
        done = run(OURS, "-i", "-f", name, cwd=tmp_path)
        assert done.returncode == 255 and f"{name}: not in the form of RFC 4716: {words}" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_fingerprints_of_files_with_many_keys(tmp_path, foreign):
    a = make(foreign, tmp_path / "a", "ed25519", None, "", "one").with_suffix(".pub").read_text()
    b = make(foreign, tmp_path / "b", "ecdsa", 384, "", "two words").with_suffix(".pub").read_text()
    many = tmp_path / "many"
    many.write_text(f"# c\n\n{a}command=\"echo \\\"x y\\\"\",no-pty {b}host.example,192.0.2.1 {a}not a key\n"
                    f"@revoked * {b}")
    ours, theirs = good(OURS, "-l", "-f", many), good(foreign, "-l", "-f", many)
    assert len(ours.splitlines()) == 4
    # OpenSSH does not look behind a marker
    assert ours.splitlines()[:3] == theirs.splitlines()[:3]
    assert good(OURS, "-l", "-f", "-", stdin=a) == good(foreign, "-l", "-f", "-", stdin=a)
    many.write_text("nothing here\n")
    assert run(OURS, "-l", "-f", many).returncode == 255


def test_exported_keys_are_imported_by_the_other(tmp_path, foreign):
    key = make(OURS, tmp_path / "k", "rsa", 2048)
    for maker, reader in ((OURS, foreign), (foreign, OURS)):
        exported = tmp_path / "exported"
        exported.write_text(good(maker, "-e", "-f", key))
        assert blob(good(reader, "-i", "-f", exported)) == blob((tmp_path / "k.pub").read_text())
    assert good(OURS, "-e", "-f", key) == good(foreign, "-e", "-f", key)
    text = exported.read_text().splitlines()
    exported.write_bytes("\r\n".join([text[0], "Subject: me", "Comment: \"a \\", "long: one\"", *text[2:], ""]).encode())
    assert blob(good(OURS, "-i", "-f", exported)) == blob((tmp_path / "k.pub").read_text())


def test_sshfp_records_are_those_of_openssh(tmp_path, foreign):
    for kind, bits in TYPES[:5]:
        key = make(foreign, tmp_path / f"{kind}{bits}", kind, bits)
        assert good(OURS, "-r", "host.example", "-f", f"{key}.pub") == \
            good(foreign, "-r", "host.example", "-f", f"{key}.pub")
        assert good(OURS, "-g", "-r", "h", "-f", f"{key}.pub") == good(foreign, "-g", "-r", "h", "-f", f"{key}.pub")


def test_hosts_are_found_hashed_and_removed_as_openssh_does(tmp_path, foreign):
    key = make(foreign, tmp_path / "k", "ed25519").with_suffix(".pub").read_text()
    text = (f"# c\n\na.example {key}[b.example]:2222,192.0.2.5 {key}*.wild.example {key}@cert-authority a.example {key}"
            f"@revoked a.example {key}A.example,x {key}")

    def file(name):
        path = tmp_path / name
        path.write_text(text)
        return path
    for host in ("a.example", "A.EXAMPLE", "[b.example]:2222", "b.example", "y.wild.example", "none.example"):
        ours, theirs = run(OURS, "-F", host, "-f", file("kh")), run(foreign, "-F", host, "-f", file("kh"))
        assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)
        o, t = file("ours"), file("theirs")
        good(OURS, "-R", host, "-f", o)
        good(foreign, "-R", host, "-f", t)
        assert o.read_text() == t.read_text()
    hashed = file("hashed")
    good(OURS, "-H", "-f", hashed)
    assert (tmp_path / "hashed.old").read_text() == text
    for program in (OURS, foreign):
        for host in ("a.example", "[b.example]:2222", "192.0.2.5", "x"):
            assert run(program, "-F", host, "-f", hashed).returncode == 0, host
        assert run(program, "-F", "b.example", "-f", hashed).returncode == 1
    good(OURS, "-R", "192.0.2.5", "-f", hashed)
    assert run(foreign, "-F", "192.0.2.5", "-f", hashed).returncode == 1
    assert run(foreign, "-F", "[b.example]:2222", "-f", hashed).returncode == 0


def test_a_known_hosts_file_with_a_broken_line_is_never_rewritten(tmp_path):
    key = make(OURS, tmp_path / "k", "ed25519").with_suffix(".pub").read_text()
    path = tmp_path / "kh"
    path.write_text(f"a.example {key}broken\n")
    before = path.read_bytes()
    for args in (("-R", "a.example"), ("-H",)):
        assert run(OURS, *args, "-f", path).returncode == 1
        assert path.read_bytes() == before
    assert run(OURS, "-F", "a.example", "-f", path).returncode == 0


def test_host_keys_that_are_missing_are_made(tmp_path, foreign):
    (tmp_path / "etc/ssh").mkdir(parents=True)
    made = make(OURS, tmp_path / "etc/ssh/ssh_host_ed25519_key", "ed25519").read_bytes()
    out = good(OURS, "-A", "-f", tmp_path)
    assert out == "ssh-keygen: generating new host keys: RSA ECDSA MLDSA44-ED25519 \n"
    assert (tmp_path / "etc/ssh/ssh_host_ed25519_key").read_bytes() == made
    for kind in ("rsa", "ecdsa"):
        good(foreign, "-y", "-f", tmp_path / f"etc/ssh/ssh_host_{kind}_key")
    assert good(OURS, "-A", "-f", tmp_path) == ""


def test_the_askpass_helper_is_asked(tmp_path):
    key = make(OURS, tmp_path / "k", "ed25519", None, "hunter2")
    helper = tmp_path / "ask"
    helper.write_text("#!/bin/sh\necho hunter2\n")
    helper.chmod(0o700)
    env = {**os.environ, "SSH_ASKPASS": str(helper), "SSH_ASKPASS_REQUIRE": "force"}
    assert good(OURS, "-y", "-f", key, env=env) == (tmp_path / "k.pub").read_text()


@pytest.mark.parametrize("kind,bits", [("ed25519", None), ("ecdsa", 521), ("rsa", 2048)])
@pytest.mark.parametrize("form", ["PPK", "PPK2"])
@pytest.mark.parametrize("passphrase", ["", "some words"])
def test_puttygen_and_we_read_each_other(tmp_path, kind, bits, form, passphrase):
    key, ppk, word = tmp_path / "key", tmp_path / "key.ppk", tmp_path / "word"
    word.write_text(passphrase)
    good(OURS, "-q", "-t", kind, *(("-b", bits) if bits else ()), "-N", "", "-C", "two words", "-f", key)
    ppk.write_text(good(OURS, "-e", "-m", form, "-a", 2, "-N", passphrase, "-f", key))
    ppk.chmod(0o600)
    public = key.with_suffix(".pub").read_text().split(None, 2)
    assert good("puttygen", ppk, "-L", "--old-passphrase", word).split(None, 2) == public
    # theirs, which they made from ours, is the same key, and its passphrase counts
    theirs = tmp_path / "theirs.ppk"
    good("puttygen", ppk, "-P", "-o", theirs, "--old-passphrase", word, "--new-passphrase", word, "--ppk-param",
         f"version={3 if form == 'PPK' else 2}")
    assert good(OURS, "-y", "-P", passphrase, "-f", theirs).split(None, 2) == public
    if passphrase:
        assert "incorrect passphrase" in run(OURS, "-y", "-P", "other", "-f", theirs).stderr
    # a new passphrase leaves it a file of PuTTY
    good(OURS, "-p", "-P", passphrase, "-N", "newer", "-a", 2, "-f", theirs)
    word.write_text("newer")
    assert good("puttygen", theirs, "-L", "--old-passphrase", word).split(None, 2) == public


def test_moduli_screened_as_the_installed_does(tmp_path, foreign):
    candidates = tmp_path / "candidates"
    good(OURS, "-q", "-M", "generate", "-O", "bits=512", candidates)
    few = tmp_path / "few"
    few.write_text("".join(candidates.read_text().splitlines(True)[:1500]))
    found = []
    for name, program in (("ours", OURS), ("theirs", foreign)):
        out = tmp_path / name
        good(program, "-q", "-M", "screen", "-f", few, "-O", "prime-tests=8", out)
        found.append([line.split()[1:] for line in out.read_text().splitlines() if line])
    assert found[0] == found[1]


@pytest.mark.parametrize("args", [
    ("-l", "-f", "{name}"), ("-y", "-f", "{name}"), ("-c", "-C", "x", "-f", "{name}"), ("-q", "-t", "ed25519", "-N", "", "-f", "{name}/x"),
    ("-t", "ed25519", "-N", "", "-C", "a\x1b[31mb", "-f", "made\x1b[31m"), ("-R", "host\x1b[31m", "-f", "{name}")])
def test_no_name_steers_the_terminal(tmp_path, args):
    done = run(OURS, *(a.format(name="absent\x1b[31m") for a in args), cwd=tmp_path)
    assert "\x1b" not in done.stdout + done.stderr
    assert "\\033[31m" in done.stdout + done.stderr


def test_a_file_that_may_not_grow_leaves_nothing_behind(tmp_path):
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    done = subprocess.run([OURS, "-q", "-t", "ed25519", "-N", "", "-f", "k"], cwd=tmp_path, capture_output=True, text=True, timeout=30,
                          preexec_fn=small, stdin=subprocess.DEVNULL)
    assert done.returncode > 0 and "File too large" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line", ["host {key}", "host,[h2]:2222 {key}", "h3 {key} two words", 'command="a b" {key}', "h4 {key} # a remark",
                                  "|1|AAAAAAAAAAAAAAAAAAAAAAAAAAA=|AAAAAAAAAAAAAAAAAAAAAAAAAAA= {key}"])
def test_what_stands_before_a_key_names_it(tmp_path, foreign, line):
    key = make(OURS, tmp_path / "k", "ed25519")
    (tmp_path / "list").write_text(line.format(key=" ".join(blob((tmp_path / "k.pub").read_text()))) + "\n")
    shown = good(OURS, "-l", "-f", tmp_path / "list")
    assert shown == good(foreign, "-l", "-f", tmp_path / "list") and "no comment" not in shown, key


def test_an_old_signature_is_kept_and_no_public_half_of_it_is_missed(tmp_path):
    make(OURS, tmp_path / "k", "ed25519")
    (tmp_path / "data").write_text("data")
    (tmp_path / "data.sig").write_text("an old one")
    done = run(OURS, "-Y", "sign", "-f", tmp_path / "k", "-n", "file", tmp_path / "data", stdin="n\n")
    assert "data.sig already exists.\nOverwrite (y/n)? " in done.stdout and ".pub is missing" not in done.stderr
    assert (tmp_path / "data.sig").read_text() == "an old one"
    for bad in ("absent", "data"):
        done = run(OURS, "-Y", "check-novalidate", "-n", "file", "-s", tmp_path / bad, stdin="data")
        assert (done.returncode, done.stdout) == (255, "Could not verify signature.\n")

# SPDX-License-Identifier: ISC
"""Signatures of files (ssh-keygen -Y): what one signs the other verifies, and git by ours."""
import os
import signal
import subprocess

import pytest

from harness import programs

OURS = programs.under_test().keygen
DATA = b"some words\n" * 5000
TYPES = [("ed25519", None), ("ecdsa", 256), ("ecdsa", 521), ("rsa", 2048)]


@pytest.fixture(scope="module")
def foreign():
    openssh = programs.installed()
    if openssh is None:
        pytest.skip("no foreign ssh-keygen is installed")
    return openssh.keygen


def run(program, *args, data=b"", **more):
    env = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
    env.update(more.pop("env", {}))
    return subprocess.run([program, *map(str, args)], input=data, capture_output=True, timeout=60, env=env, **more)


def make(path, kind="ed25519", bits=None, phrase=""):
    done = run(OURS, "-q", "-t", kind, *(["-b", bits] if bits else []), "-N", phrase, "-C", "c", "-f", path)
    assert done.returncode == 0, done.stderr
    return path


def public(key):
    return key.with_suffix(".pub").read_text().strip()


def signed(program, key, folder, *more, space="file", data=DATA, **rest):
    done = run(program, "-Y", "sign", "-f", key, "-n", space, *more, data=data, **rest)
    assert done.returncode == 0, done.stderr
    path = folder / "sig"
    path.write_bytes(done.stdout)
    return path


def verify(program, folder, sig, line, *more, who="me@x", space="file", data=DATA):
    (folder / "allowed").write_text(line + "\n")
    return run(program, "-Y", "verify", "-f", folder / "allowed", "-I", who, "-n", space, "-s", sig, *more, data=data)


@pytest.mark.parametrize("hashalg", (None, "sha256", "sha512"))
@pytest.mark.parametrize("kind,bits", TYPES)
@pytest.mark.parametrize("direction", ("ours", "theirs"))
def test_one_signs_the_other_verifies(tmp_path, foreign, kind, bits, hashalg, direction):
    signer, judge = (OURS, foreign) if direction == "ours" else (foreign, OURS)
    key = make(tmp_path / "k", kind, bits)
    sig = signed(signer, key, tmp_path, *(["-O", f"hashalg={hashalg}"] if hashalg else []))
    line = f"me@x,you@x namespaces=\"file,git\" {public(key)}"
    done = verify(judge, tmp_path, sig, line)
    assert done.returncode == 0, done.stderr
    assert done.stdout == verify(signer, tmp_path, sig, line).stdout    # word for word
    for args in (("-Y", "find-principals", "-s", sig, "-f", tmp_path / "allowed"),
                 ("-Y", "match-principals", "-I", "you@x", "-f", tmp_path / "allowed"),
                 ("-Y", "check-novalidate", "-n", "file", "-s", sig)):
        a, b = run(OURS, *args, data=DATA), run(foreign, *args, data=DATA)
        assert a.returncode == b.returncode == 0 and a.stdout == b.stdout, a.stderr
    done = verify(judge, tmp_path, sig, line, "-q", "-O", "print-pubkey")
    assert done.stdout.split()[:2] == public(key).encode().split()[:2]
    assert verify(judge, tmp_path, sig, line, data=DATA + b"x").returncode == 255


REFUSED = {
    "another principal": dict(who="she@x"),
    "another namespace": dict(space="git"),
    "a namespace that is not allowed": dict(options="namespaces=\"git\""),
    "an unknown option": dict(options="octopus"),
    "over": dict(options="valid-before=\"19990101\""),
    "not yet": dict(options="valid-after=\"29990101\""),
    "only for certificates": dict(options="cert-authority"),
    "changed data": dict(data=DATA[1:]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(tmp_path, foreign, what):
    key = make(tmp_path / "k")
    sig = signed(OURS, key, tmp_path)
    how = dict(REFUSED[what])
    line = " ".join(filter(None, ("me@x", how.pop("options", ""), public(key))))
    for program in (OURS, foreign):
        done = verify(program, tmp_path, sig, line, **how)
        assert done.returncode == 255 and done.stdout == b"Could not verify signature.\n", done


@pytest.mark.parametrize("when,good", (("19790101", False), ("19850101", True), ("198501011530", True), ("19910101", False)))
def test_the_time_may_be_given(tmp_path, foreign, when, good):
    key = make(tmp_path / "k")
    sig = signed(OURS, key, tmp_path)
    line = f"me@x valid-after=\"19800101\",valid-before=\"19900101\" {public(key)}"
    for program in (OURS, foreign):
        assert (verify(program, tmp_path, sig, line, "-O", f"verify-time={when}").returncode == 0) == good
        found = run(program, "-Y", "find-principals", "-s", sig, "-f", tmp_path / "allowed", "-O", f"verify-time={when}")
        assert (found.stdout == b"me@x\n") == good and (found.returncode == 0) == good


def test_revoked_keys(tmp_path, foreign):
    key, other = make(tmp_path / "k"), make(tmp_path / "other", "ecdsa", 256)
    sig = signed(OURS, key, tmp_path)
    line = f"me@x {public(key)}"
    revoked = tmp_path / "revoked"
    for text, good in ((public(other), True), (f"# words\n{public(other)}\n{public(key)}", False), ("", True)):
        revoked.write_text(text + "\n")
        for program in (OURS, foreign):
            assert (verify(program, tmp_path, sig, line, "-r", revoked).returncode == 0) == good, text
    # what is no list of keys, and a list that is not there, let nobody in
    revoked.write_text("words that are no key\n")
    assert verify(OURS, tmp_path, sig, line, "-r", revoked).returncode == 255
    for maker in (OURS, foreign):
        for revoked, good in ((other, True), (key, False)):
            (tmp_path / "krl").unlink(missing_ok=True)
            assert run(maker, "-k", "-f", tmp_path / "krl", revoked.with_suffix(".pub")).returncode == 0
            for program in (OURS, foreign):
                assert (verify(program, tmp_path, sig, line, "-r", tmp_path / "krl").returncode == 0) == good
    (tmp_path / "krl").write_bytes((tmp_path / "krl").read_bytes()[:-1])
    assert verify(OURS, tmp_path, sig, line, "-r", tmp_path / "krl").returncode == 255
    assert verify(OURS, tmp_path, sig, line, "-r", tmp_path / "absent").returncode == 255


def test_files_get_their_signatures_beside_them(tmp_path, foreign):
    key = make(tmp_path / "k")
    for name in ("a", "b c"):
        (tmp_path / name).write_bytes(DATA)
    done = run(OURS, "-Y", "sign", "-f", key, "-n", "file", tmp_path / "a", tmp_path / "b c")
    assert done.returncode == 0 and done.stderr.decode().splitlines() == [
        line for name in ("a", "b c") for line in (f"Signing file {tmp_path / name}",
                                                   f"Write signature to {tmp_path / name}.sig")]
    for name in ("a", "b c"):
        assert verify(foreign, tmp_path, tmp_path / f"{name}.sig", f"me@x {public(key)}").returncode == 0
    before = (tmp_path / "a.sig").read_bytes()
    done = run(OURS, "-Y", "sign", "-f", key, "-n", "other", tmp_path / "a", data=b"n\n")
    assert done.returncode == 255 and (tmp_path / "a.sig").read_bytes() == before
    done = run(OURS, "-Y", "sign", "-f", key, "-n", "file", tmp_path / "absent")
    assert done.returncode == 255 and b"absent" in done.stderr


def test_the_agent_signs(tmp_path, foreign):
    key = make(tmp_path / "k", "ecdsa", 256)
    text = key.read_bytes()
    agent = subprocess.run(["ssh-agent", "-s", "-a", tmp_path / "agent"], capture_output=True, text=True, check=True)
    pid = int(agent.stdout.split("SSH_AGENT_PID=")[1].split(";")[0])
    env = {"SSH_AUTH_SOCK": str(tmp_path / "agent")}
    try:
        assert run("ssh-add", "-q", key, env=env).returncode == 0
        key.unlink()
        sig = signed(OURS, key.with_suffix(".pub"), tmp_path, env=env)
        assert verify(foreign, tmp_path, sig, f"me@x {public(key)}").returncode == 0
        assert run("ssh-add", "-q", "-D", env=env).returncode == 0
        done = run(OURS, "-Y", "sign", "-f", key.with_suffix(".pub"), "-n", "file", env=env)
        assert done.returncode == 255 and done.stdout == b""
        key.write_bytes(text)
        key.chmod(0o600)
        signed(OURS, key.with_suffix(".pub"), tmp_path, env=env)    # by the file beside it
    finally:
        os.kill(pid, signal.SIGTERM)


@pytest.mark.parametrize("args,status,words", (
    (("-Y", "foo"), 1, "Unsupported operation for -Y: \"foo\""),
    (("-Y", "sign", "-f", "k"), 1, "Too few arguments for sign: missing namespace"),
    (("-Y", "sign", "-n", "file"), 1, "Too few arguments for sign: missing key"),
    (("-Y", "sign", "-n", "", "-f", "k"), 1, "missing namespace"),
    (("-Y", "verify", "-n", "file"), 1, "Too few arguments for verify: missing signature file"),
    (("-Y", "verify", "-n", "file", "-s", "s"), 1, "missing principal identity"),
    (("-Y", "verify", "-n", "file", "-s", "s", "-I", "me"), 1, "missing allowed keys file"),
    (("-Y", "sign", "-n", "file", "-f", "k", "-O", "hashalg=sha1"), 255, "sha1"),
    (("-Y", "sign", "-n", "file", "-f", "k", "-O", "octopus"), 255, "Invalid option \"octopus\""),
    (("-Y", "verify", "-n", "file", "-s", "s", "-I", "me", "-f", "a", "-O", "verify-time=x"), 255, "verify-time"),
    (("-Y", "sign", "-n", "file", "-f", "k"), 255, "k"),
    (("-Y", "check-novalidate", "-n", "file", "-s", "absent"), 255, "absent"),
    (("-s", "x", "-n", "y"), 1, "Too few arguments."),
    (("-n",), 1, "option requires an argument -- n"),
    (("-O", "clear"), 1, "ssh-keygen: -O is not built yet"),
))
def test_words_of_refusals(tmp_path, args, status, words):
    done = run(OURS, *args, cwd=tmp_path)
    assert done.returncode == status and words in done.stderr.decode(), done
    assert list(tmp_path.iterdir()) == [] and done.stdout == (b"Could not verify signature.\n" if "absent" in args else b"")


def test_no_text_is_taken_for_a_signature(tmp_path):
    key = make(tmp_path / "k")
    text = signed(OURS, key, tmp_path).read_text()
    cases = ("", "words\n", text.replace("BEGIN", "BEG"), text.replace("END", "EN"), text[:100], text[:-40],
             text.replace("U1NIU0lH", "U1NIU0lI"))
    for case in cases:
        (tmp_path / "s").write_text(case)
        done = run(OURS, "-Y", "check-novalidate", "-n", "file", "-s", tmp_path / "s", data=DATA)
        assert done.returncode == 255, case


@pytest.mark.parametrize("kind", ("ed25519", "mldsa44-ed25519"))
def test_git_signs_and_verifies_commits(tmp_path, kind):
    key = make(tmp_path / "k", kind)
    (tmp_path / "allowed").write_text(f"me@x {public(key)}\n")
    (tmp_path / "repo").mkdir()
    settings = {"user.name": "me", "user.email": "me@x", "gpg.format": "ssh", "gpg.ssh.program": OURS,
                "gpg.ssh.allowedSignersFile": tmp_path / "allowed", "user.signingKey": f"{key}.pub"}
    git = ["git", *(word for k, v in settings.items() for word in ("-c", f"{k}={v}"))]
    env = {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}

    def do(*args):
        return run(git[0], *git[1:], *args, cwd=tmp_path / "repo", env=env)
    assert do("init", "-q").returncode == 0
    done = do("commit", "-q", "--allow-empty", "-S", "-m", "signed")
    assert done.returncode == 0, done.stderr
    done = do("log", "-1", "--format=%G? %GS")
    assert done.stdout == b"G me@x\n", done
    (tmp_path / "allowed").write_text(f"she@x {public(make(tmp_path / 'other'))}\n")
    assert do("verify-commit", "HEAD").returncode != 0


TIME = "19850101"
CERT_LINES = {      # allowed_signers, more arguments, is it good; {ca}: the authority, {pub}: the key, {cert}: the certificate
    "the authority": ("me@x cert-authority {ca}", (), True),
    "a pattern of the authority": ("*@x cert-authority {ca}", (), True),
    "the certificate itself": ("me@x {cert}", (), True),
    "the plain key": ("me@x {pub}", (), False),
    "the authority as a plain key": ("me@x {ca}", (), False),
    "the key as an authority": ("me@x cert-authority {pub}", (), False),
    "the certificate as an authority": ("me@x cert-authority {cert}", (), False),
    "another name": ("she@x cert-authority {ca}", (), False),
    "a name that the certificate lacks": ("she@x cert-authority {ca}", ("-I", "she@x"), False),
    "another namespace": ("me@x cert-authority,namespaces=\"git\" {ca}", (), False),
    "an authority in its time": ("me@x cert-authority,valid-after=\"19840601\",valid-before=\"19850601\" {ca}", (), True),
    "an authority after its time": ("me@x cert-authority,valid-before=\"19841231\" {ca}", (), False),
    "a certificate after its time": ("me@x cert-authority {ca}", ("-O", "verify-time=19870101"), False),
    "a certificate before its time": ("me@x cert-authority {ca}", ("-O", "verify-time=19830101"), False),
    "now": ("me@x cert-authority {ca}", ("-O", "verify-time=20260101"), False),
}


@pytest.fixture(scope="module")
def certified(tmp_path_factory, foreign):
    """A key, and its certificate of 1984 to 1986."""
    top = tmp_path_factory.mktemp("certified")
    ca, key = make(top / "ca"), make(top / "k", "ecdsa", 256)
    for kind, more in (("k", ("-n", "me@x,you@x")), ("host", ("-h", "-n", "me@x")), ("nobody", ())):
        (top / f"{kind}.pub").write_text(public(key) + "\n")
        done = run(foreign, "-q", "-s", ca, "-I", "i", "-V", "19840101:19860101", *more, top / f"{kind}.pub")
        assert done.returncode == 0, done.stderr
    for name in ("host", "nobody"):
        (top / name).write_text(key.read_text())
        (top / name).chmod(0o600)
    return top


def filled(line, top, kind="k"):
    texts = {name: (top / f"{f}.pub").read_text().strip() for name, f in (("ca", "ca"), ("pub", "k"), ("cert", f"{kind}-cert"))}
    return line.format(**texts)


@pytest.mark.parametrize("what", CERT_LINES)
@pytest.mark.parametrize("direction", ("ours", "theirs"))
def test_signatures_of_certificates(tmp_path, foreign, certified, what, direction):
    line, more, is_good = CERT_LINES[what]
    who = "she@x" if "-I" in more else "me@x"
    more = () if "-I" in more else more
    sig = signed(OURS if direction == "ours" else foreign, certified / "k-cert.pub", tmp_path)
    results = []
    for program in (OURS, foreign):
        done = verify(program, tmp_path, sig, filled(line, certified), "-O", f"verify-time={TIME}", "-O", "print-pubkey", *more, who=who)
        assert (done.returncode == 0) == is_good, done
        results.append(done.stdout)
    assert results[0] == results[1]
    if is_good:
        assert b"with ECDSA-CERT key" in results[0] and b"ecdsa-sha2-nistp256-cert-v01@openssh.com" in results[0]


@pytest.mark.parametrize("kind", ("host", "nobody"))
def test_certificates_that_sign_for_nobody(tmp_path, foreign, certified, kind):
    sig = signed(OURS, certified / f"{kind}-cert.pub", tmp_path)
    for program in (OURS, foreign):
        for line, is_good in (("me@x cert-authority {ca}", False), ("me@x {cert}", True)):
            done = verify(program, tmp_path, sig, filled(line, certified, kind), "-O", f"verify-time={TIME}")
            assert (done.returncode == 0) == is_good, done


@pytest.mark.parametrize("line", ["*@x cert-authority {ca}", "me@x cert-authority {ca}", "*,!me@x cert-authority {ca}", "she@x cert-authority {ca}",
                                  "*@x {cert}", "*@x {pub}", "*@x cert-authority {pub}"])
def test_names_that_a_certificate_may_sign_for(tmp_path, foreign, certified, line):
    sig = signed(foreign, certified / "k-cert.pub", tmp_path)
    (tmp_path / "allowed").write_text(filled(line, certified) + "\n")
    found = [run(program, "-Y", "find-principals", "-s", sig, "-f", tmp_path / "allowed", "-O", f"verify-time={TIME}")
             for program in (OURS, foreign)]
    names = [done.stdout.split() for done in found]
    if "!" in line:     # OpenSSH takes the patterns one by one, so what one forbids another allows
        assert names == [[b"you@x"], names[1]]
        return
    assert names[0] == names[1] and found[0].returncode == found[1].returncode


def test_a_revoked_authority_or_key_signs_for_nobody(tmp_path, foreign, certified):
    sig = signed(OURS, certified / "k-cert.pub", tmp_path)
    for name, is_good in (("ca", False), ("k", False), ("other", True)):
        path = certified / f"{name}.pub" if name != "other" else make(tmp_path / "other").with_suffix(".pub")
        for program in (OURS, foreign):
            done = verify(program, tmp_path, sig, filled("me@x cert-authority {ca}", certified), "-O", f"verify-time={TIME}", "-r", path)
            assert (done.returncode == 0) == is_good, (name, program, done)

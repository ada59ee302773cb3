# SPDX-License-Identifier: ISC
"""Our ssh-agent with who others made to ask it: OpenSSH's ssh-add and ssh-keygen, Paramiko, AsyncSSH, Go."""
import asyncio
import os
import subprocess
import time

import pytest

from harness import agents, programs, world

TYPES = [("ed25519", 256), ("ecdsa", 256), ("ecdsa", 384), ("ecdsa", 521), ("rsa", 2048)]
QUIET = {"SSH_ASKPASS_REQUIRE": "force", "SSH_ASKPASS": "/bin/false"}


@pytest.fixture(scope="module")
def theirs():
    openssh = programs.installed()
    if openssh is None:
        pytest.fail("the installed OpenSSH is missing")
    return openssh


@pytest.fixture(scope="module")
def ours():
    return programs.under_test()


@pytest.fixture
def agent(ours, tmp_path):
    with agents.ours(ours, tmp_path, env=QUIET) as a:
        yield a


def run(a, program, *args, stdin="", env=None):
    return subprocess.run([program, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=60, start_new_session=True,
                          env={**os.environ, **QUIET, **a.env, **(env or {})})


def good(a, program, *args, **more):
    done = run(a, program, *args, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def make(a, theirs, path, kind="ed25519", bits=256, comment="a comment"):
    good(a, theirs.keygen, "-q", "-t", kind, "-b", bits, "-N", "", "-C", comment, "-f", path)
    return path


def listed(a, theirs, flag="-L"):
    done = run(a, theirs.add, flag)
    assert done.returncode in (0, 1), done.stderr
    return [] if done.returncode == 1 else done.stdout.splitlines()


@pytest.mark.parametrize("kind,bits", TYPES)
@pytest.mark.parametrize("whose", ["theirs", "ours"])
def test_keys_and_certificates_come_sign_and_go(agent, theirs, ours, tmp_path, kind, bits, whose):
    add = (theirs if whose == "theirs" else ours).add
    key, ca = make(agent, theirs, tmp_path / "k", kind, bits), make(agent, theirs, tmp_path / "ca")
    good(agent, theirs.keygen, "-q", "-s", ca, "-I", "me", "-n", "user", f"{key}.pub")
    good(agent, add, key)
    public, cert = (tmp_path / "k.pub").read_text().split(), (tmp_path / "k-cert.pub").read_text().split()
    assert [line.split()[:2] for line in listed(agent, theirs)] == [public[:2], cert[:2]]
    good(agent, add, "-T", f"{key}.pub", f"{key}-cert.pub")
    # what it signs OpenSSH's ssh-keygen takes, for the key and for the certificate
    signature = good(agent, theirs.keygen, "-q", "-Y", "sign", "-n", "test", "-f", f"{key}.pub", stdin="text")
    (tmp_path / "s").write_text(signature)
    (tmp_path / "allowed").write_text(f"me {public[0]} {public[1]}\n")
    good(agent, theirs.keygen, "-q", "-Y", "verify", "-n", "test", "-I", "me", "-f", tmp_path / "allowed", "-s", tmp_path / "s",
         stdin="text")
    good(agent, add, "-d", key)
    assert listed(agent, theirs) == []
    good(agent, add, "-k", key)
    assert len(listed(agent, theirs)) == 1
    good(agent, add, "-D")
    assert run(agent, theirs.add, "-l").stdout == "The agent has no identities.\n"


def test_a_key_dies_when_its_time_is_over(agent, theirs, tmp_path):
    key = make(agent, theirs, tmp_path / "k")
    good(agent, theirs.add, "-t", 1, key)
    good(agent, theirs.add, "-T", f"{key}.pub")
    assert world.wait_until(lambda: listed(agent, theirs) == [], 5)
    assert run(agent, theirs.add, "-T", f"{key}.pub").returncode == 1


def test_a_locked_agent_is_opened_by_its_passphrase_only(agent, theirs, tmp_path):
    key = make(agent, theirs, tmp_path / "k")
    good(agent, theirs.add, key)

    def word(text):
        path = tmp_path / f"say-{text}"
        path.write_text(f"#!/bin/sh\necho {text}\n")
        path.chmod(0o755)
        return {"SSH_ASKPASS": str(path)}
    good(agent, theirs.add, "-x", env=word("right"))
    assert listed(agent, theirs) == []
    assert run(agent, theirs.add, "-T", f"{key}.pub").returncode == 1
    begin = time.monotonic()
    assert run(agent, theirs.add, "-X", env=word("wrong")).returncode == 1
    assert time.monotonic() - begin >= 0.1
    good(agent, theirs.add, "-X", env=word("right"))
    good(agent, theirs.add, "-T", f"{key}.pub")


@pytest.mark.parametrize("script,signs", [
    ("exit 0", True), ("echo yes", True), ("echo YES", True), ("echo no", False), ("exit 1", False), ("echo yes; exit 1", False),
    ("kill -9 $$", False)])
def test_a_confirmed_key_signs_when_askpass_says_so(ours, theirs, tmp_path, script, signs):
    asked = tmp_path / "asked"
    program = tmp_path / "askpass"
    program.write_text(f'#!/bin/sh\nprintf "%s|%s" "$SSH_ASKPASS_PROMPT" "$1" >{asked}\n{script}\n')
    program.chmod(0o755)
    with agents.ours(ours, tmp_path, env={"SSH_ASKPASS": str(program), "SSH_ASKPASS_REQUIRE": "force"}) as a:
        key = make(a, theirs, tmp_path / "k")
        good(a, theirs.add, "-c", key)
        assert (run(a, theirs.add, "-T", f"{key}.pub").returncode == 0) == signs
        fingerprint = listed(a, theirs, "-l")[0].split()[1]
        text = asked.read_text()
        assert text.startswith("confirm|Allow use of key a comment?\n") and fingerprint in text


def test_a_question_keeps_nobody_else_waiting(ours, theirs, tmp_path):
    """And it goes when whoever wanted the signature goes."""
    shown, over = tmp_path / "shown", tmp_path / "over"
    program = tmp_path / "askpass"
    program.write_text(f"#!/bin/sh\ntrap 'touch {over}; exit 1' HUP\ntouch {shown}\nwhile :; do sleep 0.1; done\n")
    program.chmod(0o755)
    with agents.ours(ours, tmp_path, env={"SSH_ASKPASS": str(program), "SSH_ASKPASS_REQUIRE": "force"}) as a:
        slow, quick = make(a, theirs, tmp_path / "slow"), make(a, theirs, tmp_path / "quick")
        good(a, theirs.add, "-c", slow)
        good(a, theirs.add, quick)
        waiting = subprocess.Popen([theirs.add, "-T", f"{slow}.pub"], env={**os.environ, **a.env}, stderr=subprocess.DEVNULL)
        try:
            assert world.wait_until(shown.exists)
            for _ in range(5):
                good(a, theirs.add, "-T", f"{quick}.pub")
            assert waiting.poll() is None
        finally:
            waiting.kill()
            waiting.wait()
        assert world.wait_until(over.exists, 5)
        good(a, theirs.add, "-T", f"{quick}.pub")


def test_without_a_way_to_ask_the_answer_is_no(ours, theirs, tmp_path):
    with agents.ours(ours, tmp_path, env={"SSH_ASKPASS_REQUIRE": "never"}) as a:
        key = make(a, theirs, tmp_path / "k")
        good(a, theirs.add, "-c", key)
        assert run(a, theirs.add, "-T", f"{key}.pub").returncode == 1


def test_tokens_are_refused(agent, theirs, tmp_path):
    assert run(agent, theirs.add, "-s", "/usr/lib/no.so").returncode == 1
    assert run(agent, theirs.add, "-e", "/usr/lib/no.so").returncode == 1
    assert listed(agent, theirs) == []


def test_comments_of_any_bytes_come_back_as_they_went(agent, theirs, tmp_path):
    key = make(agent, theirs, tmp_path / "k", comment="ä  b\tc'\"$(x)")
    good(agent, theirs.add, key)
    assert listed(agent, theirs)[0].split(" ", 2)[2] == "ä  b\tc'\"$(x)"


def test_paramiko_lists_and_signs(agent, theirs, tmp_path, monkeypatch):
    paramiko = pytest.importorskip("paramiko")
    for kind, bits in TYPES:
        good(agent, theirs.add, make(agent, theirs, tmp_path / f"{kind}{bits}", kind, bits))
    monkeypatch.setenv("SSH_AUTH_SOCK", agent.env["SSH_AUTH_SOCK"])
    client = paramiko.Agent()
    keys = client.get_keys()
    assert len(keys) == len(TYPES)
    for key in keys:
        if key.get_name() == "ssh-rsa":
            raw = key.sign_ssh_data(b"data", "rsa-sha2-512")
            public = paramiko.RSAKey(data=key.asbytes())
        elif key.get_name() == "ssh-ed25519":
            raw, public = key.sign_ssh_data(b"data"), paramiko.Ed25519Key(data=key.asbytes())
        else:
            raw, public = key.sign_ssh_data(b"data"), paramiko.ECDSAKey(data=key.asbytes())
        assert public.verify_ssh_sig(b"data", paramiko.Message(raw))
    client.close()


def test_asyncssh_adds_lists_signs_and_removes(agent):
    asyncssh = pytest.importorskip("asyncssh")

    async def session():
        async with asyncssh.connect_agent(agent.env["SSH_AUTH_SOCK"]) as a:
            keys = [asyncssh.generate_private_key(alg) for alg in ("ssh-ed25519", "ecdsa-sha2-nistp384", "ssh-rsa")]
            ca = asyncssh.generate_private_key("ssh-ed25519")
            cert = ca.generate_user_certificate(keys[0].convert_to_public(), "me", principals=["user"])
            await a.add_keys([(keys[0], cert), *keys[1:]], lifetime=60)
            held = await a.get_keys()
            assert len(held) == 4
            for pair in held:
                flags = 4 if b"ssh-rsa" in pair.public_data[:12] else 0
                signature = await a.sign(pair.public_data, b"data", flags)
                key = keys[0] if pair.public_data == cert.public_data else next(
                    k for k in keys if k.public_data == pair.public_data)
                assert key.convert_to_public().verify(b"data", signature)
            await a.remove_keys([held[-1]])
            assert len(await a.get_keys()) == 3
            await a.lock("word")
            assert list(await a.get_keys()) == []
            with pytest.raises(ValueError):
                await a.unlock("another")
            await a.unlock("word")
            await a.remove_all()
            assert list(await a.get_keys()) == []
    asyncio.run(asyncio.wait_for(session(), 60))

# SPDX-License-Identifier: ISC
"""Private key files as people really have them: pasted, mailed, made by other programs; given with -i."""
import base64
import subprocess

import pytest

from harness.client import Ssh, feed
from harness.programs import TOP
from harness.server import Sshd

DATA = TOP / "tests" / "unit" / "key" / "data"


@pytest.fixture(scope="module")
def server(world, ours):
    with Sshd(world, ours) as s:
        lines = [world.keys.public("ed25519")]
        for name in ("rsa_pem_pw", "rsa_2048"):
            lines.append((DATA / f"{name}.pub").read_text().strip())
        for name in ("rsa_des3_pw", "rsa_pkcs8_pw"):
            done = subprocess.run(["openssl", "rsa", "-in", DATA / name, "-passin", "pass:pass phrase", "-pubout"],
                                  capture_output=True, text=True, check=True)
            converted = subprocess.run(["ssh-keygen", "-i", "-m", "PKCS8", "-f", "/dev/stdin"], input=done.stdout,
                                       capture_output=True, text=True, check=True)
            lines.append(converted.stdout.strip())
        (s.dir / "authorized_keys").write_text("\n".join(lines) + "\n")
        yield s.start()


def login(world, ours, server, folder, text, answers=()):
    """ssh -i with a file of this text; answers: what the user types, one a question."""
    key = folder / "key"
    key.write_bytes(text)
    key.chmod(0o600)
    ask = folder / "ask"
    ask.write_text("#!/bin/sh\n" + f"n=$(cat {folder}/asked 2>/dev/null || echo 0); echo $((n + 1)) >{folder}/asked\n" +
                   "case $n in\n" + "".join(f"{i}) echo '{a}';;\n" for i, a in enumerate(answers)) +
                   "*) exit 1;;\nesac\n")
    ask.chmod(0o700)
    command, log, _ = Ssh(world, ours).command(server, ["BatchMode=no"] if answers else [])
    command[command.index("-i") + 1] = str(key)
    env = {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    code, out, err = feed([*command, "echo in"], None, 30, env)
    asked = folder / "asked"
    return code, out, err + log.read_text(), int(asked.read_text()) if asked.exists() else 0


def good(world):
    return world.keys.path("ed25519").read_bytes()


SHAPES = {"as it is": lambda t: t,
          "crlf": lambda t: t.replace(b"\n", b"\r\n"),
          "no last line end": lambda t: t.rstrip(b"\n"),
          "crlf, no last line end": lambda t: t.rstrip(b"\n").replace(b"\n", b"\r\n"),
          "crlf at END only": lambda t: t.rstrip(b"\n") + b"\r\n",
          "blank lines around": lambda t: b"\n\n" + t + b"\n\n",
          "one long line": lambda t: t.split(b"\n")[0] + b"\n" + b"".join(t.split(b"\n")[1:-2]) + b"\n" +
          t.split(b"\n")[-2] + b"\n"}


@pytest.mark.parametrize("shape", SHAPES)
def test_forms_of_a_good_key_file(world, ours, server, tmp_path, shape):
    code, out, text, _ = login(world, ours, server, tmp_path, SHAPES[shape](good(world)))
    assert (code, out) == (0, b"in\n"), text


@pytest.mark.parametrize("version", (2, 3))
def test_a_key_file_of_putty_is_an_identity(world, ours, server, tmp_path, version):
    if not ours.is_bowline:
        pytest.skip("OpenSSH does not read it")
    (tmp_path / "openssh").write_bytes(good(world))
    (tmp_path / "openssh").chmod(0o600)
    (tmp_path / "none").write_text("")
    subprocess.run(["puttygen", tmp_path / "openssh", "-O", "private", "--ppk-param", f"version={version}", "-o",
                    tmp_path / "ppk", "--new-passphrase", tmp_path / "none"], check=True, timeout=60)
    ppk = (tmp_path / "ppk").read_bytes()
    assert ppk.startswith(b"PuTTY-User-Key-File-%d: " % version)
    code, out, text, _ = login(world, ours, server, tmp_path, ppk)
    assert (code, out) == (0, b"in\n"), text


def damaged(t, name):
    lines = t.split(b"\n")
    body = base64.b64decode(b"".join(lines[1:-2]))
    return {"text line ends": t.replace(b"\n", b"\\n"),
            "no end": b"\n".join(lines[:-2]) + b"\n",
            "cut": t[:len(t) // 2],
            "half a body": lines[0] + b"\n" + base64.b64encode(body[:len(body) // 2]) + b"\n" + lines[-2] + b"\n",
            "empty": b""}[name]


@pytest.mark.parametrize("name,words", (("text line ends", "line structure is wrong"), ("no end", "END line"),
                                        ("cut", ""), ("half a body", "truncated"), ("empty", "")))
def test_forms_of_a_broken_key_file(world, ours, server, tmp_path, name, words):
    code, out, text, _ = login(world, ours, server, tmp_path, damaged(good(world), name))
    assert code == 255 and out == b""
    if ours.is_bowline:
        assert f'Load key "{tmp_path}/key": ' in text and words in text, text


@pytest.mark.parametrize("name", ("rsa_pem_pw", "rsa_des3_pw", "rsa_pkcs8_pw"))
def test_a_wrong_passphrase_is_told_and_asked_again(world, ours, server, tmp_path, name):
    text = (DATA / name).read_bytes()
    code, out, said, asked = login(world, ours, server, tmp_path, text, ["wrong", "pass phrase"])
    assert (code, out, asked) == (0, b"in\n", 2), said
    (tmp_path / "asked").unlink()
    code, _, said, asked = login(world, ours, server, tmp_path, text, ["wrong", "wrong", "wrong", "pass phrase"])
    assert code == 255 and asked == 3, "as often as NumberOfPasswordPrompts says, which is three"

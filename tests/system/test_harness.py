# SPDX-License-Identifier: ISC
"""What the tests themselves stand on: the OpenSSH beside which we are measured is never ours."""
import pytest

from harness import programs

OURS = "Bowline_0.1.0 (OpenSSH_10.5p1 compatible), OpenSSL 3.0.0"
NAMES = ("ssh", "sshd", "ssh-keygen")


def folder(path, version, names=NAMES):
    path.mkdir()
    for name in names:
        program = path / name
        program.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
        program.chmod(0o755)
    return path


def found(*folders):
    p = programs.openssh_in(":".join(map(str, folders)))
    return p and (p.ssh, p.sshd, p.keygen)


def test_ours_in_front_is_passed_over(tmp_path):
    ours, theirs = folder(tmp_path / "a", OURS), folder(tmp_path / "b", "OpenSSH_9.2p1, OpenSSL 3.0.0")
    assert found(ours, theirs) == tuple(str(theirs / name) for name in NAMES)
    assert found(ours) is None


@pytest.mark.parametrize("version", ["Dropbear v2022.83", "OpenSSH_10.5p1 Bowline_0.1.0", "SSH OpenSSH_9.2"])
def test_only_openssh_is_openssh(tmp_path, version):
    assert found(folder(tmp_path / "a", version)) is None


def test_keys_are_made_by_the_one_beside_ssh(tmp_path):
    lone = folder(tmp_path / "a", "OpenSSH_9.2p1", ("ssh",))
    mixed = folder(tmp_path / "b", "OpenSSH_9.3p1", ("ssh", "ssh-keygen"))
    server = folder(tmp_path / "c", "OpenSSH_9.3p1", ("sshd",))
    assert found(lone, mixed, server) == (str(mixed / "ssh"), str(server / "sshd"), str(mixed / "ssh-keygen"))


def test_the_system_is_searched_behind_the_path(tmp_path, monkeypatch, theirs):
    monkeypatch.setenv("PATH", str(folder(tmp_path / "a", OURS)))
    p = programs.installed()
    assert p is not None and not p.ssh.startswith(str(tmp_path))
    assert programs.is_openssh(p.ssh) and programs.is_openssh(p.sshd)

# SPDX-License-Identifier: ISC
"""ssh-speed against servers that are not ours: it finds out by itself what is there."""
import json
import subprocess

import pytest

import peers
from harness.client import Ssh

OFFERS = {"openssh": {"aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes128-ctr"},
          "dropbear": {"chacha20-poly1305@openssh.com", "aes128-ctr", "aes256-ctr"},
          "tinysshd": {"chacha20-poly1305@openssh.com"},       # and one session a connection
          "asyncssh": {"aes128-gcm@openssh.com", "aes256-ctr"},
          "paramiko": {"aes128-ctr", "aes256-ctr"}}


@pytest.mark.parametrize("name", sorted(OFFERS))
def test_measures(world, ours, name):
    if not ours.is_bowline:
        pytest.skip("OpenSSH has no such program")
    if peers.TABLE["server"][name].get("needs") == "account" and not world.account.private:
        pytest.skip(world.account.why_no_password)
    with peers.make("server", name, world).start() as server:
        ssh, _, _ = Ssh(world, ours).command(server, ["WarnWeakCrypto=no"], debug=False)
        command = [ours.speed, *ssh[1:-1], "--size", "4", "--json", ssh[-1]]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and done.stderr == "", f"{done.stderr}\n{server.log()[-2000:]}"
    report = json.loads(done.stdout)
    rows = {row["name"]: row for row in report["tables"]["ciphers"]}
    assert OFFERS[name] <= set(rows)
    assert all(row["error"] is None and row["up_mb_s"] > 0 and row["down_mb_s"] > 0 and row["login_ms"] > 0
               for row in rows.values()), rows
    assert report["choice"] in rows

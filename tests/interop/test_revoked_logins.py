# SPDX-License-Identifier: ISC
"""RevokedKeys: a key and its certificate at the door of a server that has a list; our sshd, and OpenSSH's as the measure."""
import os
import subprocess

import pytest

from interop.test_cert_login import keygen, login, place, sshd  # noqa: F401

# What is revoked: lines for ssh-keygen -k, the authority they are about (-s), then who still comes in: with the certificate, with the key.
LISTS = {
    "its serial number": (["serial: 7"], "ca", False, True),
    "a range with it": (["serial: 5-9"], "ca", False, True),
    "the last of a range": (["serial: 1-7"], "ca", False, True),
    "a range beside it": (["serial: 8-90"], "ca", True, True),
    "many numbers": ([f"serial: {n}" for n in range(1, 200, 2)], "ca", False, True),
    "many others": ([f"serial: {n}" for n in range(2, 200, 2)], "ca", True, True),
    "its number, of another authority": (["serial: 7"], "other", True, True),
    "its number, of any authority": (["serial: 7"], "none", False, True),
    "its name": (["id: who"], "ca", False, True),
    "a longer name": (["id: whoever"], "ca", True, True),
    "its name, of another authority": (["id: who"], "other", True, True),
    "the key": (["key: {key}"], None, False, False),
    "the key by its SHA-1": (["sha1: {key}"], None, False, False),
    "the key by its SHA-256": (["sha256: {key}"], None, False, False),
    "the key by its fingerprint": (["hash: {fingerprint}"], None, False, False),
    "another key": (["key: {other}", "sha256: {other}"], None, True, True),
    "the authority": (["key: {ca}"], None, False, True),
    "the authority by its SHA-256": (["sha256: {ca}"], None, False, True),
}


def fingerprint(program, path):
    return subprocess.run([program, "-lf", path], check=True, capture_output=True, text=True).stdout.split()[1]


def revoke(place, lines, authority):
    """A list made by OpenSSH's ssh-keygen, where the server may read it."""
    names = {name: place.text(f"{name}.pub") for name in ("key", "other", "ca")}
    names["fingerprint"] = fingerprint(place.foreign, place.path("key.pub"))
    (place.path("spec")).write_text("".join(line.format(**names) + "\n" for line in lines))
    of = [] if authority is None else ["-s", "none" if authority == "none" else place.path(f"{authority}.pub")]
    keygen(place.foreign, "-k", "-f", place.path("krl"), *of, place.path("spec"))
    place.path("krl").chmod(0o644)
    return place.path("krl")


def who_comes_in(server, ours, place):
    cert = place.certify("-n", server.user)
    with_cert = login(ours, server, place, f"CertificateFile={cert}", "PubkeyAcceptedAlgorithms=*-cert-v01@openssh.com")
    os.unlink(cert)
    with_key = login(ours, server, place, "PubkeyAcceptedAlgorithms=ssh-ed25519")
    return with_cert[0], with_key[0]


@pytest.mark.parametrize("whose", ["ours", "theirs"])
@pytest.mark.parametrize("case", LISTS)
def test_a_list_keeps_out_what_it_names(sshd, ours, theirs, place, case, whose):  # noqa: F811
    lines, authority, cert, key = LISTS[case]
    krl = revoke(place, lines, authority)
    server = sshd(f"TrustedUserCAKeys {place.path('ca.pub')}", f"RevokedKeys {krl}", programs={"ours": ours, "theirs": theirs}[whose],
                  authorized=place.text("key.pub") + "\n")
    assert who_comes_in(server, ours, place) == (cert, key), server.log()
    if whose == "ours" and not cert:
        assert "revoked" in server.log()


DAMAGED = {
    "absent": None,
    "no list": b"what is this?\n",
    "cut": lambda whole: whole[:-3],
    "a section cut": lambda whole: whole[:50],
    "a bit of its version": lambda whole: whole[:9] + bytes([whole[9] ^ 1]) + whole[10:],
    "a folder": "folder",
}


@pytest.mark.parametrize("how", DAMAGED)
def test_a_list_that_cannot_be_read_keeps_all_out(sshd, ours, place, how):  # noqa: F811
    krl, damage = revoke(place, ["serial: 99"], "ca"), DAMAGED[how]
    whole = krl.read_bytes()
    server = sshd(f"TrustedUserCAKeys {place.path('ca.pub')}", f"RevokedKeys {krl}", authorized=place.text("key.pub") + "\n")
    assert who_comes_in(server, ours, place) == (True, True), server.log()
    krl.unlink()
    if damage == "folder":
        krl.mkdir()
    elif damage is not None:
        krl.write_bytes(damage(whole) if callable(damage) else damage)
    assert who_comes_in(server, ours, place) == (False, False), server.log()
    assert str(krl) in server.log(), server.log()

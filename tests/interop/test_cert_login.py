# SPDX-License-Identifier: ISC
"""Logins with certificates, of users and of hosts: our sshd and ssh with OpenSSH's, and what must be refused."""
import os
import re
import subprocess

import pytest

from harness import world as ground
from harness.server import Sshd

ALWAYS = ("-V", "always:forever")
PAST, FUTURE = ("-V", "20200101:20210101"), ("-V", "20400101:20500101")


def keygen(program, *args):
    subprocess.run([program, "-q", *map(str, args)], check=True, capture_output=True, stdin=subprocess.DEVNULL)


class Place:
    """Authorities and a key, and certificates of it."""

    def __init__(self, programs, theirs):
        self.dir = ground.scratch("certs")
        self.dir.chmod(0o755)
        self.own, self.foreign = programs.keygen, theirs.keygen
        for name in ("ca", "other", "key"):
            keygen(self.foreign, "-t", "ed25519", "-N", "", "-f", self.dir / name)

    def path(self, name):
        return self.dir / name

    def certify(self, *args, ca="ca", key="key", program=None):
        keygen(program or self.foreign, "-s", self.path(ca), "-I", "who", "-z", 7, *args, f"{self.path(key)}.pub")
        return f"{self.path(key)}-cert.pub"

    def text(self, name):
        return " ".join(self.path(name).read_text().split()[:2])


@pytest.fixture
def place(ours, theirs):
    return Place(ours, theirs)


@pytest.fixture(params=["ours", "theirs"])
def client(request, ours, theirs):
    return {"ours": ours, "theirs": theirs}[request.param]


@pytest.fixture
def sshd(world, ours):
    started = []

    def start(*options, programs=ours, authorized=None):
        server = Sshd(world, programs, options)
        (server.dir / "authorized_keys").write_text(authorized or "")
        started.append(server.start())
        return server
    yield start
    for server in started:
        server.stop()


def login(programs, server, place, *options, key="key", known=None):
    """(logged in?, stdout, what ssh said)"""
    folder = ground.scratch("login")
    lines = known if known is not None else [f"[{server.host}]:{server.port} {p}" for p in server.host_publics]
    (folder / "known_hosts").write_text("".join(line + "\n" for line in lines))
    env = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
    command = [programs.ssh, "-F", "none", "-v", "-p", str(server.port), "-l", server.user, "-i", str(place.path(key))]
    for option in ("IdentitiesOnly=yes", "BatchMode=yes", f"UserKnownHostsFile={folder}/known_hosts",
                   "GlobalKnownHostsFile=none", "StrictHostKeyChecking=yes", "PreferredAuthentications=publickey",
                   *options):
        command += ["-o", option]
    done = subprocess.run([*command, server.host, "echo in"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, env=env)
    return done.returncode == 0, done.stdout, done.stderr


# -- users

USERS = {  # how it is signed ({user} is who logs in), by which authority, more for sshd, what its log says (None: it lets in)
    "good": (["-n", "{user}"], "ca", [], None),
    "one of several": (["-n", "nobody,{user}"], "ca", [], None),
    "from here": (["-n", "{user}", "-O", "source-address=127.0.0.0/8"], "ca", [], None),
    "another authority": (["-n", "{user}"], "other", [], "Failed publickey"),
    "a host's": (["-h", "-n", "{user}"], "ca", [], "Certificate invalid: not a user certificate"),
    "over": (["-n", "{user}", *PAST], "ca", [], "Certificate invalid: expired"),
    "too early": (["-n", "{user}", *FUTURE], "ca", [], "Certificate invalid: not yet valid"),
    "another name": (["-n", "nobody-at-all"], "ca", [], "Certificate invalid: name is not a listed principal"),
    "a pattern": (["-n", "*"], "ca", [], "Certificate invalid: name is not a listed principal"),
    "no name": ([], "ca", [], "Certificate lacks principal list"),
    "an unknown demand": (["-n", "{user}", "-O", "critical:made-up@example.com=x"], "ca", [],
                          "Certificate contains unsupported critical options"),
    "an algorithm": (["-n", "{user}"], "ca", ["CASignatureAlgorithms ecdsa-sha2-nistp256"],
                     "signature algorithm is not allowed"),
    "from elsewhere": (["-n", "{user}", "-O", "source-address=192.0.2.0/24"], "ca", [], "source-address"),
    "not accepted": (["-n", "{user}"], "ca", ["PubkeyAcceptedAlgorithms ssh-ed25519"], "Failed publickey"),
    "a revoked authority": (["-n", "{user}"], "ca", ["RevokedKeys {ca}"], "revoked"),
}


@pytest.mark.parametrize("case", USERS)
def test_user_certificates(sshd, client, place, case):
    how, ca, options, says = USERS[case]
    server = sshd(f"TrustedUserCAKeys {place.path('ca.pub')}", *(o.format(ca=place.path("ca.pub")) for o in options))
    place.certify(*(word.format(user=server.user) for word in how), ca=ca)
    entered, out, text = login(client, server, place)
    assert entered == (says is None), text + server.log()
    if says is None:
        assert out == "in\n"
        assert re.search(rf"Accepted publickey for {server.user} from \S+ port \d+ ssh2: ED25519-CERT SHA256:\S+ "
                         r"ID who \(serial 7\) CA ED25519 SHA256:\S+", server.log())
    elif client.name == "ours" or case != "a host's":  # OpenSSH's ssh does not even offer that one
        if case != "a host's":
            assert says in server.log(), server.log()


def test_an_authority_lets_nobody_in_itself(sshd, client, place):
    for authorized in (None, f"cert-authority {place.text('ca.pub')}\n"):
        server = sshd(f"TrustedUserCAKeys {place.path('ca.pub')}", authorized=authorized)
        assert not login(client, server, place, key="ca")[0]


def test_a_certificate_is_not_its_key_and_a_key_no_certificate(sshd, client, place):
    server = sshd(authorized=place.text("key.pub") + "\n")
    cert = place.certify("-n", server.user)
    assert not login(client, server, place, "PubkeyAcceptedAlgorithms *-cert-v01@openssh.com")[0]
    assert login(client, server, place, "PubkeyAcceptedAlgorithms ssh-ed25519")[0]
    server = sshd(authorized=f"cert-authority {place.text('ca.pub')}\n")
    assert not login(client, server, place, "PubkeyAcceptedAlgorithms ssh-ed25519")[0]
    assert login(client, server, place, f"CertificateFile={cert}")[0]


LINES = {  # options of the authority's line, names in the certificate, in?
    "": ("{user}", True),
    'principals="anna,berta"': ("berta", True),
    'principals="anna"': ("{user}", False),
    'principals=""': ("{user}", False),
    'principals="*"': ("anna", False),
    'from="192.0.2.1"': ("{user}", False),
}


@pytest.mark.parametrize("options", LINES)
def test_lines_of_authorities(sshd, client, place, options):
    names, is_in = LINES[options]
    more = f",{options}" if options else ""
    server = sshd(authorized=f"cert-authority{more} {place.text('ca.pub')}\n")
    place.certify("-n", names.format(user=server.user))
    entered, _, text = login(client, server, place)
    assert entered == is_in, text + server.log()


PRINCIPALS = {  # the file, in?, output
    "anna\n": (True, "in\n"),
    "# nobody\n\nberta\nanna # as it is\n": (True, "in\n"),
    'command="echo forced" anna\n': (True, "forced\n"),
    "berta\n": (False, ""),
    "an\n": (False, ""),
    "anna,berta\n": (False, ""),
    "no-such-option anna\n": (False, ""),
    'from="192.0.2.1" anna\nanna\n': (False, ""),
    "cert-authority anna\n": (False, ""),
    "": (False, ""),
    None: (False, ""),
}


@pytest.mark.parametrize("lines", PRINCIPALS)
def test_principals_files(sshd, client, place, lines):
    is_in, says = PRINCIPALS[lines]
    if lines is not None:
        place.path("names").write_text(lines)
    server = sshd(f"TrustedUserCAKeys {place.path('ca.pub')}", f"AuthorizedPrincipalsFile {place.path('names')}")
    place.certify("-n", f"{server.user},anna")
    entered, out, text = login(client, server, place)
    assert (entered, out) == (is_in, says), text + server.log()
    if not is_in:
        assert "Certificate does not contain an authorized principal" in server.log()


@pytest.mark.parametrize("line, cert, out", [
    ("", "echo forced", "forced\n"), ('command="echo forced",', "echo forced", "forced\n"),
    ('command="echo line",', "echo forced", ""), ('command="echo line",', None, "line\n")])
def test_forced_commands_agree(sshd, client, place, line, cert, out):
    server = sshd(authorized=f"{line}cert-authority {place.text('ca.pub')}\n")
    place.certify("-n", server.user, *(["-O", f"force-command={cert}"] if cert else []))
    assert login(client, server, place)[1] == out, server.log()


# -- hosts

HOSTS = {  # how it is signed, by which authority, the mark of known_hosts, more for ssh, what ssh says (None: it goes on)
    "good": (["-h", "-n", "127.0.0.1"], "ca", "@cert-authority *", [], None),
    "a pattern": (["-h", "-n", "127.*"], "ca", "@cert-authority *", [], None),
    "another authority": (["-h", "-n", "127.0.0.1"], "other", "@cert-authority *", [], "verification failed"),
    "not for this host": (["-h", "-n", "127.0.0.1"], "ca", "@cert-authority example.org", [], "verification failed"),
    "no authority": (["-h", "-n", "127.0.0.1"], "ca", "*", [], "verification failed"),
    "a user's": (["-n", "127.0.0.1"], "ca", "@cert-authority *", [], "Certificate invalid: not a host certificate"),
    "over": (["-h", "-n", "127.0.0.1", *PAST], "ca", "@cert-authority *", [], "Certificate invalid: expired"),
    "too early": (["-h", "-n", "127.0.0.1", *FUTURE], "ca", "@cert-authority *", [],
                  "Certificate invalid: not yet valid"),
    "another name": (["-h", "-n", "127.0.0.2"], "ca", "@cert-authority *", [], "name is not a listed principal"),
    "no name": (["-h"], "ca", "@cert-authority *", [], "Certificate lacks principal list"),
    "an algorithm": (["-h", "-n", "127.0.0.1"], "ca", "@cert-authority *",
                     ["CASignatureAlgorithms=ecdsa-sha2-nistp256"], "signature algorithm is not allowed"),
}


@pytest.fixture(params=["ours", "theirs"])
def host(request, ours, theirs):
    return {"ours": ours, "theirs": theirs}[request.param]


@pytest.mark.parametrize("case", HOSTS)
def test_host_certificates(sshd, host, ours, place, case):
    how, ca, mark, options, says = HOSTS[case]
    cert = place.certify(*how, ca=ca)
    server = sshd(f"HostKey {place.path('key')}", f"HostCertificate {cert}", programs=host,
                  authorized=place.text("other.pub") + "\n")
    entered, _, text = login(ours, server, place, *options, key="other", known=[f"{mark} {place.text('ca.pub')}"])
    assert entered == (says is None), text + server.log()
    assert says is None or says in text, text


@pytest.mark.parametrize("revoked", ["ca.pub", "key.pub"])
def test_revoked_is_revoked(sshd, host, ours, place, revoked):
    cert = place.certify("-h", "-n", "127.0.0.1")
    server = sshd(f"HostKey {place.path('key')}", f"HostCertificate {cert}", programs=host,
                  authorized=place.text("other.pub") + "\n")
    known = [f"@cert-authority * {place.text('ca.pub')}", f"@revoked * {place.text(revoked)}"]
    entered, _, text = login(ours, server, place, key="other", known=known)
    assert not entered and "REVOKED HOST KEY DETECTED" in text, text


def test_without_an_authority_the_plain_key_counts(sshd, host, ours, place):
    cert = place.certify("-h", "-n", "127.0.0.1")
    server = sshd(f"HostKey {place.path('key')}", f"HostCertificate {cert}", programs=host,
                  authorized=place.text("other.pub") + "\n")
    at = f"[{server.host}]:{server.port}"
    only = "HostKeyAlgorithms=ssh-ed25519-cert-v01@openssh.com"
    assert login(ours, server, place, only, key="other", known=[f"{at} {place.text('key.pub')}"])[0]
    assert not login(ours, server, place, only, key="other", known=[f"{at} {place.text('other.pub')}"])[0]


def test_openssh_takes_the_certificate_of_our_host(sshd, theirs, place):
    cert = place.certify("-h", "-n", "127.0.0.1")
    server = sshd(f"HostKey {place.path('key')}", f"HostCertificate {cert}", authorized=place.text("other.pub") + "\n")
    known = [f"@cert-authority * {place.text('ca.pub')}"]
    entered, _, text = login(theirs, server, place, key="other", known=known)
    assert entered and "host certificate" in text.lower(), text


# -- the composite of ML-DSA and Ed25519, which no foreign program here has

def test_composite_certificates(sshd, ours, place):
    for name in ("pq", "pqhost"):
        keygen(ours.keygen, "-t", "mldsa44-ed25519", "-N", "", "-f", place.path(name))
    server_user = ground_user(sshd)
    host_cert = place.certify("-h", "-n", "127.0.0.1", key="pqhost", program=ours.keygen)
    place.certify("-n", server_user, key="pq", program=ours.keygen)
    algs = "+ssh-mldsa44-ed25519-cert-v01@openssh.com"
    options = (f"HostKey {place.path('pqhost')}", f"HostCertificate {host_cert}",
               f"TrustedUserCAKeys {place.path('ca.pub')}", f"HostKeyAlgorithms {algs}")
    wish = ("HostKeyAlgorithms=ssh-mldsa44-ed25519-cert-v01@openssh.com", f"PubkeyAcceptedAlgorithms={algs}")
    known = [f"@cert-authority * {place.text('ca.pub')}"]
    server = sshd(*options, f"PubkeyAcceptedAlgorithms {algs}")
    entered, out, text = login(ours, server, place, *wish, key="pq", known=known)
    assert entered and out == "in\n", text + server.log()
    assert "MLDSA44-ED25519-CERT" in server.log()
    server = sshd(*options)  # off by default
    assert not login(ours, server, place, *wish, key="pq", known=known)[0]


def ground_user(sshd):
    return sshd().user

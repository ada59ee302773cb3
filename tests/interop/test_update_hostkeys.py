# SPDX-License-Identifier: ISC
"""UpdateHostKeys: our ssh learns and forgets a host's keys with OpenSSH's sshd and ours; a server that lies
teaches it nothing."""
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import rawssh as raw
from harness import world as ground
from harness.client import Ssh, feed
from harness.rawserver import RawServer
from harness.server import Sshd

TELL, PROVE = "hostkeys-00@openssh.com", b"hostkeys-prove-00@openssh.com"
KINDS = ("ed25519", "ecdsa-256", "rsa-2048")


class Case:
    """ssh with a known_hosts file of its own."""

    def __init__(self, world, ours, server, lines):
        self.world, self.ours, self.server = world, ours, server
        self.name = f"[{server.host}]:{server.port}"
        self.known = ground.scratch("known") / "known_hosts"
        self.known.write_text("".join(line.replace("HOST", self.name) for line in lines))

    def line(self, kind_or_key):
        public = self.world.keys.public(kind_or_key, "host") if isinstance(kind_or_key, str) \
            else raw.public_line(kind_or_key)
        return f"{self.name} {' '.join(public.split()[:2])}\n"

    def run(self, *options, env=None, status=0):
        command, log, _ = Ssh(self.world, self.ours).command(self.server, [
            f"UserKnownHostsFile={self.known}", "UpdateHostKeys=yes", "StrictHostKeyChecking=yes"], hosts=False)
        for option in reversed(options):        # the first one counts
            command[1:1] = ["-o", option]
        code, out, err = feed([*command, "echo in"], None, 60, env)
        text = err + (log.read_text() if log.exists() else "")
        assert code == status and out == (b"in\n" if status == 0 else b""), text
        return text

    def text(self):
        return self.known.read_bytes().decode()


def public(world, kind):
    return " ".join(world.keys.public(kind, "host").split()[:2])


@pytest.fixture(params=("ours", "theirs"))
def server(request, world, ours, theirs):
    with Sshd(world, {"ours": ours, "theirs": theirs}[request.param], host_kinds=KINDS).start() as s:
        yield s


@pytest.mark.parametrize("first", KINDS)
def test_new_keys_are_learned_and_the_rest_stays(world, ours, server, first):
    before = ["# my hosts\r\n", "\n", "other.example ssh-ed25519 AAAA-broken\n",
              "b.example ssh-dss AAAAB3NzaC1kc3M= old\n", f"HOST {public(world, first)} a comment"]
    case = Case(world, ours, server, before)
    text = case.run()
    assert len(re.findall("Learned new hostkey: (?:ED25519|ECDSA|RSA) SHA256:", text)) == 2, text
    kept = "".join(before).replace("HOST", case.name) + "\n"
    assert case.text().startswith(kept)
    added = case.text()[len(kept):].splitlines(keepends=True)
    assert sorted(added) == sorted(case.line(k) for k in KINDS if k != first)
    assert (case.known.parent / "known_hosts.old").read_bytes().decode() == kept[:-1]
    assert case.known.stat().st_mode & 0o777 == 0o644
    assert "Learned" not in case.run()
    # What was learned is enough for a login, also by OpenSSH.
    for kind in KINDS:
        case.run("HostKeyAlgorithms=" + {"ed25519": "ssh-ed25519", "ecdsa-256": "ecdsa-sha2-nistp256",
                                         "rsa-2048": "rsa-sha2-256"}[kind], "UpdateHostKeys=no")


def test_keys_that_are_gone_go(world, ours, server):
    case = Case(world, ours, server, [f"HOST {public(world, 'ed25519')}\n", "# here\n",
                                      f"HOST {public(world, 'ecdsa-521')}\n", f"x {public(world, 'ecdsa-384')}\n"])
    text = case.run()
    assert text.count("Deprecating obsolete hostkey: ECDSA") == 1 and text.count("Learned new") == 2
    assert case.line("ecdsa-521") not in case.text()
    assert case.text().startswith(case.line("ed25519") + "# here\n" + f"x {public(world, 'ecdsa-384')}\n")
    assert case.line("rsa-2048") in case.text()


def test_hashed_lines_are_kept_and_new_ones_are_hashed(world, ours, theirs, server):
    case = Case(world, ours, server, [f"HOST {public(world, 'ed25519')}\n", f"HOST {public(world, 'ecdsa-384')}\n"])
    feed([theirs.keygen, "-H", "-f", str(case.known)], None, 20)
    first = case.text().splitlines()[0]
    assert first.startswith("|1|")
    case.run("HashKnownHosts=yes")
    lines = case.text().splitlines()
    assert lines[0] == first and len(lines) == 3 and all(line.startswith("|1|") for line in lines)
    found = feed([theirs.keygen, "-F", case.name, "-f", str(case.known)], None, 20)[1].decode()
    assert all(public(world, k) in found for k in KINDS) and public(world, "ecdsa-384") not in found


@pytest.mark.parametrize("line", ("HOST,b.example", "[127.0.0.*]:*", "HOST,!c", "@cert-authority HOST", "b.example",
                                  "@revoked *"))
def test_a_host_with_more_than_plain_lines_is_left_alone(world, ours, server, line):
    key = "ed25519" if line[0] != "@" else "ecdsa-384"
    case = Case(world, ours, server, [f"HOST {public(world, 'ed25519')}\n", f"{line} {public(world, key)}\n"])
    before = case.text()
    text = case.run()
    assert "skipping UserKnownHostsFile update" in text and case.text() == before


def test_an_unconfirmed_key_teaches_nothing(world, ours, server):
    case = Case(world, ours, server, [])
    for mode in ("no", "accept-new"):
        case.known.write_text("")
        case.run(f"StrictHostKeyChecking={mode}", "HostKeyAlgorithms=ssh-ed25519,rsa-sha2-256")
        assert case.text() == case.line("ed25519")
    # A wrong key, and nobody cares: said once, and nothing is written.
    wrong = f"{case.name} {public(world, 'ecdsa-384')}\n"
    case.known.write_text(wrong)
    text = case.run("StrictHostKeyChecking=no")
    assert "UpdateHostkeys is disabled because the host key is not trusted." in text and case.text() == wrong


def test_a_key_of_the_system_teaches_nothing(world, ours, server):
    case = Case(world, ours, server, [])
    wide = case.known.parent / "global"
    wide.write_text(case.line("ed25519"))
    case.run(f"GlobalKnownHostsFile={wide}")
    assert case.text() == "" and wide.read_text() == case.line("ed25519")


@pytest.mark.parametrize("answer,learned", (("yes", 3), ("no", 1), ("perhaps", 1)))
def test_ask_asks(world, ours, server, answer, learned):
    case = Case(world, ours, server, [f"HOST {public(world, 'ed25519')}\n"])
    ask = case.known.parent / "ask"
    ask.write_text(f"#!/bin/sh\necho \"$1\" >> {ask}.log\necho {answer}\n")
    ask.chmod(0o700)
    text = case.run("BatchMode=no", "UpdateHostKeys=ask",
                    env={"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"})
    assert len(case.text().splitlines()) == learned, text
    asked = (case.known.parent / "ask.log").read_text()
    assert asked == "Accept updated hostkeys? (yes/no): \n" * (3 if answer == "perhaps" else 1)
    assert text.count("Learned new hostkey") == 2


def test_batch_mode_is_not_asked(world, ours, server):
    case = Case(world, ours, server, [f"HOST {public(world, 'ed25519')}\n"])
    assert "Learned" not in case.run("UpdateHostKeys=ask")
    assert len(case.text().splitlines()) == 1


def test_a_yes_at_the_first_question_counts(world, ours, server):
    case = Case(world, ours, server, [])
    ask = case.known.parent / "ask"
    ask.write_text("#!/bin/sh\necho yes\n")
    ask.chmod(0o700)
    case.run("BatchMode=no", "StrictHostKeyChecking=ask", env={"SSH_ASKPASS": str(ask),
                                                               "SSH_ASKPASS_REQUIRE": "force"})
    assert sorted(case.text().splitlines(keepends=True)) == sorted(case.line(k) for k in KINDS)


def test_a_file_that_cannot_be_written_is_told_once(world, ours, server):
    case = Case(world, ours, server, [f"HOST {public(world, 'ed25519')}\n"])
    gone = case.known.parent / "not-there" / "known_hosts"
    second = case.known
    text = case.run(f"UserKnownHostsFile={gone} {second}")
    assert text.count("are not updated in") == 1 and str(gone) in text
    assert second.read_text() == case.line("ed25519")


def test_a_link_stays_a_link(world, ours, server):
    case = Case(world, ours, server, [f"HOST {public(world, 'ed25519')}\n"])
    real = case.known.parent / "real"
    shutil.move(case.known, real)
    case.known.symlink_to("real")
    case.run()
    assert case.known.is_symlink() and len(real.read_text().splitlines()) == 3


def test_two_at_once_lose_nothing(world, ours, theirs):
    """Each learns the keys of its own server into the one file."""
    kinds = (("ed25519", "rsa-2048"), ("ecdsa-256", "ecdsa-384"))
    with Sshd(world, ours, host_kinds=kinds[0]).start() as a, Sshd(world, theirs, host_kinds=kinds[1]).start() as b:
        cases = [Case(world, ours, a, []), Case(world, ours, b, [])]
        cases[1].known = cases[0].known
        for _ in range(5):
            cases[0].known.write_text("".join(c.line(k[0]) for c, k in zip(cases, kinds)))
            with ThreadPoolExecutor() as crew:
                list(crew.map(Case.run, cases))
            assert sorted(cases[0].text().splitlines(keepends=True)) == \
                sorted(c.line(k) for c, ks in zip(cases, kinds) for k in ks)


# -- servers that lie: each knows `key`, which the client knows, and offers `more`

def lying(offer, proof):
    """offer(peer, key, new) -> blobs or bytes; proof(peer, key, new, asked) -> the answer's body, None: failure."""
    new = [raw.new_key() for _ in range(2)]
    seen = []

    def script(peer):
        peer.handshake()
        peer.admit()
        theirs, _ = peer.accept_session()
        body = offer(peer.hostkey, new)
        body = body if isinstance(body, bytes) else b"".join(raw.string(b) for b in body)
        peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string(TELL) + b"\0" + body)
        peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string("keepalive@openssh.com") + b"\1")
        while True:
            packet = peer.expect(raw.GLOBAL_REQUEST, raw.REQUEST_FAILURE, skip=(raw.EOF,))
            if packet[0] == raw.REQUEST_FAILURE:
                break
            r = raw.Reader(packet[1:])
            assert r.string() == PROVE and r.u8() == 1
            seen.append(r.b[r.at:])
            answer = proof(peer, new, seen[-1])
            peer.send(bytes([raw.REQUEST_FAILURE]) if answer is None else bytes([raw.REQUEST_SUCCESS]) + answer)
        peer.send(bytes([raw.DATA]) + raw.u32(theirs) + raw.string("in\n"))
        peer.finish(theirs)
    return script, new, seen


def signature(peer, key, blob=None, session=None, name=PROVE):
    return raw.string(raw.sign(key, raw.string(name) + raw.string(session or peer.session_id) +
                               raw.string(blob or raw.public_blob(key))))


def honest(peer, new, asked):
    return b"".join(signature(peer, k) for k in new if raw.public_blob(k) in asked)


def plain(key, new):
    return [raw.public_blob(k) for k in (key, *new)]


def tell(world, ours, offer=plain, proof=honest, more=""):
    script, new, seen = lying(offer, proof)
    with RawServer(world, script) as server:
        case = Case(world, ours, server, [f"HOST {raw.public_line(server.key)}\n", more])
        before = case.text()
        try:
            text = case.run()
        finally:
            assert not server.faults, repr(server.faults[0])
    return case, before, new, seen, text


def test_an_honest_one_is_believed(world, ours):
    case, before, new, seen, _ = tell(world, ours)
    assert case.text() == before + "".join(case.line(k) for k in new)
    assert seen == [b"".join(raw.string(raw.public_blob(k)) for k in new)]


def flipped(peer, new, asked):
    good = bytearray(honest(peer, new, asked))
    good[-1] ^= 1
    return bytes(good)


BAD_PROOFS = {
    "no proof": lambda peer, new, asked: b"",
    "a refusal": lambda peer, new, asked: None,
    "one of two": lambda peer, new, asked: signature(peer, new[0]),
    "a bit": flipped,
    "one too many": lambda peer, new, asked: honest(peer, new, asked) + signature(peer, new[0]),
    "bytes behind": lambda peer, new, asked: honest(peer, new, asked) + b"\0",
    "another order": lambda peer, new, asked: signature(peer, new[1]) + signature(peer, new[0]),
    "another key": lambda peer, new, asked: b"".join(
        signature(peer, peer.hostkey, raw.public_blob(k)) for k in new),
    "another session": lambda peer, new, asked: b"".join(
        signature(peer, k, session=b"\0" * 32) for k in new),
    "another purpose": lambda peer, new, asked: b"".join(
        signature(peer, k, name=b"hostkeys-prove-01@openssh.com") for k in new),
    "another blob": lambda peer, new, asked: b"".join(
        signature(peer, k, raw.public_blob(peer.hostkey)) for k in new),
    "a short one": lambda peer, new, asked: honest(peer, new, asked)[:-3],
    "an endless one": lambda peer, new, asked: b"\xff\xff\xff\xff",
}


@pytest.mark.parametrize("how", BAD_PROOFS)
def test_a_wrong_proof_teaches_nothing(world, ours, how):
    gone = f"HOST {raw.public_line(raw.new_key())}\n"      # would be removed, were the rest true
    case, before, new, seen, _ = tell(world, ours, proof=BAD_PROOFS[how], more=gone)
    assert len(seen) == 1 and case.text() == before


BAD_OFFERS = {
    "nothing": lambda key, new: [],
    "not its own": lambda key, new: plain(key, new)[1:],
    "one twice": lambda key, new: plain(key, new) + plain(key, new)[-1:],
    "its own twice": lambda key, new: [raw.public_blob(key)] * 2,
    "very many": lambda key, new: [raw.public_blob(key), *(raw.public_blob(raw.new_key()) for _ in range(100))],
    "a cut list": lambda key, new: b"".join(map(raw.string, plain(key, new)))[:-1],
    "a long length": lambda key, new: b"".join(map(raw.string, plain(key, new))) + b"\xff\xff\xff\xf0x",
    "noise": lambda key, new: b"\0\0",
}


@pytest.mark.parametrize("how", BAD_OFFERS)
def test_a_wrong_list_teaches_nothing(world, ours, how):
    gone = f"HOST {raw.public_line(raw.new_key())}\n"
    case, before, new, seen, _ = tell(world, ours, offer=BAD_OFFERS[how], more=gone)
    assert seen == [] and case.text() == before


def test_types_that_nobody_knows_are_passed_over(world, ours):
    strange = [raw.string("ssh-strange") + b"x" * 100, b"", raw.string("ssh-ed25519") + raw.string(b"short"),
               raw.string("ssh-ed25519-cert-v01@openssh.com") + b"\0" * 200,
               raw.string("ssh-dss") + raw.string(b"\1") * 4]
    case, before, new, seen, _ = tell(world, ours, offer=lambda key, new: [*strange, *plain(key, new), *strange])
    assert case.text() == before + "".join(case.line(k) for k in new)
    assert seen == [b"".join(raw.string(raw.public_blob(k)) for k in new)]


def test_the_list_counts_once(world, ours):
    def script(peer):
        peer.handshake()
        peer.admit()
        theirs, _ = peer.accept_session()
        for keys in ((peer.hostkey,), (peer.hostkey, raw.new_key())):
            peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string(TELL) + b"\0" +
                      b"".join(raw.string(raw.public_blob(k)) for k in keys))
        peer.send(bytes([raw.GLOBAL_REQUEST]) + raw.string("keepalive@openssh.com") + b"\1")
        peer.expect(raw.REQUEST_FAILURE, skip=(raw.EOF,))
        peer.send(bytes([raw.DATA]) + raw.u32(theirs) + raw.string("in\n"))
        peer.finish(theirs)
    with RawServer(world, script) as server:
        case = Case(world, ours, server, [f"HOST {raw.public_line(server.key)}\n"])
        before = case.text()
        try:
            case.run()
        finally:
            assert not server.faults, repr(server.faults[0])
        assert case.text() == before


def test_a_revoked_key_is_not_learned(world, ours, theirs, server):
    case = Case(world, ours, server, [f"HOST {public(world, 'ed25519')}\n"])
    revoked = case.known.parent / "revoked"
    revoked.write_text(public(world, "rsa-2048") + "\n")
    text = case.run(f"RevokedHostKeys={revoked}")
    assert "revoked by file" in text and case.text() == case.line("ed25519")


def test_scp_and_sftp_learn_too(world, ours, theirs):
    with Sshd(world, theirs, [f"Subsystem sftp {theirs.sftp_server}"], host_kinds=KINDS).start() as server:
        source = ground.scratch("copy") / "source"
        source.write_text("x")
        for program in (ours.scp, ours.sftp):
            case = Case(world, ours, server, [f"HOST {public(world, 'ed25519')}\n"])
            options = ["-F", "none", "-i", str(world.keys.path("ed25519")), "-P", str(server.port)]
            for o in ("IdentitiesOnly=yes", "BatchMode=yes", "GlobalKnownHostsFile=none", "UpdateHostKeys=yes",
                      f"UserKnownHostsFile={case.known}"):
                options += ["-o", o]
            code, _, err = feed([program, *options, f"{server.user}@{server.host}:{source}", f"{source}2"],
                                None, 60)
            assert code == 0, err
            assert sorted(case.text().splitlines(keepends=True)) == sorted(case.line(k) for k in KINDS)

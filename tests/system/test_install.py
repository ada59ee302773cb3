# SPDX-License-Identifier: ISC
"""`meson install` puts everything where OpenSSH has it, and nothing else; ./try says what it takes."""
import os
import subprocess
from pathlib import Path

import pytest

from harness.programs import TOP

PLACES = {"bin": {"scp", "sftp", "ssh", "ssh-add", "ssh-agent", "ssh-copy-id", "ssh-keygen", "ssh-speed"}, "sbin": {"sshd"},
          "libexec": {"sftp-server", "ssh-keychain"}}


def test_install_has_programs_and_pages_in_their_places(tmp_path, ours):
    build = Path(ours.ssh).parents[3]
    if not (build / "build.ninja").is_file():
        pytest.skip("no build folder is tested")
    options = (build / "meson-info" / "intro-buildoptions.json").read_text()
    assert '"/usr/local"' in options, "the build has another prefix"
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", tmp_path], check=True,
                   capture_output=True, timeout=60)
    pages = {f"share/man/man{p.suffix[1:]}/{p.name}" for p in (TOP / "man").iterdir()}
    programs = {f"{place}/{name}" for place, names in PLACES.items() for name in names}
    if not (build / "src/app/ssh-keychain/ssh-keychain").exists():     # libsecret is missing
        programs -= {"libexec/ssh-keychain"}
    root = tmp_path / "usr" / "local"
    assert {str(p.relative_to(root)) for p in tmp_path.rglob("*") if p.is_file()} == pages | programs
    assert all(os.stat(root / p).st_mode & 0o7777 == 0o755 for p in programs)
    assert all(os.stat(root / p).st_mode & 0o7777 == 0o644 for p in pages)


@pytest.mark.parametrize("args,status", [(["--help"], 0), (["-h"], 0), (["--hepl"], 2), (["--help", "x"], 2), ([""], 2)])
def test_try_says_what_it_takes(args, status):
    done = subprocess.run([TOP / "try", *args], capture_output=True, text=True, timeout=20)
    assert done.returncode == status
    assert len(done.stdout.splitlines()) == (2 if status == 0 else 0)
    assert done.stderr == ("" if status == 0 else "try: there are no arguments but --help\n")

#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The main job, once through, for ./try: keys, a server, logins, a command, data both ways."""
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True

from harness import programs, world             # noqa: E402
from harness.side import Side, memory_file      # noqa: E402

MIB, MIB_OLD = 256, 32          # what is not offered by default is slow, and of less interest
ROUNDS = 2
ZEROS = "dd if=/dev/zero bs=262144 count={} 2>/dev/null"
KINDS = ("ecdsa-521", "ed25519")


def version(p):
    done = subprocess.run([p.ssh, "-V"], capture_output=True, text=True, timeout=20)
    return (done.stderr + done.stdout).strip().splitlines()[0]


def login(side, kind):
    begin = time.monotonic()
    done = subprocess.run(side.command("true", kind=kind), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"login with {kind} failed:\n{done.stderr}{side.server.log()[-2000:]}")
    print(f"login    {kind:10} ok, {1000 * (time.monotonic() - begin):.0f} ms", flush=True)


def remote_command(side):
    done = subprocess.run(side.command("echo $((6 * 7)); exit 3"), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if (done.returncode, done.stdout) != (3, "42\n"):
        raise RuntimeError(f"remote command: status {done.returncode}, output {done.stdout!r}\n{done.stderr}")
    print("command  `echo $((6 * 7)); exit 3` said 42 and gave status 3", flush=True)


def offered(p):
    """The ciphers that ssh offers when nothing is said."""
    done = subprocess.run([p.ssh, "-F", "none", "-G", "host"], capture_output=True, text=True, timeout=20)
    return next(line.split()[1].split(",") for line in done.stdout.splitlines() if line.startswith("ciphers "))


def login_seconds(side, options):
    return statistics.median(side.run(side.command("true", options))[0] for _ in range(3))


def by_ssh(side, cipher, mib, payload):
    """(MB/s up, MB/s down, CPU seconds) with ssh itself, the time of the login taken off."""
    options, size = [f"Ciphers={cipher}"], mib * 1.048576
    login = login_seconds(side, options)
    up = side.run(side.command("cat >/dev/null", options), payload[mib])
    down = side.run(side.command(ZEROS.format(mib * 4), options))
    return size / max(up[0] - login, 1e-3), size / max(down[0] - login, 1e-3), sum(up[1:]) + sum(down[1:])


def by_speed(side, cipher, mib):
    """The same with ssh-speed, which knows of the login by itself."""
    out = side.world.tmp / "speed.json"
    _, client, server = side.run(side.speed_command(cipher, mib), out=out)
    row = json.loads(out.read_text())["tables"]["ciphers"][0]
    return row["up_mb_s"], row["down_mb_s"], client + server


def move(side, cipher, mib, payload):
    """(MB/s up, MB/s down, CPU seconds a GB)"""
    runs = [by_speed(side, cipher, mib) if side.tested.is_bowline else by_ssh(side, cipher, mib, payload)
            for _ in range(ROUNDS if mib == MIB else 1)]
    up, down, cpu = (statistics.median(column) for column in zip(*runs))
    return up, down, cpu * 1e9 / (2 * (mib << 20))


def show(cipher, cells):
    print(f"{cipher:32}" + " |".join(f"{a:9.0f}{b:9.0f}{c:10.2f}" if a else f"{'-':>9}{'-':>9}{'-':>10}"
                                     for a, b, c in cells), flush=True)


def main():
    tested, installed = programs.under_test(), programs.installed()
    w = world.World.make(tested.keygen, payload_mib=1)
    base = memory_file(w)
    payload = {mib: base.with_name(f"{base.name}-{mib}") for mib in (MIB, MIB_OLD)}
    sides = [Side(tested.name, w, tested, old_ciphers=True)]
    if installed and installed != tested:
        sides.append(Side("openssh", w, installed, old_ciphers=True))
    try:
        for mib, path in payload.items():
            world.fill(path, mib)
        print(f"client   {version(tested)}")
        print(f"keys     {', '.join(KINDS)}, thrown away at the end")
        sides[0].start()
        print(f"server   127.0.0.1 port {sides[0].server.port}, user {w.account.user}, in a directory of its own")
        for kind in KINDS:
            login(sides[0], kind)
        remote_command(sides[0])
        for side in sides[1:]:
            side.start()
        exact = sides[0].server_cpu.exact
        print(f"\n{MIB} MiB sent and fetched ({MIB_OLD} with the old ciphers), without the time of the login; "
              f"ours by ssh-speed, OpenSSH's by ssh.\nCPU: client and server together, logins too"
              f"{'' if exact else '; the client only where there are no control groups'}")
        print(f"{'':32}" + "  ".join(f"{side.name:^28}" for side in sides))
        print(f"{'cipher':32}" + " |".join(f"{'MB/s up':>9}{'down':>9}{'CPU-s/GB':>10}" for _ in sides), flush=True)
        known, usual = [set(side.tested.query("cipher")) for side in sides], offered(tested)
        for cipher in [*usual, *(c for c in tested.query("cipher") if c not in usual)]:
            mib = MIB if cipher in usual else MIB_OLD
            show(cipher, [move(side, cipher, mib, payload) if cipher in names else (None, None, None)
                          for side, names in zip(sides, known)])
    finally:
        for path in payload.values():
            path.unlink(missing_ok=True)
        for side in sides:
            side.stop()


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as e:
        sys.exit(f"try: {e}")
    except KeyboardInterrupt:
        sys.exit(130)

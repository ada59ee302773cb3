#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The main job, once through, for ./try: keys, a server, logins, a command, data both ways."""
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True

from harness import programs, world             # noqa: E402
from harness.side import Side, memory_file      # noqa: E402

MIB = 256
ROUNDS = 2
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


def move(side, cipher, payload):
    """(MB/s up, MB/s down, CPU seconds a GB)"""
    size, options = payload.stat().st_size, [f"Ciphers={cipher}"]
    ups, downs, cpu = [], [], []
    for _ in range(ROUNDS):
        up = side.run(side.command("cat >/dev/null", options), payload)
        down = side.run(side.command(f"cat {payload}", options))
        ups.append(size / 1e6 / up[0])
        downs.append(size / 1e6 / down[0])
        cpu.append((sum(up[1:]) + sum(down[1:])) * 1e9 / (2 * size))
    return statistics.median(ups), statistics.median(downs), statistics.median(cpu)


def show(cipher, cells):
    print(f"{cipher:32}" + " |".join(f"{a:9.0f}{b:9.0f}{c:10.2f}" if a else f"{'-':>9}{'-':>9}{'-':>10}"
                                     for a, b, c in cells), flush=True)


def main():
    tested, installed = programs.under_test(), programs.installed()
    w = world.World.make(tested.keygen, payload_mib=1)
    payload = memory_file(w)
    sides = [Side(tested.name, w, tested)]
    if installed and installed != tested:
        sides.append(Side("openssh", w, installed))
    try:
        world.fill(payload, MIB)
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
        print(f"\n{MIB} MiB of random data sent and fetched; CPU: client and server together"
              f"{'' if exact else ', the client only where there are no control groups'}")
        print(f"{'':32}" + "  ".join(f"{side.name:^28}" for side in sides))
        print(f"{'cipher':32}" + " |".join(f"{'MB/s up':>9}{'down':>9}{'CPU-s/GB':>10}" for _ in sides), flush=True)
        known = [set(side.tested.query("cipher")) for side in sides]
        for cipher in tested.query("cipher"):
            show(cipher, [move(side, cipher, payload) if cipher in names else (None, None, None)
                          for side, names in zip(sides, known)])
    finally:
        payload.unlink(missing_ok=True)
        for side in sides:
            side.stop()


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError) as e:
        sys.exit(f"try: {e}")
    except KeyboardInterrupt:
        sys.exit(130)

# SPDX-License-Identifier: ISC
"""How many round trips a login takes: the slope of its time over the delay of the path."""
import statistics
import time

import pytest

from harness import link
from harness.client import Ssh
from harness.server import Sshd

LIMIT = 6.2         # six, and room for what the machine does in the meantime
RTT_MS = 100


def seconds(world, programs, rtt_ms, runs):
    """Median time of `ssh host true`, over a path with this delay."""
    with link.Link(rtt_ms) as path, Sshd(world, programs, link=path, log_level="INFO").start() as server:
        client, times = Ssh(world, programs), []
        for _ in range(runs):
            begin = time.monotonic()
            result = client.run(server, "true")
            times.append(time.monotonic() - begin)
            assert result.status == 0, str(result)
        return statistics.median(times)


def round_trips(world, programs, runs=7):
    return (seconds(world, programs, RTT_MS, runs) - seconds(world, programs, 0, runs)) * 1000 / RTT_MS


def test_login_takes_at_most_six_round_trips(world, ours):
    why = link.why_not()
    if why:
        pytest.skip(why)
    if not ours.is_bowline:     # the reference takes twice as many: so the measure can see the difference
        assert round_trips(world, ours) > LIMIT
        return
    figures = []
    for _ in range(3):          # the machine may be busy: the best of three medians counts
        figures.append(round_trips(world, ours))
        if figures[-1] <= LIMIT:
            break
    assert min(figures) <= LIMIT, f"{ours.name}: round trips {figures}"

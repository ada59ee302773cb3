# SPDX-License-Identifier: ISC
import signal

import pytest

from harness import programs
from harness.world import World

# Whoever runs the tests in the background ignores SIGINT, and so would every program under test.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def ours():
    return programs.under_test()


@pytest.fixture(scope="session")
def theirs():
    found = programs.installed()
    if found is None:
        pytest.fail("the installed OpenSSH is missing (./check installs it)")
    return found


@pytest.fixture(scope="session")
def world(theirs):
    return World.make(theirs.keygen)

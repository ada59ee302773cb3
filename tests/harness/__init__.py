# SPDX-License-Identifier: ISC
"""What the suites with real peers share: the programs under test, servers, keys, payloads."""

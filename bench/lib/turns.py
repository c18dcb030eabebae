# SPDX-License-Identifier: Apache-2.0
"""Rows of what one program has measured of several tables, in turns."""
import os
import re
import time

from nodes import BenchError, host_busy_seconds


def figures(line):
    """The numbers of a line, by the word before each."""
    return {name: int(number) for name, number in re.findall(r"([a-z]+) (\d+)", line)}


def with_others(measure, ours_so_far=lambda: sum(os.times()[:4])):
    """What measure() returns, and the processors that the rest of the host used meanwhile.

    ours_so_far(): processor seconds of ours; if it is not said, of this program and those that it has run.
    """
    busy, ours, start = host_busy_seconds(), ours_so_far(), time.monotonic()
    said = measure()
    return said, max(host_busy_seconds() - busy - (ours_so_far() - ours), 0.0) / (time.monotonic() - start)


def add_rows(report, rows, rounds, command, others):
    """A row for each pair of tables, nanoseconds of a look-up without the call of a function that looks nothing up."""
    if not rounds:
        raise BenchError(f"no figures from: {command}")
    for metric, mine, peer, name, goal in rows:
        both = ([(figure[table] - figure.get("nothing", 0)) / figure["lookups"] for figure in rounds] for table in (mine, peer))
        report.rounds(metric, "ns", both, others, command, name, goal)

# SPDX-License-Identifier: Apache-2.0
"""Interleaved pairs: ours, the peer, the peer, ours, ours, the peer, ...

Times on a shared or emulated machine are noise, and what is slow now may be
fast in a minute. So the two sides take turns, each pair gives a ratio, and the
result is the median of the ratios. Both do the same number of operations.
"""
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Callable

from nodes import BenchError, host_busy_seconds

RUN_SECONDS = 1.5   # that a run shall take at the pace of the first one
START_RUNS = 3      # to learn what it costs to start and end a program
BUSY = 0.25         # processors used by others from which on the row says so


@dataclass
class Side:
    """One of the two that are compared.

    command: what runs on node 1, with {n} for the number of operations
    figure: from its output to the figure
    batch: n is a multiple of this
    before: run before each run and not measured, or None
    tries: how often a run may fail, as programs that meet over a network do
    text: the literal commands, for the row
    """
    name: str
    command: str
    figure: Callable[[str], float]
    batch: int = 1
    before: Callable[[int], None] = None
    tries: int = 1
    text: str = ""


@dataclass
class Sample:
    """One run. cpu: host processor seconds of all machines, idle subtracted."""
    figure: float
    cpu: float
    seconds: float
    others: float   # processors that the rest of the host used meanwhile


@dataclass
class Result:
    """All runs of one comparison."""
    n: int
    ours: list
    peer: list
    step: int           # the operations of:
    ours_start: float   # processor seconds of a run that does next to nothing
    peer_start: float

    def cpu_us(self):
        """Processor time of an operation in microseconds: ours and the peer's, for each run."""
        def each(samples, start):
            return [max(sample.cpu - start, 0) / (self.n - self.step) * 1e6 for sample in samples]
        return each(self.ours, self.ours_start), each(self.peer, self.peer_start)

    @property
    def others(self):
        return statistics.mean(sample.others for sample in self.ours + self.peer)


class Pairs:
    """Compares on some machines. idle: host processors that they use when they do nothing."""

    def __init__(self, nodes, repeats):
        self.nodes = nodes
        self.repeats = repeats
        self.idle = 0.0

    def measure_idle(self, seconds=3):
        """To be called when all is set up and nothing runs."""
        before, _ = self.nodes.cpu_seconds()
        start = time.monotonic()
        time.sleep(seconds)
        after, _ = self.nodes.cpu_seconds()
        self.idle = (after - before) / (time.monotonic() - start)

    def sample(self, side, n):
        """One run of n operations."""
        for _ in range(side.tries - 1):
            try:
                return self.one_try(side, n)
            except BenchError as error:
                print(f"  again: {error}", file=sys.stderr)
        return self.one_try(side, n)

    def one_try(self, side, n):
        if side.before:
            side.before(n)
        busy = host_busy_seconds()
        cpu, ours = self.nodes.cpu_seconds()
        start = time.monotonic()
        output = self.nodes.run(side.command.format(n=n))
        seconds = time.monotonic() - start
        cpu_after, ours_after = self.nodes.cpu_seconds()
        others = (host_busy_seconds() - busy - (ours_after - ours)) / seconds
        return Sample(side.figure(output), cpu_after - cpu - self.idle * seconds, seconds, max(others, 0))

    def start_cost(self, side, n):
        """Processor seconds of a run of a few operations: for start and end of the program, mostly."""
        return statistics.median(self.sample(side, n).cpu for _ in range(START_RUNS))

    def pair(self, ours, peer, n, turn):
        """A run of each. They begin in turns, as the machine may get slower or faster all the time."""
        sides = (ours, peer) if turn % 2 == 0 else (peer, ours)
        samples = [self.sample(side, n) for side in sides]
        return samples if turn % 2 == 0 else samples[::-1]

    def compare(self, ours, peer, least):
        """Runs the pairs. least: the smallest number of operations that makes sense."""
        step = max(ours.batch, peer.batch)
        warm = self.sample(ours, least)     # also what is slow once
        self.sample(peer, least)
        ours_start, peer_start = self.start_cost(ours, step), self.start_cost(peer, step)
        pace = least / warm.seconds
        n = max(least, round(pace * RUN_SECONDS / step) * step)
        runs = [self.pair(ours, peer, n, turn) for turn in range(self.repeats)]
        return Result(n, [run[0] for run in runs], [run[1] for run in runs], step, ours_start, peer_start)

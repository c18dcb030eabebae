# SPDX-License-Identifier: Apache-2.0
"""Rows of the benchmark rdm: translation of addresses, in the kernel and natively."""
import os
import platform
import re
import shutil
import subprocess
import time
from types import SimpleNamespace

import modules
from nodes import ROOT, BenchError, Nodes, host_busy_seconds
from report import Report

MODULE = "ds_bench_translation"
ROUNDS = 6  # for each pair of runs that is asked for: they are short, and the host is never quiet
LOOKUPS = 250000
NATIVE = os.path.join(ROOT, "build", "bench", "translation")
PAGES = 1000000

HASHED = "look-up of a random page, 1,000,000 mapped"
SEARCHED = "look-up of a random address in 64 allocations"
# (metric, ours, peer, what the peer is, goal)
KERNEL_ROWS = (
    (HASHED, "pagemap", "rhashtable", "rhashtable_lookup_fast()", "<= 0.6"),
    (HASHED, "pagemap", "xarray", "xa_load()", "<= 0.6"),
    (SEARCHED, "segtable", "scan", "a scan of the same table", "<= 0.5"),
)
NATIVE_ROWS = (
    (HASHED + ", in user space", "pagemap", "unordered", "std::unordered_map", None),
    (SEARCHED + ", in user space", "segtable", "scan", "a scan of the same table", None),
)


def figures(line):
    """The numbers of a line, by the word before each."""
    return {name: int(number) for name, number in re.findall(r"([a-z]+) (\d+)", line)}


def others_during(run, ours_so_far):
    """Processors that the rest of the host used while run() ran; ours_so_far(): processor seconds of ours."""
    busy, ours, start = host_busy_seconds(), ours_so_far(), time.monotonic()
    run()
    return max(host_busy_seconds() - busy - (ours_so_far() - ours), 0.0) / (time.monotonic() - start)


def add_rows(report, rows, rounds, command, others):
    """A row for each pair of tables, nanoseconds of a look-up without the call of a function that looks nothing up."""
    if not rounds:
        raise BenchError(f"no figures from: {command}")
    for metric, mine, peer, name, goal in rows:
        both = ([(figure[table] - figure.get("nothing", 0)) / figure["lookups"] for figure in rounds] for table in (mine, peer))
        report.rounds(metric, "ns", both, others, command, name, goal)


def in_kernel(options):
    """Rows of one insmod."""
    folder = modules.build(options.kernel)
    with Nodes(1, options.kernel) as nodes:
        shutil.copy(os.path.join(folder, MODULE + ".ko"), nodes.share)
        command = f"insmod {MODULE}.ko lookups={LOOKUPS} rounds={ROUNDS * options.pairs}"
        others = others_during(lambda: nodes.run(f"cd /share && {command} && rmmod {MODULE}", seconds=600),
                               lambda: nodes.cpu_seconds()[1])
        said = [figures(line) for line in nodes.run(f"dmesg | grep {MODULE}:").splitlines()]
        report = Report("rdm", nodes, None)
        add_rows(report, KERNEL_ROWS, [figure for figure in said if "lookups" in figure], command, others)
        taken = next(figure["bytes"] for figure in said if "bytes" in figure)
        report.count("memory of a page, 1,000,000 mapped", "B", [taken / PAGES], command,
                     ("what it may take", 14.0), "<= 1.0")
    return report.rows


def natively(options):
    """Rows of a program on this host."""
    if not os.path.exists(NATIVE):
        raise BenchError(f"there is no {NATIVE}: call me by make bench")
    said = []
    others = others_during(lambda: said.append(subprocess.run([NATIVE, str(ROUNDS * options.pairs)], check=True, text=True,
                                                              stdout=subprocess.PIPE).stdout),
                           lambda: sum(os.times()[:4]))
    report = Report("rdm", SimpleNamespace(release=platform.release()), None)
    add_rows(report, NATIVE_ROWS, [figures(line) for line in said[0].splitlines()],
             f"build/bench/translation {ROUNDS * options.pairs}", others)
    return report.rows


def run(options):
    """All of it."""
    return in_kernel(options) + natively(options)

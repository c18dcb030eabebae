# SPDX-License-Identifier: Apache-2.0
"""Rows of the benchmark rdm: translation of addresses, in the kernel and natively."""
import os
import subprocess

import modules
from nodes import ROOT, BenchError, Nodes
from report import Report
from turns import add_rows, figures, with_others

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


def in_kernel(options):
    """Rows of one insmod."""
    with Nodes(1, options.kernel) as nodes:
        said, command, others = modules.measure(nodes, options.kernel, MODULE, LOOKUPS, ROUNDS * options.pairs)
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
    said, others = with_others(lambda: subprocess.run([NATIVE, str(ROUNDS * options.pairs)], check=True, text=True,
                                                      stdout=subprocess.PIPE).stdout)
    report = Report("rdm")
    add_rows(report, NATIVE_ROWS, [figures(line) for line in said.splitlines()],
             f"build/bench/translation {ROUNDS * options.pairs}", others)
    return report.rows


def run(options):
    """All of it."""
    return in_kernel(options) + natively(options)

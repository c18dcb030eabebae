# SPDX-License-Identifier: Apache-2.0
"""Rows of the benchmark tokencache: look-ups and memory, in the kernel and natively."""
import os
import subprocess

import modules
from nodes import ROOT, BenchError, Nodes
from report import Report
from turns import add_rows, figures, with_others

MODULE = "ds_bench_tokencache"
ROUNDS = 6  # for each pair of runs that is asked for: they are short, and the host is never quiet
LOOKUPS = 250000
NATIVE = os.path.join("build", "bench", "tokencache")

KERNEL_ROWS = (("look-up of a random token of 1,000,000", "directory", "xarray", "xa_load()", "<= 0.8"),)
# (metric, ours, peer, what the peer is, goal)
NATIVE_ROWS = (
    ("look-up of a random token", "directory", "xarray", "xa_load()", "<= 0.5"),
    ("look-up, each waiting for the one before", "directorychain", "xarraychain", "xa_load()", None),
    ("look-up with reference, and its end", "held", "referenced", "xa_load(), kref: as rxe", "<= 0.25"),
    ("look-up with reference and copy, and its end", "copied", "referenced", "xa_load(), kref: as rxe", None),
)
HOT_ROWS = (("hit in L1 with its count, 4,096 tokens", "inlone", "hotinxarray", "xa_load() of the same", "<= 0.35"),)
POLICIES = ("default", "literal-001", "adaptive-001")  # by their numbers
# (metric, one thread, two, goal). The last tells what the host gives to two threads that share nothing but what they read.
THREAD_ROWS = (
    ("look-up of a random token, two threads", "found", "foundbytwo", ">= 1.6"),
    ("look-up with reference, and its end, two threads", "held", "heldbytwo", ">= 1.6"),
    ("xa_load() of a random index, two threads", "xarray", "xarraybytwo", None),
)


def in_kernel(options):
    """The row of one insmod."""
    with Nodes(1, options.kernel) as nodes:
        said, command, others = modules.measure(nodes, options.kernel, MODULE, LOOKUPS, ROUNDS * options.pairs)
        report = Report("tokencache", nodes, None)
        add_rows(report, KERNEL_ROWS, [figure for figure in said if "lookups" in figure], command, others)
    return report.rows


def build():
    """Build the program. Returns why that is not possible, or None."""
    made = subprocess.run(["make", "-s", "-C", ROOT, NATIVE], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return made.stdout if made.returncode else None


def add_threads(report, objects, trials, command, others):
    """Million look-ups a second by two threads and by one: the trial in which two did best."""
    for metric, one, two, goal in THREAD_ROWS:
        best = max(trials, key=lambda trial: trial[one] / trial[two])
        lookups = best["burst"] * 1000
        report.rounds(f"{metric}, {objects:,} on this host", "M/s", ([2 * lookups / best[two]], [lookups / best[one]]), others,
                      command, "one thread", goal)


def add_memory(report, objects, filled, command):
    """Bytes that the allocator was asked for, beside what they may be and what the objects themselves take."""
    metric = f"memory of an object, directory included, {objects:,}"
    mine, kernels = (filled[name] / objects for name in ("bytes", "kernelbytes"))
    report.count(metric, "B", [mine], command, ("what it may take", 24.0), "<= 1.0")
    report.count(metric, "B", [mine], command, ("rxe's objects themselves", kernels), None)
    report.count(f"the policy's memory for a slot of L1, beside {objects:,}", "B", [filled["policybytes"] / filled["slots"]], command,
                 ("what it may take", 14.0), "<= 1.0")


def add_policies(report, counted, command):
    """Bytes for a slot of L1, of each policy. The trials of adaptive-001 take as much whatever the size."""
    for line in counted:
        policy, slots = POLICIES[line["policy"]], line["slots"]
        report.count(f"the policy's memory for a slot of L1, {policy}, {slots} slots", "B", [line["policybytes"] / slots], command,
                     ("what it may take", 14.0), None if policy == "adaptive-001" and slots == 512 else "<= 1.0")


def add_objects(report, objects, rounds):
    """Rows of a number of objects. Returns what the program said of policies, which is the same for any number, and the command."""
    command = f"{NATIVE} {objects} {rounds}"

    def measure():
        done = subprocess.run(command.split(), cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode:
            raise BenchError(f"{command}: status {done.returncode}: {done.stderr.strip()}")
        return [figures(line) for line in done.stdout.splitlines()]

    said, others = with_others(measure)
    for table, column in ((NATIVE_ROWS, "directory"), (HOT_ROWS, "inlone")):
        rows = [(f"{metric}, {objects:,} on this host", *rest) for metric, *rest in table]
        add_rows(report, rows, [line for line in said if column in line], command, others)
    add_threads(report, objects, [line for line in said if "burst" in line], command, others)
    add_memory(report, objects, next(line for line in said if "bytes" in line), command)
    return [line for line in said if "policy" in line], command


def natively(options):
    """Rows of a program on this host."""
    why = build()
    if why is not None:
        print(f"  skipped: {NATIVE} needs Debian's linux-source-6.1 and cannot be built:\n{why}", flush=True)
        return []
    report = Report("tokencache")
    for objects in (1000000, 4000000):
        counted = add_objects(report, objects, ROUNDS * options.pairs)
    add_policies(report, *counted)
    return report.rows


def run(options):
    """All of it."""
    return in_kernel(options) + natively(options)

# SPDX-License-Identifier: Apache-2.0
"""The object store against perftest and redis, between two machines over one rxe link: the master and the memory on node 2."""
import ours
import peers
from nodes import Nodes
from pairs import Pairs
from report import Report

MIB = 32    # of the store
SIZE = 1 << 20
KEYS = 8    # objects of this size
LEAST = 32  # operations of a run


def objects(nodes, report, depth, beside_redis):
    """Puts and gets, one replica, checksums compared on each get."""
    words = "one at a time" if depth == 1 else f"{depth} at a time"
    for op, tool, goal in ("put", "ib_write_bw", ">= 0.80"), ("get", "ib_read_bw", ">= 0.85"):
        mine = ours.store_side(f"--op {op} --keys {KEYS} --depth {depth}")
        wire = peers.perftest(nodes, tool, f"-q 1 -t 64 -s {SIZE}", peers.bandwidth)
        report.compare(f"{op} 1 MiB, {words}", "MB/s", (mine, wire), LEAST, goal)
        if beside_redis:
            redis = peers.redis("set" if op == "put" else "get", SIZE, depth)
            report.compare(f"{op} 1 MiB, {words}", "MB/s", (mine, redis), LEAST, None)


def run(options):
    """All of it. Returns the rows."""
    with Nodes(2, options.kernel) as nodes:
        ours.connect(nodes, MIB)
        ours.start_store(nodes, MIB)
        peers.redis_start(nodes, SIZE)
        pairs = Pairs(nodes, options.pairs)
        report = Report("store0", nodes, pairs)
        pairs.measure_idle()
        objects(nodes, report, 1, beside_redis=True)
        objects(nodes, report, 4, beside_redis=False)
    return report.rows

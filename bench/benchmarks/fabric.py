# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of remote memory against perftest and NVMe over RDMA, between two machines over one rxe link."""
import ours
import peers
from nodes import Nodes
from pairs import Pairs
from report import Report

MIB = 32    # of remote memory that random reads go over

RANDOM = "4 KiB random READ, 16 at a time"


def bulk(nodes, report):
    """Large transfers, 64 at a time."""
    for text, size, least in (("64 KiB", "64K", 128), ("1 MiB", "1M", 64)):
        for verb in "read", "write":
            mine = ours.side(f"--op {verb} --size {size} --depth 64 --span {size}", ours.bandwidth)
            bytes_ = 65536 if size == "64K" else 1048576
            peer = peers.perftest(nodes, f"ib_{verb}_bw", f"-q 1 -t 64 -s {bytes_}", peers.bandwidth)
            report.compare(f"{text} {verb.upper()}, 64 at a time", "MB/s", (mine, peer), least, ">= 0.90")


def small(nodes, report):
    """64-byte reads."""
    one = ours.side("--size 64 --sync", ours.median_latency)
    event = peers.perftest(nodes, "ib_read_lat", "-e -s 64", peers.median_latency)
    report.compare("64 B READ, one at a time, median", "us", (one, event), 500, "<= 1.25")
    poll = peers.perftest(nodes, "ib_read_lat", "-s 64", peers.median_latency)
    poll.name += " (polling)"
    report.compare("64 B READ, one at a time, median", "us", (one, poll), 500, None)
    batch = ours.side("--size 64 --depth 64 --span 4K --sync", ours.rate, batch=64)
    list_ = peers.perftest(nodes, "ib_read_bw", "-q 1 -t 64 -l 64 -s 64", peers.message_rate, batch=64)
    report.compare("64 B READ, 64 in one submit", "op/s", (batch, list_), 1024, ">= 1.0")


def random(report):
    """Random reads against a block device in remote memory."""
    sides = (ours.side(f"--size 4K --depth 16 --span {MIB}M --random", ours.rate), peers.fio(MIB))
    result = report.compare(RANDOM, "op/s", sides, 512, ">= 2.0")
    report.add(RANDOM + ": CPU", "us/op", sides, *result.cpu_us(), result, "<= 1.0")


def run(options):
    """All of it. Returns the rows."""
    with Nodes(2, options.kernel) as nodes:
        ours.connect(nodes, 2 * MIB)
        pairs = Pairs(nodes, options.pairs)
        report = Report("fabric", nodes, pairs)
        pairs.measure_idle()
        bulk(nodes, report)
        small(nodes, report)
        peers.nvme_connect(nodes, MIB)
        pairs.measure_idle()
        random(report)
        peers.nvme_disconnect(nodes)
    return report.rows

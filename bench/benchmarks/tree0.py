# SPDX-License-Identifier: Apache-2.0
"""The B+tree between two machines over one rxe link: what an operation costs, beside figures that peers have published."""
import json

import ours
from nodes import Nodes
from pairs import Pairs, Side
from report import Report

MIB = 32
KEYS = 4000
COUNT = 1000
READ = "1 KiB READ, 16 at a time"

# Of each kind of operation: --op, other options, and what is counted of it:
# (metric, counter, unit, (the best peer, its figure), goal). sent_pkts and rcvd_pkts are those of
# rxe on node 1. What else is on the wire, such as heartbeats, is in them: some hundredths.
OPERATIONS = (
    ("get", "", (
        ("get, round trips", "round_trips", "RT", ("Sherman, CHIME, Deft (published)", 1.0), "<= 1.0"),
        ("get, bytes read", "bytes_in", "B", ("Sherman (published)", 1024.0), "<= 1.0"),
        ("get, packets sent", "sent_pkts", "packets", ("the request of one READ", 1.0), "<= 1.05"),
        ("get, packets received", "rcvd_pkts", "packets", ("the response of one READ", 1.0), "<= 1.05"))),
    ("missing", "", (
        ("get of a missing key, round trips", "round_trips", "RT", ("CHIME (published)", 1.0), "<= 1.0"),)),
    ("get", "--depth 16", (
        ("get, 16 at a time, round trips", "round_trips", "RT", ("one for each get", 1.0), "<= 0.0625"),)),
    ("update", "", (
        ("update, round trips", "round_trips", "RT", ("Deft (published)", 2.0), "<= 1.0"),
        ("update, bytes written", "bytes_out", "B", ("Sherman (published)", 26.0), None),
        ("update, packets sent", "sent_pkts", "packets", ("CAS, READ; WRITE, WRITE, CAS", 5.0), "<= 1.05"),
        ("update, packets received", "rcvd_pkts", "packets", ("an answer to each of the five", 5.0), "<= 1.05"))),
)
PACKETS = ("sent_pkts", "rcvd_pkts")


def command(op, options, count):
    """dsctl tree bench over the keys that are there."""
    return f"dsctl -j tree bench --op {op} --keys {KEYS} {options} --count {count}"


def answer(output):
    """The row of an answer of dsctl -j."""
    return json.loads(output)["response"][0]


def run_once(nodes, op, words, count):
    """What dsctl has counted of each operation, and the packets of the whole run."""
    paths = " ".join(f"/sys/class/infiniband/rxe0/ports/1/hw_counters/{name}" for name in PACKETS)
    output = nodes.run(f"cat {paths} | xargs; {command(op, words, count)}; echo; cat {paths} | xargs")
    lines = output.strip().splitlines()
    before, after = (map(int, line.split()) for line in (lines[0], lines[-1]))
    return answer("\n".join(lines[1:-1])), [b - a for a, b in zip(before, after)]


def count(nodes, report, repeats):
    """Rows of what is counted. Each is counted as often as a pair would be run."""
    for op, words, counted in OPERATIONS:
        found = []
        for _ in range(repeats):
            _, few = run_once(nodes, op, words, COUNT)
            costs, many = run_once(nodes, op, words, 2 * COUNT)
            # What both do once, such as reading the nodes above the leaves, does not count.
            costs.update({name: (b - a) / COUNT for name, a, b in zip(PACKETS, few, many)})
            found.append(costs)
        for metric, counter, unit, peer, goal in counted:
            text = command(op, words, 2 * COUNT)
            if counter in PACKETS:
                text = f"{counter} of rxe0 over {text}, less that of --count {COUNT}"
            report.count(metric, unit, [costs[counter] for costs in found], text, peer, goal)


def rate(report):
    """A row: gets against READs of the same size without a tree around them."""
    get = command("get", "--depth 16", "{n}")
    mine = Side(name="ds", command=get, figure=lambda output: answer(output)["ops_per_second"], batch=16, text=get)
    peer = ours.side(f"--size 1K --depth 16 --span {MIB // 4}M --random", ours.rate, batch=16)
    peer.name = READ + ", no tree"
    report.compare("get, 16 at a time", "op/s", (mine, peer), 1024, None)


def run(options):
    """All of it. Returns the rows."""
    with Nodes(2, options.kernel) as nodes:
        ours.connect(nodes, MIB)
        nodes.run("dsctl -q tree create 1")
        nodes.run(f"dsctl -q tree bench --op put --keys {KEYS} --depth 64")
        pairs = Pairs(nodes, options.pairs)
        report = Report("tree0", nodes, pairs)
        count(nodes, report, options.pairs)
        pairs.measure_idle()
        rate(report)
    return report.rows

# SPDX-License-Identifier: Apache-2.0
"""The B+tree between two machines over one rxe link: what an operation costs, beside figures that peers have published."""
import json
import os

import ours
from nodes import Nodes
from pairs import Pairs, Side
from rows import current_commit, make_row

MIB = 32
KEYS = 20000
COUNT = 2000
READ = "1 KiB READ, 16 at a time"

# (metric, --op, other options, counter, unit, the best peer, its figure, goal)
COUNTS = (
    ("get, round trips", "get", "", "round_trips", "RT", "Sherman, CHIME, Deft (published)", 1.0, "<= 1.0"),
    ("get of a missing key, round trips", "missing", "", "round_trips", "RT", "CHIME (published)", 1.0, "<= 1.0"),
    ("update, round trips", "update", "", "round_trips", "RT", "Deft (published)", 2.0, "<= 1.0"),
    ("get, 16 at a time, round trips", "get", "--depth 16", "round_trips", "RT", "one for each get", 1.0, "<= 0.0625"),
    ("get, bytes read", "get", "", "bytes_in", "B", "Sherman (published)", 1024.0, "<= 1.0"),
    ("update, bytes written", "update", "", "bytes_out", "B", "Sherman (published)", 26.0, None),
)


def command(op, options, count):
    """dsctl tree bench over the keys that are there."""
    return f"dsctl -j tree bench --op {op} --keys {KEYS} {options} --count {count}"


def answer(output):
    """The row of an answer of dsctl -j."""
    return json.loads(output)["response"][0]


def counts(nodes, options):
    """Rows of what is counted, not timed. Each is counted as often as a pair would be run."""
    for metric, op, words, counter, unit, peer, figure, goal in COUNTS:
        text = command(op, words, COUNT)
        found = [answer(nodes.run(text))[counter] for _ in range(options.pairs)]
        yield make_row("tree0", metric, unit, found, [figure] * len(found), peer=peer, goal=goal,
                       command={"ours": text, "peer": peer}, kernel=nodes.release,
                       host={"cpus": os.cpu_count(), "others": 0.0}, commit=current_commit())


def rate(nodes, options):
    """A row: gets against READs of the same size without a tree around them."""
    pairs = Pairs(nodes, options.pairs)
    pairs.measure_idle()
    get = command("get", "--depth 16", "{n}")
    mine = Side(name="ds", command=get, figure=lambda output: answer(output)["ops_per_second"], batch=16, text=get)
    peer = ours.side(f"--size 1K --depth 16 --span {MIB // 4}M --random", ours.rate, batch=16)
    result = pairs.compare(mine, peer, 1024)
    return make_row("tree0", "get, 16 at a time", "op/s", [sample.figure for sample in result.ours],
                    [sample.figure for sample in result.peer], peer=READ + ", no tree", goal=None,
                    command={"ours": mine.text.format(n=result.n), "peer": peer.text.format(n=result.n)},
                    kernel=nodes.release, host={"cpus": os.cpu_count(), "others": result.others},
                    commit=current_commit())


def run(options):
    """All of it. Returns the rows."""
    with Nodes(2, options.kernel) as nodes:
        ours.connect(nodes, MIB)
        nodes.run("dsctl -q tree create 1")
        nodes.run(f"dsctl -q tree bench --op put --keys {KEYS} --depth 64")
        rows = list(counts(nodes, options)) + [rate(nodes, options)]
    for row in rows:
        goal = f"{'met' if row['ok'] else 'NOT MET'}: {row['goal']}" if row["goal"] else "no goal"
        print(f"  {row['metric']}: ratio {row['ratio']:.3g}, {goal}", flush=True)
    return rows

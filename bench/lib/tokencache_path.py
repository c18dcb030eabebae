# SPDX-License-Identifier: Apache-2.0
"""Rows of the benchmark tokencache: a tree and a store whose operations look up tokens, and the same without the cache.

What the cache costs is less than what a machine's load does to two runs of a
second. So one load runs on, the parameter goes back and forth beside it in
windows of a tenth of a second, and each two with and two without are a round:
a median of many short rounds differs less by what else the host does than one
of a few long ones.
"""
import json
import shlex

import ours
from nodes import BenchError, Nodes
from report import Report
from turns import figures, with_others

MIB = 64
KEYS = 4000     # of the tree
OBJECTS = 8     # of 64 KiB, in the store
GOAL = ">= 0.97"
PEER = "ds, token_cache=0, still uses MRs' tokens"  # the look-up and write of the queue pair, counting and fetching are left out
SECONDS = 20    # of a load, for each pair that is asked for
ROUND = 2       # pairs of windows: in one of them there are only a few operations
FEWEST = 12     # rounds without which there is no row

TREE = f"dsctl -j tree bench --space 2 --op {{op}} --keys {KEYS} --depth 16 --count {{n}}"
STORE = f"dsctl -j obj bench --op {{op}} --keys {OBJECTS} --size 64K --node 2 --count {{n}}"
# (metric, command, operation, operations that tell how fast it is)
OPERATIONS = (
    ("get of a tree, 16 at a time", TREE, "get", 2048),
    ("update of a tree, 16 at a time", TREE, "update", 2048),
    ("put of 64 KiB into a store", STORE, "put", 64),
    ("get of 64 KiB from a store", STORE, "get", 64),
)

# A line for each window while the load runs, of what the device sent and received in it. The order within a pair alternates.
WINDOWS = r"""
use=/sys/module/ds/parameters/token_cache
counters=$(echo /sys/class/infiniband/*/ports/1/hw_counters)
exec 8<> <(:)
count() { read -r sent < $counters/sent_pkts; read -r received < $counters/rcvd_pkts; packets=$((sent + received)); }
window() {
    echo $1 > $use
    count; before=$packets; start=${EPOCHREALTIME/./}
    read -r -t 0.1 -u 8
    count
    echo "cache $1 packets $((packets - before)) us $((${EPOCHREALTIME/./} - start))"
}
LOAD > /tmp/load.out & load=$!
read -r -t 1 -u 8
while kill -0 $load 2> /tmp/gone; do
    window 1; window 0; window 0; window 1
done
echo 1 > $use
wait $load
"""


def script(command):
    """The windows, of a command."""
    return f"bash -c {shlex.quote(WINDOWS.replace('LOAD', command))}"


def rates(output):
    """Packets a second of each round: (with the cache, without). While the load starts or ends there are none."""
    windows = [figures(line) for line in output.splitlines()]
    pairs = [sorted(pair, key=lambda window: -window["cache"]) for pair in zip(windows[::2], windows[1::2])]
    pairs = [pair for pair in pairs if all(window["packets"] for window in pair)]
    rounds = [list(zip(*pairs[i:i + ROUND])) for i in range(0, len(pairs) - ROUND + 1, ROUND)]
    if len(rounds) < FEWEST:
        raise BenchError(f"a load that ended too soon, or did nothing:\n{output}")
    return tuple([sum(window["packets"] for window in sides[side]) / sum(window["us"] for window in sides[side]) * 1e6
                  for sides in rounds] for side in (0, 1))


def compare(nodes, report, options, operation):
    """The row of an operation."""
    metric, command, op, few = operation
    pace = json.loads(nodes.run(command.format(op=op, n=few)))["response"][0]["ops_per_second"]
    load = command.format(op=op, n=max(few, round(pace * SECONDS * options.pairs / 16) * 16))
    said, others = with_others(lambda: nodes.run(script(load), seconds=60 * SECONDS * options.pairs),
                               lambda: nodes.cpu_seconds()[1])
    report.rounds(f"{metric}, cache on the path", "packets/s", rates(said), others,
                  f"{load}, and token_cache=1 or 0 meanwhile", PEER, GOAL)


def run(options):
    """All operations, on one pair of machines."""
    with Nodes(2, options.kernel) as nodes:
        ours.connect(nodes, MIB)
        ours.start_store(nodes, MIB)
        nodes.run(f"dsctl -q seg add {MIB}M --domain 1", node=2)
        nodes.run(f"dsctl -q seg attach 2:2 --space 2 --servers 1 --size {MIB}M && dsctl -q tree create 1 --space 2 && "
                  f"dsctl -q tree bench --space 2 --op put --keys {KEYS} --depth 64")
        report = Report("tokencache", nodes, None)
        for operation in OPERATIONS:
            compare(nodes, report, options, operation)
    return report.rows

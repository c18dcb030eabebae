# SPDX-License-Identifier: Apache-2.0
"""Rows of the benchmark tokencache: a tree and a store whose operations look up tokens, and the same without the cache."""
import json

import ours
from nodes import Nodes
from pairs import Pairs, Side
from report import Report

MIB = 64
KEYS = 4000     # of the tree
OBJECTS = 8     # of 64 KiB, in the store
GOAL = ">= 0.97"
PAIRS = 3       # for each that is asked for: what the cache costs is less than what a machine's load does

TREE = "dsctl -j tree bench --space 2 --op {op} --keys " + str(KEYS) + " --depth 16 --count {{n}}"
STORE = "dsctl -j obj bench --op {op} --keys " + str(OBJECTS) + " --size 64K --node 2 --count {{n}}"
# (metric, command, operation, fewest operations)
OPERATIONS = (
    ("get of a tree, 16 at a time", TREE, "get", 1024),
    ("update of a tree, 16 at a time", TREE, "update", 1024),
    ("put of 64 KiB into a store", STORE, "put", 64),
    ("get of 64 KiB from a store", STORE, "get", 64),
)


def side(nodes, name, cache, command):
    """Operations a second of node 1 with that value of the parameter."""
    use = f"echo {cache} > /sys/module/ds/parameters/token_cache"
    return Side(name=name, command=command, figure=lambda output: json.loads(output)["response"][0]["ops_per_second"], batch=16,
                before=lambda _: nodes.run(use), text=f"{use}; {command}")


def run(options):
    """Both in turns, on one pair of machines."""
    with Nodes(2, options.kernel) as nodes:
        ours.connect(nodes, MIB)
        ours.start_store(nodes, MIB)
        nodes.run(f"dsctl -q seg add {MIB}M --domain 1", node=2)
        nodes.run(f"dsctl -q seg attach 2:2 --space 2 --servers 1 --size {MIB}M && dsctl -q tree create 1 --space 2 && "
                  f"dsctl -q tree bench --space 2 --op put --keys {KEYS} --depth 64")
        pairs = Pairs(nodes, PAIRS * options.pairs)
        report = Report("tokencache", nodes, pairs)
        pairs.measure_idle()
        for metric, command, op, least in OPERATIONS:
            words = command.format(op=op)
            report.compare(f"{metric}, cache on the path", "op/s",
                           (side(nodes, "ds", 1, words), side(nodes, "ds, token_cache=0", 0, words)), least, GOAL)
    return report.rows

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
ATTACH = f"dsctl -q seg attach 2:{{space}} --space {{space}} --servers 1 --size {MIB}M"
# (metric, command, operation, fewest operations)
OPERATIONS = (
    ("get of a tree, 16 at a time", TREE, "get", 1024),
    ("update of a tree, 16 at a time", TREE, "update", 1024),
    ("put of 64 KiB into a store", STORE, "put", 64),
    ("get of 64 KiB from a store", STORE, "get", 64),
)


class Client:
    """Node 1. The parameter is read when the module is loaded, so each change is a new load, and a new connection."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.cache = 1

    def use(self, cache):
        """Load the module so; the memory of node 2 stays what it is."""
        if cache == self.cache:
            return
        self.nodes.run(f"rmmod ds && insmod /ds/ds.ko token_cache={cache} && "
                       "dsctl -q node set 1 && dsctl -q node domain add 1 --key /share/key && "
                       f"dsctl -q peer add 10.77.0.2 --domain 1 && {ATTACH.format(space=1)} && {ATTACH.format(space=2)}")
        self.cache = cache

    def side(self, name, cache, command):
        """Operations a second with that value."""
        return Side(name=name, command=command, figure=lambda output: json.loads(output)["response"][0]["ops_per_second"],
                    batch=16, before=lambda _: self.use(cache), text=f"{command}, token_cache={cache}")


def run(options):
    """Both in turns, on one pair of machines."""
    with Nodes(2, options.kernel) as nodes:
        ours.connect(nodes, MIB)
        ours.start_store(nodes, MIB)
        nodes.run(f"dsctl -q seg add {MIB}M --domain 1", node=2)
        nodes.run(f"{ATTACH.format(space=2)} && dsctl -q tree create 1 --space 2 && "
                  f"dsctl -q tree bench --space 2 --op put --keys {KEYS} --depth 64")
        client = Client(nodes)
        pairs = Pairs(nodes, PAIRS * options.pairs)
        report = Report("tokencache", nodes, pairs)
        pairs.measure_idle()
        for metric, command, op, least in OPERATIONS:
            words = command.format(op=op)
            report.compare(f"{metric}, cache on the path", "op/s",
                           (client.side("ds", 1, words), client.side("ds, token_cache=0", 0, words)), least, GOAL)
    return report.rows

# SPDX-License-Identifier: Apache-2.0
"""DS itself on two machines: node 2 exports memory, node 1 uses it."""
import json
import os

from nodes import BenchError
from pairs import Side

ADDRESS = "0x10200000"     # first byte of the region for leaves in space 1


def connect(nodes, mib):
    """Node 2 exports mib MiB, which are server 0 of space 1 on node 1."""
    with open(os.path.join(nodes.share, "key"), "wb") as file:
        file.write(os.urandom(32))
    for node in 1, 2:
        nodes.run(f"dsctl -q node set {node} && dsctl -q node domain add 1 --key /share/key", node=node)
    nodes.run(f"dsctl -q seg add {mib}M --domain 1", node=2)
    nodes.run(f"dsctl -q peer add 10.77.0.2 --domain 1 && "
              f"dsctl -q seg attach 2:1 --space 1 --servers 1 --size {mib}M")


def answer(output):
    """The data of an answer of dsctl -j. Each operation must have ended well."""
    data = json.loads(output)["response"][0]
    if data["not_executed"] or data["unknown"]:
        raise BenchError(f"operations failed: {output}")
    return data


def side(options, figure, batch=1):
    """dsctl mem bench with these options."""
    words = f"dsctl -j mem bench {ADDRESS} {options} --count {{n}}"
    return Side(name="ds", command=words, figure=lambda output: figure(answer(output)), batch=batch, text=words)


def bandwidth(data):
    """MB/s (2^20)."""
    return data["bytes_per_second"] / 2**20


def rate(data):
    """Operations a second."""
    return data["ops_per_second"]


def median_latency(data):
    """Microseconds."""
    return data["latency_ns"]["p50"] / 1000


def start_store(nodes, mib):
    """A store of what node 2 exports, with its master there, after connect()."""
    nodes.run(f"dsctl -q peer add 10.77.0.2 --domain 1 && "
              f"dsctl -q seg attach 2:1 --space 1 --servers 1 --size {mib}M", node=2)
    nodes.run("dsmasterd --store /tmp/store --create > /tmp/store.log 2>&1 & "
              "timeout 60 bash -c 'until grep -q serves /tmp/store.log; do sleep 0.1; done' || cat /tmp/store.log", node=2)


def store_side(options):
    """dsctl obj bench with these options: objects of 1 MiB."""
    words = f"dsctl -j obj bench --node 2 --size 1M {options} --count {{n}}"
    return Side(name="ds", command=words, figure=lambda output: bandwidth(json.loads(output)["response"][0]), batch=8,
                text=words)

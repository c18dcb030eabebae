# SPDX-License-Identifier: Apache-2.0
"""The packet service between two machines: 64-byte READs beside bare messages of the same size."""
import json

import ours
import peers
from nodes import BenchError, Nodes
from pairs import Pairs, Side
from report import Report

DEPTH = 16
LOAD = "/ds/tests/rdm/load"
ECHO_PORT = 7007
V1_PORT = 18528
SPACE = 9
# How the echo may be made; the faster one is the opponent.
ECHOES = ("thread", "encap")


def serve(nodes):
    """A space on node 2, reached by both versions by UDP and from node 1's connection."""
    segment = json.loads(nodes.run("dsctl -j seg add 16M --domain 1 --access rw", node=2))["response"][0]["segment"]
    nodes.run(f"dsctl -q rdm space add {SPACE} --segment {segment} && dsctl -q rdm listen add 10.77.0.2 --wire 1 && "
              "dsctl -q rdm listen add 10.77.0.2 --wire 2 && dsctl -q rdm peer add 10.77.0.1", node=2)


def load(name, words):
    """A side that is READs of version 1 and their answers, by UDP."""
    command = f"{LOAD} -s 10.77.0.2 -d {DEPTH} {words} -n {{n}}"

    def rate(output):
        data = json.loads(output.splitlines()[-1])
        if data["lost"] > data["answered"] // 100:
            raise BenchError(f"more than one of a hundred was lost: {output}")
        return data["ops_per_second"]

    return Side(name=name, command=command, figure=rate, batch=DEPTH, text=command)


def echo(nodes, how):
    """The side of an echo in node 2's kernel, which gives answers as long as those of READ."""
    series = ".".join(nodes.release.split(".")[:2])
    nodes.run("rmmod ds_echo 2> /dev/null; "
              f"insmod /ds/tests/rdm/ds_echo-{series}.ko port={ECHO_PORT} reply=150 how={how}", node=2)
    return load(f"UDP echo in the kernel, how={how}", f"-p {ECHO_PORT} -e")


def faster_echo(nodes, pairs):
    """The name of the faster way to make an echo, by three runs each."""
    figures = {}
    for how in ECHOES:
        side = echo(nodes, how)
        figures[how] = sorted(pairs.sample(side, 4000).figure for _ in range(3))[1]
    return max(figures, key=figures.get)


def by_rdma():
    """The side of READs of version 2 on the peer connection."""
    words = (f"dsctl -j rdm bench --node 2 --space {SPACE} --op read --size 64 --depth {DEPTH} --count {{n}}")
    return Side(name="ds", command=words, batch=DEPTH, text=words,
                figure=lambda output: json.loads(output)["response"][0]["ops_per_second"])


def run(options):
    """All comparisons on one pair of machines. Returns the rows."""
    with Nodes(2, options.kernel) as nodes:
        ours.connect(nodes, 32)
        serve(nodes)
        pairs = Pairs(nodes, options.pairs)
        pairs.measure_idle()
        report = Report("rdm", nodes, pairs)
        sends = peers.perftest(nodes, "ib_send_bw", f"-s 64 -t {DEPTH}", peers.message_rate, batch=DEPTH)
        report.compare(f"64 B READ by RDMA, depth {DEPTH}", "op/s", (by_rdma(), sends), 1024, ">= 0.8")
        opponent = echo(nodes, faster_echo(nodes, pairs))
        reads = load("ds", f"-p {V1_PORT} -a {SPACE}")
        report.compare(f"64 B READ by UDP, version 1, depth {DEPTH}", "op/s", (reads, opponent), 1024, ">= 0.8")
        return report.rows

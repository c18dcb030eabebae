# SPDX-License-Identifier: Apache-2.0
"""From results to rows, said as they come."""
import os
from statistics import median

from rows import current_commit, make_row


class Report:
    """The rows of a benchmark on some machines, or on this host."""

    def __init__(self, bench, nodes=None, pairs=None):
        self.bench = bench
        self.nodes = nodes
        self.pairs = pairs
        self.commit = current_commit()
        self.rows = []

    def compare(self, metric, unit, sides, least, goal):
        """Compare (ours, peer) and add the row. Returns the result, for further rows of it."""
        result = self.pairs.compare(*sides, least)
        self.add(metric, unit, sides, [sample.figure for sample in result.ours],
                 [sample.figure for sample in result.peer], result, goal)
        return result

    def add(self, metric, unit, sides, our_figures, peer_figures, result, goal):
        """A row of figures that are known."""
        mine, peer = sides
        our_cpu, peer_cpu = result.cpu_us()
        self._row(metric, unit, our_figures, peer_figures, result.others, peer=peer.name, goal=goal,
                  command={"ours": mine.text.format(n=result.n), "peer": peer.text.format(n=result.n)},
                  cpu={"ours": median(our_cpu), "peer": median(peer_cpu)})

    def count(self, metric, unit, figures, command, peer, goal):
        """A row of what is counted, not timed. peer: (what it is compared with, its figure)."""
        name, figure = peer
        self._row(metric, unit, figures, [figure] * len(figures), 0.0, peer=name, goal=goal,
                  command={"ours": command, "peer": name})

    def rounds(self, metric, unit, figures, others, command, peer, goal):
        """A row of what one command has measured of both, in turns. figures: ours and theirs, of each round."""
        ours, theirs = figures
        self._row(metric, unit, ours, theirs, others, peer=peer, goal=goal, command={"ours": command, "peer": command})

    def _row(self, metric, unit, ours, against, others, **rest):
        row = make_row(self.bench, metric, unit, ours, against, kernel=self.nodes.release if self.nodes else None, commit=self.commit,
                       host={"cpus": os.cpu_count(), "others": others}, **rest)
        self.rows.append(row)
        goal = f"{'met' if row['ok'] else 'NOT MET'}: {row['goal']}" if row["goal"] else "no goal"
        print(f"  {metric}: ratio {row['ratio']:.3g}, {goal}", flush=True)

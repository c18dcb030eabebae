# SPDX-License-Identifier: Apache-2.0
"""Rows of build/bench.jsonl, and the table that is made from them."""
import json
import os
import statistics
import subprocess

from nodes import ROOT

PATH = os.path.join(ROOT, "build", "bench.jsonl")


def current_commit():
    """The commit that was measured; a + says that files differ from it."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "kernel", "user", "include")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def meets(ratio, goal):
    """Whether a ratio meets a goal like '>= 0.90'; None without a goal."""
    if not goal:
        return None
    sign, bound = goal.split()
    return ratio >= float(bound) if sign == ">=" else ratio <= float(bound)


def make_row(bench, metric, unit, ours, against, **rest):
    """A row from the figures of each pair. rest: peer, command, goal, cpu, kernel, host, commit."""
    ratios = [a / b for a, b in zip(ours, against)]
    ratio = statistics.median(ratios)
    row = {"bench": bench, "metric": metric, "unit": unit, "ours": statistics.median(ours),
           "against": statistics.median(against), "ratio": ratio, "ok": meets(ratio, rest.get("goal")),
           "repeats": len(ratios), "spread": [min(ratios), max(ratios)], **rest}
    return {key: shorter(value) for key, value in row.items()}


def shorter(value):
    """Figures with as many digits as they are worth."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, list):
        return [shorter(item) for item in value]
    if isinstance(value, dict):
        return {key: shorter(item) for key, item in value.items()}
    return value


def read():
    """All rows of earlier runs."""
    if not os.path.exists(PATH):
        return []
    with open(PATH, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def replace(bench, rows):
    """Rows of a benchmark take the place of those that it gave before on the same kernels."""
    kernels = {row["kernel"] for row in rows}
    kept = [row for row in read() if row["bench"] != bench or row["kernel"] not in kernels]
    os.makedirs(os.path.dirname(PATH), exist_ok=True)
    with open(PATH + ".new", "w", encoding="utf-8") as file:
        for row in kept + rows:
            file.write(json.dumps(row) + "\n")
    os.rename(PATH + ".new", PATH)


def cells(row):
    """A row of the table, as words."""
    verdict = {True: "yes", False: "**no**", None: ""}[row["ok"]]
    cpu = row.get("cpu")
    return [row["metric"], row["peer"], f"{row['ours']:g} {row['unit']}", f"{row['against']:g} {row['unit']}",
            f"{row['ratio']:.2f}", f"{row['spread'][0]:.2f} to {row['spread'][1]:.2f}",
            f"{cpu['ours']:.0f} / {cpu['peer']:.0f}" if cpu else "", row["goal"] or "", verdict]


HEAD = ["measurement", "peer", "ours", "peer's", "ratio", "spread", "CPU us/op, ours / peer's", "goal", "met"]


def markdown(rows):
    """Tables for people, one for each benchmark and kernel."""
    text = []
    for bench, kernel in dict.fromkeys((row["bench"], row["kernel"]) for row in rows):
        some = [row for row in rows if (row["bench"], row["kernel"]) == (bench, kernel)]
        table = [HEAD] + [cells(row) for row in some]
        widths = [max(len(line[i]) for line in table) for i in range(len(HEAD))]
        busy = max(row["host"]["others"] for row in some)
        text += [f"### {bench}, Linux {kernel}" if kernel else f"### {bench}, on the host", "",
                 f"Commit {some[0]['commit']}; {some[0]['repeats']} pairs a measurement; other programs of the host used "
                 f"up to {busy:.1f} of its {some[0]['host']['cpus']} processors meanwhile.", ""]
        table.insert(1, ["-" * width for width in widths])
        text += ["| " + " | ".join(word.ljust(width) for word, width in zip(line, widths)) + " |" for line in table]
        text.append("")
    return "\n".join(text)

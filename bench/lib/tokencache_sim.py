# SPDX-License-Identifier: Apache-2.0
"""Rows of the benchmark tokencache that dsctl sim counts: hit ratios, miss-ratio curves, a NIC's model, tiers.

They are the same on any machine, but for the time of the simulation itself. The recorded traces are those of the folder DS_TRACES.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import tokencache_made
from nodes import ROOT, BenchError
from report import Report
from turns import with_others

DSCTL = os.path.join("build", "bin", "dsctl")
TRACES = ("OLTP.lis.zst", "orm-busy.trace.xz", "web12.trace.xz", "scarab-recs.trace.xz", "multi3.trace.gz", "2_pools.trace.gz",
          "mcf.trace.gz", "gcc.trace.gz", "cloudPhysicsIO.csv")
CURVE = "nic_qp_cliff.csv"
REFERENCES = ("lru", "fifo", "clock", "sieve", "s3-fifo", "2q", "arc", "lirs", "w-tinylfu")
BESIDE = ("literal-001", "adaptive-001", "opt")  # are shown, and rank nobody
LARGE = ("orm-busy.trace.xz", "OLTP.lis.zst")
THRESHOLDS = (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128)  # PROMOTE_TO_L1_THRESHOLD
POWERS = tuple(1 << i for i in range(8))  # of PROMOTE_TO_L2_THRESHOLD in pairs
BUSY = (("--rate", "100"), ("--outstanding", "64"))  # instead of 10 requests in a microsecond
PAIR_TIERS = ((256, 2), (512, 0), (512, 4), (1024, 4), (2048, 16))  # entries of L1, pages of L2
MADE = (("loop", 560), ("loop", 700), ("loop", 1500), ("loop", 3000), ("zipf", 5000), ("zipf", 8000, "--alpha", "1.2"), ("zipf", 20000),
        ("phases", 2000, "--phases", "4"), ("phases", 3000, "--phases", "3"), ("mixture", 5000), ("mixture", 10000, "--scans", "50"),
        ("fanout", 1000), ("fanout", 4000, "--random"))  # objects
SETTLED = 10  # intervals
SMALLEST = 64  # entries for which a curve matters


def ask(*words):
    """The answer of a command, and the command."""
    done = subprocess.run([DSCTL, "-q", "-j", "sim", *words], cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode:
        raise BenchError(f"dsctl sim {' '.join(words)}: status {done.returncode}: {(done.stderr or done.stdout).strip()}")
    names = [os.path.basename(word) if os.sep in word else word for word in words]
    return json.loads(done.stdout)["response"][0], "dsctl sim " + " ".join(names)


def regret(cell, of):
    """Points that the token cache's hit ratio is below the best of these."""
    ratios = {p["policy"]: 100 * p["hit_ratio"] for p in cell["policies"]}
    return max(ratios[name] for name in of) - ratios["ds"]


def regrets(report, traces, what, *options):
    """Against the best reference of each cell, and over all cells that count."""
    answer, command = ask("compare", *traces, *options, "--policy", ",".join((*REFERENCES, "ds")))
    if what:
        command = f"dsctl sim compare, {len(traces)} {what}loads (bench/lib)"
    cells = [cell for cell in answer["cells"] if cell["ranked"]]
    below = [regret(cell, REFERENCES) for cell in cells]
    rank = next(p["mean_rank"] for p in answer["policies"] if p["policy"] == "ds")
    for metric, unit, figure, bound in (
            ("hit ratio below the best reference's, the most", "points", max(below), 1.5),
            ("hit ratio below the best reference's, mean", "points", sum(below) / len(below), 0.7),
            ("hit ratio below LRU's, the most", "points", max(regret(cell, ("lru",)) for cell in cells), 0.5),
            ("mean rank of ten policies", "", rank, 2.5)):
        report.count(f"{metric}, {len(cells)} {what}cells", unit, [figure], command, ("what it may be", bound), "<= 1.0")


def hit_ratios(report, traces):
    """On real traces, and with the other policies beside it."""
    regrets(report, traces, "")
    beside, command = ask("compare", *traces, "--policy", ",".join((*REFERENCES, "ds", *BESIDE)))
    for cell in beside["cells"]:
        hits = {p["policy"]: 100 * p["hit_ratio"] for p in cell["policies"]}
        best = max(REFERENCES, key=hits.get)
        others = ", ".join(f"{name} {hits[name]:.1f}" for name in BESIDE)
        counts = "" if cell["ranked"] else ", does not count"
        report.count(f"hit ratio, {os.path.basename(cell['file']).split('.')[0]}, {cell['capacity']} entries{counts} ({others})", "%",
                     [hits["ds"]], command, (best, hits[best]), None)


def made_hit_ratios(report, scratch):
    """On loads that were made."""
    regrets(report, tokencache_made.write(pathlib.Path(scratch)), "made ", "--capacity", ",".join(map(str, tokencache_made.CAPACITIES)))


def kinds():
    """Kind, objects, requests and options of the loads for which `dsctl sim trace make` has a name."""
    for objects in (1100, 1500, 2100, 4500, 9000, 20000, 70000):
        yield "loop", objects, 700000
    yield "scan", 700000, 700000
    for objects, requests in ((5000, 300000), (100000, 700000)):
        for alpha in ("0.6", "0.8", "0.99", "1.2"):
            yield "zipf", objects, requests, "--alpha", alpha
    for objects, requests in ((2000, 300000), (20000, 700000)):
        for alpha in ("0.7", "0.99"):
            for number in ("3", "10", "30"):
                yield "phases", objects, requests, "--alpha", alpha, "--phases", number
        for alpha in ("0.8", "0.99"):
            for percent in ("10", "20", "50"):
                yield "mixture", objects, requests, "--alpha", alpha, "--scans", percent
    for objects in (300, 1000, 4096):
        yield "fanout", objects, 300000
        yield "fanout", objects, 300000, "--random"


def hit_ratios_of_kinds(report, scratch):
    """On the loads that the simulator makes."""
    paths = [generated(scratch, *kind) for kind in kinds()]
    regrets(report, paths, "generated ")


def thresholds(report, traces):
    """adaptive-001 against the best fixed threshold of each cell."""
    fixed = [f"literal-001:{uses}" for uses in THRESHOLDS]
    answer, command = ask("compare", *traces, "--policy", ",".join((*fixed, "adaptive-001")))
    for trace in traces:
        of_best = []
        for cell in answer["cells"]:
            if cell["ranked"] and os.path.basename(cell["file"]) == os.path.basename(trace):
                hits = {p["policy"]: p["hit_ratio"] for p in cell["policies"]}
                of_best.append(100 * hits["adaptive-001"] / max(hits[name] for name in fixed))
        if of_best:
            report.count(f"adaptive-001, hits of the best fixed threshold's, the least of {len(of_best)} cells, "
                         f"{os.path.basename(trace).split('.')[0]}", "%", [min(of_best)], command, ("what is to be reached", 95.0), ">= 1.0")


def of_best_pair(trace, l1, l2, *options, grid=(THRESHOLDS, POWERS)):
    """In percent: access time of the best fixed pair of thresholds by adaptive-001's; its hits in L1 or L2 by that pair's, and those in
    L1 alone. And the command."""
    words = ("sweep", trace, "--l1", str(l1), "--l2", str(l2), *options)
    first, second = (":".join(map(str, thresholds)) for thresholds in grid)
    second = f",PROMOTE_TO_L2_THRESHOLD={second}" if l2 else ""
    fixed, command = ask(*words, "--policy", "literal-001", "--set", f"PROMOTE_TO_L1_THRESHOLD={first}{second}")
    adaptive, _ = ask(*words, "--policy", "adaptive-001")
    run, = adaptive["runs"]
    best = min(fixed["runs"], key=lambda cell: cell["mean_ns"])
    shares = [100 * sum(run[tier] for tier in tiers) / max(sum(best[tier] for tier in tiers), 1)
              for tiers in (("l1_hits", "l2_hits"), ("l1_hits",))]
    return 100 * best["mean_ns"] / run["mean_ns"], *shares, command


def pairs(report, traces, what):
    """adaptive-001 in three tiers against the best of all fixed pairs of thresholds."""
    for trace in traces:
        cells = [of_best_pair(trace, l1, l2) for l1, l2 in PAIR_TIERS]
        for at, (name, goal) in enumerate((("mean access time of the best fixed pair, by adaptive-001's", ">= 1.0"),
                                           ("hits in L1 or L2 of adaptive-001, by that pair's", ">= 1.0"),
                                           ("hits in L1 alone, likewise", None))):
            report.count(f"{name}, the least of {len(cells)} cells, {what}{os.path.basename(trace).split('.')[0]}", "%",
                         [min(cell[at] for cell in cells)], cells[-1][3], ("what is to be reached", 95.0), goal)


def busy_pairs(report, traces):
    """Likewise by time, where moves take as long as hundreds of uses."""
    for options in BUSY:
        cells = [of_best_pair(trace, 512, l2, *options, grid=((1, 2, 4, 6, 8, 12, 16, 32), (1, 4, 8)))
                 for trace in traces for l2 in (0, 4)]
        report.count(f"mean access time of the best fixed pair, by adaptive-001's, the least of {len(cells)} cells, {' '.join(options)}", "%",
                     [min(cell[0] for cell in cells)], cells[-1][3], ("what is to be reached", 95.0), ">= 1.0")


def l2_beside_lru(report, folder):
    """What both tiers find, if L1 is as small as can be and moves take no time to speak of."""
    l1, mixed, others = 16, 756, 946  # entries: of L1, of L2's first page, of each other
    for name in LARGE + ("scarab-recs.trace.xz",):
        trace = os.path.join(folder, name)
        for pages in (2, 4, 16):
            of_lru, _ = ask("compare", trace, "--capacity", str(l1 + mixed + (pages - 1) * others), "--policy", "lru")
            answer, command = ask("run", trace, "--l1", str(l1), "--l2", str(pages),
                                  "--latency", "l1=1,l2=1,l3_read=1,l3_write=1,expand=1")
            run = answer["run"]
            report.count(f"hits in L1 and L2, {name.split('.')[0]}, {pages} pages of L2", "%",
                         [100 * (run["l1_hits"] + run["l2_hits"]) / run["accesses"]], command,
                         ("LRU of as many entries", 100 * of_lru["cells"][0]["policies"][0]["hit_ratio"]), ">= 0.98")


def turns():
    """Loads that take turns, by name: of each the key of its nth use."""
    draw = random.Random(1)

    def steep(first):
        return first + int(draw.paretovariate(0.8)) % 5000

    def flat(first, objects):
        return first + int(objects ** draw.random())  # the nth one is used in proportion to 1 / n

    return {
        "a loop, a skew and a longer loop": (lambda n: n % 700, lambda n: steep(1000), lambda n: 10000 + n % 1500),
        "a scan, a skew and a skew of others": (lambda n: 10**6 + n, lambda n: flat(0, 20000), lambda n: flat(50000, 8000)),
    }


def settles(report, folder, name, loads, pages):
    """When adaptive-001 changes thresholds, if loads take turns."""
    l1, phase, phases = 512, 40, 9  # intervals
    interval = 10 * l1
    path = os.path.join(folder, "turns")
    with open(path, "w", encoding="ascii") as file:
        for turn in range(phases):
            file.writelines(f"{loads[turn % len(loads)](n)}\n" for n in range(phase * interval))
    events = os.path.join(folder, "events")
    answer, command = ask("run", path, "--l1", str(l1), "--l2", str(pages), "--policy", "adaptive-001", "--rate", "10", "--events", events)
    with open(events, encoding="ascii") as file:
        at = [json.loads(line)["t_ns"] // 100 // interval for line in file if '"threshold"' in line]
    late = [place for place in at if place % phase > SETTLED]
    assert len(at) == answer["run"]["threshold_changes"] and len(at) > len(late)    # else nothing adapts
    report.count(f"changes of thresholds later than {SETTLED} intervals after a change of phase, of {len(at)}, {phases} phases: {name}; "
                 f"pages of L2: {pages}", "", [float(len(late))], command, ("one", 1.0), "<= 0.0")


def curves(report, traces):
    """What sampling costs in accuracy."""
    for trace in traces:
        exact, _ = ask("mrc", trace)
        sampled, command = ask("mrc", trace, "--sampled")
        worst = max(100 * abs(a["miss_ratio"] - b["miss_ratio"]) for a, b in zip(exact["curve"], sampled["curve"])
                    if a["capacity"] >= SMALLEST)
        report.count(f"error of the sampled miss-ratio curve, {os.path.basename(trace).split('.')[0]}", "points", [worst], command,
                     ("what it may be", 0.5), "<= 1.0")


def nic(report, path):
    """The measured rate of a NIC."""
    answer, command = ask("calibrate", path)
    report.count(f"error of the NIC's model, mean of {len(answer['curve'])} points", "%", [100 * answer["mean_error"]], command,
                 ("what it may be", 5.0), "<= 1.0")
    report.count("QPs at 90 % of the best rate, with tokens in as much SRAM", "QPs", [float(answer["knee"]["tokens"])], command,
                 ("with whole contexts", float(answer["knee"]["model"])), ">= 8.0")


def one_in_a_hundred_moves(draw):
    """A hundredth of the accesses make a token move, which is asked for four times more while it comes."""
    hot = 500
    yield from (n % hot for n in range(5000))
    for n in range(400000):
        yield hot + n // 100 % 4000 if n % 100 < 25 and n % 5 == 0 else draw.randrange(hot)


def clustered(draw):
    """Neighbours are asked for one after the other, in L3."""
    yield from range(100016)    # numbers the objects
    for _ in range(5000):
        first = draw.randrange(100000)
        yield from range(first, first + 16)


def made(folder, objects):
    """A trace of these."""
    path = os.path.join(folder, objects.__name__)
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{number}\n" for number in objects(random.Random(1)))
    return path


def generated(folder, kind, objects, requests, *options):
    """A trace that the simulator makes."""
    path = os.path.join(folder, "-".join((kind, str(objects), *(word.lstrip("-") for word in options))))
    # A scan has as many as requests.
    number = [] if kind == "scan" else ["--objects", str(objects)]
    ask("trace", "make", path, "--kind", kind, *number, "--requests", str(requests), *options)
    return path


def modes(report, trace):
    """Whether readers and writers wait for what moves."""
    answer, command = ask("sweep", trace, "--l1", "4096", "--writes", "50", "--mode", "optimistic,blocking")
    optimistic, blocking = answer["runs"]
    moving = optimistic["moved_to_l1"] / optimistic["accesses"]
    for name, field, goal in (("P99", "p99_ns", "<= 0.5"), ("P99.9", "p999_ns", "<= 0.3")):
        report.count(f"{name} of access times in virtual time, optimistic, {100 * moving:.1f} % of accesses migrating, 50 % writes", "ns",
                     [float(optimistic[field])], command, ("blocking", float(blocking[field])), goal)
    moves = optimistic["moved_to_l1"] + optimistic["moved_to_l2"] + optimistic["moved_to_l3"]
    report.count("migrations aborted because of writes, the same", "%", [100 * optimistic["aborts"] / moves], command,
                 ("what it may be", 5.0), "<= 1.0")


def dma_operations(run):
    """Over both links."""
    return float(run["pcie_operations"] + run["cxl_operations"])


def batches(report, trace):
    """What a batch of 64 saves, which takes longer to fill than it normally waits; and, to compare, what batches are with normal parameters."""
    for pages in ("0", "64", "256"):
        words = ("sweep", trace, "--l1", "512", "--l2", pages, "--batch")
        alone, command = ask(*words, "1,64", "--set", "L2_PAGE_PREFETCH_SIZE=0,PREFETCH_TIMER_NS=100000")
        one, batch = map(dma_operations, alone["runs"])
        metric = f"DMA operations one by one, clustered trace, {pages} pages of L2"
        report.count(metric, "", [one], command, ("in batches of 64", batch), ">= 8.0")
        normal, command = ask(*words, "64")
        report.count(metric + ", normal parameters", "", [one], command, ("in batches", dma_operations(normal["runs"][0])), None)


def natively(path, policy):
    """Seconds that the simulation takes, and an LRU of the standard library's containers; and the command."""
    words = ["build/bench/tiers", path, policy, "5"]
    done = subprocess.run(words, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise BenchError(f"{' '.join(words)}: status {done.returncode}: {done.stderr.strip()}")
    timing = json.loads(done.stdout)
    words[1] = os.path.basename(path)
    return (timing["run_s"], timing["lru_s"]), " ".join(words)


def tiers(report, folder):
    """What the simulation of three tiers takes, and what it says."""
    for name in LARGE:
        trace = name.split(".")[0]
        for policy in ("default", "literal-001"):
            path = os.path.join(folder, name)
            (answer, command), others = with_others(lambda: ask("run", path, "--policy", policy, "--timing"))
            timing, run = answer["timing"], answer["run"]
            report.rounds(f"time of three tiers, {trace}, {policy}", "s", (timing["run_s"], timing["lru_s"]), others, command, "bare LRU",
                          "<= 4.0")
            (figures, native), others = with_others(lambda: natively(path, policy))
            report.rounds(f"time of three tiers, {trace}, {policy}, by another LRU", "s", figures, others, native,
                          "std::list and std::unordered_map", "<= 4.0")
            report.count(f"access time in virtual time, {trace}, {policy} (L1 {100 * run['l1_hit_ratio']:.1f} %, "
                         f"L2 {100 * run['l2_hit_ratio']:.1f} %)", "ns", [run["mean_ns"]], command, ("P99", float(run["p99_ns"])), None)


def recorded(names, what):
    """Paths of files of the folder DS_TRACES, or none: then it is said what is left out, and why."""
    folder = os.environ.get("DS_TRACES", "")
    missing = [name for name in names if not os.path.exists(os.path.join(folder, name))]
    if folder and not missing:
        return [os.path.join(folder, name) for name in names]
    why = f"in DS_TRACES={folder} there is no {', '.join(missing)}" if folder else "DS_TRACES names no folder of recorded traces"
    print(f"bench: tokencache: left out: {what}: {why}", file=sys.stderr, flush=True)
    return []


def run(options):
    """All of it; without the recorded traces, what needs none."""
    del options
    report = Report("tokencache")
    traces = recorded(TRACES, "on recorded traces: hit ratios, thresholds and pairs of them, both tiers beside LRU, "
                              "sampled miss-ratio curves, time of three tiers")
    if traces:
        hit_ratios(report, traces)
        thresholds(report, traces)
        pairs(report, traces, "")
        busy_pairs(report, traces)
        l2_beside_lru(report, os.path.dirname(traces[0]))
        curves(report, traces)
    for curve in recorded((CURVE,), "a NIC's model"):
        nic(report, curve)
    with tempfile.TemporaryDirectory() as scratch:
        modes(report, made(scratch, one_in_a_hundred_moves))
        batches(report, made(scratch, clustered))
        pairs(report, [generated(scratch, kind, objects, 600000, *options) for kind, objects, *options in MADE], "made ")
        for name, loads in turns().items():
            for pages in (1, 4):
                settles(report, scratch, name, loads, pages)
    with tempfile.TemporaryDirectory() as scratch:
        made_hit_ratios(report, scratch)
    with tempfile.TemporaryDirectory() as scratch:
        hit_ratios_of_kinds(report, scratch)
    if traces:
        tiers(report, os.path.dirname(traces[0]))
    return report.rows

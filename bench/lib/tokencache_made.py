# SPDX-License-Identifier: Apache-2.0
"""Loads on which rules of replacement differ, for the hit ratio of L1's policy beside those of others.

Each load is endless, and the same for the same seed.
"""
import heapq
from bisect import bisect
from itertools import accumulate, count, cycle, islice
from random import Random

REQUESTS = 150000
CAPACITIES = (512, 1024, 2048)
ELSEWHERE = 10**8  # numbers of objects that no other load has


def zipf(seed, objects, alpha):
    """The n-th is asked for n ** -alpha as often as the first."""
    draw = Random(seed)
    sums = list(accumulate((n + 1)**-alpha for n in range(objects)))
    while True:
        yield bisect(sums, draw.random() * sums[-1])


def loop(objects):
    """All in turn."""
    return (ELSEWHERE + n % objects for n in count())


def scan():
    """No object twice."""
    return count(2 * ELSEWHERE)


def there_and_back(objects):
    """All in turn, and back."""
    return cycle((*range(objects), *reversed(range(objects))))


def runs(seed, number, length):
    """One of so many runs after the other, each twice."""
    draw = Random(seed)
    while True:
        first = draw.randrange(number) * length
        for _ in range(2):
            yield from range(first, first + length)


def drift(objects, uses):
    """Of those that a load asks for one goes, and another one comes, after so many uses."""
    return (n // uses + key for n, key in enumerate(objects))


def recency(seed, depth):
    """Three of four are such as came lately, the later the more often; the others are new."""
    draw = Random(seed)
    newest = 0
    while True:
        if draw.random() < 0.25:
            newest += 1
            yield newest
        else:
            yield max(0, newest - int(draw.random() * draw.random() * 2 * depth))


def bursts(seed, uses, within):
    """Each is asked for so often, within so many requests, and never again."""
    draw = Random(seed)
    due, fresh = [], count()
    for now in count():
        if due and due[0][0] <= now:
            yield heapq.heappop(due)[1]
            continue
        key = next(fresh)
        for _ in range(uses - 1):
            heapq.heappush(due, (now + draw.randrange(1, within), key))
        yield key


def late(after, part):
    """Each comes once more when so many new ones have come, and one of so many also half as late."""
    for now in count():
        yield now
        if now >= after:
            yield now - after
        if part and now >= after // 2 and now % part == 0:
            yield now - after // 2


def mixture(seed, loads, weights):
    """At each request one of them."""
    draw = Random(seed)
    while True:
        yield next(draw.choices(loads, weights)[0])


def turns(loads, length):
    """One after the other goes on for so many requests."""
    for load in cycle(loads):
        yield from islice(load, length)


def of_one_kind():
    """(name, load) of what stays as it is."""
    for objects in (600, 1100, 1500, 2500, 5000):
        yield f"loop-{objects}", loop(objects)
        yield f"there-and-back-{objects}", there_and_back(objects)
    for number, length in ((20, 200), (20, 600), (50, 1200), (200, 900)):
        yield f"runs-{number}-{length}", runs(1, number, length)
    for objects, alpha in ((3000, 0.7), (3000, 1), (20000, 0.6), (20000, 0.9), (20000, 1.2)):
        yield f"zipf-{objects}-{alpha}", zipf(2, objects, alpha)
    for objects, alpha, uses in ((2000, 0.6, 1), (2000, 0.9, 10), (5000, 0.8, 5), (1000, 0, 1), (1000, 0, 4), (3000, 0, 2), (3000, 0, 10)):
        yield f"drift-{objects}-{alpha}-{uses}", drift(zipf(3, objects, alpha), uses)
    for depth in (500, 2000, 5000):
        yield f"recency-{depth}", recency(4, depth)
    for uses, within in ((2, 300), (2, 700), (2, 1500), (3, 800), (4, 2000), (8, 3000)):
        yield f"bursts-{uses}-{within}", bursts(5, uses, within)
    for after, part in ((400, 0), (400, 3), (900, 0), (900, 3), (1500, 0), (1500, 3)):
        yield f"late-{after}-{part}", late(after, part)


def of_several():
    """(name, load) of those that take turns, and of those that are mixed."""
    for length in (5000, 20000):
        yield f"turns-{length}-loop-recency", turns((loop(1500), recency(6, 1000)), length)
        yield f"turns-{length}-zipf-loop", turns((zipf(7, 5000, 0.9), loop(2000)), length)
        yield f"turns-{length}-zipf-scan", turns((zipf(7, 5000, 0.9), scan()), length)
        yield f"turns-{length}-zipf-there-and-back", turns((zipf(7, 5000, 0.9), (ELSEWHERE + n for n in there_and_back(1500))), length)
    for tenths in (1, 3, 6):
        weights = (10 - tenths, tenths)
        yield f"mixture-{tenths}-zipf-scan", mixture(8, (zipf(9, 8000, 0.9), scan()), weights)
        yield f"mixture-{tenths}-zipf-loop", mixture(8, (zipf(9, 8000, 0.9), loop(1500)), weights)
        yield f"mixture-{tenths}-recency-loop", mixture(8, (recency(9, 800), loop(1500)), weights)
        yield f"mixture-{tenths}-drift-scan", mixture(8, (drift(zipf(9, 1500, 0.6), 4), scan()), weights)


def write(folder):
    """A trace of each. Returns their paths."""
    paths = []
    for name, load in (*of_one_kind(), *of_several()):
        path = folder / name
        path.write_text("".join(f"{key}\n" for key in islice(load, REQUESTS)), encoding="ascii")
        paths.append(str(path))
    return paths

# SPDX-License-Identifier: Apache-2.0
"""dsctl sim, for the test programs of it."""
import json

from schemas import Checker

CHECKER = Checker()


def run(pool, *words, status=0):
    done = pool.run(["sim", *words], fabric="")
    assert done.returncode == status and done.stderr == "", f"{words}: {done}"
    return done.stdout


def row(pool, *words):
    rows = rows_of(pool, *words)
    assert len(rows) == 1, rows
    return rows[0]


def rows_of(pool, *words):
    document = json.loads(run(pool, "-j", *words))
    CHECKER.check(document)
    return document["response"]


def fails(pool, status, words, *said):
    pool.fails(status, ["sim", *words], *said, fabric="")
    done = pool.run(["-j", "sim", *words], fabric="")
    document = json.loads(done.stdout)
    CHECKER.check(document)
    assert done.returncode == status and document["error"] and document["schema"].startswith("dsctl/sim-"), done


def made(pool, name, *words):
    run(pool, "trace", "make", pool.path(name), *words)
    return pool.path(name)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def written(pool, name, data):
    with open(pool.path(name), "wb") as file:
        file.write(data)
    return pool.path(name)


def tiers(pool):
    return made(pool, "zi,pf", "--objects", "3000", "--requests", "40000", "--writes", "20")

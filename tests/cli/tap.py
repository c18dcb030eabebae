# SPDX-License-Identifier: Apache-2.0
"""What the test programs of dsctl have in common: where it is, and TAP.

DSCTL names the program (default build/bin/dsctl).
"""
import os
import re
import signal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
DSCTL = os.path.abspath(os.environ.get("DSCTL", os.path.join(ROOT, "build/bin/dsctl")))
ERROR = re.compile(r"dsctl: [^\n]*[^.\n] \(DS-[A-Z]{3}-\d{3}\)\n  fix: \S[^\n]*\n\Z")
TESTS = []


class Skip(Exception):
    """A test that cannot run here, with the reason."""


def hear_all():
    """For a child before it runs a program (preexec_fn): what this one was told to ignore, by nohup or in the background, it would ignore as well."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def test(function):
    TESTS.append(function)
    return function


def main(call=lambda function: function()):
    """Runs the tests, each by call(function), and prints TAP. Returns the exit status."""
    if not os.access(DSCTL, os.X_OK):
        print(f"1..0 # SKIP {DSCTL} is not built")
        return 1
    print(f"1..{len(TESTS)}")
    failed = 0
    for number, function in enumerate(TESTS, 1):
        name = function.__name__.replace("_", " ")
        try:
            call(function)
            print(f"ok {number} - {name}", flush=True)
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception as error:  # a broken document is a failure like any other
            failed += 1
            for line in f"{type(error).__name__}: {error}".splitlines():
                print("# " + line[:1000])
            print(f"not ok {number} - {name}", flush=True)
    return 1 if failed else 0

# SPDX-License-Identifier: Apache-2.0
"""dsctl on a file, for the test programs that need neither the module nor root.

DSCTL names the program (default build/bin/dsctl).
"""
import json
import os
import re
import shlex
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
DSCTL = os.path.abspath(os.environ.get("DSCTL", os.path.join(ROOT, "build/bin/dsctl")))
ERROR = re.compile(r"dsctl: [^\n]*[^.\n] \(DS-[A-Z]{3}-\d{3}\)\n  fix: \S[^\n]*\n\Z")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Pool:
    """A folder, and dsctl on the file 'pool' in it."""

    def __init__(self, folder):
        self.folder = folder
        self.file = os.path.join(folder, "pool")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, words, fabric=None, env=None, **options):
        command = [DSCTL] + (shlex.split(words) if isinstance(words, str) else [str(w) for w in words])
        if fabric is None:
            command += ["--fabric", "local:" + self.file]
        elif fabric:
            command += ["--fabric", fabric]
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "DS_FABRIC")}
        environment.update(env or {})
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(command, env=environment, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, **options)

    def ok(self, words, *said, **options):
        done = self.run(words, **options)
        assert done.returncode == 0 and done.stderr == "", f"{words}: {done}"
        for text in said:
            assert text in done.stdout, f"{words}: no {text!r} in {done.stdout!r}"
        return done.stdout

    def fails(self, status, words, *said, **options):
        done = self.run(words, **options)
        assert done.returncode == status and done.stdout == "", f"{words}: {done}"
        assert ERROR.match(done.stderr), f"{words}: {done.stderr!r}"
        for text in said:
            assert text in done.stderr, f"{words}: no {text!r} in {done.stderr!r}"

    def document(self, words, status=0):
        done = self.run(["-j", *words.split()])
        assert done.returncode == status and done.stderr == "", f"{words}: {done}"
        return json.loads(done.stdout)


def main():
    """Runs the tests and prints TAP. Returns the exit status."""
    if not os.access(DSCTL, os.X_OK):
        print(f"1..0 # SKIP {DSCTL} is not built")
        return 1
    print(f"1..{len(TESTS)}")
    failed = 0
    for number, function in enumerate(TESTS, 1):
        name = function.__name__.replace("_", " ")
        try:
            with tempfile.TemporaryDirectory() as folder:
                function(Pool(folder))
            print(f"ok {number} - {name}", flush=True)
        except Exception as error:  # a broken document is a failure like any other
            failed += 1
            for line in f"{type(error).__name__}: {error}".splitlines():
                print(f"# {line}")
            print(f"not ok {number} - {name}", flush=True)
    return 1 if failed else 0

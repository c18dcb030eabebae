# SPDX-License-Identifier: Apache-2.0
"""dsctl on a file, for the test programs that need neither the module nor root."""
import json
import os
import shlex
import subprocess
import tempfile

import tap
from tap import DSCTL, ERROR


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
    """Runs the tests, each with a folder of its own, and prints TAP. Returns the exit status."""
    def in_folder(function):
        with tempfile.TemporaryDirectory() as folder:
            function(Pool(folder))
    return tap.main(in_folder)

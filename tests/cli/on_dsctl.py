# SPDX-License-Identifier: Apache-2.0
"""A run of dsctl and what is expected of it, for the test programs that need neither the module nor a pool."""
import json
import os
import re
import shlex
import subprocess

from tap import DSCTL, ERROR

MODULE = os.path.exists("/sys/module/ds")
ENVELOPE = ["schema", "response", "error", "status", "warnings"]


class Run:
    """One run of dsctl."""

    def __init__(self, *args, **options):
        words = shlex.split(args[0]) if len(args) == 1 else [str(a) for a in args]
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
        env.update(options.pop("env", {}))
        options.setdefault("stdin", subprocess.DEVNULL)
        self.words = words
        done = subprocess.run([DSCTL] + words, env=env, timeout=60, stdout=options.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, **options)
        self.status = done.returncode
        self.out = (done.stdout or b"").decode()
        self.err = done.stderr.decode()

    def expect(self, status):
        assert self.status == status, f"{self.words}: status {self.status}, not {status}\n{self.out}{self.err}"
        return self

    def fails(self, status):
        """Ended so, with nothing on standard output and two lines on standard error."""
        self.expect(status)
        assert self.out == "", f"{self.words}: printed {self.out!r}"
        assert ERROR.match(self.err), f"{self.words}: error is {self.err!r}"
        return self

    def says(self, text):
        assert text in self.out + self.err, f"{self.words}: {text!r} is not in\n{self.out}{self.err}"
        return self

    def document(self, status=None):
        """The JSON document, its form checked."""
        doc = json.loads(self.out)
        assert list(doc) == ENVELOPE, f"members {list(doc)}"
        assert re.fullmatch(r"dsctl/[a-z-]+/v1", doc["schema"]), doc["schema"]
        assert isinstance(doc["response"], list) and isinstance(doc["warnings"], list)
        assert doc["status"] == self.status, f"status {doc['status']} in the document, {self.status} of the process"
        if doc["error"] is not None:
            assert list(doc["error"]) == ["code", "errno", "message", "remedy", "context"], doc["error"]
            assert re.fullmatch(r"DS-[A-Z]{3}-\d{3}", doc["error"]["code"]), doc["error"]
            assert doc["error"]["message"] and doc["error"]["remedy"]
            assert isinstance(doc["error"]["errno"], int) and isinstance(doc["error"]["context"], dict)
            assert doc["status"] != 0
        if status is not None:
            assert self.status == status, f"{self.words}: {doc}"
        return doc


def meta():
    return Run("meta show -j").document(0)["response"]

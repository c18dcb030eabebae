# SPDX-License-Identifier: Apache-2.0
"""The examples of dsctl's tables and of the man pages, and where they are run."""
import glob
import json
import os
import re
import shlex
import subprocess

from tap import DSCTL, ROOT

IN_VM = os.path.join(ROOT, "tests/cli/examples_vm.sh")


def meta():
    done = subprocess.run([DSCTL, "meta", "show", "-j"], stdout=subprocess.PIPE, check=True, timeout=60)
    return json.loads(done.stdout)["response"]


def documents():
    """The name of each verb's JSON document."""
    return {verb["document"] for item in meta() for verb in item["verbs"]}


def of_tables():
    """Each example: the words behind 'dsctl', and the document of its verb."""
    return {example["command"]: verb["document"] for item in meta() for verb in item["verbs"] for example in verb["examples"]}


def listings(page):
    """The lines of each listing in the source of a man page, without comments."""
    with open(os.path.join(ROOT, "docs/man", page + ".8.scd"), encoding="utf-8") as file:
        found = re.findall(r"^```\n(.*?)^```$", file.read(), re.M | re.S)
    return [[re.sub(r"\s+#.*", "", line) for line in text.splitlines()] for text in found]


def of_pages():
    """The commands that the sources of the man pages show, by page."""
    pages = sorted(os.path.basename(path)[:-len(".8.scd")] for path in glob.glob(os.path.join(ROOT, "docs/man/*.8.scd")))
    return {page: [line for listing in listings(page) for line in listing if re.match(r"(dsctl|dsmasterd) ", line)]
            for page in pages}


def of_machines():
    """The examples that examples_vm.sh runs."""
    with open(IN_VM, encoding="utf-8") as file:
        lines = re.findall(r"^\t(?:example|endless|on_event) (.*)$", file.read(), re.M)
    return [shlex.split(line)[0] for line in lines]

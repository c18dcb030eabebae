# SPDX-License-Identifier: Apache-2.0
"""A kernel to boot, and the modules that a machine needs of it."""
import glob
import gzip
import lzma
import os
import re
import shutil
import subprocess
import tempfile


class KernelError(Exception):
    """A message for the user, with a remedy."""


class Kernel:
    """A folder with vmlinuz and lib/modules/RELEASE."""

    def __init__(self, folder):
        self.image = os.path.join(folder, "vmlinuz")
        trees = [d for d in glob.glob(os.path.join(folder, "lib/modules/*")) if os.path.isdir(d)]
        if not os.path.exists(self.image) or len(trees) != 1:
            raise KernelError(f"{folder} must hold vmlinuz and one folder in lib/modules")
        self.tree = trees[0]
        self.release = os.path.basename(self.tree)
        self.depends = {}
        dep = os.path.join(self.tree, "modules.dep")
        if not os.path.exists(dep):
            raise KernelError(f"{self.tree} has no modules.dep: run 'depmod -b {folder} {self.release}'")
        with open(dep) as lines:
            for line in lines:
                path, needs = line.split(":")
                self.depends[path] = needs.split()

    def modules(self, wanted):
        """Paths, below the tree, of the wanted modules and all they need.
        A name that is no module is taken to be built in."""
        by_name = {re.sub(r"\.ko.*", "", os.path.basename(p)).replace("-", "_"): p for p in self.depends}
        chosen = set()
        for name in wanted:
            if name.endswith("/"):
                chosen.update(p for p in self.depends if p.startswith("kernel/" + name))
            elif name.replace("-", "_") in by_name:
                chosen.add(by_name[name.replace("-", "_")])
        for path in list(chosen):
            chosen.update(self.depends[path])
        return sorted(chosen)


def unpacked(path):
    """The contents of a module, which may be compressed."""
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(os.path.splitext(path)[1], open)
    with opener(path, "rb") as file:
        return file.read()


def add_modules(cpio, kernel, chosen):
    """The modules, decompressed, with an index of just them."""
    with tempfile.TemporaryDirectory() as work:
        tree = os.path.join(work, "lib/modules", kernel.release)
        for path in chosen:
            target = os.path.join(tree, re.sub(r"\.(xz|gz)$", "", path))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(unpacked(os.path.join(kernel.tree, path)))
        os.makedirs(tree, exist_ok=True)
        for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            if os.path.exists(os.path.join(kernel.tree, name)):
                shutil.copy(os.path.join(kernel.tree, name), tree)
        subprocess.run(["depmod", "-b", work, kernel.release], check=True)
        for folder, _, files in os.walk(tree):
            for name in sorted(files):
                source = os.path.join(folder, name)
                cpio.copy("usr/lib/modules/" + os.path.relpath(source, os.path.dirname(tree)), source)


def module_needs(module):
    """The modules that a built ds.ko depends on."""
    text = subprocess.run(["modinfo", "-F", "depends", module], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return [name for name in text.strip().split(",") if name]

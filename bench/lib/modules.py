# SPDX-License-Identifier: Apache-2.0
"""Kernel modules that measure: bench/modules, built for the kernel of the machines."""
import os
import shutil
import subprocess

from nodes import ROOT, BenchError
from turns import figures, with_others


def output_of(*words):
    """What a command says."""
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def build(kernel):
    """Build them all for a kernel, named as for scripts/dsvm. Returns the folder that has them."""
    folder = os.path.join(ROOT, "build", f"bench-{os.path.basename(kernel)}")
    if not os.path.isdir(kernel):
        kernels = os.path.join(ROOT, "scripts", "kernels")
        subprocess.run([kernels, "fetch", kernel], check=True)
        kernel = output_of(kernels, "dir", kernel)
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["cp", "-rsfT", os.path.join(ROOT, "bench", "modules"), folder], check=True)
    made = subprocess.run(["make", "--no-print-directory", "-C", os.path.join(kernel, "build"), f"M={folder}", "W=1",
                           "KCFLAGS=-Werror", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if made.returncode:
        raise BenchError(f"bench/modules cannot be built:\n{made.stdout}")
    return folder


def measure(nodes, kernel, module, lookups, rounds):
    """Load one on node 1, which is when it measures. Returns its figures, the command and what else the host did."""
    shutil.copy(os.path.join(build(kernel), module + ".ko"), nodes.share)
    command = f"insmod {module}.ko lookups={lookups} rounds={rounds}"
    _, others = with_others(lambda: nodes.run(f"cd /share && {command} && rmmod {module}", seconds=600),
                            lambda: nodes.cpu_seconds()[1])
    return [figures(line) for line in nodes.run(f"dmesg | grep {module}:").splitlines()], command, others

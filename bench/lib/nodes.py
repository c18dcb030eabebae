# SPDX-License-Identifier: Apache-2.0
"""Virtual machines to measure in: commands on them, and what they cost this host."""
import os
import queue
import shlex
import shutil
import subprocess
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
MARK = "--- bench: "
BOOT_SECONDS = 300
TICK = os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
    """What went wrong, for the user."""


def processes():
    """Of each process on this host: (pid, parent, name, processor seconds)."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                head, fields = stat.read().rsplit(")", 1)
        except OSError:
            continue  # it has just ended
        fields = fields.split()
        yield int(pid), int(fields[1]), head.split("(", 1)[1], (int(fields[11]) + int(fields[12])) / TICK


def host_busy_seconds():
    """Processor seconds that this host has spent on anything since it was booted."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, irq, softirq, *_ = map(int, stat.readline().split()[1:])
    return (user + nice + system + irq + softirq) / TICK


class Nodes:
    """Machines 1 to N, as a context. /share is a folder that all of them see; `share` is its name here."""

    def __init__(self, nodes, kernel="6.1", mem=768):
        self.share = tempfile.mkdtemp(prefix="bench.")
        self.process = subprocess.Popen(
            [os.path.join(ROOT, "scripts", "dsvm"), "shell", "--nodes", str(nodes), "--kernel", kernel,
             "--mem", str(mem), "--share", self.share],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace")
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.release = self.run("uname -r", seconds=BOOT_SECONDS).strip()
        except BaseException:
            self.close()
            raise

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        verdict = self.close()
        if kind is None and verdict:
            raise BenchError(f"the machines did not end well (dsvm: status {verdict}); see its message above")

    def close(self):
        """End the machines. Returns the status of dsvm, which tells of kernel splats."""
        self.process.stdin.close()
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            status = self.process.wait()
        shutil.rmtree(self.share, ignore_errors=True)
        return status

    def _until_mark(self, command, seconds):
        output = []
        while True:
            try:
                line = self.lines.get(timeout=seconds)
            except queue.Empty:
                self.process.terminate()
                raise BenchError(f"no answer within {seconds} s from: {command}") from None
            if line is None:
                raise BenchError("the machines have ended; see the message of dsvm above")
            text, mark, status = line.partition(MARK)
            output.append(text)
            if mark:
                return "".join(output), int(status)

    def run(self, command, node=1, seconds=120):
        """The output of a command, run by bash on a node. It must end well."""
        if node != 1:
            command = f"on {node} bash -c {shlex.quote(command)}"
        script = f"{{ {command}\n}} < /dev/null 2> /tmp/bench.err; echo '{MARK}'$?\n"
        self.process.stdin.write(script)
        self.process.stdin.flush()
        output, status = self._until_mark(command, seconds)
        if status:
            errors, _ = self._errors()
            raise BenchError(f"status {status} on node {node}: {command}\n{output}{errors}")
        return output

    def _errors(self):
        self.process.stdin.write(f"cat /tmp/bench.err; echo '{MARK}'0\n")
        self.process.stdin.flush()
        return self._until_mark("cat", 30)

    def cpu_seconds(self):
        """Host processor seconds so far: (of the machines, of them and all that carries them)."""
        machines = all_ours = 0.0
        for pid, parent, name, seconds in processes():
            if self.process.pid in (pid, parent):
                all_ours += seconds
                machines += seconds if name.startswith("qemu") else 0
        return machines, all_ours

# SPDX-License-Identifier: Apache-2.0
"""A whole run: boot, command, verdict, clean up."""
import asyncio
import glob
import os
import shutil
import signal
import sys
import tempfile
import time

import hang
import splat
import stale
from session import Exchange, Output
from vm import Down, Machine, die_with_parent

BOOT_SECONDS = 300   # a kernel that checks itself, on a busy host
END_SECONDS = 30
WATCH_SECONDS = 20
SILENT_SECONDS = 120  # a kernel that boots says something every few seconds
BOOTS_AGAIN = 2
STATUS_SPLAT, STATUS_TIMEOUT, STATUS_HARNESS, STATUS_INTERRUPTED = 70, 124, 125, 130
KEPT_RUNS = 20


class Failure(Exception):
    """The harness failed: the command's result is not known."""


class Verdict:
    """How a run ended. The worst thing that happened wins: a splat, then a
    failure of the harness, then the time, then the command's own status. But
    after the emulator broke, nothing that the kernel said is worth anything."""

    def __init__(self):
        self.emulator = self.crash = self.splat = self.early = self.harness = None
        self.timeout = self.interrupted = self.status = None

    @property
    def broken(self):
        """The sentence on what nothing of this project has done, if that is all that happened: no kernel has a splat of
        its own, but the emulator is proved to have broken, or a kernel was silent before its first program."""
        if self.interrupted or self.splat:
            return None
        fault = self.emulator or self.crash
        return f"the emulator broke {fault}" if fault else self.early

    def result(self):
        """The exit status and the sentence."""
        if self.interrupted:
            return STATUS_INTERRUPTED, "interrupted"
        if self.emulator:
            return STATUS_HARNESS, f"harness failure: the emulator broke {self.emulator}"
        if self.splat:
            return STATUS_SPLAT, f"kernel splat on node {self.splat}"
        if self.crash:
            return STATUS_HARNESS, f"harness failure: the emulator broke {self.crash}"
        if self.early or self.harness:
            return STATUS_HARNESS, f"harness failure: {self.early or self.harness}"
        if self.timeout:
            return STATUS_TIMEOUT, f"timeout after {self.timeout:g} s"
        if self.status is None:
            return STATUS_HARNESS, "harness failure: the command gave no result"
        if self.status:
            return self.status, f"command failed (status {self.status})"
        return 0, "passed"


def say(text):
    print(f"dsvm: {text}", file=sys.stderr, flush=True)


def new_folder():
    """A folder for sockets and logs; those of runners that were killed go."""
    for old in glob.glob(os.path.join(tempfile.gettempdir(), "dsvm.*.*")):
        owner = os.path.basename(old).split(".")[1]
        if owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            shutil.rmtree(old, ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"dsvm.{os.getpid()}.")


class Run:
    """options: nodes, cpus, nics, mem, share, timeout, append, module, boot
    (kernel), initrd, heavy (disk with further programs), switch (program), tsc_khz, logs (folder for the logs of
    failed runs), verbose. again: the number of the boot that may follow this one, or None."""

    def __init__(self, options, words, terminal=None, again=None):
        self.options = options
        self.words = words
        self.terminal = terminal
        self.again = again
        self.begun = False          # the command
        self.verdict = Verdict()
        self.hangs = False          # the command, or a machine
        self.folder = new_folder()
        self.switch = None
        self.tasks = set()
        self.machines = {}
        self.exchange = Exchange(self.machines, self._control)
        self.finished = None

    # -- life of the machines --

    async def _start_switch(self):
        o = self.options
        with open(os.path.join(self.folder, "switch.log"), "wb") as errors:
            self.switch = await asyncio.create_subprocess_exec(
                o.switch, self.folder, str(o.nics), str(o.nodes), stdout=asyncio.subprocess.PIPE,
                stderr=errors, start_new_session=True, preexec_fn=die_with_parent)
        if await self.switch.stdout.readline() != b"ready\n":
            raise Failure("the Ethernet switch did not start; see switch.log")
        self._task(self._watch_switch())

    async def _watch_switch(self):
        await self.switch.wait()
        self.verdict.harness = self.verdict.harness or "the Ethernet switch ended by itself"
        self._finish()

    def _task(self, work):
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _boot(self):
        await self._start_switch()
        for node in range(1, self.options.nodes + 1):
            self.machines[node] = Machine(node, self.options, self.folder,
                                          self.exchange.on_frame, self._on_death)
        for machine in self.machines.values():
            await machine.start()
        self._task(self._watch_emulators())
        for machine in self.machines.values():
            try:
                await machine.wait_ready(BOOT_SECONDS, self.finished)
            except Down as down:
                raise Failure(str(down)) from down
            except asyncio.TimeoutError:
                self.hangs = True
                raise Failure(f"node {machine.node} was not ready after {BOOT_SECONDS} s") from None

    def _on_death(self, machine):
        self.exchange.on_down(machine)
        # No proof against a splat that came before: that one counts. So does what failed before.
        if machine.crash and not self.verdict.harness:
            self.verdict.crash = self.verdict.crash or f"node {machine.node}: QEMU ended by {machine.crash}"
        self.verdict.harness = self.verdict.harness or f"node {machine.node} ended by itself"
        self._finish()

    async def _watch_emulators(self):
        """Ends a run that the emulator holds up for ever, long before its time is over."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            for node, machine in self.machines.items():
                try:
                    silent = machine.silent_before_init(SILENT_SECONDS)
                    fault = await stale.breakpoint_of(machine)
                except (Down, RuntimeError, OSError):
                    continue        # it is being killed or booted
                if fault:
                    self.verdict.emulator = self.verdict.emulator or f"node {node}: {fault}"
                elif silent:
                    self.hangs = True
                    self.verdict.early = self.verdict.early or \
                        f"node {node} was silent for {SILENT_SECONDS} s before its first program"
                if fault or silent:
                    self._finish()

    def _finish(self):
        if self.finished and not self.finished.done():
            self.finished.set_result(None)

    # -- the command --

    async def _command(self):
        def ended(status):
            self.verdict.status = status
            self._finish()

        output = Output(ended)
        flags = self.terminal.flags if self.terminal else 0
        try:
            session = self.exchange.run(1, flags, "/root", self.words, output)
        except Down as down:
            raise Failure(str(down)) from down
        self.begun = True
        output.session = session
        if self.terminal:
            self.terminal.attach(session)
        try:
            await asyncio.wait_for(asyncio.shield(self.finished), self.options.timeout)
        except asyncio.TimeoutError:
            self.hangs = True
            self.verdict.timeout = self.options.timeout
        finally:
            if self.terminal:
                self.terminal.detach()

    # -- `vm` --

    def _control(self, words, done):
        self._task(self._control_task(words, done))

    async def _control_task(self, words, done):
        try:
            done(0, await self._control_run(words))
        except (Down, RuntimeError, OSError, asyncio.TimeoutError) as error:
            done(1, f"dsvm: vm {' '.join(words)}: {error or 'took too long'}")
        except ValueError as error:
            done(2, f"dsvm: vm {' '.join(words)}: {error}")

    async def _control_run(self, words):
        verb, arguments = words[0], words[1:]
        if verb not in ("kill", "pause", "resume", "boot", "link", "cpu"):
            raise ValueError("verbs are kill, pause, resume, boot, link and cpu")
        if arguments[0] not in {str(node) for node in self.machines}:
            raise ValueError(f"there is no node '{arguments[0]}': nodes are 1 to {len(self.machines)}")
        machine = self.machines[int(arguments[0])]
        if verb == "link":
            return await self._link(machine, arguments[1:])
        if len(arguments) != 1:
            raise ValueError("takes one node")
        if verb == "kill":
            await machine.kill()
            self.exchange.on_down(machine)
            if machine.node == 1:
                self.verdict.harness = "node 1 was killed, and the command with it"
                self._finish()
        elif verb == "boot":
            if machine.running:
                raise ValueError("the node runs already; kill it first")
            await machine.start()
            await machine.wait_ready(BOOT_SECONDS, self.finished)
        elif verb == "pause":
            await machine.pause()
        elif verb == "resume":
            await machine.resume()
        else:
            return f"{machine.cpu_seconds():.2f}"
        return ""

    async def _link(self, machine, arguments):
        nics = {str(nic) for nic in range(self.options.nics)}
        if len(arguments) != 2 or arguments[0] not in nics or arguments[1] not in ("up", "down"):
            raise ValueError(f"wants NODE NIC up|down with NIC 0 to {len(nics) - 1}")
        await machine.link(int(arguments[0]), arguments[1] == "up")
        return ""

    # -- the end --

    async def _settle(self):
        """Every machine that runs must still answer, and all it has said must be in its log."""
        for machine in self.machines.values():
            if machine.stopping or machine.paused or not machine.running:
                continue
            try:
                await asyncio.wait_for(machine.settle(), END_SECONDS)
            except (Down, asyncio.TimeoutError):
                self.hangs = True
                self.verdict.harness = self.verdict.harness or \
                    f"node {machine.node} does not answer at the end of the run"

    async def _show_hang(self):
        """What each machine does. The logs were scanned before, so what a kernel now says of itself is no splat."""
        for node, machine in reversed(self.machines.items()):   # the command is on the first
            say(f"node {node} at that time:")
            def show(line, node=node):
                print(f"  node{node}| {line}", file=sys.stderr)
            fault = await hang.describe(machine, show)
            if fault:
                self.verdict.emulator = self.verdict.emulator or f"node {node}: {fault}"

    def _again(self):
        """What is said when all machines boot again: nothing of this project has broken them, and nothing was asked of
        them before. Or None."""
        fault = self.verdict.broken
        if not fault or self.begun or not self.again:
            return None
        return f"{fault}; booting again ({self.again} of {BOOTS_AGAIN})"

    def _scan(self):
        splats = {}
        for machine in self.machines.values():
            if not os.path.exists(machine.log):
                continue
            with open(machine.log, encoding="utf-8", errors="replace") as log:
                lines = splat.excerpt(log.read())
            if lines:
                splats[machine.node] = lines
                reason = splat.impossible(lines)
                if reason:
                    self.verdict.emulator = f"node {machine.node}: {reason}"
                else:
                    self.verdict.splat = self.verdict.splat or machine.node
        if self._again():
            return                  # the log is kept; who waits for a command needs no more
        for node, lines in splats.items():
            say(f"node {node}'s kernel said:")
            for line in lines:
                print(f"  node{node}| {line}", file=sys.stderr)

    async def _stop(self):
        for task in list(self.tasks):
            task.cancel()
        for machine in self.machines.values():
            await machine.kill()
        if self.switch and self.switch.returncode is None:
            self.switch.send_signal(signal.SIGTERM)
            try:
                counts = await asyncio.wait_for(self.switch.stdout.read(), 5)
                with open(os.path.join(self.folder, "switch.log"), "ab") as log:
                    log.write(counts)
            except asyncio.TimeoutError:
                self.switch.kill()
            await self.switch.wait()

    def _tails(self):
        """What the machines said last, when the harness failed."""
        for machine in self.machines.values():
            if os.path.exists(machine.log):
                with open(machine.log, encoding="utf-8", errors="replace") as log:
                    for line in log.read().splitlines()[-12:]:
                        print(f"  node{machine.node}| {line}", file=sys.stderr)

    def _keep_logs(self):
        os.makedirs(self.options.logs, exist_ok=True)
        kept = sorted(os.listdir(self.options.logs))
        for old in kept[:-KEPT_RUNS]:
            shutil.rmtree(os.path.join(self.options.logs, old), ignore_errors=True)
        run = os.path.basename(self.folder).removeprefix("dsvm.")
        target = os.path.join(self.options.logs, time.strftime("%Y%m%d-%H%M%S-") + run)
        os.makedirs(target)
        for name in os.listdir(self.folder):
            if name.endswith(".log"):
                shutil.copy(os.path.join(self.folder, name), target)
        say(f"the logs are in {os.path.relpath(target)}")

    async def go(self):
        """Run all of it. Returns the exit status, or None when all machines shall boot again."""
        loop = asyncio.get_running_loop()
        self.finished = loop.create_future()
        current = asyncio.current_task()
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for number in signals:
            loop.add_signal_handler(number, current.cancel)
        start = time.monotonic()
        try:
            await self._boot()
            if self.options.verbose:
                say(f"{self.options.nodes} nodes ready after {time.monotonic() - start:.1f} s")
            await self._command()
            if not self.hangs and not self.verdict.emulator:
                await self._settle()
        except Failure as failure:
            self.verdict.harness = self.verdict.harness or str(failure)
        except asyncio.CancelledError:
            self.verdict.interrupted = True

        def interrupted():          # nothing disturbs the clean up, but nothing begins after it
            self.verdict.interrupted = self.verdict.interrupted or bool(self._again())

        for number in signals:
            loop.add_signal_handler(number, interrupted)
        try:
            if not self.verdict.interrupted:
                self._scan()
                if self.hangs:
                    await self._show_hang()
        finally:
            await self._stop()
            again = self._again()
            status, sentence = self.verdict.result()
            if status == STATUS_HARNESS and not again:
                self._tails()
            if status and not self.verdict.interrupted:
                self._keep_logs()
            shutil.rmtree(self.folder, ignore_errors=True)
        say(again or sentence)
        return None if again else status


async def run(options, words, terminal):
    """Runs the command. Returns the exit status. Each boot is a Run of its own: it leaves nothing to the next."""
    for again in range(1, BOOTS_AGAIN + 1):
        status = await Run(options, words, terminal, again).go()
        if status is not None:
            return status
    return await Run(options, words, terminal).go()

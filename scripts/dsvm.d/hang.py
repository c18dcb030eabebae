# SPDX-License-Identifier: Apache-2.0
"""What a machine does whose run has not ended in time."""
import asyncio
import os
import re

import frame
from vm import Down

MONITOR_SECONDS = 30    # even the busiest host lets the emulator say a word in this time
KERNEL_SECONDS = 15
PANIC_SECONDS = 60      # a hundred stacks on a serial line
STACK_MAX = 10          # frames
BLOCKED = "Show Blocked State"

# To the console: what runs, for the log only; what waits, and for what.
NAME_ALL = """exec > /dev/console 2>&1
echo l > /proc/sysrq-trigger
echo w > /proc/sysrq-trigger
for p in /proc/[0-9]*; do
	words=$(tr '\\0\\n' '  ' < $p/cmdline | cut -c 1-100)
	[ -z "$words" ] || [ $p = /proc/$$ ] || echo "process ${p#/proc/}, $(cut -d' ' -f3 $p/stat) in $(cat $p/wchan): $words"
done 2> /dev/null"""


def threads_of_host(machine):
    """The emulator's own threads: a line each."""
    folder = f"/proc/{machine.process.pid}/task"
    for task in sorted(os.listdir(folder)):
        try:
            with open(f"{folder}/{task}/stat", encoding="utf-8") as stat:
                name, fields = stat.read().split("(", 1)[1].rsplit(")", 1)
            with open(f"{folder}/{task}/wchan", encoding="utf-8") as wchan:
                place = wchan.read()
        except OSError:
            continue
        state, user, system = (fields.split()[n] for n in (0, 11, 12))
        yield f"emulator's thread {name}: state {state} in {place}, {user} + {system} ticks so far"


async def processors(machine):
    """Where each processor is, and the interrupts that wait for it and that it serves: a line each."""
    places = [line for line in (await machine.monitor_text("info registers -a")).splitlines() if line.startswith("RIP=")]
    for index, place in enumerate(places):
        lapic = (await machine.monitor_text("info lapic", index)).splitlines()
        words = [" ".join(line.split()) for line in lapic if line.split()[:1] in (["IRR"], ["ISR"], ["Timer"])]
        yield "; ".join([f"processor {index}: {place.strip()}", *words])


async def kernel(machine):
    """What the kernel says of itself, all of it in its log. Raises what settle() does."""
    before = os.path.getsize(machine.log)
    machine.send(frame.RUN, 0x7fffffff, frame.command(0, "/", ["sh", "-c", NAME_ALL]))
    await asyncio.sleep(3)
    await machine.settle()
    with open(machine.log, encoding="utf-8", errors="replace") as log:
        log.seek(before)
        return log.read().rpartition(BLOCKED)[2].splitlines()[1:-1]


async def last_words(machine):
    """Ends a machine that does not answer: each program's stack in the kernel. An NMI makes it panic."""
    machine.stopping = True
    before = os.path.getsize(machine.log)
    await machine.monitor("inject-nmi")
    await asyncio.wait_for(machine.process.wait(), PANIC_SECONDS)
    with open(machine.log, encoding="utf-8", errors="replace") as log:
        log.seek(before)
        tasks = re.split(r"^(?=.*\] task:)", log.read(), flags=re.MULTILINE)[1:]
    for task in tasks:
        if "entry_SYSCALL" in task:     # and no thread of the kernel
            yield task.splitlines()[0]
            frames = re.findall(r"\]  (\w\S+\+0x\S+)", task)
            yield "    " + " < ".join(frames[:STACK_MAX])


async def describe(machine, show):
    """Says all of it, line by line, by show(). Returns what is the emulator's fault, or None."""
    if not machine.running or machine.paused:
        show("does not run")
        return None
    try:
        for second in range(2):
            async with asyncio.timeout(MONITOR_SECONDS):
                async for line in processors(machine):
                    show(line)
            await asyncio.sleep(1 - second)
    except asyncio.TimeoutError:
        for line in threads_of_host(machine):
            show(line)
        return f"its monitor has been silent for {MONITOR_SECONDS} s"
    except (Down, RuntimeError, OSError) as error:
        show(f"registers: {error}")
    try:
        for line in await asyncio.wait_for(kernel(machine), KERNEL_SECONDS):
            show(line)
    except (Down, asyncio.TimeoutError):
        show(f"its agent has been silent for {KERNEL_SECONDS} s; the programs:")
        try:
            async for line in last_words(machine):
                show(line)
        except (Down, RuntimeError, OSError, asyncio.TimeoutError) as error:
            show(f"the kernel does not even take an NMI: {error!r}")
    return None

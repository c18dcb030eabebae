# SPDX-License-Identifier: Apache-2.0
"""Proves a fault of QEMU 7.2: it runs a translation of an int3 that is not in memory any more.

Linux replaces code that other processors may be running by an int3 first, then by the new
instruction, and waits for all of them in between. With several processors QEMU now and then
keeps what it has translated of the int3. Whoever runs it finds nothing to do, goes back, and
runs it again, for ever. Where that is with interrupts off, no watchdog of the kernel can tell.

A processor may meet an int3 that is gone by the time it has entered the handler. But nothing
may meet it again and again where memory has had something else for long."""
import asyncio
import re
import time

INT3 = 0xcc
VECTOR = 3
IF = 1 << 9             # the flag: interrupts are on
SUSPECT_LOOKS = 5
LOOKS = 200
SIGHTINGS, SECONDS = 5, 1.0


class Registers:
    """Of one processor, as the monitor prints them."""

    def __init__(self, text):
        def value(name):
            return int(re.search(rf"\b{name} *= *([0-9a-f]+)", text)[1], 16)

        self.rip, self.rsp, self.flags, self.idt = value("RIP"), value("RSP"), value("RFL"), value("IDT")


async def registers(machine, cpu):
    return Registers(await machine.monitor_text("info registers", cpu))


async def memory(machine, cpu, address, size):
    """A number that a processor finds there."""
    text = await machine.monitor_text(f"x /1{'gx' if size == 8 else 'bx'} {address:#x}", cpu)
    match = re.search(r": *0x([0-9a-f]+)", text)
    if not match:
        raise RuntimeError(f"no memory at {address:#x}")
    return int(match[1], 16)


async def entry_of(machine, cpu):
    """Where the handler begins: from three pieces of a gate (Intel SDM volume 3, 6.14.1)."""
    gate = (await registers(machine, cpu)).idt + 16 * VECTOR
    low, high = await memory(machine, cpu, gate, 8), await memory(machine, cpu, gate + 8, 8)
    return low & 0xffff | low >> 32 & 0xffff0000 | (high & 0xffffffff) << 32


async def suspect(machine):
    """A processor that has its interrupts off whenever it is looked at, or None."""
    on = set()
    for _ in range(SUSPECT_LOOKS):
        for cpu in range(machine.options.cpus):
            if (await registers(machine, cpu)).flags & IF:
                on.add(cpu)
        await asyncio.sleep(0.1)
    return next((cpu for cpu in range(machine.options.cpus) if cpu not in on), None)


async def sighting(machine, cpu, entry):
    """The place of an int3 that is not there and for which the handler was entered just now, and what is there."""
    now = await registers(machine, cpu)
    if now.rip != entry:
        return None
    place = await memory(machine, cpu, now.rsp, 8) - 1
    found = await memory(machine, cpu, place, 1)
    return (place, found) if found != INT3 else None


async def prove(machine, cpu):
    """A sentence, or None."""
    entry = await entry_of(machine, cpu)
    seen = {}
    for _ in range(LOOKS):
        await machine.monitor("stop")
        try:
            what = await sighting(machine, cpu, entry)
        finally:
            if not machine.paused:
                await machine.monitor("cont")
        if what:
            times = seen.setdefault(what, [])
            times.append(time.monotonic())
            if len(times) >= SIGHTINGS and times[-1] - times[0] >= SECONDS:
                return f"processor {cpu} runs an int3 again and again at {what[0]:#x}, where memory has {what[1]:02x}"
        await asyncio.sleep(0.01)
    return None


async def breakpoint_of(machine):
    """The proof as a sentence; None if there is nothing to prove."""
    if machine.options.cpus == 1 or machine.paused or not machine.running:
        return None
    cpu = await suspect(machine)
    return None if cpu is None else await prove(machine, cpu)

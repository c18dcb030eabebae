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
SUSPECT_LOOKS = 20      # one in six finds it there
LOOKS = 200
SIGHTINGS, SECONDS = 5, 1.0


class Registers:
    """Of one processor, as the monitor prints them."""

    def __init__(self, text):
        def value(name):
            match = re.search(rf"\b{name} *= *([0-9a-f]+)", text)
            if not match:       # while it boots there is an EIP
                raise RuntimeError("a processor is not in 64-bit mode yet")
            return int(match[1], 16)

        self.rip, self.rsp, self.idt = value("RIP"), value("RSP"), value("IDT")


async def registers(machine, cpu):
    return Registers(await machine.monitor_text("info registers", cpu))


async def memory(machine, cpu, address, size):
    """A number that a processor finds there."""
    text = await machine.monitor_text(f"x /1{'gx' if size == 8 else 'bx'} {address:#x}", cpu)
    match = re.search(r": *0x([0-9a-f]+)", text)
    if not match:
        raise RuntimeError(f"no memory at {address:#x}")
    return int(match[1], 16)


async def entry_of(machine):
    """Where the handler begins: from three pieces of a gate (Intel SDM volume 3, 6.14.1)."""
    gate = (await registers(machine, 0)).idt + 16 * VECTOR
    low, high = await memory(machine, 0, gate, 8), await memory(machine, 0, gate + 8, 8)
    return low & 0xffff | low >> 32 & 0xffff0000 | (high & 0xffffffff) << 32


async def suspect(machine, entry):
    """A processor that is found where the handler begins, or None."""
    for _ in range(SUSPECT_LOOKS):
        for cpu in range(machine.options.cpus):
            if (await registers(machine, cpu)).rip == entry:
                return cpu
        await asyncio.sleep(0.02)
    return None


async def sighting(machine, cpu, entry):
    """The place of an int3 that is not there and for which the handler was entered just now, and what is there."""
    now = await registers(machine, cpu)
    if now.rip != entry:
        return None
    place = await memory(machine, cpu, now.rsp, 8) - 1
    found = await memory(machine, cpu, place, 1)
    return (place, found) if found != INT3 else None


async def prove(machine, cpu, entry):
    """A sentence, or None."""
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
    entry = await entry_of(machine)
    cpu = await suspect(machine, entry)
    return None if cpu is None else await prove(machine, cpu, entry)

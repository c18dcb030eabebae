# SPDX-License-Identifier: Apache-2.0
"""Finds the traces of a broken kernel in a serial log."""
import re

# What the kernel's message starts with, behind its time stamp.
DENIED = re.compile("|".join((
    # what stops or may stop the kernel
    r"WARNING:", r"BUG[: ]", r"kernel BUG at", r"Oops", r"Kernel panic", r"general protection fault",
    r"double fault:", r"stack segment:", r"divide error:", r"invalid opcode:", r"int3:",
    r"[Uu]nable to handle kernel", r"Call Trace:", r"=* ?RIP: 0010:",
    # what hangs
    r"rcu: INFO: .* stall", r"INFO: rcu.* stall", r"INFO: task .* blocked for more than",
    r"watchdog: BUG", r"NMI watchdog: Watchdog detected", r"workqueue lockup",
    r"unregister_netdevice: waiting for", r"INFO: (possible|suspicious|lockdep|trying to register)",
    # what is found by the kernel's own checks
    r"KASAN:", r"KCSAN:", r"KMSAN:", r"KFENCE:", r"UBSAN:", r"ODEBUG:", r"DMA-API:",
    r"refcount_t:", r"list_(add|del) corruption", r"Bad page ",
    r"page dumped because", r"slab error", r"Object(s)? remaining", r"Slab cache still has objects",
    r"sleeping function called", r"scheduling while atomic", r"DEBUG_LOCKS_WARN_ON",
    r"kobject: .* does not have a release", r"percpu ref .* <= 0", r"restrack: .* leak", r"restrack: ",
)))
# Sentences that look like one and are none.
ALLOWED = re.compile("|".join((
    r"Spectre V2 : WARNING", r"WARNING: Spectre",
    r"DMA-API: (preallocated \d+ debug entries|debugging enabled by kernel config)",
)))
STAMP = re.compile(r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?")

CODE = re.compile(r"Code: .*\b([0-9a-f]{2}) <[0-9a-f]{2}>")
FLAGS = re.compile(r"EFLAGS: ([0-9a-f]{8})\b")
FLAGS_ALWAYS, FLAGS_FIXED = 0x2, 0xffc0802a

BEFORE, AFTER = 5, 45


def message(line):
    return STAMP.sub("", line.rstrip("\r\n"))


def find(text):
    """Index of the first bad line, or None; and all lines."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        body = message(line)
        if DENIED.match(body) and not ALLOWED.match(body):
            return index, lines
    return None, lines


def impossible(lines):
    """What in these lines no processor does, as a sentence, or None: the emulator's
    fault then, and not the kernel's. QEMU 7.2 has been seen to do both:
    - it loses its flags when it delivers a fault, and Linux meets a double fault
      anywhere. Bit 1 is always set; bits 3, 5, 15 and 22 to 31 never are (Intel SDM
      volume 1, 3.4.3);
    - with several processors it runs an int3 after another processor has replaced it
      and waited for all of them (text_poke), so no handler knows of it."""
    int3 = False
    for line in lines:
        flags = FLAGS.search(line)
        if flags and int(flags[1], 16) & FLAGS_FIXED != FLAGS_ALWAYS:
            return f"no processor has the flags {flags[1]}"
        int3 = int3 or "Oops: int3:" in line
        code = CODE.search(line)
        if int3 and code:
            return None if code[1] == "cc" else f"it ran an int3 where memory has {code[1]}"
    return None


def excerpt(text):
    """The first splat of a log with the lines around it, or None."""
    index, lines = find(text)
    if index is None:
        return None
    return lines[max(0, index - BEFORE):index + AFTER]

# SPDX-License-Identifier: Apache-2.0
"""The frames of frame.h, for the runner."""
import struct

HEADER = struct.Struct("<III")
PAYLOAD_MAX = 32 * 1024
WINDOW = 128 * 1024
CALL_BIT = 0x80000000

(HELLO, PING, RUN, CALL, IN, OUT, ERR, ACK, SIGNAL, RESIZE, EXIT) = range(1, 12)

FLAG_STDIN, FLAG_TTY = 1, 2


def u32(*values):
    return struct.pack(f"<{len(values)}I", *values)


def pack(kind, ident, data=b""):
    return HEADER.pack(kind, ident, len(data)) + data


def command(flags, cwd, words):
    return bytes([flags]) + b"".join(word.encode(errors="surrogateescape") + b"\0" for word in [cwd, *words])


def parse_command(data):
    """flags, working folder, words"""
    parts = data[1:].decode(errors="surrogateescape").split("\0")
    return data[0], parts[0], parts[1:-1]


async def read(reader):
    """The next (kind, id, payload); raises IncompleteReadError at the end."""
    kind, ident, length = HEADER.unpack(await reader.readexactly(HEADER.size))
    return kind, ident, await reader.readexactly(length)

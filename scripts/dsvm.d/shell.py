# SPDX-License-Identifier: Apache-2.0
"""The user's terminal, joined to a command on a node."""
import asyncio
import fcntl
import os
import signal
import struct
import sys
import termios
import tty

import frame


class Terminal:
    """Sends what is typed. Without a terminal, sends standard input as it is."""

    def __init__(self):
        self.tty = os.isatty(0)
        self.flags = frame.FLAG_TTY if self.tty else frame.FLAG_STDIN
        self.session = self.saved = None

    def attach(self, session):
        self.session = session
        loop = asyncio.get_running_loop()
        if self.tty:
            self.saved = termios.tcgetattr(0)
            tty.setraw(0)
            self._resize()
            loop.add_signal_handler(signal.SIGWINCH, self._resize)
        loop.add_reader(0, self._typed)

    def detach(self):
        loop = asyncio.get_running_loop()
        loop.remove_reader(0)
        if self.saved:
            loop.remove_signal_handler(signal.SIGWINCH)
            termios.tcsetattr(0, termios.TCSADRAIN, self.saved)
            sys.stderr.write("\r\n")

    def _resize(self):
        rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))
        self.session.forward(frame.RESIZE, struct.pack("<HH", rows, columns))

    def _typed(self):
        data = os.read(0, 4096)
        self.session.forward(frame.IN, data)
        if not data:
            asyncio.get_running_loop().remove_reader(0)

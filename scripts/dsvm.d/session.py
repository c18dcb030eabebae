# SPDX-License-Identifier: Apache-2.0
"""Carries commands between nodes: who asked, who runs it, and what flows between."""
import os
import select
import signal

import frame
from vm import Down

STATUS_DOWN = 255


class Session:
    """One running command. `reply(kind, data)` takes its OUT, ERR, ACK and EXIT."""

    def __init__(self, machine, ident, reply, caller=None):
        self.machine = machine
        self.ident = ident
        self.reply = reply
        self.caller = caller        # (machine, id) of an `on`, or None for the runner itself

    def forward(self, kind, data):
        """Input, signals and acknowledgements for the command."""
        try:
            self.machine.send(kind, self.ident, data)
        except Down:
            pass                    # the end of the machine ends the session, too


class Exchange:
    """All sessions, and the requests of `on` and `vm`. `control(words)` carries
    out a `vm` command and returns its status and message."""

    def __init__(self, machines, control):
        self.machines = machines
        self.control = control
        self.jobs = {}              # (node, job id) -> Session
        self.calls = {}             # (node, call id) -> Session
        self.last = 0

    def run(self, node, flags, cwd, words, reply, caller=None):
        """Start a command on a node; Down when that node does not run."""
        machine = self.machines[node]
        self.last += 1
        session = Session(machine, self.last, reply, caller)
        machine.send(frame.RUN, session.ident, frame.command(flags, cwd, words))
        self.jobs[node, session.ident] = session
        if caller:
            self.calls[caller[0].node, caller[1]] = session
        return session

    def _finish(self, session):
        self.jobs.pop((session.machine.node, session.ident), None)
        if session.caller:
            self.calls.pop((session.caller[0].node, session.caller[1]), None)

    def on_frame(self, machine, kind, ident, data):
        """A frame from an agent."""
        if kind == frame.CALL:
            self._call(machine, ident, data)
        elif ident & frame.CALL_BIT:
            session = self.calls.get((machine.node, ident))
            if session:
                session.forward(kind, data)
        else:
            session = self.jobs.get((machine.node, ident))
            if session:
                if kind == frame.EXIT:
                    self._finish(session)
                session.reply(kind, data)

    def on_down(self, machine):
        """A machine ended: so did the commands on it, and nobody waits for those it asked for."""
        for session in list(self.jobs.values()):
            if session.machine is machine:
                self._finish(session)
                session.reply(frame.ERR, f"dsvm: node {machine.node} went down\n".encode())
                session.reply(frame.EXIT, frame.u32(STATUS_DOWN))
            elif session.caller and session.caller[0] is machine:
                session.reply = lambda kind, data: None
                session.forward(frame.SIGNAL, frame.u32(signal.SIGKILL))

    def _call(self, machine, ident, data):
        def reply(kind, payload):
            try:
                machine.send(kind, ident, payload)
            except Down:
                pass

        def refuse(message, status):
            reply(frame.ERR, f"dsvm: {message}\n".encode())
            reply(frame.EXIT, frame.u32(status))

        flags, cwd, words = frame.parse_command(data)
        if words[0] == "vm":
            def done(status, message):
                if message:
                    reply(frame.ERR if status else frame.OUT, (message + "\n").encode())
                reply(frame.EXIT, frame.u32(status))
            self.control(words[1:], done)
            return
        if words[1] not in {str(node) for node in self.machines}:
            refuse(f"on: there is no node '{words[1]}': nodes are 1 to {len(self.machines)}", 2)
            return
        try:
            self.run(int(words[1]), flags, cwd, words[2:], reply, (machine, ident))
        except Down as down:
            refuse(str(down), STATUS_DOWN)


class Output:
    """The runner as the caller: streams to our own standard output and error."""

    def __init__(self, on_exit):
        self.session = None
        self.on_exit = on_exit
        self.broken = set()

    def __call__(self, kind, data):
        if kind == frame.EXIT:
            self.on_exit(int.from_bytes(data[:4], "little"))
        elif kind in (frame.OUT, frame.ERR):
            self._write(1 if kind == frame.OUT else 2, data)
            self.session.forward(frame.ACK, frame.u32(1, len(data)))

    def _write(self, target, data):
        rest = memoryview(data)
        while rest and target not in self.broken:
            try:
                rest = rest[os.write(target, rest):]
            except BlockingIOError:
                select.select([], [target], [])
            except BrokenPipeError:
                self.broken.add(target)
                self.session.forward(frame.SIGNAL, frame.u32(signal.SIGPIPE))

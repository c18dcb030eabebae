# SPDX-License-Identifier: Apache-2.0
"""One test machine: a QEMU process, its monitor and the agent inside."""
import asyncio
import ctypes
import json
import os
import signal
import time

import frame

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)

# Without cmpxchg16b: QEMU 7.2 now and then makes a double fault of one, and Linux
# allocates memory by it when it can. Without erms: Linux would copy by `rep movsb`,
# which TCG does byte by byte. Without xsave: less to keep at each switch.
CPU = "max,-cx16,-erms,-xsave"
# TCG on a busy host stalls for long; only real hangs shall look like hangs. TCG keeps what it
# has translated by virtual address: a program that is always at the same ones starts five times
# as fast. (A test can ask for others in /proc/sys/kernel/randomize_va_space.)
KERNEL_LINE = ("console=ttyS0 panic=-1 oops=panic mitigations=off nokaslr norandmaps no5lvl audit=0 "
               "random.trust_cpu=on cryptomgr.notests tsc=reliable no_timer_check "
               "ignore_loglevel printk.devkmsg=on printk.time=1 log_buf_len=1M rcupdate.rcu_cpu_stall_timeout=120 "
               "watchdog_thresh=60 unknown_nmi_panic panic_print=1 net.ifnames=0 kfence.sample_interval=0 rdinit=/init")

# How a QEMU ends that has broken.
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)


def places(options):
    """For processors, of which at least one stays empty or is another's: for a machine with
    a single place QEMU 7.2 leaves memory barriers out, and devices and driver, which are on
    two threads of the host, miss each other's words. Then a NIC is silent for good."""
    return max(options.cpus, 2)


def memory(options):
    """QEMU's words for the memory, in two NUMA nodes if one is to have no processors."""
    if not options.cxl:
        return ["-m", str(options.mem)]
    return ["-m", str(options.mem + options.cxl),
            "-object", f"memory-backend-ram,id=dram,size={options.mem}M",
            "-numa", f"node,nodeid=0,cpus=0-{places(options) - 1},memdev=dram",
            "-object", f"memory-backend-ram,id=cxl,size={options.cxl}M",
            "-numa", "node,nodeid=1,memdev=cxl"]


def die_with_parent():
    """Runs in a child before exec: no machine outlives its runner."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Down(Exception):
    """The machine does not run, or ended while we waited."""


class Machine:
    """A node. Frames of its agent go to on_frame(machine, kind, id, data);
    an end that nobody asked for goes to on_death(machine)."""

    def __init__(self, node, options, folder, on_frame, on_death):
        self.node = node
        self.options = options
        self.folder = folder
        self.log = os.path.join(folder, f"node{node}.log")
        self.on_frame, self.on_death = on_frame, on_death
        self.process = self.server = self.agent = None
        self.ready = asyncio.Event()
        self.paused = self.stopping = False
        self.cpu_before = 0.0
        self.tasks = []

    def path(self, kind):
        return os.path.join(self.folder, f"{kind}.{self.node}")

    @property
    def running(self):
        return self.process is not None and self.process.returncode is None

    @property
    def crash(self):
        """The signal by which a QEMU ended that broke, or None. A SIGKILL is somebody's wish, or the host has no memory."""
        code = self.process.returncode if self.process else None
        return signal.Signals(-code).name if code and -code in CRASHES else None

    def arguments(self):
        o = self.options
        line = (f"{KERNEL_LINE} nr_cpus={o.cpus} tsc_early_khz={o.tsc_khz} "
                f"dsvm.node={self.node} dsvm.nodes={o.nodes} dsvm.nics={o.nics} "
                f"dsvm.share={int(bool(o.share))} dsvm.module={int(o.module is not None)} {o.append}")
        args = ["qemu-system-x86_64", "-M", "q35,usb=off,sata=off,smbus=off,vmport=off", "-cpu", CPU,
                "-accel", "tcg,thread=multi", "-smp", f"{o.cpus},maxcpus={places(o)}", *memory(o),
                "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                "-kernel", o.boot, "-initrd", o.initrd, "-append", line,
                "-chardev", f"file,id=log,path={self.log},append=on", "-serial", "chardev:log",
                "-qmp", f"unix:{self.path('qmp')},server=on,wait=off",
                "-device", "virtio-serial-pci",
                "-chardev", f"socket,id=agent,path={self.path('agent')}",
                "-device", "virtserialport,chardev=agent,name=ds.agent",
                "-device", "virtio-rng-pci",
                "-drive", f"file={o.heavy},format=raw,if=virtio,readonly=on"]
        for nic in range(o.nics):
            args += ["-netdev", f"stream,id=net{nic},server=off,addr.type=unix,"
                                f"addr.path={self.folder}/nic.{nic}.{self.node}",
                     "-device", f"virtio-net-pci,id=nic{nic},netdev=net{nic},host_mtu=4200,romfile=,"
                                f"mac=52:54:00:{nic:02x}:00:{self.node:02x}"]
        if o.share:
            args += ["-fsdev", f"local,id=share,path={o.share},security_model=none",
                     "-device", "virtio-9p-pci,fsdev=share,mount_tag=share"]
        return args

    async def start(self):
        """Boot. Returns at once; wait on `ready`."""
        self.ready.clear()
        self.paused = self.stopping = False
        for kind in ("qmp", "agent"):
            if os.path.exists(self.path(kind)):
                os.unlink(self.path(kind))
        self.server = await asyncio.start_unix_server(self._agent_connected, self.path("agent"))
        with open(os.path.join(self.folder, f"qemu{self.node}.log"), "ab") as errors:
            self.process = await asyncio.create_subprocess_exec(
                *self.arguments(), stdin=asyncio.subprocess.DEVNULL, stdout=errors, stderr=errors,
                start_new_session=True, preexec_fn=die_with_parent)
        self.tasks.append(asyncio.create_task(self._watch(self.process)))

    async def _watch(self, process):
        await process.wait()
        if not self.stopping:
            self.on_death(self)

    async def _agent_connected(self, reader, writer):
        self.agent = writer
        try:
            while True:
                kind, ident, data = await frame.read(reader)
                if kind == frame.HELLO:
                    self.ready.set()
                else:
                    self.on_frame(self, kind, ident, data)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.ready.clear()
        finally:
            writer.close()

    async def wait_ready(self, seconds, over):
        """Until the agent answers; Down when the machine ends first or the future `over` is done, TimeoutError
        when it takes too long."""
        ready = asyncio.ensure_future(self.ready.wait())
        ended = asyncio.ensure_future(self.process.wait())
        done, _ = await asyncio.wait({ready, ended, over}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        ended.cancel()
        if ended in done:
            raise Down(f"node {self.node} ended before it was ready")
        if over in done:
            raise Down(f"the run ended before node {self.node} was ready")
        if not done:
            raise asyncio.TimeoutError

    def silent_before_init(self, seconds):
        """Whether the kernel has said nothing for so long and has not begun its first program."""
        if not self.running or self.paused or time.time() - os.path.getmtime(self.log) < seconds:
            return False
        with open(self.log, "rb") as log:
            return b"Run /init" not in log.read()

    def send(self, kind, ident, data=b""):
        if not self.ready.is_set() or self.agent is None or self.agent.is_closing():
            raise Down(f"node {self.node} is down")
        self.agent.write(frame.pack(kind, ident, data))

    async def settle(self):
        """Until the agent answers and all that the kernel has said is in the log."""
        cookie = os.urandom(8).hex()
        self.send(frame.PING, 0, cookie.encode())
        seen = 0
        while True:
            with open(self.log, "rb") as log:
                log.seek(max(0, seen - len(cookie)))
                text = log.read()
                seen = log.tell()
            if cookie.encode() in text:
                return
            if not self.running:
                raise Down(f"node {self.node} ended")
            await asyncio.sleep(0.05)

    async def monitor(self, command, **arguments):
        """One command of QEMU's machine protocol. Returns what it returns."""
        if not self.running:
            raise Down(f"node {self.node} is down")
        reader, writer = await asyncio.open_unix_connection(self.path("qmp"))
        try:
            await reader.readline()
            for request in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                writer.write(json.dumps(request).encode() + b"\n")
                reply = {}
                while "return" not in reply and "error" not in reply:
                    line = await reader.readline()
                    if not line:
                        raise Down(f"node {self.node} went down")
                    reply = json.loads(line)
                if "error" in reply:
                    raise RuntimeError(f"QEMU refused {command}: {reply['error'].get('desc')}")
            return reply["return"]
        finally:
            writer.close()

    async def monitor_text(self, line, cpu=0):
        """One command of QEMU's monitor for people, to a processor."""
        return await self.monitor("human-monitor-command", **{"command-line": line, "cpu-index": cpu})

    async def pause(self):
        await self.monitor("stop")
        self.paused = True

    async def resume(self):
        await self.monitor("cont")
        self.paused = False

    async def link(self, nic, up):
        await self.monitor("set_link", name=f"nic{nic}", up=up)

    def cpu_seconds(self):
        """Host processor time of all this node's QEMU processes so far."""
        if not self.running:
            return self.cpu_before
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return self.cpu_before + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def kill(self):
        """End the machine as a power cut does."""
        self.stopping = True
        self.ready.clear()
        if self.running:
            self.cpu_before = self.cpu_seconds()
            self.process.kill()
            await self.process.wait()
        if self.server:
            self.server.close()

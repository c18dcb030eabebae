# SPDX-License-Identifier: Apache-2.0
"""What DS is compared with: perftest and NVMe over RDMA, set up and read."""
import json
import time

from nodes import BenchError
from pairs import Side

LISTEN_SECONDS = 30


def perftest_line(output):
    """The figures of the only line with figures."""
    lines = [line.split() for line in output.splitlines() if line.strip()[:1].isdigit()]
    if len(lines) != 1:
        raise BenchError(f"perftest printed {len(lines)} lines with figures:\n{output}")
    return [float(word) for word in lines[0]]


def wait_for_listener(nodes, program):
    """Until the server of perftest on node 2 can be connected to."""
    end = time.monotonic() + LISTEN_SECONDS
    while "LISTEN" not in nodes.run(f"rdma resource show cm_id | grep {program} || true", node=2):
        if time.monotonic() > end:
            raise BenchError(f"{program} on node 2 does not listen after {LISTEN_SECONDS} s")
        time.sleep(0.05)


def perftest(nodes, program, options, figure, batch=8):
    """A side that is a program of perftest (which does at least five operations), its server on node 2."""
    words = f"{program} -R -F -d rxe0 {options}"

    def serve(n):
        # The server of the last run may still be on its way out, and listen.
        nodes.run(f"while pgrep -x {program} > /dev/null; do pkill -x {program}; sleep 0.05; done; "
                  f"{words} -n {n} > /dev/null 2>&1 &", node=2)
        wait_for_listener(nodes, program)

    return Side(name=f"perftest {program}", command=f"{words} -n {{n}} 10.77.0.2", figure=figure, batch=batch,
                before=serve, tries=5, text=f"{words} -n {{n}} & on node 2; {words} -n {{n}} 10.77.0.2")


def bandwidth(output):
    """MB/s (2^20) on average."""
    return perftest_line(output)[3]


def message_rate(output):
    """Operations a second."""
    return perftest_line(output)[4] * 1e6


def median_latency(output):
    """Microseconds."""
    return perftest_line(output)[4]


NVME_TARGET = """
set -e
modprobe brd rd_nr=1 rd_size={kib} && modprobe nvmet-rdma
dd if=/dev/urandom of=/dev/ram0 bs=1M count={mib} 2> /dev/null
cd /sys/kernel/config/nvmet
mkdir subsystems/ram ports/1
echo 1 > subsystems/ram/attr_allow_any_host
mkdir subsystems/ram/namespaces/1
echo -n /dev/ram0 > subsystems/ram/namespaces/1/device_path
echo 1 > subsystems/ram/namespaces/1/enable
cd ports/1
echo rdma > addr_trtype; echo ipv4 > addr_adrfam; echo 10.77.0.2 > addr_traddr; echo 4420 > addr_trsvcid
ln -s ../../../nvmet/subsystems/ram subsystems/ram
"""


# Without these two, nvme makes up one name and the kernel another, and Linux 6.12 refuses that.
HOST = "4d5d0b5e-9c2a-4a37-8a5c-0d6f1e6f7c11"
NVME_CONNECT = ("nvme connect -t rdma -a 10.77.0.2 -s 4420 -n ram -i 1 "
                f"--hostnqn nqn.2014-08.org.nvmexpress:uuid:{HOST} --hostid {HOST}")


def nvme_connect(nodes, mib):
    """A namespace in node 2's memory, full of data, as /dev/nvme0n1 of node 1, with one I/O queue."""
    nodes.run(NVME_TARGET.format(kib=mib << 10, mib=mib), node=2)
    nodes.run(f"modprobe nvme-rdma && {NVME_CONNECT}")
    nodes.run("timeout 30 bash -c 'until [ -b /dev/nvme0n1 ]; do sleep 0.1; done'")


def nvme_disconnect(nodes):
    nodes.run("nvme disconnect -n ram > /dev/null")


def fio(mib):
    """Random reads of 4 KiB from /dev/nvme0n1, 16 at a time."""
    words = (f"fio --name=read --filename=/dev/nvme0n1 --size={mib}m --ioengine=io_uring --direct=1 --rw=randread "
             "--bs=4k --iodepth=16 --numjobs=1 --norandommap --gtod_reduce=1 --number_ios={n} --output-format=json")

    def rate(output):
        return json.loads(output[output.index("{"):])["jobs"][0]["read"]["iops"]

    return Side(name="nvme-rdma over nvmet-rdma, brd", command=words, figure=rate,
                text=f"{NVME_CONNECT}; {words}")


# Debian's redis-tools has the server too, as redis-check-rdb: it goes by the name that it is called by.
# The package redis-server would start one on this host.
REDIS_SERVER = "redis-server --bind 10.77.0.2 --protected-mode no --daemonize yes --save '' --appendonly no"
REDIS_CLIENT = "redis-benchmark -h 10.77.0.2 --csv"


def redis_start(nodes, size):
    """A server on node 2, which keeps nothing on a disk, with a value of this size."""
    nodes.run(f"redis-benchmark --version; (exec -a {REDIS_SERVER.replace(' ', ' redis-check-rdb ', 1)})", node=2)
    nodes.run(f"timeout 60 bash -c 'until redis-cli -h 10.77.0.2 ping; do sleep 0.1; done' > /dev/null && "
              f"{REDIS_CLIENT} -t set -d {size} -n 1")


def redis(verb, size, depth):
    """redis-benchmark over TCP on the same link, with this many connections."""
    words = f"{REDIS_CLIENT} -t {verb} -d {size} -c {depth} -n {{n}}"

    def figure(output):
        # A heading, then: "GET","requests a second",...
        return float(output.splitlines()[-1].split(",")[1].strip('"')) * size / 2**20

    return Side(name="redis 7.0 over TCP", command=words, figure=figure, batch=8,
                text=f"{REDIS_SERVER} & on node 2; {words}")

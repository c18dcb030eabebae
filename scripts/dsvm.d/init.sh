#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# First program of a test machine: devices, links, RDMA, ds.ko; then the agent.
# The runner says on the kernel command line which machine this is.

fail() {
	echo "dsvm-init: failed: $*"
	sync
	poweroff -f
}

mount -t proc proc /proc
mount -t sysfs sys /sys
node=1 nodes=1 nics=1 share=0 module=0
read -ra words < /proc/cmdline
for word in "${words[@]}"; do
	case $word in dsvm.*=*) declare "${word#dsvm.}" ;; esac
done

# Debian's 6.1 has virtio_console as a module, 6.12 has it built in.
modprobe -a -q virtio_pci virtio_net virtio_console virtio_rng crc32_generic 2>/dev/null

mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /run /tmp /var/tmp
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
# Else whoever traces an event has jump labels of the scheduler patched, where all processors are all
# the time: there QEMU has kept an int3 (stale.py) more than once.
echo 0 > /sys/kernel/tracing/options/record-cmd
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ln -s /proc/self/fd /dev/fd
ulimit -l unlimited
hostname "node$node"
echo "root:x:0:0:root:/root:/bin/sh" > /etc/passwd
echo "root:x:0:" > /etc/group
echo "127.0.0.1 localhost" > /etc/hosts
for n in $(seq "$nodes"); do
	echo "10.77.0.$n node$n" >> /etc/hosts
done
ip link set lo up
echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad	# addresses are unique by construction

modprobe -a rdma_rxe rdma_ucm || fail "the RDMA modules do not load"
nic=0
while [ "$nic" -lt "$nics" ]; do
	if ! { ip link set "eth$nic" mtu 4200 up &&
	       ip addr add "10.77.$nic.$node/24" dev "eth$nic" &&
	       rdma link add "rxe$nic" type rxe netdev "eth$nic"; }; then
		fail "rxe$nic on eth$nic"
	fi
	nic=$((nic + 1))
done
# Carrier and GIDs come a moment later.
for nic in $(seq 0 $((nics - 1))); do
	tries=0
	until grep -q up "/sys/class/net/eth$nic/operstate" && grep -q ACTIVE "/sys/class/infiniband/rxe$nic/ports/1/state"; do
		tries=$((tries + 1))
		[ "$tries" -lt 1000 ] || fail "rxe$nic does not become active"
		sleep 0.02
	done
done
modprobe configfs && mount -t configfs configfs /sys/kernel/config

if [ "$share" = 1 ]; then
	mkdir /share
	modprobe 9pnet_virtio
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 share /share || fail "/share"
fi
if [ "$module" = 1 ]; then
	for needed in $(modinfo -F depends /ds/ds.ko | tr , ' '); do
		modprobe "$needed" || fail "$needed, which ds.ko needs"
	done
	insmod /ds/ds.ko || fail "insmod ds.ko"
fi

export DS_NODE="$node" DS_NODES="$nodes" HOME=/root
export PATH=/ds/bin:/ds/tests:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LD_LIBRARY_PATH=/ds/lib TERM=linux
cd /root || fail "/root"
exec /sbin/dsagent /dev/vport*p1

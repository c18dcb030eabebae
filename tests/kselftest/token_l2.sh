#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The NUMA node that L2 of the token cache is on, by the parameters token_l2 and
# token_l2_node. The machine has processors on node 0 only, memory there and perhaps on
# node 1. Reloads the module, which must not be in use.
#
#   token_l2.sh FILE	ds.ko

module=$1
count=0
failed=0
result() { # result STATUS NAME
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failed=1
	fi
}

says() { # says SENTENCE [PARAMETER...]
	sentence=$1
	shift
	insmod "$module" "$@" && said=$(sed -n '/^L2: /p' /sys/kernel/debug/ds/tokencache)
	[ "$said" = "$sentence" ] || echo "# $said"
	[ "$said" = "$sentence" ]
	result $? "${*:-the defaults}: $sentence"
	rmmod ds
}

has_no_memory() { # has_no_memory NODE
	dmesg -c >/dev/null
	! insmod "$module" token_l2_node="$1" 2>/dev/null &&
		dmesg | grep -q "ds: parameter token_l2_node: NUMA node $1 has no memory for the kernel"
	result $? "node $1 is refused"
}

if [ "$(id -u)" != 0 ] || ! { [ ! -d /sys/module/ds ] || rmmod ds; }; then
	echo "1..0 # SKIP needs root and a ds.ko that nobody uses"
	exit 4
fi
echo "1..5"

if [ -d /sys/devices/system/node/node1 ]; then
	says "L2: CXL memory of node 1"
	says "L2: CXL memory of node 1" token_l2_node=1
	says "L2: DRAM of node 0" token_l2_node=0
	has_no_memory 2
else
	says "L2: DRAM of node 0 (no CXL memory node)"
	says "L2: DRAM of node 0" token_l2_node=0
	has_no_memory 1
	has_no_memory 1023
fi
says "L2: none" token_l2=0
insmod "$module"
exit $failed

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The NUMA node that L2 of the token cache is on, by the parameters token_l2 and
# token_l2_node: what is said of it, and whose memory has become less. The machine has processors on node 0 only, memory there and perhaps on
# node 1. Reloads the module, which must not be in use.
#
#   token_l2.sh FILE	ds.ko

module=$1
l2_mib=32	# more than what else the module takes
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

free_of_nodes() { awk '$3 == "MemFree:" { print $2, $4 }' /sys/devices/system/node/node*/meminfo; }

# givers: of lines NODE KIB those that gave all of L2. What else the module takes is a part of it.
givers() {
	awk -v l2=$((l2_mib * 1024)) '$2 >= l2 - 1024 { print $1; next } $2 >= l2 / 4 { print "a part:", $1 }'
}

# is_on KIND NODE WHY [PARAMETER...]: what is said of L2, and where its memory is
is_on() {
	kind=$1 node=$2 why=$3
	shift 3
	before=$(sync && echo 3 >/proc/sys/vm/drop_caches && free_of_nodes)
	insmod "$module" token_l2=$l2_mib "$@"
	gave=$({ echo "$before" && free_of_nodes; } |
		awk '$1 in was { print $1, was[$1] - $2; next } { was[$1] = $2 }')
	said=$(sed -n '/^L2: /p' /sys/kernel/debug/ds/tokencache)
	told=$(dsctl -j token set | grep -o '"name":"L2_NODE","value":[^}]*"note":"[^"]*"')
	rmmod ds

	echo "$gave" | sed 's/^/# less KiB free on node /'
	echo "# $said; $told"
	[ "$said" = "L2: $kind of node $node$why" ]
	result $? "${*:-the defaults}: the module says $kind of node $node$why"
	expr "$told" : "\"name\":\"L2_NODE\",\"value\":$node,.*\"note\":\"$kind$why\"\$" >/dev/null
	result $? "${*:-the defaults}: so does dsctl"
	[ "$(echo "$gave" | givers)" = "$node" ]
	result $? "${*:-the defaults}: $l2_mib MiB are of node $node, and nothing of the others"
}

has_none() {
	insmod "$module" token_l2=0 && said=$(sed -n '/^L2: /p' /sys/kernel/debug/ds/tokencache)
	[ "$said" = "L2: none" ]
	result $? "token_l2=0: $said"
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
if [ -d /sys/devices/system/node/node1 ]; then
	echo "1..11"
	is_on "CXL memory" 1 ""
	is_on "CXL memory" 1 "" token_l2_node=1
	is_on DRAM 0 "" token_l2_node=0
	has_no_memory 2
else
	echo "1..9"
	is_on DRAM 0 " (no CXL memory node)"
	is_on DRAM 0 "" token_l2_node=0
	has_no_memory 1
	has_no_memory 1023
fi
has_none
insmod "$module"
exit $failed

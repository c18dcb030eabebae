# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What a scenario does on each node: `on N bash /share/node.sh VERB`.
#
#   load           insmod ds.ko, if it is not loaded
#   configure      node number and trust domain 1
#   ready          load the module anew; prints the gauges without and with it
#   clean          delete spaces, peers and segments; prints what was healed
#   clean_domains  delete them; one that a connection uses stays
#   gauges         what devices and module hold
#   free           KiB of free memory, caches dropped
#   settled        gauges and free memory
#   leave          unload the module; prints the gauges without it
#   unload         rmmod ds
#   heal           forever: make an RDMA device anew that has gone deaf
#   tell           what is known about connections, for whoever reads a failure
set -uo pipefail

slow=$(cat /share/slow)
dsctl() { timeout -k 5 $((60 * slow)) /ds/bin/dsctl -q "$@"; }

# What the module has, asked by one process: lines "space ID", "peer ADDRESS DIRECTION",
# "seg ID" and "counter NAME VALUE".
holds() {
	printf '%s\n' 'space show' 'peer show' 'seg show' 'stat show --object module --csv' | dsctl batch - | awk '
		/,module,/ { split($0, csv, ","); print "counter", csv[3], csv[4]; next }
		/^time,/ { what = ""; next }
		$1 == "SPACE" { what = $2 == "DOMAIN" ? "space" : ""; next }
		$1 == "NODE" { what = "peer"; next }
		$1 == "SEGMENT" { what = "seg"; next }
		NF && what { print what, what == "peer" ? $2 " " $4 : $1 }'
}

load() {
	keep_few_pages
	size_trace_buffer
	[ -e /run/healed ] || setsid bash /share/node.sh heal < /dev/null >> /run/healed 2>&1 &
	[ -d /sys/module/ds ] || insmod /ds/ds.ko
}

configure() {
	load && dsctl node set "$DS_NODE" && dsctl node domain add 1 --key /share/key
}

clean() {
	[ ! -s /run/healed ] || { cat /run/healed && : > /run/healed; }
	[ -d /sys/module/ds ] || return 0
	holds | awk '$1 != "counter" && ($1 != "peer" || $3 == "out") { print $1, "del", $2 }' | dsctl batch - --force
}

# A connection that others made ends when they end it; until then it uses its domain.
clean_domains() {
	local id failed=0
	[ -d /sys/module/ds ] || return 0
	for id in $(dsctl node domain show | awk 'NR > 1 { print $1 }'); do
		dsctl node domain del "$id" || failed=1
	done
	return "$failed"
}

unload() { [ ! -d /sys/module/ds ] || timeout -k 5 $((30 * slow)) rmmod ds; }

# What the RDMA devices hold. Sorted, as a device that was made anew comes last.
devices() {
	rdma resource show | awk '{ for (i = 3; i < NF; i += 2) print "device", $2 $i, $(i + 1) }' | sort
}

# What must be back where it was after a scenario: lines of a place, a name and a number.
gauges() {
	devices
	echo "module users $(< /sys/module/ds/refcnt)"
	echo "module tokens $(< /sys/kernel/debug/ds/tokens)"
	holds | awk '
		{ n[$1]++; count[$2] = $3 }
		END {
			print "module keys", count["keys_registered"] - count["keys_revoked"]
			print "module connections", count["connects"] - count["disconnects"]
			print "module spaces", n["space"] + 0
			print "module peers", n["peer"] + 0
			print "module segments", n["seg"] + 0
			exit !("connects" in count)
		}'
}

settled() { gauges && echo "memory free $(free)"; }

ready() {
	unload && lost-memory forget && devices | sed 's/^device/bare/' && load && settled
}

leave() { unload && devices | sed 's/^device/bare/'; }

# Processors keep freed pages for themselves, as many as the zone's low watermark
# (50 MiB here), which no counter shows as free. Not these.
keep_few_pages() { echo 100000 > /proc/sys/vm/percpu_pagelist_high_fraction; }

# Linux 6.1 enlarges its own trace buffer, for good and by 1.4 MiB a processor, when the first
# event is recorded, be it in another instance. Not one whose size was said.
size_trace_buffer() { echo 8 > /sys/kernel/tracing/buffer_size_kb; }

# KASAN holds back what was freed, up to a 32nd of all memory, until its cache is shrunk.
shrink_slabs() {
	local cache
	[ -e /sys/kernel/debug/kmemleak ] || return 0
	for cache in /sys/kernel/slab/*/shrink; do echo 1 > "$cache"; done
}

free() {
	sync
	shrink_slabs
	echo 3 > /proc/sys/vm/drop_caches
	awk '$1 == "nr_free_pages" { print $2 * 4 }' /proc/vmstat
}

# What an administrator would do, and what scenarios that cut links cannot do without
# on 6.12 (scenario `deaf` shows why, and wants no help).
heal() {
	local device
	[[ $(uname -r) == 6.12.* ]] || return
	while sleep 5; do
		[ ! -e /run/stay-deaf ] || continue
		rdma resource show qp | awk '/type GSI state ERR/ { sub("/.*", "", $2); print $2 }' | while read -r device; do
			echo "$device had gone deaf and was made anew, $(cut -d' ' -f1 /proc/uptime) s after the boot"
			rdma link delete "$device" && rdma link add "$device" type rxe netdev "eth${device#rxe}"
		done
	done
}

# Where the kernel's workers wait, but for those that wait for work.
workers() {
	local stack
	for stack in /proc/[0-9]*/stack; do
		grep -q '^Name:.*\(kworker\|rmmod\|dsctl\)' "${stack%stack}status" || continue
		grep -qv '\(worker_thread\|rescuer_thread\|kthread\|ret_from_fork\)' "$stack" || continue
		echo "$(tr '\0' ' ' < "${stack%stack}comm"):"
		cat "$stack"
	done
}

tell() {
	dsctl peer show
	rdma resource show qp
	rdma resource show cm_id
	grep -H -v '^0$' /sys/class/infiniband/*/ports/1/hw_counters/*
	ip -brief address
	ip neighbour
	workers
	dmesg | tail -n 20
} 2>&1

"$@"

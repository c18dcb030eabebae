# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What a scenario does on each node: `on N bash /share/node.sh VERB`.
#
#   load           insmod ds.ko, if it is not loaded
#   configure      node number and trust domain 1
#   clean          delete spaces, peers, segments and domains; lists what would not go
#   unload         rmmod ds
#   gauges         what must be back where it was: KEY VALUE lines
#   free           KiB of free memory, caches dropped
#   heal           forever: make an RDMA device anew that has gone deaf
#   tell           what is known about connections, for whoever reads a failure
set -uo pipefail

slow=$(cat /share/slow)
dsctl() { timeout -k 5 $((60 * slow)) /ds/bin/dsctl -q "$@"; }

# What is configured, by one process: lines "space ID", "peer ADDRESS DIRECTION", "seg ID".
configured() {
	printf '%s show\n' space peer seg | dsctl batch - | awk '
		$1 == "SPACE" { what = $2 == "DOMAIN" ? "space" : ""; next }
		$1 == "NODE" { what = "peer"; next }
		$1 == "SEGMENT" { what = "seg"; next }
		NF && what { print what, what == "peer" ? $2 " " $4 : $1 }'
}

load() {
	keep_few_pages
	[ -e /run/healed ] || setsid bash /share/node.sh heal < /dev/null >> /run/healed 2>&1 &
	[ -d /sys/module/ds ] || insmod /ds/ds.ko
}

configure() {
	load && dsctl node set "$DS_NODE" && dsctl node domain add 1 --key /share/key
}

clean() {
	[ -d /sys/module/ds ] || return 0
	configured | awk '$1 != "peer" || $3 == "out" { print $1, "del", $2 }' | dsctl batch - --force
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

gauges() {
	# Sorted, as a device that was made anew comes last.
	rdma resource show | awk '{ for (i = 3; i < NF; i += 2) print $2 $i, $(i + 1) }' | sort
	[ -d /sys/module/ds ] || return 0
	echo "module-users $(< /sys/module/ds/refcnt)"
	echo "tokens $(< /sys/kernel/debug/ds/tokens)"
	dsctl stat show --object module --csv | awk -F, '
		{ n[$3] = $4 }
		END {
			print "keys", n["keys_registered"] - n["keys_revoked"]
			print "connections", n["connects"] - n["disconnects"]
		}'
	configured | awk '
		{ n[$1]++ }
		END { print "space", n["space"] + 0; print "peer", n["peer"] + 0; print "seg", n["seg"] + 0 }'
}

# Processors keep freed pages for themselves, as many as the zone's low watermark
# (50 MiB here), which no counter shows as free. Not these.
keep_few_pages() { echo 100000 > /proc/sys/vm/percpu_pagelist_high_fraction; }

free() {
	sync
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

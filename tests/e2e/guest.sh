# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Runs scenarios on node 1, one after the other, and the leak gate after each:
#
#   guest.sh NAME...
#
# The gate: everything that was configured can be deleted; then each gauge of
# each node is where it was and memory is free again; then the module can be
# unloaded, and the RDMA devices hold what they held before it was loaded. A
# kernel with kmemleak is asked for lost memory before and after that.

# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
tolerance_kib=4096	# page tables, per-CPU lists and the like come and go
# So do the records of a kernel that checks itself. Still less than a segment of 16 MiB.
[ ! -e /sys/kernel/debug/kmemleak ] || tolerance_kib=12288

node() { on_node "$1" bash /share/node.sh "${@:2}"; }

# gather FOLDER VERB: from each node
gather() {
	local n pids=() pid failed=0
	mkdir -p "$1"
	for n in $nodes; do
		node "$n" "$2" > "$1/$2.$n" & pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	return "$failed"
}

same_gauges() {
	local n failed=0
	gather "$2" gauges || return
	for n in $nodes; do
		diff "$1/gauges.$n" "$2/gauges.$n" | sed "s/^/# node $n: /" > "$2/diff.$n"
		[ ! -s "$2/diff.$n" ] || failed=1
	done
	return "$failed"
}

# back_at BEFORE AFTER: in a while, as some things are freed by workers
back_at() {
	eventually 15 same_gauges "$1" "$2" || { cat "$2"/diff.*; return 1; }
}

# The caches of the allocators fill in the first seconds, so a little is normal.
same_memory() {
	local n lost failed=0
	gather "$2" free
	for n in $nodes; do
		lost=$(($(cat "$1/free.$n") - $(cat "$2/free.$n")))
		[ "$lost" -le "$tolerance_kib" ] || { echo "# node $n has $lost KiB less than before"; failed=1; }
	done
	return "$failed"
}

# Nodes that a scenario killed or paused come back.
revive() {
	local n
	for n in $nodes; do
		vm resume "$n" > /dev/null 2>&1
		vm link "$n" 0 up > /dev/null 2>&1
		on_node "$n" true 2> /dev/null || { vm boot "$n" && echo "$n" >> "$state/rebooted"; }
	done
}

before() {
	rm -rf "$state"
	mkdir -p "$state"
	on_each bash /share/node.sh unload && on_each lost-memory forget && gather "$state/bare" gauges &&
		on_each bash /share/node.sh load && gather "$state/before" gauges && gather "$state/before" free
}

# Memory of a machine that was booted anew cannot be compared.
forgive_rebooted() {
	local n
	[ -e "$state/rebooted" ] || return 0
	while read -r n; do
		node "$n" load
		node "$n" free > "$state/before/free.$n"
	done < "$state/rebooted"
}

# What was helped along says so.
tell_healed() {
	local n
	for n in $nodes; do
		on_node "$n" sh -c 'cat /run/healed && : > /run/healed' | sed "s/^/# node $n: /"
	done
}

leak_gate() {
	local n
	revive
	forgive_rebooted
	tell_healed
	on_each bash /share/node.sh clean
	check "$1: all of it can be deleted" eventually 30 on_each bash /share/node.sh clean_domains
	check "$1: every count is back at its start" back_at "$state/before" "$state/after"
	check "$1: memory is free again" same_memory "$state/before" "$state/after"
	check "$1: no memory is lost" on_each lost-memory
	check "$1: the module can be unloaded" on_each bash /share/node.sh unload
	check "$1: no memory is lost by unloading" on_each lost-memory
	check "$1: the devices hold what they held" back_at "$state/bare" "$state/unloaded"
}

state=/run/e2e
for scenario in "$@"; do
	echo "# ---- $scenario"
	start=$(now_ms)
	echo 1..8
	if ! before; then
		result 1 "$scenario: the nodes are ready"
		echo "Bail out! No scenario can run."
		exit 1
	fi
	within "${SCENARIO_LIMIT:-600}" bash "/share/scenarios/$scenario.sh" 2>&1
	result "$?" "$scenario: came to its end"
	leak_gate "$scenario"
	echo "# $scenario took $((($(now_ms) - start) / 1000)) s"
done

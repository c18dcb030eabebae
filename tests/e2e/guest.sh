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
tolerance_kib=6144	# page tables, per-CPU lists and the like come and go
# So do the records of a kernel that checks itself. Still less than a segment of 16 MiB.
[ ! -e /sys/kernel/debug/kmemleak ] || tolerance_kib=12288

node() { on_node "$1" bash /share/node.sh "${@:2}"; }

# gather VERB: what each node says, to $state/VERB.NODE
gather() {
	local n pids=() pid failed=0
	for n in $nodes; do
		node "$n" "$1" > "$state/$1.$n" & pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	return "$failed"
}

# same VERB PLACE...: what each node says is what it said in the beginning, in
# these places; of the module in a while, as some things are freed by workers
same() {
	local n places=${*:2} failed=0
	gather "$1" || return
	for n in $nodes; do
		diff <(grep -E "^(${places// /|}) " "$state/ready.$n") <(grep -E "^(${places// /|}) " "$state/$1.$n") |
			sed "s/^/# node $n: /" > "$state/diff.$n"
		[ ! -s "$state/diff.$n" ] || failed=1
	done
	return "$failed"
}

back_at_start() { eventually 15 same "$@" || { cat "$state"/diff.*; return 1; }; }

free_kib() { awk '$1 == "memory" { print $3 }' "$state/$1.$2"; }

# The caches of the allocators fill in the first seconds, so a little is normal.
same_memory() {
	local n lost failed=0
	for n in $nodes; do
		! grep -qsx "$n" "$state/rebooted" || continue
		lost=$(($(free_kib ready "$n") - $(free_kib settled "$n")))
		[ "$lost" -le "$tolerance_kib" ] || { echo "# node $n has $lost KiB less than before"; failed=1; }
	done
	return "$failed"
}

# A node that the scenario killed or paused comes back. Memory of a machine that was
# booted anew cannot be compared; the scenario says whether it did that.
revive() {
	vm resume "$1" > /dev/null 2>&1
	vm link "$1" 0 up > /dev/null 2>&1
	on_node "$1" true 2> /dev/null || { vm boot "$1" && echo "$1" >> "$state/rebooted"; }
	! grep -qsx "$1" "$state/rebooted" || node "$1" load
}

revive_all() {
	local n
	for n in $nodes; do revive "$n" & done
	wait
}

before() {
	rm -rf "$state"
	mkdir -p "$state"
	gather ready
}

# Only a kernel of scripts/debug-kernel can look for it.
no_lost_memory() { [ ! -e /sys/kernel/debug/kmemleak ] || on_each lost-memory; }

leak_gate() {
	revive_all
	gather clean
	sed 's/^/# /' "$state"/clean.*
	check "$1: all of it can be deleted" eventually 30 on_each bash /share/node.sh clean_domains
	check "$1: every count is back at its start" back_at_start settled device module
	check "$1: memory is free again" same_memory
	check "$1: no memory is lost" no_lost_memory
	check "$1: the module can be unloaded" gather leave
	check "$1: no memory is lost by unloading" no_lost_memory
	check "$1: the devices hold what they held" back_at_start leave bare
}

# Processes that are all at the same addresses start soon, but might hide who takes one's for another's.
[ -z "${SOAK:-}" ] || on_each sh -c 'echo 2 > /proc/sys/kernel/randomize_va_space'

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

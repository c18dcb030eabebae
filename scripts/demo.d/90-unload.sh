# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables of run.sh

unload() {
	# The store's master was told to end, and lets go of /dev/ds when it has.
	for _ in $(seq 100); do
		pidof dsmasterd > /dev/null || break
		sleep 0.1
	done
	for node in $nodes; do
		[ "$node" != 2 ] || continue	# it is dead
		at "$node" rmmod ds
		at "$node" rdma resource show
	done
	note "is that what there was before the module was loaded?"
	for node in $nodes; do
		[ "$node" = 2 ] || same_counts "$(cat "/run/resources-$node")" "$(resources "$node")"
	done
}
# Devices may have got new numbers since.
same_counts() { [ "${1#*: }" = "${2#*: }" ]; }
step 'Unload the module: nothing stays behind' unload

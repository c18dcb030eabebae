# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables of run.sh

unload() {
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

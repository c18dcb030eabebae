# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables of run.sh and 17-store.sh
#
# What the lost server had of the object store.

is_repaired() { quietly "$compute" dsctl -j obj stat --space 3 | grep -q '"incomplete":0,'; }

repair() {
	note "node 2 is lost; what it had is on another server, too"
	same_image
	note "and the master makes it anew, on node 3 and on this machine"
	for _ in $(seq 60); do
		! is_repaired || break
		sleep 0.5
	done
	at "$compute" dsctl obj stat --space 3
	kill_master
	start_master
	at "$compute" dsctl obj check --space 3
	same_image
	kill "$(cat /run/master.pid)"
}
step 'The object lives: read from the other replica, and made anew where there is memory' repair

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables of run.sh
#
# An object store: the kernel image in two replicas. Later a server is lost
# (20-faults.sh), and what it had is made anew (25-repair.sh).

store=/root/store	# folder of the metadata

# The master, in the background, until it is ready.
start_master() {
	rm -f /run/master
	echo "node$compute# dsmasterd --space 3 --store $store${*:+ $*} &"
	dsmasterd --space 3 --store "$store" "$@" > /run/master 2>&1 &
	echo "$!" > /run/master.pid
	for _ in $(seq 100); do
		! grep ' serves ' /run/master || return 0
		sleep 0.1
	done
	cat /run/master
	return 1
}

kill_master() {
	note "kill -KILL: the master's end"
	kill -KILL "$(cat /run/master.pid)"
}

same_image() {
	quietly "$compute" rm -f /root/copy
	at "$compute" dsctl obj get kernel /root/copy --space 3
	cmp "$image" /root/copy
	note "it is the image, byte by byte"
}

make_store() {
	at "$compute" dsctl peer add "10.77.0.$compute"
	# Node 2 is the one that will be lost; the first one has the table of the clients.
	for node in 3 2 $compute; do
		at "$node" dsctl -q seg add 32M --name "objects-$node" > /run/segment
		sed 1q /run/segment
		at "$compute" dsctl seg attach "$node:$(tail -n 1 /run/segment)" --space 3 --servers 3 --size 32M
	done
	start_master --create
	at "$compute" dsctl obj put kernel "$image" --replicas 2 --space 3
	at "$compute" dsctl obj check --space 3
}
step 'An object store, with memory of this machine, too: the kernel image in two replicas' make_store

restart_master() {
	kill_master
	start_master
	at "$compute" dsctl obj show --space 3
	same_image
}
step 'Its master is killed and started again: nothing that it acknowledged is lost' restart_master

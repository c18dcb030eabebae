# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables of run.sh
#
# From bare machines to a file in memory that others lend.

# What the RDMA devices of a node hold.
resources() { quietly "$1" rdma resource show; }

load_module() {
	for node in $nodes; do
		resources "$node" > "/run/resources-$node"
		at "$node" modprobe libcrc32c
		at "$node" insmod /share/ds.ko
	done
	at "$compute" dsctl version
	at "$compute" dsctl node dev
}
step 'Load the kernel module on all machines' load_module

name_nodes() {
	at "$compute" dsctl node keygen /root/pool.key
	for node in $nodes; do
		[ "$node" = "$compute" ] || {
			note "the same key goes to node $node"
			on -i "$node" sh -c 'umask 077; cat > /root/pool.key' < /root/pool.key
		}
		at "$node" dsctl node set "$node"
		at "$node" dsctl node domain add 1 --key /root/pool.key
	done
}
step 'Give each machine a number, and all of them one key: they trust each other' name_nodes

export_memory() {
	for node in $servers; do
		at "$node" dsctl seg add 64M --name "pool-$node"
	done
	at "${servers%% *}" dsctl seg show
}
step 'Two machines lend 64 MiB each' export_memory

connect() {
	for node in $compute $reader; do
		for server in $servers; do
			at "$node" dsctl peer add "10.77.0.$server"
		done
	done
	at "$compute" dsctl peer show
}
step 'The machines that use it connect to them' connect

attach() {
	for node in $compute $reader; do
		for server in $servers; do
			at "$node" dsctl seg attach "$server:1" --space 1 --servers 2 --size 64M
		done
	done
	at "$compute" dsctl space show
}
step 'and attach their memory as one space of 128 MiB' attach

explain() {
	at "$compute" dsctl addr explain 0x14200040 --space 1
}
step 'What an address means' explain

put_and_get() {
	local size
	size=$(stat -c %s "$image")
	at "$compute" ls -l "$image"
	at "$compute" dsctl mem put "$image" --at "$base" --stripe "$stripe"
	at "$reader" dsctl mem get /root/copy --at "$base" --length "$size" --stripe "$stripe"
	at "$compute" sha256sum "$image"
	at "$reader" sha256sum /root/copy
	same_sum "$(quietly "$reader" sha256sum /root/copy)"
}
step "Put this machine's kernel image into it, get it on another machine" put_and_get

same_sum() {
	local own
	own=$(sha256sum "$image")
	[ "${own%% *}" = "${1%% *}" ] || { echo "the copy differs"; return 1; }
	note "the copy is the same, byte by byte"
}

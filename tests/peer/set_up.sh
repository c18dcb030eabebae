# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The machines of the test peer's tests: node 1 uses memory of node 2 all the
# time; node 3 is the attacker, in user space. Sourced on node 1.
group=0x1122334455667788
load_base=0x10200000	# of space 1: where node 1's memory begins

ds_module() {	# NODE PARAMETER...
	local node=$1
	shift
	on "$node" sh -c 'rmmod ds 2>/dev/null; insmod /ds/ds.ko "$@"' insmod "$@"
}

set_up() {
	local node domain
	head -c 32 /dev/urandom > /run/1.key && head -c 32 /dev/urandom > /run/2.key || return
	# Few places, so that floods reach the limits.
	ds_module 2 max_peers=48 max_attaches=4 || return
	for node in 1 2 3; do
		for domain in 1 2; do
			on -i "$node" sh -c "umask 077; cat > /run/domain$domain.key" < /run/$domain.key || return
		done
	done
	for node in 1 2; do
		on "$node" dsctl -q node set "$node" --group "$group" &&
		on "$node" dsctl -q node domain add 1 --key /run/domain1.key &&
		on "$node" dsctl -q node domain add 2 --key /run/domain2.key || return
	done
	on 3 ip addr add 10.77.0.33/24 dev eth0 &&
	on 2 dsctl -q seg add 64M --domain 1 &&			# 1: node 1's
	on 2 dsctl -q seg add 9M --domain 1 &&			# 2: scratch
	on 2 dsctl -q seg add 4M --domain 1 --access r &&	# 3: read only
	on 2 dsctl -q seg add 4M --domain 1 --access rw &&	# 4: no atomics
	on 2 dsctl -q seg add 4M --domain 2 &&			# 5: another domain's
	on 2 dsctl -q seg add 4M --domain 1 &&			# 6: to be revoked
	dsctl -q peer add 10.77.0.2 --domain 1 &&
	dsctl -q seg attach 2:1 --space 1 --servers 1 --size 64M --domain 1
}

# Node 1's use of memory: each failure is a line in /run/load.failed.
load() {
	local round=0 word=$((load_base + 0x1000000))
	while [ ! -e /run/load.stop ]; do
		round=$((round + 1))
		dsctl -q mem fill $load_base 256K --pattern $round &&
		dsctl -q mem verify $load_base 256K --pattern $round &&
		dsctl -q mem add $word 1 > /dev/null || echo "round $round" >> /run/load.failed
		echo $round > /run/load.rounds
		sleep 0.3
	done
}

start_load() {
	rm -f /run/load.*
	: > /run/load.failed
	load > /run/load.said 2>&1 &
	load_pid=$!
}

stop_load() {
	: > /run/load.stop
	wait "$load_pid"
}

attack() { on 3 dspeer attack --group $group --key /run/domain1.key --other-key /run/domain2.key --other-from 10.77.0.33 "$@"; }

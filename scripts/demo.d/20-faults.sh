# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables of run.sh
#
# The same while links and devices come and go.

# put_on, get_on: one transfer each, silent when it is right
put_once() { quietly "$compute" dsctl -q mem put "$image" --at "$base" --stripe "$stripe"; }
get_once() {
	local own
	own=$(sha256sum "$image")
	quietly "$reader" sh -c "rm -f /root/copy &&
		dsctl -q mem get /root/copy --at $base --length $(stat -c %s "$image") --stripe $stripe &&
		echo '${own%% *}  /root/copy' | sha256sum -c > /dev/null"
}

# again NAME FUNCTION: until /run/enough is there; the last one begins after that.
again() {
	local count=0 last=0 slowest=0 start took
	while [ "$last" = 0 ]; do
		[ ! -e /run/enough ] || last=1
		start=${EPOCHREALTIME/[.,]/}
		"$2" || { echo "$1 failed"; return 1; }
		took=$(((${EPOCHREALTIME/[.,]/} - start) / 100000))
		[ "$took" -le "$slowest" ] || slowest=$took
		count=$((count + 1))
	done
	echo "$1: $count times, all right; the slowest took $((slowest / 10)).$((slowest % 10)) s"
}

# Transfers in both directions while the commands given as a function run.
under_load() {
	local put get status=0
	rm -f /run/enough
	note "node $compute puts the image, node $reader gets it and compares, over and over"
	again "put on node $compute" put_once & put=$!
	again "get on node $reader" get_once & get=$!
	sleep 1
	"$1" || status=1
	touch /run/enough
	wait "$put" || status=1
	wait "$get" || status=1
	return "$status"
}

unplug() {
	note "the cable of node 2 is pulled"
	vm link 2 0 down
	sleep 4
	note "and plugged in again 4 s later"
	vm link 2 0 up
}
link_flap() { under_load unplug; }
step 'The same while a link goes down and comes back' link_flap

replace_device() {
	at 3 rdma link delete rxe0
	sleep 2
	at 3 dsctl seg show
	at 3 rdma link add rxe0 type rxe netdev eth0
}
device_flap() { under_load replace_device; }
step 'The same while an RDMA device is deleted and added again' device_flap

counter=0x12000000
each=500
add_up() {
	local old new adder
	at "$compute" dsctl mem read "$counter" 8
	old=$(quietly "$compute" dsctl -q mem add "$counter" 0)
	note "$each additions on node $compute and $each on node $reader, at the same time"
	at "$reader" dsctl mem bench "$counter" --op add --count "$each" > /run/adder & adder=$!
	at "$compute" dsctl mem bench "$counter" --op add --count "$each"
	wait "$adder"
	at "$compute" dsctl mem read "$counter" 8
	new=$(quietly "$compute" dsctl -q mem add "$counter" 0)
	echo "before: $old, after: $new, difference: $((new - old))"
	[ $((new - old)) = $((2 * each)) ]
}
step 'Additions from two machines to one word add up exactly' add_up

lose_server() {
	note "node 2 loses power"
	vm kill 2
	at_fails 'node 2' "$compute" dsctl --timeout 5s mem read "$base" 32
	at "$compute" dsctl mem read 0x14000000 32
	note "the memory of node 3 is still there"
	at "$compute" dsctl space show
}
step 'A server dies: its memory answers with an error, the rest goes on' lose_server

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Something goes away while a failpoint holds what uses it: connections, devices,
# segments, spaces, programs and modules, while keys are made, handed over and
# taken away. What waits ends in time, with an error and a remedy; nothing stays.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 38

hold() { # hold NODE FAILPOINT [MS]
	on_node "$1" sh -c "echo 'delay ${3:-$((1000 + 1000 * slow))} 1' > /sys/kernel/debug/ds/failpoints/$2"
}
held() { # held NODE FAILPOINT: something waits there
	! on_node "$1" grep -q delay "/sys/kernel/debug/ds/failpoints/$2"
}
at() { eventually 10 held "$@" || echo "# nobody came to $2 of node $1"; }
replug() { on_node "$1" rdma link delete rxe0 && on_node "$1" rdma link add rxe0 type rxe netdev eth0; }

# ended NAME: with an error that says what to do, not by its limit
ended() {
	local status
	finish "$1"
	status=$?
	sed "s/^/# $1, status $status: /" "/run/$1.err"
	[ "$status" != 0 ] && [ "$status" -lt 124 ] && grep -q '^  fix: ' "/run/$1.err"
}
keys() { on_node 2 bash /share/node.sh gauges | awk '$2 == "keys" { print $3 }'; }
no_keys() { [ "$(keys)" = 0 ]; }
connected() { dsctl peer show | grep '10.77.0.2' | grep ' up '; }
attach() { start attach 1 dsctl --timeout 20s seg attach "2:$1" --space 1 --servers 1; }

# The segment works again, as something new: whatever was before must be gone.
works() {
	within 20 dsctl -q space del 1 2> /dev/null
	eventually 10 no_keys || return
	connected > /dev/null || within 30 dsctl -q peer add 10.77.0.2 > /dev/null 2>&1
	eventually 30 connected || return
	within 20 dsctl -q seg attach "2:$1" --space 1 --servers 1 > /dev/null &&
		within 60 dsctl -q mem fill "$first" 64K --pattern 3 &&
		within 60 dsctl -q mem verify "$first" 64K --pattern 3 && within 20 dsctl -q space del 1
}

again() { within 20 dsctl -q --timeout 15s peer add 10.77.0.2 > /dev/null; }

configure
segment=$(lend 2 16M)

hold 1 conn_open
start peer 1 dsctl -q peer add 10.77.0.2
at 1 conn_open
check "a connection is made, the peer goes" within 20 dsctl -q peer del 10.77.0.2
check "the command ends" ended peer
sleep $((2 + slow))	# what would be made now, belonged to nobody
check "nothing holds the device" replug 1
join 1 2

hold 2 seg_register
attach "$segment"
at 2 seg_register
check "keys are made, the client ends the connection" within 20 dsctl -q peer del 2
check "the attach ends" ended attach
check "then it works" works "$segment"

for node in 2 1; do
	hold 2 seg_register
	attach "$segment"
	at 2 seg_register
	check "keys are made, the device of node $node goes" replug "$node"
	check "the attach ends" ended attach
	check "then it works" works "$segment"
done

hold 2 seg_register
attach "$segment"
at 2 seg_register
pkill -KILL -x dsctl
finish attach
check "keys are made, the program that asked is killed: the space goes" within 20 dsctl -q space del 1
check "then it works" works "$segment"

hold 2 seg_register
attach "$segment"
at 2 seg_register
check "keys are made, the segment goes" on_node 2 dsctl -q seg del "$segment"
finish attach	# well or not: the keys were made before the segment went
check "they are of no use" fails '1|3|4|6' . dsctl --timeout 5s mem read "$first" 64
segment=$(lend 2 16M)
check "then another one works" works "$segment"

hold 1 attach_keys
attach "$segment"
at 1 attach_keys
check "keys have come, the device goes" replug 1
check "the attach ends" ended attach
check "then it works" works "$segment"

# An operation waits for the host to read a token, while the host is held. The device does not
# wait for the operation: it is told.
expands() { dsctl -j token stat | grep -o "\"(fetch)\",\"name\":\"expand_$1\",\"[a-z]*\":[0-9]*" | grep -o '[0-9]*$'; }
within 20 dsctl -q seg attach "2:$segment" --space 1 --servers 1 > /dev/null
gone=$(expands gone)
on_node 1 sh -c "echo 'fail 11 1' > /sys/kernel/debug/ds/failpoints/token_read"
hold 1 token_host
start read 1 dsctl --timeout 20s mem read "$first" 64
at 1 token_host
check "a token is asked for, the device goes" replug 1
finish read
status=$?	# the library may have tried again with the device that came
sed 's/^/# read: /' /run/read.err
check "the operation ends ($status)" [ "$status" -lt 124 ]
check "it was told that its device was gone" [ "$(expands gone)" = $((gone + 1)) ]
check "then it works" works "$segment"

# Under load; the client answers a revoke late, or not at all.
load() {
	within 20 dsctl -q seg attach "2:$segment" --space 1 --servers 1 > /dev/null
	start load 1 dsctl mem bench "$first" --op write --size 16K --depth 16 --span 8M --seconds 60s
	eventually 20 grep -qv '^0' /sys/module/ds/refcnt
	sleep 1
}
load
check "under load the space goes" within 20 dsctl -q space del 1
check "the program ends" ended load

load
check "under load the server is detached" within 20 dsctl -q seg detach --space 1 --server 0
check "the program ends" ended load
check "then it works" works "$segment"

# A chain is about to be posted, so its keys must live until it has come back: were
# they taken away before that, it would cost the connection. The server waits 2 s for that,
# however slow the kernel is.
load
ended_before=$(stat_of 1 disconnects)
hold 1 request_post 1500
at 1 request_post
start detach 1 dsctl -q seg detach --space 1 --server 0
sleep 0.5	# it waits for the chain
on_node 2 dsctl -q seg revoke "$segment"
finish detach
check "keys go, and so does the server of the space: the chain in between ends" [ $? = 0 ]
finish load
is "no connection was lost by that" "$(stat_of 1 disconnects)" "$ended_before"

load
hold 2 seg_revoke
start revoke 2 dsctl -q seg revoke "$segment"
at 2 seg_revoke
replug 1
finish revoke
check "under load keys go, and the client's device" [ $? = 0 ]
check "the program ends" ended load
check "then it works" works "$segment"

# Requests wait behind each other for storage that is slow. The connection ends: nobody can get
# their answers, and who connects anew waits for the one that has begun, and for no other.
on_node 2 modprobe brd rd_nr=1 rd_size=1024
disk=$(lend 2 1M --access rw --file /dev/ram0)
on_node 2 dsctl -q rdm space add 5 --segment "$disk" --kind direct
place=$(within 20 dsctl -q rdm alloc 4K --space 5 --node 2 | grep -o '0x[0-9a-f]*')
head -c 64 /dev/zero > /run/data
on_node 2 sh -c "echo 'delay 5000 100' > /sys/kernel/debug/ds/failpoints/storage"
for i in 1 2 3 4 5 6 7 8; do
	start "write$i" 1 dsctl -q rdm write "$place" --file /run/data --persistent --space 5 --node 2
done
sleep $((7 + slow))
check "storage is slow, the client ends the connection" within 20 dsctl -q peer del 2
check "it connects again" again
on_node 2 sh -c "echo off > /sys/kernel/debug/ds/failpoints/storage"
for i in 1 2 3 4 5 6 7 8; do finish "write$i"; done
on_node 2 dsctl -q rdm space del 5 && on_node 2 dsctl -q seg del "$disk"

hold 2 seg_register
attach "$segment"
at 2 seg_register
check "keys are made, the server's module goes" on_node 2 rmmod ds
check "the attach ends" ended attach
on_node 2 bash /share/node.sh load

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A B+tree over two servers: what it costs in round trips and packets, two hosts
# that fill it at the same time, links that fail meanwhile, a server that goes.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 17

keys=$(counts 1000 100000)
LOAD_LIMIT=$(counts 120 2400)
configure
for node in 2 3; do lend "$node" 16M > /dev/null; done
for node in 1 2; do pool "$node" 2 3; done

check "no tree yet" fails 4 'holds no pool' dsctl tree show
check "a tree" dsctl -q tree create 1
check "only once" fails 5 'a tree 1 already' dsctl tree create 1
check "keys" dsctl -q tree bench --op put --keys "$keys" --depth 16

# costs OPERATION ROUND_TRIPS [OPTION...]: of each, exactly. On a busy host a machine may stand still for
# longer than others wait for it: then those who were answered go on alone, in a round trip more.
costs() {
	local try
	for try in 1 2 3; do
		dsctl -j tree bench --op "$1" --keys "$keys" --count 480 "${@:3}" > /run/bench || return
		[ "$(number round_trips /run/bench)" != "$2" ] || break
		echo "# $1 ${*:3}: $(number round_trips /run/bench) round trips, run $try"
	done
	is "$1 ${*:3}: $2 round trips" "$(number round_trips /run/bench)" "$2"
}
costs get 1
costs missing 1
costs update 2
costs get 0.0625 --depth 16

# A lookup is a request of one packet and an answer of two (1 KiB and the header), on
# whatever node this is; heartbeats and the opening of the tree come on top.
sent() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts; }
duplicates() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/duplicate_request; }
before=$(sent)
dsctl -q tree bench --op get --keys "$keys" --count 50 > /dev/null
middle=$(sent)
dsctl -q tree bench --op get --keys "$keys" --count 1050 > /dev/null
lookups=$((($(sent) - middle) - (middle - before)))
echo "# 1,000 lookups more sent $lookups packets more; duplicates: $(duplicates)"
check "a lookup is one packet out" [ $((lookups > 950 && lookups < 1100)) = 1 ]

seq 1 "$keys" | awk '{ print $1 * 2, $1 }' > /run/even
seq 1 "$keys" | awk '{ print $1 * 2 + 1, $1 }' > /run/odd
on -i 2 sh -c 'cat > /run/odd' < /run/odd
check "a second tree" dsctl -q tree create 2
start even 1 dsctl -q tree load /run/even --tree 2 --insert
start odd 2 dsctl -q tree load /run/odd --tree 2 --insert
finish even; first_status=$?
finish odd
is "two hosts fill it at the same time" "$first_status $?" "0 0"
check "all of one is there" dsctl -q tree verify /run/even --tree 2
check "and of the other" dsctl -q tree verify /run/odd --tree 2
check "the other host sees it" on_node 2 dsctl -q tree verify /run/odd --tree 2

start reader 1 dsctl -q tree verify /run/odd --tree 2 --depth 1
sleep 0.5
vm link 2 0 down
sleep 3
vm link 2 0 up
finish reader
is "a link that fails is waited for" "$?" 0
check "the trees are whole" sh -c 'dsctl -q tree check && dsctl -q tree check --tree 2'
vm link 3 0 down
check "a server that does not answer is an error" \
	fails '3|8' '.' dsctl --timeout 3s tree verify /run/even --tree 2
vm link 3 0 up

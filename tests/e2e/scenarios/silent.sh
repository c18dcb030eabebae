# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A host falls silent while a client has many operations of a tree under way there and
# elsewhere. Until its connection is given up nobody knows; what the client had locked
# elsewhere it gives back all the same, so nobody waits a lease for it and fences it.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 7

lease=1000	# ms, if not set

tree() { within 60 dsctl -q tree "$@"; }
# took COMMAND...: how long it takes, in $ms; what fails is counted.
took() {
	local started
	started=$(now_ms)
	"$@" > /dev/null < /dev/null || failed=$((failed + 1))
	ms=$(($(now_ms) - started))
}
connected() { dsctl peer show | grep '10.77.0.2' | grep ' up '; }

# A tree over both hosts, whose root and anchor are on this one.
plant() {
	local root
	for id in $(seq 1 8); do
		tree create "$id" > /dev/null && tree bench --op put --keys 1000 --tree "$id" > /dev/null || return
		root=$(dsctl -q tree show | awk -v id="$id" '$1 == id { print $4 }')
		[ $(((root - first) >> 24)) != 0 ] || return 0
	done
	return 1
}

configure
lend 1 16M > /dev/null
lend 2 16M > /dev/null
pool 1 1 2
check "a tree over two hosts" plant
tree scan --tree "$id" | awk 'NR % 40 == 1 { print $1 }' > /run/keys

vm pause 2
while read -r key; do
	within 20 dsctl -q --timeout 300ms tree get "$key" --tree "$id" > /dev/null 2>&1 < /dev/null && echo "$key"
done < /run/keys > /run/here
vm resume 2
echo "# $(wc -l < /run/here) of $(wc -l < /run/keys) keys are on this host"
some() { [ -s /run/here ] && [ "$(wc -l < /run/here)" != "$(wc -l < /run/keys)" ]; }
check "some keys are on this host, others not" some
check "the other one answers again" eventually 60 dsctl -q --timeout 2s tree scan --tree "$id"

start worker 1 dsctl -q tree bench --op update --keys 1000 --count 20000 --depth 64 --tree "$id"
sleep 1
running worker || echo "# it has ended already"
vm pause 2
began=$(now_ms)
longest_update=0 longest_get=0 waited=0 failed=0
while [ $(($(now_ms) - began)) -lt 5000 ]; do
	while read -r key; do
		took tree update "$key" 7 --tree "$id"
		[ "$ms" -le "$longest_update" ] || longest_update=$ms
		[ "$ms" -lt $((lease * slow)) ] || waited=$((waited + 1))
		took tree get "$key" --tree "$id"
		[ "$ms" -le "$longest_get" ] || longest_get=$ms
	done < /run/here
done
echo "# the others: the longest update took $longest_update ms, the longest get, which takes no lock, $longest_get ms"
vm resume 2
is "none of the others failed" "$failed" 0
check "nor waited for a lease" [ "$waited" -le 1 ]	# once, if the machine stood still for so long
finish worker
status=$?
sed 's/^/# worker: /' /run/worker.out /run/worker.err
is "the client went on: nobody has fenced it" "$status" 0
check "the tree is whole" tree check --tree "$id"

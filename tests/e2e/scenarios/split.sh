# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A memory server is killed while a client stands in the middle of a split of a tree
# over two servers. What the client then says, and what others find: each key has its
# value, or an error that names the server.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
rounds=$(counts 1 4)	# which of the two nodes is on which server changes
plan $((5 * rounds))

seq 10 10 3000 | awk '{ print $1, $1 }' > /run/keys
seq 5 10 3000 | awk '{ print $1, $1 }' > /run/more
awk 'NR % 50 == 0 { print $1 }' /run/keys > /run/sample

tree() { within 30 dsctl -q --timeout 2s tree "$@" --space "$space"; }

# A tree with keys, whose root is on the first server, which lives on.
plant() {
	local root
	for id in $(seq 1 8); do
		tree create "$id" > /dev/null && tree load /run/keys --insert --tree "$id" > /dev/null || return
		root=$(tree show | awk -v id="$id" '$1 == id { print $4 }')
		[ $(((root - first) >> 24)) != 0 ] || return 0
	done
	return 1
}

# Of the sample: answered, refused with the server's name, anything else
ask() {
	local key value
	answered=0 refused=0 strange=0
	while read -r key; do
		if value=$(tree get "$key" --tree "$id" 2> /run/said < /dev/null); then
			if [ "$value" = "$key" ]; then answered=$((answered + 1)); else strange=$((strange + 1)); fi
		elif grep -q 'node 3, server 1 of space' /run/said; then
			refused=$((refused + 1))
		else
			strange=$((strange + 1))
			sed "s/^/# $key: /" /run/said
		fi
	done < /run/sample
	echo "# $answered answered, $refused refused, $strange strange"
}
connected() { dsctl peer show | grep '10.77.0.3' | grep ' up '; }
stopped() { grep -q 'State:.T' "/proc/$(pgrep -x dsctl)/status"; }

configure
join 1 2 3
for space in $(seq "$rounds"); do
	if [ "$space" != 1 ]; then
		vm boot 3
		echo 3 >> /run/e2e/rebooted
		on_node 3 bash /share/node.sh configure
		eventually 60 connected
	fi
	for node in 2 3; do
		dsctl -q seg attach "$node:$(lend "$node" 16M)" --space "$space" --servers 2 > /dev/null
	done
	check "a tree over two servers" plant
	start worker 1 env DS_STOP_POINT="tree.split.right:$space" \
		dsctl -q --timeout 5s tree load /run/more --insert --tree "$id" --space "$space"
	check "a program stops in a split" eventually 30 stopped
	vm kill 3
	pkill -CONT -x dsctl
	started=$(now_ms)
	finish worker
	status=$?
	echo "# status $status after $(($(now_ms) - started)) ms"
	sed "s/^/# worker: /" /run/worker.out /run/worker.err
	check "it ends with an error that names the server" grep -q 'node 3, server 1 of space' /run/worker.err
	ask
	is "no key has another's value, no error lacks the name" "$strange" 0
	check "the other server's keys are there" [ "$answered" -gt 0 ]
done

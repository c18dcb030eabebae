# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# RDMA devices are deleted and added again under load, the server's and the
# client's in turn: operations go on each time, with the buffers that the
# program has mapped all the while, and the data is there.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
cycles=$(counts 4 100)
plan 4

configure
lend 2 16M > /dev/null
pool 1 2
within 60 dsctl -q mem fill "$first" 4M --pattern 7

LOAD_LIMIT=$(counts 200 8000)
start load 1 dsctl -j mem bench "$(address 0 8388608)" --op write --size 4K --depth 8 --span 4M \
	--keep-going --seconds "$(counts 45s 4000s)"
works() { within 20 dsctl -q --timeout 10s mem verify "$first" 64K --pattern 7; }
failed=0
for i in $(seq "$cycles"); do
	node=$((1 + i % 2))
	sleep 0.5
	on_node "$node" rdma link delete rxe0
	sleep "0.$((RANDOM % 9))"
	on_node "$node" rdma link add rxe0 type rxe netdev eth0
	eventually 30 works || { echo "# cycle $i, node $node"; failed=$((failed + 1)); }
done
is "after each of $cycles times operations go on" "$failed" 0
pkill -INT -x dsctl
finish load
status=$?
sed 's/^/# load: /' /run/load.out /run/load.err
check "the program under load ends with a result ($status)" grep -qw "$status" <<< "0 10 11 130"
check "some of its operations were done" [ "$(number executed /run/load.out)" -gt 0 ]
check "the data is what it was" within 60 dsctl -q mem verify "$first" 4M --pattern 7

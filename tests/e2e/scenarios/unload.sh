# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The module is unloaded: refused while a program has /dev/ds open, done in time
# while there are peers, on the client and on the server.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 10

configure
lend 2 16M > /dev/null
pool 1 2
pool 3 2
start load1 1 dsctl mem bench "$first" --op write --size 64K --depth 8 --span 4M --seconds 100s
start load3 3 dsctl mem bench "$(address 0 8388608)" --op read --size 4K --depth 4 --seconds 100s
sleep 2

check "with an open file it is refused" sh -c '! timeout 30 rmmod ds 2> /run/rmmod'
check "with a reason" grep -q 'in use' /run/rmmod
pid=$(pgrep -f 'mem bench' | while read -r p; do [ "$(readlink "/proc/$p/exe")" = /ds/bin/dsctl ] && echo "$p"; done)
within 20 dsctl module holders > /run/holders
sed 's/^/# /' /run/holders
check "'module holders' names the process" grep -Eq "^ *$pid +dsctl" /run/holders
check "the operations of the process go on" running load1

unload() {
	local start
	start=$(now_ms)
	LIMIT=30 on_node "$1" rmmod ds || return
	echo "# node $1: $(($(now_ms) - start)) ms"
}
check "the server unloads under load, within 30 s" unload 2
finish load1
status=$?
sed 's/^/# load 1: /' /run/load1.err
check "its client's program ends ($status) with an error that names it" grep -q 'node 2' /run/load1.err
finish load3
check "the other client's, too" grep -q 'node 2' /run/load3.err
check "nobody has the file open any more" sh -c "[ \$(cat /sys/module/ds/refcnt) = 0 ]"
check "a client with a peer and a space unloads within 30 s" unload 1

pool_again() {
	on_node 1 bash /share/node.sh configure && on_node 2 bash /share/node.sh configure &&
		lend 2 16M > /dev/null && pool 1 2
}
check "and both load again and work" pool_again

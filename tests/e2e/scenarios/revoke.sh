# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A segment is revoked, then deleted, while two nodes use it.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 12

configure
lend 2 16M > /dev/null
pool 1 2
pool 3 2
within 60 dsctl -q mem fill "$first" 1M --pattern 9
load() {
	start load1 1 dsctl mem bench "$(address 0 8388608)" --op write --size 16K --depth 8 --span 4M --seconds 60s
	start load3 3 dsctl mem bench "$first" --op read --size 4K --depth 8 --span 1M --seconds 60s
	sleep 2
}
ended() { # ended NAME PATTERN
	finish "$1"
	local status=$?
	sed "s/^/# $1, status $status: /" "/run/$1.err"
	grep -qw "$status" <<< "1 3 4 10 11" && grep -q "$2" "/run/$1.err"
}
states() { for node in 1 3; do on_node "$node" dsctl space show; done | grep -c " $1 "; }

load
check "revoke returns under load" on_node 2 dsctl -q seg revoke 1
check "the writer ends with an error that says so" ended load1 'revoked\|took'
check "the reader, too" ended load3 'revoked\|took'
is "both nodes show it" "$(states revoked)" 2
check "a later operation is refused at once" fails '1|3|4|6' '.' dsctl --timeout 5s mem read "$first" 64
for node in 1 3; do
	on_node "$node" dsctl -q seg detach --space 1 --server 0
	on_node "$node" dsctl -q seg attach 2:1 --space 1 --server 0
done
check "attached again, the data is what it was" within 60 dsctl -q mem verify "$first" 1M --pattern 9
check "on the other node, too" on_node 3 dsctl -q mem verify "$first" 1M --pattern 9

load
free=$(on_node 2 bash /share/node.sh free)
check "delete returns under load" on_node 2 dsctl -q seg del 1
check "the writer ends with an error" ended load1 .
check "the reader, too" ended load3 .
freed() { [ $(($(on_node 2 bash /share/node.sh free) - free)) -ge $((15 * 1024)) ]; }
check "the memory is free" eventually 10 freed
check "the segment is no more" fails '1|3|4' '.' dsctl seg attach 2:1 --space 2

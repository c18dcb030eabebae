# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A segment that is attached through two devices of its owner: atomics go
# through one of them only, reads and writes through both.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 13

configure
lend 2 16M > /dev/null
on_node 1 dsctl -q peer add 10.77.0.2
on_node 3 dsctl -q peer add 10.77.1.2
attach() { on_node "$1" dsctl -q seg attach 2:1 --space 1; }
detach() { on_node "$1" dsctl -q seg detach --space 1 --server 0; }

check "attached through rxe0" attach 1
check "in another space, too" dsctl -q seg attach 2:1 --space 2
check "which it leaves" dsctl -q seg detach --space 2 --server 0
check "an addition through rxe0" on_node 1 dsctl -q mem add "$first" 5
check "attached through rxe1, too" attach 3
check "an addition through rxe1 is refused" fails 6 'does not grant this access' on 3 dsctl mem add "$first" 7
check "a read through rxe1 is not" on_node 3 dsctl -q mem read "$first" 64
check "nor a write" on_node 3 dsctl -q mem fill "$(address 0 4096)" 4096 --pattern 3
is "the sum is of one addition" "$(word "$first")" 5
check "the first leaves" detach 1
detach 3
check "the second attaches anew" attach 3
check "and its device is the home of the atomics now" on_node 3 dsctl -q mem add "$first" 7
attach 1
check "not the first one's" fails 6 'does not grant this access' dsctl mem add "$first" 7

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What it costs to export 1 GiB, and to attach it.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 5

gib_kib=$((1 << 20))
free() { on_node 2 bash /share/node.sh free; }
taken() { echo $((before - $(free))); }

configure
join 1 2
before=$(free)
lend 2 1G > /dev/null
exported=$(taken)
trips=$(stat_of 1 msg_round_trips)
check "1 GiB is attached" within 60 dsctl -q seg attach 2:1 --space 1 --size 1G
trips=$(($(stat_of 1 msg_round_trips) - trips))
attached=$(taken)
echo "# 1 GiB takes $exported KiB exported, $attached KiB attached, $trips round trips to attach"
check "1 GiB takes at most 1 % more than 1 GiB" [ "$attached" -le $((gib_kib * 101 / 100)) ]
check "and at least 1 GiB: the memory is real" [ "$exported" -ge "$gib_kib" ]
check "attaching takes at most 100 round trips" [ "$trips" -le 100 ]
check "each part of it can be used" within 300 \
	dsctl -q mem bench "$first" --op write --size 4K --span 1G --random --count 300

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Programs that die, hang or are cut off while they hold locks of a tree: the others
# go on, and nothing that was cut off writes any more. Node 3 has the memory.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 22

configure
lend 3 16M > /dev/null
for node in 1 2; do pool "$node" 3; done
dsctl -q tree create 1
dsctl -q tree bench --op put --keys 200 > /dev/null
dsctl -q tree scan | awk 'NR % 25 == 1 { print $1 }' > /run/keys	# of all leaves
one=$(head -n 1 /run/keys)

# held NUMBER: the word of a client number says that it is taken
held() { dsctl -q mem read $((first + 0x8000 + $1 * 16 + 7)) 1 | grep -q '8[0-9a-f]'; }

# updated VALUE: node 1 sets the keys to it, within a time for each
updated() {
	local key
	while read -r key; do within 60 dsctl -q tree update "$key" "$1" < /dev/null || return; done < /run/keys
}
# same VALUE: they still have it
same() {
	dsctl -q tree scan | awk -v value="$1" '
		NR == FNR { wanted[$1]; next }
		$1 in wanted && $2 != value { print "#", $0; bad = 1 }
		END { exit bad }' /run/keys -
}

# A program on node 2 that stops while it holds a lock.
at_work() {
	start worker 2 env DS_STOP_POINT=tree.locked dsctl -q tree update "$one" 7
	# shellcheck disable=SC2016 # expanded there
	eventually 30 on_node 2 sh -c 'grep -q "State:.T" /proc/$(pgrep -x dsctl)/status'
}

# learned: it has gone on, and was refused, or noticed first that it was cut off
learned() {
	on_node 2 pkill -CONT -x dsctl
	finish worker && return 1
	sed 's/^/# /' /run/worker.err
	grep -qE 'fenced this client|not connected' /run/worker.err
}

# -- killed with a lock --
DS_CRASH_POINT=tree.locked dsctl -q tree update "$one" 1 2> /dev/null
is "killed while it holds a lock" "$?" 137
check "its number is taken" held 1
began=$(now_ms)
check "another host takes the lock" on_node 2 dsctl -q tree update "$one" 2
echo "# after $(($(now_ms) - began)) ms"
check "and its number" sh -c "! $(declare -f held); first=$first; held 1"
is "what it wrote is there" "$(dsctl -q tree get "$one")" 2
check "the tree is whole" dsctl -q tree check

# -- the whole host hangs --
at_work
vm pause 2
check "a host that hangs is not waited for" updated 1000
vm resume 2
check "its program learns that it was fenced" learned
check "and has written nothing since" same 1000
check "the tree is whole after that" dsctl -q tree check
check "it is connected again" eventually 60 on_node 2 dsctl -q tree get "$one"
check "and a new program works there" on_node 2 dsctl -q tree update "$one" 1000

# -- cut off --
at_work
vm link 2 0 down
check "nor is a host that is cut off" updated 2000
vm link 2 0 up
check "it learns it when it is back" learned
check "it has written nothing either" same 2000
check "it works again, too" eventually 60 on_node 2 dsctl -q tree update "$one" 2000

# -- cut off, and nobody wanted to know --
start patient 2 dsctl -q tree bench --op update --keys 200 --count 2000 --depth 1
sleep 1
vm link 2 0 down
sleep 12
vm link 2 0 up
finish patient
is "whom nobody has fenced goes on" "$?" 0
check "the tree is still whole" dsctl -q tree check

# -- stopped, then gone on --
at_work
check "a program that is stopped is fenced" updated 3000
check "and learns it" learned
check "it has written nothing since" same 3000
check "the tree is whole in the end" dsctl -q tree check

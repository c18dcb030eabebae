# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The token cache at work: what is counted, where tokens are, how they move, parameters.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 57

bench() { within 60 dsctl -q mem bench $first --op "$1" --count "$2" --depth 4 > /dev/null; }
# counted NAME: of rxe0, from a file of `dsctl -j token stat`
counted() { grep -o "\"rxe0\",\"name\":\"$1\",\"[a-z]*\":[0-9]*" "${2:-/run/stat}" | grep -o '[0-9]*$'; }
count() { dsctl -j token stat --device rxe0 > "${1:-/run/stat}"; }
sum() { echo $(($(echo "${@:-0}" | tr ' ' '+'))); }
hits() { sum "$(counted hits_l1 "$1")" "$(counted hits_l2 "$1")" "$(counted hits_l3 "$1")"; }
samples() { sum "$(counted look_ns_l1 "$1")" "$(counted look_ns_l2 "$1")" "$(counted look_ns_l3 "$1")"; }
# looked: since /run/before
looked() { echo $(($(hits /run/stat) - $(hits /run/before))); }
# between LEAST MOST NUMBER
between() { [ "$1" -le "$3" ] && [ "$3" -le "$2" ]; }

configure
lend 1 16M > /dev/null
lend 2 16M > /dev/null
pool 1 2
pool 2 1

# -- counters --
check "each look-up is timed from now on" dsctl -q token set LATENCY_SAMPLING=1
bench read 10
count /run/before
bench read 1000
bench write 1000
count
grown=$(looked)
echo "# look-ups: $grown, in L1 $(($(counted hits_l1) - $(counted hits_l1 /run/before)))"
# Heartbeats look up their queue pair's: one of each connection a second.
check "an operation looks up the tokens of its region and its queue pair, once" between 4000 5000 "$grown"
check "nearly all are in L1" [ $((($(counted hits_l1) - $(counted hits_l1 /run/before)) * 100 / grown)) -ge 95 ]
timed=$(($(samples /run/stat) - $(samples /run/before)))
check "all were timed ($timed of $grown)" [ "$timed" -eq "$grown" ]
check "none failed" [ "$(counted failed)" = "$(counted failed /run/before)" ]
check "tokens came into L1" [ "$(counted up_l1)" -gt 0 ]
is "it is known how long each took" "$(counted move_ns)" "$(counted up_l1)"
# All are of regions and queue pairs; and L1 has room for all, so none went down.
is "each by 16 bytes" "$(counted dma_bytes)" $((16 * $(counted up_l1)))
check "they are there" [ "$(counted tokens_l1)" -gt 0 ]
is "as many as are shown" "$(dsctl -j token show --tier 1 | grep -o '{"token"' | wc -l)" "$(counted tokens_l1)"
mapped=$(dsctl -j token map | grep -o '"l1":[0-9]*' | cut -d: -f2 | tr '\n' +)
is "as many as the mapped directory says" "$((${mapped}0))" "$(counted tokens_l1)"
dsctl -q token set LATENCY_SAMPLING=0
count /run/before
bench read 200
count
is "none is timed" "$(samples /run/stat)" "$(samples /run/before)"
check "but all are counted" between 400 600 "$(looked)"
dsctl -q token set LATENCY_SAMPLING=61
echo 0 > /sys/module/ds/parameters/token_cache
count /run/before
check "operations may pass the cache by" bench read 200
count
is "and are not counted" "$(hits /run/stat)" "$(hits /run/before)"
echo 1 > /sys/module/ds/parameters/token_cache
bench read 200
count
check "until they use it again" between 400 600 "$(looked)"

# -- tokens --
check "a queue pair in L1 has posted" sh -c 'dsctl -j token show --type qp --tier 1 | grep -q "\"state\":\"rts\".*\"posted\":[1-9]"'
check "for people, too" sh -c 'dsctl token show --type qp | grep -Eq " qp +rxe0 +[0-9]+ +L1 +[0-9]+ +[0-9]+ +RC rts, [0-9]+ posted"'
check "and a completion queue its vector" sh -c 'dsctl token show --type cq | grep -Eq " cq +rxe0 .* [0-9]+ entries, vector [0-9]+"'
start load 1 dsctl -q mem bench $first --op read --depth 4 --seconds 100s
check "token top sees the tiers at work" eventually 30 sh -c 'dsctl token top -b -n 1 | tee /run/top | grep -Eq "^L1 +[0-9]+ +[0-9.]*[1-9][0-9.]* +(9[0-9]|100)\.[0-9] %"'
sed 's/^/# /' /run/top
check "readers wait for tokens on their way" dsctl -q token set MIGRATION_BLOCKING=1
is "and the module says so" "$(dsctl -j token set | grep -o '"name":"MIGRATION_BLOCKING","value":[0-9]*')" '"name":"MIGRATION_BLOCKING","value":1'
sleep 1	# in which they met such tokens
check "operations go on" eventually 30 sh -c 'dsctl -j token top -n 1 | grep -q "\"tier\":1,\"tokens\":[0-9]*,\"hits\":[0-9.]*[1-9]"'
dsctl -q token set MIGRATION_BLOCKING=0
check "import under load" sh -c 'dsctl -q token import rxe0 > /dev/null'
pkill -INT -x dsctl
finish load

# -- wide tokens, and the mailbox by which their descriptions come --
# mailbox COUNTER [FILE]: of a file of `dsctl -j token stat`
mailbox() { grep -o "\"(fetch)\",\"name\":\"$1\",\"[a-z]*\":[0-9]*" "${2:-/run/stat}" | grep -o '[0-9]*$'; }
mailboxes() { dsctl -j token stat > "${1:-/run/stat}"; }
# grown COUNTER: since /run/before
grown() { echo $(($(mailbox "$1") - $(mailbox "$1" /run/before))); }
failpoint() { echo "$2" > "/sys/kernel/debug/ds/failpoints/$1"; }
kept() { mailboxes && [ "$(grown whole_kept)" = 8 ]; }
wide() { dsctl -j token show --type mr | grep -o '{"token"[^}]*}' | grep -c '"wide":true'; }

is "no token is wide" "$(wide)" 0
segment=$(lend 2 16M)
failpoint token_wide 'fail 75'
dsctl -q seg attach "2:$segment" --space 2 --servers 1 > /dev/null
failpoint token_wide off
is "those of a segment are, one for each chunk" "$(wide)" 8
mailboxes /run/before
sweep() { within 60 dsctl -q mem fill --space 2 $first 16M --pattern 5; }
check "they are used" sweep
check "the host has answered once for each" eventually 20 kept
is "by copies" "$(grown expand_copied)" 8
is "that nobody waited for" "$(grown expand_asked) $(grown expand_urgent)" "8 0"
check "neighbours came to L2 beforehand ($(grown expand_prestaged))" [ "$(grown expand_prestaged)" -gt 0 ]
mailboxes /run/before
check "they are used again" sweep
mailboxes
is "and nobody asked again" "$(grown expand_asked)" 0
mailboxes /run/before
for _ in 1 2 3; do
	failpoint token_read 'fail 11 1'
	failpoint token_write 'fail 11 1'
	dsctl -q mem read --space 2 $first 64 > /dev/null
done
mailboxes
check "who waits for the host is urgent ($(grown expand_urgent))" [ "$(grown expand_urgent)" -ge 3 ]
check "none failed or was late" [ "$(grown expand_failed) $(grown expand_late) $(grown expand_expired)" = "0 0 0" ]
within 20 dsctl -q space del 2
is "with the segment they go" "$(wide)" 0

# -- moves, as the tracepoint tells them --
moves=/sys/kernel/tracing/instances/moves
# traced: how many moves came to L1, to L2 from home, to L2 from L1, home; and were aborted
traced() {
	awk '/ ds_token_move: / {
		match($0, /from=[0-9]+/); from = substr($0, RSTART + 5, RLENGTH - 5)
		match($0, /to=[0-9]+/); to = substr($0, RSTART + 3, RLENGTH - 3)
		n[from == to ? "aborted" : (to < from ? "up" : "down") to]++
	} END { print n["up1"] + 0, n["up2"] + 0, n["down2"] + 0, n["down3"] + 0, n["aborted"] + 0 }' $moves/trace
}
# strays: moves of a token from where it was not; a new one is at home
strays() {
	awk '/ ds_token_move: / {
		match($0, /token=[^ ]+/); token = substr($0, RSTART, RLENGTH)
		match($0, /from=[0-9]+/); from = substr($0, RSTART + 5, RLENGTH - 5)
		match($0, /to=[0-9]+/); to = substr($0, RSTART + 3, RLENGTH - 3)
		if (from != (token in at ? at[token] : 3) || to < 1 || to > 3) n++
		at[token] = to
	} END { print n + 0 }' $moves/trace
}
# all NAME...: of all devices
all() { awk -v names="$*" '{ n[$2] += $3 } END { k = split(names, name, " "); for (i = 1; i <= k; i++) printf "%d ", n[name[i]] }' /sys/kernel/debug/ds/tokencache; }
scatter() { within 60 dsctl -q mem bench $first --op read --count 1000 --depth 4 --span 64M --random > /dev/null; }
agree() { [ "$(traced) " = "$(all up_l1 up_l2 down_l2 down_l3 aborted)" ]; }

for node in 2 1; do on_node $node bash /share/node.sh clean; done
bash /share/node.sh unload
check "a module with little room in L1" insmod /ds/ds.ko token_l1=16 token_l2=1
mkdir $moves
echo 1 > $moves/events/ds/ds_token_move/enable
bash /share/node.sh configure
segment=$(lend 2 64M)
join 1 2
dsctl -q seg attach "2:$segment" --space 1 --servers 1 --size 64M > /dev/null
check "more tokens are used than it has room for" scatter
check "each move that was counted was traced" eventually 10 agree
echo "# traced: $(traced); counted: $(all up_l1 up_l2 down_l2 down_l3 aborted dma_bytes)"
# shellcheck disable=SC2016 # expanded there
check "up and down" sh -c 'set -- $1; [ $1 -ge 20 ] && [ $3 -ge 4 ]' sh "$(traced)"
is "each from where the token was" "$(strays)" 0
rmdir $moves
read -r up1 up2 down2 down3 bytes <<< "$(all up_l1 up_l2 down_l2 down_l3 dma_bytes)"
check "moves carry 16 bytes, home 8 of those that were written to" between $((16 * (up1 + up2 + down2))) $((16 * (up1 + up2 + down2) + 8 * down3)) "$bytes"

# -- the host is told once, until it begins, that it is to fetch; here it takes its time --
work=/sys/kernel/tracing/instances/work
# works EVENT: of the work that fetches
works() { grep -c "workqueue_$1:.*ds_token_fetch_some" $work/trace; }
mkdir $work
for event in queue_work execute_start; do echo 1 > $work/events/workqueue/workqueue_$event/enable; done
failpoint token_host 'delay 20'
check "much is missed" scatter
failpoint token_host off
for event in queue_work execute_start; do echo 0 > $work/events/workqueue/workqueue_$event/enable; done
told=$(works queue_work)
begun=$(works execute_start)
rmdir $work
# shellcheck disable=SC2016 # expanded there
check "the host was told $told times, and began $begun times" sh -c '[ $2 -gt 0 ] && [ $1 -le $((2 * $2)) ]' sh "$told" "$begun"

# -- moves that are given up --
ups() {
	read -r up1 up2 <<< "$(all up_l1 up_l2)"
	echo $((up1 + up2))
}
# The work that fetches what was missed may still be at it when the failpoint is armed.
for blocking in 0 1; do
	dsctl -q token set "MIGRATION_BLOCKING=$blocking"
	for step in token_claim token_commit; do
		failpoint $step 'fail 11'
		scatter
		up=$(ups)
		read -r aborted <<< "$(all aborted)"
		check "MIGRATION_BLOCKING=$blocking: operations go on while all moves end at $step" scatter
		is "and no token moves up" "$(ups)" "$up"
		failpoint $step off
		scatter
		check "they move again" [ "$(ups)" -gt "$up" ]
	done
done
read -r given_up <<< "$(all aborted)"
check "those that were copied are counted ($((given_up - aborted)))" [ "$given_up" -gt "$aborted" ]

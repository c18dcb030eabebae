# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The token cache at work: what is counted, where tokens are, parameters; and the objects of
# all users of an RDMA device beside what rdma(8) counts.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 43

bench() { within 60 dsctl -q mem bench $first --op "$1" --count "$2" --depth 4 > /dev/null; }
# counted NAME: of rxe0, from a file of `dsctl -j token stat`
counted() { grep -o "\"rxe0\",\"name\":\"$1\",\"[a-z]*\":[0-9]*" "${2:-/run/stat}" | grep -o '[0-9]*$'; }
count() { dsctl -j token stat --device rxe0 > "${1:-/run/stat}"; }
sum() { echo $(($(echo "${@:-0}" | tr ' ' '+'))); }
hits() { sum "$(counted hits_l1 "$1")" "$(counted hits_l2 "$1")" "$(counted hits_l3 "$1")"; }
samples() { sum "$(counted look_ns_l1 "$1")" "$(counted look_ns_l2 "$1")" "$(counted look_ns_l3 "$1")"; }
# tokens TYPE TEXT: how many of the type have the text in their document
tokens() { dsctl -j token show --type "$1" | grep -o '{"token"[^}]*}' | grep -c "$2"; }
# listed TYPE: what rdma(8) counted
listed() { grep rxe0 /run/resources | grep -o "\<$1 [0-9]*" | grep -o '[0-9]*'; }
# has TYPE: tokens of objects of rxe0, foreign ones too; memory of other hosts is no object of it
has() { tokens "$1" '"device":"rxe0"'; }
has_mr() { dsctl -j token show --type mr --device rxe0 | grep -o '{"token"[^}]*}' | grep -vc '"lkey":0,'; }

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
grown=$(($(hits /run/stat) - $(hits /run/before)))
echo "# look-ups: $grown, in L1 $(($(counted hits_l1) - $(counted hits_l1 /run/before)))"
check "an operation looks up the tokens of its region and its queue pair" [ $grown -ge 4000 ]
check "nearly all are in L1" [ $((($(counted hits_l1) - $(counted hits_l1 /run/before)) * 100 / grown)) -ge 95 ]
timed=$(($(samples /run/stat) - $(samples /run/before)))
check "all were timed ($timed of $grown)" [ $timed -eq $grown ]
check "none failed" [ "$(counted failed)" = "$(counted failed /run/before)" ]
check "tokens came into L1" [ "$(counted up_l1)" -gt 0 ]
check "and were carried there" [ "$(counted dma_bytes)" -ge "$((8 * $(counted up_l1)))" ]
check "they are there" [ "$(counted tokens_l1)" -gt 0 ]
is "as many as are shown" "$(dsctl -j token show --tier 1 | grep -o '{"token"' | wc -l)" "$(counted tokens_l1)"
mapped=$(dsctl -j token map | grep -o '"l1":[0-9]*' | cut -d: -f2 | tr '\n' +)
is "as many as the mapped directory says" "$((${mapped}0))" "$(counted tokens_l1)"
dsctl -q token set LATENCY_SAMPLING=0
count /run/before
bench read 200
count
is "none is timed" "$(samples /run/stat)" "$(samples /run/before)"
check "but all are counted" [ "$(hits /run/stat)" -gt "$(hits /run/before)" ]
dsctl -q token set LATENCY_SAMPLING=61
echo 0 > /sys/module/ds/parameters/token_cache
count /run/before
check "operations may pass the cache by" bench read 200
count
is "and are not counted" "$(hits /run/stat)" "$(hits /run/before)"
echo 1 > /sys/module/ds/parameters/token_cache
bench read 200
count
check "until they use it again" [ $(($(hits /run/stat) - $(hits /run/before))) -ge 400 ]

# -- tokens --
check "a queue pair in L1 has posted" sh -c 'dsctl -j token show --type qp --tier 1 | grep -q "\"state\":\"rts\".*\"posted\":[1-9]"'
check "for people, too" sh -c 'dsctl token show --type qp | grep -Eq " qp +rxe0 +[0-9]+ +L1 +[0-9]+ +[0-9]+ +RC rts, [0-9]+ posted"'
start load 1 dsctl -q mem bench $first --op read --depth 4 --seconds 100s
sleep 1
check "token top sees the tiers at work" sh -c 'dsctl token top -b -n 1 | tee /run/top | grep -Eq "^L1 +[0-9]+ +[0-9.]*[1-9][0-9.]* +(9[0-9]|100)\.[0-9] %"'
sed 's/^/# /' /run/top
check "readers wait for tokens on their way" dsctl -q token set MIGRATION_BLOCKING=1
sleep 1
check "operations go on" sh -c 'dsctl -j token top -n 1 | grep -q "\"tier\":1,\"tokens\":[0-9]*,\"hits\":[0-9.]*[1-9]"'
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

# -- objects of others --
within 60 ib_send_bw -d rxe0 -D 40 > /dev/null 2>&1 &
sleep 1
within 60 ib_send_bw -d rxe0 -D 40 10.77.0.1 > /dev/null 2>&1 &
user_has() { [ "$(rdma resource show qp | grep -c 'comm ib_send_bw')" = 2 ]; }
check "a program uses the device" eventually 20 user_has
rdma resource show > /run/resources
dsctl token import rxe0 > /run/import
sed 's/^/# /' /run/resources /run/import
for type in pd cq qp mr; do
	is "import lists what rdma(8) counts: $type" "$(grep -c "^$type " /run/import)" "$(listed $type)"
done
check "the program's are foreign" sh -c "grep -q '^qp .* RC .* ib_send_bw  *foreign' /run/import"
is "tokens, ours and others: cq qp" "$(has cq) $(has qp)" "$(listed cq) $(listed qp)"
is "pd mr" "$(has pd) $(has_mr)" "$(listed pd) $(listed mr)"
pkill -x ib_send_bw
wait
rdma link delete rxe0
is "they go with the device" "$(dsctl token show | grep -c rxe0)" 0
rdma link add rxe0 type rxe netdev eth0
check "and operations come back" eventually 30 bench read 10

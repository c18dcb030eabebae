# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Additions from three nodes to one word while links go down and come back. The
# sum is exact, but for those of which it is not known whether they were done.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 4

each=$(counts 1500 333334) depth=$(counts 1 16)
LOAD_LIMIT=$(counts 150 14400)
configure
lend 2 16M > /dev/null
for node in 1 2 3; do pool "$node" 2; done
word=$(address 0 2097152)
before=$(word "$word")

for node in 1 2 3; do
	start "adds$node" "$node" dsctl -j mem bench "$word" --op add --depth "$depth" --count "$each" --keep-going
done
flaps=0
while running adds1 || running adds2 || running adds3; do
	node=$((1 + flaps % 3))
	sleep 1
	vm link "$node" 0 down
	sleep $((flaps % 2 * 6)).4	# a short one, which retries hide, and one that breaks connections
	vm link "$node" 0 up
	flaps=$((flaps + 1))
	sleep 2
done

known=0 unknown=0 all=0 bad=0
for node in 1 2 3; do
	finish "adds$node"
	status=$?
	out=/run/adds$node.out
	sed "s/^/# node $node, status $status: /" "$out" "/run/adds$node.err"
	grep -qw "$status" <<< "0 10 11" || bad=$((bad + 1))
	known=$((known + $(number executed "$out")))
	unknown=$((unknown + $(number unknown "$out")))
	all=$((all + $(number executed "$out") + $(number unknown "$out") + $(number not_executed "$out")))
done
# What has not come back by now says why.
eventually 30 word "$word" || tell 1 2 3
after=$(word "$word")
sum=$((${after:-before} - before))
echo "# $flaps link flaps; the sum is $sum, $known additions are known, $unknown unknown"
is "the programs end with a result" "$bad" 0
is "each addition has an outcome" "$all" $((3 * each))
check "no addition that was reported is missing" [ "$sum" -ge "$known" ]
check "and none was done twice or unreported" [ "$sum" -le $((known + unknown)) ]

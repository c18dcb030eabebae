# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Many segments are attached and detached, over and over.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 4

segments=$(counts 10 100) rounds=$(counts 5 100)
gauges() { for node in 1 2; do on_node "$node" bash /share/node.sh gauges; done; }

configure
check "$segments segments of 16 MiB are exported" \
	on_node 2 sh -c "for i in \$(seq $segments); do dsctl -q seg add 16M > /dev/null || exit; done"
join 1 2
within 30 dsctl -q space add 1 --servers "$segments"

# The first time, keys are made; they stay for the next attacher.
round() {
	local each
	each=$(seq "$segments")
	awk '{ print "seg attach 2:" $1, "--space 1 --server", $1 - 1 }' <<< "$each" > /run/attach
	awk '{ print "seg detach --space 1 --server", $1 - 1 }' <<< "$each" > /run/detach
	within 300 dsctl -q batch /run/attach &&
		within 30 dsctl -q mem write "$(address $((segments - 1)))" "round $1" &&
		within 300 dsctl -q batch /run/detach
}
check "they are attached and detached once" round 0
gauges > /run/start
failed=0
for i in $(seq $((rounds - 1))); do
	round "$i" || { echo "# round $i"; failed=$((failed + 1)); }
done
is "and $((rounds - 1)) times more" "$failed" 0
same() { gauges > /run/end && diff /run/start /run/end > /run/diff; }
check "every count is back at its start" eventually 10 same
sed 's/^/# /' /run/diff

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A program is killed in the middle of its operations.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 4

configure
lend 2 16M > /dev/null
pool 1 2
rounds=$(counts 8 100)
failed=0
unused() { [ "$(cat /sys/module/ds/refcnt)" = 0 ] && [ "$(dsctl -q module holders | wc -l)" = 1 ]; }
for i in $(seq "$rounds"); do
	sync=''
	[ $((i % 2)) = 0 ] || sync=--sync
	dsctl mem bench "$first" --op write --size 64K --depth 32 --span 8M --seconds 60s $sync > /run/killed 2>&1 & pid=$!
	eventually 10 grep -qv '^0' /sys/module/ds/refcnt
	sleep "0.$((RANDOM % 9))"
	kill -KILL "$pid"
	wait "$pid" 2> /dev/null
	[ $? = 137 ] || { echo "# round $i: it had ended already:"; sed 's/^/# /' /run/killed; failed=$((failed + 1)); }
	eventually 10 unused || { echo "# round $i: its file is still open"; failed=$((failed + 1)); }
done
is "$rounds times nothing of it stays" "$failed" 0
check "the connection did not suffer" [ "$(stat_of 1 disconnects)" = 0 ]
check "a further program writes" within 60 dsctl -q mem fill "$first" 8M --pattern 5
# What a program left under way ends by itself, on a busy host after what the next one has written.
reads_what_it_wrote() {
	within 60 dsctl -q mem verify "$first" 8M --pattern 5 && return
	within 60 dsctl -q mem fill "$first" 8M --pattern 5
	return 1
}
check "and reads" eventually 10 reads_what_it_wrote

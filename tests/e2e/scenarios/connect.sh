# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Connections are made and ended, over and over: all succeed.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 5

cycles=$(counts 10 1000)
configure
failed=0
for i in $(seq "$cycles"); do
	if ! join 1 2 || ! within 30 dsctl -q peer del 2; then
		echo "# that was cycle $i"
		failed=$((failed + 1))
	fi
done
is "$cycles connects and disconnects all succeed" "$failed" 0
is "node 1 counts each connect" "$(stat_of 1 connects)" "$cycles"
is "node 1 counts each disconnect" "$(stat_of 1 disconnects)" "$cycles"
is "node 2 counts each connect" "$(stat_of 2 connects)" "$cycles"
is "node 2 counts each disconnect" "$(stat_of 2 disconnects)" "$cycles"

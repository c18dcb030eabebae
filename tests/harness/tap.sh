# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# TAP for shell tests. `check NAME COMMAND...` is one result: ok when COMMAND
# succeeds. `plan N` says how many there will be.

tap_count=0

plan() { echo "1..$1"; }

result() {
	local status=$1
	shift
	tap_count=$((tap_count + 1))
	if [ "$status" = 0 ]; then
		echo "ok $tap_count - $*"
	else
		echo "not ok $tap_count - $*"
	fi
}

check() {
	local name=$1 status=0
	shift
	"$@" || status=$?
	result "$status" "$name"
}

# is NAME GOT WANTED
is() {
	[ "$2" = "$3" ] || echo "# got '$2', wanted '$3'"
	check "$1" [ "$2" = "$3" ]
}

# eventually SECONDS COMMAND...: until it succeeds
eventually() {
	local tries=$(($1 * 10))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.1
	done
}

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What scenarios share. A scenario runs on node 1 with the module loaded and
# nothing configured on all nodes; it says `plan N`, then N times `check` or
# `is` (see tap.sh). It need not clean up: the leak gate does.

# shellcheck source=tests/harness/tap.sh
. /share/tap.sh

nodes=$(seq "$DS_NODES")
first=0x10000000	# address of the first server of a space

slow=$(cat /share/slow)	# times that Debian's kernel is faster than this one

# counts TEST SOAK: how many, in a test and in a soak
counts() { if [ -n "${SOAK:-}" ]; then echo "$2"; else echo "$1"; fi; }

# within SECONDS COMMAND...: a command that hangs gives status 124
within() { timeout -k 5 $(($1 * slow)) "${@:2}"; }

# on_node NODE COMMAND..., never for ever
on_node() {
	if [ "$1" = 1 ]; then
		within "${LIMIT:-60}" "${@:2}"
	else
		within "${LIMIT:-60}" on "$@"
	fi
}

# on_each COMMAND...: on all nodes at the same time
on_each() {
	local node pids=() pid status=0
	for node in $nodes; do
		on_node "$node" "$@" & pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || status=1
	done
	return "$status"
}

configure() { on_each bash /share/node.sh configure; }

# lend NODE SIZE [OPTION...]: a segment; prints its number
lend() { on_node "$1" dsctl -q seg add "${@:2}" | grep -o '[0-9]*'; }

# join NODE SERVER...: connect
join() {
	local server
	for server in "${@:2}"; do
		on_node "$1" dsctl -q peer add "10.77.0.$server" > /dev/null && continue
		on_node "$1" dsctl peer show | sed "s/^/# node $1: /"
		return 1
	done
}

# pool NODE SERVER...: connect a node to servers and attach segment 1 of each
# as a server of space 1, 16 MiB each
pool() {
	local server
	join "$@" || return
	for server in "${@:2}"; do
		on_node "$1" dsctl -q seg attach "$server:1" --space 1 --servers $(($# - 1)) > /dev/null || return
	done
}

# stat_of NODE COUNTER: of the module
stat_of() { on_node "$1" dsctl -q stat show --object module --csv | awk -F, -v name="$2" '$3 == name { print $4 }'; }

# number FIELD FILE: of a JSON document; 0 if it is not there
number() {
	local n
	n=$(grep -o "\"$1\":-\?[0-9.]*" "$2" | head -n 1 | cut -d: -f2)
	echo "${n:-0}"
}

now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# eventually SECONDS COMMAND...: until it succeeds
eventually() {
	local end=$(($(now_ms) + $1 * slow * 1000))
	shift
	until "$@" > /dev/null 2>&1; do
		[ "$(now_ms)" -lt "$end" ] || { echo "# not so after that time: $*"; return 1; }
		sleep 0.2
	done
}

# fails STATUS PATTERN COMMAND...: ends in time with this status (or one of
# several: '1|3') and says a sentence that matches, with a remedy
fails() {
	local wanted=$1 pattern=$2 said status=0
	shift 2
	said=$(within "${LIMIT:-60}" "$@" 2>&1 > /dev/null) || status=$?
	if grep -Eqx "$wanted" <<< "$status" && grep -Eq "$pattern" <<< "$said" && grep -q '^  fix: ' <<< "$said"; then
		return 0
	fi
	printf '# %s\n' "$*" "ended with status $status, wanted $wanted and /$pattern/; said:" "${said//$'\n'/$'\n#   '}"
	return 1
}

# tell NODE...: what there is to know when a connection does not come back
tell() {
	local node
	for node in "$@"; do
		on_node "$node" bash /share/node.sh tell 2>&1 | sed "s/^/# node $node: /"
	done
}

# address SERVER [OFFSET]: in a space of servers of 16 MiB
address() { printf '0x%x\n' $((first + ($1 << 24) + ${2:-0})); }

# word ADDRESS [NODE]: its value. An addition of nothing reads it as atomics do.
word() { on_node "${2:-1}" dsctl -q mem add "$1" 0; }

# start NAME NODE COMMAND...: in the background
start() {
	rm -f "/run/$1.status"
	{
		LIMIT=${LOAD_LIMIT:-120} on_node "${@:2}" > "/run/$1.out" 2> "/run/$1.err" < /dev/null
		echo $? > "/run/$1.status"
	} &
}

# finish NAME: wait for its end, give its status. It has a limit of its own.
finish() {
	eventually $((${LOAD_LIMIT:-120} + 10)) test -s "/run/$1.status" || return 125
	return "$(cat "/run/$1.status")"
}
running() { [ ! -s "/run/$1.status" ]; }

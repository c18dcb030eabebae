#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the test peer on three machines, while node 1 uses memory of node 2:
# first node 3 attacks node 2, then it is a server of node 1 that misbehaves.
# In the end all is as it was before. TAP on standard output.
#
#   in_vm.sh [--flood N] [GROUP...]	groups of attacks, and "servers"; all without
#					one; N connection requests in the large flood
# shellcheck disable=SC2317 # functions that are called by name
here=$(dirname "$0")
. "$here/set_up.sh"
flood=500
if [ "${1-}" = --flood ]; then
	flood=$2
	shift 2
fi
[ $# -gt 0 ] || set -- good request handshake lane message segment memory flood servers

resources() { on "$1" rdma resource show | sed 's/ctx [0-9]*//'; }
same_resources() {
	local tries
	for tries in $(seq 20); do
		[ "$(resources "$1")" != "$2" ] || return 0
		sleep 0.5
	done
	echo "# node $1 after $tries tries: $(resources "$1"), before: $2"
	return 1
}

number=0
failed=0
check() {	# NAME COMMAND...
	local name=$1 word=ok
	shift
	"$@" || { word="not ok"; failed=1; }
	number=$((number + 1))
	echo "$word $number - $name"
}

no_load_failed() {
	sed 's/^/# load: /' /run/load.said
	echo "# rounds: $(cat /run/load.rounds)"
	[ ! -s /run/load.failed ] && [ "$(cat /run/load.rounds)" -gt 5 ]
}
nobody_but_node_1() { [ "$(on 2 dsctl -j peer show | grep -o '"node":' | wc -l)" = 1 ]; }
keeps_memory() {
	local status
	on "$1" lost-memory > /run/lost
	status=$?
	sed 's/^/# /' /run/lost
	return "$status"
}
unloads() { on "$1" rmmod ds; }

# Events of node 2: why it ended connections.
start_monitor() { on 2 sh -c 'dsctl monitor > /run/events 2> /dev/null & echo $! > /run/monitor'; }
stop_monitor() { on 2 sh -c "kill \$(cat /run/monitor)"; }
told() {	# REASON GROUP: of the group that gives this reason, if it was run
	case " $groups_run " in *" $2 "*) ;; *) return 0 ;; esac
	on 2 grep -q "peer-down.*passive=1.*$1" /run/events
}

if ! set_up > /run/set_up 2>&1; then
	sed 's/^/# /' /run/set_up
	echo "Bail out! the machines could not be set up"
	exit 1
fi
for node in 1 2 3; do on "$node" lost-memory forget; done
before1=$(resources 1)
before2=$(resources 2)
groups_run=$*
start_monitor
start_load
groups=()
for group_name; do
	[ "$group_name" = servers ] || groups+=("$group_name")
done
[ ${#groups[@]} = 0 ] || attack --flood "$flood" "${groups[@]}" || failed=1
case " $* " in *" servers "*) "$here/servers.sh" || failed=1 ;; esac
stop_load
stop_monitor

echo 1..15
check "node 1 lost no operation" no_load_failed
check "RDMA resources of node 1 are as before" same_resources 1 "$before1"
check "RDMA resources of node 2 are as before" same_resources 2 "$before2"
check "node 2 has no connection but node 1's" nobody_but_node_1
check "node 2 told of broken lanes" told "the other host broke a data queue pair" memory
check "node 2 told of messages on lanes" told "the other host sent a message on a data queue pair" memory
for node in 1 2 3; do
	check "node $node has lost no memory" keeps_memory "$node"
	check "node $node unloads the module" unloads "$node"
	check "node $node has lost no memory by that" keeps_memory "$node"
done
exit "$failed"

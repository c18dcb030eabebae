# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # the steps use the constants
#
# Runs the steps of the demo on node 1 and counts them. A step is a function;
# each file NN-name.sh beside this one defines some and lists them with
#
#   step 'What it shows' function
#
# A step runs in a shell of its own with `set -e`: the first command that fails
# ends it. What later steps need is a file or a constant below.

compute=1		# this machine
reader=3		# another one that uses the same memory, its own included
servers="2 3"		# machines that lend memory
nodes="1 2 3"
image=/boot/vmlinuz	# the file that is kept in their memory
base=0x10000000		# the first address of a space
stripe=1M		# the image lies on the servers in turn, in pieces of this size
stuck=60		# seconds after which a command is taken to hang

titles=() functions=()
step() { titles+=("$1") functions+=("$2"); }

# on NODE COMMAND... without a prompt; never for ever
quietly() { timeout "$stuck" on "$@"; }

# Show a command as it is typed on a node, and run it there.
at() {
	echo "node$1# ${*:2}"
	quietly "$@"
}

# The same for a command that must fail, and what it must say then.
at_fails() {
	local says=$1 said
	shift
	echo "node$1# ${*:2}"
	if said=$(quietly "$@" 2>&1); then
		echo "$said"
		echo "this should have failed"
		return 1
	fi
	echo "$said"
	grep -q "$says" <<< "$said"
}

note() { echo "($*)"; }

indent() {
	while IFS= read -r line; do
		printf '       %s\n' "$line"
	done
}

seconds_since() {
	local us=$((${EPOCHREALTIME/[.,]/} - $1))
	printf '%d.%d s' $((us / 1000000)) $((us / 100000 % 10))
}

passed=0
run_step() {
	local start=${EPOCHREALTIME/[.,]/} status
	printf '\n[%2d]   %s\n' "$1" "$2"
	# Not in a condition: there `set -e` would not count.
	(set -eo pipefail; "$3") 2>&1 | indent
	status=${PIPESTATUS[0]}
	if [ "$status" = 0 ]; then
		passed=$((passed + 1))
		printf '[%2d]   ok, %s\n' "$1" "$(seconds_since "$start")"
	else
		printf '[%2d]   FAILED, %s\n' "$1" "$(seconds_since "$start")"
	fi
}

for file in /share/[0-9]*.sh; do
	# shellcheck disable=SC1090 # found at run time
	. "$file"
done
for i in "${!titles[@]}"; do
	run_step $((i + 1)) "${titles[i]}" "${functions[i]}"
done
printf '\ndemo: %d of %d steps passed\n' "$passed" "${#titles[@]}" > /share/result
[ "$passed" = "${#titles[@]}" ]

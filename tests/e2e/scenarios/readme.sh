# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The README's minutes, as they are printed there: the same commands give the
# same words, but for times and the size of the kernel image.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh

# The commands of the tour, each followed by what it prints.
sed -n '/^## One minute/,/^## Installing/s/^    //p' /share/README.md > /run/tour
plan $(($(grep -c '^# ' /run/tour) + 1))

same_words() { sed -E 's/[0-9.]+ (s|MiB\/s)\b/N \1/g; s/[0-9.]+ MiB are stored/N MiB are stored/; s/ +$//'; }

server_down() { dsctl -j space show | grep -q '"state":"down"'; }

# What the tour leaves to the reader, before the command that needs it.
prepare() {
	case $1 in
	"dsctl node set 1")
		cp /root/pool.key /share/pool.key ;;
	"on 2 dsctl seg add"*)
		for node in 2 3; do
			on_node "$node" dsctl -q node set "$node"
			on_node "$node" dsctl -q node domain add 1 --key /share/pool.key
		done ;;
	*"--timeout"*)
		vm link 2 0 down
		eventually 60 server_down ;;
	esac
}

wanted() { awk -v n="$1" '/^# / { i++; next } i == n' /run/tour; }

number=0
grep '^# ' /run/tour | sed 's/^# //' > /run/commands
while read -r command; do
	number=$((number + 1))
	prepare "$command"
	# shellcheck disable=SC2086 # the tour's own words
	status=0
	eval "within 60 $command" > /run/said 2>&1 < /dev/null || status=$?
	wanted "$number" | same_words > /run/wanted
	if [ ! -s /run/wanted ]; then
		check "$command: does not fail" test "$status" = 0
	else
		is "$command" "$(same_words < /run/said)" "$(cat /run/wanted)"
	fi
done < /run/commands
vm link 2 0 up
check "the tour was found" [ "$number" -gt 17 ]

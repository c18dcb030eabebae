# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables of run.sh
#
# What an administrator sees while the memory is used.

watch_host() {
	local load said
	note "node $compute reads from both servers, 16 reads at a time, while we look"
	quietly "$compute" dsctl mem bench "$base" --size 4K --depth 16 --span 128M --random --seconds 4s > /run/load & load=$!
	sleep 1
	said=$(at "$compute" dsctl top -b -n 1)
	echo "$said"
	wait "$load"
	grep -Eq '^operations +[1-9]' <<< "$said"
}
step 'What this host does, each second' watch_host

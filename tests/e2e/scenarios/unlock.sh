# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Lock words are freed by CAS and never by WRITE. On soft-RoCE of Linux 6.1 a
# failed CAS writes the old value back, so that a WRITE meanwhile is lost, and
# the lock is held for ever. This counts how often, for both ways: two nodes lock
# and unlock, the owner of the memory contends through its loopback connection.
# Wants two processors, so that it can happen at all.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 7

seconds=$(counts 5 300)
LOAD_LIMIT=$((seconds + 60))
configure
lend 2 16M > /dev/null
for node in 1 2 3; do pool "$node" 2; done
value() { grep -o "$1 [0-9]*" "/run/$2.out" | cut -d" " -f2 | grep . || echo 0; }

# race write|cas WORD1 WORD3: node 1 locks the one, node 3 the other
race() {
	local name
	start "lock1" 1 /ds/tests/e2e/unlock_race lock "$2" 1 "$1" "$seconds"
	start "lock3" 3 /ds/tests/e2e/unlock_race lock "$3" 3 "$1" "$seconds"
	start "contend1" 2 /ds/tests/e2e/unlock_race contend "$2" "$seconds"
	start "contend3" 2 /ds/tests/e2e/unlock_race contend "$3" "$seconds"
	local failed=0
	for name in lock1 lock3 contend1 contend3; do
		finish "$name" || failed=1
		sed "s/^/# unlock by $1, $name: /" "/run/$name.out" "/run/$name.err"
	done
	return "$failed"
}
sum() { echo $(($(value "$1" lock1) + $(value "$1" lock3))); }

own1=$(address 0 4096) own3=$(address 0 8192) shared=$(address 0 12288)
check "unlock by WRITE: the programs end well" race write "$own1" "$own3"
echo "# unlock by WRITE: $(sum lost) of $(sum locked) unlocks were lost"
check "unlock by WRITE: it was tried often" [ "$(sum locked)" -gt 100 ]

check "unlock by CAS: the programs end well" race cas "$shared" "$shared"
echo "# unlock by CAS: $(sum lost) of $(sum locked) unlocks were lost"
check "unlock by CAS: it was tried often" [ "$(sum locked)" -gt 100 ]
check "unlock by CAS: the nodes were in each other's way" [ "$(sum busy)" -gt 0 ]
is "unlock by CAS: none was lost" "$(sum lost)" 0
is "unlock by CAS: the lock is free in the end" "$(word "$shared")" 0

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A server is killed, booted again, paused; a cable is pulled: an error that
# names the node, in time, and nothing but that; then it goes on.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 16

pause=$(counts 8 30)
configure
lend 2 16M > /dev/null
lend 3 16M > /dev/null
pool 1 2 3
read_from() { within 20 dsctl -q --timeout "${2:-3s}" mem verify "$(address "$1")" 64K --pattern 3; }
for server in 0 1; do dsctl -q mem fill "$(address "$server")" 64K --pattern 3; done

vm link 2 0 down
check "link down: an error that names the node" \
	fails '3|8' 'node 2' dsctl --timeout 4s mem read "$first" 64
check "link down: the other server answers" read_from 1
vm link 2 0 up
check "link up: the data is there" eventually 30 read_from 0

vm pause 2
check "paused: an error that names the node" \
	fails '3|8' 'node 2' dsctl --timeout 4s mem read "$first" 64
sleep $((pause - 4))
check "paused: the other server answers" read_from 1
vm resume 2
check "resumed: the data is there" eventually 30 read_from 0

start reader 1 dsctl mem bench "$(address 1)" --op read --size 4K --depth 8 --seconds 60s
sleep 1
vm kill 3
finish reader
status=$?
sed 's/^/# reader: /' /run/reader.err
check "killed: a program that was reading ends ($status) with an error" grep -qw "$status" <<< "3 8 10 11"
check "which names the node" grep -q 'node 3' /run/reader.err
check "killed: an error that names the node" \
	fails '3|8' 'node 3' dsctl --timeout 4s mem read "$(address 1)" 64
check "killed: the other server answers" read_from 0
check "the peer is shown as not connected" \
	sh -c "dsctl peer show | grep '10.77.0.3' | grep -v ' up '"

vm boot 3
echo 3 >> /run/e2e/rebooted
on_node 3 bash /share/node.sh configure
lend 3 16M > /dev/null
connected() { dsctl peer show | grep '10.77.0.3' | grep ' up '; }
check "booted again: it is connected by itself" eventually 40 connected
check "but what its memory held is gone, and this is said" \
	fails '1|3|4' 'node 3' dsctl --timeout 4s mem read "$(address 1)" 64
dsctl -q seg detach --space 1 --server 1
check "its new segment can be attached" within 30 dsctl -q seg attach 3:1 --space 1 --server 1
check "and used" within 30 dsctl -q mem write "$(address 1)" hello
check "the other server never changed" read_from 0

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# An object store over three servers, while its clients, its master and the machines
# of two servers are killed at random (tests/store/chaos says what is then checked).
# Master and clients are on node 1. So is server 0, whose memory names the clients
# and must not be lost.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 2

kills=$(counts 30 300) size=128M

# A server's machine is killed and booted, and all that it had is made anew.
cat > /run/kill-server << 'KILL'
#!/bin/bash
. /share/lib.sh
size=128M
node=$((2 + $1 % 2))
complete() { dsctl -j --timeout 20s obj stat | grep -q '"incomplete":0[,}]'; }
attached() { dsctl -q --timeout 5s seg attach "$node:1" --space 1 --server "$((node - 1))"; }
echo "$(date +%T) node $node"
vm kill "$node" && sleep 1 && vm boot "$node" || exit
echo "$node" >> /run/e2e/rebooted
on_node "$node" bash /share/node.sh configure && lend "$node" "$size" > /dev/null || exit
eventually 120 attached || exit
eventually 300 complete
KILL
chmod +x /run/kill-server

configure
for node in $nodes; do lend "$node" "$size" > /dev/null; done
join 1 1 2 3	# itself, too: its clients call its master
for node in $nodes; do
	dsctl -q seg attach "$node:1" --space 1 --servers 3 --size "$size" > /dev/null
done

mkdir /run/chaos
check "kills are survived" /ds/tests/store/chaos run /run/chaos "$(command -v dsmasterd)" device=/dev/ds \
	server=/run/kill-server replicas=2 servers=3 kills="$kills" pause=1000 keys=40 longest=500000
cat /run/chaos/master.log /run/chaos/servers.log | tail -n 40 | sed 's/^/# /'
is "servers were killed, too" "$(($(grep -c node /run/chaos/servers.log) > kills / 50))" 1

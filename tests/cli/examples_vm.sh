#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The examples that need the module: runs on node 1 of three, once as they stand
# and once with -j, whose documents go to /share/documents.
#
# examples.py reads from this file which ones there are: lines that begin with
# example, endless or on_event, and the words behind 'dsctl' in quotes.
. /share/tap.sh

json=	# -j in the second round

# ended STATUS WANTED NAME
ended() {
	[ "$1" = "$2" ] || sed 's/^/# /' /tmp/out /tmp/err
	is "dsctl${json:+ $json} $3" "$1" "$2"
	[ -z "$json" ] || grep '^{' /tmp/out >> /share/documents
}

# example COMMAND
example() {
	local status=0
	eval "timeout -k 5 90 dsctl $json $1" > /tmp/out 2> /tmp/err < /dev/null || status=$?
	ended "$status" 0 "$1"
}

# begin WORD...: a command that catches interrupts; $began is its process
begin() {
	dsctl $json "$@" > /tmp/out 2> /tmp/err < /dev/null & began=$!
	local tries=300
	until grep -q '^SigCgt:.*[2367abef]$' /proc/$began/status || [ $((tries--)) = 0 ]; do sleep 0.1; done
}

# One that Ctrl-C ends; not with -j if it says so.
endless() {
	local name=$1 status=0
	[ -z "$json" ] || [ "${2:-}" != plain ] || return
	eval "begin $1"
	sleep 1.5
	kill -INT "$began"
	wait "$began" || status=$?
	ended "$status" 130 "$name"
}

# One that waits for an event.
on_event() {
	local status=0 tries=300
	eval "begin $1"
	sleep 0.5
	dsctl -q seg add 4K > /dev/null
	until ! kill -0 "$began" 2> /dev/null || [ $((tries--)) = 0 ]; do sleep 0.1; done
	kill "$began" 2> /dev/null
	wait "$began" || status=$?
	ended "$status" 0 "$1"
}

# The token cache, in which there are tokens of a connection and a space.
tokens() {
	example 'token show'
	example 'token show --type qp --tier 1'
	example 'token show --device rxe0'
	example 'token map'
	example 'token stat'
	example 'token stat --device rxe0'
	example 'token top -b -n 1'
	endless 'token top -d 10 --json'
	example 'token set'
	example 'token set MIGRATION_BLOCKING=1'
	dsctl -q token set MIGRATION_BLOCKING=0
	example 'token set LATENCY_SAMPLING=1'
	example 'token set SHARE_MIN=100 --domain 1'
	example 'token set --domain 1'
	example 'token import rxe0'
	example 'token import rxe0 --forget'
	example 'token pin 0x400000'
	example 'token unpin 0x400000'
}

# What is there before: a fresh module on all nodes, which counts segments from 1.
fresh() {
	local node
	for node in 1 2 3; do
		on "$node" sh -c 'rmmod ds && insmod /ds/ds.ko' || return
	done
	rm -f /etc/ds/domain1.key space1.key
}

# The bench reads by now.
reads() {
	local before tries=600
	before=$(dsctl stat show --object module | grep ' ops_read ')
	until [ "$(dsctl stat show --object module | grep ' ops_read ')" != "$before" ] || [ $((tries--)) = 0 ]; do sleep 0.1; done
	[ "$tries" -ge 0 ]
}

# The packet service of this host, used by this host.
packets() {
	example 'rdm keygen space1.key'
	example 'rdm space add 1 --segment 2'
	example 'rdm space add 2 --segment 3 --kind segments --page 64K --access rw'
	example 'rdm space show'
	example 'rdm space del 2'
	example 'rdm listen add 10.77.0.1'
	example 'rdm listen add 10.77.0.1 --wire 1 --write-replies'
	example 'rdm listen show'
	example 'rdm peer add 10.77.0.1'
	example 'rdm peer add 10.77.0.3 --tenant 7'
	example 'rdm peer show'
	example 'rdm peer del 10.77.0.3'
	example 'rdm ping --to 10.77.0.1'
	example 'rdm alloc 64K --to 10.77.0.1'
	example 'rdm write 0x1000 hello --to 10.77.0.1'
	example 'rdm read 0x1000 64 --to 10.77.0.1'
	example 'rdm read 0x1000 4K --to 10.77.0.1 --wire 1 --out page'
	example 'rdm cas 0x1008 0 1 --to 10.77.0.1'
	example 'rdm fetch-add 0x1010 1 --to 10.77.0.1'
	example 'rdm free 0x1000 --to 10.77.0.1'
	example 'rdm bench --to 10.77.0.1 --count 1000'
	example 'rdm bench --to 10.77.0.1 --op write --size 64K --depth 2 --count 100'
	example 'rdm trace requests --count 500'
	example 'rdm replay requests --check --to 10.77.0.1'
	example 'rdm listen del 10.77.0.1 --wire 1'
	example 'rdm selftest'
	dsctl -q rdm listen del 10.77.0.1
	dsctl -q rdm peer del 10.77.0.1
	dsctl -q rdm space del 1
}

narrative() {
	example 'node keygen /etc/ds/domain1.key'
	example 'node set 1'
	example 'node set 1 --group 7'
	example 'node domain add 1 --key /etc/ds/domain1.key'
	for node in 2 3; do
		on "$node" dsctl -q node set "$node" --group 7
		on -i "$node" sh -c 'umask 077; cat > /root/pool.key' < /etc/ds/domain1.key
	done
	on -i 2 sh -c 'cat > /root/pool.ds' < /share/pool.ds
	check "the file of dsctl-batch(8)" on 2 sh -c "dsctl -q batch /root/pool.ds > /dev/null"
	on 3 dsctl -q node domain add 1 --key /root/pool.key
	on 3 dsctl -q seg add 64M > /dev/null
	example 'node show'
	example 'node domain show'
	example 'node dev'
	example 'dev show'

	example 'peer add 10.77.0.2'
	example 'peer show'
	example 'peer show -j'
	example 'peer del 2'
	example 'peer add 10.77.0.2 --domain 1 --wait 20s'
	example 'peer del 10.77.0.2'
	dsctl -q peer add 10.77.0.2 > /dev/null
	example 'peer add 10.77.0.3'

	example 'seg add 64M'
	example 'seg add 32M --numa 0 --name pool1 --access rw'
	example '-q seg add 16M'
	modprobe brd rd_nr=1 rd_size=1024 && ln -sf ram0 /dev/pmem0
	example 'seg add 1M --file /dev/pmem0'
	packets
	example 'seg show'
	example 'seg revoke 1'
	example 'seg del 1'
	example 'seg attach 2:1 --space 1 --servers 2 --size 64M'
	example 'seg attach 3:1 --space 1'
	example 'space show'
	ln -sf /boot/vmlinuz image
	example 'mem put image 0x10200000'
	example 'doctor'
	example 'doctor -j'
	example 'module show'

	example 'stat show'
	endless "stat show --object 'peer 2' --watch 1"
	endless 'stat show --csv --watch 10' plain
	endless 'monitor'
	on_event 'monitor --json-lines --count 1'
	example 'top -b -n 1'
	dsctl mem bench 0x10200000 --depth 4 --seconds 300s > /dev/null 2>&1 & bench=$!
	reads || echo "# the bench does not begin"
	example 'module holders'
	example 'top -b -n 1'
	[ -n "$json" ] || sed 's/^/# /' /tmp/out
	tokens
	example 'token record uses.trace'
	example 'token record uses.trace --seconds 60 --count 1000'
	kill -INT "$bench"
	wait "$bench"

	example 'seg detach --space 1 --server 0'
	example 'space del 1'
	example 'space add 1 --servers 2 --size 64M'
	example 'space add 2 --uid 1000 --access r'
	dsctl -q space del 1
	dsctl -q space del 2
	dsctl -q peer del 2
	dsctl -q peer del 3
	for segment in 2 3 4; do dsctl -q seg del "$segment"; done
	[ "$(dsctl completion names segments | wc -l)" = 0 ] || dsctl -q seg del "$(dsctl completion names segments)"
	example 'node domain del 1'
}

plan "$(cat /share/plan)"
mkdir -p /etc/ds
: > /share/documents
narrative
check "a fresh module" fresh
json=-j
narrative

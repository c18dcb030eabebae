# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Runs on node 1: a tree and an object store over sixteen segments each, of nodes 2 and 3.
set -eu

for node in 1 2 3; do
	on "$node" sh -c "dsctl -q node set $node && dsctl -q node domain add 1 --key /share/key"
done
for server in 2 3; do
	for _ in $(seq 16); do on "$server" dsctl -q seg add 16M --domain 1 > /dev/null; done
done
for server in 1 2 3; do dsctl -q peer add "10.77.0.$server"; done

# attach SPACE FIRST: eight segments of each server, in turn
attach() {
	local segment
	for segment in $(seq "$2" $(($2 + 7))); do
		dsctl -q seg attach "2:$segment" --space "$1" --servers 16 --size 16M
		dsctl -q seg attach "3:$segment" --space "$1" --servers 16 --size 16M
	done
}

# recorded NAME FUNCTION: what it uses
recorded() {
	dsctl -j token record "/share/$1.trace" --seconds 400 --count 60000 & recorder=$!
	until grep -qs 1 /sys/kernel/tracing/instances/ds-dsctl-*/events/ds/ds_token_access/enable; do sleep 0.1; done
	"$2"
	kill -INT $recorder 2> /dev/null || true
	wait $recorder
}

tree() {
	dsctl -q tree bench --op put --keys 8000 --depth 16
	for depth in 1 4 16; do
		dsctl -q tree bench --op get --keys 8000 --count 3000 --depth $depth
		dsctl -q tree bench --op update --keys 8000 --count 500 --depth $depth
	done
	dsctl -q tree bench --op missing --keys 8000 --count 1000
	dsctl -q tree scan > /dev/null
}

store() {
	for size in 4K 64K 1M; do
		dsctl -q obj bench --space 2 --op put --keys 60 --size $size
		dsctl -q obj bench --space 2 --op get --keys 60 --size $size --count 200 --depth 2
	done
	dsctl -q obj bench --space 2 --op put --keys 30 --size 512K --replicas 2
	dsctl -q obj del --space 2 bench/0
	dsctl -q obj check --space 2 > /dev/null
}

attach 1 1
dsctl -q tree create 1
recorded tree tree
attach 2 9
dsmasterd --space 2 --store /run/store --create > /run/master & master=$!
until grep -q serves /run/master; do sleep 0.1; done
recorded store store
kill $master

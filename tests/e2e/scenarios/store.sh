# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# An object store over two servers, nodes 2 and 3; its master and its clients on
# node 1. The master is killed, while nothing happens and while a put waits; a server
# is, while somebody puts; the master again, while it makes the lost replicas anew
# in memory of node 1; and that memory is replaced.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 53

meta=/run/meta

# master [OPTION...]: in the background, until it is ready or has ended
master() {
	: > /run/master.out	# what the one before said is not its word
	dsmasterd --store "$meta" "$@" >> /run/master.out 2>&1 &
	master=$!
	eventually 60 grep -q . /run/master.out && grep -q ' serves ' /run/master.out
}
kill_master() { kill -KILL "$master"; wait "$master" 2> /dev/null; }

obj() { within 90 dsctl -q --timeout 60s obj "$@"; }
total() { dsctl -j obj stat > /run/total && number "$1" /run/total; }

# same KEY FILE: what the store has is the file
same() { rm -f /run/copy; obj get "$1" /run/copy && cmp /run/copy "$2"; }

configure
for node in 1 2 3; do lend "$node" 64M > /dev/null; done
join 1 1 2 3	# itself, too: its clients call its master
for node in 2 3 1; do
	on_node 1 dsctl -q seg attach "$node:1" --space 1 --servers 3 --size 64M > /dev/null
done

# ---- wrong calls ----

check "no space" fails 4 'cannot open space 9' dsmasterd --store "$meta" --create --space 9
check "no store yet" fails 4 'there is no folder' dsmasterd --store "$meta"
check "no master" fails 3 'no master answers' dsctl --timeout 300 obj show
check "a store is made" master --create
kill -0 "$master" || exit 1
on_node 1 dsctl -q seg detach --space 1 --server 2
check "a second master of it is refused" fails 5 'another dsmasterd serves' dsmasterd --store "$meta"
cp -r "$meta" /run/copy_of_meta
check "and one with a copy of its folder" \
	fails 5 'another dsmasterd serves' dsmasterd --store /run/copy_of_meta --port 600
rm -r /run/copy_of_meta
check "and one of another store" \
	fails 5 'belongs to another store' dsmasterd --store /run/other --create --port 600
check "a tree is refused" fails 5 "an object store's" dsctl tree create 1
check "no such object" fails 4 'there is no such object' dsctl obj stat none
check "nor can it be read" fails 4 'there is no such object' dsctl obj get none /run/none
is_down() { dsctl obj stat | grep -q "^ *$1 .* down"; }
check "a server without memory is down" eventually 20 is_down 2
check "more replicas than servers that are up" \
	fails 3 'fewer memory servers are up' dsctl obj put key /share/lib.sh --replicas 3
truncate -s 70M /run/huge
check "an object without room" \
	fails 1 'not enough space' dsctl obj put key /run/huge --replicas 2
rm /run/huge

# ---- put, get ----

: > /run/empty
head -c 8388608 /dev/urandom > /run/large
free=$(total free)
check "0 bytes" obj put empty /run/empty
check "a small one" obj put small /share/lib.sh
check "8 MiB" obj put large /run/large
check "the kernel's image, twice" obj put kernel /boot/vmlinuz --replicas 2
check "0 bytes come back" same empty /run/empty
check "the small one" same small /share/lib.sh
check "8 MiB" same large /run/large
check "the image" same kernel /boot/vmlinuz
keys() { dsctl -j obj show | grep -o '"key":"[^"]*"' | cut -d'"' -f4 | tr '\n' ' '; }
is "a list" "$(keys)" "empty kernel large small "
whole() { obj check > /dev/null; }
check "all replicas are whole" whole

check "another version" obj put large /share/lib.sh
check "is what comes back" same large /share/lib.sh
check "the image is deleted" obj del kernel
check "and is not there" fails 4 'there is no such object' dsctl obj stat kernel
for key in empty small large; do obj del "$key"; done
all_free() { [ "$(total free)" = "$free" ]; }
check "all space comes back" eventually 20 all_free

# ---- the master is killed ----

check "the image again" obj put kernel /boot/vmlinuz --replicas 2
kill -STOP "$master"
start waiting 1 dsctl -q --timeout 100s obj put waiting /run/large
sleep 2
check "a put waits for the master" running waiting
kill_master
check "the master is started again" master
finish waiting
is "the put is done" "$?" 0
sed 's/^/# /' /run/waiting.err
check "what it put is there" same waiting /run/large
check "and what was put before" same kernel /boot/vmlinuz
is "the master counts its starts" "$(total epoch)" 2

# ---- a server is killed ----

complete() { [ "$(total incomplete)" = 0 ]; }
check "an object, twice" obj put torn /run/large --replicas 2
head -c 8388600 /dev/urandom > /run/newer
start torn 1 dsctl -q --timeout 15s obj put torn /run/newer --replicas 2
sleep 0.3
vm kill 3
finish torn
status=$?
echo "# the put that was under way ended with status $status"
wanted=/run/large
[ "$status" != 0 ] || wanted=/run/newer
check "a put that was not acknowledged changes nothing" same torn "$wanted"
check "the image is read from the other server" same kernel /boot/vmlinuz
check "the server is down" eventually 30 is_down 1
check "and objects lack a replica" [ "$(total incomplete)" != 0 ]
check "a check says so" fails 1 'server 1 is down' dsctl --timeout 60s obj check kernel
check "two replicas cannot be put" \
	fails 3 'fewer memory servers are up' dsctl obj put two /share/lib.sh --replicas 2
check "one can" obj put one /share/lib.sh
obj del waiting

# ---- what it had is made anew, in memory of node 1 ----

on_node 1 dsctl -q seg attach 1:1 --space 1 --server 2 > /dev/null
sleep 1.5
kill_master
check "the master is killed meanwhile, and started again" master
check "no object lacks a replica any more" eventually 60 complete
check "all replicas are whole" whole
check "the image is what it was" same kernel /boot/vmlinuz
check "two replicas can be put" obj put two /share/lib.sh --replicas 2

# ---- other memory in the place of that ----

on_node 1 dsctl -q seg detach --space 1 --server 2
on_node 1 dsctl -q seg del 1 > /dev/null
on_node 1 dsctl -q seg attach "1:$(lend 1 64M)" --space 1 --server 2 > /dev/null
check "what is not in it is noticed" eventually 30 grep -q 'other memory' /run/master.out
check "and made anew" eventually 60 complete
check "all replicas are whole, once more" whole
check "the object of two replicas, too" same two /share/lib.sh

kill -TERM "$master"
wait "$master"
is "it ends when told" "$?" 0
rm -r "$meta" /run/large /run/newer /run/copy

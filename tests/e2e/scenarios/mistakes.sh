# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What an administrator may get wrong: each is refused, in time, with a sentence.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 14

within 30 dsctl -q node domain add 1 --key /share/key
check "a peer without a node number" fails '1|2' 'number' dsctl peer add 10.77.0.2
bash /share/node.sh unload
bash /share/node.sh configure
on_node 2 dsctl -q node set 2
check "the other host does not know the domain" fails '1|3|6' '.' dsctl --timeout 8s peer add 10.77.0.2
on_node 2 sh -c 'umask 077; head -c 32 /dev/urandom > /run/other.key; dsctl -q node domain add 1 --key /run/other.key'
check "the keys differ" fails '1|3|6' 'key' dsctl --timeout 8s peer add 10.77.0.2
on_node 2 sh -c 'dsctl -q node domain del 1 && dsctl -q node domain add 1 --key /share/key'
on_node 3 dsctl -q node set 1
on_node 3 dsctl -q node domain add 1 --key /share/key
check "two hosts have the same number" fails '1|3|6' 'number' dsctl --timeout 8s peer add 10.77.0.3
on_node 3 bash /share/node.sh unload
check "nobody listens" fails 8 'no connection' dsctl --timeout 8s peer add 10.77.0.3
check "no host has the address" fails 8 'no connection' dsctl --timeout 8s peer add 10.77.0.77
within 30 dsctl -q peer del 10.77.0.77 2> /dev/null
within 30 dsctl -q peer del 10.77.0.3 2> /dev/null

on_node 3 bash /share/node.sh load

join 1 2
lend 2 32M > /dev/null
check "the same peer twice" fails 5 '.' dsctl peer add 10.77.0.2
check "the number cannot be changed now" fails 5 '.' dsctl node set 9
check "a domain in use cannot be deleted" fails 5 '.' dsctl node domain del 1
check "there is no such segment" fails 4 'segment 7' dsctl seg attach 2:7 --space 1 --servers 1 --size 32M
check "the segment is longer than a server" fails '1|2' '.' dsctl seg attach 2:1 --space 2 --servers 1 --size 16M
within 30 dsctl -q seg attach 2:1 --space 3 --servers 2 --size 32M
check "the server is taken" fails 5 '.' dsctl seg attach 2:1 --space 3 --server 0
check "an address past the last server" fails '1|2' '.' dsctl mem read 0x14000000 64 --space 3
check "a server without memory" fails '1|3|4' 'server 1' dsctl mem read 0x12000000 64 --space 3

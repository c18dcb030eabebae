# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# libdsuser and its examples at work on a pool of two servers, nodes 2 and 3:
# with links that fail, with messages, and with a server that is killed.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 6

examples=$(dirname "$(command -v dsctl)")/../lib/examples
selftest=$(dirname "$(command -v dsctl)")/../tests/library/selftest
configure
lend 2 16M > /dev/null
lend 3 16M > /dev/null
pool 1 2 3

is "hello.c runs" "$("$examples/hello-c")" "hello from far away, run 1"
is "hello.cpp runs" "$("$examples/hello-cpp")" "hello from far away, run 2"

within 120 "$selftest" use

start persist 1 "$selftest" persist 20
for link in 2 3; do
	sleep 2
	vm link "$link" 0 down
	sleep 6
	vm link "$link" 0 up
done
finish persist
check "links that fail are outlasted" [ $? = 0 ]
cat /run/persist.out

start serve 2 "$selftest" serve 0x200
check "a service is bound" eventually 20 grep -q ready /run/serve.out
within 60 "$selftest" call 2 0x200
finish serve
check "the service ends when told" [ $? = 0 ]

vm kill 3
within 120 "$selftest" gone 3
check "the selftest ends well" [ $? = 0 ]

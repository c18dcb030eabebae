#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Node 1 connects to a server on node 3 that misbehaves, on each of its ports,
# and attaches each of its segments. TAP on standard output.
# shellcheck disable=SC2154 # set_up.sh sets group
here=$(dirname "$0")
. "$here/set_up.sh"
port=18600

on 3 dspeer serve --port $port --group "$group" --key /run/domain1.key --other-key /run/domain2.key \
	> /run/server 2>&1 &
server=$!
for _ in $(seq 100); do
	grep -q serving /run/server && break
	sleep 0.1
done
dspeer endure --host 10.77.0.3 --port $port --control "on 2"
status=$?
if ! kill $server; then
	echo "Bail out! the server has ended: $(cat /run/server)"
	status=1
fi
exit $status

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A network device whose send queue refuses packets for a while. Soft-RoCE of 6.12
# takes that for an error of the queue pair, also of the connection manager's: then
# the host is deaf, though its links are up. doctor tells it, and what helps.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 6

connected() { dsctl peer show | grep '10.77.0.2' | grep ' up '; }
is_deaf() { rdma resource show qp | grep 'type GSI state ERR'; }
peer_says() { dsctl peer show | grep 'queue pair 1 of the RDMA device is in error'; }
verdict() { dsctl -j doctor | grep -o '"check":"management rxe0","status":"[a-z]*"' | cut -d'"' -f8; }

configure
touch /run/stay-deaf
join 1 2
is "doctor finds queue pair 1" "$(verdict)" ok
tc qdisc replace dev eth0 root bfifo limit 1
check "a connection is asked for, and no packet leaves" fails 8 'no connection yet' dsctl --timeout 3s peer add 10.77.0.3
tc qdisc del dev eth0 root
if is_deaf > /dev/null; then state=failed; else state=ok; fi
case $(uname -r) in 6.12.*) known=failed ;; *) known=ok ;; esac
is "this kernel is known for what it does then" "$state" "$known"
if [ "$state" = ok ]; then
	result 0 "a peer has another reason # SKIP this kernel keeps queue pair 1"
else
	check "so does the peer" eventually 30 peer_says
fi
is "doctor says so" "$(verdict)" "$state"
rdma link delete rxe0 && rdma link add rxe0 type rxe netdev eth0
check "a new device connects by itself" eventually 30 connected
rm /run/stay-deaf

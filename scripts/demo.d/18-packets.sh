# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables of run.sh
#
# Memory for hosts that speak only packets.

serve_packets() {
	local segment
	segment=$(quietly 2 dsctl -q seg add 16M --domain 1 --access rw)
	at 2 dsctl rdm space add 7 --segment "$segment"
	at 2 dsctl rdm listen add 10.77.0.2
	note "only this host may send"
	at 2 dsctl rdm peer add 10.77.0.1
}
step 'Node 2 serves a segment by packets, too' serve_packets

use_packets() {
	local address said
	address=$(quietly 1 dsctl -q rdm alloc 64K --to 10.77.0.2 --space 7)
	note "64 KiB of node 2 at $address; one byte more is refused"
	at_fails DS-RDM 1 dsctl rdm read "$address" 65537 --to 10.77.0.2 --space 7
	at 1 dsctl rdm write "$address" 'hello, by UDP' --to 10.77.0.2 --space 7
	said=$(at 1 dsctl rdm read "$address" 13 --node 2 --space 7)
	echo "$said"
	grep -q 'hello, by UDP' <<< "$said"
	at 1 dsctl rdm free "$address" --node 2 --space 7
	at_fails DS-RDM 1 dsctl rdm read "$address" 13 --to 10.77.0.2 --space 7
	at 2 dsctl rdm space show
}
step 'Node 1 allocates there, writes by UDP, reads by RDMA, and frees' use_packets

end_packets() {
	at 2 dsctl rdm space del 7
	at 2 dsctl rdm listen del 10.77.0.2
	at 2 dsctl rdm peer del 10.77.0.1
	at 2 dsctl seg show
}
step 'Node 2 serves no packets any more' end_packets

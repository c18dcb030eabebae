# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The packet service, asked by a host that knows only document 002, by one that means harm
# and by one that wants its memory while the others shout. Node 2 serves.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh

server=10.77.0.2 honest=10.77.0.1 hostile=10.77.0.3 stranger=10.77.0.4
v1=18528 v2=18529 key=000102030405060708090a0b0c0d0e0f
tests=/ds/tests/rdm

rdm() { on_node 2 /ds/tests/rdm/rdmcfg "$@"; }

# of HOST COUNTER: what the server counts of a host
of() { on_node 2 dsctl -q stat show --csv | awk -F, -v object="rdm peer $1" -v name="$2" '$2 == object && $3 == name { print $4 }'; }

# space_add NUMBER SIZE KIND [KEY]: on a segment of its own
space_add() {
	local segment
	segment=$(lend 2 "$2" --access rw) || return	# atomics are the packet service's then
	echo "$segment" > "/run/segment.$1"
	rdm space-add "$1" "$segment" "$3" 0 ${4:+"$4"}
}
space_del() { rdm space-del "$1" && on_node 2 dsctl -q seg del "$(cat "/run/segment.$1")"; }

serve() {
	space_add 0 16M 2 && space_add 1 16M 1 && space_add 2 1M 0 "$key" &&
		rdm listen 1 "$server" && rdm listen 2 "$server" && rdm peer "$honest" && rdm peer "$hostile"
}

# A host's TAP is ours. What it does not come to is a failure, too.
run_host() { LIMIT=120 on_node 1 "$tests/host" -i eth0 -s "$server" -p $v1 "$@"; }
run_hostile() { LIMIT=${HOSTILE_LIMIT:-300} on_node 3 "$tests/hostile" -i eth0 -s "$server" -p $v1 -2 $v2 -K "2:$key" "$@"; }
load() { LIMIT=120 on_node 1 "$tests/load" -s "$server" -p $v1 "$@"; }

plan 15
configure
check "a host serves packets, to two others" serve
before=$(of "$hostile" received)

run_host -f -v
check "a host that knows only document 002, hash mapping" [ $? = 0 ]
run_host -a 1 -v -k
check "the same, segment table, with UDP checksums" [ $? = 0 ]
rdm listen-del 1 "$server"
rdm listen 1 "$server" 1
run_host -a 1 -v -w
check "the same, when WRITE is answered" [ $? = 0 ]
rdm listen-del 1 "$server"
rdm listen 1 "$server"

space_del 1
run_hostile -n "$(counts 20000 1000000)"
check "a host that means harm" [ $? = 0 ]
check "the server counted what it sent" [ "$(of "$hostile" received)" -gt "$((${before:-0} + 10000))" ]

# A stranger's packets come from node 3, which gets another address for it.
on_node 3 ip address add "$stranger/24" dev eth0
strangers=$(stat_of 2 packets_strangers)
on_node 3 "$tests/load" -s "$server" -p $v1 -b "$stranger" 2> /run/said
check "a host that is not on the list gets no answer" grep -q 'nobody answers' /run/said
check "it is counted" [ "$(stat_of 2 packets_strangers)" -gt "$strangers" ]

# Beside a flood
dropped=$(of "$hostile" dropped)
load -n 1 > /run/load.json	# the flood leaves no memory to allocate
address=$(number address /run/load.json)
too_much_comes() { [ "$(of "$hostile" dropped)" -gt "$dropped" ]; }
ask_while_it_lasts() {
	local runs=0
	while running flood; do
		load -n 1000 -d 8 -v "$address" > /run/load.json
		grep -q '"lost":0,"wrong":0' /run/load.json || { sed 's/^/# /' /run/load.json; return 1; }
		runs=$((runs + 1))
	done
	echo "# ${runs}000 answers"
	[ "$runs" -gt 0 ]
}
start flood 3 "$tests/hostile" -i eth0 -s "$server" -p $v1 -2 $v2 -K "2:$key" -o -n "$(counts 200000 2000000)" -r 2
check "a flood comes" eventually 60 too_much_comes
check "an honest host beside it gets each answer" ask_while_it_lasts
finish flood
check "the flood came to its end, and its host is still served" [ $? = 0 ]
sed 's/^/# flood: /' /run/flood.out
is "none of the honest host's packets was dropped" "$(of "$honest" dropped)" 0
check "between two of its packets at most four of others were served" [ "$(of "$honest" longest_wait)" -le 4 ]

# What goes away while it is used
start load 1 "$tests/load" -s "$server" -p $v1 -n 1000000 -d 16
sleep 2
check "a space is deleted under traffic" space_del 0
sleep 1
rdm peer-del "$hostile"
rdm listen-del 1 "$server"
finish load
check "who used it was told, or got no answer" [ $? != 0 ]

space_del 2
rdm listen-del 2 "$server"
rdm peer-del "$honest"

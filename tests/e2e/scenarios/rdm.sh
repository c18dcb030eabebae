# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# dsctl as a client of the packet service, by version 1, by version 2, and by version 2 over
# RDMA: what each request does and what the server counts, what it refuses, and traces that
# replay without a difference. Node 2 serves, node 1 uses.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh

server=10.77.0.2 client=10.77.0.1
first_version=(--to "$server" --wire 1)
udp=(--to "$server")
rdma=(--node 2)
LOAD_LIMIT=$(counts 120 7200)

ask() { within "${LIMIT:-60}" dsctl -q rdm "$@"; }

# Spaces, each on the segment of its number: 1 is for version 1, which cannot free; 2 for
# version 2; 3 to be read only; 4 has a key and a tenant; 5 has a disk behind it.
serve() {
	rm -f /run/space.key /run/wrong.key	# of another scenario
	(umask 077; dsctl -q rdm keygen /run/space.key && dsctl -q rdm keygen /run/wrong.key) || return
	on -i 2 sh -c 'umask 077; cat > /run/space.key; modprobe brd rd_nr=1 rd_size=1024' < /run/space.key || return
	within 60 on -i 2 dsctl -q batch - > /run/served <<- EOF
		seg add 16M --access rw
		seg add 64M --access rw
		seg add 1M --access rw
		seg add 1M --access rw
		seg add 1M --access rw --file /dev/ram0
		rdm space add 1 --segment 1 --kind segments
		rdm space add 2 --segment 2
		rdm space add 3 --segment 3 --kind direct --access r
		rdm space add 4 --segment 4 --page 64K --tenant 9 --key-file /run/space.key
		rdm space add 5 --segment 5
		rdm listen add $server --wire 1 --write-replies
		rdm listen add $server
		rdm peer add $client
	EOF
}

# counters SPACE: lines "name value" of what was asked in it, and of the packets that came
counters() {
	on_node 2 dsctl -q stat show --csv | awk -F, -v space="rdm $1" -v peer="rdm peer $client" '
		$2 == space && $3 ~ /^(ops|ended|bytes|repeated|parts)/ { print $3, $4 }
		$2 == peer && $3 == "received" { print $3, $4 }'
}
counter() { counters "$1" | awk -v name="$2" '$1 == name { print $2 }'; }

# counted SPACE WANTED COMMAND...: it succeeds, and these counters grow by what is wanted, and
# no other one. On a slow machine a request may be sent again: a run with more packets does not count.
counted() {
	local space=$1 wanted=$2 grown
	shift 2
	for _ in 1 2 3 4 5; do
		counters "$space" > /run/before
		"$@" || return
		counters "$space" > /run/after
		grown=$(awk 'NR == FNR { was[$1] = $2; next } $2 != was[$1] { print $1 "=" $2 - was[$1] }' /run/before /run/after |
			sort | tr '\n' ' ')
		[ "$grown" != "$wanted " ] || return 0
		echo "# $grown- wanted $wanted"
		more_packets "$wanted" "$grown" || return
	done
	return 1
}
packets() { grep -o 'received=[0-9]*' <<< "$1" | cut -d= -f2; }
more_packets() { [ "$(packets "$2")" -gt "$(packets "$1")" ] 2> /dev/null; }

allocate() { ask alloc "$@" | grep -o '0x[0-9a-f]*'; }

# there_and_back ADDRESS LENGTH OPTION...: what is written is read. REPLIES: of version 1.
there_and_back() {
	head -c "$2" /dev/urandom > /run/data
	ask write "$1" --file /run/data ${REPLIES:+"$REPLIES"} "${@:3}" && ask read "$1" "$2" --out /run/back "${@:3}" &&
		cmp /run/data /run/back
}
by_version_1() {
	local address
	address=$(allocate 8K "$@") && there_and_back $((address + 100)) 500 "$@"
}
by_version_2() {
	local address
	address=$(allocate 8K "$@") && there_and_back $((address + 100)) 500 "$@" &&
		ask write "$address" --hex 0000000000000000 "$@" &&
		[ "$(ask cas "$address" 0 7 "$@")" = 0 ] && fails 1 'is 7' dsctl rdm cas "$address" 0 8 "$@" &&
		[ "$(ask fetch-add "$address" 5 "$@")" = 7 ] &&
		[ "$(ask read "$address" 8 --out - "$@" | od -An -tu8 | tr -d ' ')" = 12 ] &&
		ask free "$address" "$@" && fails 1 'not within one allocation' dsctl rdm read "$address" 8 "$@"
}
# Each of its seven changes has a session.
once="bytes_read=508 bytes_written=508 ended_address=1 ended_ok=23 \
ops_alloc=1 ops_cas=2 ops_close=7 ops_fetch_add=1 ops_free=1 ops_open=7 ops_read=3 ops_write=2"

in_many_packets() {
	local address
	address=$(allocate 100000 "$@") && there_and_back $((address + 4001)) 90000 "$@" &&
		{ [[ "$*" = *'--wire 1'* ]] || ask free "$address" "$@"; }
}

# refused STATUS PATTERN WORDS...: by each of them
refused() { fails "$1" "$2" dsctl rdm "${@:3}" "${first_version[@]}" && refused_by_2 "$@"; }
refused_by_2() { fails "$1" "$2" dsctl rdm "${@:3}" "${udp[@]}" && fails "$1" "$2" dsctl rdm "${@:3}" "${rdma[@]}"; }

reads_only() {
	local address
	address=$(allocate 4K "${udp[@]}" --space 3) && ask read "$address" 4K --out /run/before "${rdma[@]}" --space 3 &&
		refused_by_2 6 'does not allow' write "$address" hello --space 3 &&
		fails 6 'does not allow' dsctl rdm write "$address" hello --space 3 "${first_version[@]}" --write-replies &&
		ask read "$address" 4K --out /run/after "${first_version[@]}" --space 3 && cmp /run/before /run/after &&
		ask free "$address" "${rdma[@]}" --space 3 &&
		[ "$(counter 3 bytes_written) $(counter 3 ended_permission)" = "0 3" ]
}

# forged OPTION...: nobody answers, and the packets are counted
forged() {
	local before
	before=$(stat_of 2 packets_forged)
	fails 8 'no answer came in time' dsctl --timeout 500ms rdm ping --space 4 --tenant 9 "$@" &&
		[ "$(stat_of 2 packets_forged)" -gt "$before" ]
}

# kept OFFSET LENGTH: what is on the disk
kept() { on_node 2 dd if=/dev/ram0 bs=1 skip="$1" count="$2" status=none; }
# stored OPTION...: only what is written persistently is on the disk
stored() {
	local address offset
	dsctl -j rdm alloc 4K --space 5 "$@" > /run/alloc.json || return
	address=$(number address /run/alloc.json) offset=$(number offset /run/alloc.json)
	ask write "$address" passing --space 5 "$@" && ask write "$((address + 100))" lasting --persistent --space 5 "$@" &&
		[ "$(ask read "$address" 7 --out - --space 5 "$@")" = passing ] &&
		[ "$(kept "$((offset + 100))" 7)" = lasting ] && [ "$(kept "$offset" 7 | tr '\0' -)" = ------- ]
}

selftest() {
	on_node 2 dsctl -j rdm selftest --count 3000 > /run/selftest.json &&
		[ "$(number passed /run/selftest.json)" -ge 3000 ] && grep -q '"failed":0' /run/selftest.json
}

# replays TRACE OPTION...: all of it, without a difference
replays() {
	within "$LOAD_LIMIT" dsctl -j rdm replay "$@" --check > /run/replay.json || { cat /run/replay.json; return 1; }
	echo "# $(number requests /run/replay.json) requests, $(number bytes_read /run/replay.json) bytes read," \
		"$(number seconds /run/replay.json) s, $(number packets_resent /run/replay.json) packets sent again"
	[ "$(number requests /run/replay.json)" = "$(wc -l < "$1")" ] && grep -q '"different":0,' /run/replay.json &&
		grep -q '"checked":true' /run/replay.json
}
# By version 2 each of its writes happens once, and so do the zeros that come first.
replays_once() {
	local before
	before=$(counter 2 bytes_written)
	replays "$@" --space 2 &&
		[ $(($(counter 2 bytes_written) - before)) = $(($(number bytes_written /run/replay.json) + $(number span /run/replay.json))) ]
}

recorded=0
[ ! -e /share/recorded ] || recorded=3
plan $((42 + recorded))
configure
join 1 2
check "a host serves packets" serve

REPLIES=--write-replies check "by version 1: counted to the byte" \
	counted 1 "bytes_read=500 bytes_written=500 ended_ok=3 ops_alloc=1 ops_read=1 ops_write=1 received=3" \
	by_version_1 "${first_version[@]}" --space 1
check "by version 1, when no answer to the write is awaited" by_version_1 "${first_version[@]}" --space 1
check "by version 2: counted to the byte" counted 2 "$once received=24" by_version_2 "${udp[@]}" --space 2
check "by version 2 over RDMA: counted to the byte" counted 2 "$once" by_version_2 "${rdma[@]}" --space 2
REPLIES=--write-replies check "many packets, by version 1" in_many_packets "${first_version[@]}" --space 1
check "many packets, by version 2" in_many_packets "${udp[@]}" --space 2
check "many packets, by version 2 over RDMA" in_many_packets "${rdma[@]}" --space 2

check "no such space" refused 4 'no such space' read 4096 64 --space 77
check "another tenant's" refused_by_2 4 'no such space' read 4096 64 --space 2 --tenant 8
address=$(allocate 8K "${udp[@]}" --space 2)
check "beyond the end" refused 1 'not within one allocation' read $((address + 8191)) 2 --space 2
check "before the beginning" refused 1 'not within one allocation' read $((address - 1)) 2 --space 2
check "an atomic that is not aligned" refused_by_2 1 'not aligned' cas $((address + 4)) 0 1 --space 2
check "no file to be persistent in" refused 7 'no file behind it' write "$address" x --persistent --space 2
check "more memory than there is" refused 1 'used up|more than the server takes' alloc 1G --space 2
ask free "$address" "${udp[@]}" --space 2
check "to be freed twice" refused_by_2 1 'not within one allocation' free "$address" --space 2
check "version 1 cannot free" fails 7 'version 1' dsctl rdm free "$address" --space 1 "${first_version[@]}"
check "a space to be read only" reads_only
check "a node that is no peer" fails '3|4' '.' dsctl rdm ping --node 3

key=(--tenant 9 --key-file /run/space.key --space 4)
check "a space with a key" in_many_packets "${udp[@]}" "${key[@]}"
check "the same over RDMA" in_many_packets "${rdma[@]}" "${key[@]}"
check "a wrong key is not heard" forged "${udp[@]}" --key-file /run/wrong.key
check "nor is it over RDMA" forged "${rdma[@]}" --key-file /run/wrong.key
check "nor is who has none" forged "${udp[@]}"
check "version 1 cannot reach it" fails 4 'no such space' dsctl rdm read 65536 64 --space 4 "${first_version[@]}"

truncate -s 1M /run/file
check "a file in memory keeps nothing" fails '1|2' 'keeps nothing' dsctl seg add 1M --file /run/file
check "what is persistent is on the disk, by version 1" stored "${first_version[@]}"
check "by version 2" stored "${udp[@]}"
check "by version 2 over RDMA" stored "${rdma[@]}"
check "the kernel drives its own service" selftest

check "a trace is made" ask trace /run/trace --count "$(counts 1500 100000)" --span 1M
head -n "$(counts 300 5000)" /run/trace > /run/shorter	# a message of a peer has 4 KiB at most
check "it replays without a difference, by version 1" replays /run/trace "${first_version[@]}" --write-replies --space 1
check "by version 2" replays_once /run/trace "${udp[@]}"
check "by version 2 over RDMA" replays_once /run/shorter "${rdma[@]}"
if [ "$recorded" != 0 ]; then
	check "a recorded trace replays without a difference, by version 2" replays_once /share/recorded "${udp[@]}"
	check "with less data, by version 1" replays /share/recorded-small "${first_version[@]}" --write-replies --space 1
	check "by version 2 over RDMA" replays_once /share/recorded-small "${rdma[@]}"
fi

# A write, then reads of it, while another client writes there.
address=$(allocate 64K "${udp[@]}" --space 2)
{ echo 1 0 0 1 && seq 2 2000 | sed 's/$/ 0 -0 1/'; } > /run/reads
start replay 1 dsctl -j rdm replay /run/reads --check --at "$address" "${udp[@]}" --space 2
while running replay; do ask write "$((address + 4000))" vandal "${rdma[@]}" --space 2; done
finish replay
is "what somebody else writes to does, and it is found: status" $? 1
check "and how many reads differ" [ "$(number different /run/replay.out)" -gt 0 ]
ask free "$address" "${udp[@]}" --space 2

# Version 1 cannot free, and what is stored was kept.
check "a space is deleted with what is allocated" on_node 2 dsctl -q rdm space del 1
check "so is that of the disk" on_node 2 sh -c "dsctl -q rdm space del 5 && dsctl -q seg del 5 && rmmod brd"
given_back() {
	on_node 2 dsctl -j rdm space show > /run/spaces
	[ "$(grep -o '"allocations":0' /run/spaces | wc -l) $(grep -o '"allocations"' /run/spaces | wc -l)" = "3 3" ]
}
check "all else was given back" given_back
nothing_left() {
	local what
	within 60 on -i 2 dsctl -q batch - > /run/served <<- EOF || return
		rdm space del 2
		rdm space del 3
		rdm space del 4
		rdm listen del $server --wire 1
		rdm listen del $server
		rdm peer del $client
	EOF
	for what in space listen peer; do
		on_node 2 dsctl -j rdm "$what" show | grep -q '"response":\[\]' || return
	done
}
check "all is deleted" nothing_left
check "nobody receives packets any more" fails 3 'nobody receives packets' dsctl rdm ping "${udp[@]}"
check "nor is there a space over RDMA" fails 4 'no such space' dsctl rdm ping "${rdma[@]}" --space 2

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# dsctl with the module: runs on node 1 of three. What it says and returns; that
# the memory itself is right is the business of tests/e2e.
#
# shellcheck disable=SC2016 # what is in single quotes expands later
. /share/harness/tap.sh

# seen STATUS WORD...: note the exit status of a run of dsctl, for the last check
seen() {
	case "$2 ${4:-}" in
	dsctl\ * | on\ dsctl) echo "$1" >> /tmp/statuses ;;
	esac
}

# run STATUS PATTERN WORD...: ends so and says, anywhere, what matches.
run() {
	local wanted=$1 pattern=$2 status=0
	shift 2
	timeout -k 5 60 "$@" > /tmp/out 2> /tmp/err || status=$?
	[ "$status" = "$wanted" ] && cat /tmp/out /tmp/err | grep -Eq -- "$pattern" && seen "$status" "$@" && return
	echo "# $*: status $status, wanted $wanted and /$pattern/; said:"
	sed 's/^/#   /' /tmp/out /tmp/err
	return 1
}

# refused STATUS PATTERN WORD...: the same, with two lines on standard error only
refused() {
	run "$@" || return
	[ ! -s /tmp/out ] && [ "$(wc -l < /tmp/err)" = 2 ] &&
		head -n 1 /tmp/err | grep -qE '^dsctl: .*[^.] \(DS-[A-Z]{3}-[0-9]{3}\)$' &&
		tail -n 1 /tmp/err | grep -qE '^  fix: .' && return
	echo "# ${*:3}: not an error of two lines:"
	sed 's/^/#   /' /tmp/out /tmp/err
	return 1
}

# envelope WORD...: one document, its members in their order, nothing on standard error
envelope() {
	local said
	said=$(dsctl -j "$@" 2> /tmp/err)
	[ ! -s /tmp/err ] && [ "$(wc -l <<< "$said")" = 1 ] && grep -qE \
		'^\{"schema":"dsctl/[a-z-]+/v1","response":\[.*\],"error":.*,"status":[0-9]+,"warnings":\[.*\]\}$' <<< "$said" &&
		return
	printf '# %s\n' "$*" "$said"
	return 1
}

eventually() {
	local tries=$(($1 * 5))
	shift
	until "$@" > /dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || { echo "# not so in time: $*"; return 1; }
		sleep 0.2
	done
}

every() {
	local node
	for node in 1 2 3; do on "$node" "$@" || return; done
}

key_everywhere() {
	dsctl -q node keygen /tmp/key || return
	on -i 2 sh -c 'umask 077; cat > /tmp/key' < /tmp/key && on -i 3 sh -c 'umask 077; cat > /tmp/key' < /tmp/key
}

plan 103

# -- nothing configured --
check "doctor: node number and domain are missing" run 9 'node number +not set' dsctl doctor
check "node show warns" run 0 'no node number' dsctl node show
check "a segment needs a domain" refused 4 'DS-DOM-001' dsctl seg add 16M
check "lists are empty" run 0 '"response":\[\]' dsctl -j peer show
check "module show has the parameters" run 0 'heartbeat_ms' dsctl module show
check "version --all finds the module" run 0 '"ds.ko","version":"[0-9]+\.' dsctl -j version --all
check "the device is used" run 0 '^rxe0 +used +4096' dsctl node dev
check "a wrong command line" refused 2 'DS-USE-001' dsctl mem bench 0x10000000 --depth 0

# -- node, domain --
check "keys are copied" key_everywhere
for node in 1 2 3; do
	check "node set $node" run 0 "this host is node $node" on $node dsctl node set $node
	check "domain add there" run 0 'trust domain 1 is set' on $node dsctl node domain add 1 --key /tmp/key
done
check "the number stays" refused 5 'DS-KRN-016' dsctl node set 4
check "a domain exists once" refused 5 'DS-KRN-017' dsctl node domain add 1 --key /tmp/key
check "domain show" run 0 '"domain":1' dsctl -j node domain show
check "no such domain" refused 4 'node domain show' dsctl node domain del 7

# -- seg --
is "seg add prints the number with -q" "$(on 2 dsctl -q seg add 32M --name two)" 1
check "read-only segment" run 0 'exports 16 MiB' on 3 dsctl seg add 16M --access r
check "too large" refused 1 'DS-KRN-012' dsctl seg add 64G
check "names of other hosts" run 0 '"name":"two"' on 2 dsctl -j seg show
is "two more, for a space of two nodes" "$(on 3 dsctl -q seg add 16M) $(on 2 dsctl -q seg add 16M)" "2 2"
check "no such segment" refused 4 'seg show' dsctl seg del 77

# -- peer --
dsctl monitor --json-lines > /tmp/events 2>&1 & monitor=$!
check "nobody there: timeout" refused 8 'DS-KRN-110' dsctl peer add 10.77.0.9 --wait 500ms
check "and why" run 0 'connecting .*(first attempt to connect is under way|address cannot be reached)' dsctl peer show
dsctl -q peer del 10.77.0.9
is "peer add prints the node with -q" "$(dsctl -q peer add 10.77.0.2)" 2
netdev=$(cat /sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0)
mtu=$(cat "/sys/class/net/$netdev/mtu")
ip link set dev "$netdev" mtu 1500
dsctl -q peer add 10.77.0.3 > /dev/null
check "path MTU over a link of 1500 bytes" run 0 '"node":3,.*"mtu":1024' dsctl -j peer show
check "the other side has the same" run 0 '"node":1,.*"mtu":1024' on 3 dsctl -j peer show
ip link set dev "$netdev" mtu "$mtu"
dsctl -q peer del 3
check "node 3" run 0 'connected to node 3' dsctl peer add 10.77.0.3
check "now it is larger" run 0 '^ +3 +10.77.0.3 +up +out +1 +[0-9]+ +4096 ' dsctl peer show
check "twice" refused 5 'DS-KRN-017.*|peer show' dsctl peer add 10.77.0.2
check "no such peer" refused 4 'DS-KRN-002' dsctl peer del 9
check "both are up" run 0 'up.*up' sh -c 'dsctl -j peer show'
check "the other side sees it come in" run 0 '10.77.0.1 +up +in' on 2 dsctl peer show

# -- attach, space --
check "a failed attach leaves no space behind" refused 4 'DS-KRN-002' \
	dsctl seg attach 2:9 --space 1 --servers 3 --size 32M
check "none there" run 0 '"response":\[\]' dsctl -j space show
check "too long for a server" refused 1 '--size' dsctl seg attach 2:1 --space 1
check "attach makes the space and says so" run 0 'space 1 is new: 3 server' \
	dsctl seg attach 2:1 --space 1 --servers 3 --size 32M
check "the next free server" run 0 'server 1 of space 1 is segment 1 of node 3' dsctl seg attach 3:1 --space 1
check "the space does not agree" refused 5 'DS-SPC-003' dsctl seg attach 2:1 --space 1 --servers 2
check "taken" refused 5 'detach' dsctl seg attach 2:1 --space 1 --server 0
check "no such node" refused 3 'peer add' dsctl seg attach 7:1 --space 1
check "space show" run 0 '^ +1 +1 +up +3 +1 +16 MiB +r ' dsctl space show
dsctl -q seg attach 3:2 --space 3 --servers 2 > /dev/null
check "server 1 of it is on another node" run 0 'server 1 of space 3 is segment 2 of node 2' dsctl seg attach 2:2 --space 3
check "read-only space" run 0 'space 2 has 1 server' dsctl space add 2 --access r --uid 1000
check "twice" refused 5 'DS-KRN-017' dsctl space add 2
check "addr explain of a space" run 0 '"server":1,"offset":8,' dsctl -j addr explain 0x12000008 --space 1
check "no such space" refused 4 'DS-SPC-001' dsctl addr explain 0x12000008 --space 9

# -- completion: names of what there is --
is "spaces" "$(dsctl completion names spaces | xargs)" "1 2 3"
is "nodes" "$(dsctl completion names nodes | xargs)" "2 3"
is "peers" "$(dsctl completion names peers | xargs)" "10.77.0.2 10.77.0.3 2 3"
is "targets" "$(dsctl completion names targets | xargs)" "2: 3:"
is "domains" "$(dsctl completion names domains | xargs)" "1"
is "segments" "$(on 2 dsctl completion names segments | xargs)" "1 2"
# shellcheck disable=SC1090,SC2034 # the script is made by dsctl, and reads them
offered() {
	. <(dsctl completion bash)
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_dsctl
	echo "${COMPREPLY[*]}"
}
is "behind TAB" "$(offered dsctl mem read 0x10000000 8 --space '')" "1 2 3"

# -- mem --
check "write" run 0 '5 B are written' dsctl mem write 0x10000000 hello
check "write from standard input" run 0 '3 B' sh -c 'printf abc | dsctl mem write 0x10000005'
check "read" run 0 '68 65 6c 6c 6f 61 62 63 .*\|helloabc' dsctl mem read 0x10000000 8
check "read as JSON" run 0 '"data":"68656c6c6f"' dsctl -j mem read 0x10000000 5
is "read as bytes" "$(dsctl mem read 0x10000000 8 --out -)" helloabc
check "add" run 0 'was 0 and is 5' dsctl mem add 0x10000100 5
is "the old value with -q" "$(dsctl -q mem add 0x10000100 -1)" 5
check "cas" run 0 'was 4 and is 9' dsctl mem cas 0x10000100 4 9
check "cas of another value" refused 1 'DS-CAS-001' dsctl mem cas 0x10000100 4 1
check "fill" run 0 'are filled' dsctl mem fill 0x10010000 64K --pattern 3
check "verify" run 0 'are right' dsctl mem verify 0x10010003 100 --pattern 3
check "verify finds one byte" refused 1 '1 of 65536 bytes are wrong, the first at 0x10010042' \
	sh -c 'dsctl -q mem write 0x10010042 --hex 00 >&2; dsctl mem verify 0x10010000 64K --pattern 3'
check "no memory there" refused 3 'server 2 of space 1.*DS-MEM-006' dsctl mem read 0x14000000 8
check "behind the end of a segment" refused 1 'node 3, server 1 .* the segment there ends before' dsctl mem read 0x13000000 8
check "outside of the space" refused 1 'DS-ADR-034' dsctl mem read 0x16000000 8
check "not granted by the segment" refused 6 'node 3.*DS-MEM-013' dsctl mem write 0x12000000 x
check "not granted by the space" refused 6 'DS-SPC-013' dsctl mem write 0x10000000 x --space 2
check "no such space" refused 4 'DS-SPC-002' dsctl mem read 0x10000000 8 --space 9
check "bench" run 0 '"executed":64,"not_executed":0,"unknown":0' dsctl -j mem bench 0x10000000 --count 64 --depth 8
check "bench --sync" run 0 '"mode":"sync"' dsctl -j mem bench 0x10000000 --count 4 --op add --sync
check "a buffer beyond max_buf_mb" refused 1 'allows a program 1 GiB \(DS-BUF-007\)' \
	dsctl mem bench 0x10000000 --size 4M --depth 512
check "and how to allow it" grep -q 'fix: .*--size or --depth; ds.ko allows more with a larger max_buf_mb' /tmp/err
check "progress" run 0 'bench: .* % of 3 s' dsctl --progress mem bench 0x10000000 --seconds 3

# -- faults --
check "revoked" run 0 'is revoked' on 2 dsctl seg revoke 1
check "its memory says so" refused 1 'revoked' dsctl mem read 0x10000000 8
check "attach again" run 0 'server 0' dsctl seg attach 2:1 --space 1 --server 0
dsctl mem bench 0x10000000 --seconds 60s > /tmp/bench 2>&1 & bench=$!
check "holders names who has the device open" eventually 20 sh -c "dsctl module holders | grep -Eq '^ *$bench +dsctl +root'"
kill -INT $bench
wait $bench
status=$?
seen $status dsctl mem bench
is "interrupted: status 130, with the figures" "$status $(grep -c 'p99_9' /tmp/bench)" "130 1"
dsctl stat show --watch 60 > /dev/null & watch=$!
check "a watch begins" eventually 20 grep -q '^SigCgt:.*[2367abef]$' /proc/$watch/status
kill -INT $watch
eventually 10 grep -q '^State:.*Z' /proc/$watch/status || kill -KILL $watch
wait $watch
is "interrupted in its pause: status 130, at once" "$?" 130
vm pause 2
check "a paused server: an atomic's outcome is unknown" run 11 'node 2, server 0.*the outcome is unknown' \
	dsctl --timeout 2s mem add 0x10000100 1
vm kill 2
check "its peer is not up any more" eventually 60 sh -c "dsctl -j peer show | grep -q '\"connecting\"'"
check "a dead server is named" refused 3 'node 2, server 0 of space 1.*DS-MEM-107' dsctl --timeout 1s mem read 0x10000000 8
check "the other one still serves" run 0 '00 00' dsctl mem read 0x12000000 8
check "a file for the dead one" refused 3 'node 2, server 0' dsctl --timeout 1s mem put /boot/vmlinuz 0x11000000
head -c 12582912 /dev/zero > /tmp/zero
check "a file half for the dead one: partial" refused 10 'node 2, server 1 of space 3.*8 MiB of 12 MiB were stored' \
	dsctl --timeout 10s mem put /tmp/zero 0x10800000 --space 3
check "get leaves no half file" sh -c '! dsctl -q --timeout 1s mem get /tmp/half 0x10000000 8M 2> /dev/null && ! ls /tmp/half* 2> /dev/null'
check "doctor finds it" run 9 'failed +space 1 server 0' dsctl doctor
kill -INT $monitor
wait $monitor
is "monitor ends with 130" "$?" 130
check "it saw the peer go" grep -q '"event":"peer-down","node":2' /tmp/events
is "each of its lines is an object" "$(grep -vc '^{"schema":"dsctl/monitor-event/v1","time":".*"}$\|^{.*[0-9]}$' /tmp/events)" 0

# -- the form of all --
bad=0
for words in 'node show' 'dev show' 'peer show' 'seg show' 'space show' 'module show' 'module holders' \
	'stat show' 'doctor' 'mem read 0x12000000 8' 'mem read 0x10000000 8 --timeout 1s' 'space del 44'; do
	# shellcheck disable=SC2086 # words
	envelope $words || bad=$((bad + 1))
done
is "documents of one form" "$bad" 0

# -- a module that does not know dsctl's calls: another device takes the place of /dev/ds --
check "module is unloaded" on 3 rmmod ds
check "no module" refused 3 'not loaded' on 3 dsctl mem read 0x10000000 8
on 3 sh -c 'rm -f /dev/ds && mknod /dev/ds c 1 3'
check "a module that lacks the call" refused 7 'does not know the call \(DS-DEV-025\)' on 3 dsctl mem read 0x10000000 8

# -- each line of the table of exit codes has been seen above --
dsctl meta man exits | sed -n 's/^\*\([0-9]*\)\*$/\1/p' | sort -n > /tmp/table
is "all exit codes were produced" "$(sort -nu /tmp/statuses | xargs)" "$(xargs < /tmp/table)"

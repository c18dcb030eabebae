#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs on node 1 of three, each with two links: `on`, `vm` and /share.
#
# shellcheck disable=SC2016 # what is in single quotes expands on the other node
. /share/tap.sh
cd /share || exit 1

carrier_is() { [ "$(on "$1" cat "/sys/class/net/$2/carrier")" = "$3" ]; }
pings() { ping -c 1 -W 1 "$1" > /dev/null 2>&1; }
fails() { ! "$@"; }
runs_on() { on "$1" pgrep -f "$2" > /dev/null; }
# 1 says that there is none; anything else is no answer.
gone_on() { on "$1" pgrep -f "$2" > /dev/null; [ $? = 1 ]; }

plan 47
# Processor time, not the clock's: other work on the host must not fail this.
boot=$(for node in 1 2 3; do vm cpu $node; done | awk '{ s += $1 } END { print int(s) }')
echo "# $boot s"
check "three nodes boot in less than 30 s of processor time" [ "$boot" -lt 30 ]

# -- what a node is --
is "DS_NODE and DS_NODES here" "$DS_NODE of $DS_NODES" "1 of 3"
is "DS_NODE and DS_NODES there" "$(on 3 sh -c 'echo $DS_NODE of $DS_NODES')" "3 of 3"
is "each link has an rxe device" "$(on 2 rdma link | grep -c ACTIVE)" "2"
check "addresses are 10.77.NIC.NODE" pings 10.77.1.3
is "frames of 4200 bytes fit: rxe's MTU is 4096" \
	"$(ibv_devinfo -d rxe0 | awk '/active_mtu/ { print $2 }')" "4096"
check "the kernel's image is a file" [ "$(stat -c %s /boot/vmlinuz)" -gt 4000000 ]
is "who traces has no jump labels of the scheduler patched" \
	"$(on 2 cat /sys/kernel/tracing/options/record-cmd)" 0
check "no way out of the links" fails sh -c "ip route | grep -q default"

# -- on --
on 2 true
is "status 0" "$?" 0
on 2 sh -c 'exit 42'
is "status 42" "$?" 42
on 2 sh -c 'kill -KILL $$'
is "status after a signal" "$?" 137
on 2 no-such-command 2> err
is "status of a missing command" "$?" 127
check "which is named" grep -q "node 2 cannot run 'no-such-command'" err
on 9 true 2> err
is "a node that does not exist" "$?" 2
check "which is said" grep -q "there is no node '9'" err
is "words stay words" "$(on 2 printf '%s|' 'a b' '' '$x' "it's")" "a b||\$x|it's|"
on 2 sh -c 'echo out; echo err >&2' > out 2> err
is "output and error come apart" "$(cat out) $(cat err)" "out err"
is "the working folder is the caller's" "$(on 2 pwd)" "/share"
is "from any node to any node" "$(on 2 on 3 on 1 on 2 sh -c 'echo $DS_NODE')" "2"
is "4 MB of output arrive whole" \
	"$(on 2 head -c 4000000 /boot/vmlinuz | sha256sum)" "$(head -c 4000000 /boot/vmlinuz | sha256sum)"
is "1 MB of input arrives whole" \
	"$(head -c 1000000 /boot/vmlinuz | on -i 2 sha256sum)" "$(head -c 1000000 /boot/vmlinuz | sha256sum)"
is "without -i the input is empty" "$(echo lost | on 2 cat)" ""
is "a reader that stops early" "$(on 2 yes | head -n 1)" "y"
check "ends the writer" eventually 30 gone_on 2 '^yes'

# -- several at once --
# shellcheck disable=SC2034 # a counter
for i in $(seq 20); do
	on $((i % 3 + 1)) sh -c "sleep 1; seq $i 1000" > "many.$i" &
	pids[i]=$!
done
wrong=0
for i in $(seq 20); do
	wait "${pids[i]}" || wrong=$((wrong + 1))
	[ "$(sha256sum < "many.$i")" = "$(seq "$i" 1000 | sha256sum)" ] || wrong=$((wrong + 1))
done
is "20 at once, each with its own output" "$wrong" 0
# Nobody reads the first: it must not hold up the second.
on 2 yes > >(sleep 100) & stuck=$!
sleep 1
is "one that is stuck holds up no other" "$(timeout 30 on 2 echo through)" "through"
kill -KILL $stuck

# -- killing --
on 2 sleep 4321 & pid=$!
check "a remote command runs" eventually 30 runs_on 2 'sleep 4321'
kill -TERM $pid
wait $pid
is "its killed on ends by the signal" "$?" 143
check "and the command with it" eventually 30 gone_on 2 'sleep 4321'
on 2 sleep 4322 & pid=$!
eventually 30 runs_on 2 'sleep 4322'
kill -KILL $pid
check "even a SIGKILL of on ends the command" eventually 30 gone_on 2 'sleep 4322'

# -- links --
vm link 2 1 down
check "a link that goes down loses its carrier" eventually 30 carrier_is 2 eth1 0
check "and carries nothing" fails pings 10.77.1.2
check "the other link still does" pings 10.77.0.2
is "rxe sees it" "$(on 2 rdma link show rxe1/1 | grep -c DOWN)" 1
vm link 2 1 up
check "it comes back" eventually 30 carrier_is 2 eth1 1
check "and carries again" eventually 30 pings 10.77.1.2
vm link 2 7 down 2> err
is "a link that does not exist" "$?" 2

# -- machines --
vm pause 2
check "a paused node is silent" fails pings 10.77.0.2
vm resume 2
check "a resumed one answers" eventually 30 pings 10.77.0.2
on 2 sleep 1000 & pid=$!
eventually 30 runs_on 2 'sleep 1000'
vm kill 2
wait $pid 2> /dev/null
is "a killed node ends what runs on it" "$?" 255
on 2 true 2> err
is "on a dead node" "$? $(cat err)" "255 dsvm: node 2 is down"
vm boot 2
is "it boots again" "$(on 2 sh -c 'echo $DS_NODE')" 2
check "with its links" eventually 30 pings 10.77.0.2

# -- /share --
is "the host's files are there" "$(on 3 cat /share/host)" "from the host"
on 3 sh -c 'echo from node 3 > /share/node3'
is "a node's file is seen by another" "$(on 2 cat /share/node3)" "from node 3"
check "processor time is counted" [ "$(vm cpu 2 | cut -d. -f1)" -ge 1 ]

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Memory and other limits are reached: an error, and nothing is lost by it.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 16

reload() { # reload NODE PARAMETER...
	on_node "$1" bash /share/node.sh unload && on_node "$1" insmod /ds/ds.ko "${@:2}" &&
		on_node "$1" bash /share/node.sh configure
}
configure

# A cgroup: what it may have is what it can export.
group=/sys/fs/cgroup/e2e
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p "$group"
echo 64M > "$group/memory.max"
cat > /run/in_group <<- EOF
	#!/bin/sh
	echo \$\$ > $group/cgroup.procs && exec "\$@"
EOF
chmod +x /run/in_group
check "a segment beyond the cgroup's limit is refused" fails 1 'memory' /run/in_group dsctl seg add 128M
current() { echo $(($(cat "$group/memory.current") / 1048576)); }
check "and leaves nothing charged" eventually 10 sh -c "[ \$(cat $group/memory.current) -lt 8000000 ]"
check "one within it is exported" within 30 /run/in_group dsctl -q seg add 32M
check "and charged" [ "$(current)" -ge 32 ]
check "until it is deleted" within 30 dsctl -q seg del 1
check "then it is not" eventually 10 sh -c "[ \$(cat $group/memory.current) -lt 8000000 ]"
rmdir "$group"

check "more than the machine has is refused" fails 1 'memory' dsctl seg add 8G
check "far more, too" fails '1|2' '.' dsctl seg add 4T
check "nobody was killed for it" sh -c "! dmesg | grep -i 'out of memory\|oom-kill'"

reload 1 max_seg_mb=32
lend 1 32M > /dev/null
check "max_seg_mb: one page more is refused" fails '1|2' 'max_seg_mb|limit|most' dsctl seg add 4K

reload 2 max_peers=1 max_attaches=1
lend 2 16M > /dev/null
lend 2 16M > /dev/null
join 1 2
check "max_peers: the second host is refused" fails 3 'max_peers' on 3 dsctl --timeout 5s peer add 10.77.0.2
check "max_attaches: the first segment is given" within 30 dsctl -q seg attach 2:1 --space 1 --servers 2
check "the second is refused" fails '1|3|5' 'max_attaches' dsctl seg attach 2:2 --space 1

reload 1 max_buf_mb=1
pool 1 2
check "max_buf_mb: a larger buffer is refused" \
	fails '1|2' 'larger max_buf_mb' dsctl mem bench "$first" --size 4M --count 1
check "a smaller one works" within 30 dsctl -q mem bench "$first" --size 64K --count 4
check "more than that is moved in parts" within 60 dsctl -q mem fill "$first" 4M --pattern 6

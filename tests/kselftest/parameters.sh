#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The parameters of ds.ko: each with its lowest and highest value and the ones
# beside them. A value out of range must stop the load with a line in the kernel
# log that says the range. Reloads the module, which must not be in use.
#
#   parameters.sh [FILE]	ds.ko, if modprobe does not know it

module=${1:-}
load() { if [ "$module" ]; then insmod "$module" "$@"; else modprobe ds "$@"; fi; }

count=0
failed=0
result() { # result STATUS NAME
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failed=1
	fi
}

right() { # right NAME VALUE READS
	load "$1=$2" && [ "$(cat "/sys/module/ds/parameters/$1")" = "$3" ]
	result $? "$1=$2 is taken"
	rmmod ds
}

wrong() { # wrong NAME VALUE RANGE [KIND]
	dmesg -c >/dev/null
	if load "$1=$2" 2>/dev/null; then
		result 1 "$1=$2 is refused"
		rmmod ds
		return
	fi
	dmesg | grep -q "ds: parameter $1 must be ${4-a number from }$3, not \"$2\""
	result $? "$1=$2 is refused with its range"
}

range() { # range NAME LOWEST HIGHEST
	right "$1" "$2" "$2"
	right "$1" "$3" "$3"
	[ "$2" = 0 ] || wrong "$1" $(($2 - 1)) "$2 to $3"
	wrong "$1" $(($3 + 1)) "$2 to $3"
}

if [ "$(id -u)" != 0 ] || ! { [ ! -d /sys/module/ds ] || rmmod ds; }; then
	echo "1..0 # SKIP needs root and a ds.ko that nobody uses"
	exit 4
fi
echo "1..61"

range port 1024 65535
range qp_mul_factor 1 32
range heartbeat_ms 100 10000
range sq_size 64 4096
range max_buf_mb 1 4294967295
range max_seg_mb 0 4294967295
range max_peers 1 4096
range max_attaches 1 65536
range token_cache 0 1
range token_l1 16 2097150
range token_l2 0 32
right token_l2_node -1 -1
right token_l2_node 0 0
wrong token_l2_node -2 "-1 to 1023"
wrong token_l2_node 1024 "-1 to 1023"
for policy in default literal-001 adaptive-001; do
	right token_policy $policy $policy
done
for policy in "" literal 1 LITERAL-001; do
	wrong token_policy "$policy" "default, literal-001 or adaptive-001" ""
done
for value in "" abc -1 1.5 18527x; do
	wrong port "$value" "1024 to 65535"
done
right port 0x485f 18527

load port=18527 qp_mul_factor=3
result $? "the defaults load"
[ "$(cat /sys/module/ds/parameters/qp_mul_factor)" = 3 ]
result $? "a value is read back"
! echo 4 2>/dev/null >/sys/module/ds/parameters/qp_mul_factor
result $? "a value cannot be changed later"
exit $failed

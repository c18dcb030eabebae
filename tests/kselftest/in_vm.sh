#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs all kselftest programs on node 1 of two test machines, node 2 being the
# peer whose memory they use. TAP on standard output. DS_TEST_SLOW: see ds_test.h.
here=$(dirname "$0")
cd "$here" || exit 1

set_up() {
	dsctl node set 1 && on 2 dsctl node set 2 &&
	dsctl node keygen /run/ds.key && on -i 2 sh -c 'cat > /run/ds.key' </run/ds.key &&
	on 2 chmod 600 /run/ds.key &&
	dsctl node domain add 1 --key /run/ds.key &&
	on 2 dsctl node domain add 1 --key /run/ds.key &&
	on 2 dsctl seg add 2M --domain 1 &&
	dsctl peer add 10.77.0.2 --domain 1 &&
	dsctl seg attach 2:1 --space 1 --servers 2 --size 16M &&
	dsctl peer add 10.77.0.1 --domain 1 && segment=$(dsctl -q seg add 2M --domain 1) &&
	dsctl seg attach 2:1 --space 2 --servers 2 --size 16M &&
	dsctl seg attach "1:$segment" --space 2 --server 1
}

# With a small L1, and memory of more tokens than it has slots.
set_up_small() {
	insmod /ds/ds.ko token_l1=16 && dsctl node set 1 &&
	dsctl node domain add 1 --key /run/ds.key && dsctl peer add 10.77.0.2 --domain 1 &&
	segment=$(on 2 dsctl -q seg add 80M --domain 1) &&
	dsctl seg attach "2:$segment" --space 1 --servers 1 --size 128M
}

# Processes with the same addresses would hide who takes one's for another's.
echo 2 >/proc/sys/kernel/randomize_va_space

on 1 lost-memory forget && on 2 lost-memory forget || exit 1

failed=0
run() {
	echo "# $*"
	"$@"
	case $? in
	0 | 4) ;;
	*) failed=1 ;;
	esac
}

# keeps_memory NUMBER NODE
keeps_memory() {
	word=ok
	on "$2" lost-memory >/run/lost || { word="not ok"; failed=1; }
	sed "s/^/# node $2: /" /run/lost
	echo "$word $1 - node $2 has lost no memory"
}

# These want a host that was not set up.
for program in directory netlink_abi netlink_objects netlink_files netlink_race netlink_tokens netlink_params failpoints rdm_netlink rdm_wire1 rdm_wire2 rdm_storage; do
	run "./$program"
done
run env DS_TEST_ADDRESS=10.77.0.1 DS_TEST_LINK="rxe0 type rxe netdev eth0" ./token_add

if ! set_up >/run/set_up 2>&1; then
	sed 's/^/# /' /run/set_up
	echo "Bail out! the machines could not be set up"
	exit 1
fi
# Now the host has queue pairs that are used.
run ./netlink_tokens
run ./netlink_params
export DS_TEST_SPACE=1 DS_TEST_SPACE_OF_TWO=2 DS_TEST_DOMAIN=1 DS_TEST_PEER=2 DS_TEST_REMOTE="on 2 env DS_TEST_SLOW=${DS_TEST_SLOW:-1} $PWD"

programs="ioctl_abi handles buffers segments ring events submit execute patience clients ports"
for program in $programs; do
	run "./$program"
done
run ./rdm_peer
run ./room
run ./token_expand
run ./fail_nth
run ./fail_commands
# The same while signals come without end.
for program in $programs; do
	run env DS_TEST_STORM=1 "./$program"
done

echo 1..3
keeps_memory 1 1
keeps_memory 2 2

# Last, as it unloads the module, which has a peer and a space by now.
run ./parameters.sh /ds/ds.ko
rmmod ds && insmod /ds/ds.ko && run env DS_TEST_MODULE=/ds/ds.ko ./fail_load || failed=1
for policy in literal-001 adaptive-001 default; do
	rmmod ds && insmod /ds/ds.ko token_policy=$policy && run ./netlink_tokens && run ./netlink_params || failed=1
done
rmmod ds && set_up_small >/run/set_up 2>&1 && run ./token_pin && rmmod ds || failed=1
sed 's/^/# /' /run/set_up
keeps_memory 3 1
exit $failed

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs as the last service of a Debian host that boots, and writes TAP. The first boot
# installs packages/*.deb (ds-dkms is there), sets the host up, and uses it; the second finds
# it set up, and purges them. Its RDMA device is soft-RoCE's, made by rxe.service.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
. ./tap.sh

address=10.77.0.1
store=/var/lib/dsmasterd
work=$(mktemp -d)

show() { sed 's/^/# /' "$work/said"; return 1; }
quiet() { "$@" > "$work/said" 2>&1 || show; }
said() { grep -q -- "$1" "$work/said" || show; }
says() { quiet "${@:2}" && said "$1"; }
refuses() { ! "${@:2}" > "$work/said" 2>&1 && said "$1"; }
reported() { dmesg | grep -E 'BUG|WARNING|Oops|Call Trace'; }
as() { runuser -u "$1" -- "${@:2}"; }
starts() { quiet systemctl enable --now "$1" || { journalctl -q -u "$1" | sed 's/^/# /'; return 1; }; }
put() { dsctl obj put release /etc/os-release --space 2 > "$work/said" 2>&1; }
mourns() { journalctl -q -b -u dsmasterd | tee "$work/said" | grep -q 'fix:'; }
unit() { systemctl show -P "$1" "$2"; }
loaded() { lsmod | grep -c '^ds '; }

first_boot() {
	plan 29
	check "the packages are installed" quiet dpkg -i packages/*.deb
	check "DKMS has built the module for this kernel" says "$(uname -r).*: installed" dkms status ds
	check "modprobe would find it" quiet modinfo ds
	check "there is a group ds" quiet getent group ds
	is "ds.service is not enabled" "$(unit UnitFileState ds)" disabled
	is "nor dsmasterd.service" "$(unit UnitFileState dsmasterd)" disabled
	check "to start it without a configuration is no failure" quiet systemctl start ds
	is "and loads nothing" "$(loaded)" 0
	check "the first use of dsctl does" quiet dsctl node show

	useradd --groups ds friend
	useradd stranger
	mkdir -p /etc/ds
	check "a key" quiet dsctl node keygen /etc/ds/pool.key
	cat > /etc/ds/host.ds <<-END
		node set 1
		node domain add 1 --key /etc/ds/pool.key
		seg add 64M
		seg add 64M
		peer add $address --wait 20s
		seg attach 1:1 --space 1 --size 64M
		seg attach 1:2 --space 2 --size 64M
	END
	check "ds.service is enabled and starts" starts ds
	is "/dev/ds is the group's" "$(stat -c '%a %U %G' /dev/ds)" "660 root ds"
	check "one of the group writes" quiet as friend dsctl mem write 0x10000000 hello
	check "and reads" says '68 65 6c 6c 6f' as friend dsctl mem read 0x10000000 5
	check "who is not of the group is told so" refuses 'group' as stranger dsctl mem read 0x10000000 5
	check "doctor finds nothing wrong" quiet dsctl doctor
	check "the manual has dsctl" test -s /usr/share/man/man8/dsctl.8.gz
	# shellcheck disable=SC2046 # words
	check "a program is built with the library" \
		quiet gcc -o "$work/hello" /usr/share/doc/libdsuser-dev/examples/hello.c $(pkg-config --cflags --libs libdsuser)
	check "and runs" says 'hello from far away, run 1' "$work/hello"

	echo 'OPTIONS=--space 2' > /etc/default/dsmasterd
	dsmasterd --store "$store" --space 2 --create > "$work/master" 2>&1 &
	check "a store is made" eventually 60 grep -q serves "$work/master"
	sed 's/^/# /' "$work/master"
	kill -TERM $! 2> /dev/null
	check "its maker ends well" wait $!
	check "dsmasterd.service is enabled and starts" starts dsmasterd
	check "an object is put" eventually 30 put
	show
	check "and got" says 'Debian' dsctl obj get release - --space 2
	check "ds.service stops" quiet systemctl stop ds
	is "the master has ended before" "$(unit ActiveState dsmasterd)" inactive
	is "the module is gone" "$(loaded)" 0
	check "both start again" quiet systemctl start ds dsmasterd
	is "the kernel had nothing to report" "$(reported)" ""
}

second_boot() {
	plan 10
	is "ds.service has set the host up" "$(unit ActiveState ds)" active
	check "its memory is attached" says '2  *0  up' dsctl space show
	# The only server's memory is empty after a reboot.
	check "the master says that its store is gone" eventually 60 mourns
	show
	check "a new version of dsctl leaves it alone" quiet dpkg -i packages/dsctl_*.deb
	is "it is still up" "$(unit ActiveState ds) $(loaded)" "active 1"
	check "all are purged" quiet dpkg --purge ds-dkms dsmasterd dsctl libdsuser-dev libdsuser0
	is "no module is left for this kernel" "$(find /lib/modules /var/lib/dkms -name 'ds.ko*')" ""
	is "no program, unit or rule" \
		"$(ls -d /usr/bin/ds* /lib/systemd/system/ds* /lib/udev/rules.d/60-ds* /usr/src/ds-* 2> /dev/null)" ""
	check "what the administrator wrote stays" test -s /etc/ds/host.ds
	is "the kernel had nothing to report" "$(reported)" ""
}

if [ -e booted ]; then
	second_boot
else
	touch booted
	first_boot
fi

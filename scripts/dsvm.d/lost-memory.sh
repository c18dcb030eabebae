#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# In a machine: looks for memory that ds.ko allocated and nothing points to any
# more, and prints where it was allocated. Status 1 when there is some.
#
#   lost-memory            look
#   lost-memory forget     what is lost by now does not count
#
# Needs a kernel with kmemleak, as of scripts/debug-kernel, that has no modules
# but ds; on others it does nothing.
file=/sys/kernel/debug/kmemleak
[ -w "$file" ] || exit 0

# An object counts when two scans have not found it, and it is 5 s old.
echo scan > "$file"
sleep 6
echo scan > "$file"
if [ "${1:-}" = forget ]; then
	echo clear > "$file"
	exit
fi
# Addresses of a module that is unloaded have no name.
awk '
	function tell() { if (ours) { printf "%s", text; found = 1 } text = ""; ours = 0 }
	/^unreferenced object/ { tell() }
	{ text = text $0 "\n" }
	/ \[ds\]$/ || /\] 0xffffffff[a-f]/ { ours = 1 }
	END { tell(); exit found }' "$file"

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables of run.sh
#
# A B+tree over both servers: every symbol of this machine's kernel.

symbols=/root/symbols	# lines "KEY NUMBER NAME"; the number is the line's

# The key is the low 56 bits of the address, and which of the symbols there it is.
list_symbols() {
	sort /proc/kallsyms | awk '{
		at = substr($1, 3)
		n = at == before ? n + 1 : 0
		before = at
		printf "0x%s%02x %d %s\n", at, n, NR, $3
	}' > "$symbols"
	cut -d' ' -f1,2 "$symbols" > "$symbols.load"
}

grow_tree() {
	for node in $servers; do
		at "$node" dsctl seg add 32M --name "trees-$node"
	done
	for node in $compute $reader; do
		for server in $servers; do
			at "$node" dsctl seg attach "$server:2" --space 2 --servers 2 --size 32M
		done
	done
	list_symbols
	note "/proc/kallsyms has $(wc -l < "$symbols") symbols, from $(head -n 1 "$symbols" | cut -d' ' -f3) on"
	at "$compute" dsctl tree create 1 --space 2
	at "$compute" dsctl tree load "$symbols.load" --space 2
	at "$compute" dsctl tree check --space 2
}
step "A B+tree over both: every symbol of this machine's kernel, by address" grow_tree

look_up() { stuck=200 at "$compute" dsctl tree verify "$symbols.load" --depth 16 --space 2; }
step 'Look all of them up, 16 at a time: one round trip for 16' look_up

# Scans for addresses that lie in symbols, up to 4 KiB behind their start, and what
# they should find: the last of the symbols at the same address.
make_scans() {
	local key number next at end
	# Not awk's numbers: they have 53 bits.
	awk 'BEGIN { srand(1) }
		{ at = substr($1, 1, length($1) - 2) }
		NR > 1 && at != before { print rand(), key, number, at }
		{ key = $1; number = $2; before = at }' "$symbols" | sort > /root/shuffled
	RANDOM=1
	while read -r _ key number next; do
		at=$((key >> 8 & 0xffffffffffffff))
		end=$((next - at < 4096 ? next - at : 4096))
		at=$((at + RANDOM % end))
		printf '0x%x 0x%x\n' $(((at > 4095 ? at - 4095 : 0) << 8)) $((at << 8 | 255)) >&3
		printf '0x%x %d\n' "$key" "$number" >&4
	done < <(head -n 1000 /root/shuffled)
}

resolve() {
	local range
	make_scans 3> /root/scans 4> /root/expected
	read -ra range < /root/scans
	at "$compute" dsctl tree scan "${range[@]}" --tail 1 --space 2
	note "and so for all 1,000 of the file"
	at "$compute" dsctl tree scan --file /root/scans --tail 1 --space 2 > /root/resolved
	sed -i 1d /root/resolved	# the command
	sed -n "$(head -n 1 /root/resolved | cut -d' ' -f2)p" "$symbols"
	cmp /root/resolved /root/expected
	note "each of the $(wc -l < /root/resolved) addresses is in the symbol that the file says"
}
step 'Find the symbols that 1,000 random addresses are in, by range scans' resolve

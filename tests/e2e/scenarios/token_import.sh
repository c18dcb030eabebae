# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Tokens of all users' objects of an RDMA device say what rdma(8) says: numbers, keys, sizes,
# states, protection domains, owners. Those of queue pairs do so while a connection breaks.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 23

# rdma_says TYPE: of each object its type, number (of memory: its keys), what it is, and the
# number of its protection domain, which rdma(8) says of programs' objects only
rdma_says() {
	awk -v type="$1" '/rxe0/ {
		split("", v)
		for (i = 1; i < NF; i += 2)
			v[$i] = $(i + 1)
		pd = "pdn" in v ? v["pdn"] : "-"
		if (type == "pd") print type, v["pdn"]
		if (type == "cq") print type, v["cqn"], v["cqe"]
		if (type == "mr") print type, v["lkey"], v["rkey"], v["mrlen"], pd
		if (type == "qp") print type, v["lqpn"], v["type"], tolower(v["state"]), pd
	}' "/run/rdma.$1" | sort
}
# tokens_say TYPE: the same of tokens. Memory of other hosts, which has no local key, is no
# object of the device.
tokens_say() {
	grep -o '{"token"[^}]*}' /run/tokens | tr -d '{}"' | awk -F '[,:]' -v type="$1" '{
		split("", v)
		for (i = 1; i < NF; i += 2)
			v[$i] = $(i + 1)
		foreign = v["foreign"] == "true"
		if (v["type"] == "pd") number[foreign, v["token"]] = v["number"]
		if (v["type"] != type || (type == "mr" && !v["lkey"])) next
		what[++n] = v["number"]
		if (type == "cq") what[n] = what[n] " " v["entries"]
		if (type == "mr") what[n] = sprintf("0x%x 0x%x %s", v["lkey"], v["rkey"], v["length"])
		if (type == "qp") what[n] = what[n] " " v["qp_type"] " " v["state"]
		pd[n] = foreign && "pd" in v ? v["pd"] : ""
	} END {
		for (i = 1; i <= n; i++)
			print type, what[i] (type != "qp" && type != "mr" ? "" : " " (pd[i] == "" ? "-" : number[1, pd[i]]))
	}' | sort
}
# import_says [SELECT]: type, number and owner of what is imported, or told to be ours
import_says() {
	grep -o '{"type"[^}]*}' /run/import | grep "${1:-}" | sed 's/.*"type":"\([a-z]*\)","number":\([0-9]*\),"owner":"\([^"]*\)".*/\1 \2 \3/' | sort
}
# owners [SELECT]: the same by rdma(8)
owners() {
	local type
	for type in pd cq mr qp; do
		grep rxe0 "/run/rdma.$type" | sed "s/.* l\?${type}n \([0-9]*\) .* comm \([^ ]*\).*/$type \1 \2/"
	done | grep -E "${1:-}" | sort
}
# ask: both, of one moment
ask() {
	local type
	for type in pd cq mr qp; do rdma resource show $type > /run/rdma.$type; done
	dsctl -j token show --device rxe0 > /run/tokens
}
states() { rdma resource show qp | grep rxe0 | grep -c "state $1 .*comm $2"; }

configure
lend 1 16M > /dev/null
lend 2 16M > /dev/null
pool 1 2
pool 2 1

# -- objects of others --
within 100 ib_send_bw -d rxe0 -D 80 > /dev/null 2>&1 &
listens() { grep -Eqs ':4853 0+:0000 0A' /proc/net/tcp /proc/net/tcp6; }	# at perftest's port, 18515
eventually 20 listens
within 100 ib_send_bw -d rxe0 -D 80 10.77.0.1 > /dev/null 2>&1 &
# Both ends are of one host; the one that only receives stays ready to.
user_has() { [ "$(states RTS ib_send_bw) $(states RTR ib_send_bw)" = "1 1" ]; }
check "a program uses the device" eventually 20 user_has
pkill -STOP -x ib_send_bw	# it has what it has
dsctl -j token import rxe0 > /run/import
ask
for type in pd cq mr qp; do rdma_says $type; done | sed 's/^/# /'
check "it has queue pairs, and so have we" [ "$(rdma_says qp | wc -l)" -ge 8 ]
for type in pd cq mr qp; do
	is "tokens, ours and foreign, say what rdma(8) says: $type" "$(tokens_say $type)" "$(rdma_says $type)"
done
is "import lists what rdma(8) lists, with its owners" "$(import_says)" "$(owners)"
is "ours is what ds and its connections have" "$(import_says '"own":true')" "$(owners '\[(ds|rdma_cm)\]$')"
is "the program's is foreign" "$(import_says '"own":false' | grep -c ib_send_bw)" "$(owners ' ib_send_bw$' | wc -l)"
check "that is all that a program needs" [ "$(owners ' ib_send_bw$' | cut -d ' ' -f 1 | sort -u | tr '\n' ' ')" = "cq mr pd qp " ]
dsctl token import rxe0 > /run/import.text
sed 's/^/# /' /run/import.text
check "people are told so, too" grep -Eq '^qp +[0-9]+ +RC rtr +ib_send_bw +foreign$' /run/import.text
pkill -KILL -x ib_send_bw
wait
ask
check "who has ended is still there" [ "$(tokens_say cq | wc -l)" -gt "$(rdma_says cq | wc -l)" ]
dsctl -q token import rxe0 > /dev/null
ask
is "until the next import" "$(tokens_say qp)" "$(rdma_says qp)"

# -- memory that the module has made, and which has no token yet --
third=$(lend 1 16M)
fail=/sys/kernel/debug/ds/failpoints/token_add
echo "delay 10000 1" > $fail	# less than the attach is waited for
on_node 2 dsctl -q seg attach "1:$third" --space 3 --servers 1 > /dev/null &
held() { grep -qx off $fail; }
check "a region waits for its token" eventually 20 held
dsctl -j token import rxe0 > /run/import
is "it is not taken for another's" "$(import_says '"own":false' | grep -c '\[ds\]$')" 0
wait $!
ask
is "nor was it listed twice" "$(tokens_say mr)" "$(rdma_says mr)"
on_node 2 dsctl -q space del 3

# -- a connection breaks: a heartbeat under way keeps its queue pairs for a while --
on_node 2 bash /share/node.sh clean
dsctl -q space del 1
alone() { ! dsctl peer show | grep -qw in; }
check "one connection is left" eventually 10 alone
lanes=$(states RTS '.rdma_cm.')
fail=/sys/kernel/debug/ds/failpoints/msg_send
echo "delay $((slow > 1 ? 60000 : 30000)) 1" > $fail	# not more than a minute
beats() { grep -qx off $fail; }
check "it is between two heartbeats" eventually 10 beats
within 60 dsctl -q peer del 10.77.0.2 &
broken() { [ "$(states ERR '.rdma_cm.')" = "$lanes" ]; }
check "it breaks" eventually 5 broken
ask
rdma_says qp | sed 's/^/# /'
is "tokens say so of its queue pairs" "$(tokens_say qp)" "$(rdma_says qp)"
wait $!
is "then it has none" "$(dsctl -j token show --type qp --device rxe0 | grep -c '"state":"err"')" 0

# -- the device goes --
rdma link delete rxe0
is "tokens go with the device" "$(dsctl token show | grep -c rxe0)" 0
rdma link add rxe0 type rxe netdev eth0
join 1 2
check "and come back" eventually 30 sh -c 'dsctl token show --type qp | grep -q "rxe0 .* RC rts"'

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Who is in L1 of the token cache: shares of trust domains, and the policies of document 001
# with what they measure of this host.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 37

reload() { # reload PARAMETER...: of node 1, which uses 32 memory regions of node 2 then
	bash /share/node.sh unload && insmod /ds/ds.ko "$@" && bash /share/node.sh configure &&
		join 1 2 && on_node 1 dsctl -q seg attach 2:1 --space 1 --servers 1 --size 64M > /dev/null
}
bench() { within 60 dsctl -q mem bench $first --op read --depth 4 --span 64M --random "$@" > /dev/null; }
parameter() { dsctl -j token set | grep -o "{\"name\":\"$1\"[^}]*}" | grep -o '"value":[0-9]*' | cut -d: -f2; }
above() { [ "$(parameter "$1")" -gt "$2" ]; }
counted() { dsctl -j token stat --device rxe0 | grep -o "\"name\":\"$1\",\"value\":[0-9]*" | cut -d: -f3; }
none_in_l1() { [ "$(counted tokens_l1)" = 0 ]; }

configure
lend 2 64M > /dev/null

# -- shares --
check "a module with room for all" reload token_l1=8192
check "trust domain 1 has a share" dsctl -q token set SHARE_MIN=50 --domain 1
bench --count 4000
share() { dsctl token set --domain 1 | grep -o 'has [0-9]* slots' | head -n 1 | grep -o '[0-9]*'; }
# of_domain: tokens in L1 whose protection domain is of it
of_domain() {
	local pd
	for pd in $(dsctl -j token show --type pd | grep -o '{"token":[0-9]*[^}]*"domain":1[,}]' | grep -o '"token":[0-9]*' | cut -d: -f2); do
		dsctl -j token show --tier 1 | grep -o '{"token"[^}]*}' | grep "\"pd\":${pd}[,}]"
	done | wc -l
}
echo "# domain 1 has $(share) slots"
check "its memory regions and queue pairs are in it" [ "$(share)" -ge 20 ]
is "as many as are shown in L1" "$(of_domain)" "$(share)"
check "it may have fewer" dsctl -q token set SHARE_MAX=60 --domain 1
check "but not fewer than it keeps" fails 1 'SHARE_MIN would be above SHARE_MAX' dsctl token set SHARE_MAX=49 --domain 1
check "a share is of a domain" fails 2 'SHARE_MIN is of a trust domain' dsctl token set SHARE_MIN=1
check "and nothing else is" fails 2 'ALPHA is not of a trust domain' dsctl token set ALPHA=1 --domain 1
check "nor what is none" fails 2 'FROB is not of a trust domain' dsctl token set FROB --domain 1
check "who has no share is told so" fails 4 'trust domain 7 has no share' dsctl token set --domain 7
is "one parameter is shown, if it is named" "$(dsctl token set AGING_INTERVAL | cut -d' ' -f1 | tr '\n' ' ')" "PARAMETER AGING_INTERVAL "
check "unless there is none" fails 4 "no parameter 'FROB'" dsctl token set FROB
check "a device that is none has no tokens" fails 4 "no tokens of 'nope'" dsctl token show --device nope
check "a share may keep nothing" dsctl -q token set SHARE_MIN=0 --domain 1
check "and be taken away" dsctl -q token set "SHARE_MAX=$(parameter L1_CAPACITY)" --domain 1
check "then its domain has none" fails 4 'trust domain 1 has no share' dsctl token set --domain 1
share_of_nobody() { dsctl token set "$1" --domain 7 2>&1; }
is "a domain that is not there is taken for one that comes" "$(share_of_nobody SHARE_MIN=5 | grep -v 'is set')" \
	"dsctl: warning: this host has no trust domain 7: its share is for when it comes"
is "its share is taken away without a word" "$(share_of_nobody SHARE_MIN=0)" "SHARE_MIN=0 is set"
check "nor has any other" fails 4 'no trust domain has a share' dsctl token set SHARE_MIN
check "the default policy has no thresholds" fails 1 'token_policy=literal-001' dsctl token set PROMOTE_TO_L1_THRESHOLD=2

# -- literal-001 --
check "literal-001 loads" reload token_policy=literal-001
check "nobody is idle now" dsctl -q token set DEMOTE_FROM_L1_IDLE_NS=1000000000000
bench --count 50
is "50 uses of many tokens bring none into L1" "$(counted up_l1)" 0
check "unless few are enough" dsctl -q token set PROMOTE_TO_L1_THRESHOLD=2
bench --count 1000
echo "# $(counted tokens_l1) tokens in L1"
check "which they are" [ "$(counted tokens_l1)" -ge 20 ]
check "who was idle for 10 ms goes" dsctl -q token set DEMOTE_FROM_L1_IDLE_NS=10000000
check "all are" eventually 20 none_in_l1

# -- adaptive-001 --
# What is tried is tried with all of the slots; who is refused some has few hits in them.
check "adaptive-001 loads" reload token_policy=adaptive-001 token_l1=16 token_l2=0
check "trust domain 1 gets two slots" dsctl -q token set SHARE_MAX=2 --domain 1
dsctl -q token set AGING_INTERVAL=300
dsctl -q token set DEMOTE_FROM_L1_IDLE_NS=1000000000000
is "it begins with the lowest threshold" "$(parameter PROMOTE_TO_L1_THRESHOLD)" 1
load() { LOAD_LIMIT=240 start load 1 dsctl -q mem bench $first --op read --depth 4 --random --seconds 200s "$@"; }
end_of_load() {
	running load && pkill -INT -x dsctl
	finish load || [ $? = 130 ]
}
dsctl -q token set DMA_BANDWIDTH=1000
load --span 64M
check "moves that use up all DMA raise it" eventually 60 above PROMOTE_TO_L1_THRESHOLD 1
echo "# to $(parameter PROMOTE_TO_L1_THRESHOLD)"
check "operations have gone on" end_of_load

# All that is used now has room in 16 slots. 20 intervals later nothing is known of what had
# not, and a lower threshold costs nothing.
load --span 16M
enough=$(($(counted hits_l3) + 6000))
many() { [ "$(counted hits_l3)" -gt "$enough" ]; }
check "another load is looked at for a while" eventually 90 many
echo "# $(parameter PROMOTE_TO_L1_THRESHOLD) by itself"
dsctl -q token set DMA_BANDWIDTH=1099511627776
for _ in $(seq "$(nproc)"); do while :; do :; done & busy+=($!); done
# On a slow host the processor was busy before: then a lower one may have been tried in vain.
check "a higher one is set" dsctl -q token set PROMOTE_TO_L1_THRESHOLD=64
lowest() { [ "$(parameter PROMOTE_TO_L1_THRESHOLD)" = 1 ]; }
check "a busy processor and free DMA lower the threshold again" eventually 90 lowest
echo "# to $(parameter PROMOTE_TO_L1_THRESHOLD)"
kill "${busy[@]}"
check "operations have gone on again" end_of_load
check "L1 was used" [ "$(counted hits_l1)" -gt 0 ]

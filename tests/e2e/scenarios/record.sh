# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# dsctl token record: each look-up of a token is in the trace, whatever processor made it and
# however the recorder ends; what it used for that is gone then, and nobody else's tracing
# was touched.
# shellcheck source=tests/e2e/lib.sh
. /share/lib.sh
plan 32

tracing=/sys/kernel/tracing
trace=/run/uses.trace
bench() { within 60 dsctl -j mem bench $first --op "$1" --count "$2" --depth 4 > /dev/null; }
# looked NAME: counted by the module
looked() { awk '$2 ~ /^hits_/ { n += $3 } END { print n }' /sys/kernel/debug/ds/tokencache; }
instances() { find $tracing/instances -mindepth 1 -maxdepth 1 | wc -l; }
# shown FIELD: of the trace, as the simulator reads it
shown() { dsctl -j sim trace show "$trace" > /run/shown && number "$1" /run/shown; }
switched_on() { grep -qs 1 $tracing/instances/ds-dsctl-*/events/ds/ds_token_access/enable; }

# its_end: of the recorder, never for ever; its status
its_end() {
	eventually 90 sh -c "! kill -0 $recorder" || {
		sed 's/^/# the recorder: /' /proc/$recorder/{status,stack}
		kill -KILL $recorder
	}
	wait $recorder
}

# begin RECORD_OPTION...: returns when it records; $recorder is its process
begin() {
	rm -f "$trace"
	dsctl -j token record "$trace" "$@" > /run/record 2> /run/record.err < /dev/null & recorder=$!
	eventually 10 switched_on
}

check "nothing is used, and that is an error" fails 1 'no token was used' dsctl token record "$trace" --seconds 100ms
check "then there is no file" [ ! -e "$trace" ]
check "a folder is no file" fails '1|4' 'token|folder|directory' dsctl token record /run --seconds 100ms

configure
lend 2 16M > /dev/null
pool 1 2
bench read 10

# All of it, on two processors, beside somebody who traces, too.
others=$tracing/instances/others
mkdir $others
echo 1 > $others/events/ds/ds_chain_post/enable
outside=$(looked)
begin --seconds 60
inside=$(looked)
bench read 2000 & first_bench=$!
bench write 2000
wait $first_bench
inside=$(($(looked) - inside))
is "somebody else's tracing is as it was" \
	"$(cat $others/events/ds/ds_{chain_post,token_access}/enable $tracing/events/ds/ds_token_access/enable | tr -d '\n')" 100
check "and has its own events only" sh -c "grep -q ds_chain_post $others/trace && ! grep -q ds_token_access $others/trace"
rmdir $others
kill -INT $recorder
its_end
is "Ctrl-C ends it, and that is no error" "$?" 0
outside=$(($(looked) - outside))
echo "# $inside to $outside look-ups; $(cat /run/record)"
uses=$(number requests /run/record)	# heartbeats look up, too
check "each look-up is recorded" sh -c "[ $inside -le $uses ] && [ $uses -le $outside ]"
is "nothing is lost" "$(number lost /run/record)" 0
is "the simulator reads them" "$(shown requests)" "$uses"
is "with their times" "$(grep -c '"timed":true' /run/shown)" 1
check "chains write to their queue pair's token, requests read their region's" \
	sh -c "[ $(shown writes) -ge 1000 ] && [ $(shown reads) -ge 4000 ]"
is "the tokens are those that were said" "$(shown uniques)" "$(number tokens /run/record)"
is "the trace buffer is gone" "$(instances)" 0
# Of 16 bytes, behind a header of 16: times are 8 bytes at the beginning.
check "times do not go back" sh -c "od -An -v -w16 -t u8 -j 16 $trace | awk '\$1 < last { exit 1 } { last = \$1 }'"

# As many as were asked for.
begin --count 100 --seconds 60
bench read 500
its_end
is "so many and no more" "$? $(shown requests)" "0 100"

# Made and freed while it is recorded.
begin --seconds 60
segment=$(lend 2 1M)
within 60 dsctl -q seg attach "2:$segment" --space 2 --servers 1 --size 16M > /dev/null
within 60 dsctl -q seg detach --space 2 --server 0
kill -TERM $recorder
its_end
check "what is made and freed is recorded" sh -c "[ $(shown creates) -ge 1 ] && [ $(shown frees) -ge 1 ]"
dsctl -q space del 2

# Two at a time; one is killed.
begin --seconds 60
within 120 dsctl -j token record /run/other.trace --count 1000 --seconds 60 > /run/other < /dev/null & other=$!
eventually 10 sh -c "[ \$(ls -d $tracing/instances/* | wc -l) = 2 ]"
kill -KILL $recorder
its_end 2> /dev/null
until ! kill -0 $other 2> /dev/null; do bench read 500; done
is "the other one has what it wants" "$(number requests /run/other)" 1000
is "who is killed leaves its trace buffer" "$(instances)" 1
check "but no file" [ ! -e "$trace" ]
begin --count 10 --seconds 60
is "which the next one removes" "$(instances)" 1
bench read 100
its_end
is "and its own" "$(instances)" 0

# One that was killed may have had the number of this one, as in a container.
sh -c "mkdir $tracing/instances/ds-dsctl-\$\$ && exec dsctl -j token record $trace --count 10 --seconds 60" \
	> /run/record < /dev/null & recorder=$!
eventually 10 switched_on
bench read 100
check "what one of the same number left is in no way" its_end

# A processor that is not there when it begins, or comes while it is at it.
cpu=/sys/devices/system/cpu/cpu1/online
check "a processor is switched off" sh -c "echo 0 > $cpu"
begin --count 20 --seconds 60
bench read 100
check "what the other one does is recorded" its_end
begin --count 200 --seconds 60
echo 1 > $cpu
until ! kill -0 $recorder 2> /dev/null; do bench read 500; done
check "and when there are two again" its_end

# It cannot keep pace: it is stopped until the kernel has overwritten something.
begin --seconds 120
kill -STOP $recorder
overrun() { cat $tracing/instances/ds-dsctl-*/per_cpu/cpu*/stats | awk '/^overrun/ && $2 { n = 1 } END { exit !n }'; }
echo 8 > "$(echo $tracing/instances/ds-dsctl-*)/buffer_size_kb"
for _ in $(seq 20); do overrun && break; bench read 2000; done
kill -INT $recorder
kill -CONT $recorder
its_end
check "what was lost is counted" [ "$(number lost /run/record)" -gt 0 ]
check "and said" grep -q 'were not recorded' /run/record
is "and all others are there" "$(shown requests)" "$(number requests /run/record)"

# The module goes meanwhile: what was recorded until then is kept.
begin --seconds 60
bench read 100
sleep 0.2
for node in $nodes; do on_node "$node" bash /share/node.sh clean; done
check "the module can be unloaded" rmmod ds
kill -INT $recorder
its_end
check "what was recorded is kept" [ "$(shown requests)" -gt 100 ]

# Without the cache operations do what they did, and it knows nothing of them.
insmod /ds/ds.ko token_cache=0
bash /share/node.sh configure
bash /share/node.sh load
segment=$(lend 2 16M)
join 1 2
within 60 dsctl -q seg attach "2:$segment" --space 1 --servers 1 > /dev/null
check "operations pass the cache by" within 60 dsctl mem bench $first --op write --count 100
is "and none is counted" "$(awk 'NF == 3 { n += $3 } END { print n + 0 }' /sys/kernel/debug/ds/tokencache)" 0
within 60 bash /share/node.sh clean
within 60 bash /share/node.sh clean_domains
rmmod ds
bash /share/node.sh load

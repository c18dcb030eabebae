// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: what adaptive-001 has to know of the host.
 *
 * There is no NIC whose DMA could be watched: what tokens' moves carry, to and from whatever
 * tier, is held against the bandwidth that the parameter DMA_BANDWIDTH says a NIC has. Hits and
 * the processors' time are what this host has seen, of all its programs.
 */
#include <linux/cpumask.h>
#include <linux/kernel_stat.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/tick.h>
#include "token_device.h"
#include "token_fetch.h"
#include "token_load.h"
#include "tokens.h"

/* What comes before is forgotten on the way: no interval need end, and products have room. */
#define DS_TOKEN_LOAD_NS	(24ull * 3600 * NSEC_PER_SEC)

/**
 * struct ds_token_seen - sums, of which two are compared
 * @ns: time
 * @cpus: processors, and
 * @idle_ns: time that they had nothing to do, each for itself
 * @uses: look-ups that found a token, and
 * @l1: of these in L1, and
 * @l2: in L2
 * @bytes: that moves carried
 * @moves: to L1 or L2
 * @waits: times that the host answered who met a token on its way
 */
struct ds_token_seen {
	u64	ns;
	u32	cpus;
	u64	idle_ns;
	u64	uses;
	u64	l1;
	u64	l2;
	u64	bytes;
	u64	moves;
	u64	waits;
};

u64 ds_token_bandwidth = DS_TOKEN_BANDWIDTH;

static struct ds_token_seen ds_token_then, ds_token_now;
static struct cpumask ds_token_cpus;

/* A processor that sleeps does not count by itself, unless it has its tick all the time. */
static u64 ds_idle_ns(int cpu)
{
	u64 idle = get_cpu_idle_time_us(cpu, NULL);

	if (idle != -1ULL)
		return (idle + get_cpu_iowait_time_us(cpu, NULL)) * NSEC_PER_USEC;
	return kcpustat_cpu(cpu).cpustat[CPUTIME_IDLE] + kcpustat_cpu(cpu).cpustat[CPUTIME_IOWAIT];
}

/* A processor comes and goes with all its time. At first there were none. */
static bool ds_token_cpus_changed(void)
{
	if (cpumask_equal(&ds_token_cpus, cpu_online_mask))
		return false;
	cpumask_copy(&ds_token_cpus, cpu_online_mask);
	return true;
}

static void ds_token_see(struct ds_token_seen *seen)
{
	u64 n[DS_TOKEN_STATS];
	int cpu;

	ds_token_stats_sum(n);
	*seen = (struct ds_token_seen) {
		.ns = ktime_get_ns(),
		.uses = n[DS_TOKEN_HITS_L1] + n[DS_TOKEN_HITS_L2] + n[DS_TOKEN_HITS_L3],
		.l1 = n[DS_TOKEN_HITS_L1],
		.l2 = n[DS_TOKEN_HITS_L2],
		.bytes = n[DS_TOKEN_DMA_BYTES],
		.moves = n[DS_TOKEN_UP_L1] + n[DS_TOKEN_UP_L2],
		.waits = READ_ONCE(ds_token_fetch.box.stats.served[DS_EXPAND_URGENT]),
	};
	for_each_cpu(cpu, &ds_token_cpus) {
		seen->cpus++;
		seen->idle_ns += ds_idle_ns(cpu);
	}
}

static u32 ds_per_mille(u64 part, u64 whole)
{
	if (part >= whole)
		return whole ? 1000 : 0;
	/* Idle times of many processors since last week are too long to be multiplied. */
	return whole >> 32 ? part / (whole / 1000) : part * 1000 / whole;
}

u64 ds_token_load(struct ds_policy_load *load)
{
	const struct ds_token_seen *then = &ds_token_then, *now = &ds_token_now;
	bool cpus_changed = ds_token_cpus_changed();
	u64 uses, l1, ns, whole, idle;

	ds_token_see(&ds_token_now);
	if (cpus_changed || now->ns - then->ns > DS_TOKEN_LOAD_NS)
		ds_token_load_restart();
	uses = now->uses - then->uses;
	l1 = now->l1 - then->l1;
	ns = now->ns - then->ns;
	whole = ns * now->cpus;
	idle = now->idle_ns - min(then->idle_ns, now->idle_ns);
	*load = (struct ds_policy_load) {
		.dma = ds_per_mille(now->bytes - then->bytes, READ_ONCE(ds_token_bandwidth) /
				    MSEC_PER_SEC * (ns / NSEC_PER_MSEC)),
		.l1 = ds_per_mille(l1, uses),
		.l2 = ds_per_mille(now->l2 - then->l2, uses - l1),
		.cpu = ds_per_mille(whole - min(idle, whole), whole),
		.moves = (u32)(now->moves - then->moves),
		.waits = (u32)(now->waits - then->waits),
		.blocking = READ_ONCE(ds_tokens.table.blocking),
	};
	return now->uses;
}

void ds_token_load_restart(void)
{
	ds_token_then = ds_token_now;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the RDMA devices of the token cache, and what is counted for each.
 */
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "netlink.h"
#include "token_device.h"
#include "token_foreign.h"
#include "tokencache/word.h"
#include "tokens.h"

const char *const ds_token_stat_names[DS_TOKEN_STATS] = {
	[DS_TOKEN_HITS_L1]	= "hits_l1",
	[DS_TOKEN_HITS_L2]	= "hits_l2",
	[DS_TOKEN_HITS_L3]	= "hits_l3",
	[DS_TOKEN_STALE]	= "stale",
	[DS_TOKEN_FAILED]	= "failed",
	[DS_TOKEN_UP_L1]	= "up_l1",
	[DS_TOKEN_UP_L2]	= "up_l2",
	[DS_TOKEN_DOWN_L2]	= "down_l2",
	[DS_TOKEN_DOWN_L3]	= "down_l3",
	[DS_TOKEN_ABORTED]	= "aborted",
	[DS_TOKEN_DMA_BYTES]	= "dma_bytes",
	[DS_TOKEN_WHOLE_FULL]	= "whole_full",
};

const char *const ds_token_timing_names[DS_TOKEN_TIMINGS] = {
	[DS_TOKEN_LOOK_L1]	= "look_ns_l1",
	[DS_TOKEN_LOOK_L2]	= "look_ns_l2",
	[DS_TOKEN_LOOK_L3]	= "look_ns_l3",
	[DS_TOKEN_MISS]		= "miss_ns",
	[DS_TOKEN_MOVE]		= "move_ns",
};

unsigned int ds_token_sampling = DS_TOKEN_SAMPLING;

static DEFINE_MUTEX(ds_token_devices_mutex);
static struct ds_token_device __rcu *ds_token_devices[DS_TOKEN_DEVICES];
static u64 ds_token_past[DS_TOKEN_STATS];	/* of devices that went; under the lock */

void ds_token_devices_lock(void)
{
	mutex_lock(&ds_token_devices_mutex);
}

void ds_token_devices_unlock(void)
{
	mutex_unlock(&ds_token_devices_mutex);
}

static struct ds_token_device *ds_token_device_number(u8 number)
{
	return rcu_dereference_protected(ds_token_devices[number],
					 lockdep_is_held(&ds_token_devices_mutex));
}

static void ds_token_stats_add(const struct ds_token_device *dev, u64 n[DS_TOKEN_STATS])
{
	int cpu, i;

	for_each_possible_cpu(cpu)
		for (i = 0; i < DS_TOKEN_STATS; i++)
			n[i] += READ_ONCE(per_cpu_ptr(dev->counts, cpu)->n[i]);
}

/* ---- coming and going ---- */

static int ds_token_device_enter(struct ds_token_device *dev)
{
	unsigned int number;
	int ret = -ENOSPC;

	ds_token_devices_lock();
	for (number = 1; number < DS_TOKEN_DEVICES; number++) {
		if (ds_token_device_number(number))
			continue;
		dev->number = number;
		rcu_assign_pointer(ds_token_devices[number], dev);
		ds_netlink_changed(DS_CMD_TOKEN_STAT_GET);
		ret = 0;
		break;
	}
	ds_token_devices_unlock();
	return ret;
}

struct ds_token_device *ds_token_device_add(struct ib_device *ib)
{
	struct ds_token_device *dev;
	int ret = -ENOMEM;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->ib = ib;
	dev->counts = alloc_percpu(struct ds_token_counts);
	if (!dev->counts)
		goto err_free;
	ret = ds_token_device_enter(dev);
	if (ret)
		goto err_counts;
	return dev;

err_counts:
	free_percpu(dev->counts);
err_free:
	kfree(dev);
	return ERR_PTR(ret);
}

void ds_token_device_del(struct ds_token_device *dev)
{
	if (!dev)
		return;
	ds_token_devices_lock();
	RCU_INIT_POINTER(ds_token_devices[dev->number], NULL);
	ds_netlink_changed(DS_CMD_TOKEN_STAT_GET);
	ds_token_stats_add(dev, ds_token_past);
	ds_token_forget(dev);
	ds_token_devices_unlock();
	synchronize_rcu();	/* who moved one of its tokens may still count that */
	free_percpu(dev->counts);
	kfree(dev);
}

static void ds_token_device_copy_name(const struct ds_token_device *dev,
				      char name[IB_DEVICE_NAME_MAX])
{
	/* Not dev_name(): that string is freed when the device is renamed. */
	strscpy(name, dev->ib ? dev->ib->name : "(packets)", IB_DEVICE_NAME_MAX);
}

bool ds_token_device_name(u8 number, char name[IB_DEVICE_NAME_MAX])
{
	const struct ds_token_device *dev;

	rcu_read_lock();
	dev = rcu_dereference(ds_token_devices[number]);
	if (dev)
		ds_token_device_copy_name(dev, name);
	rcu_read_unlock();
	return dev;
}

bool ds_token_device_imports(u32 portid)
{
	const struct ds_token_device *dev;
	unsigned int number;
	bool found = false;

	rcu_read_lock();
	for (number = 1; number < DS_TOKEN_DEVICES && !found; number++) {
		dev = rcu_dereference(ds_token_devices[number]);
		found = dev && READ_ONCE(dev->importer) == portid;
	}
	rcu_read_unlock();
	return found;
}

int ds_token_device_for_each(int (*fn)(struct ds_token_device *dev, void *ctx), void *ctx)
{
	struct ds_token_device *dev;
	unsigned int number;
	int ret = 0;

	for (number = 1; number < DS_TOKEN_DEVICES && !ret; number++) {
		dev = ds_token_device_number(number);
		if (dev)
			ret = fn(dev, ctx);
	}
	return ret;
}

struct ds_token_device *ds_token_device_find(const char *name)
{
	struct ds_token_device *dev;
	unsigned int number;

	for (number = 1; number < DS_TOKEN_DEVICES; number++) {
		dev = ds_token_device_number(number);
		if (dev && dev->ib && !strcmp(dev->ib->name, name))
			return dev;
	}
	return NULL;
}

u8 ds_token_device_of(u32 token)
{
	return ds_token_owner(&ds_tokens.table, token);
}

int ds_token_device_may_ask(u32 number, u32 token)
{
	const struct ds_token_device *dev;

	if (!number || number != ds_token_device_of(token))
		return -EACCES;
	dev = rcu_dereference_bh(ds_token_devices[number]);
	return dev && !READ_ONCE(dev->leaving) ? 0 : -ENODEV;
}

/* ---- counters ---- */

u64 ds_token_began(const struct ds_token_device *dev)
{
	s32 every = READ_ONCE(ds_token_sampling), left;

	if (!every)
		return 0;
	left = this_cpu_dec_return(dev->counts->left);
	/* It may be of a time at which fewer were timed. */
	if (left > 0 && left < every)
		return 0;
	this_cpu_write(dev->counts->left, every);
	return ktime_get_ns();
}

static void ds_token_count_time(const struct ds_token_device *dev, u32 what, u64 began)
{
	u64 ns = ktime_get_ns() - began;

	this_cpu_inc(dev->counts->ns[what][min_t(u32, ilog2(ns | 1), DS_TOKEN_BUCKETS - 1)]);
}

void ds_token_count_look(const struct ds_token_device *dev, int found, u64 began)
{
	if (found == -ESTALE) {
		this_cpu_inc(dev->counts->n[DS_TOKEN_STALE]);
	} else if (found < 0) {
		this_cpu_inc(dev->counts->n[DS_TOKEN_FAILED]);
	} else {
		this_cpu_inc(dev->counts->n[DS_TOKEN_HITS_L1 + found - 1]);
		if (began)
			ds_token_count_time(dev, DS_TOKEN_LOOK_L1 + found - 1, began);
	}
}

void ds_token_count_full(const struct ds_token_device *dev)
{
	this_cpu_inc(dev->counts->n[DS_TOKEN_WHOLE_FULL]);
}

void ds_token_count_miss(const struct ds_token_device *dev, u64 began)
{
	if (began)
		ds_token_count_time(dev, DS_TOKEN_MISS, began);
}

/* Its token may have ended by now, and the device with it: then NULL. */
static const struct ds_token_device *ds_token_device_for(u32 token)
{
	return rcu_dereference_bh(ds_token_devices[ds_token_device_of(token)]);
}

void ds_token_count_fetch(u32 token, u64 since)
{
	const struct ds_token_device *dev = ds_token_device_for(token);

	if (dev)
		ds_token_count_time(dev, DS_TOKEN_MOVE, since);
}

void ds_token_count_move(u32 token, u32 from, u32 to, u32 bytes)
{
	const struct ds_token_device *dev = ds_token_device_for(token);
	u32 what = to < from ? DS_TOKEN_UP_L1 + to - 1 :
		   to > from ? DS_TOKEN_DOWN_L2 + to - 2 : DS_TOKEN_ABORTED;

	if (!dev)
		return;
	this_cpu_inc(dev->counts->n[what]);
	this_cpu_add(dev->counts->n[DS_TOKEN_DMA_BYTES], bytes);
}

static void ds_token_counts_sum(const struct ds_token_device *dev, struct ds_token_counts *sum)
{
	const struct ds_token_counts *c;
	int cpu, i, b;

	memset(sum, 0, sizeof(*sum));
	ds_token_stats_add(dev, sum->n);
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(dev->counts, cpu);
		for (i = 0; i < DS_TOKEN_TIMINGS; i++)
			for (b = 0; b < DS_TOKEN_BUCKETS; b++)
				sum->ns[i][b] += READ_ONCE(c->ns[i][b]);
	}
}

bool ds_token_device_sums(u8 number, struct ds_token_sums *sums)
{
	const struct ds_token_device *dev;

	rcu_read_lock();
	dev = rcu_dereference(ds_token_devices[number]);
	if (dev) {
		ds_token_device_copy_name(dev, sums->device);
		sums->imported = READ_ONCE(dev->imported);
		ds_token_counts_sum(dev, &sums->counts);
	}
	rcu_read_unlock();
	return dev;
}

void ds_token_stats_sum(u64 n[DS_TOKEN_STATS])
{
	const struct ds_token_device *dev;
	unsigned int number;

	ds_token_devices_lock();
	memcpy(n, ds_token_past, sizeof(ds_token_past));
	for (number = 1; number < DS_TOKEN_DEVICES; number++) {
		dev = ds_token_device_number(number);
		if (dev)
			ds_token_stats_add(dev, n);
	}
	ds_token_devices_unlock();
}

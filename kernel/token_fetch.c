// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: what is not in L1 of the host's token cache is fetched, in batches.
 *
 * A chain that misses a token goes on with what it found at home: it only leaves a note. A
 * work item fetches what is noted when there is enough of it, or some ticks later. Another
 * one lets the cache age.
 */
#include <linux/bottom_half.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/workqueue.h>
#include "params.h"
#include "token_fetch.h"
#include "token_load.h"

#define DS_TOKEN_TICK		(HZ / 10)
#define DS_TOKEN_MOVES		64	/* of a tick */
#define DS_TOKEN_REQUESTS	64	/* to the mailbox, that are served at once */

struct ds_fetch ds_token_fetch;

static void ds_token_fetch_some(struct work_struct *work);
static void ds_token_tick(struct work_struct *work);
static DECLARE_DELAYED_WORK(ds_token_fetch_work, ds_token_fetch_some);
static DECLARE_DELAYED_WORK(ds_token_tick_work, ds_token_tick);

/* Chains miss tokens with bottom halves off, so the locks are taken so by all. */
static void ds_token_fetch_some(struct work_struct *work)
{
	u64 due;

	local_bh_disable();
	due = ds_fetch_work(&ds_token_fetch, ktime_get_ns(), DS_TOKEN_REQUESTS);
	local_bh_enable();
	if (due != DS_BATCH_NEVER)
		queue_delayed_work(ds_wq, &ds_token_fetch_work,
				   due ? nsecs_to_jiffies(due) + 1 : 0);
}

static void ds_token_tick(struct work_struct *work)
{
	struct ds_cache *cache = ds_token_fetch.cache;
	struct ds_policy_load load = { 0 };
	/* The default policy does not ask. */
	u64 uses = cache->policy.base ? ds_token_load(&load) : 0;

	local_bh_disable();
	ds_cache_tick(cache, ktime_get_ns(), uses, &load, DS_TOKEN_MOVES);
	local_bh_enable();
	if (ds_policy_aged_at(&cache->policy) == uses)
		ds_token_load_restart();
	queue_delayed_work(ds_wq, &ds_token_tick_work, DS_TOKEN_TICK);
}

/* A device's queue pairs and memory regions are the module's, so it may ask for any of them. */
static int ds_token_allowed(struct ds_fetch *f, u32 requester, u32 token)
{
	return 0;
}

int ds_token_fetch_init(struct ds_cache *cache)
{
	int ret = ds_fetch_init(&ds_token_fetch, cache, ds_token_allowed, NULL, NULL);

	if (!ret)
		queue_delayed_work(ds_wq, &ds_token_tick_work, DS_TOKEN_TICK);
	return ret;
}

void ds_token_fetch_exit(void)
{
	cancel_delayed_work_sync(&ds_token_tick_work);
	local_bh_disable();
	ds_fetch_shut(&ds_token_fetch);
	local_bh_enable();
	cancel_delayed_work_sync(&ds_token_fetch_work);
	ds_fetch_destroy(&ds_token_fetch);
}

void ds_token_missed(u32 token)
{
	u64 now = ktime_get_ns();
	int ret;

	local_bh_disable();
	ret = ds_fetch_miss(&ds_token_fetch, token, NULL, now);
	if (ret == -EINPROGRESS && !ds_batch_due(&ds_token_fetch.batch, now))
		mod_delayed_work(ds_wq, &ds_token_fetch_work, 0);
	else if (ret == -EINPROGRESS)
		queue_delayed_work(ds_wq, &ds_token_fetch_work, 1);
	local_bh_enable();
}

void ds_token_unfetch(u32 token)
{
	local_bh_disable();
	ds_fetch_revoked(&ds_token_fetch, token);
	local_bh_enable();
}

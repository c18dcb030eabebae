// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: what is not in L1 of the host's token cache is fetched, in batches; and what cannot be
 * read or written where it is, is asked for through the mailbox.
 *
 * A chain that misses a token goes on with what it found at home: it only leaves a note. A
 * work item fetches what is noted when there is enough of it, or some ticks later. It is
 * the host, too, that answers the mailbox, and at once. Another one lets the cache age.
 */
#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include "debug.h"
#include "params.h"
#include "token_fetch.h"
#include "token_load.h"

#define DS_TOKEN_REQUESTS	64	/* to the mailbox, that are served at once */

/*
 * Of its own: on ds_wq there may be nothing but work that waits for operations, which wait for
 * the host's answers.
 */
static struct workqueue_struct *ds_token_wq;

struct ds_fetch ds_token_fetch;
struct ds_whole ds_token_whole;

static void ds_token_fetch_some(struct work_struct *work);
static void ds_token_tick(struct work_struct *work);
static DECLARE_DELAYED_WORK(ds_token_fetch_work, ds_token_fetch_some);
static DECLARE_DELAYED_WORK(ds_token_tick_work, ds_token_tick);

/*
 * The host was told to fetch, and has not begun. Until then there may be many misses, and each
 * would take the work out of its queue and put it back. Whoever finds it told has added what he
 * asks for under a lock that the host takes after it has said that it begins.
 */
static atomic_t ds_token_told = ATOMIC_INIT(0);

/* With bottom halves off: nobody else tells the host while we are about to. */
static void ds_token_fetch_now(void)
{
	if (!atomic_read(&ds_token_told) && !atomic_xchg(&ds_token_told, 1))
		mod_delayed_work(ds_token_wq, &ds_token_fetch_work, 0);
}

/* For tests: the host does not answer, so who asks waits in vain. Return: ns to its next turn. */
static u64 ds_token_fetch_nothing(void)
{
	ds_expand_expire(&ds_token_fetch.box, ktime_get_ns());
	return NSEC_PER_MSEC;
}

/* Chains miss tokens with bottom halves off, so the locks are taken so by all. */
static void ds_token_fetch_some(struct work_struct *work)
{
	bool silent = ds_failpoint(DS_FP_TOKEN_HOST);
	u64 due;

	atomic_xchg(&ds_token_told, 0);		/* with a barrier */
	local_bh_disable();
	due = silent ? ds_token_fetch_nothing() :
		       ds_fetch_work(&ds_token_fetch, ktime_get_ns(), DS_TOKEN_REQUESTS);
	local_bh_enable();
	if (due != DS_BATCH_NEVER)
		queue_delayed_work(ds_token_wq, &ds_token_fetch_work,
				   due ? nsecs_to_jiffies(due) + 1 : 0);
}

static void ds_token_tick(struct work_struct *work)
{
	struct ds_cache *cache = ds_token_fetch.cache;
	struct ds_policy_load load = { 0 };
	/* The default policy does not ask. */
	u64 uses = cache->policy.base ? ds_token_load(&load) : 0;
	u64 aged_at = ds_policy_aged_at(&cache->policy);

	local_bh_disable();
	ds_cache_tick(cache, ktime_get_ns(), uses, &load, DS_TICK_STEPS);
	local_bh_enable();
	if (ds_policy_aged_at(&cache->policy) != aged_at)
		ds_token_load_restart();
	queue_delayed_work(ds_token_wq, &ds_token_tick_work, nsecs_to_jiffies(DS_TICK_NS));
}

/* A device may ask for what is its own. */
static int ds_token_allowed(struct ds_fetch *f, u32 requester, u32 token)
{
	return ds_token_device_may_ask(requester, token);
}

static void ds_token_fetched(struct ds_fetch *f, u32 token, u64 since)
{
	ds_token_count_fetch(token, since);
}

/* A page's neighbours are up to 946, and a flush may have 1024 pages. */
static void ds_token_pause(struct ds_fetch *f)
{
	local_bh_enable();
	cond_resched();
	local_bh_disable();
}

int ds_token_fetch_init(struct ds_cache *cache)
{
	int ret;

	ds_token_wq = alloc_workqueue("ds_token", WQ_UNBOUND, 0);
	if (!ds_token_wq)
		return -ENOMEM;
	ret = ds_fetch_init(&ds_token_fetch, cache, ds_token_allowed, NULL, NULL);
	if (ret) {
		destroy_workqueue(ds_token_wq);
		return ret;
	}
	ds_token_fetch.moved = ds_token_fetched;
	ds_token_fetch.pause = ds_token_pause;
	ds_whole_init(&ds_token_whole, &ds_token_fetch);
	queue_delayed_work(ds_token_wq, &ds_token_tick_work, nsecs_to_jiffies(DS_TICK_NS));
	return 0;
}

void ds_token_fetch_exit(void)
{
	cancel_delayed_work_sync(&ds_token_tick_work);
	local_bh_disable();
	ds_fetch_shut(&ds_token_fetch);
	local_bh_enable();
	cancel_delayed_work_sync(&ds_token_fetch_work);
	ds_fetch_destroy(&ds_token_fetch);
	destroy_workqueue(ds_token_wq);
}

void ds_token_missed(u32 token)
{
	u64 now = ktime_get_ns();
	int ret;

	local_bh_disable();
	ret = ds_fetch_miss(&ds_token_fetch, token, NULL, now);
	if (ret == -EINPROGRESS && !atomic_read(&ds_token_told)) {
		if (!ds_batch_due(&ds_token_fetch.batch, now))
			ds_token_fetch_now();
		else
			queue_delayed_work(ds_token_wq, &ds_token_fetch_work, 1);
	}
	local_bh_enable();
}

/* ---- the mailbox ---- */

int ds_token_ask(const struct ds_token_device *dev, u32 token, struct ds_expand_waiter *w)
{
	int ret = ds_fetch_whole(&ds_token_fetch, token, dev->number, DS_EXPAND_URGENT, w,
				 ktime_get_ns());

	if (ret == -EINPROGRESS)
		ds_token_fetch_now();
	return ret;
}

/* Who waits for a copy. */
struct ds_token_answer {
	struct ds_expand_waiter	w;
	struct completion	told;
	int			ret;
};

static void ds_token_answered(struct ds_waiter *w, int ret)
{
	struct ds_token_answer *answer = container_of(w, struct ds_token_answer, w.base);

	answer->ret = ret;
	complete(&answer->told);
}

/* Not for ever: for EXPAND_TIMEOUT_NS. Return: as it is told, or -EINTR. */
static int ds_token_await(struct ds_token_answer *answer)
{
	bool left;

	if (!wait_for_completion_killable(&answer->told))
		return answer->ret;
	local_bh_disable();
	left = ds_expand_cancel(&ds_token_fetch.box, &answer->w);
	local_bh_enable();
	if (!left)
		wait_for_completion(&answer->told);	/* it is on its way */
	return left ? -EINTR : answer->ret;
}

int ds_token_ask_wait(const struct ds_token_device *dev, u32 token, struct ds_token_desc *d)
{
	struct ds_token_answer answer = { .w.base.done = ds_token_answered, .w.buffer = d };
	int ret;

	init_completion(&answer.told);
	local_bh_disable();
	ret = ds_token_ask(dev, token, &answer.w);
	local_bh_enable();
	return ret == -EINPROGRESS ? ds_token_await(&answer) : ret;
}

void ds_token_ask_whole(const struct ds_token_device *dev, u32 token)
{
	int ret;

	local_bh_disable();
	ret = ds_whole_ask(&ds_token_whole, token, dev->number, ktime_get_ns());
	if (ret == -EINPROGRESS)
		ds_token_fetch_now();
	else if (ret == -ENOSPC)
		ds_token_count_full(dev);
	local_bh_enable();
}

void ds_token_unfetch(u32 token)
{
	local_bh_disable();
	ds_fetch_revoked(&ds_token_fetch, token);
	local_bh_enable();
}

void ds_token_drop_whole(u32 token)
{
	local_bh_disable();
	ds_whole_forget(&ds_token_whole, token);
	local_bh_enable();
}

void ds_token_device_leave(struct ds_token_device *dev)
{
	if (!dev)	/* it was refused */
		return;
	WRITE_ONCE(dev->leaving, true);
	local_bh_disable();
	ds_expand_gone(&ds_token_fetch.box, dev->number);
	local_bh_enable();
	flush_delayed_work(&ds_token_fetch_work);
}

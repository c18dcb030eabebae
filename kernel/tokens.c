// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the host's token cache.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/topology.h>
#include <rdma/ib_verbs.h>
#include <uapi/ds/ioctl.h>
#include "debug.h"
#include "params.h"
#include "token_fetch.h"
#include "token_foreign.h"
#include "tokens.h"
#include "trace.h"

#define DS_TOKEN_TRIES	16	/* to read a token, and to have the host read it */

struct ds_cache ds_tokens;
struct ds_token_device *ds_token_packets;

struct ds_l2_node ds_token_l2_place;

/* Memory that only programs may have, as of a node that was added later, is of no use to us. */
static int ds_tokens_choose_node(void)
{
	int ret = ds_l2_node_choose(nodes_addr(node_states[N_NORMAL_MEMORY]),
				    nodes_addr(node_states[N_CPU]), nr_node_ids,
				    ds_token_l2_node, numa_mem_id(), &ds_token_l2_place);

	if (ret)
		pr_err("parameter token_l2_node: NUMA node %d has no memory for the kernel\n",
		       ds_token_l2_node);
	return ret;
}

static void ds_token_moved(u32 token, u32 from, u32 to, u32 bytes)
{
	ds_token_count_move(token, from, to, bytes);
	trace_ds_token_move(token, from, to);
}

/* Under the cache's lock. */
static bool ds_token_move_stops(u32 token, enum ds_move_step step)
{
	return ds_failpoint(step == DS_MOVE_CLAIMED ? DS_FP_TOKEN_CLAIM : DS_FP_TOKEN_COMMIT);
}

int ds_tokens_init(void)
{
	int ret = ds_token_l2 ? ds_tokens_choose_node() : 0;

	if (ret)
		return ret;
	ret = ds_cache_init(&ds_tokens, 1u << DS_TOKEN_INDEX_BITS, ds_token_l1,
			    ds_token_policy, ds_token_l2 * (SZ_1M / DS_L2_PAGE_BYTES),
			    ds_token_l2_place.node);
	if (ret)
		return ret;
	ds_tokens.table.moved = ds_token_moved;
	ds_tokens.table.stops = ds_token_move_stops;
	ds_tokens.pins_max = ds_token_l1 / 2;
	ret = ds_token_fetch_init(&ds_tokens);
	if (ret)
		goto err_cache;
	ds_token_packets = ds_token_device_add(NULL);
	ret = PTR_ERR_OR_ZERO(ds_token_packets);
	if (ret)
		goto err_fetch;
	ret = ds_token_foreign_init();
	if (ret)
		goto err_packets;
	return 0;

err_packets:
	ds_token_device_del(ds_token_packets);
err_fetch:
	ds_token_fetch_exit();
err_cache:
	ds_cache_destroy(&ds_tokens);
	return ret;
}

void ds_tokens_exit(void)
{
	ds_token_foreign_exit();
	ds_token_device_del(ds_token_packets);
	ds_token_fetch_exit();
	WARN_ON_ONCE(ds_cache_destroy(&ds_tokens));
}

int ds_token_add(const struct ds_token_device *dev, const struct ds_token_desc *d, u32 *token)
{
	struct ds_token_desc wide;
	int ret = ds_failpoint(DS_FP_TOKEN_ADD);

	if (d->type == DS_TOKEN_MR && ds_failpoint(DS_FP_TOKEN_WIDE)) {
		wide = *d;
		wide.mr.page_shift = 0;		/* for which a packed token has no room */
		d = &wide;
	}
	if (!ret)
		ret = ds_token_create_for(&ds_tokens.table, dev->number, d, token);
	if (!ret)
		trace_ds_token_access(*token, DS_TOKEN_OP_CREATE, 3);
	return ret == -EDQUOT ? -ENOSPC : ret;
}

/* With the cache passed by, nothing is counted or fetched. */
void ds_token_looked(const struct ds_token_device *dev, u32 token, int found, bool missed,
		     u64 began)
{
	if (!READ_ONCE(ds_token_cache))
		return;
	ds_token_count_look(dev, found, began);
	if (!missed)
		return;
	if (began)
		began = ktime_get_ns();
	ds_token_missed(token);
	ds_token_count_miss(dev, began);
}

/* The host reads it for us, or waits for who has it on its way. */
static int ds_token_read_by_host(const struct ds_token_device *dev, u32 token,
				 struct ds_token_desc *d)
{
	int ret = ds_token_hold(&ds_tokens.table, token);

	if (ret)
		return ret;
	ret = ds_token_ask_wait(dev, token, d);
	if (ret)
		ds_token_put(&ds_tokens.table, token);
	return ret;
}

bool ds_token_lives(u32 token)
{
	u64 word;

	return !ds_token_find(&ds_tokens.table, token, &word);
}

/*
 * Should one try again? One that is used as often as can be counted may soon be used less. The
 * host calls one that moved meanwhile stale, too.
 */
static bool ds_token_was_busy(u32 token, int ret)
{
	return ret == -EAGAIN || ret == -EBUSY || ret == -EOVERFLOW ||
	       (ret == -ESTALE && ds_token_lives(token));
}

/* Return: as ds_whole_get(), but for -EAGAIN. */
static int ds_token_read(const struct ds_token_device *dev, u32 token, struct ds_token_desc *d)
{
	int tries, ret;

	for (tries = 0; tries < DS_TOKEN_TRIES; tries++) {
		ret = ds_failpoint(DS_FP_TOKEN_READ) ? -EAGAIN :
						       ds_whole_get(&ds_token_whole, token, d);
		if (ret == -EAGAIN)
			ret = ds_token_read_by_host(dev, token, d);
		if (ds_token_was_busy(token, ret))
			schedule_timeout_uninterruptible(1);
		else if (ret != -ETIMEDOUT)
			return ret;
	}
	return -ETIMEDOUT;
}

int ds_token_use(const struct ds_token_device *dev, u32 token, struct ds_token_desc *d)
{
	u64 began = ds_token_began(dev);
	int ret = ds_token_read(dev, token, d);

	if (ret < 0) {
		ds_token_looked(dev, token, ret, false, began);
		return ret;
	}
	trace_ds_token_access(token, DS_TOKEN_OP_READ, d->tier);
	/* A wide one that is not kept was read at home, wherever it is. */
	ds_token_looked(dev, token, ret ? 3 : d->tier, d->tier > 1, began);
	if (ret && READ_ONCE(ds_token_cache))
		ds_token_ask_whole(dev, token);
	return 0;
}

void ds_token_drop(u32 token)
{
	ds_token_put(&ds_tokens.table, token);
}

int ds_token_access(u32 access)
{
	int ib = 0;

	if (access & DS_ACCESS_READ)
		ib |= IB_ACCESS_REMOTE_READ;
	if (access & DS_ACCESS_WRITE)
		ib |= IB_ACCESS_REMOTE_WRITE;
	if (access & DS_ACCESS_ATOMIC)
		ib |= IB_ACCESS_REMOTE_ATOMIC;
	return ib;
}

struct ds_token_waiter {
	struct ds_token_idle	idle;
	struct completion	unused;
};

static void ds_token_unused(struct ds_token_idle *idle)
{
	complete(&container_of(idle, struct ds_token_waiter, idle)->unused);
}

void ds_token_end(u32 token)
{
	struct ds_token_waiter waiter = { .idle.done = ds_token_unused };
	int ret;

	trace_ds_token_access(token, DS_TOKEN_OP_FREE, 0);
	init_completion(&waiter.unused);
	local_bh_disable();	/* as chains, who take the cache's lock */
	ret = ds_token_revoke(&ds_tokens.table, token, &waiter.idle);
	local_bh_enable();
	ds_token_unfetch(token);
	if (ret == -EINPROGRESS)
		wait_for_completion(&waiter.unused);
	else if (ret)
		return;
	ds_token_drop_whole(token);
	ds_token_free(&ds_tokens.table, token);
}

int ds_token_pin(u32 token, bool pinned)
{
	int ret;

	local_bh_disable();	/* as chains, who take the cache's lock */
	ret = ds_cache_pin(&ds_tokens, token, pinned);
	local_bh_enable();
	return ret;
}

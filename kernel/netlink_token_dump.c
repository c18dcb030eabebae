// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the netlink dumps of the token cache: tokens, counters, parameters.
 */
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/netlink.h>
#include <uapi/ds/token.h>
#include "netlink.h"
#include "netlink_family.h"
#include "token_fetch.h"
#include "token_foreign.h"
#include "token_param.h"
#include "tokencache/walk.h"
#include "tokens.h"

/* ---- tokens ---- */

#define DS_DUMP_TRIES	16	/* of a token that is on its way, or written to */

/**
 * struct ds_dump_token - a token as it is given
 * @table: in which it stands
 * @device: whose object it is of
 * @token: handle
 * @word: its word of the directory
 * @desc: what it says
 * @foreign: number of the device of which it was imported, or 0
 * @wide: its description does not fit into its words
 * @admin: the asker may see keys, and what is done with the object
 */
struct ds_dump_token {
	struct ds_token_table		*table;
	char				device[IB_DEVICE_NAME_MAX];
	u32				token;
	u64				word;
	struct ds_token_desc		desc;
	u32				foreign;
	bool				wide;
	bool				admin;
};

/* Of what another token refers to. It may have ended meanwhile, and its index be another type's. */
static int ds_put_handle(struct sk_buff *skb, int attr, const struct ds_dump_token *d, u32 type,
			 u32 index)
{
	u64 word;
	u32 token = index == DS_TOKEN_NONE ? 0 : ds_token_at(d->table, index, &word);

	return token && ds_token_type_of(token) == type ? nla_put_u32(skb, attr, token) : 0;
}

static int ds_put_mr(struct sk_buff *skb, const struct ds_dump_token *d)
{
	const struct ds_token_desc *mr = &d->desc;
	int err;

	err = ds_put_handle(skb, DS_A_PD, d, DS_TOKEN_PD, mr->mr.pd) ?:
	      nla_put_u64_64bit(skb, DS_A_IOVA, mr->mr.iova, DS_A_PAD) ?:
	      nla_put_u64_64bit(skb, DS_A_LENGTH, mr->mr.length, DS_A_PAD) ?:
	      nla_put_u32(skb, DS_A_PAGE_SHIFT, mr->mr.page_shift) ?:
	      nla_put_u64_64bit(skb, DS_A_PAGES, ds_token_mr_pages(mr), DS_A_PAD) ?:
	      nla_put_u32(skb, DS_A_IB_ACCESS, mr->mr.access);
	if (!err && d->admin)
		err = nla_put_u32(skb, DS_A_LKEY, mr->mr.lkey) ?:
		      nla_put_u32(skb, DS_A_RKEY, mr->mr.rkey);
	return err;
}

static int ds_put_qp(struct sk_buff *skb, const struct ds_dump_token *d)
{
	const struct ds_token_desc *qp = &d->desc;
	int err;

	err = nla_put_u32(skb, DS_A_NUMBER, qp->qp.number) ?:
	      ds_put_handle(skb, DS_A_PD, d, DS_TOKEN_PD, qp->qp.pd) ?:
	      nla_put_u32(skb, DS_A_QP_TYPE, qp->qp.qp_type) ?:
	      nla_put_u32(skb, DS_A_STATE, qp->qp.state) ?:
	      nla_put_u32(skb, DS_A_IB_ACCESS, qp->qp.access) ?:
	      ds_put_handle(skb, DS_A_SCQ, d, DS_TOKEN_CQ, qp->qp.scq) ?:
	      ds_put_handle(skb, DS_A_RCQ, d, DS_TOKEN_CQ, qp->qp.rcq) ?:
	      nla_put_u8(skb, DS_A_SRQ, qp->qp.srq);
	if (!err && d->admin)
		err = nla_put_u32(skb, DS_A_POSTED, qp->qp.posted);
	return err;
}

static int ds_put_object(struct sk_buff *skb, const struct ds_dump_token *d)
{
	switch (d->desc.type) {
	case DS_TOKEN_PD:
		return nla_put_u32(skb, DS_A_NUMBER, d->desc.pd.number) ?:
		       nla_put_u32(skb, DS_A_DOMAIN, d->desc.pd.domain);
	case DS_TOKEN_MR:
		return ds_put_mr(skb, d);
	case DS_TOKEN_CQ:
		return nla_put_u32(skb, DS_A_NUMBER, d->desc.cq.number) ?:
		       nla_put_u32(skb, DS_A_ENTRIES, d->desc.cq.entries) ?:
		       nla_put_u32(skb, DS_A_VECTOR, d->desc.cq.vector) ?:
		       nla_put_u32(skb, DS_A_CQ_FLAGS, d->desc.cq.flags);
	default:
		return ds_put_qp(skb, d);
	}
}

static u32 ds_token_flags(const struct ds_dump_token *d)
{
	u32 flags = (d->foreign ? DS_TOKEN_FOREIGN : 0) | (d->wide ? DS_TOKEN_WIDE : 0);

	if (!d->admin)
		return flags;
	if (d->word & DS_WORD_PINNED)
		flags |= DS_TOKEN_PINNED;
	if (d->word & DS_WORD_DIRTY)
		flags |= DS_TOKEN_DIRTY;
	if (ds_word_is_moving(d->word))
		flags |= DS_TOKEN_MOVING;
	return flags;
}

/* Who watches it sees when the object is used, and so what others do. */
static int ds_put_place(struct sk_buff *skb, const struct ds_dump_token *d)
{
	u32 tier = ds_word_tier(d->word);
	int err;

	err = nla_put_u32(skb, DS_A_TIER, tier) ?:
	      nla_put_u32(skb, DS_A_USES, ds_word_uses(d->word)) ?:
	      nla_put_u32(skb, DS_A_WORD_VERSION, ds_word_version(d->word));
	if (!err && tier < 3)
		err = nla_put_u32(skb, DS_A_SLOT, ds_word_tier_slot(d->word));
	return err;
}

static int ds_put_token(struct sk_buff *skb, void *object)
{
	const struct ds_dump_token *d = object;
	int err;

	err = nla_put_u32(skb, DS_A_TOKEN, d->token) ?:
	      nla_put_u32(skb, DS_A_TYPE, d->desc.type) ?:
	      nla_put_string(skb, DS_A_DEVICE, d->device) ?:
	      nla_put_u32(skb, DS_A_GENERATION, ds_word_gen(d->word)) ?:
	      nla_put_u32(skb, DS_A_FLAGS, ds_token_flags(d)) ?:
	      nla_put_u32(skb, DS_A_LAYOUT, d->wide ? DS_TOKEN_LAYOUT_WIDE :
						      DS_TOKEN_LAYOUT_NARROW);
	if (!err && d->admin)
		err = ds_put_place(skb, d);
	return err ?: ds_put_object(skb, d);
}

/*
 * Whoever ends the token waits for this use, and its user decides how long we are off the
 * processor: so not between the two.
 */
static int ds_read_token_once(struct ds_dump_token *d)
{
	bool found = false;
	int ret;

	local_bh_disable();
	ret = ds_token_get(d->table, d->token, &d->desc);
	if (!ret) {
		/* While it is used its index is not another one's. */
		found = ds_token_device_name(d->foreign ?: ds_token_device_of(d->token),
					     d->device);
		ds_token_put(d->table, d->token);
	}
	local_bh_enable();
	if (ret)
		return ret == -EOVERFLOW ? -EAGAIN : ret;
	return found ? 0 : -ENODEV;	/* it has ended meanwhile, and its device has gone */
}

/* -EAGAIN: it is there, but could not be read. */
static int ds_read_token(struct ds_dump_token *d)
{
	int ret, tries = DS_DUMP_TRIES;

	do {
		ret = ds_read_token_once(d);
		if (ret == -EAGAIN)
			usleep_range(20, 200);
	} while (ret == -EAGAIN && --tries);
	return ret;
}

/* So that whoever asks is told, though nothing has changed. */
static void ds_dump_is_incomplete(struct ds_dump *dump)
{
	ds_netlink_changed(dump->get);
}

/* @number: 0 for our own tokens, else of the device of which they were imported. */
static int ds_dump_table(struct ds_dump *dump, u32 number, struct ds_token_table *table)
{
	long first = (long)number << DS_TOKEN_INDEX_BITS, at;
	struct ds_dump_token d = { .table = table, .foreign = number,
				   .admin = netlink_capable(dump->cb->skb, CAP_NET_ADMIN) };
	struct ds_token_pack narrow;
	int err = 0, ret;

	for (at = max(first, dump->cb->args[0]);
	     at < first + ds_token_indices_end(table) && !err; at++) {
		cond_resched();
		d.token = ds_token_at(table, at - first, &d.word);
		ret = d.token ? ds_read_token(&d) : -ENOENT;
		if (ret == -EAGAIN)
			ds_dump_is_incomplete(dump);
		if (ret)
			continue;
		d.wide = ds_token_pack(&d.desc, &narrow);
		dump->cb->args[0] = at;
		dump->index = at;
		err = ds_dump_object(dump, ds_put_token, &d);
	}
	return err;
}

static int ds_dump_foreign(struct ds_token_device *dev, void *dump)
{
	return dev->foreign ? ds_dump_table(dump, dev->number, &dev->foreign->table) : 0;
}

int ds_dump_tokens(struct ds_dump *dump)
{
	int err = ds_dump_table(dump, 0, &ds_tokens.table);

	/*
	 * Those imported are of programs that whoever asks may not see. Nor may he hold this
	 * lock, as he can be made to run slowly.
	 */
	if (err || !netlink_capable(dump->cb->skb, CAP_NET_ADMIN))
		return err;
	ds_token_devices_lock();
	err = ds_token_device_for_each(ds_dump_foreign, dump);
	ds_token_devices_unlock();
	return err;
}

/* ---- counters ---- */

#define DS_TOKEN_TIERS	3

struct ds_dump_token_stat {
	const char	*device;
	const char	*name;
	u64		value;
	const u64	*histogram;
};

static int ds_put_token_stat(struct sk_buff *skb, void *object)
{
	const struct ds_dump_token_stat *stat = object;
	int err;

	err = nla_put_string(skb, DS_A_DEVICE, stat->device) ?:
	      nla_put_string(skb, DS_A_NAME, stat->name);
	if (err)
		return err;
	if (!stat->histogram)
		return nla_put_u64_64bit(skb, DS_A_VALUE, stat->value, DS_A_PAD);
	return nla_put(skb, DS_A_HISTOGRAM, DS_TOKEN_BUCKETS * sizeof(u64), stat->histogram);
}

/*
 * What a dump of counters needs: one device's, and how many tokens of each are where. These are
 * counted once: it takes a look at each token there is, and anyone may ask, in as many calls as
 * he likes.
 */
struct ds_dump_token_stats {
	struct ds_dump		*dump;
	struct ds_token_sums	sums;
	u32			tokens[DS_TOKEN_DEVICES][DS_TOKEN_TIERS];
};

static struct ds_dump_token_stats *ds_count_tokens(struct netlink_callback *cb)
{
	struct ds_dump_token_stats *stats = (void *)cb->args[1];
	u32 index, end = ds_token_indices_end(&ds_tokens.table), token;
	u64 word;

	if (stats)
		return stats;
	stats = kzalloc(sizeof(*stats), GFP_KERNEL_ACCOUNT);
	if (!stats)
		return NULL;
	for (index = 0; index < end; index++) {
		cond_resched();
		token = ds_token_at(&ds_tokens.table, index, &word);
		if (token)
			stats->tokens[ds_token_device_of(token)][ds_word_tier(word) - 1]++;
	}
	cb->args[1] = (long)stats;
	return stats;
}

int ds_dump_token_stats_done(struct netlink_callback *cb)
{
	kfree((void *)cb->args[1]);
	return 0;
}

static int ds_dump_token_counts(struct ds_dump_token_stats *stats, u32 number)
{
	static const char *const places[DS_TOKEN_TIERS] = { "tokens_l1", "tokens_l2", "tokens_l3" };
	struct ds_dump_token_stat stat = { .device = stats->sums.device };
	const struct ds_token_counts *sum = &stats->sums.counts;
	int i, err = 0;

	for (i = 0; i < DS_TOKEN_STATS && !err; i++) {
		stat.name = ds_token_stat_names[i];
		stat.value = sum->n[i];
		err = ds_dump_object(stats->dump, ds_put_token_stat, &stat);
	}
	for (i = 0; i < DS_TOKEN_TIERS && !err; i++) {
		stat.name = places[i];
		stat.value = stats->tokens[number][i];
		err = ds_dump_object(stats->dump, ds_put_token_stat, &stat);
	}
	if (!err) {
		stat.name = "foreign";
		stat.value = stats->sums.imported;
		err = ds_dump_object(stats->dump, ds_put_token_stat, &stat);
	}
	for (i = 0; i < DS_TOKEN_TIMINGS && !err; i++) {
		stat.name = ds_token_timing_names[i];
		stat.histogram = sum->ns[i];
		err = ds_dump_object(stats->dump, ds_put_token_stat, &stat);
	}
	return err;
}

/* Of the host. */
static const char *const ds_batch_stat_names[] = {
	"batch_queued", "batch_joined", "batch_refused", "batch_dropped", "batch_flushes",
	"batch_fetches", "batch_fetched", "batch_neighbours", "batch_busy", "batch_failed",
	"batch_installed", "batch_stale", "batch_declined", "batch_cut", "batch_used",
	"batch_unused",
};

static const char *const ds_expand_stat_names[] = {
	"expand_asked", "expand_joined", "expand_raised", "expand_denied", "expand_invalid",
	"expand_full", "expand_limited", "expand_urgent", "expand_background", "expand_aged",
	"expand_staged", "expand_copied", "expand_failed", "expand_late", "expand_expired",
	"expand_cancelled", "expand_gone", "expand_withdrawn", "expand_prestaged",
	"expand_ended",
};

static const char *const ds_whole_stat_names[] = { "whole_kept", "whole_failed" };

static_assert(sizeof(struct ds_batch_stats) == ARRAY_SIZE(ds_batch_stat_names) * sizeof(u64));
static_assert(sizeof(struct ds_expand_stats) == ARRAY_SIZE(ds_expand_stat_names) * sizeof(u64));
static_assert(sizeof(struct ds_whole_stats) == ARRAY_SIZE(ds_whole_stat_names) * sizeof(u64));

static int ds_dump_named(struct ds_dump *dump, const char *const *names, const u64 *values,
			 u32 count)
{
	struct ds_dump_token_stat stat = { .device = "(fetch)" };
	int err = 0;
	u32 i;

	for (i = 0; i < count && !err; i++) {
		stat.name = names[i];
		stat.value = READ_ONCE(values[i]);
		err = ds_dump_object(dump, ds_put_token_stat, &stat);
	}
	return err;
}

static int ds_dump_fetch_stats(struct ds_dump *dump)
{
	return ds_dump_named(dump, ds_batch_stat_names, (u64 *)&ds_token_fetch.batch.stats,
			     ARRAY_SIZE(ds_batch_stat_names)) ?:
	       ds_dump_named(dump, ds_expand_stat_names, (u64 *)&ds_token_fetch.box.stats,
			     ARRAY_SIZE(ds_expand_stat_names)) ?:
	       ds_dump_named(dump, ds_whole_stat_names, (u64 *)&ds_token_whole.stats,
			     ARRAY_SIZE(ds_whole_stat_names));
}

int ds_dump_token_stats(struct ds_dump *dump)
{
	struct ds_dump_token_stats *stats = ds_count_tokens(dump->cb);
	unsigned int number;
	int err = 0;

	if (!stats)
		return -ENOMEM;
	stats->dump = dump;
	for (number = 1; number < DS_TOKEN_DEVICES && !err; number++)
		if (ds_token_device_sums(number, &stats->sums))
			err = ds_dump_token_counts(stats, number);
	if (!err)
		err = ds_dump_fetch_stats(dump);
	/*
	 * The lock is not held meanwhile, for the reason said above. But whoever has changed what
	 * was given has it, or has said so.
	 */
	ds_token_devices_lock();
	ds_token_devices_unlock();
	return err;
}

/* ---- parameters ---- */

static int ds_put_token_param(struct sk_buff *skb, void *object)
{
	const struct ds_token_param *p = object;
	const struct ds_param *param = &p->param;
	int err;

	err = p->domain ? nla_put_u32(skb, DS_A_DOMAIN, p->domain) : 0;
	if (err)
		return err;
	err = nla_put_string(skb, DS_A_NAME, param->name) ?:
	      nla_put_u64_64bit(skb, DS_A_SETTING, p->value, DS_A_PAD) ?:
	      nla_put_u64_64bit(skb, DS_A_LEAST, param->fixed ? p->value : param->least,
				DS_A_PAD) ?:
	      nla_put_u64_64bit(skb, DS_A_MOST, param->fixed ? p->value : param->most,
				DS_A_PAD) ?:
	      nla_put_u64_64bit(skb, DS_A_DEFAULT, param->fixed ? p->value : param->normal,
				DS_A_PAD);
	if (!err && p->note[0])
		err = nla_put_string(skb, DS_A_REASON, p->note);
	return err;
}

int ds_dump_token_params(struct ds_dump *dump)
{
	bool admin = netlink_capable(dump->cb->skb, CAP_NET_ADMIN);
	struct ds_token_param param;
	int err = 0;
	u32 index;

	for (index = 0; !err && ds_token_param_get(index, &param); index++) {
		/* How many slots a domain has just now tells what others do. */
		if (param.domain && !admin)
			param.note[0] = '\0';
		err = ds_dump_object(dump, ds_put_token_param, &param);
	}
	ds_token_shares_settle();
	return err;
}

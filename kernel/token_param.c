// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: parameters of the token cache: its own, then those of the batch, of the mailbox and
 * of document 001's policies, and then the shares that trust domains have of L1.
 */
#include <linux/bottom_half.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <uapi/ds/netlink.h>
#include "netlink.h"
#include "params.h"
#include "token_fetch.h"
#include "token_load.h"
#include "token_param.h"
#include "tokencache/tune.h"
#include "tokens.h"

enum ds_own_param {
	DS_L1_CAPACITY,		/* slots */
	DS_L2_CAPACITY,		/* bytes, and */
	DS_L2_NODE,		/* NUMA node that they are of */
	DS_MIGRATION_BLOCKING,	/* who meets a token on its way waits */
	DS_LATENCY_SAMPLING,	/* one of so many look-ups is timed; 0: none */
	DS_POLICY,		/* enum ds_policy_mode */
	DS_DMA_BANDWIDTH,	/* bytes a second, of adaptive-001 */
	DS_OWN_PARAMS,
};

enum ds_share_param {
	DS_SHARE_MIN,		/* slots that a domain keeps */
	DS_SHARE_MAX,		/* that it may have */
	DS_SHARE_PARAMS,
};

#define DS_EXPAND_FIRST	((u32)DS_OWN_PARAMS + DS_BATCH_PARAMS)
#define DS_TUNE_FIRST	(DS_EXPAND_FIRST + DS_EXPAND_PARAMS)
#define DS_SHARE_FIRST	(DS_TUNE_FIRST + DS_TUNE_PARAMS)

/* Of one that is fixed its value is all that there is to be said. */
static const struct ds_param ds_own_params[DS_OWN_PARAMS] = {
	[DS_L1_CAPACITY]	= { .name = "L1_CAPACITY", .fixed = true },
	[DS_L2_CAPACITY]	= { .name = "L2_CAPACITY", .fixed = true },
	[DS_L2_NODE]		= { .name = "L2_NODE", .fixed = true },
	[DS_MIGRATION_BLOCKING]	= { "MIGRATION_BLOCKING", 0, 1, 0, false },
	[DS_LATENCY_SAMPLING]	= { "LATENCY_SAMPLING", 0, S32_MAX, DS_TOKEN_SAMPLING, false },
	[DS_POLICY]		= { .name = "POLICY", .fixed = true },
	[DS_DMA_BANDWIDTH]	= { "DMA_BANDWIDTH", 1000, 1ull << 40, DS_TOKEN_BANDWIDTH, false },
};

static const char *const ds_share_names[DS_SHARE_PARAMS] = { "SHARE_MIN", "SHARE_MAX" };

/* ---- values ---- */

static u64 ds_own_param(u32 which)
{
	switch (which) {
	case DS_L1_CAPACITY:
		return ds_token_l1;
	case DS_L2_CAPACITY:
		return (u64)ds_token_l2 * SZ_1M;
	case DS_L2_NODE:
		return ds_token_l2_place.node;
	case DS_MIGRATION_BLOCKING:
		return READ_ONCE(ds_tokens.table.blocking);
	case DS_LATENCY_SAMPLING:
		return READ_ONCE(ds_token_sampling);
	case DS_POLICY:
		return ds_token_policy;
	default:
		return READ_ONCE(ds_token_bandwidth);
	}
}

static void ds_own_get(u32 which, struct ds_token_param *p)
{
	p->param = ds_own_params[which];
	p->value = ds_own_param(which);
	if (which == DS_L2_NODE && ds_token_l2)
		snprintf(p->note, sizeof(p->note), "%s%s", ds_token_l2_place.kind,
			 ds_token_l2_place.why);
	else if (which == DS_POLICY)
		snprintf(p->note, sizeof(p->note), "%s", ds_token_policy_name());
	else if (which == DS_DMA_BANDWIDTH && ds_token_policy != DS_POLICY_ADAPTIVE_001)
		snprintf(p->note, sizeof(p->note), "used by adaptive-001 only");
}

static void ds_tune_param(u32 which, struct ds_token_param *p)
{
	p->param = ds_tune_params[which];
	p->param.normal = ds_tune_normal(&ds_tokens.policy, which);
	local_bh_disable();	/* as chains, who take the cache's lock */
	p->value = ds_tune_get(&ds_tokens, which);
	local_bh_enable();
	if (ds_token_policy == DS_POLICY_DEFAULT) {
		p->param.fixed = true;
		p->why = "this needs the module parameter token_policy=literal-001 or adaptive-001";
		snprintf(p->note, sizeof(p->note), which == DS_DEMOTE_FROM_L2_IDLE_NS ?
			 "fixed with the default policy" : "not used by the default policy");
	} else if (ds_token_policy == DS_POLICY_ADAPTIVE_001 &&
		   which <= DS_PROMOTE_TO_L2_THRESHOLD) {
		snprintf(p->note, sizeof(p->note), "adaptive-001 changes it");
	}
}

/* @share: of the domain; of one that has none it is all of L1. */
static void ds_share_param(u32 which, const struct ds_share *share, struct ds_token_param *p)
{
	p->param = (struct ds_param){ ds_share_names[which], which == DS_SHARE_MAX, ds_token_l1,
				      which == DS_SHARE_MAX ? ds_token_l1 : 0, false };
	if (which == DS_SHARE_MIN)
		p->param.most = ds_token_l1 / 2;
	p->domain = share->domain;
	p->value = which == DS_SHARE_MAX ? share->max : share->min;
	snprintf(p->note, sizeof(p->note), "domain %u has %u slots", share->domain, share->used);
}

static bool ds_token_share(u32 index, struct ds_share *share)
{
	bool found;

	local_bh_disable();	/* as chains, who take the cache's lock */
	found = ds_cache_share(&ds_tokens, index, share);
	local_bh_enable();
	return found;
}

static struct ds_share ds_token_share_of(u32 domain)
{
	struct ds_share share;
	u32 index;

	for (index = 0; ds_token_share(index, &share); index++) {
		if (share.domain == domain)
			return share;
	}
	return (struct ds_share){ .domain = domain, .max = ds_token_l1 };
}

bool ds_token_param_get(u32 index, struct ds_token_param *p)
{
	struct ds_share share;

	memset(p, 0, sizeof(*p));
	if (index < DS_OWN_PARAMS) {
		ds_own_get(index, p);
	} else if (index < DS_EXPAND_FIRST) {
		index -= DS_OWN_PARAMS;
		p->param = ds_batch_params[index];
		p->value = READ_ONCE(ds_token_fetch.batch.params[index]);
	} else if (index < DS_TUNE_FIRST) {
		index -= DS_EXPAND_FIRST;
		p->param = ds_expand_params[index];
		p->value = READ_ONCE(ds_token_fetch.box.params[index]);
	} else if (index < DS_SHARE_FIRST) {
		ds_tune_param(index - DS_TUNE_FIRST, p);
	} else {
		index -= DS_SHARE_FIRST;
		if (!ds_token_share(index / DS_SHARE_PARAMS, &share))
			return false;
		ds_share_param(index % DS_SHARE_PARAMS, &share, p);
	}
	if (p->param.fixed && !p->why)
		p->why = "this parameter is fixed since the module was loaded";
	return true;
}

/* ---- settings ---- */

static int ds_share_param_find(const char *name, u32 domain, struct ds_token_param *p)
{
	int which = match_string(ds_share_names, DS_SHARE_PARAMS, name);
	struct ds_share share;

	if (which < 0)
		return -ENOENT;
	if (!domain)
		return -EINVAL;
	share = ds_token_share_of(domain);
	memset(p, 0, sizeof(*p));
	ds_share_param(which, &share, p);
	return DS_SHARE_FIRST + which;
}

int ds_token_param_find(const char *name, u32 domain, struct ds_token_param *p)
{
	u32 index;

	for (index = 0; index < DS_SHARE_FIRST; index++) {
		ds_token_param_get(index, p);
		if (!strcmp(name, p->param.name))
			return domain ? -EINVAL : index;
	}
	return ds_share_param_find(name, domain, p);
}

static DEFINE_MUTEX(ds_shares_lock);	/* each setting is of a pair */

void ds_token_shares_settle(void)
{
	mutex_lock(&ds_shares_lock);
	mutex_unlock(&ds_shares_lock);
}

static int ds_share_param_set(u32 which, u32 domain, u32 value)
{
	struct ds_share share;
	int ret = ds_shares_prepare(&ds_tokens.shares);

	if (ret)
		return ret;
	mutex_lock(&ds_shares_lock);
	share = ds_token_share_of(domain);
	if (which == DS_SHARE_MIN)
		share.min = value;
	else
		share.max = value;
	local_bh_disable();	/* as chains, who take the cache's lock */
	ret = ds_cache_partition(&ds_tokens, domain, share.min, share.max);
	local_bh_enable();
	if (!ret)
		ds_netlink_changed(DS_CMD_TOKEN_PARAM_GET);	/* one may have come or gone */
	mutex_unlock(&ds_shares_lock);
	return ret;
}

static int ds_tune_param_set(u32 which, u64 value)
{
	int ret;

	local_bh_disable();	/* as chains, who take the cache's lock */
	ret = ds_tune_set(&ds_tokens, which, value);
	local_bh_enable();
	return ret;
}

int ds_token_param_set(u32 index, u32 domain, u64 value)
{
	if (index >= DS_SHARE_FIRST)
		return ds_share_param_set(index - DS_SHARE_FIRST, domain, value);
	if (index >= DS_TUNE_FIRST)
		return ds_tune_param_set(index - DS_TUNE_FIRST, value);
	if (index >= DS_EXPAND_FIRST)
		return ds_expand_set(&ds_token_fetch.box, index - DS_EXPAND_FIRST, value);
	if (index >= DS_OWN_PARAMS)
		return ds_batch_set(&ds_token_fetch.batch, index - DS_OWN_PARAMS, value);
	if (index == DS_MIGRATION_BLOCKING)
		WRITE_ONCE(ds_tokens.table.blocking, value);
	else if (index == DS_LATENCY_SAMPLING)
		WRITE_ONCE(ds_token_sampling, value);
	else
		WRITE_ONCE(ds_token_bandwidth, value);
	return 0;
}

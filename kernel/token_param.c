// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: parameters of the token cache: its own, then those of the batch and of the mailbox.
 */
#include <linux/kernel.h>
#include <linux/numa.h>
#include <linux/sizes.h>
#include "params.h"
#include "token_fetch.h"
#include "token_param.h"
#include "tokens.h"

enum ds_own_param {
	DS_L1_CAPACITY,		/* slots */
	DS_L2_CAPACITY,		/* bytes, and */
	DS_L2_NODE,		/* NUMA node that they are of */
	DS_MIGRATION_BLOCKING,	/* who meets a token on its way waits */
	DS_LATENCY_SAMPLING,	/* one of so many look-ups is timed; 0: none */
	DS_OWN_PARAMS,
};

#define DS_EXPAND_FIRST	((u32)DS_OWN_PARAMS + DS_BATCH_PARAMS)
#define DS_PARAMS_END	(DS_EXPAND_FIRST + DS_EXPAND_PARAMS)

static const struct ds_param ds_own_params[DS_OWN_PARAMS] = {
	[DS_L1_CAPACITY]	= { "L1_CAPACITY", DS_POLICY_CAPACITY_MIN, DS_L1_MAX, 8192, true },
	[DS_L2_CAPACITY]	= { "L2_CAPACITY", 0, 64 * SZ_1M, 4 * SZ_1M, true },
	[DS_L2_NODE]		= { "L2_NODE", 0, MAX_NUMNODES - 1, 0, true },
	[DS_MIGRATION_BLOCKING]	= { "MIGRATION_BLOCKING", 0, 1, 0, false },
	[DS_LATENCY_SAMPLING]	= { "LATENCY_SAMPLING", 0, S32_MAX, DS_TOKEN_SAMPLING, false },
};

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
	default:
		return READ_ONCE(ds_token_sampling);
	}
}

bool ds_token_param_get(u32 index, struct ds_token_param *p)
{
	if (index >= DS_PARAMS_END)
		return false;
	p->note[0] = '\0';
	if (index < DS_OWN_PARAMS) {
		p->param = ds_own_params[index];
		p->value = ds_own_param(index);
		if (index == DS_L2_NODE)
			snprintf(p->note, sizeof(p->note), "%s%s", ds_token_l2_place.kind,
				 ds_token_l2_place.why);
	} else if (index < DS_EXPAND_FIRST) {
		index -= DS_OWN_PARAMS;
		p->param = ds_batch_params[index];
		p->value = READ_ONCE(ds_token_fetch.batch.params[index]);
	} else {
		index -= DS_EXPAND_FIRST;
		p->param = ds_expand_params[index];
		p->value = READ_ONCE(ds_token_fetch.box.params[index]);
	}
	return true;
}

void ds_token_param_set(u32 index, u64 value)
{
	if (index == DS_MIGRATION_BLOCKING)
		WRITE_ONCE(ds_tokens.table.blocking, value);
	else if (index == DS_LATENCY_SAMPLING)
		WRITE_ONCE(ds_token_sampling, value);
	else if (index < DS_EXPAND_FIRST)
		ds_batch_set(&ds_token_fetch.batch, index - DS_OWN_PARAMS, value);
	else
		ds_expand_set(&ds_token_fetch.box, index - DS_EXPAND_FIRST, value);
}

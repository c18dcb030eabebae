// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the parameters of document 001's modes by their names.
 */
#include "tune.h"

#define MOST_NS		1000000000000ull
#define MOST_USES	0x10000000000ull

const struct ds_param ds_tune_params[DS_TUNE_PARAMS] = {
	[DS_PROMOTE_TO_L1_THRESHOLD] = { "PROMOTE_TO_L1_THRESHOLD", 1, DS_SKETCH_MOST,
					 DS_POLICY_PROMOTE_TO_L1_THRESHOLD, false },
	[DS_PROMOTE_TO_L2_THRESHOLD] = { "PROMOTE_TO_L2_THRESHOLD", 1, DS_SKETCH_MOST,
					 DS_POLICY_PROMOTE_TO_L2_THRESHOLD, false },
	[DS_DEMOTE_FROM_L1_IDLE_NS] = { "DEMOTE_FROM_L1_IDLE_NS", 1024, MOST_NS,
					DS_POLICY_DEMOTE_FROM_L1_IDLE_NS, false },
	[DS_DEMOTE_FROM_L2_IDLE_NS] = { "DEMOTE_FROM_L2_IDLE_NS", 1024, MOST_NS,
					DS_POLICY_DEMOTE_FROM_L2_IDLE_NS, false },
	[DS_AGING_INTERVAL] = { "AGING_INTERVAL", 1, MOST_USES,
				DS_POLICY_AGING_INTERVAL * 8192ull, false },
	[DS_ALPHA] = { "ALPHA", 0, DS_SKETCH_MOST, DS_POLICY_ALPHA, false },
	[DS_HEAT_SAMPLING] = { "HEAT_SAMPLING", 1, DS_SKETCH_MOST, DS_POLICY_HEAT_SAMPLING, false },
};

static u64 param_get(const struct ds_policy_params *params, u32 which)
{
	switch (which) {
	case DS_PROMOTE_TO_L1_THRESHOLD:
		return params->promote_to_l1_threshold;
	case DS_PROMOTE_TO_L2_THRESHOLD:
		return params->promote_to_l2_threshold;
	case DS_DEMOTE_FROM_L1_IDLE_NS:
		return params->demote_from_l1_idle_ns;
	case DS_DEMOTE_FROM_L2_IDLE_NS:
		return params->demote_from_l2_idle_ns;
	case DS_AGING_INTERVAL:
		return params->aging_interval;
	case DS_ALPHA:
		return params->alpha;
	default:
		return params->heat_sampling;
	}
}

void ds_tune_put(struct ds_policy_params *params, u32 which, u64 value)
{
	switch (which) {
	case DS_PROMOTE_TO_L1_THRESHOLD:
		params->promote_to_l1_threshold = (u32)value;
		break;
	case DS_PROMOTE_TO_L2_THRESHOLD:
		params->promote_to_l2_threshold = (u32)value;
		break;
	case DS_DEMOTE_FROM_L1_IDLE_NS:
		params->demote_from_l1_idle_ns = value;
		break;
	case DS_DEMOTE_FROM_L2_IDLE_NS:
		params->demote_from_l2_idle_ns = value;
		break;
	case DS_AGING_INTERVAL:
		params->aging_interval = value;
		break;
	case DS_ALPHA:
		params->alpha = (u32)value;
		break;
	default:
		params->heat_sampling = (u32)value;
	}
}

u64 ds_tune_normal(const struct ds_policy *p, u32 which)
{
	struct ds_policy_params normal;

	ds_policy_001_normal(&normal, p->capacity, p->base && p->base->adaptive);
	return param_get(&normal, which);
}

u64 ds_tune_get(struct ds_cache *c, u32 which)
{
	u64 value;

	if (!c->policy.base)
		return ds_tune_normal(&c->policy, which);
	ds_spin_lock(&c->lock);
	value = param_get(&c->policy.base->params, which);
	ds_spin_unlock(&c->lock);
	return value;
}

int ds_tune_set(struct ds_cache *c, u32 which, u64 value)
{
	struct ds_policy_params params;
	int ret;

	if (!c->policy.base || !ds_param_fits(&ds_tune_params[which], value))
		return -EINVAL;
	ds_spin_lock(&c->lock);
	params = c->policy.base->params;
	ds_tune_put(&params, which, value);
	ret = ds_policy_set_params(&c->policy, &params);
	ds_spin_unlock(&c->lock);
	return ret;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the parameters of document 001's modes by their names, one by one.
 */
#ifndef DS_TOKENCACHE_TUNE_H
#define DS_TOKENCACHE_TUNE_H

#include "cache.h"
#include "param.h"

enum ds_tune_param {
	DS_PROMOTE_TO_L1_THRESHOLD,	/* uses */
	DS_PROMOTE_TO_L2_THRESHOLD,
	DS_DEMOTE_FROM_L1_IDLE_NS,
	DS_DEMOTE_FROM_L2_IDLE_NS,	/* in force with the default policy, too, but fixed */
	DS_AGING_INTERVAL,		/* uses */
	DS_ALPHA,			/* uses, for a rank of recency */
	DS_HEAT_SAMPLING,		/* one of so many uses is counted */
	DS_TUNE_PARAMS
};

/* As literal-001 has them, but AGING_INTERVAL, which depends on the capacity. */
extern const struct ds_param ds_tune_params[DS_TUNE_PARAMS];

/**
 * ds_tune_normal - what a parameter is if nobody sets it
 * @p: policy, of any mode: that of literal-001 if it is the default one
 * @which: enum ds_tune_param
 *
 * Return: the value.
 */
u64 ds_tune_normal(const struct ds_policy *p, u32 which);

/**
 * ds_tune_put - change a parameter among others
 * @params: of a policy, for ds_policy_set_params()
 * @which: enum ds_tune_param
 * @value: new one
 */
void ds_tune_put(struct ds_policy_params *params, u32 which, u64 value);

/**
 * ds_tune_get - what a parameter is now
 * @c: cache; with the default policy as ds_tune_normal()
 * @which: enum ds_tune_param
 *
 * Takes the lock.
 *
 * Return: the value; adaptive-001 changes its thresholds.
 */
u64 ds_tune_get(struct ds_cache *c, u32 which);

/**
 * ds_tune_set - change a parameter
 * @c: cache
 * @which: enum ds_tune_param
 * @value: new one
 *
 * Takes the lock. Tokens stay where they are: it is of those that are used from now on.
 *
 * Return: 0; -EINVAL: out of range, or the policy is the default one, which has none.
 */
int ds_tune_set(struct ds_cache *c, u32 which, u64 value);

#endif /* DS_TOKENCACHE_TUNE_H */

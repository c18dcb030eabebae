/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: adaptive-001 sets the thresholds of document 001 itself, at the end of each interval: by
 * trials (trial.h), and, where these see no difference, by the two rules of 001.
 *
 * Nobody comes to L1 whom not even L2 would take. So where both tiers together gain more with a
 * higher threshold than L1 loses, L1's rises with that of L2.
 *
 * Under the cache's lock, as all that changes a policy.
 */
#ifndef DS_TOKENCACHE_POLICY_ADAPT_H
#define DS_TOKENCACHE_POLICY_ADAPT_H

#include "policy.h"

/* An interval has ended. */
void ds_policy_adapt(struct ds_policy_001 *b, const struct ds_policy_load *load);

/* What do moves cost, and how long do they take? @blocking: uses wait for them. */
void ds_policy_adapt_weigh(struct ds_policy_001 *b, bool blocking);

/* A key that lies in a tier was used, the last of so many times lately; @hash: of it. */
void ds_policy_adapt_try(struct ds_policy *p, u64 hash, u32 uses, u32 tier);

/* Tries what was noted of hits. */
void ds_policy_adapt_hear(struct ds_policy *p);

/*
 * So many uses there were until now; wraps. For a cache where tokens are used while they move:
 * to be said before each use. If nobody says it, moves take no time.
 */
void ds_policy_adapt_clock(struct ds_policy *p, u32 uses);

/* A token begins to move from one tier to another, or no longer does. */
void ds_policy_adapt_move(struct ds_policy *p, u32 from, u32 to, bool begins);

#endif /* DS_TOKENCACHE_POLICY_ADAPT_H */

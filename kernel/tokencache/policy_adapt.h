/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: thresholds of document 001 that follow the load, as adaptive-001 has them.
 *
 * Each begins with 1, which is all that an empty L1 asks for, and is looked at once in an
 * ageing interval:
 *
 *	trials (trial.h) say that another one is better		it is taken
 *	DMA is nearly saturated and L2 hits seldom		it is doubled
 *	else L1 hits seldom and the host's processor is busy	it is halved
 *
 * The last two are 001's rules, in bands (policy_001.h) that do not touch: between them nothing
 * is done, nor is a step that would cost hits, by the trials: more than an eighth of them
 * (or of the misses, if they are fewer) for less traffic, any for nothing; for the latter
 * a step is made within four intervals of another one while the trials choose, or of when the
 * load began to ask for it, or not at all. While one is to be doubled no lower one is taken.
 * Without trials there would be no reason to raise one on a loop that is longer than the cache,
 * where a high one keeps a part of it. One for L1 is tried by L1's miniatures, one for L2 by
 * those of both tiers together.
 *
 * The trials choose for seven intervals from when a load has changed, or what the host asks for,
 * or somebody has set a threshold, and until a thousand uses were seen since. What they find later
 * is of small differences. The first load alone they follow on and on, as nobody knows when it has
 * really begun: a skew's order takes twenty intervals to learn.
 *
 * Doubling stops at what the capacity implies: as many tokens are that hot as L1 has slots,
 * by a histogram of all heats that is made while they are halved. Above, L1 could not be
 * filled. So no change of the load takes more than eight intervals to be followed.
 *
 * Nobody comes to L1 whom not even L2 would take. So where both tiers together gain more with a
 * higher threshold than half of what L1 loses, L1's rises with that of L2, be it above what fills
 * L1; else L2's is cut to L1's.
 *
 * Under the cache's lock, as all that changes a policy.
 */
#ifndef DS_TOKENCACHE_POLICY_ADAPT_H
#define DS_TOKENCACHE_POLICY_ADAPT_H

#include "policy.h"

#define DS_POLICY_FOR_EVER	255u	/* intervals, for which the first load is followed */

/* An interval has ended. */
void ds_policy_adapt(struct ds_policy_001 *b, const struct ds_policy_load *load);

/* Somebody has set a threshold: it is tried against others, as if none had been. */
void ds_policy_adapt_anew(struct ds_policy_001 *b, struct ds_trials *trials);

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

/* A token begins to move from one tier to another: when, by the clock. */
u32 ds_policy_adapt_begins(struct ds_policy *p, u32 from, u32 to);

/* It no longer does; @begun: what was said when it began. */
void ds_policy_adapt_ends(struct ds_policy *p, u32 from, u32 to, u32 begun);

/* It has come to a slot of L1: after a long move it is as hot as it was used by now. */
void ds_policy_adapt_arrived(struct ds_policy *p, u32 from, u32 slot);

#endif /* DS_TOKENCACHE_POLICY_ADAPT_H */

/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: samples of keys, and numbers at random.
 */
#ifndef DS_TOKENCACHE_SAMPLE_H
#define DS_TOKENCACHE_SAMPLE_H

#include "../shim.h"

/*
 * Is a key in a sample of so many of all keys, in 2^-32, by its hash? All samples are drawn
 * alike, so who is in a small one is in each larger one, too: trials of both tiers rely on it.
 */
static inline bool ds_sample_has(u32 sampled, u64 hash)
{
	return (u32)(hash * 0x9e3779b97f4a7c15ull >> 32) < sampled;
}

/* The next number below @limit. @x, the state, is never 0. */
static inline u32 ds_random_below(u32 *x, u32 limit)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return (u32)((u64)*x * limit >> 32);
}

#endif /* DS_TOKENCACHE_SAMPLE_H */

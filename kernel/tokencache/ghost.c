// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: which keys left a cache lately.
 */
#include "ghost.h"

#define DS_GHOST_EPOCH_BITS	5
#define DS_GHOST_PRINTS		0x7ffull

static_assert(1 << DS_GHOST_EPOCH_BITS == DS_EPOCHS, "an epoch fits");
static_assert(DS_GHOST_PRINTS << DS_GHOST_EPOCH_BITS <= 0xffff, "an entry has 16 bits");

int ds_ghost_init(struct ds_ghost *g, u32 keys)
{
	g->buckets = keys / DS_GHOST_WAYS;
	g->entries = ds_alloc(ds_ghost_bytes(g));
	return g->entries ? 0 : -ENOMEM;
}

void ds_ghost_destroy(struct ds_ghost *g)
{
	ds_free(g->entries);
}

static inline u16 *ds_ghost_bucket(const struct ds_ghost *g, u64 hash)
{
	return g->entries + ((hash >> 32) * g->buckets >> 32) * DS_GHOST_WAYS;
}

/* Not 0, which would be no entry. */
static inline u32 ds_ghost_print(u64 hash)
{
	u32 print = (u32)(hash & DS_GHOST_PRINTS);

	return print ? print : 1;
}

/* Of an entry that goes before all younger ones; an empty one goes first. No branch. */
static inline u32 ds_ghost_age(u16 entry, u32 now)
{
	return ds_epochs_since(entry, now) | (u32)!entry * DS_GHOST_NONE;
}

void ds_ghost_put(struct ds_ghost *g, u64 hash, u32 used, u32 now)
{
	u16 *bucket = ds_ghost_bucket(g, hash);
	u32 i, oldest = 0;

	for (i = 0; i < DS_GHOST_WAYS; i++)
		oldest = max(oldest, ds_ghost_age(bucket[i], now) * DS_GHOST_WAYS + i);
	bucket[oldest % DS_GHOST_WAYS] =
		(u16)(ds_ghost_print(hash) << DS_GHOST_EPOCH_BITS | used);
}

u32 ds_ghost_age_at(const struct ds_ghost *g, u32 entry, u32 now)
{
	u32 age = ds_ghost_age(g->entries[entry], now);

	return age < DS_GHOST_NONE ? age : DS_GHOST_NONE;
}

u32 ds_ghost_take(struct ds_ghost *g, u64 hash, u32 now)
{
	u16 *bucket = ds_ghost_bucket(g, hash);
	u32 i, age;

	for (i = 0; i < DS_GHOST_WAYS; i++) {
		if (bucket[i] >> DS_GHOST_EPOCH_BITS != ds_ghost_print(hash))
			continue;
		age = ds_epochs_since(bucket[i], now);
		bucket[i] = 0;
		return age;
	}
	return DS_GHOST_NONE;
}

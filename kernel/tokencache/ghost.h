/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: which keys left a cache lately, and how long ago they were used last.
 *
 * An entry has 16 bits: 11 of the key's hash and a time of 5 bits, the epoch of the
 * key's last use. A key hashes to a bucket of 8; when it is full, what was used
 * longest ago is forgotten. Of a thousand keys that were never put in, four are
 * found all the same.
 *
 * Epochs are counted by the caller, and their numbers repeat after 32: he makes them
 * so long that a bucket is filled anew in less. Not thread safe.
 */
#ifndef DS_TOKENCACHE_GHOST_H
#define DS_TOKENCACHE_GHOST_H

#include "../shim.h"

#define DS_EPOCHS	32
#define DS_GHOST_WAYS	8
#define DS_GHOST_NONE	DS_EPOCHS	/* older than all that is known */

struct ds_ghost {
	u16 *entries;	/* 0: none */
	u32 buckets;
};

/**
 * ds_ghost_init - empty
 * @g: filled, for ds_ghost_destroy()
 * @keys: room for so many, at least DS_GHOST_WAYS
 *
 * Return: 0, -ENOMEM
 */
int ds_ghost_init(struct ds_ghost *g, u32 keys);
void ds_ghost_destroy(struct ds_ghost *g);

/**
 * ds_ghost_put - a key left the cache
 * @g: the ghost
 * @hash: of the key, good in all of its bits
 * @used: epoch of its last use, below DS_EPOCHS
 * @now: the epoch
 */
void ds_ghost_put(struct ds_ghost *g, u64 hash, u32 used, u32 now);

/**
 * ds_ghost_take - a key comes back: is it known? It no longer is.
 * @g: the ghost
 * @hash: of the key
 * @now: the epoch
 *
 * Return: epochs since its last use, or DS_GHOST_NONE
 */
u32 ds_ghost_take(struct ds_ghost *g, u64 hash, u32 now);

static inline u32 ds_ghost_room(const struct ds_ghost *g)
{
	return g->buckets * DS_GHOST_WAYS;
}

/* Epochs since an entry's last use, or DS_GHOST_NONE if there is none; @entry: below the room. */
u32 ds_ghost_age_at(const struct ds_ghost *g, u32 entry, u32 now);

/* Epochs between two of their numbers. */
static inline u32 ds_epochs_since(u32 then, u32 now)
{
	return (now - then) % DS_EPOCHS;
}

static inline u64 ds_ghost_bytes(const struct ds_ghost *g)
{
	return (u64)g->buckets * DS_GHOST_WAYS * sizeof(*g->entries);
}

#endif /* DS_TOKENCACHE_GHOST_H */

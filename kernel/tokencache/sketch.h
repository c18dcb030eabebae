/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: how often a key was used lately, in four counters that it shares with others: a
 * count-min sketch (Cormode and Muthukrishnan, 2005) of 8-bit counters, of which only
 * the least are raised. It says too little only of what was lowered or halved.
 * Not thread safe.
 */
#ifndef DS_TOKENCACHE_SKETCH_H
#define DS_TOKENCACHE_SKETCH_H

#include "../shim.h"

#define DS_SKETCH_ROWS	4
#define DS_SKETCH_MOST	255u

struct ds_sketch {
	u8 *counters;	/* DS_SKETCH_ROWS rows */
	u32 width;	/* of a row, a multiple of 8 */
};

/**
 * ds_sketch_init - nothing was used
 * @s: filled, for ds_sketch_destroy()
 * @keys: that are used more than now and then, at least 8
 *
 * Return: 0, -ENOMEM
 */
int ds_sketch_init(struct ds_sketch *s, u32 keys);
void ds_sketch_destroy(struct ds_sketch *s);

/**
 * ds_sketch_add - a key was used
 * @s: the sketch
 * @hash: of the key, good in all of its bits
 * @uses: how often, at most DS_SKETCH_MOST; N for one of N that is looked at
 *
 * Return: how often lately, at most DS_SKETCH_MOST
 */
u32 ds_sketch_add(struct ds_sketch *s, u64 hash, u32 uses);

/* How often a key was used lately, at most DS_SKETCH_MOST. */
u32 ds_sketch_count(const struct ds_sketch *s, u64 hash);

/* A key's count is halved, and what others have in common with it. */
void ds_sketch_lower(struct ds_sketch *s, u64 hash);

/* Eight counters, of ds_sketch_words(), are halved. */
void ds_sketch_halve(struct ds_sketch *s, u32 word);

static inline u32 ds_sketch_words(const struct ds_sketch *s)
{
	return s->width / 8 * DS_SKETCH_ROWS;
}

#endif /* DS_TOKENCACHE_SKETCH_H */

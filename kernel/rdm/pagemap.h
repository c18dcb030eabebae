/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: which page of the pool is behind a virtual page: a hash table in buckets of
 * a cache line, and a small table in front of it.
 *
 *	bucket	key[7]		virtual pages			28 bytes
 *		value[7]	pages of the pool		28
 *		meta		7 x 5 bits of what the slots
 *				are, 29 bits: the next bucket	 8
 *
 * A bit of @meta says whether a slot is in use; what stands in the others means
 * nothing. A page hashes to a bucket and to a slot of it, where it is mostly
 * found at once; else it is in another slot, or in a bucket that is chained to
 * this one. Of the buckets of a chain only the last has empty slots.
 *
 * Room for all pages is allocated at once: a bucket for 6 of them, and 0.3 as many
 * for chains. One bucket in 4 has more than 7 pages when all are mapped, so that
 * is enough, whatever is mapped: chains run out in one of a million spaces.
 *
 * The front table has one entry for each value of some bits of a page's number,
 * like the TLB of a processor, and all that the large table knows of the page.
 * Not thread safe.
 */
#ifndef DS_RDM_PAGEMAP_H
#define DS_RDM_PAGEMAP_H

#include "vspace.h"

/*
 * What is known of a page: its number in the pool in the low half, and above it
 * that it is mapped, that its allocation ends within it, and its access.
 */
#define DS_PAGEMAP_MAPPED	0x100000000ull
#define DS_PAGEMAP_TAIL		0x200000000ull
#define DS_PAGEMAP_ACCESS_SHIFT	34
#define DS_PAGEMAP_BITS		5	/* of these, in all */

#define DS_PAGEMAP_SLOTS	7
#define DS_PAGEMAP_FRONT	256	/* 4 KiB, as much as 64 buckets */

struct ds_pagemap_bucket {
	u32 key[DS_PAGEMAP_SLOTS];
	u32 value[DS_PAGEMAP_SLOTS];
	u64 meta;
};

/* @known is 0 if there is none. */
struct ds_pagemap_front {
	u64 known;
	u32 page;
};

/**
 * struct ds_pagemap - pages of a space
 * @front: the front table
 * @buckets: the large one, and behind its buckets those for chains
 * @seed: of the hash
 * @count: buckets of the large table
 * @chains: those for chains
 * @free_chain: the first that is free, counted from 1; 0: none
 * @mapped: pages
 * @stats: of ds_pagemap_find()
 * @memory: of the buckets
 */
struct ds_pagemap {
	struct ds_pagemap_front front[DS_PAGEMAP_FRONT];
	struct ds_pagemap_bucket *buckets;
	u64 seed;
	u32 count;
	u32 chains;
	u32 free_chain;
	u32 mapped;
	struct ds_vspace_stats stats;
	void *memory;
};

/**
 * ds_pagemap_init - nothing is mapped
 * @m: filled, for ds_pagemap_destroy()
 * @pages: room for so many, at least 1
 * @seed: random
 *
 * Return: 0, -EINVAL, -ENOMEM
 */
int ds_pagemap_init(struct ds_pagemap *m, u32 pages, u64 seed);
void ds_pagemap_destroy(struct ds_pagemap *m);

/**
 * ds_pagemap_insert - map a page
 * @m: the pages
 * @page: virtual
 * @known: of it, with DS_PAGEMAP_MAPPED
 *
 * Return: 0; -EINVAL: @known is nothing that a page can be; -EEXIST: it is mapped;
 *	-ENOMEM: no bucket is left for a chain. Nothing has changed after an error.
 */
int ds_pagemap_insert(struct ds_pagemap *m, u32 page, u64 known);

/**
 * ds_pagemap_remove - map a page no longer
 * @m: the pages
 * @page: virtual
 *
 * Return: what was known of it, 0 if it was not mapped
 */
u64 ds_pagemap_remove(struct ds_pagemap *m, u32 page);

/**
 * ds_pagemap_find - what is behind a page?
 * @m: the pages
 * @page: virtual
 *
 * Return: what is known of it, 0 if it is not mapped
 */
u64 ds_pagemap_find(struct ds_pagemap *m, u32 page);

/* Bytes of the large table. */
static inline u64 ds_pagemap_bytes(const struct ds_pagemap *m)
{
	return ((u64)m->count + m->chains) * sizeof(struct ds_pagemap_bucket);
}

#endif /* DS_RDM_PAGEMAP_H */

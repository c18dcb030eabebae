// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: which page of the pool is behind a virtual page.
 */
#include "pagemap.h"

#define DS_PAGEMAP_PAGES	6	/* for a bucket */
#define DS_PAGEMAP_SLOT_MASK	0x1full
#define DS_PAGEMAP_CHAIN_SHIFT	35
#define DS_PAGEMAP_CHAIN_UNIT	0x800000000ull

static_assert(sizeof(struct ds_pagemap_bucket) == 64, "a bucket is a cache line");
static_assert(!(DS_PAGEMAP_SLOT_MASK >> DS_PAGEMAP_BITS), "bits of a slot");
static_assert(DS_PAGEMAP_BITS * DS_PAGEMAP_SLOTS == 35, "the chain is above");
static_assert(DS_PAGEMAP_CHAIN_UNIT == 1ull << DS_PAGEMAP_CHAIN_SHIFT, "1 of the chain");

/* Where a page is, or where it may go. */
struct ds_pagemap_place {
	struct ds_pagemap_bucket *bucket;
	u32 slot;
};

/* Both halves are good: addresses are multiples of something more often than not. */
static inline u64 ds_pagemap_hash(const struct ds_pagemap *m, u32 page)
{
	u64 h = (m->seed ^ page) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 32) * 0x9e3779b97f4a7c15ull;
}

/* The place to look at first, whatever the number of buckets is. */
static inline struct ds_pagemap_place ds_pagemap_first(const struct ds_pagemap *m, u32 page)
{
	u64 h = ds_pagemap_hash(m, page);

	return (struct ds_pagemap_place) {
		.bucket = m->buckets + ((h >> 32) * m->count >> 32),
		.slot = (u32)((h & 0xffffffff) * DS_PAGEMAP_SLOTS >> 32),
	};
}

static inline struct ds_pagemap_bucket *ds_pagemap_next(const struct ds_pagemap *m,
							const struct ds_pagemap_bucket *bucket)
{
	u64 chain = bucket->meta >> DS_PAGEMAP_CHAIN_SHIFT;

	return chain ? m->buckets + m->count + (chain - 1) : NULL;
}

/* ---- slots ---- */

static inline u64 ds_pagemap_known(const struct ds_pagemap_bucket *b, u32 slot)
{
	return (b->meta >> slot * DS_PAGEMAP_BITS & DS_PAGEMAP_SLOT_MASK) << 32 | b->value[slot];
}

static inline bool ds_pagemap_used(const struct ds_pagemap_bucket *b, u32 slot)
{
	return b->meta >> slot * DS_PAGEMAP_BITS & 1;
}

static void ds_pagemap_fill(struct ds_pagemap_place place, u32 page, u64 known)
{
	place.bucket->key[place.slot] = page;
	place.bucket->value[place.slot] = (u32)known;
	place.bucket->meta |= known >> 32 << place.slot * DS_PAGEMAP_BITS;
}

static void ds_pagemap_empty(struct ds_pagemap_place place)
{
	place.bucket->meta &= ~(DS_PAGEMAP_SLOT_MASK << place.slot * DS_PAGEMAP_BITS);
}

static inline bool ds_pagemap_has(struct ds_pagemap_place p, u32 page)
{
	return p.bucket->key[p.slot] == page && ds_pagemap_used(p.bucket, p.slot);
}

/* Slots are a ring: those behind a page's own one are the next to be tried. */
static inline u32 ds_pagemap_next_slot(u32 slot)
{
	return slot ? slot - 1 : DS_PAGEMAP_SLOTS - 1;
}

/* ---- looking up ---- */

static inline struct ds_pagemap_front *ds_pagemap_front(struct ds_pagemap *m, u32 page)
{
	return &m->front[(page ^ page >> 8) % DS_PAGEMAP_FRONT];
}

/* Where a page is, from where it would be first; in no bucket if it is nowhere. */
static struct ds_pagemap_place ds_pagemap_seek(struct ds_pagemap *m, struct ds_pagemap_place p,
					       u32 page)
{
	u32 i;

	for (;;) {
		for (i = 0; i < DS_PAGEMAP_SLOTS; i++) {
			if (ds_pagemap_has(p, page))
				return p;
			p.slot = ds_pagemap_next_slot(p.slot);
		}
		p.bucket = ds_pagemap_next(m, p.bucket);
		if (!p.bucket)
			return p;
		m->stats.chain_steps++;
	}
}

/* The large table knows it: now the front table does. */
static inline u64 ds_pagemap_promote(struct ds_pagemap *m, struct ds_pagemap_front *front,
				     u32 page, struct ds_pagemap_place p)
{
	m->stats.table_hits++;
	front->page = page;
	front->known = ds_pagemap_known(p.bucket, p.slot);
	return front->known;
}

/* What is not at its first place. */
static ds_noinline u64 ds_pagemap_find_far(struct ds_pagemap *m, struct ds_pagemap_place first,
					   u32 page)
{
	struct ds_pagemap_place p = ds_pagemap_seek(m, first, page);

	if (p.bucket)
		return ds_pagemap_promote(m, ds_pagemap_front(m, page), page, p);
	m->stats.misses++;
	return 0;
}

u64 ds_pagemap_find(struct ds_pagemap *m, u32 page)
{
	struct ds_pagemap_front *front = ds_pagemap_front(m, page);
	struct ds_pagemap_place first;

	if (front->page == page && front->known) {
		m->stats.front_hits++;
		return front->known;
	}
	first = ds_pagemap_first(m, page);
	if (ds_pagemap_has(first, page))
		return ds_pagemap_promote(m, front, page, first);
	return ds_pagemap_find_far(m, first, page);
}

/* ---- chains ---- */

static void ds_pagemap_put_chain(struct ds_pagemap *m, struct ds_pagemap_bucket *bucket)
{
	bucket->meta = m->free_chain * DS_PAGEMAP_CHAIN_UNIT;
	m->free_chain = (u32)(bucket - m->buckets) - m->count + 1;
}

/* Chain an empty bucket to the last one of a chain. Return: it, NULL if there is none. */
static struct ds_pagemap_bucket *ds_pagemap_add_chain(struct ds_pagemap *m,
						      struct ds_pagemap_bucket *last)
{
	struct ds_pagemap_bucket *bucket;

	if (!m->free_chain)
		return NULL;
	last->meta |= m->free_chain * DS_PAGEMAP_CHAIN_UNIT;
	bucket = ds_pagemap_next(m, last);
	m->free_chain = bucket->meta >> DS_PAGEMAP_CHAIN_SHIFT;
	bucket->meta = 0;
	return bucket;
}

/* ---- changing ---- */

int ds_pagemap_insert(struct ds_pagemap *m, u32 page, u64 known)
{
	struct ds_pagemap_place p = ds_pagemap_first(m, page);
	struct ds_pagemap_bucket *next;
	u32 i;

	if (!(known & DS_PAGEMAP_MAPPED) || known >> 32 > DS_PAGEMAP_SLOT_MASK)
		return -EINVAL;
	if (ds_pagemap_seek(m, p, page).bucket)
		return -EEXIST;
	while ((next = ds_pagemap_next(m, p.bucket)))
		p.bucket = next;
	for (i = 0; i < DS_PAGEMAP_SLOTS && ds_pagemap_used(p.bucket, p.slot); i++)
		p.slot = ds_pagemap_next_slot(p.slot);
	if (i == DS_PAGEMAP_SLOTS) {
		p.bucket = ds_pagemap_add_chain(m, p.bucket);
		if (!p.bucket)
			return -ENOMEM;
	}
	ds_pagemap_fill(p, page, known);
	m->mapped++;
	return 0;
}

/*
 * Fill an empty slot with a page of the last bucket of its chain, so that no other
 * bucket has empty ones, and give that bucket back if it was its last page.
 */
static void ds_pagemap_close(struct ds_pagemap *m, struct ds_pagemap_bucket *first,
			     struct ds_pagemap_place hole)
{
	struct ds_pagemap_place last = { .bucket = first };
	struct ds_pagemap_bucket *before = NULL, *next;

	while ((next = ds_pagemap_next(m, last.bucket))) {
		before = last.bucket;
		last.bucket = next;
	}
	if (last.bucket != hole.bucket) {
		for (last.slot = 0; !ds_pagemap_used(last.bucket, last.slot);)
			last.slot++;
		ds_pagemap_fill(hole, last.bucket->key[last.slot],
				ds_pagemap_known(last.bucket, last.slot));
		ds_pagemap_empty(last);
	}
	if (before && !last.bucket->meta) {
		before->meta &= DS_PAGEMAP_CHAIN_UNIT - 1;
		ds_pagemap_put_chain(m, last.bucket);
	}
}

u64 ds_pagemap_remove(struct ds_pagemap *m, u32 page)
{
	struct ds_pagemap_front *front = ds_pagemap_front(m, page);
	struct ds_pagemap_place first = ds_pagemap_first(m, page);
	struct ds_pagemap_place p = ds_pagemap_seek(m, first, page);
	u64 known;

	if (!p.bucket)
		return 0;
	known = ds_pagemap_known(p.bucket, p.slot);
	ds_pagemap_empty(p);
	ds_pagemap_close(m, first.bucket, p);
	if (front->page == page)
		front->known = 0;
	m->mapped--;
	return known;
}

/* ---- beginning and end ---- */

int ds_pagemap_init(struct ds_pagemap *m, u32 pages, u64 seed)
{
	u32 i;

	if (!pages)
		return -EINVAL;
	memset(m, 0, sizeof(*m));
	m->seed = seed;
	m->count = (pages - 1) / DS_PAGEMAP_PAGES + 1;
	/* The constant is for the few buckets of a small space, where chance weighs more. */
	m->chains = m->count / 10 * 3 + 32;
	m->memory = ds_alloc(ds_pagemap_bytes(m) + sizeof(*m->buckets) - 1);
	if (!m->memory)
		return -ENOMEM;
	/* The next cache line that begins. */
	m->buckets = m->memory + (-(unsigned long)m->memory & (sizeof(*m->buckets) - 1));
	for (i = m->chains; i--;)
		ds_pagemap_put_chain(m, m->buckets + m->count + i);
	return 0;
}

void ds_pagemap_destroy(struct ds_pagemap *m)
{
	ds_free(m->memory);
	m->memory = NULL;
}

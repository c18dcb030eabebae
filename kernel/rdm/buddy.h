/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the pages of a pool, by the buddy method.
 *
 * Free pages form blocks of 2^k pages at multiples of 2^k, k being their order;
 * two halves that are both free are one block. For each order a bitmap says
 * which blocks are free, and summaries of it, one bit for 64, say where to look:
 * so the lowest free block is found in as many steps as there are summaries, at
 * most 6. All of it takes a little more than two bits a page. Any number of
 * pages will do: a pool begins as the largest blocks that it can be cut into.
 *
 * Not thread safe; nothing here touches the pages.
 */
#ifndef DS_RDM_BUDDY_H
#define DS_RDM_BUDDY_H

#include "../shim.h"

#define DS_BUDDY_ORDERS	32
#define DS_BUDDY_LEVELS	6	/* 64^6 is more than 2^32 */

/**
 * struct ds_buddy_map - the free blocks of an order
 * @level: bits of the blocks, then bits of the words of the level before that are
 *	not 0; the last level is one word
 * @levels: how many there are; 0 if the pool has no block so large
 */
struct ds_buddy_map {
	u64 *level[DS_BUDDY_LEVELS];
	u32 levels;
};

/**
 * struct ds_buddy - pages of a pool
 * @pages: all of them
 * @free: those that can be allocated
 * @orders: bit k says that a block of order k is free
 * @words: of all bitmaps
 * @map: of each order
 */
struct ds_buddy {
	u32 pages;
	u32 free;
	u32 orders;
	u64 *words;
	struct ds_buddy_map map[DS_BUDDY_ORDERS];
};

/**
 * ds_buddy_init - all pages are free
 * @b: filled, for ds_buddy_destroy()
 * @pages: at least 1
 *
 * Return: 0, -EINVAL, -ENOMEM
 */
int ds_buddy_init(struct ds_buddy *b, u32 pages);
void ds_buddy_destroy(struct ds_buddy *b);

/**
 * ds_buddy_alloc - take neighbouring pages
 * @b: the pages
 * @pages: how many, exactly; the rest of the block that they come from stays free
 * @start: the first one, written on success only
 *
 * Takes them from the lowest of the smallest blocks that are large enough.
 *
 * Return: 0; -EINVAL: no pages; -ENOSPC: no block is large enough
 */
int ds_buddy_alloc(struct ds_buddy *b, u32 pages, u32 *start);

/**
 * ds_buddy_alloc_some - take as many neighbouring pages as there are
 * @b: the pages
 * @pages: how many are wanted, at least 1
 * @start: the first one, written if there is one
 *
 * Return: how many were taken: @pages, or else the largest block; 0: none is free
 */
u32 ds_buddy_alloc_some(struct ds_buddy *b, u32 pages, u32 *start);

/**
 * ds_buddy_free - give neighbouring pages back
 * @b: the pages
 * @start: first page
 * @pages: their number; all are allocated, at once or one after another
 */
void ds_buddy_free(struct ds_buddy *b, u32 start, u32 pages);

/* Pages of the largest free block. Also for who looks while others change it. */
static inline u32 ds_buddy_largest(const struct ds_buddy *b)
{
	u32 orders = READ_ONCE(b->orders);

	return orders ? 1u << ilog2(orders) : 0;
}

#endif /* DS_RDM_BUDDY_H */

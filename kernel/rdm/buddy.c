// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the pages of a pool, by the buddy method.
 */
#include "buddy.h"

/* ---- the bitmap of an order, with its summaries ---- */

/* A bit more than there are blocks: a last one without a buddy asks for it. */
static u32 ds_buddy_map_words(u32 blocks)
{
	return blocks / 64 + 1;
}

/* Place the levels of @blocks blocks from @words on, or only count. Return: words. */
static u64 ds_buddy_map_place(struct ds_buddy_map *map, u32 blocks, u64 *words)
{
	u32 n = ds_buddy_map_words(blocks);
	u64 placed = 0;

	map->levels = 0;
	for (;;) {
		map->level[map->levels++] = words ? words + placed : NULL;
		placed += n;
		if (n == 1)
			return placed;
		n = (n + 63) / 64;
	}
}

static bool ds_buddy_map_test(const struct ds_buddy_map *map, u32 block)
{
	return map->level[0][block / 64] >> (block % 64) & 1;
}

static void ds_buddy_map_set(struct ds_buddy_map *map, u32 block)
{
	u32 i;

	for (i = 0; i < map->levels; i++, block /= 64) {
		u64 *word = &map->level[i][block / 64];
		u64 before = *word;

		*word |= 1ull << block % 64;
		if (before)
			break;
	}
}

static void ds_buddy_map_clear(struct ds_buddy_map *map, u32 block)
{
	u32 i;

	for (i = 0; i < map->levels; i++, block /= 64) {
		u64 *word = &map->level[i][block / 64];

		*word &= ~(1ull << block % 64);
		if (*word)
			break;
	}
}

static bool ds_buddy_map_empty(const struct ds_buddy_map *map)
{
	return !map->level[map->levels - 1][0];
}

static u32 ds_buddy_map_lowest(const struct ds_buddy_map *map)
{
	u32 i = map->levels, block = 0;

	while (i--)
		block = block * 64 + (u32)__builtin_ctzll(map->level[i][block]);
	return block;
}

/* ---- blocks ---- */

static void ds_buddy_put_block(struct ds_buddy *b, u32 order, u32 block)
{
	while (ds_buddy_map_test(&b->map[order], block ^ 1)) {
		ds_buddy_map_clear(&b->map[order], block ^ 1);
		if (ds_buddy_map_empty(&b->map[order]))
			b->orders &= ~(1u << order);
		block /= 2;
		order++;
	}
	ds_buddy_map_set(&b->map[order], block);
	b->orders |= 1u << order;
}

/* The first page of the lowest block of an order that has one. */
static u32 ds_buddy_take_block(struct ds_buddy *b, u32 order)
{
	u32 block = ds_buddy_map_lowest(&b->map[order]);

	ds_buddy_map_clear(&b->map[order], block);
	if (ds_buddy_map_empty(&b->map[order]))
		b->orders &= ~(1u << order);
	b->free -= 1u << order;
	return block << order;
}

/* ---- ranges ---- */

int ds_buddy_init(struct ds_buddy *b, u32 pages)
{
	struct ds_buddy_map ignored;
	u64 words = 0;
	u32 order;

	if (!pages)
		return -EINVAL;
	memset(b, 0, sizeof(*b));
	for (order = 0; order <= (u32)ilog2(pages); order++)
		words += ds_buddy_map_place(&ignored, pages >> order, NULL);
	b->words = ds_alloc(words * sizeof(u64));
	if (!b->words)
		return -ENOMEM;
	words = 0;
	for (order = 0; order <= (u32)ilog2(pages); order++)
		words += ds_buddy_map_place(&b->map[order], pages >> order, b->words + words);
	b->pages = pages;
	ds_buddy_free(b, 0, pages);
	return 0;
}

void ds_buddy_destroy(struct ds_buddy *b)
{
	ds_free(b->words);
	b->words = NULL;
}

int ds_buddy_alloc(struct ds_buddy *b, u32 pages, u32 *start)
{
	u32 order, large_enough;

	if (!pages)
		return -EINVAL;
	order = pages == 1 ? 0 : (u32)ilog2(pages - 1) + 1;
	large_enough = order < DS_BUDDY_ORDERS ? b->orders >> order << order : 0;
	if (!large_enough)
		return -ENOSPC;
	order = (u32)__builtin_ctz(large_enough);
	*start = ds_buddy_take_block(b, order);
	ds_buddy_free(b, *start + pages, (1u << order) - pages);
	return 0;
}

u32 ds_buddy_alloc_some(struct ds_buddy *b, u32 pages, u32 *start)
{
	if (!ds_buddy_alloc(b, pages, start))
		return pages;
	pages = ds_buddy_largest(b);
	if (pages)
		*start = ds_buddy_take_block(b, (u32)ilog2(pages));
	return pages;
}

void ds_buddy_free(struct ds_buddy *b, u32 start, u32 pages)
{
	b->free += pages;
	while (pages) {
		u32 order = (u32)ilog2(pages);

		/* The largest block that begins here. */
		if (start)
			order = min(order, (u32)__builtin_ctz(start));
		ds_buddy_put_block(b, order, start >> order);
		start += 1u << order;
		pages -= 1u << order;
	}
}

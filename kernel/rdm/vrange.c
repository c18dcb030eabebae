// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: virtual addresses of a space, first fit, used again in the next generation.
 */
#include "vrange.h"

/* ---- pages in use ---- */

static void ds_vranges_mark(struct ds_vranges *v, u32 start, u32 pages, bool used)
{
	while (pages) {
		u32 bit = start % 64, n = min(64 - bit, pages);
		u64 mask = ~0ull >> (64 - n) << bit;

		if (used)
			v->used[start / 64] |= mask;
		else
			v->used[start / 64] &= ~mask;
		start += n;
		pages -= n;
	}
}

/* The first page from @from on that is in use, or that is not; @v->pages if there is none. */
static u32 ds_vranges_find(const struct ds_vranges *v, u32 from, bool used)
{
	u64 skip = ~0ull << from % 64;
	u32 i;

	for (i = from / 64; i <= (v->pages - 1) / 64; i++, skip = ~0ull) {
		u64 word = (used ? v->used[i] : ~v->used[i]) & skip;

		if (word)
			return min(i * 64 + (u32)__builtin_ctzll(word), v->pages);
	}
	return v->pages;
}

/* The next free range. Return: its length, 0 if there is none. */
static u32 ds_vranges_next(const struct ds_vranges *v, u32 from, u32 *start)
{
	*start = ds_vranges_find(v, from, false);
	return ds_vranges_find(v, *start, true) - *start;
}

/* ---- the list of a generation ---- */

static void ds_vranges_update(struct ds_vranges *v, u32 i)
{
	v->longest[i] = max(v->longest[2 * i], v->longest[2 * i + 1]);
}

/* Make a list of @count ranges, or fewer, of all that is free. */
static int ds_vranges_renew(struct ds_vranges *v, u32 count)
{
	u32 leaves = 1, start = 0, length, i;
	u32 *list;

	while (leaves < count)
		leaves *= 2;
	list = ds_alloc(3ull * leaves * sizeof(u32));
	if (!list)
		return -ENOMEM;
	ds_free(v->longest);
	v->leaves = leaves;
	v->longest = list;
	v->start = list + 2ull * leaves;
	for (i = 0; (length = ds_vranges_next(v, start, &start)); i++) {
		v->start[i] = start;
		v->longest[leaves + i] = length;
		start += length;
	}
	for (i = leaves; --i;)
		ds_vranges_update(v, i);
	v->generation++;
	return 0;
}

/* Begin a generation that has a range of @pages pages. */
static int ds_vranges_next_generation(struct ds_vranges *v, u32 pages)
{
	u32 start = 0, count = 0, longest = 0, length;

	while ((length = ds_vranges_next(v, start, &start))) {
		longest = max(longest, length);
		start += length;
		count++;
	}
	return longest < pages ? -ENOSPC : ds_vranges_renew(v, count);
}

int ds_vranges_init(struct ds_vranges *v, u32 pages)
{
	int ret;

	if (pages < 3)
		return -EINVAL;
	memset(v, 0, sizeof(*v));
	v->pages = pages;
	v->used = ds_alloc((pages / 64 + 1) * sizeof(u64));
	if (!v->used)
		return -ENOMEM;
	ds_vranges_mark(v, 0, 1, true);
	ret = ds_vranges_renew(v, 1);
	if (ret)
		ds_vranges_destroy(v);
	return ret;
}

void ds_vranges_destroy(struct ds_vranges *v)
{
	ds_free(v->used);
	ds_free(v->longest);
	memset(v, 0, sizeof(*v));
}

int ds_vranges_alloc(struct ds_vranges *v, u32 pages, u32 *start)
{
	u32 i = 1;
	int ret;

	if (!pages)
		return -EINVAL;
	if (pages >= v->pages)
		return -ENOSPC;
	pages++;	/* the one behind it */
	if (v->longest[1] < pages) {
		ret = ds_vranges_next_generation(v, pages);
		if (ret)
			return ret;
	}
	while (i < v->leaves) {
		i *= 2;
		i += v->longest[i] < pages;
	}
	*start = v->start[i - v->leaves];
	v->start[i - v->leaves] += pages;
	v->longest[i] -= pages;
	ds_vranges_mark(v, *start, pages, true);
	while (i /= 2)
		ds_vranges_update(v, i);
	return 0;
}

void ds_vranges_free(struct ds_vranges *v, u32 start, u32 pages)
{
	ds_vranges_mark(v, start, pages + 1, false);
}

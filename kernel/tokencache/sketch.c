// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: how often a key was used lately.
 */
#include "sketch.h"

int ds_sketch_init(struct ds_sketch *s, u32 keys)
{
	s->width = keys / 8 * 8;
	s->counters = ds_alloc((u64)s->width * DS_SKETCH_ROWS);
	return s->counters ? 0 : -ENOMEM;
}

void ds_sketch_destroy(struct ds_sketch *s)
{
	ds_free(s->counters);
}

static inline u8 *ds_sketch_counter(const struct ds_sketch *s, u64 hash, u32 row)
{
	u64 h = (hash + row) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 32) * 0xbf58476d1ce4e5b9ull;
	return s->counters + (u64)row * s->width + ((h >> 32) * s->width >> 32);
}

/* The key's counters, one a row. The least of them. */
static inline u8 ds_sketch_find(const struct ds_sketch *s, u64 hash, u8 *counters[DS_SKETCH_ROWS])
{
	u8 least = DS_SKETCH_MOST;
	u32 row;

	for (row = 0; row < DS_SKETCH_ROWS; row++) {
		counters[row] = ds_sketch_counter(s, hash, row);
		least = min(least, *counters[row]);
	}
	return least;
}

u32 ds_sketch_count(const struct ds_sketch *s, u64 hash)
{
	u8 *counters[DS_SKETCH_ROWS];

	return ds_sketch_find(s, hash, counters);
}

u32 ds_sketch_add(struct ds_sketch *s, u64 hash, u32 uses)
{
	u8 *counters[DS_SKETCH_ROWS];
	u32 row, count = min(ds_sketch_find(s, hash, counters) + uses, DS_SKETCH_MOST);

	for (row = 0; row < DS_SKETCH_ROWS; row++)
		if (*counters[row] < count)
			*counters[row] = (u8)count;
	return count;
}

void ds_sketch_lower(struct ds_sketch *s, u64 hash)
{
	u8 *counters[DS_SKETCH_ROWS];
	u32 row, count = ds_sketch_find(s, hash, counters);

	for (row = 0; row < DS_SKETCH_ROWS; row++)
		if (*counters[row] == count)
			*counters[row] = (u8)(count / 2);
}

void ds_sketch_halve(struct ds_sketch *s, u32 word)
{
	u64 counters;

	memcpy(&counters, s->counters + (u64)word * 8, sizeof(counters));
	counters = counters >> 1 & 0x7f7f7f7f7f7f7f7full;
	memcpy(s->counters + (u64)word * 8, &counters, sizeof(counters));
}

// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: what the whole cache says about LRU.
 */
#include "recency.h"

#define DS_RECENCY_CHANCE	7	/* squares of standard deviations */
#define DS_RECENCY_LOOKS	0x8000u

void ds_recency_init(struct ds_recency *r)
{
	memset(r, 0, sizeof(*r));
	r->age = DS_EPOCHS;
}

/* However many a @seen counts, it does not overflow. */
static void ds_recency_halve(struct ds_recency *r)
{
	u32 i;

	/* Half of the odd ones are rounded up: all of them would be many more than @looks. */
	for (i = 0; i < DS_EPOCHS; i++)
		r->seen[i] = (u16)((r->seen[i] + i % 2) / 2);
	r->looks /= 2;
}

u32 ds_recency_place(struct ds_recency *r, u32 places)
{
	if (++r->looks == DS_RECENCY_LOOKS)
		ds_recency_halve(r);
	/* By the golden ratio: however many there are, none is left out for long. */
	r->place += 0x9e3779b9;
	return (u32)((u64)r->place * places >> 32);
}

void ds_recency_forget(struct ds_recency *r)
{
	r->gain = 0;
	WRITE_ONCE(r->loss, 0);
}

/* The age that as many are younger than as there are slots. */
static void ds_recency_find_age(struct ds_recency *r, u32 capacity, u32 places)
{
	u32 want = (u32)((u64)r->looks * capacity / places), age, n = 0;

	for (age = 0; age < DS_EPOCHS - 1; age++) {
		n = r->seen[age];
		if (n > want)
			break;
		want -= n;
	}
	WRITE_ONCE(r->part, (u8)(n > want ? DS_RECENCY_ONE * want / n : DS_RECENCY_ONE));
	WRITE_ONCE(r->age, (u8)age);
}

bool ds_recency_judge(struct ds_recency *r, u32 capacity, u32 places)
{
	u32 gain = r->gain, loss = READ_ONCE(r->loss);
	u64 more = gain - loss;
	bool better = gain > loss &&
		more * more > (u64)DS_RECENCY_CHANCE * DS_RECENCY_ONE * ((u64)gain + loss);

	ds_recency_find_age(r, capacity, places);
	ds_recency_halve(r);
	r->gain = gain - gain / 8;
	WRITE_ONCE(r->loss, loss - loss / 8);
	return better;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: what the whole cache says about LRU.
 *
 * The shadow's miniatures see a sample, which says little of a large working set. Of
 * one rule the cache itself knows how it would have done: LRU holds who was used
 * since a certain time, as many as there are slots. Slots and ghost know last uses,
 * so how long ago that is can be read off a histogram of them. Then whatever comes
 * back before that long would have been a hit under LRU (gain), and each hit after
 * longer a miss (loss).
 *
 * The histogram is of places, slots and ghost's entries: one is looked at in each miss,
 * and half is forgotten with each epoch. Ages are in epochs, below DS_EPOCHS (policy.h). All
 * calls are made under the lock of the policy but ds_recency_hit(), which may lose one
 * of two. 84 bytes.
 */
#ifndef DS_TOKENCACHE_RECENCY_H
#define DS_TOKENCACHE_RECENCY_H

#include "../shim.h"
#include "ghost.h"

#define DS_RECENCY_ONE	64u	/* a use */

/**
 * struct ds_recency - LRU's gain and loss against the rule in use
 * @place: which was looked at last, of 2^32
 * @looks: lately
 * @gain: uses that LRU alone would have had as hits, DS_RECENCY_ONE for one; older ones count less
 * @loss: likewise, as misses
 * @seen: of @looks, who was used last so many epochs before
 * @age: LRU keeps all who are younger
 * @part: of those whose age this is, it keeps so many in DS_RECENCY_ONE
 */
struct ds_recency {
	u32 place;
	u32 looks;
	u32 gain;
	u32 loss;
	u16 seen[DS_EPOCHS];
	u8 age;
	u8 part;
};

/* Nothing is known, and LRU keeps all. */
void ds_recency_init(struct ds_recency *r);

/* The next place to look at, of so many. */
u32 ds_recency_place(struct ds_recency *r, u32 places);

/* There one was used last @age epochs ago; not called if nobody is there. */
static inline void ds_recency_see(struct ds_recency *r, u32 age)
{
	r->seen[age]++;
}

/* How much of a token that was used so many epochs ago LRU would keep. */
static inline u32 ds_recency_kept(const struct ds_recency *r, u32 age)
{
	u32 whole = READ_ONCE(r->age);

	return age < whole ? DS_RECENCY_ONE : age == whole ? READ_ONCE(r->part) : 0;
}

/* A hit of one that was used @age epochs ago. Any context, no lock. */
static inline void ds_recency_hit(struct ds_recency *r, u32 age)
{
	u32 loss = DS_RECENCY_ONE - ds_recency_kept(r, age);

	if (loss)
		WRITE_ONCE(r->loss, READ_ONCE(r->loss) + loss);
}

/* A miss of one that was. */
static inline void ds_recency_miss(struct ds_recency *r, u32 age)
{
	r->gain += ds_recency_kept(r, age);
}

/* Another rule is in use: nothing is known against it. */
void ds_recency_forget(struct ds_recency *r);

/**
 * ds_recency_judge - an epoch has ended
 * @r: what is known
 * @capacity: slots that LRU would have
 * @places: all slots and entries of the ghost
 *
 * Return: whether LRU would have more hits than the rule in use, by more than chance
 */
bool ds_recency_judge(struct ds_recency *r, u32 capacity, u32 places);

#endif /* DS_TOKENCACHE_RECENCY_H */

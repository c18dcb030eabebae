// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: L1 of the token cache.
 */
#include "l1.h"

int ds_l1_init(struct ds_l1 *l1, u32 capacity)
{
	u32 bits;

	if (!capacity || capacity > DS_L1_MAX)
		return -EINVAL;
	bits = ilog2(capacity) + 2;	/* room for 2 to 4 pairs of hints for each slot */
	l1->slots = ds_alloc(capacity * sizeof(l1->slots[0]));
	l1->hints = ds_alloc(sizeof(l1->hints[0]) * DS_L1_WAYS << bits);
	if (!l1->slots || !l1->hints) {
		ds_l1_destroy(l1);
		return -ENOMEM;
	}
	l1->shift = 64 - bits;
	return 0;
}

void ds_l1_destroy(struct ds_l1 *l1)
{
	ds_free(l1->hints);
	ds_free(l1->slots);
	l1->hints = NULL;
	l1->slots = NULL;
}

void ds_l1_fill(struct ds_l1 *l1, u32 slot, u32 token, const struct ds_token_pack *p)
{
	struct ds_l1_slot *s = &l1->slots[slot];
	u64 filled = READ_ONCE(s->filled);

	/* Orders: no reader sees what follows with the counter of before. */
	ds_cmpxchg64(&s->filled, filled, filled + 1);
	/* Each pairs with the acquire of the same word in ds_l1_read(). */
	smp_store_release(&s->token, token);
	WRITE_ONCE(s->shown, 0);
	/* See above. */
	smp_store_release(&s->pack.fixed, p->fixed);
	/* See above. */
	smp_store_release(&s->pack.hot, p->hot);
	/* See above. */
	smp_store_release(&s->filled, filled + 2);
}

/* The first that may be meant is taken. The one of before may be of use to another handle. */
void ds_l1_hint(struct ds_l1 *l1, u32 token, u32 slot)
{
	u64 hash = ds_l1_hash(token);
	u32 *hints = ds_l1_hints(l1, hash), tag = ds_l1_tag(hash);
	u32 first = READ_ONCE(hints[0]);

	if ((first ^ tag) << (32 - DS_L1_TAG_BITS))
		WRITE_ONCE(hints[1], first);
	WRITE_ONCE(hints[0], slot << DS_L1_TAG_BITS | tag);
}

void ds_l1_show(struct ds_l1 *l1, u32 token, u32 slot)
{
	/* Pairs with the acquire in ds_l1_find(): the token is there, and the word says so. */
	smp_store_release(&l1->slots[slot].shown, token);
}

/* If the slot is another token's by now, that one may be hidden with it: it is slower to find. */
void ds_l1_hide(struct ds_l1 *l1, u32 token, u32 slot)
{
	u32 *shown = &l1->slots[slot].shown;

	if (READ_ONCE(*shown) == token)
		WRITE_ONCE(*shown, 0);
}

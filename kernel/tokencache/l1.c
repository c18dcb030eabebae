// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: L1 of the token cache.
 */
#include "l1.h"

int ds_l1_init(struct ds_l1 *l1, u32 capacity)
{
	if (!capacity || capacity > DS_L1_MAX)
		return -EINVAL;
	l1->slots = ds_alloc(capacity * sizeof(l1->slots[0]));
	if (!l1->slots)
		return -ENOMEM;
	l1->capacity = capacity;
	return 0;
}

void ds_l1_destroy(struct ds_l1 *l1)
{
	ds_free(l1->slots);
	l1->slots = NULL;
	l1->capacity = 0;
}

void ds_l1_fill(struct ds_l1 *l1, u32 slot, u32 token, const struct ds_token_pack *p)
{
	struct ds_l1_slot *s = &l1->slots[slot];
	u64 filled = READ_ONCE(s->filled);

	/* Orders: no reader sees what follows with the counter of before. */
	ds_cmpxchg64(&s->filled, filled, filled + 1);
	WRITE_ONCE(s->token, token);
	/* Each pairs with the acquire of the same word in ds_l1_read(). */
	smp_store_release(&s->pack.fixed, p->fixed);
	/* See above. */
	smp_store_release(&s->pack.hot, p->hot);
	/* See above. */
	smp_store_release(&s->filled, filled + 2);
}

// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: which of somebody's slots has a token.
 */
#include "slotmap.h"

int ds_slotmap_init(struct ds_slotmap *m, u32 slots)
{
	m->bits = (u32)ilog2((u64)slots) + 1;	/* more chains than slots */
	m->heads = ds_alloc(sizeof(m->heads[0]) << m->bits);
	m->slots = ds_alloc(sizeof(m->slots[0]) * slots);
	if (!m->heads || !m->slots) {
		ds_slotmap_destroy(m);
		return -ENOMEM;
	}
	memset(m->heads, 0xff, sizeof(m->heads[0]) << m->bits);	/* DS_SLOT_NONE */
	return 0;
}

void ds_slotmap_destroy(struct ds_slotmap *m)
{
	ds_free(m->heads);
	ds_free(m->slots);
	m->heads = NULL;
	m->slots = NULL;
}

static u32 *head_of(const struct ds_slotmap *m, u32 token)
{
	return &m->heads[hash_64(token, m->bits)];
}

u32 ds_slotmap_find(const struct ds_slotmap *m, u32 token)
{
	u32 slot = *head_of(m, token);

	while (slot != DS_SLOT_NONE && m->slots[slot].token != token)
		slot = m->slots[slot].next;
	return slot;
}

void ds_slotmap_add(struct ds_slotmap *m, u32 slot, u32 token)
{
	u32 *head = head_of(m, token);

	m->slots[slot].token = token;
	m->slots[slot].next = *head;
	*head = slot;
}

void ds_slotmap_del(struct ds_slotmap *m, u32 slot)
{
	u32 *link = head_of(m, m->slots[slot].token);

	while (*link != slot)
		link = &m->slots[*link].next;
	*link = m->slots[slot].next;
}

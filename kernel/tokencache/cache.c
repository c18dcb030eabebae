// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the token cache.
 */
#include "cache.h"
#include "move.h"
#include "table.h"

/* A revoked token has left its slot, which by now the policy may have given to another. */
static void slot_left(struct ds_l1 *l1, u32 slot, u32 token)
{
	struct ds_cache *c = container_of(l1, struct ds_cache, table.l1);

	ds_spin_lock(&c->lock);
	if (ds_policy_key(&c->policy, slot) == ds_token_index(token))
		ds_policy_forget(&c->policy, slot);
	ds_spin_unlock(&c->lock);
}

int ds_cache_init(struct ds_cache *c, u32 limit, u32 capacity, u32 mode)
{
	int ret;

	ret = ds_token_table_init(&c->table, limit);
	if (ret)
		return ret;
	ret = ds_l1_init(&c->table.l1, capacity);
	if (ret)
		goto err_table;
	ret = ds_policy_init(&c->policy, capacity, mode);
	if (ret)
		goto err_l1;
	ds_spin_init(&c->lock);
	c->table.l1.left = slot_left;
	return 0;

err_l1:
	ds_l1_destroy(&c->table.l1);
err_table:
	ds_token_table_destroy(&c->table);
	return ret;
}

u32 ds_cache_destroy(struct ds_cache *c)
{
	ds_policy_destroy(&c->policy);
	ds_l1_destroy(&c->table.l1);
	return ds_token_table_destroy(&c->table);
}

int ds_cache_get(struct ds_cache *c, u32 token, struct ds_token_desc *out)
{
	int ret = ds_token_get(&c->table, token, out);

	if (!ret && out->tier == 1)
		ds_policy_hit(&c->policy, out->slot);
	return ret;
}

/* Where the directory says. */
static ds_noinline int look_up(struct ds_cache *c, u32 token, struct ds_token_pack *p)
{
	const u64 *place = ds_token_word(&c->table, token);
	u64 word;
	int ret;

	if (!place)
		return -EBADF;
	word = READ_ONCE(*place);
	ret = ds_word_check(word, token);
	if (!ret)
		ret = ds_token_copy(&c->table, token, &word, p);
	if (ret)
		return ret;
	if (ds_word_tier(word) == 1) {
		ds_l1_hint(&c->table.l1, token, ds_word_l1_slot(word));
		ds_policy_hit(&c->policy, ds_word_l1_slot(word));
	}
	return (int)ds_word_tier(word);
}

int ds_cache_look(struct ds_cache *c, u32 token, struct ds_token_pack *p)
{
	u32 slot = ds_l1_find(&c->table.l1, token, p);

	if (slot == DS_L1_NONE || !token)
		return look_up(c, token, p);
	ds_policy_hit(&c->policy, slot);
	return 1;
}

/*
 * Who is in a slot goes home. That need not be who the policy says: a token that could not go
 * when it was to is still there.
 */
static int vacate(struct ds_cache *c, u32 slot)
{
	u32 token = READ_ONCE(c->table.l1.slots[slot].token);
	u64 word;
	int ret;

	if (ds_token_find(&c->table, token, &word) || ds_word_tier(word) != 1 ||
	    ds_word_l1_slot(word) != slot)
		return 0;
	ret = ds_move(&c->table, token, 3, 0);
	return ret == -ESTALE ? 0 : ret;	/* it was revoked, and has left */
}

int ds_cache_miss(struct ds_cache *c, u32 token)
{
	u32 slot, victim;
	u64 word;
	int ret;

	ds_spin_lock(&c->lock);
	/* Another miss may have brought it in, and nobody is to leave for nothing. */
	ret = ds_token_find(&c->table, token, &word);
	if (!ret && ds_word_tier(word) == 1)
		ret = -EEXIST;
	if (ret)
		goto out;
	ret = -ENOSPC;
	slot = ds_policy_miss(&c->policy, ds_token_index(token), &victim);
	if (slot != DS_POLICY_NONE) {
		ret = vacate(c, slot);
		if (!ret)
			ret = ds_move(&c->table, token, 1, slot);
		if (ret)
			ds_policy_forget(&c->policy, slot);
	}
out:
	ds_spin_unlock(&c->lock);
	return ret;
}

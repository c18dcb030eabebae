// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the token cache.
 */
#include "change.h"
#include "table.h"

/* A revoked token has left its slot, which by now the policy may have given to another. */
static void l1_slot_left(struct ds_l1 *l1, u32 slot, u32 token)
{
	struct ds_cache *c = container_of(l1, struct ds_cache, table.l1);
	u64 word = READ_ONCE(*ds_token_word(&c->table, token));

	ds_spin_lock(&c->lock);
	c->pins -= !!(word & DS_WORD_PINNED);
	if (ds_policy_key(&c->policy, slot) == ds_token_index(token))
		ds_change_forget(c, slot);
	ds_spin_unlock(&c->lock);
}

/*
 * Likewise. A slot that is kept for another reason than that its token was pinned is left to the
 * change that its token is part of.
 */
static void l2_slot_left(struct ds_l2 *l2, u32 slot, u32 token)
{
	struct ds_cache *c = container_of(l2, struct ds_cache, table.l2);
	u64 word = READ_ONCE(*ds_token_word(&c->table, token));

	ds_spin_lock(&c->lock);
	if (READ_ONCE(ds_l2_slot_of(l2, slot)->token) == token &&
	    (word & DS_WORD_PINNED || !ds_l2_is_kept(l2, slot)))
		ds_l2_give(l2, slot);
	ds_spin_unlock(&c->lock);
}

int ds_cache_init(struct ds_cache *c, u32 limit, u32 capacity, u32 mode, u32 l2_pages,
		  int l2_node)
{
	int ret;

	if (l2_pages > DS_L2_PAGES_MAX)
		return -EINVAL;
	ret = ds_token_table_init(&c->table, limit);
	if (ret)
		return ret;
	ret = ds_l1_init(&c->table.l1, capacity);
	if (ret)
		goto err_table;
	ret = ds_policy_init(&c->policy, capacity, mode);
	if (ret)
		goto err_l1;
	if (l2_pages) {
		ret = ds_policy_001_add_l2(&c->policy, l2_pages * DS_L2_MIXED_SLOTS);
		if (!ret)
			ret = ds_l2_init(&c->table.l2, l2_pages, l2_node);
		if (ret)
			goto err_policy;
	}
	memset(&c->shares, 0, sizeof(c->shares));
	c->shares.capacity = capacity;
	c->coming = 0;
	c->pins = 0;
	c->pins_max = capacity;
	c->allowed = NULL;
	ds_spin_init(&c->lock);
	c->table.l1.left = l1_slot_left;
	c->table.l2.left = l2_slot_left;
	return 0;

err_policy:
	ds_policy_destroy(&c->policy);
err_l1:
	ds_l1_destroy(&c->table.l1);
err_table:
	ds_token_table_destroy(&c->table);
	return ret;
}

u32 ds_cache_destroy(struct ds_cache *c)
{
	ds_shares_destroy(&c->shares);
	ds_l2_destroy(&c->table.l2);
	ds_policy_destroy(&c->policy);
	ds_l1_destroy(&c->table.l1);
	return ds_token_table_destroy(&c->table);
}

static inline int used_at(struct ds_cache *c, u64 word)
{
	u32 tier = ds_word_tier(word);

	ds_cache_hit(c, tier, ds_word_tier_slot(word));
	return (int)tier;
}

int ds_cache_touch(struct ds_cache *c, u32 token)
{
	u64 word;
	int ret = ds_token_find(&c->table, token, &word);

	return ret ?: used_at(c, word);
}

/* Where the directory says. */
static ds_noinline int look_up(struct ds_cache *c, u32 token, struct ds_token_pack *p)
{
	const u64 *place = ds_token_word(&c->table, token);
	u64 word;
	int ret;

	if (!place)
		return -EBADF;
	/* Before the home is read. */
	word = smp_load_acquire(place);
	ret = ds_word_check(word, token);
	if (!ret)
		ret = ds_token_copy(&c->table, token, &word, p);
	if (ret)
		return ret;
	if (ds_word_tier(word) == 1)
		ds_l1_hint(&c->table.l1, token, ds_word_l1_slot(word));
	return used_at(c, word);
}

int ds_cache_look(struct ds_cache *c, u32 token, struct ds_token_pack *p)
{
	u32 slot = ds_l1_find(&c->table.l1, token, p);

	if (slot == DS_L1_NONE || !token)
		return look_up(c, token, p);
	ds_policy_hit(&c->policy, slot);
	return 1;
}

/* Another one in L1? */
static bool is_pin_more(u64 word, bool pinned)
{
	return pinned && !(word & DS_WORD_PINNED) && ds_word_tier(word) == 1;
}

/* The word of the directory says so, and what chooses who leaves. */
static int pin_word(struct ds_cache *c, u32 token, bool pinned, u64 *word)
{
	u64 *place = ds_token_word(&c->table, token), seen;
	u32 spins;
	int ret;

	if (!place)
		return -EBADF;
	seen = READ_ONCE(*place);
	for (spins = 0; spins < DS_TOKEN_SPINS; spins++) {
		*word = seen & ~DS_WORD_WRITER;
		ret = ds_word_check(*word, token);
		if (ret)
			return ret;
		if (ds_word_is_moving(*word))
			return -EBUSY;
		if (is_pin_more(*word, pinned) && c->pins >= c->pins_max)
			return -EDQUOT;
		seen = ds_cmpxchg64(place, *word, pinned ? *word | DS_WORD_PINNED :
							   *word & ~DS_WORD_PINNED);
		if (seen == *word)
			return 0;
		cpu_relax();
	}
	return -EAGAIN;
}

static void pin_slot(struct ds_cache *c, u32 token, bool pinned, u64 word)
{
	u32 slot = ds_word_slot(word);

	if (ds_word_tier(word) == 2)
		ds_l2_keep(&c->table.l2, slot, pinned);
	if (ds_word_tier(word) != 1)
		return;
	c->pins += pinned;
	c->pins -= !!(word & DS_WORD_PINNED);
	if (ds_policy_key(&c->policy, slot) == ds_token_index(token))
		ds_change_repin(c, slot);
}

int ds_cache_pin(struct ds_cache *c, u32 token, bool pinned)
{
	u64 word;
	int ret;

	ds_spin_lock(&c->lock);
	ret = pin_word(c, token, pinned, &word);
	if (!ret)
		pin_slot(c, token, pinned, word);
	ds_spin_unlock(&c->lock);
	return ret;
}

int ds_cache_partition(struct ds_cache *c, u32 domain, u32 min, u32 max)
{
	int ret;

	ds_spin_lock(&c->lock);
	ret = ds_share_set(&c->shares, domain, min, max);
	ds_spin_unlock(&c->lock);
	return ret;
}

bool ds_cache_share(struct ds_cache *c, u32 index, struct ds_share *share)
{
	bool found;

	ds_spin_lock(&c->lock);
	found = ds_share_at(&c->shares, index, share);
	ds_spin_unlock(&c->lock);
	return found;
}

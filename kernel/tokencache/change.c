// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: tokens that are moved together.
 */
#include "change.h"
#include "policy_adapt.h"
#include "table.h"

#define VICTIMS	4u	/* that cannot go, before L2 counts as full */
#define COMING	4u	/* a part of L1 for tokens on their way: a quarter */

static u64 fixed_of(const struct ds_cache *c, u32 token)
{
	return READ_ONCE(*ds_token_home_of(&c->table, token));
}

void ds_change_forget(struct ds_cache *c, u32 slot)
{
	ds_policy_forget(&c->policy, slot);
	ds_share_leave(&c->shares, slot);
}

static void pin(struct ds_cache *c, u32 slot, bool pinned)
{
	ds_share_pin(&c->shares, slot, pinned);
	ds_policy_pin(&c->policy, slot, pinned || ds_share_keeps(&c->shares, slot));
}

void ds_change_repin(struct ds_cache *c, u32 slot)
{
	u32 token = READ_ONCE(c->table.l1.slots[slot].token);
	u64 word = 0;

	ds_token_find(&c->table, token, &word);
	pin(c, slot, word & DS_WORD_PINNED);
}

/* It is read and written where it is until the change ends, unless the table is blocking. */
static int begin_one(struct ds_cache *c, struct ds_cache_move *m, u32 token, u32 to, u32 slot)
{
	int ret = ds_move_begin(&c->table, &m->move, token, to, slot);
	u64 word;

	if (ret)
		return ret;
	word = m->move.word;
	m->from = ds_word_tier(word);
	m->slot = m->from == 1 ? ds_word_l1_slot(word) : ds_word_l2_slot(word);
	m->bytes = ds_token_words((u8)ds_token_type_of(token)) * (u32)sizeof(u64);
	m->page = m->from == 2 ? m->slot >> DS_L2_SLOT_BITS :
		  to == 2 ? slot >> DS_L2_SLOT_BITS : DS_L2_NONE;
	m->ret = -EINPROGRESS;
	m->begun = ds_policy_adapt_begins(&c->policy, m->from, to);
	if (m->from == 2)
		ds_l2_keep(&c->table.l2, m->slot, true);
	/* Whether it could be copied is seen in the end. */
	ds_move_copy(&c->table, &m->move);
	return 0;
}

int ds_change_add(struct ds_cache *c, struct ds_cache_change *ch, u32 token, u32 to, u32 slot)
{
	int ret = begin_one(c, &ch->moves[ch->count], token, to, slot);

	ch->count += !ret;
	return ret;
}

/* ---- who leaves ---- */

/* Who has to leave L2 is sent home. DS_L2_NONE if nobody can go. */
static u32 l2_vacate(struct ds_cache *c, struct ds_cache_change *ch, u64 fixed)
{
	struct ds_l2 *l2 = &c->table.l2;
	u32 tries, slot;
	int ret;

	for (tries = 0; tries < VICTIMS; tries++) {
		slot = ds_l2_victim(l2, fixed);
		if (slot == DS_L2_NONE)
			break;
		ret = ds_change_add(c, ch, READ_ONCE(ds_l2_slot_of(l2, slot)->token), 3, 0);
		if (!ret)
			return slot;
		if (ret == -ESTALE) {	/* it was revoked: who did that finds another one's slot */
			ds_l2_renew(l2, slot, fixed);
			return slot;
		}
	}
	return DS_L2_NONE;
}

/* A slot of L2 for a token, by its first word; DS_L2_NONE if there is none. */
static u32 l2_slot_for(struct ds_cache *c, struct ds_cache_change *ch, u32 token, u64 fixed)
{
	u32 slot;

	if (!ds_cache_allows(c, token, 2))
		return DS_L2_NONE;
	slot = ds_l2_take(&c->table.l2, fixed);
	return slot == DS_L2_NONE ? l2_vacate(c, ch, fixed) : slot;
}

/* It is not the change's if who is in it is still to leave: that is its first move. */
static void l2_slot_unused(struct ds_cache *c, const struct ds_cache_change *ch, u32 slot)
{
	if (!ch->count)
		ds_l2_give(&c->table.l2, slot);
}

static int to_l2(struct ds_cache *c, struct ds_cache_change *ch, u32 token, u32 slot)
{
	int ret = ds_change_add(c, ch, token, 2, slot);

	if (ret)
		l2_slot_unused(c, ch, slot);
	return ret;
}

/*
 * That need not be who the policy says: a token that could not go when it was to is still there.
 */
int ds_change_vacate(struct ds_cache *c, struct ds_cache_change *ch, u32 slot)
{
	const struct ds_l1_slot *from = &c->table.l1.slots[slot];
	u32 token = READ_ONCE(from->token), l2_slot;
	u64 word;
	int ret;

	if (ds_token_find(&c->table, token, &word) || ds_word_tier(word) != 1 ||
	    ds_word_l1_slot(word) != slot)
		return 0;
	/* Its home says the same, but is seldom at hand. */
	l2_slot = l2_slot_for(c, ch, token, READ_ONCE(from->pack.fixed));
	ret = l2_slot == DS_L2_NONE ? ds_change_add(c, ch, token, 3, 0) :
				      to_l2(c, ch, token, l2_slot);
	return ret == -ESTALE ? 0 : ret;	/* it was revoked, and has left */
}

/* ---- the end of a move ---- */

/* Is the token of a move that was not made still where it was? */
static bool is_still_there(const struct ds_cache *c, const struct ds_cache_move *m)
{
	u64 word;

	return !ds_token_find(&c->table, m->move.token, &word) && ds_word_tier(word) == m->from;
}

/* Of L2. It may be promised to the next one, which has to give it back then. */
static void slot_left(struct ds_cache *c, const struct ds_cache_move *m,
		      const struct ds_cache_move *next)
{
	if (next && next->move.to == 2 && next->move.slot == m->slot)
		ds_l2_renew(&c->table.l2, m->slot, fixed_of(c, next->move.token));
	else
		ds_l2_give(&c->table.l2, m->slot);
}

static void arrived_in_l1(struct ds_cache *c, u32 slot, bool pinned)
{
	ds_share_arrived(&c->shares, slot);
	pin(c, slot, pinned);
}

/* The slot has another token by now, as the policy sees it. */
static void promise(struct ds_cache *c, u32 slot, struct ds_share *share)
{
	u32 surplus;

	ds_policy_promise(&c->policy, slot, c->coming + 1);
	surplus = ds_share_enter(&c->shares, slot, share);
	if (surplus != DS_SHARE_NONE && surplus != slot)
		ds_change_repin(c, surplus);
}

/* Who did not have to leave a slot after all stands there again, for the policy and its share. */
static void l1_slot_back(struct ds_cache *c, u32 slot)
{
	u32 token = READ_ONCE(c->table.l1.slots[slot].token);
	struct ds_share *share = NULL;
	u64 word;

	if (ds_token_find(&c->table, token, &word) || ds_word_tier(word) != 1 ||
	    ds_word_l1_slot(word) != slot) {
		ds_change_forget(c, slot);
		return;
	}
	ds_policy_rekey(&c->policy, slot, ds_token_index(token));
	ds_share_leave(&c->shares, slot);
	if (c->shares.count)
		share = ds_share_find(&c->shares, ds_share_domain(&c->table, token));
	/* Its place may be another's by now; then it stays until the policy wants the slot. */
	if (share && share->used >= share->max)
		share = NULL;
	promise(c, slot, share);
	arrived_in_l1(c, slot, word & DS_WORD_PINNED);
}

/* @ours: nobody is in the slot any more. */
static void slot_reached(struct ds_cache *c, const struct ds_cache_move *m, bool ours)
{
	u32 slot = m->move.slot;

	c->coming -= m->move.to == 1;
	/* What moves is not pinned. */
	if (m->move.to == 1 && !m->ret)
		arrived_in_l1(c, slot, false);
	else if (m->move.to == 1)
		l1_slot_back(c, slot);
	else if (m->move.to == 2 && !m->ret)
		ds_l2_keep(&c->table.l2, slot, false);
	else if (m->move.to == 2 && ours)
		ds_l2_give(&c->table.l2, slot);
}

/* @ret: why it is not made; 0 if nothing is known against it. */
static int end_one(struct ds_cache *c, struct ds_cache_move *m, int ret)
{
	ds_policy_adapt_ends(&c->policy, m->from, m->move.to, m->begun);
	if (ret)
		ds_move_abort(&c->table, &m->move);
	else
		ret = ds_move_end(&c->table, &m->move);
	if (!ret && m->move.to == 1)
		ds_policy_adapt_arrived(&c->policy, m->from, m->move.slot);
	return ret;
}

int ds_change_end(struct ds_cache *c, struct ds_cache_change *ch, int begun)
{
	int blocked = 0;	/* why the slot to which it would come is not left */
	u32 i;

	for (i = 0; i < ch->count; i++) {
		struct ds_cache_move *m = &ch->moves[i];

		m->ret = end_one(c, m, begun ?: blocked);
		slot_reached(c, m, !blocked);
		blocked = m->ret && is_still_there(c, m) ? m->ret : 0;
		if (m->from == 2 && !blocked)
			slot_left(c, m, i + 1 < ch->count ? m + 1 : NULL);
		else if (m->from == 2)
			ds_l2_keep(&c->table.l2, m->slot, false);
	}
	return begun || !ch->count ? begun : ch->moves[ch->count - 1].ret;
}

/* ---- a miss ---- */

static int into_l1(struct ds_cache *c, struct ds_cache_change *ch, u32 token, u32 slot)
{
	struct ds_cache_move in;
	/* The token first, so that it is not sent away from L2. */
	int ret = begin_one(c, &in, token, 1, slot);

	if (ret) {
		l1_slot_back(c, slot);
		return ret;
	}
	c->coming++;
	ret = ds_change_vacate(c, ch, slot);
	ch->moves[ch->count++] = in;
	return ret;
}

/* Document 001's rule, in its modes: is a token used often enough for a tier? */
static bool is_for(const struct ds_policy *p, u32 token, u32 tier)
{
	const struct ds_policy_001 *b = p->base;

	return !b || ds_sketch_count(&b->sketch, ds_policy_hash(ds_token_index(token))) >=
		     (tier == 1 ? b->params.promote_to_l1_threshold :
				  b->params.promote_to_l2_threshold);
}

/*
 * Does it take the place of one of its domain's own? If the domain has as many slots as it may
 * have; and if the policy finds none, as what a domain keeps is in no way of its own tokens.
 */
static bool takes_own(const struct ds_cache *c, const struct ds_share *share, u32 token, u32 slot)
{
	if (slot == DS_POLICY_NONE)
		return is_for(&c->policy, token, 1);
	return share->used >= share->max;
}

/* One of the domain's own, whatever the policy says: @slot, from which @victim is to leave. */
static u32 own_slot(struct ds_cache *c, struct ds_share *share, u32 token, u32 slot, u32 victim)
{
	u32 own = ds_share_oldest(&c->shares, share);

	if (own == slot)
		return slot;
	if (slot != DS_POLICY_NONE && victim == DS_POLICY_NONE)
		ds_policy_forget(&c->policy, slot);
	else if (slot != DS_POLICY_NONE)
		ds_policy_rekey(&c->policy, slot, victim);
	if (own == DS_SHARE_NONE)
		return DS_POLICY_NONE;
	ds_policy_rekey(&c->policy, own, ds_token_index(token));
	return own;
}

/* A use counts for L2, though the token is not for L1. */
static u32 not_for_l1(struct ds_policy *p, u32 key)
{
	if (p->base)
		ds_policy_001_heat(p, ds_policy_hash(key));
	return DS_POLICY_NONE;
}

void ds_cache_used(struct ds_cache *c, u32 token, u32 uses)
{
	u64 hash = ds_policy_hash(ds_token_index(token));

	if (!c->policy.base || !uses)
		return;
	ds_spin_lock(&c->lock);
	for (uses = min(uses, DS_SKETCH_MOST); uses; uses--)
		ds_policy_001_heat(&c->policy, hash);
	ds_spin_unlock(&c->lock);
}

/*
 * Who is on his way has a slot, and is not found in it. Where moves take as long as hundreds of
 * uses there would be hardly anybody to be found, were each to come who is missed. The modes of
 * document 001 have thresholds for that. The policy does not hear of who is refused so.
 */
static bool too_many_come(const struct ds_cache *c)
{
	return !c->policy.base && c->coming >= c->policy.capacity / COMING;
}

/* A slot of L1 for a token, which is promised to it; DS_POLICY_NONE if it is not to come there. */
static u32 l1_slot_for(struct ds_cache *c, u32 token, u32 tier)
{
	struct ds_share *share = NULL;
	u32 key = ds_token_index(token), slot, victim;

	if (!ds_cache_allows(c, token, 1))
		return not_for_l1(&c->policy, key);
	if (too_many_come(c))
		return DS_POLICY_NONE;
	if (c->shares.count)
		share = ds_share_find(&c->shares, ds_share_domain(&c->table, token));
	slot = ds_policy_miss(&c->policy, key, tier, &victim);
	if (victim != DS_POLICY_NONE) {
		/* Who has to leave is looked at soon. */
		prefetch(&c->table.l1.slots[slot]);
		prefetch(ds_token_word(&c->table, victim));
	}
	if (share && takes_own(c, share, token, slot))
		slot = own_slot(c, share, token, slot, victim);
	if (slot != DS_POLICY_NONE)
		promise(c, slot, share);
	return slot;
}

static int into_l2(struct ds_cache *c, struct ds_cache_change *ch, u32 token)
{
	u32 slot;

	if (!is_for(&c->policy, token, 2))
		return -ENOSPC;
	slot = l2_slot_for(c, ch, token, fixed_of(c, token));
	return slot == DS_L2_NONE ? -ENOSPC : to_l2(c, ch, token, slot);
}

/* A token that is at home, or in L2. */
static int check(struct ds_cache *c, u32 token, u64 *word)
{
	int ret = ds_token_find(&c->table, token, word);

	if (ret)
		return ret;
	if (*word & DS_WORD_PINNED)
		return -EPERM;
	/* Another miss may have brought it in, and nobody is to leave for nothing. */
	if (ds_word_is_moving(*word))
		return -EBUSY;
	return ds_word_tier(*word) == 1 ? -EEXIST : 0;
}

static int miss_begin(struct ds_cache *c, u32 token, struct ds_cache_change *ch)
{
	u32 slot;
	u64 word;
	int ret = check(c, token, &word);

	if (ret == -EBUSY && ds_cache_allows(c, token, 1))
		ds_policy_001_met(&c->policy, ds_token_index(token), ds_word_tier(word));
	if (ret)
		return ret;
	ch->count = 0;
	slot = l1_slot_for(c, token, ds_word_tier(word));
	if (slot != DS_POLICY_NONE)
		ret = into_l1(c, ch, token, slot);
	else
		ret = ds_word_tier(word) == 2 ? -ENOSPC : into_l2(c, ch, token);
	return ret && ch->count ? ds_change_end(c, ch, ret) : ret;
}

static int miss_end(struct ds_cache *c, struct ds_cache_change *ch)
{
	int ret = ds_change_end(c, ch, 0);

	return !ret && ch->moves[ch->count - 1].move.to != 1 ? -ENOSPC : ret;
}

int ds_cache_miss_begin(struct ds_cache *c, u32 token, struct ds_cache_change *ch)
{
	int ret;

	ds_spin_lock(&c->lock);
	ret = miss_begin(c, token, ch);
	ds_spin_unlock(&c->lock);
	return ret;
}

int ds_cache_miss(struct ds_cache *c, u32 token)
{
	struct ds_cache_change ch;
	int ret;

	ds_spin_lock(&c->lock);
	ret = miss_begin(c, token, &ch);
	if (!ret)
		ret = miss_end(c, &ch);
	ds_spin_unlock(&c->lock);
	return ret;
}

int ds_change_stage(struct ds_cache *c, u32 token, struct ds_cache_change *ch)
{
	u32 slot;
	u64 word;
	int ret;

	ch->count = 0;
	ds_spin_lock(&c->lock);
	ret = ds_token_find(&c->table, token, &word);
	/* Where it is, it may be pinned. */
	if (ret || (!ds_word_is_moving(word) && ds_word_tier(word) < 3))
		goto out;
	ret = check(c, token, &word);
	if (!ret && ds_word_tier(word) == 3) {
		slot = l2_slot_for(c, ch, token, fixed_of(c, token));
		ret = slot == DS_L2_NONE ? -ENOSPC : to_l2(c, ch, token, slot);
		ret = ds_change_end(c, ch, ret);
	}
out:
	ds_spin_unlock(&c->lock);
	return ret == -EEXIST ? 0 : ret;
}

int ds_cache_stage(struct ds_cache *c, u32 token)
{
	struct ds_cache_change ch;

	return ds_change_stage(c, token, &ch);
}

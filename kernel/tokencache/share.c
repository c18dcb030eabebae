// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: L1 shared out among trust domains.
 */
#include "share.h"
#include "table.h"
#include "walk.h"

#define OLDEST_LOOK	8u
#define LEFT_OVER_LOOK	64u

/* Written once, by whoever is first. */
static struct ds_share_slot *slots_now(const struct ds_shares *s)
{
	return READ_ONCE(s->slots);
}

int ds_shares_prepare(struct ds_shares *s)
{
	struct ds_share_slot *slots;

	if (slots_now(s))
		return 0;
	slots = ds_alloc(s->capacity * sizeof(slots[0]));
	if (!slots)
		return -ENOMEM;
	if (ds_cmpxchg_ptr(&s->slots, NULL, slots))
		ds_free(slots);
	return 0;
}

void ds_shares_destroy(struct ds_shares *s)
{
	ds_free(s->slots);
	memset(s, 0, sizeof(*s));
}

static struct ds_share *entry_of(struct ds_shares *s, u32 domain)
{
	u32 i;

	for (i = 0; i < s->count; i++)
		if (s->of[i].domain == domain)
			return &s->of[i];
	return NULL;
}

/* A domain that keeps nothing and may have all is as one without a share. */
static bool is_nothing(const struct ds_shares *s, const struct ds_share *share)
{
	return !share->min && share->max >= s->capacity;
}

static bool is_free(const struct ds_shares *s, const struct ds_share *share)
{
	return is_nothing(s, share) && !share->used;
}

/* While there are entries, each token that comes is asked of which domain it is. */
static void drop_free(struct ds_shares *s)
{
	while (s->count && is_free(s, &s->of[s->count - 1]))
		s->count--;
}

struct ds_share *ds_share_find(struct ds_shares *s, u32 domain)
{
	struct ds_share *share = entry_of(s, domain);

	return share && !is_nothing(s, share) ? share : NULL;
}

/* For a domain more: the entry of one that has none any more, nor a slot that is counted. */
static struct ds_share *take_entry(struct ds_shares *s)
{
	u32 i;

	for (i = 0; i < s->count; i++)
		if (is_free(s, &s->of[i]))
			return &s->of[i];
	return s->count < DS_SHARES ? &s->of[s->count++] : NULL;
}

int ds_share_set(struct ds_shares *s, u32 domain, u32 min, u32 max)
{
	struct ds_share *share = entry_of(s, domain);
	u32 kept = s->kept - (share ? share->min : 0);

	if (!slots_now(s) || !max || min > max || domain == DS_SHARE_NONE)
		return -EINVAL;
	if (min > s->capacity / 2 || kept + min > s->capacity / 2)
		return -ENOSPC;
	if (!share) {
		share = take_entry(s);
		if (!share)
			return -ENOSPC;
		*share = (struct ds_share){
			.domain = domain,
			.first = { DS_SHARE_NONE, DS_SHARE_NONE },
			.last = { DS_SHARE_NONE, DS_SHARE_NONE },
		};
	}
	s->kept = kept + min;
	share->min = min;
	share->max = max;
	drop_free(s);
	return 0;
}

bool ds_share_at(const struct ds_shares *s, u32 index, struct ds_share *share)
{
	u32 i;

	for (i = 0; i < s->count; i++)
		if (!is_nothing(s, &s->of[i]) && !index--) {
			*share = s->of[i];
			return true;
		}
	return false;
}

static void enqueue(struct ds_shares *s, struct ds_share *share, u32 slot, bool held)
{
	struct ds_share_slot *at = &s->slots[slot];

	at->held = held;
	at->next = DS_SHARE_NONE;
	at->prev = share->last[held];
	if (at->prev == DS_SHARE_NONE)
		share->first[held] = slot;
	else
		s->slots[at->prev].next = slot;
	share->last[held] = slot;
	share->held += held;
}

static void dequeue(struct ds_shares *s, struct ds_share *share, u32 slot)
{
	struct ds_share_slot *at = &s->slots[slot];

	if (at->prev == DS_SHARE_NONE)
		share->first[at->held] = at->next;
	else
		s->slots[at->prev].next = at->next;
	if (at->next == DS_SHARE_NONE)
		share->last[at->held] = at->prev;
	else
		s->slots[at->next].prev = at->prev;
	share->held -= at->held;
	at->held = false;
}

/* Of the first queue, those that it does not keep, or of both. */
static u32 oldest(const struct ds_shares *s, const struct ds_share *share, u32 queues)
{
	u32 held, slot, looked = 0;

	for (held = 0; held < queues; held++)
		for (slot = share->first[held]; slot != DS_SHARE_NONE && looked < OLDEST_LOOK;
		     slot = s->slots[slot].next, looked++)
			if (!s->slots[slot].busy)
				return slot;
	return DS_SHARE_NONE;
}

u32 ds_share_oldest(const struct ds_shares *s, const struct ds_share *share)
{
	return oldest(s, share, 2);
}

u32 ds_share_surplus(const struct ds_shares *s, const struct ds_share *share)
{
	return share->used > share->max ? oldest(s, share, 1) : DS_SHARE_NONE;
}

u32 ds_share_release(struct ds_shares *s, struct ds_share *share)
{
	u32 slot = share->first[true];

	if (share->held <= share->min)
		return DS_SHARE_NONE;
	dequeue(s, share, slot);
	enqueue(s, share, slot, false);
	return slot;
}

void ds_share_renew(struct ds_shares *s, u32 slot)
{
	struct ds_share *share = &s->of[s->slots[slot].share - 1];

	dequeue(s, share, slot);
	enqueue(s, share, slot, false);
}

u32 ds_share_enter(struct ds_shares *s, u32 slot, struct ds_share *share)
{
	if (!slots_now(s))
		return DS_SHARE_NONE;
	ds_share_leave(s, slot);
	s->slots[slot].busy = true;
	if (!share)
		return DS_SHARE_NONE;
	s->slots[slot].share = (u8)(share - s->of + 1);
	share->used++;
	enqueue(s, share, slot, true);
	return ds_share_release(s, share);
}

void ds_share_leave(struct ds_shares *s, u32 slot)
{
	struct ds_share_slot *at;

	if (!slots_now(s))
		return;
	at = &s->slots[slot];
	if (at->share) {
		if (!at->pinned)
			dequeue(s, &s->of[at->share - 1], slot);
		s->of[at->share - 1].used--;
		drop_free(s);
	}
	at->busy = false;
	at->pinned = false;
	at->share = 0;
}

void ds_share_pin(struct ds_shares *s, u32 slot, bool pinned)
{
	struct ds_share_slot *at;
	struct ds_share *share;

	if (!slots_now(s) || !s->slots[slot].share || s->slots[slot].pinned == pinned)
		return;
	at = &s->slots[slot];
	share = &s->of[at->share - 1];
	if (pinned)
		dequeue(s, share, slot);
	else
		enqueue(s, share, slot, share->held < share->min);
	at->pinned = pinned;
}

void ds_share_arrived(struct ds_shares *s, u32 slot)
{
	if (slots_now(s))
		s->slots[slot].busy = false;
}

static bool has_left_over(const struct ds_shares *s)
{
	u32 i;

	for (i = 0; i < s->count; i++)
		if (is_nothing(s, &s->of[i]) && s->of[i].used)
			return true;
	return false;
}

/* Its entry is another one's only without it, and its token may stay for ever. */
u32 ds_share_left_over(struct ds_shares *s)
{
	u32 looked, slot;

	if (!has_left_over(s))
		return DS_SHARE_NONE;
	for (looked = 0; looked < LEFT_OVER_LOOK; looked++) {
		const struct ds_share_slot *at = &s->slots[s->at];

		slot = s->at;
		s->at = (slot + 1) % s->capacity;
		if (!at->share || at->busy || !is_nothing(s, &s->of[at->share - 1]))
			continue;
		ds_share_leave(s, slot);
		return slot;
	}
	return DS_SHARE_NONE;
}

bool ds_share_keeps(const struct ds_shares *s, u32 slot)
{
	return slots_now(s) && (s->slots[slot].held || s->slots[slot].busy);
}

/*
 * One that has as many uses as can be counted, so that it may be the one that cannot leave its
 * slot, is read without one more. A wide one's description would need it, and is not read.
 */
static int describe(struct ds_token_table *t, u32 token, struct ds_token_desc *d)
{
	int ret = ds_token_get(t, token, d);
	struct ds_token_pack p;
	u64 word;

	if (!ret)
		ds_token_put(t, token);
	if (ret != -EOVERFLOW)
		return ret;
	ret = ds_token_find(t, token, &word);
	if (!ret)
		ret = ds_token_copy(t, token, &word, &p);
	return ret ?: ds_token_unpack(&p, NULL, d);
}

static u32 domain_of_pd(struct ds_token_table *t, u32 index)
{
	struct ds_token_desc d;
	u32 pd;
	u64 word;

	if (index == DS_TOKEN_NONE)
		return DS_SHARE_NONE;
	pd = ds_token_at(t, index, &word);
	if (!pd || describe(t, pd, &d))
		return DS_SHARE_NONE;
	return d.type == DS_TOKEN_PD ? d.pd.domain : DS_SHARE_NONE;
}

u32 ds_share_domain(struct ds_token_table *t, u32 token)
{
	struct ds_token_desc d;

	if (describe(t, token, &d))
		return DS_SHARE_NONE;
	switch (d.type) {
	case DS_TOKEN_PD:
		return d.pd.domain;
	case DS_TOKEN_MR:
		return domain_of_pd(t, d.mr.pd);
	case DS_TOKEN_QP:
		return domain_of_pd(t, d.qp.pd);
	default:
		return DS_SHARE_NONE;
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: which tokens are in L1.
 */
#include "policy.h"

#define DS_POLICY_EPOCHS_PER_CAPACITY	6
#define DS_POLICY_GHOST_MOST		2u	/* keys for a slot */
#define DS_POLICY_BYTES			14	/* for a slot, in all */
#define DS_POLICY_SOON			8	/* epochs, S3FIFO */
#define DS_POLICY_STEPS			64	/* of the queues in a call */
#define DS_POLICY_LOOK			64	/* slots, for a forgotten one */
#define DS_POLICY_SHARE_ONE		1024
#define DS_POLICY_SHARE_MIN		20
#define DS_POLICY_SHARE_FIRST		154
#define DS_POLICY_SHARE_MAX		205
#define DS_POLICY_USES			7	/* of @heat */

static_assert(sizeof(struct ds_policy_slot) == 8, "of the 14 bytes that a slot may have");
static_assert(DS_POLICY_KEYS == 0x100 * DS_SLOT_USED, "a key fits");
static_assert(DS_POLICY_CAPACITY_MAX == DS_SLOT_NEXT + 1, "a slot fits");

/* ---- queues: rings of slots, known by their last one ---- */

static inline u32 ds_policy_first(const struct ds_policy *p, u32 last)
{
	return p->slots[last].link & DS_SLOT_NEXT;
}

/* Hits read the flags meanwhile. */
static inline void ds_policy_set_next(struct ds_policy *p, u32 slot, u32 next)
{
	u32 *link = &p->slots[slot].link;

	WRITE_ONCE(*link, (*link & ~DS_SLOT_NEXT) | next);
}

static void ds_policy_append(struct ds_policy *p, u32 *last, u32 slot)
{
	if (*last == DS_POLICY_NONE) {
		ds_policy_set_next(p, slot, slot);
	} else {
		ds_policy_set_next(p, slot, ds_policy_first(p, *last));
		ds_policy_set_next(p, *last, slot);
	}
	*last = slot;
}

static u32 ds_policy_pop(struct ds_policy *p, u32 *last)
{
	u32 first = ds_policy_first(p, *last);

	if (first == *last)
		*last = DS_POLICY_NONE;
	else
		ds_policy_set_next(p, *last, ds_policy_first(p, first));
	return first;
}

/* All of @from come before all of @to. */
static void ds_policy_join(struct ds_policy *p, u32 *from, u32 *to)
{
	u32 first;

	if (*to == DS_POLICY_NONE) {
		*to = *from;
	} else {
		first = ds_policy_first(p, *from);
		ds_policy_set_next(p, *from, ds_policy_first(p, *to));
		ds_policy_set_next(p, *to, first);
	}
	*from = DS_POLICY_NONE;
}

/* ---- slots ---- */

static inline bool ds_policy_used(const struct ds_policy *p, u32 slot)
{
	return p->slots[slot].key_high & DS_SLOT_USED;
}

static inline u32 ds_policy_last_use(const struct ds_policy *p, u32 slot)
{
	return READ_ONCE(p->slots[slot].heat) >> 3;
}

/* The last use stays; uses are counted from @uses on. */
static void ds_policy_recount(struct ds_policy *p, u32 slot, u32 uses)
{
	struct ds_policy_slot *s = &p->slots[slot];

	WRITE_ONCE(s->heat, (u8)((READ_ONCE(s->heat) & ~DS_POLICY_USES) | uses));
}

static inline u32 ds_policy_uses(const struct ds_policy *p, u32 slot)
{
	return READ_ONCE(p->slots[slot].heat) & DS_POLICY_USES;
}

static void ds_policy_flag(struct ds_policy *p, u32 slot, u32 flag, bool on)
{
	u32 *link = &p->slots[slot].link;

	WRITE_ONCE(*link, on ? *link | flag : *link & ~flag);
}

/* To the end of the queue it belongs to. Those of main stand in the list of an epoch. */
static void ds_policy_enqueue(struct ds_policy *p, u32 slot, u32 epoch)
{
	if (p->slots[slot].link & DS_SLOT_MAIN) {
		ds_policy_append(p, &p->main[epoch % DS_EPOCHS], slot);
		p->filled |= 1u << epoch % DS_EPOCHS;
	} else {
		ds_policy_append(p, &p->staging, slot);
	}
}

static void ds_policy_move(struct ds_policy *p, u32 slot, bool to_main, u32 epoch)
{
	bool in_main = p->slots[slot].link & DS_SLOT_MAIN;

	p->kept = p->kept + to_main - in_main;
	p->staged = p->staged + in_main - to_main;
	ds_policy_flag(p, slot, DS_SLOT_MAIN, to_main);
	ds_policy_enqueue(p, slot, epoch);
}

/* The token leaves, and the slot is in no queue. */
static u32 ds_policy_evict(struct ds_policy *p, u32 slot)
{
	ds_ghost_put(&p->ghost, ds_policy_hash(ds_policy_key(p, slot)),
		     ds_policy_last_use(p, slot), p->epoch);
	if (p->slots[slot].link & DS_SLOT_MAIN)
		p->kept--;
	else
		p->staged--;
	return slot;
}

/* The head of a queue that does not stand there to be judged goes to where it belongs. */
static bool ds_policy_pass_on(struct ds_policy *p, u32 slot)
{
	if (p->slots[slot].link & DS_SLOT_HEIR) {
		ds_policy_flag(p, slot, DS_SLOT_HEIR, false);
		ds_policy_enqueue(p, slot, ds_policy_last_use(p, slot));
		return true;
	}
	if (p->slots[slot].key_high & DS_SLOT_PINNED) {
		ds_policy_enqueue(p, slot, p->epoch);
		return true;
	}
	return false;
}

/* ---- main ---- */

static u32 *ds_policy_oldest(struct ds_policy *p)
{
	u32 next = (p->epoch + 1) % DS_EPOCHS;
	u64 lists = ((u64)p->filled << DS_EPOCHS | p->filled) >> next;

	if (!p->filled)
		return NULL;
	return &p->main[(next + ilog2(lists & -lists)) % DS_EPOCHS];
}

static inline u32 ds_policy_list_age(const struct ds_policy *p, const u32 *list)
{
	return ds_epochs_since((u32)(list - p->main), p->epoch);
}

/* One that was used in main goes on. */
static void ds_policy_again(struct ds_policy *p, u32 slot, u32 age)
{
	u32 uses = ds_policy_uses(p, slot), epoch = ds_policy_last_use(p, slot);

	switch (p->rule) {
	case DS_RULE_CLOCK:
		ds_policy_recount(p, slot, 0);
		ds_policy_move(p, slot, false, 0);
		break;
	case DS_RULE_S3FIFO:
		ds_policy_recount(p, slot, min(uses, 3u) - 1);
		ds_policy_enqueue(p, slot, p->epoch);
		break;
	default:
		/* So old that its epoch's number is another's: it had its use lately enough. */
		if (ds_epochs_since(epoch, p->epoch) >= age)
			epoch = p->epoch;
		ds_policy_recount(p, slot, 0);
		ds_policy_enqueue(p, slot, epoch);
	}
}

/* The oldest leaves, or goes on if it was used. The slot, or DS_POLICY_NONE. */
static u32 ds_policy_step_main(struct ds_policy *p, u32 *list, bool must_leave)
{
	u32 age = ds_policy_list_age(p, list), slot = ds_policy_pop(p, list);

	if (*list == DS_POLICY_NONE)
		p->filled &= ~(1u << (list - p->main));
	if (!ds_policy_used(p, slot)) {
		ds_policy_append(p, &p->staging, slot);
		return DS_POLICY_NONE;
	}
	if (ds_policy_pass_on(p, slot))
		return DS_POLICY_NONE;
	if (!ds_policy_uses(p, slot) || must_leave)
		return ds_policy_evict(p, slot);
	ds_policy_again(p, slot, age);
	return DS_POLICY_NONE;
}

/* Whether the head of main's oldest list was not used since it is there. */
static bool ds_policy_settled(const struct ds_policy *p, const u32 *list)
{
	u32 slot = ds_policy_first(p, *list);

	return ds_policy_used(p, slot) && !ds_policy_uses(p, slot) &&
		!(p->slots[slot].link & DS_SLOT_HEIR) &&
		!(p->slots[slot].key_high & DS_SLOT_PINNED);
}

/* Epochs for which main's oldest one was not used; 0 if it takes too long to find out. */
static u32 ds_policy_main_age(struct ds_policy *p)
{
	u32 *list, step;

	for (step = 0; step < DS_POLICY_STEPS; step++) {
		list = ds_policy_oldest(p);
		if (!list)
			return 0;
		if (ds_policy_settled(p, list))
			return ds_policy_list_age(p, list);
		ds_policy_step_main(p, list, false);
	}
	return 0;
}

/* ---- staging ---- */

static inline bool ds_policy_main_has_room(const struct ds_policy *p)
{
	return p->kept + p->window < p->capacity;
}

/* The oldest leaves, or goes on. The slot, or DS_POLICY_NONE. */
static u32 ds_policy_step_staging(struct ds_policy *p, bool must_leave)
{
	u32 slot = ds_policy_pop(p, &p->staging), uses;

	if (!ds_policy_used(p, slot)) {
		p->forgotten--;
		return slot;
	}
	if (ds_policy_pass_on(p, slot))
		return DS_POLICY_NONE;
	uses = ds_policy_uses(p, slot);
	p->left++;
	p->left_used += uses > 0;
	ds_policy_recount(p, slot, 0);
	if (ds_policy_main_has_room(p)) {
		ds_policy_move(p, slot, true, ds_policy_last_use(p, slot));
		return DS_POLICY_NONE;
	}
	if (must_leave || !uses || (p->rule == DS_RULE_S3FIFO && uses == 1))
		return ds_policy_evict(p, slot);
	ds_policy_move(p, slot, p->rule == DS_RULE_S3FIFO, p->epoch);
	return DS_POLICY_NONE;
}

/* LIRS: staging is large only while there are uses in it. */
static void ds_policy_size_staging(struct ds_policy *p)
{
	if (p->left < DS_GHOST_WAYS)
		return;
	if (p->left_used * 64 < p->left)
		p->share = max(p->share * 3 / 4, (u32)DS_POLICY_SHARE_MIN);
	else if (p->left_used * 16 > p->left)
		p->share = min(p->share * 5 / 4, (u32)DS_POLICY_SHARE_MAX);
	p->left /= 2;
	p->left_used /= 2;
}

/* ---- the rule in use ---- */

static void ds_policy_set_window(struct ds_policy *p)
{
	switch (p->rule) {
	case DS_RULE_CLOCK:
		p->window = p->capacity;
		break;
	case DS_RULE_S3FIFO:
		p->window = p->capacity * 3 / 20;
		break;
	default:
		p->window = max((u32)((u64)p->capacity * p->share / DS_POLICY_SHARE_ONE), 2u);
	}
}

static void ds_policy_sample(struct ds_policy *p, u64 hash)
{
	enum ds_rule rule = ds_shadow_access(&p->shadow, hash, p->rule);

	if (rule == p->rule)
		return;
	p->rule = rule;
	p->left = 0;
	p->left_used = 0;
	ds_policy_set_window(p);
}

static inline bool ds_policy_is_sampled(const struct ds_policy *p, u64 hash)
{
	return (u32)(hash * 0x9e3779b97f4a7c15ull >> 32) < p->sampled;
}

/* What was noted of hits; some may be of those that were in the slots before. */
static void ds_policy_hear(struct ds_policy *p)
{
	u32 head = READ_ONCE(p->ring_head), slot;

	if (head - p->ring_tail > DS_POLICY_RING)
		p->ring_tail = head - DS_POLICY_RING;
	while (p->ring_tail != head) {
		slot = READ_ONCE(p->ring[p->ring_tail++ % DS_POLICY_RING]);
		if (ds_policy_used(p, slot))
			ds_policy_sample(p, ds_policy_hash(ds_policy_key(p, slot)));
	}
}

/* What was not used for 31 epochs is as old as what was not for 32. */
static void ds_policy_next_epoch(struct ds_policy *p)
{
	u32 now = ++p->epoch % DS_EPOCHS, oldest = (now + 1) % DS_EPOCHS;

	WRITE_ONCE(p->stamp, (u8)(now << 3));
	if (p->filled & 1u << now) {
		ds_policy_join(p, &p->main[now], &p->main[oldest]);
		p->filled = (p->filled & ~(1u << now)) | 1u << oldest;
	}
	ds_policy_size_staging(p);
	ds_policy_set_window(p);
}

static void ds_policy_count_miss(struct ds_policy *p)
{
	if (++p->misses < p->capacity / DS_POLICY_EPOCHS_PER_CAPACITY)
		return;
	p->misses = 0;
	ds_policy_next_epoch(p);
}

/* Does one that was last used so many epochs ago go to main? */
static bool ds_policy_returns(struct ds_policy *p, u32 age)
{
	if (age == DS_GHOST_NONE)
		return false;
	switch (p->rule) {
	case DS_RULE_CLOCK:
		return false;
	case DS_RULE_S3FIFO:
		return age <= DS_POLICY_SOON;
	default:
		return age < ds_policy_main_age(p);
	}
}

/* ---- a slot for a token ---- */

/* One that is in use no longer, though it still stands in a queue. */
u32 ds_policy_forgotten(struct ds_policy *p)
{
	u32 looked, slot;

	for (looked = 0; p->forgotten && looked < DS_POLICY_LOOK; looked++) {
		slot = p->cursor;
		p->cursor = (slot + 1) % p->capacity;
		if (ds_policy_used(p, slot))
			continue;
		p->forgotten--;
		return slot;
	}
	return DS_POLICY_NONE;
}

/* The list of main to step in, or NULL for staging. */
static u32 *ds_policy_where(struct ds_policy *p, bool main_first)
{
	return main_first || p->staging == DS_POLICY_NONE ? ds_policy_oldest(p) : NULL;
}

/* Someone leaves. DS_POLICY_NONE if only pinned ones were seen. */
static u32 ds_policy_make_room(struct ds_policy *p, bool for_main)
{
	u32 *list, step, slot = DS_POLICY_NONE;
	bool must_leave, main_first;

	if (p->pinned == p->capacity)
		return DS_POLICY_NONE;
	for (step = 0; step < 2 * DS_POLICY_STEPS && slot == DS_POLICY_NONE; step++) {
		must_leave = step >= DS_POLICY_STEPS;
		main_first = p->kept && p->staged < p->window + for_main;
		/* All that are where one should leave may be pinned. */
		if (must_leave)
			main_first ^= step & 1;
		list = ds_policy_where(p, main_first);
		if (list)
			slot = ds_policy_step_main(p, list, must_leave);
		else
			slot = ds_policy_step_staging(p, must_leave);
	}
	return slot;
}

/* @heir: it stands in a queue where it does not belong. */
static void ds_policy_install(struct ds_policy *p, u32 slot, u32 key, bool to_main, bool heir)
{
	struct ds_policy_slot *s = &p->slots[slot];
	u32 flags = (to_main ? DS_SLOT_MAIN : 0) | (heir ? DS_SLOT_HEIR : 0);

	if (ds_policy_is_sampled(p, ds_policy_hash(key)))
		flags |= DS_SLOT_SAMPLED;
	s->key_low = (u8)key;
	s->key_high = (u16)(key >> 8 | DS_SLOT_USED);
	WRITE_ONCE(s->heat, p->stamp);
	WRITE_ONCE(s->link, (s->link & DS_SLOT_NEXT) | flags);
	if (to_main)
		p->kept++;
	else
		p->staged++;
	if (!heir)
		ds_policy_enqueue(p, slot, p->epoch);
}

/* While there are free slots: staging gives to main what is too much for it. */
static void ds_policy_spill(struct ds_policy *p)
{
	u32 slot;

	if (p->staged <= p->window || !ds_policy_main_has_room(p))
		return;
	slot = ds_policy_pop(p, &p->staging);
	if (!ds_policy_used(p, slot)) {
		ds_policy_append(p, &p->staging, slot);
	} else if (!ds_policy_pass_on(p, slot)) {
		ds_policy_recount(p, slot, 0);
		ds_policy_move(p, slot, true, ds_policy_last_use(p, slot));
	}
}

/* A new key is known to all but the queues. Does it go to main? */
static bool ds_policy_admit(struct ds_policy *p, u64 hash)
{
	ds_policy_hear(p);
	if (ds_policy_is_sampled(p, hash))
		ds_policy_sample(p, hash);
	ds_policy_count_miss(p);
	return ds_policy_returns(p, ds_ghost_take(&p->ghost, hash, p->epoch));
}

u32 ds_policy_miss(struct ds_policy *p, u32 key, u32 *victim)
{
	bool to_main, heir = false;
	u32 slot;

	*victim = DS_POLICY_NONE;
	if (key >= DS_POLICY_KEYS)
		return DS_POLICY_NONE;
	if (p->base)
		return ds_policy_001_miss(p, key, victim);

	to_main = ds_policy_admit(p, ds_policy_hash(key));
	if (p->fresh < p->capacity) {
		slot = p->fresh++;
		ds_policy_install(p, slot, key, to_main, false);
		ds_policy_spill(p);
		return slot;
	}
	slot = ds_policy_forgotten(p);
	heir = slot != DS_POLICY_NONE;
	if (!heir)
		slot = ds_policy_make_room(p, to_main);
	if (slot == DS_POLICY_NONE)
		return slot;
	if (ds_policy_used(p, slot))
		*victim = ds_policy_key(p, slot);
	ds_policy_install(p, slot, key, to_main, heir);
	return slot;
}

int ds_policy_forget(struct ds_policy *p, u32 slot)
{
	struct ds_policy_slot *s;

	if (slot >= p->capacity || !ds_policy_used(p, slot))
		return -EINVAL;
	s = &p->slots[slot];
	p->pinned -= !!(s->key_high & DS_SLOT_PINNED);
	s->key_high &= ~(DS_SLOT_USED | DS_SLOT_PINNED);
	p->forgotten++;
	if (p->base)
		return 0;
	if (s->link & DS_SLOT_MAIN)
		p->kept--;
	else
		p->staged--;
	return 0;
}

int ds_policy_pin(struct ds_policy *p, u32 slot, bool pinned)
{
	struct ds_policy_slot *s;

	if (slot >= p->capacity || !ds_policy_used(p, slot))
		return -EINVAL;
	s = &p->slots[slot];
	p->pinned += pinned;
	p->pinned -= !!(s->key_high & DS_SLOT_PINNED);
	s->key_high = (u16)((s->key_high & ~DS_SLOT_PINNED) | (pinned ? DS_SLOT_PINNED : 0));
	return 0;
}

/* ---- memory ---- */

static int ds_policy_init_default(struct ds_policy *p)
{
	u32 i, size = min(max(p->capacity / 8, DS_SHADOW_MIN), DS_SHADOW_MAX);
	u64 rest = sizeof(*p) + (u64)p->capacity * sizeof(*p->slots) + ds_shadow_bytes(size);
	u64 budget = max((u64)p->capacity * DS_POLICY_BYTES, rest);
	u32 ghost = min((u32)((budget - rest) / sizeof(u16)), DS_POLICY_GHOST_MOST * p->capacity);
	int err;

	p->staging = DS_POLICY_NONE;
	for (i = 0; i < DS_EPOCHS; i++)
		p->main[i] = DS_POLICY_NONE;
	p->sampled = (u32)(((u64)size << 32) / p->capacity);
	p->share = DS_POLICY_SHARE_FIRST;
	p->rule = DS_RULE_LIRS;
	ds_policy_set_window(p);
	err = ds_ghost_init(&p->ghost, max(ghost, p->capacity / 2));
	return err ? err : ds_shadow_init(&p->shadow, size);
}

int ds_policy_init(struct ds_policy *p, u32 capacity, u32 mode)
{
	int err = -ENOMEM;

	if (capacity < DS_POLICY_CAPACITY_MIN || capacity > DS_POLICY_CAPACITY_MAX ||
	    mode >= DS_POLICY_MODES)
		return -EINVAL;
	memset(p, 0, sizeof(*p));
	p->capacity = capacity;
	p->slots = ds_alloc((u64)capacity * sizeof(*p->slots));
	if (p->slots)
		err = mode == DS_POLICY_DEFAULT ? ds_policy_init_default(p) :
			ds_policy_001_init(p, mode == DS_POLICY_ADAPTIVE_001);
	if (err)
		ds_policy_destroy(p);
	return err;
}

void ds_policy_destroy(struct ds_policy *p)
{
	if (p->base)
		ds_policy_001_destroy(p);
	ds_shadow_destroy(&p->shadow);
	ds_ghost_destroy(&p->ghost);
	ds_free(p->slots);
	memset(p, 0, sizeof(*p));
}

u64 ds_policy_bytes(const struct ds_policy *p)
{
	u64 bytes = sizeof(*p) + (u64)p->capacity * sizeof(*p->slots);

	if (p->base)
		return bytes + ds_policy_001_bytes(p);
	return bytes + ds_ghost_bytes(&p->ghost) + ds_shadow_bytes(p->shadow.size);
}

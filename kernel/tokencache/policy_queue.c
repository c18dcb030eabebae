// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the queues of L1's policy.
 */
#include "policy_queue.h"

#define DS_POLICY_STEPS	64	/* in a call */
#define DS_POLICY_PROBES	8	/* slots, for one that was used, or unpinned */
#define DS_POLICY_TOO_OLD	24	/* epochs */

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

/* All of one queue come before those of another. */
static void ds_policy_prepend(struct ds_policy *p, u32 *from, u32 *to)
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

void ds_policy_enqueue(struct ds_policy *p, u32 slot, u32 epoch)
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

/*
 * The token leaves, and the slot is in no queue. @idle: epochs for which it certainly was not used.
 * The ghost keeps what it is told for some 12 epochs, and is not told of one who would be so old
 * before that the number of its epoch is that of a young one.
 */
static u32 ds_policy_evict(struct ds_policy *p, u32 slot, u32 idle)
{
	u32 used = ds_policy_last_use(p, slot);

	if (max(ds_epochs_since(used, p->epoch), idle) < DS_POLICY_TOO_OLD)
		ds_ghost_put(&p->ghost, ds_policy_hash(ds_policy_key(p, slot)),
			     (used - p->epochs_of_runs) % DS_EPOCHS, ds_policy_ghost_epoch(p));
	if (p->slots[slot].link & DS_SLOT_MAIN)
		p->kept--;
	else
		p->staged--;
	return slot;
}

/*
 * The head of a queue that does not stand there to be judged goes on: pinned ones aside, heirs to
 * where they belong, unless one must leave.
 */
static bool ds_policy_pass_on(struct ds_policy *p, u32 slot, bool must_leave)
{
	bool heir = p->slots[slot].link & DS_SLOT_HEIR;

	if (p->slots[slot].key_high & DS_SLOT_PINNED) {
		ds_policy_append(p, &p->aside, slot);
		return true;
	}
	ds_policy_flag(p, slot, DS_SLOT_HEIR, false);
	if (heir && !must_leave) {
		ds_policy_enqueue(p, slot, ds_policy_last_use(p, slot));
		return true;
	}
	return false;
}

/* Of some that stand aside, one that is no longer pinned goes back to where it belongs. */
static void ds_policy_take_back(struct ds_policy *p)
{
	u32 probes, slot;

	for (probes = 0; probes < DS_POLICY_PROBES && p->aside != DS_POLICY_NONE; probes++) {
		slot = ds_policy_pop(p, &p->aside);
		if (p->slots[slot].key_high & DS_SLOT_PINNED) {
			ds_policy_append(p, &p->aside, slot);
			continue;
		}
		ds_policy_flag(p, slot, DS_SLOT_HEIR, false);
		if (ds_policy_used(p, slot))
			ds_policy_enqueue(p, slot, ds_policy_last_use(p, slot));
		else
			ds_policy_append(p, &p->staging, slot);
		return;
	}
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

void ds_policy_join(struct ds_policy *p, u32 from, u32 to)
{
	if (p->main[from] == DS_POLICY_NONE)
		return;
	ds_policy_prepend(p, &p->main[from], &p->main[to]);
	p->filled = (p->filled & ~(1u << from)) | 1u << to;
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
	case DS_RULE_S3FIFO:
	case DS_RULE_S3FIFO_SHORT:
		ds_policy_recount(p, slot, uses - 1);
		ds_policy_enqueue(p, slot, p->epoch);
		break;
	default:
		/* So old that its epoch's number is another's: it had its use lately enough. */
		if (ds_epochs_since(epoch, p->epoch) > age)
			epoch = p->epoch;
		ds_policy_recount(p, slot, 0);
		ds_policy_enqueue(p, slot, epoch);
	}
}

/* The oldest leaves, or goes on if it was used. The slot, or DS_POLICY_NONE. */
static u32 ds_policy_step_main(struct ds_policy *p, u32 *list, bool must_leave)
{
	u32 age = ds_policy_list_age(p, list), slot = ds_policy_pop(p, list), uses;

	if (*list == DS_POLICY_NONE)
		p->filled &= ~(1u << (list - p->main));
	if (!ds_policy_used(p, slot)) {
		ds_policy_append(p, &p->staging, slot);
		return DS_POLICY_NONE;
	}
	if (ds_policy_pass_on(p, slot, must_leave))
		return DS_POLICY_NONE;
	uses = ds_policy_uses(p, slot);
	if (!uses || must_leave || p->rule == DS_RULE_FIFO || p->rule == DS_RULE_TWICE)
		return ds_policy_evict(p, slot, uses ? 0 : age);
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

u32 ds_policy_main_age(struct ds_policy *p)
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
	return p->kept + p->window < p->capacity - p->pinned;
}

/*
 * Epochs. Who came lately is young. Who stayed, and was not used since, has waited for SIEVE's hand
 * for nobody knows how long: it does not come round while each that comes is used once.
 */
static u32 ds_policy_idle_in_staging(const struct ds_policy *p, u32 slot, u32 uses)
{
	return !uses && p->slots[slot].link & DS_SLOT_MAIN ? DS_POLICY_TOO_OLD : 0;
}

/* The oldest leaves, or goes on. The slot, or DS_POLICY_NONE. */
static u32 ds_policy_step_staging(struct ds_policy *p, bool must_leave)
{
	bool twice = p->rule == DS_RULE_S3FIFO || p->rule == DS_RULE_S3FIFO_SHORT;
	u32 slot = ds_policy_pop(p, &p->staging), uses;

	if (!ds_policy_used(p, slot)) {
		p->forgotten--;
		return slot;
	}
	if (ds_policy_pass_on(p, slot, must_leave))
		return DS_POLICY_NONE;
	uses = ds_policy_uses(p, slot);
	p->left++;
	p->left_used += uses > 0;
	if (p->rule != DS_RULE_TWICE)
		ds_policy_recount(p, slot, 0);
	if (ds_rule_is_plain(p->rule) || ds_policy_main_has_room(p)) {
		ds_policy_move(p, slot, true, ds_policy_last_use(p, slot));
		return DS_POLICY_NONE;
	}
	if (must_leave || !uses || (twice && uses == 1))
		return ds_policy_evict(p, slot, ds_policy_idle_in_staging(p, slot, uses));
	ds_policy_move(p, slot, p->rule != DS_RULE_LIRS, p->epoch);
	return DS_POLICY_NONE;
}

/* ---- who leaves ---- */

u32 ds_policy_used_again(struct ds_policy *p)
{
	u32 probes, slot;

	for (probes = 0; probes < DS_POLICY_PROBES; probes++) {
		slot = p->cursor;
		p->cursor = (slot + 1) % p->capacity;
		if (!ds_policy_used(p, slot)) {
			p->forgotten--;
			return slot;
		}
		if (ds_policy_uses(p, slot) && !(p->slots[slot].key_high & DS_SLOT_PINNED))
			return ds_policy_evict(p, slot, 0);
	}
	return DS_POLICY_NONE;
}

/*
 * Rules without staging may have slots in it nevertheless: of heirs, and forgotten ones. They are
 * found as each call looks there first. SIEVE's hand is in staging.
 */
static bool ds_policy_main_first(const struct ds_policy *p, u32 step, bool for_main)
{
	if (p->rule == DS_RULE_SIEVE)
		return false;
	if (!step && ds_rule_is_plain(p->rule))
		return p->staging == DS_POLICY_NONE;
	return p->kept && p->staged < p->window + for_main;
}

/* A step in one of the queues. The slot that is free now, or DS_POLICY_NONE. */
static u32 ds_policy_step_queue(struct ds_policy *p, bool main_first, bool must_leave)
{
	u32 *list = main_first || p->staging == DS_POLICY_NONE ? ds_policy_oldest(p) : NULL;

	if (list)
		return ds_policy_step_main(p, list, must_leave);
	if (p->staging != DS_POLICY_NONE)
		return ds_policy_step_staging(p, must_leave);
	ds_policy_take_back(p);
	return DS_POLICY_NONE;
}

/* SIEVE: those that stayed, who are in main by when the hand came by, are the next it comes to. */
static void ds_policy_turn(struct ds_policy *p)
{
	u32 age, *list;

	for (age = 0; age < DS_EPOCHS; age++) {
		list = &p->main[(p->epoch - age) % DS_EPOCHS];
		if (*list != DS_POLICY_NONE)
			ds_policy_prepend(p, list, &p->staging);
	}
	p->filled = 0;
}

u32 ds_policy_make_room(struct ds_policy *p, bool for_main)
{
	u32 step, slot = DS_POLICY_NONE;
	bool must_leave, main_first;

	if (p->pinned == p->capacity)
		return DS_POLICY_NONE;
	ds_policy_take_back(p);
	for (step = 0; step < 2 * DS_POLICY_STEPS && slot == DS_POLICY_NONE; step++) {
		must_leave = step >= DS_POLICY_STEPS;
		main_first = ds_policy_main_first(p, step, for_main);
		/* All that are where one should leave may be pinned. */
		if (must_leave)
			main_first ^= step & 1;
		slot = ds_policy_step_queue(p, main_first, must_leave);
		if (p->rule == DS_RULE_SIEVE && p->staging == DS_POLICY_NONE)
			ds_policy_turn(p);
	}
	return slot;
}

// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: which tokens are in L1.
 */
#include "policy_first.h"
#include "policy_queue.h"

#define DS_POLICY_EPOCHS_LRU		9	/* with more the ghost's would be too old */
#define DS_POLICY_RUNS_PER_CAPACITY	12	/* epochs in as many hits without a miss */
#define DS_POLICY_RUN_EPOCHS		20u	/* at most, of one run of hits */
#define DS_POLICY_GHOST_MOST		2u	/* keys for a slot */
#define DS_POLICY_BYTES			14	/* for a slot, in all */
#define DS_POLICY_SOON			10	/* epochs, S3FIFO */
#define DS_POLICY_SOON_SHORT		4
#define DS_POLICY_LOOK			64	/* slots, for a forgotten one */
#define DS_POLICY_SAMPLE_EPOCHS		32	/* in which it is put right, by and large */
#define DS_POLICY_COMING_EPOCHS		24	/* four L1s of misses */
#define DS_POLICY_SHARE_MIN		20
#define DS_POLICY_SHARE_FIRST		51

static_assert(sizeof(struct ds_policy_slot) == 8, "of the 14 bytes that a slot may have");
static_assert((DS_SLOT_USED << 8) == DS_POLICY_KEYS, "a key fits");
static_assert(!((DS_POLICY_CAPACITY_MAX - 1) & ~DS_SLOT_NEXT), "a slot fits");

/* LIRS: staging is large only while there are uses in it. */
static void ds_policy_size_staging(struct ds_policy *p)
{
	if (p->left < DS_GHOST_WAYS)
		return;
	if (p->left_used * 64 < p->left)
		p->share = max(p->share * 3 / 4, (u32)DS_POLICY_SHARE_MIN);
	else if (p->left_used * 16 > p->left)
		p->share = min(p->share * 5 / 4, DS_SHADOW_SHARE_MAX);
	p->left /= 2;
	p->left_used /= 2;
	ds_shadow_set_guests(&p->shadow, p->share);
}

/* ---- the rule in use ---- */

static void ds_policy_set_window(struct ds_policy *p)
{
	switch (p->rule) {
	case DS_RULE_FIFO:
	case DS_RULE_TWICE:
	case DS_RULE_LRU:
		p->window = 0;
		break;
	case DS_RULE_S3FIFO:
		p->window = (u32)((u64)p->capacity * 18 / 100);
		break;
	case DS_RULE_S3FIFO_SHORT:
		p->window = max(p->capacity / 40, 1u);
		break;
	case DS_RULE_SIEVE:
		p->window = p->capacity;
		break;
	default:
		p->window = max((u32)((u64)p->capacity * p->share / DS_SHADOW_SHARE_ONE), 2u);
	}
	if (p->window && p->coming)
		p->window += p->coming - 1;
	WRITE_ONCE(p->run, ds_rule_is_plain(p->rule) ?
		   max((u32)p->shadow.size / DS_POLICY_RUNS_PER_CAPACITY, 1u) : DS_POLICY_NONE);
}

static void ds_policy_set_rule(struct ds_policy *p, enum ds_rule rule)
{
	if (rule == p->rule)
		return;
	p->rule = rule;
	p->left = 0;
	p->left_used = 0;
	ds_recency_forget(&p->recency);
	ds_policy_set_window(p);
}

/* So long nobody has to leave, and all rules do the same. */
static bool ds_policy_fills(const struct ds_policy *p)
{
	return p->fresh < p->capacity;
}

static void ds_policy_sample(struct ds_policy *p, u32 print, bool hit)
{
	enum ds_rule rule = ds_shadow_access(&p->shadow, print, p->rule, hit);

	if (!ds_policy_fills(p))
		ds_policy_set_rule(p, rule);
}

/* Slots, and what the ghost has room for. */
static u32 ds_policy_places(const struct ds_policy *p)
{
	return p->capacity + ds_ghost_room(&p->ghost);
}

/* Of what is in a place; DS_GHOST_NONE if nothing is, or one that has to stay. */
static u32 ds_policy_age_at(const struct ds_policy *p, u32 place)
{
	if (place >= p->capacity)
		return ds_ghost_age_at(&p->ghost, place - p->capacity, ds_policy_ghost_epoch(p));
	if ((p->slots[place].key_high & (DS_SLOT_USED | DS_SLOT_PINNED)) != DS_SLOT_USED)
		return DS_GHOST_NONE;
	return ds_epochs_since(ds_policy_last_use(p, place), p->epoch);
}

static void ds_policy_look(struct ds_policy *p)
{
	u32 place = ds_recency_place(&p->recency, ds_policy_places(p));
	u32 age = ds_policy_age_at(p, place);

	if (age != DS_GHOST_NONE)
		ds_recency_see(&p->recency, age);
}

/* LRU would have the slots that are not pinned. */
static void ds_policy_judge_recency(struct ds_policy *p)
{
	if (ds_recency_judge(&p->recency, p->capacity - p->pinned, ds_policy_places(p)) &&
	    !ds_policy_fills(p) &&
	    ds_shadow_agrees(&p->shadow, p->rule, DS_RULE_LRU))
		ds_policy_set_rule(p, DS_RULE_LRU);
}

/* What a slot's heat comes to with hits in an epoch. */
static u16 ds_policy_hottest(u32 epoch)
{
	return (u16)(epoch % DS_EPOCHS << 3 | DS_POLICY_USES);
}

/* Of @sampled: a miniature's part of L1. */
static u32 ds_policy_usual_sample(const struct ds_policy *p)
{
	return (u32)(((u64)p->shadow.size << 32) / p->capacity);
}

/*
 * As many slots as a miniature has entries should have keys of the sample. By chance it may have
 * more or fewer of the working set, which then fits into L1 and not into a miniature, or the other
 * way round. Only misses change what is in slots: in epochs of hits it would run to its bound.
 */
static void ds_policy_size_sample(struct ds_policy *p)
{
	s64 more = ((s64)p->shadow.size - p->in_sample) * (1ll << 32) / p->capacity;
	s64 usual = ds_policy_usual_sample(p);
	s64 sampled = p->sampled + more / DS_POLICY_SAMPLE_EPOCHS;

	if (p->sampled && !ds_policy_fills(p))
		p->sampled = (u32)min(max(sampled, usual / 2), usual * 3 / 2);
}

/* What was not used for 31 epochs is as old as what was not for 32. */
static void ds_policy_next_epoch(struct ds_policy *p)
{
	u32 now = (p->epoch + 1) % DS_EPOCHS;

	WRITE_ONCE(p->epoch, p->epoch + 1);
	WRITE_ONCE(p->hottest, ds_policy_hottest(now));
	ds_policy_join(p, now, (now + 1) % DS_EPOCHS);
	ds_policy_size_staging(p);
	ds_policy_judge_recency(p);
	/* Seldom: with each change some go to main, or leave it, who would not have. */
	if (p->epoch % DS_POLICY_COMING_EPOCHS == 0)
		p->coming -= (p->coming + 7) / 8;
	ds_policy_set_window(p);
}

/* Epochs in so many noted hits. */
static u32 ds_policy_epochs(struct ds_policy *p, u32 hits)
{
	return min(hits / READ_ONCE(p->run), DS_POLICY_RUN_EPOCHS);
}

/* The next hits may be of another epoch. */
static void ds_policy_run(struct ds_policy *p, u32 hits)
{
	u32 epoch = READ_ONCE(p->epoch) + ds_policy_epochs(p, hits);

	WRITE_ONCE(p->hottest, ds_policy_hottest(epoch));
}

/*
 * Few hits come here: ds_policy_hit() is short, and calls nobody otherwise. The slot may be another
 * token's when the shadow hears of it.
 */
void ds_policy_note(struct ds_policy *p, u32 slot)
{
	u32 head = READ_ONCE(p->hits_head), at = head % DS_POLICY_HITS, hits;

	if (p->base)
		WRITE_ONCE(p->hits_001[at], slot);
	else
		WRITE_ONCE(p->hits[at], ds_shadow_print(ds_policy_hash(ds_policy_key(p, slot))));
	WRITE_ONCE(p->hits_head, head + 1);
	hits = ds_policy_noted(p, head + 1);
	if (hits >= READ_ONCE(p->run))
		ds_policy_run(p, hits);
}

/* Each part of a long run of hits was an epoch, and what comes now is in another one. */
static void ds_policy_end_run(struct ds_policy *p, u32 hits)
{
	u32 epochs = ds_policy_epochs(p, hits);

	if (!epochs)
		return;
	p->misses = 0;
	p->epochs_of_runs += ++epochs;
	while (epochs--)
		ds_policy_next_epoch(p);
}

/* What was noted of hits. */
static void ds_policy_hear(struct ds_policy *p)
{
	u32 head = READ_ONCE(p->hits_head), hits = ds_policy_noted(p, head), left;

	/* First, so that a hit meanwhile does not take the run for one that goes on. */
	WRITE_ONCE(p->hits_tail, head);
	ds_policy_end_run(p, hits);
	for (left = min(hits, DS_POLICY_HITS); left; left--)
		ds_policy_sample(p, READ_ONCE(p->hits[(head - left) % DS_POLICY_HITS]), true);
	/* One that saw @hits_tail as it was before has set it too far ahead. */
	WRITE_ONCE(p->hottest, ds_policy_hottest(p->epoch));
}

static void ds_policy_count_miss(struct ds_policy *p)
{
	u32 epochs = p->rule == DS_RULE_LRU ? DS_POLICY_EPOCHS_LRU : DS_POLICY_EPOCHS_PER_CAPACITY;

	if (++p->misses < p->capacity / epochs)
		return;
	p->misses = 0;
	ds_policy_size_sample(p);
	ds_policy_next_epoch(p);
}

/* Does one that was last used so many epochs ago go to main? */
static bool ds_policy_returns(struct ds_policy *p, u32 age)
{
	if (ds_rule_is_plain(p->rule))
		return true;
	if (age == DS_GHOST_NONE)
		return false;
	switch (p->rule) {
	case DS_RULE_S3FIFO:
		return age <= DS_POLICY_SOON;
	case DS_RULE_S3FIFO_SHORT:
		return age <= DS_POLICY_SOON_SHORT;
	case DS_RULE_SIEVE:
		return false;
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

/* One that nobody had before. */
static u32 ds_policy_fresh(struct ds_policy *p)
{
	u32 slot = p->fresh++;

	if (!ds_policy_fills(p)) {
		ds_policy_set_rule(p, ds_policy_first_rule(p));
		ds_shadow_begin(&p->shadow);
	}
	return slot;
}

/* Flags of a slot change. A forgotten one counts until it is used again. */
static void ds_policy_count_sampled(struct ds_policy *p, u32 before, u32 after)
{
	p->in_sample += !!(after & DS_SLOT_SAMPLED) - !!(before & DS_SLOT_SAMPLED);
}

/* @flags: DS_SLOT_MAIN; DS_SLOT_HEIR if it stands in a queue where it does not belong. */
static void ds_policy_install(struct ds_policy *p, u32 slot, u32 key, u32 flags, u32 uses)
{
	struct ds_policy_slot *s = &p->slots[slot];

	if (ds_policy_is_sampled(p, ds_policy_hash(key)))
		flags |= DS_SLOT_SAMPLED;
	WRITE_ONCE(s->key_low, (u8)key);
	WRITE_ONCE(s->key_high, (u16)(key >> 8 | DS_SLOT_USED));
	WRITE_ONCE(s->heat, (u8)(p->epoch % DS_EPOCHS << 3 | uses));
	ds_policy_count_sampled(p, s->link, flags);
	WRITE_ONCE(s->link, (s->link & DS_SLOT_NEXT) | flags);
	if (flags & DS_SLOT_MAIN)
		p->kept++;
	else
		p->staged++;
	if (!(flags & DS_SLOT_HEIR))
		ds_policy_enqueue(p, slot, p->epoch);
}

/* A new key is known to all but the queues. Epochs since its last use, or DS_GHOST_NONE. */
static u32 ds_policy_admit(struct ds_policy *p, u64 hash)
{
	u32 age;

	ds_policy_hear(p);
	if (ds_policy_is_sampled(p, hash))
		ds_policy_sample(p, ds_shadow_print(hash), false);
	ds_policy_count_miss(p);
	ds_policy_look(p);
	age = ds_ghost_take(&p->ghost, hash, ds_policy_ghost_epoch(p));
	if (age != DS_GHOST_NONE)
		ds_recency_miss(&p->recency, age);
	return age;
}

u32 ds_policy_miss(struct ds_policy *p, u32 key, u32 tier, u32 *victim)
{
	u32 slot, age, flags, uses;

	*victim = DS_POLICY_NONE;
	if (key >= DS_POLICY_KEYS)
		return DS_POLICY_NONE;
	if (p->base)
		return ds_policy_001_miss(p, key, tier, victim);

	age = ds_policy_admit(p, ds_policy_hash(key));
	flags = ds_policy_returns(p, age) ? DS_SLOT_MAIN : 0;
	if (ds_policy_fills(p)) {
		slot = ds_policy_fresh(p);
		ds_policy_install(p, slot, key, flags, 0);
		return slot;
	}
	slot = ds_policy_forgotten(p);
	if (slot == DS_POLICY_NONE && p->rule == DS_RULE_TWICE)
		slot = ds_policy_used_again(p);
	if (slot != DS_POLICY_NONE)
		flags |= DS_SLOT_HEIR;
	else
		slot = ds_policy_make_room(p, flags);
	if (slot == DS_POLICY_NONE)
		return slot;
	if (ds_policy_used(p, slot))
		*victim = ds_policy_key(p, slot);
	/* One that comes back has had its second use, and should not drive out who has not. */
	uses = p->rule == DS_RULE_TWICE && age != DS_GHOST_NONE;
	ds_policy_install(p, slot, key, flags, uses);
	return slot;
}

int ds_policy_forget(struct ds_policy *p, u32 slot)
{
	struct ds_policy_slot *s;

	if (slot >= p->capacity || !ds_policy_used(p, slot))
		return -EINVAL;
	s = &p->slots[slot];
	ds_policy_pin(p, slot, false);
	WRITE_ONCE(s->key_high, s->key_high & ~DS_SLOT_USED);
	p->forgotten++;
	if (p->base)
		return 0;
	if (s->link & DS_SLOT_MAIN)
		p->kept--;
	else
		p->staged--;
	return 0;
}

void ds_policy_rekey(struct ds_policy *p, u32 slot, u32 key)
{
	struct ds_policy_slot *s = &p->slots[slot];
	/* In document 001's modes it is the time of the last use. */
	u32 link = p->base ? p->base->now : READ_ONCE(s->link) & ~DS_SLOT_SAMPLED;

	WRITE_ONCE(s->key_low, (u8)key);
	WRITE_ONCE(s->key_high, (u16)((s->key_high & (DS_SLOT_USED | DS_SLOT_PINNED)) | key >> 8));
	if (ds_policy_is_sampled(p, ds_policy_hash(key)))
		link |= DS_SLOT_SAMPLED;
	if (!p->base)
		ds_policy_count_sampled(p, s->link, link);
	WRITE_ONCE(s->link, link);
	/* Document 001's modes have no better guess than how often the one before was used. */
	if (!p->base)
		WRITE_ONCE(s->heat, (u8)(READ_ONCE(s->heat) & ~DS_POLICY_USES));
}

/* In document 001's modes, which have no queues, there is a time in @link. */
static void ds_policy_arrive(struct ds_policy *p, struct ds_policy_slot *s)
{
	if (p->base || !(s->link & DS_SLOT_COMING))
		return;
	WRITE_ONCE(s->link, s->link & ~DS_SLOT_COMING);
	WRITE_ONCE(s->key_high, s->key_high & ~DS_SLOT_PINNED);
}

int ds_policy_pin(struct ds_policy *p, u32 slot, bool pinned)
{
	struct ds_policy_slot *s;
	u32 *others;

	if (slot >= p->capacity || !ds_policy_used(p, slot))
		return -EINVAL;
	s = &p->slots[slot];
	ds_policy_arrive(p, s);
	if (pinned == !!(s->key_high & DS_SLOT_PINNED))
		return 0;
	p->pinned += pinned ? 1 : -1;
	if (!p->base) {
		others = s->link & DS_SLOT_MAIN ? &p->kept : &p->staged;
		*others -= pinned ? 1 : -1;
	}
	WRITE_ONCE(s->key_high, s->key_high ^ DS_SLOT_PINNED);
	return 0;
}

void ds_policy_promise(struct ds_policy *p, u32 slot, u32 coming)
{
	struct ds_policy_slot *s = &p->slots[slot];

	if (p->base) {
		ds_policy_pin(p, slot, true);
		return;
	}
	ds_policy_pin(p, slot, false);
	WRITE_ONCE(s->link, s->link | DS_SLOT_COMING);
	WRITE_ONCE(s->key_high, s->key_high | DS_SLOT_PINNED);
	if (coming > p->coming) {
		p->coming = coming;
		ds_policy_set_window(p);
	}
}

/* ---- memory ---- */

/* A sample takes a time that grows with the size: there are fewer in a large cache. */
static u32 ds_policy_shadow_size(u32 capacity)
{
	u32 size = min(1u << (ilog2(capacity) + 2) / 2, capacity / 8);

	return min(max(size, DS_SHADOW_MIN), DS_SHADOW_MAX);
}

/* Of what 14 bytes a slot leave for it. */
static u32 ds_policy_ghost_keys(const struct ds_policy *p, u32 size)
{
	u64 rest = sizeof(*p) + (u64)p->capacity * sizeof(*p->slots) + ds_shadow_bytes(size);
	u64 budget = max((u64)p->capacity * DS_POLICY_BYTES, rest);
	u32 keys = min((u32)((budget - rest) / sizeof(u16)), DS_POLICY_GHOST_MOST * p->capacity);

	return max(keys, p->capacity / 2);
}

static int ds_policy_init_default(struct ds_policy *p)
{
	u32 i, size = ds_policy_shadow_size(p->capacity);
	int err;

	p->staging = DS_POLICY_NONE;
	p->aside = DS_POLICY_NONE;
	for (i = 0; i < DS_EPOCHS; i++)
		p->main[i] = DS_POLICY_NONE;
	p->share = DS_POLICY_SHARE_FIRST;
	p->rule = DS_RULE_S3FIFO;
	p->hottest = ds_policy_hottest(0);
	ds_recency_init(&p->recency);
	ds_policy_set_window(p);
	err = ds_shadow_init(&p->shadow, size, p->share);
	if (err)
		return err;
	p->sampled = ds_policy_usual_sample(p);
	return ds_ghost_init(&p->ghost, ds_policy_ghost_keys(p, size));
}

int ds_policy_init(struct ds_policy *p, u32 capacity, u32 mode)
{
	int err = -ENOMEM;

	if (capacity < DS_POLICY_CAPACITY_MIN || capacity > DS_POLICY_CAPACITY_MAX ||
	    mode >= DS_POLICY_MODES)
		return -EINVAL;
	memset(p, 0, sizeof(*p));
	p->capacity = capacity;
	p->run = DS_POLICY_NONE;
	p->hottest = DS_POLICY_NO_HEAT;
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

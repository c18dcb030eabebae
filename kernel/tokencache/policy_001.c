// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: replacement in L1 as document 001 has it.
 */
#include "policy.h"
#include "policy_adapt.h"
#include "tick.h"

#define DS_POLICY_CANDIDATES	16
#define DS_POLICY_WORDS		64	/* halved in a call */
#define DS_POLICY_TIME		(DS_SLOT_SAMPLED - 1)	/* of last use */

void ds_policy_001_normal(struct ds_policy_params *params, u32 capacity, bool adaptive)
{
	*params = (struct ds_policy_params) {
		.promote_to_l1_threshold = adaptive ? 1 : DS_POLICY_PROMOTE_TO_L1_THRESHOLD,
		.promote_to_l2_threshold = adaptive ? 1 : DS_POLICY_PROMOTE_TO_L2_THRESHOLD,
		.demote_from_l1_idle_ns = DS_POLICY_DEMOTE_FROM_L1_IDLE_NS,
		.demote_from_l2_idle_ns = DS_POLICY_DEMOTE_FROM_L2_IDLE_NS,
		.aging_interval = (u64)DS_POLICY_AGING_INTERVAL * capacity,
		.alpha = DS_POLICY_ALPHA,
		.heat_sampling = DS_POLICY_HEAT_SAMPLING,
	};
}

int ds_policy_001_init(struct ds_policy *p, bool adaptive)
{
	struct ds_policy_001 *b = ds_alloc(sizeof(*b));

	if (!b)
		return -ENOMEM;
	p->base = b;
	ds_policy_001_normal(&b->params, p->capacity, adaptive);
	b->adaptive = adaptive;
	b->follows = DS_POLICY_FOR_EVER;
	b->fit = 1;
	b->random = 1;
	b->halve_at = ~0ull;
	if (ds_sketch_init(&b->sketch, p->capacity))
		return -ENOMEM;
	if (!adaptive)
		return 0;
	if (ds_trials_init(&b->l1, p->capacity, ~0u, true))
		return -ENOMEM;
	p->sampled = b->l1.sampled;
	return 0;
}

int ds_policy_001_add_l2(struct ds_policy *p, u32 tokens)
{
	struct ds_trials *both;
	int ret;

	if (!p->base || !p->base->adaptive)
		return 0;
	both = &p->base->both;
	ret = ds_trials_init(both, p->capacity + tokens, p->sampled, false);
	/* An interval has few uses for a slot of both tiers, and few of these are in the sample. */
	both->span = (u8)min(1 + tokens / p->capacity, DS_TRIAL_SPAN);
	return ret;
}

void ds_policy_001_destroy(struct ds_policy *p)
{
	ds_trials_destroy(&p->base->both);
	ds_trials_destroy(&p->base->l1);
	ds_sketch_destroy(&p->base->sketch);
	ds_free(p->base);
}

u64 ds_policy_001_bytes(const struct ds_policy *p)
{
	const struct ds_policy_001 *b = p->base;

	return sizeof(*b) + (u64)b->sketch.width * DS_SKETCH_ROWS + ds_trials_bytes(&b->l1) +
	       ds_trials_bytes(&b->both);
}

/* ---- ageing ---- */

static void ds_policy_count_heat(struct ds_policy_001 *b, u32 heat)
{
	if (heat)
		b->heats[ilog2(heat)]++;
}

static void ds_policy_halve_slot(struct ds_policy *p, u32 slot)
{
	u8 *heat = &p->slots[slot].heat;

	if (p->slots[slot].key_high & DS_SLOT_USED)
		ds_policy_count_heat(p->base, READ_ONCE(*heat));
	p->base->in_sample += !!(READ_ONCE(p->slots[slot].link) & DS_SLOT_SAMPLED);
	WRITE_ONCE(*heat, READ_ONCE(*heat) / 2);
}

/* A row is enough to count those that are not in L1. */
static void ds_policy_halve_word(struct ds_policy_001 *b, u32 word)
{
	u32 i;

	for (i = 0; i < 8 && word < b->sketch.width / 8; i++)
		ds_policy_count_heat(b, b->sketch.counters[word * 8 + i]);
	ds_sketch_halve(&b->sketch, word);
}

/* The lowest heat of the hottest ones that fit into L1. */
static void ds_policy_fit(struct ds_policy *p)
{
	struct ds_policy_001 *b = p->base;
	u32 i = DS_POLICY_HEATS, hot = 0;

	while (i && hot + b->heats[i - 1] <= p->capacity)
		hot += b->heats[--i];
	b->fit = 1u << min(i, DS_POLICY_HEATS - 1u);
}

static void ds_policy_all_halved(struct ds_policy *p)
{
	ds_policy_fit(p);
	/* Those that were forgotten are a sample as good as the others. */
	if (p->fresh == p->capacity)
		ds_trials_resize(&p->base->l1, p->base->in_sample);
}

/* A slot counts as a word. Are there more? */
static bool ds_policy_halve_some(struct ds_policy *p)
{
	struct ds_policy_001 *b = p->base;
	u64 end = (u64)p->capacity + ds_sketch_words(&b->sketch);
	u32 i;

	for (i = 0; i < DS_POLICY_WORDS && b->halve_at < end; i++, b->halve_at++) {
		if (b->halve_at < p->capacity)
			ds_policy_halve_slot(p, (u32)b->halve_at);
		else
			ds_policy_halve_word(b, (u32)(b->halve_at - p->capacity));
		if (b->halve_at == end - 1)
			ds_policy_all_halved(p);
	}
	return b->halve_at < end;
}

/* Time has passed. */
static void ds_policy_tick_trials(struct ds_policy *p, u32 now, bool blocking)
{
	struct ds_policy_001 *b = p->base;
	u64 idle = b->params.demote_from_l1_idle_ns >> DS_POLICY_TICK_SHIFT;
	u32 passed = (now - b->now) & DS_POLICY_TIME;

	ds_policy_adapt_weigh(b, blocking);
	ds_policy_adapt_hear(p);
	ds_trials_tick(&b->l1, passed, idle < DS_POLICY_TIME ? (u32)idle : DS_POLICY_TIME);
}

/* How long it was from the tick before: as much of the time of a use since then is not known. */
static void ds_policy_tick_gap(struct ds_policy_001 *b, u32 now, u64 uses)
{
	u64 idle = b->params.demote_from_l1_idle_ns >> DS_POLICY_TICK_SHIFT;

	if (((now - b->window) & DS_POLICY_TIME) >= idle) {
		b->longest[1] = b->longest[0];
		b->longest[0] = 0;
		b->window = now;
	}
	if (uses != b->used)
		b->longest[0] = max(b->longest[0], (now - b->now) & DS_POLICY_TIME);
	b->used = uses;
}

bool ds_policy_tick(struct ds_policy *p, u64 now_ns, u64 uses, const struct ds_policy_load *load)
{
	u32 now = (u32)(now_ns >> DS_POLICY_TICK_SHIFT) & DS_POLICY_TIME;
	struct ds_policy_001 *b = p->base;
	bool more;

	if (!b)
		return false;
	if (b->adaptive)
		ds_policy_tick_trials(p, now, load->blocking);
	ds_policy_tick_gap(b, now, uses);
	WRITE_ONCE(b->now, now);
	more = ds_policy_halve_some(p);
	if (uses - b->uses < b->params.aging_interval)
		return false;
	b->uses = uses;
	/* Who begins again too early never comes to the last ones. */
	if (!more) {
		b->halve_at = 0;
		b->in_sample = 0;
		memset(b->heats, 0, sizeof(b->heats));
	}
	if (b->adaptive)
		ds_policy_adapt(b, load);
	return true;
}

int ds_policy_set_params(struct ds_policy *p, const struct ds_policy_params *params)
{
	if (!p->base ||
	    params->promote_to_l1_threshold - 1 >= DS_SKETCH_MOST ||
	    params->promote_to_l2_threshold - 1 >= DS_SKETCH_MOST ||
	    params->heat_sampling - 1 >= DS_SKETCH_MOST ||
	    params->demote_from_l1_idle_ns >> DS_POLICY_TICK_SHIFT == 0 || !params->aging_interval)
		return -EINVAL;
	if (params->promote_to_l1_threshold != p->base->params.promote_to_l1_threshold)
		ds_policy_adapt_anew(p->base, &p->base->l1);
	if (params->promote_to_l2_threshold != p->base->params.promote_to_l2_threshold)
		ds_policy_adapt_anew(p->base, &p->base->both);
	p->base->params = *params;
	return 0;
}

/* ---- replacement ---- */

static inline u32 ds_policy_idle_time(const struct ds_policy *p, u32 slot)
{
	return (p->base->now - READ_ONCE(p->slots[slot].link)) & DS_POLICY_TIME;
}

/* How many of the candidates were used longer ago. */
static u32 ds_policy_rank(const struct ds_policy *p, const u32 *candidates, u32 count, u32 i)
{
	u32 j, idle = ds_policy_idle_time(p, candidates[i]), rank = 0;

	for (j = 0; j < count; j++)
		rank += ds_policy_idle_time(p, candidates[j]) > idle;
	return rank;
}

/* Of equal ones, that of who was used longer ago is lower. */
static u64 ds_policy_score(const struct ds_policy *p, const u32 *candidates, u32 count, u32 i)
{
	u64 score = READ_ONCE(p->slots[candidates[i]].heat) +
		    (u64)p->base->params.alpha * ds_policy_rank(p, candidates, count, i);

	return score << 32 | (DS_POLICY_TIME - ds_policy_idle_time(p, candidates[i]));
}

static u32 ds_policy_least(const struct ds_policy *p, const u32 *candidates, u32 count)
{
	u64 score, least = ~0ull;
	u32 i, slot = DS_POLICY_NONE;

	for (i = 0; i < count; i++) {
		score = ds_policy_score(p, candidates, count, i);
		if (score >= least)
			continue;
		least = score;
		slot = candidates[i];
	}
	return slot;
}

/* If nearly all are pinned it may be that none is found. */
static u32 ds_policy_001_victim(struct ds_policy *p)
{
	u32 candidates[DS_POLICY_CANDIDATES], count = 0, tries, slot;

	for (tries = 0; tries < 4 * DS_POLICY_CANDIDATES && count < DS_POLICY_CANDIDATES; tries++) {
		slot = ds_random_below(&p->base->random, p->capacity);
		if (!(p->slots[slot].key_high & DS_SLOT_PINNED))
			candidates[count++] = slot;
	}
	return ds_policy_least(p, candidates, count);
}

/* The gaps are not all the same, as uses come in patterns. */
u32 ds_policy_001_heat(struct ds_policy *p, u64 hash)
{
	struct ds_policy_001 *b = p->base;
	u32 every = b->params.heat_sampling;

	if (every > 1 && b->unsampled) {
		b->unsampled--;
		return ds_sketch_count(&b->sketch, hash);
	}
	if (every > 1)
		b->unsampled = ds_random_below(&b->random, 2 * every - 1);
	return ds_sketch_add(&b->sketch, hash, every);
}

void ds_policy_001_met(struct ds_policy *p, u32 key, u32 tier)
{
	u64 hash = ds_policy_hash(key);

	if (!p->base || !p->base->adaptive)
		return;
	ds_policy_adapt_hear(p);
	ds_policy_adapt_try(p, hash, ds_policy_001_heat(p, hash), tier);
}

u32 ds_policy_001_miss(struct ds_policy *p, u32 key, u32 tier, u32 *victim)
{
	struct ds_policy_001 *b = p->base;
	u64 hash = ds_policy_hash(key);
	u32 uses = ds_policy_001_heat(p, hash), slot;
	struct ds_policy_slot *s;

	ds_policy_adapt_hear(p);
	ds_policy_adapt_try(p, hash, uses, tier);
	ds_policy_halve_some(p);
	if (uses < b->params.promote_to_l1_threshold)
		return DS_POLICY_NONE;
	slot = p->fresh < p->capacity ? p->fresh++ : ds_policy_forgotten(p);
	if (slot == DS_POLICY_NONE) {
		slot = ds_policy_001_victim(p);
		if (slot == DS_POLICY_NONE)
			return slot;
		if (p->slots[slot].key_high & DS_SLOT_USED)
			*victim = ds_policy_key(p, slot);
		else
			p->forgotten--;
	}
	s = &p->slots[slot];
	s->key_low = (u8)key;
	s->key_high = (u16)(key >> 8 | DS_SLOT_USED);
	WRITE_ONCE(s->heat, (u8)uses);
	WRITE_ONCE(s->link, b->now | (ds_policy_is_sampled(p, hash) ? DS_SLOT_SAMPLED : 0));
	return slot;
}

/*
 * A use says when the tick before it was, and may be as late as the next one. Which that was is not
 * known, but if it came before those of @longest, the slot was idle for long enough all the same.
 */
static u64 ds_policy_idle_ns(const struct ds_policy *p, u32 slot)
{
	u32 late = max(p->base->longest[0], p->base->longest[1]);
	u32 idle = ds_policy_idle_time(p, slot);

	return (u64)(idle - min(idle, late)) << DS_POLICY_TICK_SHIFT;
}

u32 ds_policy_idle(struct ds_policy *p)
{
	struct ds_policy_001 *b = p->base;
	u32 looks = b ? min(p->fresh, DS_TICK_LOOK) : 0, looked, slot;

	for (looked = 0; looked < looks; looked++) {
		slot = b->idle_at;
		b->idle_at = (slot + 1) % p->fresh;
		if ((p->slots[slot].key_high & (DS_SLOT_USED | DS_SLOT_PINNED)) != DS_SLOT_USED ||
		    ds_policy_idle_ns(p, slot) < b->params.demote_from_l1_idle_ns)
			continue;
		ds_sketch_lower(&b->sketch, ds_policy_hash(ds_policy_key(p, slot)));
		return slot;
	}
	return DS_POLICY_NONE;
}

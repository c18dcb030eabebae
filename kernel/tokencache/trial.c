// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: which threshold of promotion would do best?
 */
#include "trial.h"

#define DS_TRIAL_CANDIDATES	16u	/* of policy_001.c */
#define DS_TRIAL_NOWHERE	(~0u)
#define DS_TRIAL_SMALL		512u	/* entries of a cache */
#define DS_TRIAL_MAX_BOTH	192u	/* entries, of both tiers together */
#define DS_TRIAL_SPARE		8u	/* entries, for when more of L1 is in the sample */
#define DS_TRIAL_LATEST_MIN	16u	/* keys that may be on their way at once; */
#define DS_TRIAL_LATEST_MAX	256u	/* of a small cache more are in the sample: */
#define DS_TRIAL_LATEST_IN	131072u	/* so many, by the capacity */
#define DS_TRIAL_USES		0x200000u	/* in a span: then as if it had ended */
#define DS_TRIAL_BAND		24u	/* of the misses or hits one is what makes a difference */
#define DS_TRIAL_TRIFLE		512u	/* of the uses one is too little for a difference, */
#define DS_TRIAL_FEW		6	/* as are so many, of however few */
#define DS_TRIAL_SETTLED	10	/* intervals, after which a change takes more */
#define DS_TRIAL_LONG		32u	/* intervals, after which all that was seen counts; */
#define DS_TRIAL_LONG_AGO	64u	/* after so many what was before counts half */
#define DS_TRIAL_SOON		12u	/* intervals, in which a change back raises doubt */
#define DS_TRIAL_ONE		32768u	/* a share: 1 */
#define DS_TRIAL_KNOWN		5u	/* intervals, after which there is a usual share of hits */
#define DS_TRIAL_USUAL		2	/* an interval counts as one of so many, in what is usual */
#define DS_TRIAL_TELLING	100u	/* uses, of which the share of hits is known */
#define DS_TRIAL_UNUSUAL	64u	/* 8 standard deviations, squared, */
#define DS_TRIAL_RARE		512ull	/* of a share of at least that, */
#define DS_TRIAL_APART		1024u	/* and so much, and an eighth: then it is unusual */
#define DS_TRIAL_ENOUGH		1000u	/* uses that tell which threshold is better */
#define DS_TRIAL_DOUBTS		5u	/* at most; each but the first doubles a variance */
#define DS_TRIAL_LASTS		32u	/* intervals that a doubt lasts; doubled at most */
#define DS_TRIAL_LONGER		6u	/* times */
#define DS_TRIAL_RAISE		16u	/* 4 standard deviations, squared; 4.9 once settled */
#define DS_TRIAL_LOWER		30u	/* 5.5; 6.7 */

static_assert(DS_TRIAL_MAX <= 255, "of ds_trial.unused");
static_assert(DS_TRIALS <= 16, "of ds_trial_taken.takers");

const u8 ds_trial_thresholds[DS_TRIALS] = { 1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 64, 128 };

static u32 ds_trials_latest_bytes(const struct ds_trials *t)
{
	return sizeof(struct ds_trial_latest) + t->latest_room * sizeof(struct ds_trial_taken);
}

static u64 ds_trials_bytes_of(const struct ds_trials *t)
{
	return ds_trials_latest_bytes(t) +
	       DS_TRIALS * (sizeof(struct ds_trial) +
			    (u64)t->room * (sizeof(u16) + (t->by_heat ? sizeof(u8) : 0)));
}

/*
 * Found by trying. In a small cache more of them see a use, and the search takes longer; for L1
 * (@by_heat) as many as 14 bytes for each of 8192 slots have room for.
 */
static u32 ds_trials_size(u32 capacity, bool by_heat)
{
	if (by_heat)
		return capacity < DS_TRIAL_SMALL ? DS_TRIAL_MIN : DS_TRIAL_MAX - DS_TRIAL_SPARE;
	return min(max(1u << (ilog2(capacity) + 5) / 2, DS_TRIAL_MIN), DS_TRIAL_MAX_BOTH);
}

static u32 ds_trials_latest_room(u32 capacity)
{
	u32 room = min(DS_TRIAL_LATEST_IN / capacity, DS_TRIAL_LATEST_MAX);

	return 1u << ilog2(max(room, DS_TRIAL_LATEST_MIN));
}

int ds_trials_init(struct ds_trials *t, u32 capacity, u32 most, bool by_heat)
{
	u16 *tags;
	u8 *heats;
	u32 i;

	memset(t, 0, sizeof(*t));
	t->size = ds_trials_size(capacity, by_heat);
	t->sampled = (u32)min(((u64)t->size << 32) / capacity, (u64)most);
	t->size = max((u32)(((u64)t->sampled * capacity + 0xffffffff) >> 32), 1u);
	t->random = 1;
	t->span = 1;
	t->by_heat = by_heat;
	t->room = by_heat ? min(t->size + t->size / 8, DS_TRIAL_MAX) : t->size;
	t->latest_room = ds_trials_latest_room(capacity);
	t->trials = ds_alloc(ds_trials_bytes_of(t));
	if (!t->trials)
		return -ENOMEM;
	t->latest = (struct ds_trial_latest *)(t->trials + DS_TRIALS);
	tags = (u16 *)((u8 *)t->latest + ds_trials_latest_bytes(t));
	heats = (u8 *)(tags + (u64)t->room * DS_TRIALS);
	for (i = 0; i < DS_TRIALS; i++) {
		t->trials[i].tags = tags + (u64)t->room * i;
		t->trials[i].heats = by_heat ? heats + (u64)t->room * i : NULL;
	}
	return 0;
}

void ds_trials_destroy(struct ds_trials *t)
{
	ds_free(t->trials);
	memset(t, 0, sizeof(*t));
}

u64 ds_trials_bytes(const struct ds_trials *t)
{
	return t->trials ? ds_trials_bytes_of(t) : 0;
}

/* ---- a use ---- */

static u32 ds_trial_find(const struct ds_trial *m, u16 tag)
{
	u32 i;

	for (i = m->count; i-- > 0;)
		if (m->tags[i] == tag)
			return i;
	return DS_TRIAL_NOWHERE;
}

static void ds_trial_remove(struct ds_trial *m, u32 at)
{
	u32 i;

	m->count--;
	memmove(m->tags + at, m->tags + at + 1, (m->count - at) * sizeof(*m->tags));
	if (m->heats)
		memmove(m->heats + at, m->heats + at + 1, m->count - at);
	for (i = 0; i < DS_TRIAL_MARKS; i++)
		m->unused[i] -= at < m->unused[i];
}

static void ds_trial_append(struct ds_trial *m, u16 tag, u32 heat)
{
	if (m->heats)
		m->heats[m->count] = (u8)min(heat, 255u);
	m->tags[m->count++] = tag;
}

/* One in each 16th of them, by last use: its rank among them is known. */
static u32 ds_trials_victim(struct ds_trials *t, const struct ds_trial *m, u32 alpha)
{
	u32 count = min(DS_TRIAL_CANDIDATES, m->count), rank, at, from, victim = 0;
	u64 score, least = ~0ull;

	for (rank = 0; rank < count && m->heats; rank++) {
		from = rank * m->count / count;
		at = from + ds_random_below(&t->random, (rank + 1) * m->count / count - from);
		score = m->heats[at] + (u64)alpha * rank;
		if (score >= least)
			continue;
		least = score;
		victim = at;
	}
	return victim;
}

static bool ds_trial_hit(struct ds_trial *m, u16 tag)
{
	u32 heat = 0, at = ds_trial_find(m, tag);

	if (at == DS_TRIAL_NOWHERE)
		return false;
	if (m->heats)
		heat = m->heats[at] + 1;
	ds_trial_remove(m, at);
	ds_trial_append(m, tag, heat);
	return true;
}

static struct ds_trial_taken *ds_trials_taken(const struct ds_trials *t, u32 i)
{
	return &t->latest->of[i & (t->latest_room - 1)];
}

static bool ds_trial_comes(const struct ds_trial_taken *taken, u32 at)
{
	return taken->until - at <= DS_TRIAL_ON_ITS_WAY;
}

/* The miniatures to which a key is on its way. Those that have come are forgotten. */
static u32 ds_trials_waiting(const struct ds_trials *t, u16 tag, u32 at)
{
	struct ds_trial_latest *l = t->latest;
	u32 i, waiting = 0;

	while (l->oldest != l->next && !ds_trial_comes(ds_trials_taken(t, l->oldest), at))
		l->oldest++;
	for (i = l->oldest; i != l->next; i++) {
		const struct ds_trial_taken *taken = ds_trials_taken(t, i);

		if (taken->tag == tag && ds_trial_comes(taken, at))
			waiting |= taken->takers;
	}
	return waiting;
}

/* The place of one who comes some time; if there is none, of who was taken in first. */
static struct ds_trial_taken *ds_trials_take(struct ds_trials *t)
{
	struct ds_trial_latest *l = t->latest;

	l->oldest += l->next - l->oldest == t->latest_room;
	return ds_trials_taken(t, l->next++);
}

static void ds_trial_halve(struct ds_trial_tally *tally)
{
	tally->hits /= 2;
	tally->gain /= 2;
	tally->apart /= 2;
}

static struct ds_trial_tally ds_trial_sum(const struct ds_trial_tally *a,
					  const struct ds_trial_tally *b)
{
	return (struct ds_trial_tally) {
		.hits = a->hits + b->hits,
		.gain = a->gain + b->gain,
		.apart = a->apart + b->apart,
	};
}

static void ds_trials_halve_before(struct ds_trials *t)
{
	u32 i;

	for (i = 0; i < DS_TRIALS; i++)
		ds_trial_halve(&t->trials[i].before);
	t->uses_before /= 2;
}

/* What does not count any more lately was before. */
static void ds_trials_halve(struct ds_trials *t)
{
	u32 i, at;

	if (!t->trials)
		return;
	for (i = 0; i < DS_TRIALS; i++) {
		struct ds_trial *m = &t->trials[i];

		for (at = 0; at < m->count && m->heats; at++)
			m->heats[at] /= 2;
		ds_trial_halve(&m->lately);
		m->before = ds_trial_sum(&m->before, &m->lately);
	}
	t->uses /= 2;
	t->uses_before += t->uses;
	if (t->uses_before >= DS_TRIAL_USES)
		ds_trials_halve_before(t);
}

/* Of this interval; an end of it there need not be. */
static void ds_trials_count(struct ds_trials *t, u32 hits)
{
	if (t->uses_now >= DS_TRIAL_USES)
		return;
	t->uses_now++;
	t->lowest.now += hits & 1;
	t->in_use.now += hits >> t->used & 1;
}

void ds_trials_access(struct ds_trials *t, u64 hash, u32 uses, u32 alpha, u32 at)
{
	u16 tag = (u16)(hash >> 8);
	u32 waiting = ds_trials_waiting(t, tag, at), takers = 0, hits = 0, i;
	s32 gain[DS_TRIALS];
	s64 apart;

	for (i = 0; i < DS_TRIALS; i++) {
		struct ds_trial *m = &t->trials[i];
		bool found = ds_trial_hit(m, tag), hit = found && !(waiting >> i & 1);

		m->lately.hits += hit;
		hits |= (u32)hit << i;
		gain[i] = hit ? DS_TRIAL_HIT : 0;
		if (found || uses < ds_trial_thresholds[i])
			continue;
		if (m->count >= t->size)
			ds_trial_remove(m, ds_trials_victim(t, m, alpha));
		ds_trial_append(m, tag, uses);
		gain[i] -= (s32)t->move_cost;
		takers |= 1u << i;
	}
	if (takers && t->move_lasts)
		*ds_trials_take(t) = (struct ds_trial_taken) {
			.until = at + t->move_lasts,
			.tag = tag,
			.takers = (u16)takers,
		};
	for (i = 0; i < DS_TRIALS; i++) {
		apart = gain[i] - gain[t->used];
		t->trials[i].lately.gain += gain[i];
		t->trials[i].lately.apart += (u64)(apart * apart);
	}
	ds_trials_count(t, hits);
	if (++t->uses >= DS_TRIAL_USES)
		ds_trials_halve(t);
}

/* So many marks in time are now. */
static void ds_trial_mark(struct ds_trial *m, u32 marks)
{
	memmove(m->unused + marks, m->unused, DS_TRIAL_MARKS - marks);
	memset(m->unused, (int)m->count, marks);
}

/* Before the last mark stays the one of the last tick: who was used since then is not idle. */
void ds_trials_tick(struct ds_trials *t, u32 passed, u32 idle)
{
	u32 unit = max(idle / DS_TRIAL_MARKS, 1u), marks, unused, i;

	t->since += passed;
	marks = min(t->since / unit, DS_TRIAL_MARKS - 1);
	t->since %= unit;
	t->due += t->sampled;
	for (i = 0; i < DS_TRIALS; i++) {
		ds_trial_mark(&t->trials[i], marks);
		unused = t->trials[i].unused[DS_TRIAL_MARKS - 1];
		if (unused && t->due < t->sampled)
			ds_trial_remove(&t->trials[i], ds_random_below(&t->random, unused));
	}
}

/* ---- judgement ---- */

u32 ds_trials_index(u32 threshold)
{
	u32 i = DS_TRIALS - 1;

	while (i && ds_trial_thresholds[i] > threshold)
		i--;
	return i;
}

/* By what is a miniature judged: by what was seen lately, or in a long time? */
static struct ds_trial_tally ds_trials_seen(const struct ds_trials *t, u32 index, bool in_long)
{
	const struct ds_trial *m = &t->trials[index];

	return in_long ? ds_trial_sum(&m->lately, &m->before) : m->lately;
}

static s32 ds_trials_lead(const struct ds_trials *t, u32 index, bool in_long)
{
	return ds_trials_seen(t, index, in_long).gain - ds_trials_seen(t, t->used, in_long).gain;
}

/* Hits or misses with the threshold in use, whichever are fewer. */
static u32 ds_trials_fewer(const struct ds_trials *t, bool in_long)
{
	u32 hits = ds_trials_seen(t, t->used, in_long).hits;

	return min(hits, t->uses + (in_long ? t->uses_before : 0) - hits);
}

/* A change back soon after a change: neither is much better than the other one. */
static void ds_trials_doubt(struct ds_trials *t, s8 way)
{
	if (t->way == -way && t->steady < DS_TRIAL_SOON) {
		t->doubts = (u8)min(t->doubts + 1u, DS_TRIAL_DOUBTS);
		t->longer = (u8)min(t->longer + 1u, DS_TRIAL_LONGER);
	}
	t->way = way;
}

/*
 * Doubts are of a load. Where it settles in another place, that is another load; else they fade,
 * but each one that proves right makes those after it last longer.
 */
static void ds_trials_trust(struct ds_trials *t)
{
	if (t->steady == DS_TRIAL_SOON && t->used != t->settled) {
		t->settled = (u8)t->used;
		t->doubts = 0;
		t->longer = 0;
	}
	if (t->doubts && t->steady % (DS_TRIAL_LASTS << t->longer) == 0)
		t->doubts--;
}

/* How often others differed from it is not known exactly. */
void ds_trials_use(struct ds_trials *t, u32 index)
{
	u64 apart;
	u32 i;

	if (!t->trials || index == t->used)
		return;
	apart = t->trials[index].lately.apart;
	for (i = 0; i < DS_TRIALS; i++) {
		t->trials[i].lately.apart += apart;
		t->trials[i].before = (struct ds_trial_tally) { 0 };
	}
	t->trials[index].lately.apart = 0;
	t->uses_before = 0;
	t->in_use = (struct ds_trial_share){ 0 };
	ds_trials_doubt(t, index > t->used ? 1 : -1);
	t->used = index;
	t->steady = 0;
}

static bool ds_trial_is_unusual(const struct ds_trial_share *s, u32 uses)
{
	u64 now = (u64)s->now * DS_TRIAL_ONE / uses, usual = s->usual;
	u64 apart = now > usual ? now - usual : usual - now;
	u64 rare = min(usual, DS_TRIAL_ONE - usual);
	u64 chance = DS_TRIAL_UNUSUAL * DS_TRIAL_ONE * max(rare, DS_TRIAL_RARE);

	return s->known == DS_TRIAL_KNOWN && apart > DS_TRIAL_APART + rare / 8 &&
	       apart * apart * uses > chance;
}

/* A new one is as it was in its last interval. */
static void ds_trial_learn(struct ds_trial_share *s, u32 uses)
{
	s32 now = (s32)((u64)s->now * DS_TRIAL_ONE / uses), lasting = now - s->usual;

	if (s->known == DS_TRIAL_KNOWN)
		lasting /= DS_TRIAL_USUAL;
	s->usual = (u16)(s->usual + lasting);
	s->known = (u16)min(s->known + 1u, DS_TRIAL_KNOWN);
	s->now = 0;
}

bool ds_trials_see(struct ds_trials *t)
{
	bool changed;

	if (!t->trials || t->uses_now < DS_TRIAL_TELLING)
		return false;
	changed = ds_trial_is_unusual(&t->lowest, t->uses_now) ||
		  ds_trial_is_unusual(&t->in_use, t->uses_now);
	if (changed) {
		t->lowest.known = 0;
		t->in_use.known = 0;
		t->uses_since = 0;
	}
	ds_trial_learn(&t->lowest, t->uses_now);
	ds_trial_learn(&t->in_use, t->uses_now);
	t->uses_since = min(t->uses_since + t->uses_now, DS_TRIAL_USES);
	t->uses_now = 0;
	return changed;
}

bool ds_trials_have_seen_enough(const struct ds_trials *t)
{
	return !t->trials || t->uses_since >= DS_TRIAL_ENOUGH;
}

/* One change back may be a step too far that was made good, two are a pattern. */
bool ds_trials_in_doubt(const struct ds_trials *t)
{
	return t->doubts > 1;
}

void ds_trials_forget_doubts(struct ds_trials *t)
{
	t->doubts = 0;
	t->longer = 0;
	t->way = 0;
}

/* It leads. */
static bool ds_trials_is_chance(const struct ds_trials *t, u32 index, bool in_long)
{
	u64 chance = index > t->used ? DS_TRIAL_RAISE : DS_TRIAL_LOWER;
	s64 lead = ds_trials_lead(t, index, in_long);

	if (!in_long && t->steady > DS_TRIAL_SETTLED)
		chance = chance * 3 / 2;
	if (ds_trials_in_doubt(t))
		chance <<= t->doubts - 1;
	return (u64)(lead * lead) <= chance * ds_trials_seen(t, index, in_long).apart;
}

static u32 ds_trials_best_of(const struct ds_trials *t, u32 first, u32 last, bool in_long)
{
	u32 i, best = t->used, hits = in_long ? ds_trials_seen(t, best, true).hits : 0;
	s32 most = (s32)(ds_trials_fewer(t, in_long) / DS_TRIAL_BAND * DS_TRIAL_HIT), lead;

	for (i = first; i <= last; i++) {
		lead = ds_trials_lead(t, i, in_long);
		if (lead <= most || ds_trials_seen(t, i, in_long).hits < hits ||
		    ds_trials_is_chance(t, i, in_long))
			continue;
		most = lead;
		best = i;
	}
	return best;
}

u32 ds_trials_best(const struct ds_trials *t)
{
	u32 best = t->used;

	if (!t->trials)
		return best;
	best = ds_trials_best_of(t, 0, DS_TRIALS - 1, false);
	if (best == t->used && t->steady >= DS_TRIAL_LONG)
		best = ds_trials_best_of(t, best + 1, min(best + 1, DS_TRIALS - 1), true);
	return best;
}

s32 ds_trials_ahead(const struct ds_trials *t, u32 index, u32 other)
{
	if (!t->trials)
		return 0;
	return ds_trials_lead(t, index, false) - ds_trials_lead(t, other, false);
}

/* A trifle, and so many 256ths of what is rarer. */
static s32 ds_trials_margin(const struct ds_trials *t, u32 parts)
{
	s32 trifle = max((s32)(t->uses / DS_TRIAL_TRIFLE), DS_TRIAL_FEW);

	return (trifle + (s32)((u64)ds_trials_fewer(t, false) * parts / 256)) * DS_TRIAL_HIT;
}

bool ds_trials_beats(const struct ds_trials *t, u32 index, u32 other, u32 parts)
{
	return t->trials && ds_trials_ahead(t, index, other) > ds_trials_margin(t, parts);
}

bool ds_trials_is_worse(const struct ds_trials *t, u32 index, u32 parts)
{
	s32 most = 0;
	u32 i;

	if (!t->trials)
		return false;
	for (i = 0; i < DS_TRIALS; i++)
		most = max(most, ds_trials_lead(t, i, false));
	return ds_trials_lead(t, index, false) < most - ds_trials_margin(t, parts);
}

/* By a part of the difference, as that is chance. Those leave that were used longest ago. */
void ds_trials_resize(struct ds_trials *t, u32 size)
{
	u32 i;

	if (!t->trials)
		return;
	size = min(max(size, 1u), t->room);
	if (size < t->size)
		t->size -= (t->size - size + 3) / 4;
	else
		t->size += (size - t->size) / 4;
	for (i = 0; i < DS_TRIALS; i++)
		while (t->trials[i].count > t->size)
			ds_trial_remove(&t->trials[i], 0);
}

void ds_trials_age(struct ds_trials *t)
{
	t->steady++;
	ds_trials_trust(t);
	if (t->trials && t->steady % DS_TRIAL_LONG_AGO == 0)
		ds_trials_halve_before(t);
	if (++t->waned < t->span)
		return;
	t->waned = 0;
	ds_trials_halve(t);
}

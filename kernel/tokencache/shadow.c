// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: which rule of replacement would do best?
 */
#include "shadow.h"

#define DS_SHADOW_PRINT_SHIFT	(16 - DS_SHADOW_PRINT_BITS)
#define DS_SHADOW_STATE		3	/* the bits below; S3FIFO: 0 to 3 uses */
#define DS_SHADOW_GONE		0	/* LIRS: in the stack only */
#define DS_SHADOW_KEPT		1
#define DS_SHADOW_GUEST		2
#define DS_SHADOW_VISITED	1	/* SIEVE */
#define DS_SHADOW_LANES		0x0001000100010001ull	/* four entries */
#define DS_SHADOW_ONE		64	/* access */
#define DS_SHADOW_CHANCE	4ull	/* squares of standard deviations */
#define DS_SHADOW_CHANCE_YOUNG	7ull	/* miniatures that fill still say little */
#define DS_SHADOW_CHANCE_SIEVE	9ull
#define DS_SHADOW_YOUNG		16	/* judgements */
#define DS_SHADOW_TRUST		25ull
#define DS_SHADOW_AGREES	4u	/* accesses */
#define DS_SHADOW_SETTLED	2	/* judgements, before which a change does not show */
#define DS_SHADOW_CHANGES	4	/* that count */
#define DS_SHADOW_STEADY	64	/* judgements, after which one is forgotten */
#define DS_SHADOW_CLEARED	8	/* judgements, in which TWICE gets rid of the used */
#define DS_SHADOW_REMEMBERED	4	/* sizes of a miniature, in LIRS's stack */

/* ---- lists ---- */

/* Of S3FIFO, of either kind. Rounded: of few entries one is much of what main has. */
static inline u32 ds_shadow_staging(u32 size, enum ds_shadow_list staging)
{
	return max((size * (staging == DS_SHADOW_STAGING ? 18 : 4) + 50) / 100, 1u);
}

static inline u32 ds_shadow_ghost(u32 size, enum ds_shadow_list ghost)
{
	return ghost == DS_SHADOW_GHOST ? size : size * 2 / 3;
}

static inline u32 ds_shadow_guests(u32 size, u32 share)
{
	return max(size * share / DS_SHADOW_SHARE_ONE, 2u);
}

/* One more where one comes before another leaves. */
static u32 ds_shadow_room(u32 size, enum ds_shadow_list list)
{
	switch (list) {
	case DS_SHADOW_STAGING:
	case DS_SHADOW_SHORT_STAGING:
		return ds_shadow_staging(size, list);
	case DS_SHADOW_CAME:
	case DS_SHADOW_ONCE:
	case DS_SHADOW_RECENT:
	case DS_SHADOW_SIEVED:
	case DS_SHADOW_MAIN:
	case DS_SHADOW_SHORT_MAIN:
		return size;
	case DS_SHADOW_GHOST:
	case DS_SHADOW_SHORT_GHOST:
		return ds_shadow_ghost(size, list) + 1;
	case DS_SHADOW_STACK:
		return DS_SHADOW_REMEMBERED * size + 1;
	default:
		return ds_shadow_guests(size, DS_SHADOW_SHARE_MAX) + 1;
	}
}

static inline u16 *ds_shadow_list(const struct ds_shadow *s, enum ds_shadow_list list)
{
	return (u16 *)(s->apart + DS_SHADOW_PAIRS) + s->lists[list].first;
}

/* Where a key is, -1 if it is not there: it is once at most. Four entries at a time. */
static int ds_shadow_find(const struct ds_shadow *s, enum ds_shadow_list list, u32 print)
{
	const u16 *at = ds_shadow_list(s, list);
	u64 four, other, none, all = DS_SHADOW_LANES * (print << DS_SHADOW_PRINT_SHIFT);
	u32 i;

	for (i = 0; i < s->lists[list].count; i += 4) {
		memcpy(&four, at + i, sizeof(four));
		other = (four ^ all) & ~(DS_SHADOW_LANES * DS_SHADOW_STATE);
		/* The top bit of a lane: it is 0. Right for the first one that is. */
		none = (other - DS_SHADOW_LANES) & ~other & (DS_SHADOW_LANES << 15);
		if (!none)
			continue;
		i += ilog2(none & -none) / 16;
		return i < s->lists[list].count ? (int)i : -1;
	}
	return -1;
}

static u16 ds_shadow_remove(struct ds_shadow *s, enum ds_shadow_list list, u32 i)
{
	u16 *at = ds_shadow_list(s, list) + i;
	u16 entry = *at;

	s->lists[list].count--;
	memmove(at, at + 1, (s->lists[list].count - i) * sizeof(*at));
	return entry;
}

static void ds_shadow_push(struct ds_shadow *s, enum ds_shadow_list list, u32 print, u32 state)
{
	ds_shadow_list(s, list)[s->lists[list].count++] =
		(u16)(print << DS_SHADOW_PRINT_SHIFT | state);
}

/* ---- FIFO, TWICE, LRU ---- */

static bool ds_shadow_fifo(struct ds_shadow *s, u32 print)
{
	if (ds_shadow_find(s, DS_SHADOW_CAME, print) >= 0)
		return true;
	if (s->lists[DS_SHADOW_CAME].count == s->size)
		ds_shadow_remove(s, DS_SHADOW_CAME, 0);
	ds_shadow_push(s, DS_SHADOW_CAME, print, 0);
	return false;
}

/*
 * Who was used again is the next to leave: here he leaves at once. Who left and comes back has
 * been used again, too: @known.
 */
static bool ds_shadow_twice(struct ds_shadow *s, u32 print, bool known)
{
	int i = ds_shadow_find(s, DS_SHADOW_ONCE, print);

	if (i >= 0) {
		ds_shadow_remove(s, DS_SHADOW_ONCE, i);
		return true;
	}
	if (known)
		return false;
	if (s->lists[DS_SHADOW_ONCE].count == s->size)
		ds_shadow_remove(s, DS_SHADOW_ONCE, 0);
	ds_shadow_push(s, DS_SHADOW_ONCE, print, 0);
	return false;
}

static bool ds_shadow_lru(struct ds_shadow *s, u32 print)
{
	int i = ds_shadow_find(s, DS_SHADOW_RECENT, print);

	if (i >= 0)
		ds_shadow_remove(s, DS_SHADOW_RECENT, i);
	else if (s->lists[DS_SHADOW_RECENT].count == s->size)
		ds_shadow_remove(s, DS_SHADOW_RECENT, 0);
	ds_shadow_push(s, DS_SHADOW_RECENT, print, 0);
	return i >= 0;
}

/* ---- S3FIFO, of either kind: @staging, and the two lists behind it ---- */

static bool ds_shadow_use(struct ds_shadow *s, enum ds_shadow_list list, u32 print)
{
	int i = ds_shadow_find(s, list, print);
	u16 *at = ds_shadow_list(s, list);

	if (i >= 0 && (at[i] & DS_SHADOW_STATE) != DS_SHADOW_STATE)
		at[i]++;
	return i >= 0;
}

/* The oldest of a queue goes on, or leaves. */
static void ds_shadow_step(struct ds_shadow *s, enum ds_shadow_list staging, bool staged)
{
	enum ds_shadow_list main = staging + 1, ghost = staging + 2;
	u16 entry = ds_shadow_remove(s, staged ? staging : main, 0);
	u32 print = entry >> DS_SHADOW_PRINT_SHIFT, uses = entry & DS_SHADOW_STATE;
	u32 kept = s->lists[main].count + ds_shadow_staging(s->size, staging);

	if (staged ? uses > 1 || kept < s->size : uses > 0) {
		ds_shadow_push(s, main, print, staged ? 0 : uses - 1);
		return;
	}
	ds_shadow_push(s, ghost, print, 0);
	if (s->lists[ghost].count > ds_shadow_ghost(s->size, ghost))
		ds_shadow_remove(s, ghost, 0);
}

static bool ds_shadow_s3fifo(struct ds_shadow *s, enum ds_shadow_list staging, u32 print)
{
	enum ds_shadow_list main = staging + 1, ghost = staging + 2;
	u32 staged;
	bool full;
	int back;

	if (ds_shadow_use(s, staging, print) || ds_shadow_use(s, main, print))
		return true;
	back = ds_shadow_find(s, ghost, print);
	if (back >= 0)
		ds_shadow_remove(s, ghost, back);
	for (;;) {
		staged = s->lists[staging].count;
		full = staged + s->lists[main].count >= s->size;
		if (back < 0 && staged >= ds_shadow_staging(s->size, staging))
			ds_shadow_step(s, staging, true);
		else if (full)
			ds_shadow_step(s, staging, false);
		else
			break;
	}
	ds_shadow_push(s, back >= 0 ? main : staging, print, 0);
	return false;
}

/* ---- LIRS ---- */

/* Below the last kept one nobody can come back soon enough. */
static void ds_shadow_prune(struct ds_shadow *s)
{
	u16 *stack = ds_shadow_list(s, DS_SHADOW_STACK);
	u32 i = 0;

	while (i < s->lists[DS_SHADOW_STACK].count &&
	       (stack[i] & DS_SHADOW_STATE) != DS_SHADOW_KEPT)
		i++;
	s->lists[DS_SHADOW_STACK].count -= i;
	memmove(stack, stack + i, s->lists[DS_SHADOW_STACK].count * sizeof(*stack));
}

/* To the top of the stack, as one that is kept; others are kept no longer. */
static void ds_shadow_keep(struct ds_shadow *s, u32 print)
{
	u32 most = s->size - s->guests;

	ds_shadow_push(s, DS_SHADOW_STACK, print, DS_SHADOW_KEPT);
	s->kept++;
	ds_shadow_prune(s);
	while (s->kept > most) {
		ds_shadow_push(s, DS_SHADOW_GUESTS,
			       ds_shadow_remove(s, DS_SHADOW_STACK, 0) >> DS_SHADOW_PRINT_SHIFT, 0);
		s->kept--;
		ds_shadow_prune(s);
	}
}

static void ds_shadow_guest(struct ds_shadow *s, u32 print)
{
	ds_shadow_push(s, DS_SHADOW_GUESTS, print, 0);
	ds_shadow_push(s, DS_SHADOW_STACK, print, DS_SHADOW_GUEST);
}

/* The oldest guest leaves if there is no room; the stack may remember it. */
static void ds_shadow_make_room(struct ds_shadow *s)
{
	u32 print;
	int i;

	if (s->kept + s->lists[DS_SHADOW_GUESTS].count < s->size)
		return;
	print = ds_shadow_remove(s, DS_SHADOW_GUESTS, 0) >> DS_SHADOW_PRINT_SHIFT;
	i = ds_shadow_find(s, DS_SHADOW_STACK, print);
	if (i >= 0)
		ds_shadow_list(s, DS_SHADOW_STACK)[i] =
			(u16)(print << DS_SHADOW_PRINT_SHIFT | DS_SHADOW_GONE);
}

/* At most so many are remembered: the oldest that is not in the cache is not. */
static void ds_shadow_trim(struct ds_shadow *s)
{
	const u16 *stack = ds_shadow_list(s, DS_SHADOW_STACK);
	u32 i = 0;

	if (s->lists[DS_SHADOW_STACK].count <= (u32)DS_SHADOW_REMEMBERED * s->size)
		return;
	while ((stack[i] & DS_SHADOW_STATE) != DS_SHADOW_GONE)
		i++;
	ds_shadow_remove(s, DS_SHADOW_STACK, i);
}

/* @in_stack: where the key is there, or -1. */
static bool ds_shadow_lirs(struct ds_shadow *s, u32 print, int in_stack)
{
	int guest = ds_shadow_find(s, DS_SHADOW_GUESTS, print);
	u16 state = DS_SHADOW_GONE;

	if (guest >= 0)
		ds_shadow_remove(s, DS_SHADOW_GUESTS, guest);
	if (in_stack >= 0)
		state = ds_shadow_remove(s, DS_SHADOW_STACK, in_stack) & DS_SHADOW_STATE;
	if (state == DS_SHADOW_KEPT)
		s->kept--;
	else if (guest < 0)
		ds_shadow_make_room(s);

	if (in_stack >= 0 || s->kept + s->guests < s->size)
		ds_shadow_keep(s, print);
	else
		ds_shadow_guest(s, print);
	ds_shadow_trim(s);
	return guest >= 0 || state == DS_SHADOW_KEPT;
}

/* ---- SIEVE ---- */

/* The hand goes on, past those that were used, and who it stops at leaves. */
static void ds_shadow_go_round(struct ds_shadow *s)
{
	u16 *at = ds_shadow_list(s, DS_SHADOW_SIEVED), count = s->lists[DS_SHADOW_SIEVED].count;

	while (at[s->hand] & DS_SHADOW_VISITED) {
		at[s->hand] &= ~DS_SHADOW_VISITED;
		s->hand = (s->hand + 1) % count;
	}
	ds_shadow_remove(s, DS_SHADOW_SIEVED, s->hand);
	s->hand %= count - 1;
}

static bool ds_shadow_sieve(struct ds_shadow *s, u32 print)
{
	int i = ds_shadow_find(s, DS_SHADOW_SIEVED, print);

	if (i >= 0) {
		ds_shadow_list(s, DS_SHADOW_SIEVED)[i] |= DS_SHADOW_VISITED;
		return true;
	}
	if (s->lists[DS_SHADOW_SIEVED].count == s->size)
		ds_shadow_go_round(s);
	ds_shadow_push(s, DS_SHADOW_SIEVED, print, 0);
	return false;
}

/* ---- the contest ---- */

/* @a is below @b. */
static inline u32 *ds_shadow_pair(struct ds_shadow *s, u32 a, u32 b)
{
	return &s->apart[b * (b - 1) / 2 + a];
}

/* What one of two counts has more than the other, in 64ths, if it is more than chance. */
static s64 ds_shadow_more(u32 a, u32 b)
{
	s64 more = (s64)a - b;

	if (more < 0 || (u64)(more * more) <= DS_SHADOW_TRUST * DS_SHADOW_ONE * ((u64)a + b))
		return 0;
	return more;
}

/*
 * Hits that the miniature of the rule in use has too many; less than 0 if they are too few. LIRS
 * does least harm though its miniature may say too much.
 */
static s64 ds_shadow_excess(const struct ds_shadow *s, enum ds_rule rule)
{
	s64 excess = rule == DS_RULE_LIRS ? 0 : ds_shadow_more(s->over, s->under);

	return excess - ds_shadow_more(s->under, s->over);
}

/* @extra: hits that @a has besides. @chance: squares of standard deviations. */
static bool ds_shadow_leads(struct ds_shadow *s, u32 a, u32 b, s64 extra, u64 chance)
{
	s64 more = (s64)s->hits[a] + extra - s->hits[b];
	u64 apart = *ds_shadow_pair(s, min(a, b), max(a, b));

	return more >= 3 * DS_SHADOW_ONE &&
		(u64)(more * more) > chance * DS_SHADOW_ONE * apart;
}

/* By more than chance. */
static bool ds_shadow_is_better(struct ds_shadow *s, u32 a, u32 b, s64 extra)
{
	return ds_shadow_leads(s, a, b, extra, s->judged < DS_SHADOW_YOUNG ?
			       DS_SHADOW_CHANCE_YOUNG : DS_SHADOW_CHANCE);
}

/* No lead is so large that it takes long to be lost. */
static void ds_shadow_bound(struct ds_shadow *s, u32 rule)
{
	u32 most = (s->size * DS_SHADOW_ONE / 4) << s->changes, i, lead, *apart;

	for (i = 0; i < DS_RULES; i++) {
		if (s->hits[rule] <= s->hits[i] + most)
			continue;
		lead = s->hits[rule] - s->hits[i];
		apart = ds_shadow_pair(s, min(i, rule), max(i, rule));
		*apart = (u32)((u64)*apart * most / lead);
		s->hits[i] += lead - most;
	}
}

/* Of the rule, or none. */
static void ds_shadow_count_change(struct ds_shadow *s, bool change)
{
	if (change) {
		s->changes = (u8)min(s->changes + 1, DS_SHADOW_CHANGES);
		s->steady = 0;
	} else if (++s->steady == DS_SHADOW_STEADY) {
		s->changes -= s->changes > 0;
		s->steady = 0;
	}
}

static bool ds_shadow_sieve_is_best(struct ds_shadow *s)
{
	u32 i;

	for (i = 0; i < DS_RULES; i++)
		if (i != DS_RULE_SIEVE &&
		    !ds_shadow_leads(s, DS_RULE_SIEVE, i, 0, DS_SHADOW_CHANCE_SIEVE))
			return false;
	return true;
}

/*
 * FIFO has to be better than LRU, whatever is in use, and begins with what TWICE leaves only when
 * that has had its time. SIEVE has to be far better than all.
 */
static bool ds_shadow_may_be_taken(struct ds_shadow *s, u32 rule, u32 in_use)
{
	switch (rule) {
	case DS_RULE_FIFO:
		return (in_use != DS_RULE_TWICE || s->steady >= DS_SHADOW_CLEARED) &&
			ds_shadow_is_better(s, DS_RULE_FIFO, DS_RULE_LRU, 0);
	case DS_RULE_SIEVE:
		return ds_shadow_sieve_is_best(s);
	default:
		return true;
	}
}

/* Of those that are not in use. */
static enum ds_rule ds_shadow_best(struct ds_shadow *s, enum ds_rule rule)
{
	u32 i, best = rule == DS_RULE_LRU ? DS_RULE_S3FIFO : DS_RULE_LRU;

	for (i = 0; i < DS_RULES; i++)
		if (i != rule && s->hits[i] >= s->hits[best] && ds_shadow_may_be_taken(s, i, rule))
			best = i;
	return best;
}

/* What led to a rule that did not do what its miniature said is worth nothing. */
static void ds_shadow_forget(struct ds_shadow *s)
{
	memset(s->hits, 0, DS_RULES * sizeof(*s->hits));
	memset(s->apart, 0, DS_SHADOW_PAIRS * sizeof(*s->apart));
}

static void ds_shadow_age(u32 *count)
{
	*count -= *count * 3 / 64;
}

/*
 * In a loop TWICE has one good time, when all are used for the second time. So LIRS, which does
 * best there, is left for it by the second judgement in a row that says so.
 */
static bool ds_shadow_replaces(struct ds_shadow *s, u32 best, u32 rule, s64 wrong)
{
	bool better = ds_shadow_is_better(s, best, rule, wrong);
	bool waits = better && best == DS_RULE_TWICE && rule == DS_RULE_LIRS && !s->waited;

	s->waited = waits;
	return better && !waits;
}

static enum ds_rule ds_shadow_judge(struct ds_shadow *s, enum ds_rule rule)
{
	enum ds_rule best = ds_shadow_best(s, rule);
	s64 wrong = ds_shadow_excess(s, rule);
	bool change = ds_shadow_replaces(s, best, rule, wrong);
	u32 i;

	s->judged = (u8)min(s->judged + 1, DS_SHADOW_YOUNG);
	for (i = 0; i < DS_RULES; i++)
		ds_shadow_age(&s->hits[i]);
	for (i = 0; i < DS_SHADOW_PAIRS; i++)
		ds_shadow_age(&s->apart[i]);
	ds_shadow_age(&s->over);
	ds_shadow_age(&s->under);
	if (change) {
		if (wrong > 0)
			ds_shadow_forget(s);
		s->over = 0;
		s->under = 0;
	}
	ds_shadow_count_change(s, change);
	ds_shadow_bound(s, change ? best : rule);
	return change ? best : rule;
}

static void ds_shadow_play(struct ds_shadow *s, u32 print, bool *hit)
{
	int in_stack = ds_shadow_find(s, DS_SHADOW_STACK, print);
	u32 a, b;

	hit[DS_RULE_FIFO] = ds_shadow_fifo(s, print);
	hit[DS_RULE_TWICE] = ds_shadow_twice(s, print, in_stack >= 0);
	hit[DS_RULE_LRU] = ds_shadow_lru(s, print);
	hit[DS_RULE_S3FIFO] = ds_shadow_s3fifo(s, DS_SHADOW_STAGING, print);
	hit[DS_RULE_S3FIFO_SHORT] = ds_shadow_s3fifo(s, DS_SHADOW_SHORT_STAGING, print);
	hit[DS_RULE_LIRS] = ds_shadow_lirs(s, print, in_stack);
	hit[DS_RULE_SIEVE] = ds_shadow_sieve(s, print);
	for (b = 0; b < DS_RULES; b++) {
		s->hits[b] += hit[b] * DS_SHADOW_ONE;
		for (a = 0; a < b; a++)
			*ds_shadow_pair(s, a, b) += (hit[a] != hit[b]) * DS_SHADOW_ONE;
	}
}

/* @promised: a hit of the miniature of the rule in use. @hit: of the cache. */
static void ds_shadow_compare(struct ds_shadow *s, bool promised, bool hit)
{
	if (s->changes && s->steady < DS_SHADOW_SETTLED)
		return;
	s->over += (promised && !hit) * DS_SHADOW_ONE;
	s->under += (!promised && hit) * DS_SHADOW_ONE;
}

enum ds_rule ds_shadow_access(struct ds_shadow *s, u32 print, enum ds_rule rule, bool hit)
{
	bool hits[DS_RULES];

	ds_shadow_play(s, print, hits);
	ds_shadow_compare(s, hits[rule], hit);
	if (++s->samples < s->size)
		return rule;
	s->samples = 0;
	return ds_shadow_judge(s, rule);
}

void ds_shadow_begin(struct ds_shadow *s)
{
	s->changes = 0;
	s->steady = 0;
	s->over = 0;
	s->under = 0;
}

bool ds_shadow_agrees(const struct ds_shadow *s, enum ds_rule in_use, enum ds_rule rule)
{
	u32 lead = max(DS_SHADOW_AGREES, s->size / 10u) * DS_SHADOW_ONE;

	return s->hits[rule] >= s->hits[in_use] + lead;
}

void ds_shadow_set_guests(struct ds_shadow *s, u32 share)
{
	s->guests = (u16)ds_shadow_guests(s->size, share);
}

/* ---- memory ---- */

u64 ds_shadow_bytes(u32 size)
{
	u32 list, room = 0;

	for (list = 0; list < DS_SHADOW_LISTS; list++)
		room += ds_shadow_room(size, list);
	/* The last search looks at four. */
	return (DS_RULES + DS_SHADOW_PAIRS) * sizeof(u32) + (room + 3) * sizeof(u16);
}

int ds_shadow_init(struct ds_shadow *s, u32 size, u32 share)
{
	u32 list, first = 0;

	memset(s, 0, sizeof(*s));
	s->hits = ds_alloc(ds_shadow_bytes(size));
	if (!s->hits)
		return -ENOMEM;
	s->apart = s->hits + DS_RULES;
	s->size = (u16)size;
	ds_shadow_set_guests(s, share);
	for (list = 0; list < DS_SHADOW_LISTS; list++) {
		s->lists[list].first = (u16)first;
		first += ds_shadow_room(size, list);
	}
	return 0;
}

void ds_shadow_destroy(struct ds_shadow *s)
{
	ds_free(s->hits);
}

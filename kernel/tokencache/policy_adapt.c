// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: thresholds of promotion that follow the load.
 */
#include "policy.h"
#include "policy_adapt.h"

#define DS_POLICY_AT_ONCE	4	/* intervals, in which a lower threshold is tried */
#define DS_POLICY_FOLLOWS	7	/* intervals, after a change */
#define DS_POLICY_LESS_L1	10	/* 256ths of the misses or hits that it is to win */
#define DS_POLICY_RAISE_L1	4	/* a 4th of what L1 loses counts twice */
#define DS_POLICY_HOME_IS_FAR	2	/* what both tiers win counts so much more */
#define DS_POLICY_LESS_TRAFFIC	32	/* 256ths of the hits or misses that it may cost */

/*
 * What a move costs. To move a token out of L2 is to drive out another one there, and saves less
 * than to move one from home. Who comes from home would drive out another one of L2 if it went
 * there instead, and have to wait longer; who has to wait could have hit some times meanwhile.
 */
#define DS_POLICY_MOVE_FROM_L2	(DS_TRIAL_HIT / 4)
#define DS_POLICY_WAIT_FOR_L2	(2 * DS_TRIAL_HIT)
#define DS_POLICY_WAIT_FOR_HOST	(4 * DS_TRIAL_HIT)
#define DS_POLICY_FEW_MOVES	16	/* of fewer it is not known how long one takes, who waits */
#define DS_POLICY_LONG		64	/* uses; of moves that meet more the quick ones count */
#define DS_POLICY_WAITS_MOST	(15 * DS_POLICY_WAITS_ONE)
#define DS_POLICY_WAITS_KEPT	64	/* one of so many is forgotten while few move, */
#define DS_POLICY_WAITS_SLOWER	4u	/* in up to 2^4 intervals */

enum ds_policy_step {
	DS_POLICY_STAY,
	DS_POLICY_UP,
	DS_POLICY_DOWN,
};

/* The two rules of 001; the first one wins. */
static enum ds_policy_step ds_policy_step(const struct ds_policy_load *load)
{
	if (load->dma >= DS_POLICY_DMA_SATURATED && load->l2 < DS_POLICY_L2_SELDOM)
		return DS_POLICY_UP;
	if (load->dma < DS_POLICY_DMA_RELAXED && load->l1 < DS_POLICY_L1_SELDOM &&
	    load->cpu >= DS_POLICY_CPU_BUSY)
		return DS_POLICY_DOWN;
	return DS_POLICY_STAY;
}

/* Less traffic may cost something. */
static u32 ds_policy_raised(const struct ds_trials *trials, u32 threshold, u32 most)
{
	u32 next = max(min(threshold * 2, most), threshold);
	u32 index = ds_trials_index(next);

	return ds_trials_is_worse(trials, index, DS_POLICY_LESS_TRAFFIC) ? threshold : next;
}

/*
 * It is to cost nothing, and to be tried soon: of thresholds that are as good as each other
 * one will look better some time.
 */
static u32 ds_policy_lowered(const struct ds_policy_001 *b, const struct ds_trials *trials,
			     u32 threshold)
{
	u32 next = max(threshold / 2, 1u);
	bool soon = b->follows && trials->steady <= DS_POLICY_AT_ONCE;

	if (ds_trials_in_doubt(trials) || (!soon && b->asked > DS_POLICY_AT_ONCE))
		return threshold;
	return ds_trials_is_worse(trials, ds_trials_index(next), 0) ? threshold : next;
}

/*
 * What the trials say comes first, but for one that is lower while DMA is saturated and
 * L2 hits seldom.
 */
static u32 ds_policy_adapted(const struct ds_policy_001 *b, struct ds_trials *trials,
			     u32 threshold, u32 most, enum ds_policy_step step)
{
	bool chosen = !b->follows && ds_trials_have_seen_enough(trials);
	u32 best;

	ds_trials_use(trials, ds_trials_index(threshold));
	best = chosen ? trials->used : ds_trials_best(trials);
	if (best > trials->used || (best < trials->used && step != DS_POLICY_UP))
		return ds_trial_thresholds[best];
	switch (step) {
	case DS_POLICY_UP:
		return ds_policy_raised(trials, threshold, most);
	case DS_POLICY_DOWN:
		return ds_policy_lowered(b, trials, threshold);
	default:
		return threshold;
	}
}

/* Those who wait for a move are not met, and of few it is not known how long they take. */
static void ds_policy_time_moves(struct ds_policy_moves *moves, bool blocking)
{
	moves->lasts = 0;
	if (!blocking && moves->begun >= DS_POLICY_FEW_MOVES)
		moves->lasts = (u32)min(moves->met / moves->begun, (u64)DS_TRIAL_ON_ITS_WAY);
}

void ds_policy_adapt_weigh(struct ds_policy_001 *b, bool blocking)
{
	u32 waits = DS_POLICY_WAITS_ONE + b->waits;
	u32 l2 = DS_POLICY_WAIT_FOR_L2 * waits / DS_POLICY_WAITS_ONE;
	u32 host = DS_POLICY_WAIT_FOR_HOST * waits / DS_POLICY_WAITS_ONE;

	b->moves[0].cost = blocking ? l2 : DS_POLICY_MOVE_FROM_L2;
	b->moves[1].cost = blocking ? (b->both.trials ? l2 : host) : 0;
	b->both.move_cost = blocking ? host : 0;
	ds_policy_time_moves(&b->moves[0], blocking);
	ds_policy_time_moves(&b->moves[1], blocking);
}

/* Few move. */
static void ds_policy_forget_waits(struct ds_policy_001 *b)
{
	if (++b->few & ((1u << b->slower) - 1))
		return;
	b->waits -= (b->waits + DS_POLICY_WAITS_KEPT - 1) / DS_POLICY_WAITS_KEPT;
}

/*
 * Those who come while a token is under way wait, too. What is known of that was seen with the
 * thresholds of then; others, with which few move, must not have it forgotten soon. If it turns
 * out to be as it was, it is to be forgotten more slowly the next time: each time some move to
 * find that out.
 */
static void ds_policy_see_waits(struct ds_policy_001 *b, const struct ds_policy_load *load)
{
	u32 waits;

	if (load->moves < DS_POLICY_FEW_MOVES) {
		ds_policy_forget_waits(b);
		return;
	}
	waits = (u32)min((u64)load->waits * DS_POLICY_WAITS_ONE / load->moves,
			 (u64)DS_POLICY_WAITS_MOST);
	if (b->few && waits > 2 * b->waits)
		b->slower = min(b->slower + 1u, DS_POLICY_WAITS_SLOWER);
	else if (b->few && waits <= b->waits)
		b->slower = 0;
	b->waits = waits;
	b->few = 0;
}

/*
 * Nobody comes to L1 whom not even L2 would take. Do both together gain more with a higher
 * threshold, for each use, than L1 loses? A hit of L1 that becomes one of L2 loses half of what
 * one loses that goes home. To raise L1's takes more than not to lower it.
 */
static bool ds_policy_is_worth_it(const struct ds_policy_001 *b, u32 low, u32 high, bool raises)
{
	u32 from = ds_trials_index(low), to = ds_trials_index(high);
	s64 gain = ds_trials_ahead(&b->both, to, from), loss = ds_trials_ahead(&b->l1, from, to);

	if (raises)
		loss += loss / DS_POLICY_RAISE_L1;
	return ds_trials_beats(&b->both, to, from, DS_POLICY_LESS_L1) &&
	       DS_POLICY_HOME_IS_FAR * gain * b->l1.uses > loss * b->both.uses;
}

static void ds_policy_forget_moves(struct ds_policy_moves *moves)
{
	if (moves->begun < 2 * DS_POLICY_FEW_MOVES)
		return;
	moves->begun /= 2;
	moves->met /= 2;
}

static void ds_policy_follow(struct ds_policy_001 *b)
{
	if (b->follows < DS_POLICY_FOLLOWS)
		b->follows = DS_POLICY_FOLLOWS;
	b->l1.uses_since = 0;
	b->both.uses_since = 0;
}

void ds_policy_adapt_anew(struct ds_policy_001 *b, struct ds_trials *trials)
{
	ds_trials_forget_doubts(trials);
	ds_policy_follow(b);
}

static void ds_policy_see_change(struct ds_policy_001 *b, enum ds_policy_step step, bool blocking)
{
	bool l1 = ds_trials_see(&b->l1), both = ds_trials_see(&b->both);

	if (l1 || both)
		b->follows = 0;	/* not for ever any more */
	if (l1 || both || step != b->step || blocking != b->blocking)
		ds_policy_follow(b);
	b->step = (u8)step;
	b->blocking = blocking;
}

void ds_policy_adapt(struct ds_policy_001 *b, const struct ds_policy_load *load)
{
	u32 *l1 = &b->params.promote_to_l1_threshold, *l2 = &b->params.promote_to_l2_threshold;
	enum ds_policy_step step = ds_policy_step(load);
	u32 before = *l1;

	ds_policy_see_change(b, step, load->blocking);
	b->asked = step == DS_POLICY_DOWN ? b->asked + 1 : 0;
	ds_policy_see_waits(b, load);
	*l1 = ds_policy_adapted(b, &b->l1, *l1, b->fit, step);
	*l2 = ds_policy_adapted(b, &b->both, *l2, DS_POLICY_PROMOTE_TO_L2_THRESHOLD, step);
	if (*l2 > *l1 && !load->blocking && ds_policy_is_worth_it(b, *l1, *l2, *l2 > before))
		*l1 = *l2;
	*l2 = min(*l2, *l1);
	if (b->follows < DS_POLICY_FOR_EVER && b->follows)
		b->follows--;
	ds_policy_forget_moves(&b->moves[0]);
	ds_policy_forget_moves(&b->moves[1]);
	ds_trials_age(&b->l1);
	ds_trials_age(&b->both);
}

/* ---- trials ---- */

static bool ds_policy_are_long(const struct ds_policy_moves *moves)
{
	return moves->lasts > DS_POLICY_LONG;
}

/*
 * Long ones differ, as they wait for each other. If the average were taken for all, each key would
 * seem to come too late for its next uses, many of which it is in time for.
 */
static u32 ds_policy_lasts(const struct ds_policy_moves *moves)
{
	return ds_policy_are_long(moves) && moves->quick ? moves->quick : moves->lasts;
}

/* Who is in L1 would be in L2 otherwise, if there is one. Both together take from home. */
void ds_policy_adapt_try(struct ds_policy *p, u64 hash, u32 uses, u32 tier)
{
	struct ds_policy_001 *b = p->base;
	const struct ds_policy_moves *moves = &b->moves[tier == 3 || !b->both.trials];

	if (!ds_policy_is_sampled(p, hash))
		return;
	b->l1.move_cost = moves->cost;
	b->l1.move_lasts = ds_policy_lasts(moves);
	ds_trials_access(&b->l1, hash, uses, b->params.alpha, b->clock);
	if (!ds_trials_want(&b->both, hash))
		return;
	b->both.move_lasts = ds_policy_lasts(&b->moves[1]);
	ds_trials_access(&b->both, hash, uses, 0, b->clock);
}

/* What was noted of hits; some may be of those that were in the slots before. */
void ds_policy_adapt_hear(struct ds_policy *p)
{
	u32 head = READ_ONCE(p->hits_head), left, slot;

	for (left = min(ds_policy_noted(p, head), DS_POLICY_HITS); left; left--) {
		slot = READ_ONCE(p->hits_001[(head - left) % DS_POLICY_HITS]);
		if (p->slots[slot].key_high & DS_SLOT_USED)
			ds_policy_adapt_try(p, ds_policy_hash(ds_policy_key(p, slot)),
					    READ_ONCE(p->slots[slot].heat), 1);
	}
	WRITE_ONCE(p->hits_tail, head);
}

/* ---- what moves take ---- */

void ds_policy_adapt_clock(struct ds_policy *p, u32 uses)
{
	struct ds_policy_001 *b = p->base;
	u32 i;

	if (!b || !b->adaptive)
		return;
	ds_policy_adapt_hear(p);
	for (i = 0; i < 2; i++)
		b->moves[i].met += (u64)b->moves[i].now * (uses - b->clock);
	b->clock = uses;
}

/* Those that go up, if they matter. */
static struct ds_policy_moves *ds_policy_moves_of(struct ds_policy *p, u32 from, u32 to)
{
	if (!p->base || !p->base->adaptive || from < to)
		return NULL;
	return &p->base->moves[from == 3];
}

u32 ds_policy_adapt_begins(struct ds_policy *p, u32 from, u32 to)
{
	struct ds_policy_moves *moves = ds_policy_moves_of(p, from, to);

	if (!moves)
		return 0;
	moves->now++;
	moves->begun++;
	return p->base->clock;
}

void ds_policy_adapt_ends(struct ds_policy *p, u32 from, u32 to, u32 begun)
{
	struct ds_policy_moves *moves = ds_policy_moves_of(p, from, to);
	u32 uses;

	if (!moves)
		return;
	moves->now--;
	uses = min(p->base->clock - begun, DS_TRIAL_ON_ITS_WAY);
	moves->quick = moves->quick ? min(moves->quick + moves->quick / 4 + 1, uses) : uses;
}

/* Its uses on the way were counted with those of tokens outside L1; in short moves they are few. */
void ds_policy_adapt_arrived(struct ds_policy *p, u32 from, u32 slot)
{
	struct ds_policy_moves *moves = ds_policy_moves_of(p, from, 1);
	u32 uses;

	if (!moves || !ds_policy_are_long(moves))
		return;
	uses = ds_sketch_count(&p->base->sketch, ds_policy_hash(ds_policy_key(p, slot)));
	if (uses > READ_ONCE(p->slots[slot].heat))
		WRITE_ONCE(p->slots[slot].heat, (u8)uses);
}

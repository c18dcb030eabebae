/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: replacement in L1 as document 001 has it, to compare with.
 *
 *  promote	a token comes into L1 when it was used PROMOTE_TO_L1_THRESHOLD times
 *		lately, whether L1 is full or not. Uses while it is not in L1 are
 *		counted in a sketch.
 *  replace	that of 16 at random goes which has the least freq + alpha *
 *		recency_rank: uses in L1, and 0 for the one that was used longest ago
 *		to 15. Of equal ones that goes which was used longer ago, so with
 *		alpha = 0 it is LFU, and LRU breaks ties. (Of all it would take a time
 *		that grows with L1.) When a use was is known to a tick.
 *  age		all counts are halved each AGING_INTERVAL uses, 64 words in a call.
 *  demote	a token that was idle for DEMOTE_FROM_L1_IDLE_NS may go, with half of
 *		its count.
 *
 * literal-001 keeps its thresholds, adaptive-001 does not (policy_adapt.h).
 *
 * Made under the same lock as calls of policy.h.
 */
#ifndef DS_TOKENCACHE_POLICY_001_H
#define DS_TOKENCACHE_POLICY_001_H

#include "sketch.h"
#include "trial.h"

#define DS_POLICY_PROMOTE_TO_L1_THRESHOLD	128
#define DS_POLICY_PROMOTE_TO_L2_THRESHOLD	16
#define DS_POLICY_DEMOTE_FROM_L1_IDLE_NS	1000000
#define DS_POLICY_DEMOTE_FROM_L2_IDLE_NS	10000000
#define DS_POLICY_AGING_INTERVAL		10	/* uses for a slot */
#define DS_POLICY_ALPHA				1
#define DS_POLICY_HEAT_SAMPLING			1

/* The bands, in thousandths. */
#define DS_POLICY_DMA_SATURATED	900
#define DS_POLICY_DMA_RELAXED	700
#define DS_POLICY_L2_SELDOM	500
#define DS_POLICY_L1_SELDOM	950
#define DS_POLICY_CPU_BUSY	700

#define DS_POLICY_WAITS_ONE	16u

/* The time of a last use is in units of 1024 ns, and wraps. Ticks have to come more often. */
#define DS_POLICY_TICK_SHIFT	10
#define DS_POLICY_WRAP_NS	((u64)DS_SLOT_SAMPLED << DS_POLICY_TICK_SHIFT)

#define DS_POLICY_HEATS		8	/* powers of 2, up to DS_SKETCH_MOST */

struct ds_policy;

/**
 * struct ds_policy_params - parameters of document 001, which may be changed
 * @promote_to_l1_threshold: uses, 1 to DS_SKETCH_MOST
 * @promote_to_l2_threshold: uses, 1 to DS_SKETCH_MOST
 * @demote_from_l1_idle_ns: at least 1024
 * @demote_from_l2_idle_ns: for the owner of L2
 * @aging_interval: uses, at least 1
 * @alpha: how much a rank of recency counts, against a use
 * @heat_sampling: 1: each use of a token that is not in L1 is counted; N, to DS_SKETCH_MOST: one
 *	of N on average, as N
 */
struct ds_policy_params {
	u32 promote_to_l1_threshold;
	u32 promote_to_l2_threshold;
	u64 demote_from_l1_idle_ns;
	u64 demote_from_l2_idle_ns;
	u64 aging_interval;
	u32 alpha;
	u32 heat_sampling;
};

/**
 * struct ds_policy_load - what went on since the last time, for adaptive-001
 * @dma: part of its bandwidth that DMA has used, in thousandths, as all
 * @l1: hits in L1, of all uses
 * @l2: hits in L2, of those that were not in L1
 * @cpu: time that the host's processor was busy
 * @moves: to L1 or L2
 * @waits: uses that met a token on its way, wherever to, and asked the host
 * @blocking: uses wait for what is on its way
 */
struct ds_policy_load {
	u32 dma;
	u32 l1;
	u32 l2;
	u32 cpu;
	u32 moves;
	u32 waits;
	bool blocking;
};

/**
 * struct ds_policy_moves - what is known of moves from a tier
 * @now: tokens that are on their way
 * @begun: moves that have begun
 * @met: uses of the cache that these have met, each all of them; of many, half of both is forgotten
 *	in each interval
 * @lasts: uses of the cache that one meets on average; 0: it is not known, or they wait for it
 * @quick: those that the quickest one lately has met; 0: it is not known
 * @cost: of one to L1, as ds_trials.move_cost
 */
struct ds_policy_moves {
	u32 now;
	u32 begun;
	u64 met;
	u32 lasts;
	u32 quick;
	u32 cost;
};

/**
 * struct ds_policy_001 - the rules of 001 for one L1
 * @params: in use
 * @sketch: uses of tokens that are not in L1
 * @uses: of tokens, when counts were last halved
 * @halve_at: the next word of slots and sketch to be halved; all are done at the end
 * @idle_at: the slot to look at next
 * @random: state
 * @unsampled: uses until one is counted again
 * @now: in units of 1024 ns, wraps
 * @window: when @longest[0] began, as @now
 * @longest: the longest time between two ticks in which something was used, now and before; each
 *	is of as long a time as one must be idle at least
 * @used: uses up to the last tick
 * @heats: tokens by the logarithm of their heat, of the halving that is going on
 * @fit: the highest PROMOTE_TO_L1_THRESHOLD that fills L1, by the last one
 * @in_sample: slots of L1 whose key is in the sample of @l1, of the halving that is going on
 * @l1: trials of PROMOTE_TO_L1_THRESHOLD; of adaptive-001 only, as @both
 * @both: of PROMOTE_TO_L2_THRESHOLD, if there is an L2
 * @clock: uses of the cache, as far as is known; wraps
 * @moves: those from L2, and those from home
 * @waits: uses that wait for a move, in DS_POLICY_WAITS_ONEths
 * @few: intervals for which few have moved
 * @slower: @waits fades in an interval of 2^this while few move
 * @asked: intervals for which the load has asked for lower thresholds
 * @step: what it asked for in the last one
 * @blocking: then moves were waited for
 * @follows: intervals for which the trials choose thresholds yet
 * @adaptive: adaptive-001
 */
struct ds_policy_001 {
	struct ds_policy_params params;
	struct ds_sketch sketch;
	u64 uses;
	u64 halve_at;
	u32 idle_at;
	u32 random;
	u32 unsampled;
	u32 now;
	u32 window;
	u32 longest[2];
	u64 used;
	u32 heats[DS_POLICY_HEATS];
	u32 fit;
	u32 in_sample;
	struct ds_trials l1;
	struct ds_trials both;
	u32 clock;
	struct ds_policy_moves moves[2];
	u32 waits;
	u32 few;
	u32 slower;
	u32 asked;
	u8 step;
	bool blocking;
	u8 follows;
	bool adaptive;
};

/**
 * ds_policy_tick - time has passed
 * @p: of literal-001 or adaptive-001, else nothing happens
 * @now_ns: monotonic
 * @uses: of tokens, in all, hits included
 * @load: since the last tick in which an interval ended
 *
 * Halves the counts of 64 slots, or 64 words of the sketch, if an interval has ended and not all
 * are halved yet. Until they are, the end of another one halves nothing more.
 *
 * Return: whether an ageing interval has ended, and @load was used
 */
bool ds_policy_tick(struct ds_policy *p, u64 now_ns, u64 uses, const struct ds_policy_load *load);

/**
 * ds_policy_idle - is there someone to be demoted?
 * @p: as above
 *
 * Looks at DS_TICK_LOOK slots, where it stopped the last time. The count of the one that is
 * found is halved, so that it does not come back at once.
 *
 * Return: a slot that was idle for too long and is not pinned, or DS_POLICY_NONE
 */
u32 ds_policy_idle(struct ds_policy *p);

/**
 * ds_policy_set_params - change parameters
 * @p: as above
 * @params: all of them
 *
 * Doubts of the trials of a threshold that is another one now are forgotten.
 *
 * Return: 0; -EINVAL: out of range, or no mode of 001
 */
int ds_policy_set_params(struct ds_policy *p, const struct ds_policy_params *params);

/**
 * ds_policy_001_normal - what parameters are if nobody sets them
 * @params: result
 * @capacity: slots of L1
 * @adaptive: adaptive-001, which begins with the lowest thresholds
 */
void ds_policy_001_normal(struct ds_policy_params *params, u32 capacity, bool adaptive);

/**
 * ds_policy_001_add_l2 - there is an L2, too
 * @p: of any mode, for once
 * @tokens: that have room in it
 *
 * Return: 0, -ENOMEM
 */
int ds_policy_001_add_l2(struct ds_policy *p, u32 tokens);

/* A token that is not in L1 was used; @hash: of its key. Return: how often lately, 0 to 255. */
u32 ds_policy_001_heat(struct ds_policy *p, u64 hash);

/*
 * A token was used that is on its way from @tier. For adaptive-001, whose trials see each use: with
 * another threshold it might not be. literal-001 counts those uses for which a token might move.
 */
void ds_policy_001_met(struct ds_policy *p, u32 key, u32 tier);

/* For policy.c. */
int ds_policy_001_init(struct ds_policy *p, bool adaptive);
void ds_policy_001_destroy(struct ds_policy *p);
u32 ds_policy_001_miss(struct ds_policy *p, u32 key, u32 tier, u32 *victim);
u64 ds_policy_001_bytes(const struct ds_policy *p);

#endif /* DS_TOKENCACHE_POLICY_001_H */

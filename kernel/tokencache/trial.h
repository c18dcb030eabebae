/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: which threshold of promotion would do best? Small caches find out, as in shadow.h.
 *
 * For each threshold there is a miniature that holds no values. It sees only the keys of
 * a sample that is as much smaller as it is itself, and takes a key in when it was used
 * as often as its threshold says. Who leaves is found as policy_001.h says; or is
 * the one that was used longest ago, for both tiers taken together.
 *
 * Each is compared with the miniature of the threshold in use, on the same uses: by its hits
 * less what it took to move keys in. One is better if by a 24th of the misses or of the hits,
 * whichever are fewer, and by more than chance, which is so many times the square root of
 * the sum of the squares of single differences:
 *
 *	a higher one	4, or 4.9 if nothing has changed for ten intervals
 *	a lower one	5.5, or 6.7
 *
 * A higher one leaves what is there where it is, a lower one drives out what was kept. Older
 * uses count half after each span of intervals. So thresholds that are nearly as good do not
 * take turns.
 *
 * Of a small cache few uses are in the sample, and some intervals do not tell a difference of a
 * few percent from chance. So once a threshold has stood for 32 intervals, all counts that was
 * seen since it came into use; after each 64 intervals what was before them counts half. Only the
 * next higher one is tried so, as a load that drifts makes any sum say too much, and only if it
 * hits as often, as what a move costs is not known to a few percent. 4 of these roots are enough.
 *
 * Two may do so all the same, as what a miniature sees depends on the threshold in use: tokens
 * in L1 are counted otherwise than those outside, and either may look better while the other is
 * in use. So a change that is taken back within some intervals raises a doubt, and each but the
 * first doubles the squares of the numbers above. Doubts end when another threshold stands for
 * long: then the load is another one. Else they fade, and each that proves right makes the
 * next ones last twice as long.
 *
 * A load has changed if in an interval the lowest threshold's miniature, or that of the one in
 * use, hits otherwise than it did lately: by an eighth of the hits or misses and a 32nd of the
 * uses, and by eight standard deviations. A loop too long for the cache looks like any other to
 * the first one, but not to the second.
 *
 * A miniature takes a key in at once, the cache needs time for it: whoever uses a token some
 * times in a row has used it before it has come. So what is used again within as many uses of the
 * cache as a move takes, on average, is no hit.
 *
 * By chance more or fewer of the keys are in the sample than its share of them. A loop that is
 * a little longer than the cache would be one that fits. So a miniature of L1 is as large as the
 * part of L1 that is in the sample, but not larger than it has memory for.
 *
 * Searches are linear; there are at most DS_TRIAL_MAX entries, and of a large cache few
 * uses are in the sample. Not thread safe.
 */
#ifndef DS_TOKENCACHE_TRIAL_H
#define DS_TOKENCACHE_TRIAL_H

#include "sample.h"

#define DS_TRIALS	13u
#define DS_TRIAL_MAX	216u	/* entries for which a miniature has memory */
#define DS_TRIAL_MIN	64u
#define DS_TRIAL_HIT	4	/* what a hit is worth */
#define DS_TRIAL_MARKS	8u	/* in the time after which one is idle */
#define DS_TRIAL_ON_ITS_WAY 65536u	/* uses, for which one is on its way at most */
#define DS_TRIAL_SPAN	4u	/* intervals, at most, after which uses count half */

extern const u8 ds_trial_thresholds[DS_TRIALS];

/**
 * struct ds_trial_tally - what a miniature has done
 * @hits: how often it hit
 * @gain: what these were worth, less what moves cost
 * @apart: sum of the squares of its gain less that of the one in use
 */
struct ds_trial_tally {
	u32 hits;
	s32 gain;
	u64 apart;
};

/**
 * struct ds_trial - a miniature; the one that was used longest ago is first
 * @tags: 16 bits of a key's hash
 * @heats: uses, to 255, halved in each interval; NULL: not by heat
 * @count: keys
 * @unused: of these, at the beginning, that were not used since the last mark in time, the one
 *	before it, and so on
 * @lately: older uses count half after each span of intervals
 * @before: what has ceased to count in @lately since a threshold came into use
 */
struct ds_trial {
	u16 *tags;
	u8 *heats;
	u32 count;
	u8 unused[DS_TRIAL_MARKS];
	struct ds_trial_tally lately;
	struct ds_trial_tally before;
};

/**
 * struct ds_trial_share - how much a miniature hits
 * @now: hits of this interval, or of the latest ones that had few uses
 * @usual: share of the uses that hit lately, in DS_TRIAL_ONEths
 * @known: intervals that told it, to DS_TRIAL_KNOWN
 */
struct ds_trial_share {
	u32 now;
	u16 usual;
	u16 known;
};

/**
 * struct ds_trial_taken - a key that was taken in
 * @until: the use of the cache, counted on and on, until which it is on its way
 * @tag: of the key
 * @takers: miniatures that took it in, a bit for each
 */
struct ds_trial_taken {
	u32 until;
	u16 tag;
	u16 takers;
};

/**
 * struct ds_trial_latest - keys that were taken in and may not have come yet
 * @oldest: the one that was taken in first, counted on and on
 * @next: behind the one that was taken in last, likewise
 * @of: ds_trials.latest_room of them
 */
struct ds_trial_latest {
	u32 oldest;
	u32 next;
	struct ds_trial_taken of[];
};

/**
 * struct ds_trials - miniatures of one cache
 * @trials: by the index of their threshold; NULL: there are none, and nobody is better
 * @latest: behind them
 * @latest_room: keys for which there is room, a power of 2: of more the first ones are forgotten
 * @room: entries for which each has memory
 * @size: entries of each
 * @sampled: keys whose hash is below are in the sample, in 2^-32
 * @used: index of the threshold in use
 * @steady: intervals since it came into use
 * @settled: index of the one that last stood for long
 * @way: of the last change: 1 to a higher one, -1 to a lower one; 0: none was
 * @doubts: changes that were soon taken back, to DS_TRIAL_DOUBTS; fade
 * @longer: how often the time for which they last has doubled
 * @uses: of keys in the sample, of which ds_trial.lately tells
 * @uses_before: those of ds_trial.before
 * @lowest: what the lowest threshold's miniature hits, and
 * @in_use: that of the one in use
 * @uses_now: those of ds_trial_share.now
 * @uses_since: since the load changed, to DS_TRIAL_USES; whoever knows of another reason to choose
 *	anew may set it to 0
 * @random: state
 * @move_cost: what it costs to move a key in, to 256; whoever knows may change it at any time
 * @move_lasts: for how many uses of the cache the next key is on its way, to DS_TRIAL_ON_ITS_WAY,
 *	likewise; 0: it comes at once
 * @since: time that has passed since the last mark
 * @due: part of an idle one that is to leave, in 2^-32
 * @by_heat: who leaves is found as policy_001.h says
 * @span: intervals after which what was seen counts half; may be changed
 * @waned: intervals that have ended since it last did
 */
struct ds_trials {
	struct ds_trial *trials;
	struct ds_trial_latest *latest;
	u32 latest_room;
	u32 room;
	u32 size;
	u32 sampled;
	u32 used;
	u32 steady;
	u32 uses;
	u32 uses_before;
	struct ds_trial_share lowest;
	struct ds_trial_share in_use;
	u32 uses_now;
	u32 uses_since;
	u32 random;
	u32 move_cost;
	u32 move_lasts;
	u32 since;
	u32 due;
	bool by_heat;
	s8 way;
	u8 settled;
	u8 doubts;
	u8 longer;
	u8 span;
	u8 waned;
};

/**
 * ds_trials_init - empty miniatures
 * @t: filled, for ds_trials_destroy()
 * @capacity: of the cache, at least DS_POLICY_CAPACITY_MIN
 * @most: of all keys, in 2^-32, there are to be in the sample
 * @by_heat: as above
 *
 * Return: 0, -ENOMEM
 */
int ds_trials_init(struct ds_trials *t, u32 capacity, u32 most, bool by_heat);
void ds_trials_destroy(struct ds_trials *t);

/* Is a key in the sample, by its hash? */
static inline bool ds_trials_want(const struct ds_trials *t, u64 hash)
{
	return ds_sample_has(t->sampled, hash);
}

/**
 * ds_trials_access - a key is used
 * @t: the miniatures
 * @hash: of the key, which is in the sample
 * @uses: how often lately, this one included
 * @alpha: of policy_001.h
 * @at: uses of the cache until now, in the sample or not; wraps
 */
void ds_trials_access(struct ds_trials *t, u64 hash, u32 uses, u32 alpha, u32 at);

/**
 * ds_trials_tick - time has passed
 * @t: the miniatures
 * @passed: since the last tick, in any units, below 2^31
 * @idle: in the same, at least 1
 *
 * The cache may put out one that was idle for about as long, and not used since the last tick.
 * Miniatures do it as much more seldom as they are smaller.
 */
void ds_trials_tick(struct ds_trials *t, u32 passed, u32 idle);

/* The index of the highest threshold that is not above. */
u32 ds_trials_index(u32 threshold);

/* A threshold is in use, by its index. */
void ds_trials_use(struct ds_trials *t, u32 index);

/* Somebody sets a threshold by hand: that is no change back, and whoever does it begins anew. */
void ds_trials_forget_doubts(struct ds_trials *t);

/* The index of the one that is better than that in use by most; or that one. */
u32 ds_trials_best(const struct ds_trials *t);

/* What one has gained lately more than another one; a hit is DS_TRIAL_HIT. */
s32 ds_trials_ahead(const struct ds_trials *t, u32 index, u32 other);

/* Is that more than so many 256ths of the misses or hits and a trifle? */
bool ds_trials_beats(const struct ds_trials *t, u32 index, u32 other, u32 parts);

/* Would one be worse than the best one, by so many 256ths of the misses or hits and a trifle? */
bool ds_trials_is_worse(const struct ds_trials *t, u32 index, u32 parts);

/* Were changes taken back soon, more than once? */
bool ds_trials_in_doubt(const struct ds_trials *t);

/**
 * ds_trials_see - an interval has ended: has the load changed?
 * @t: miniatures, or none
 *
 * To be called before ds_trials_use().
 */
bool ds_trials_see(struct ds_trials *t);

/* Have so many uses been seen since it last did that a threshold can have been chosen? */
bool ds_trials_have_seen_enough(const struct ds_trials *t);

/**
 * ds_trials_resize - so many of the cache's entries are in the sample
 * @t: the miniatures
 * @size: entries
 *
 * Once in an interval, while the cache is full.
 */
void ds_trials_resize(struct ds_trials *t, u32 size);

/* An interval has ended. */
void ds_trials_age(struct ds_trials *t);

u64 ds_trials_bytes(const struct ds_trials *t);

#endif /* DS_TOKENCACHE_TRIAL_H */

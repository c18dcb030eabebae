/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of L1's policy: its sources, with memory that runs out, and a cache around it. */
#ifndef CORE_POLICY_H
#define CORE_POLICY_H

#include "core_test.h"
#include "tokencache/ghost.c"
#include "tokencache/recency.c"
#include "tokencache/shadow.c"
#include "tokencache/sketch.c"
#include "tokencache/policy_first.c"
#include "tokencache/policy_queue.c"
#include "tokencache/policy.c"
#include "tokencache/trial.c"
#include "tokencache/policy_001.c"
#include "tokencache/policy_adapt.c"

static struct ds_policy policy;
static u32 *slot_of;	/* by key; DS_POLICY_NONE: it is not in L1 */

static inline void start(u32 capacity, u32 mode, u32 keys)
{
	u32 key;

	assert_int_equal(ds_policy_init(&policy, capacity, mode), 0);
	slot_of = malloc(keys * sizeof(*slot_of));
	for (key = 0; key < keys; key++)
		slot_of[key] = DS_POLICY_NONE;
}

static inline void stop(void)
{
	free(slot_of);
	ds_policy_destroy(&policy);
}

/* Where a key is that is not in L1. */
static u32 missed_in = 3;

/* Whether it was a hit. */
static inline bool use(u32 key)
{
	u32 victim, slot = slot_of[key];

	if (slot != DS_POLICY_NONE) {
		ds_policy_hit(&policy, slot);
		return true;
	}
	slot = ds_policy_miss(&policy, key, missed_in, &victim);
	if (victim != DS_POLICY_NONE) {
		assert_int_equal(slot_of[victim], slot);
		slot_of[victim] = DS_POLICY_NONE;
	}
	slot_of[key] = slot;
	return false;
}

/* As if the shadow had chosen it. */
static inline void set_rule(enum ds_rule rule)
{
	policy.rule = (u8)rule;
	ds_policy_set_window(&policy);
}

/* Of @objects, to 10,240, the n-th is asked for 1 / n as often. */
static inline u32 zipf(u32 objects)
{
	static double sum[10240];
	static u32 made;
	u32 low = 0, high = objects - 1, middle;
	double at;

	for (; made < objects; made++)
		sum[made] = (made ? sum[made - 1] : 0) + 1.0 / (made + 1);
	at = sum[objects - 1] * random_below(1u << 30) / (1u << 30);
	while (low < high) {
		middle = (low + high) / 2;
		if (sum[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static u8 seen[1000];

static inline void walk(u32 last)
{
	u32 slot = last;

	if (last == DS_POLICY_NONE)
		return;
	do {
		slot = policy.slots[slot].link & DS_SLOT_NEXT;
		assert_true(slot < policy.fresh);
		assert_int_equal(seen[slot]++, 0);
	} while (slot != last);
}

/* Each slot that was ever used stands in one queue; all counts are right. */
static inline void assert_sound(void)
{
	u32 slot, epoch, staged = 0, kept = 0, forgotten = 0, pinned = 0, sampled = 0;
	const struct ds_policy_slot *s;

	memset(seen, 0, sizeof(seen));
	walk(policy.staging);
	walk(policy.aside);
	for (epoch = 0; epoch < DS_EPOCHS; epoch++) {
		walk(policy.main[epoch]);
		assert_int_equal(policy.main[epoch] != DS_POLICY_NONE, policy.filled >> epoch & 1);
	}
	for (slot = 0; slot < policy.fresh; slot++) {
		s = &policy.slots[slot];
		assert_int_equal(seen[slot], 1);
		sampled += !!(s->link & DS_SLOT_SAMPLED);
		if (!(s->key_high & DS_SLOT_USED)) {
			forgotten++;
			continue;
		}
		assert_int_equal(slot_of[ds_policy_key(&policy, slot)], slot);
		if (s->key_high & DS_SLOT_PINNED && !(s->link & DS_SLOT_COMING))
			pinned++;
		else if (s->link & DS_SLOT_MAIN)
			kept++;
		else
			staged++;
	}
	assert_int_equal(staged, policy.staged);
	assert_int_equal(kept, policy.kept);
	assert_int_equal(forgotten, policy.forgotten);
	assert_int_equal(pinned, policy.pinned);
	assert_int_equal(sampled, policy.in_sample);
}

/* As if one had hit so often more than the one in use, and the two had differed so often. */
static inline void trial_leads(struct ds_trials *t, u32 index, s32 hits, u32 apart)
{
	t->trials[index].lately.gain = t->trials[t->used].lately.gain + hits * DS_TRIAL_HIT;
	t->trials[index].lately.apart = (u64)apart * DS_TRIAL_HIT * DS_TRIAL_HIT;
}

#endif /* CORE_POLICY_H */

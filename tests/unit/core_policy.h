/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of L1's policy: its sources, with memory that runs out, and a cache around it. */
#ifndef CORE_POLICY_H
#define CORE_POLICY_H

#include "core_test.h"
#include "tokencache/ghost.c"
#include "tokencache/shadow.c"
#include "tokencache/sketch.c"
#include "tokencache/policy_queue.c"
#include "tokencache/policy.c"
#include "tokencache/trial.c"
#include "tokencache/policy_001.c"

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

/* Whether it was a hit. */
static inline bool use(u32 key)
{
	u32 victim, slot = slot_of[key];

	if (slot != DS_POLICY_NONE) {
		ds_policy_hit(&policy, slot);
		return true;
	}
	slot = ds_policy_miss(&policy, key, &victim);
	if (victim != DS_POLICY_NONE) {
		assert_int_equal(slot_of[victim], slot);
		slot_of[victim] = DS_POLICY_NONE;
	}
	slot_of[key] = slot;
	return false;
}

#endif /* CORE_POLICY_H */

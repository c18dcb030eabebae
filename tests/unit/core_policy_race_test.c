// SPDX-License-Identifier: Apache-2.0
/* Hits from two threads, without a lock, while a third one misses: nothing is torn or lost. */
#include "core_policy.h"
#include "core_steps.h"

#define CAPACITY	256
#define KEYS		2000
#define MISSES		STEPS(200000)

static bool stopping;

static void *hit_all(void *unused)
{
	u32 i, hits = 0;

	while (!READ_ONCE(stopping))
		for (i = 0; i < CAPACITY; i += 1 + (hits++ & 7))
			ds_policy_hit(&policy, i);
	return unused;
}

static void assert_all_there(void)
{
	u32 key, used = 0;

	for (key = 0; key < KEYS; key++) {
		if (slot_of[key] == DS_POLICY_NONE)
			continue;
		assert_int_equal(ds_policy_key(&policy, slot_of[key]), key);
		used++;
	}
	assert_int_equal(used, CAPACITY);
	if (!policy.base)
		assert_int_equal(policy.staged + policy.kept, used);
}

static void hits_while_others_miss(void **state)
{
	pthread_t threads[2];
	u32 mode, i;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(CAPACITY, mode, KEYS);
		if (policy.base)
			policy.base->params.promote_to_l1_threshold = 1;
		WRITE_ONCE(stopping, false);
		for (i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, hit_all, NULL), 0);
		for (i = 0; i < MISSES; i++) {
			use(random_below(KEYS));
			ds_policy_tick(&policy, i * 1000ull, i, &(struct ds_policy_load){ 0 });
		}
		WRITE_ONCE(stopping, true);
		for (i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		assert_all_there();
		stop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hits_while_others_miss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

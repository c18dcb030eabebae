// SPDX-License-Identifier: Apache-2.0
/*
 * L1's policy while tokens are on their way: they have their slots, and are not found there yet.
 */
#include "core_policy.h"

#define CAPACITY	1000
#define OBJECTS		10000
#define USES		300000
#define COMING_MOST	32

static bool is_coming[OBJECTS];
static u32 coming[USES];	/* keys, in the order in which they come */
static u32 first, last;

static void begin(u32 capacity)
{
	start(capacity, DS_POLICY_DEFAULT, OBJECTS);
	memset(is_coming, 0, sizeof(is_coming));
	first = 0;
	last = 0;
}

/* All but the latest @left are there. */
static void arrive(u32 left)
{
	while (last - first > left) {
		u32 key = coming[first++];

		is_coming[key] = false;
		assert_int_equal(ds_policy_pin(&policy, slot_of[key], false), 0);
	}
}

/* Whether it was a hit. Who is on his way is not found, and does not come twice. */
static bool use_later(u32 key)
{
	if (is_coming[key])
		return false;
	if (use(key))
		return true;
	if (slot_of[key] == DS_POLICY_NONE)
		return false;
	coming[last++] = key;
	ds_policy_promise(&policy, slot_of[key], last - first);
	is_coming[key] = true;
	return false;
}

/* Of a skew. A rule, or DS_RULES: whatever is chosen. */
static u32 hits_with(u32 capacity, u32 rule, u32 most)
{
	u32 n, hits = 0;

	random_state = 1;
	begin(capacity);
	for (n = 0; n < USES; n++) {
		u32 key = zipf(OBJECTS), left = random_below(COMING_MOST + 1);

		arrive(left * most / COMING_MOST);
		if (rule < DS_RULES)
			set_rule(rule);
		hits += use_later(key);
	}
	assert_sound();
	arrive(0);
	assert_sound();
	assert_int_equal(policy.pinned, 0);
	stop();
	return hits;
}

/*
 * How many are on their way changes with each use. A rule that makes up for it takes tokens into
 * main that it would not have chosen, which cost a trace of OLTP a sixth of its hits. Where there
 * are few slots the same happens if it forgets soon how many there were.
 */
static void rules_choose_as_if_all_had_come(void **state)
{
	static const struct {
		u32 capacity, most[4];
	} cases[] = {
		{ CAPACITY, { 1, 2, 8, COMING_MOST } },
		{ 128, { 1, 2 } },
		{ 40, { 1, 2 } },
	};
	u32 rule, c, i, most, at_once, hits, lost;

	(void)state;
	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		for (rule = 0; rule <= DS_RULES; rule++) {
			at_once = hits_with(cases[c].capacity, rule, 0);
			for (i = 0; i < ARRAY_SIZE(cases[c].most) && cases[c].most[i]; i++) {
				most = cases[c].most[i];
				hits = hits_with(cases[c].capacity, rule, most);
				/* Half as many slots as that are not to be found in anyway. */
				lost = at_once / 40 + at_once / cases[c].capacity * most / 2;
				print_message("# %u slots, rule %u: %u hits at once, %u with up to %u on their way\n",
					      cases[c].capacity, rule, at_once, hits, most);
				assert_true(hits > at_once - lost);
			}
		}
	}
}

/* It is nobody's to send away until it has come, and then whoever pins it says so. */
static void promises_are_kept(void **state)
{
	u32 key, slot, turn;

	(void)state;
	for (turn = 0; turn < 4; turn++) {
		begin(CAPACITY);
		use(0);
		slot = slot_of[0];
		if (turn == 3)
			assert_int_equal(ds_policy_pin(&policy, slot, true), 0);
		ds_policy_promise(&policy, slot, 1);
		assert_int_equal(policy.pinned, 0);
		for (key = 1; key < OBJECTS; key++)
			use(key);
		assert_int_equal(slot_of[0], slot);
		assert_sound();
		switch (turn) {
		case 0:
			assert_int_equal(ds_policy_pin(&policy, slot, true), 0);
			assert_int_equal(policy.pinned, 1);
			break;
		case 1:
			assert_int_equal(ds_policy_forget(&policy, slot), 0);
			slot_of[0] = DS_POLICY_NONE;
			break;
		default:
			assert_int_equal(ds_policy_pin(&policy, slot, false), 0);
		}
		assert_sound();
		for (key = 1; key < OBJECTS; key++)
			use(key);
		assert_int_equal(slot_of[0] != DS_POLICY_NONE, turn == 0);
		assert_sound();
		stop();
	}
}

/*
 * As many more have a place in staging as were on their way at once lately, who would leave when
 * they come otherwise. If they always come at once nothing is other than without promises.
 */
static void staging_has_room_for_them(void **state)
{
	u32 key, usual, n, most;

	(void)state;
	begin(CAPACITY);
	usual = policy.window;
	for (most = 1; most <= 100; most *= 10) {
		for (key = 0; key < OBJECTS; key++) {
			arrive(most - 1);
			set_rule(DS_RULE_S3FIFO);
			use_later(key);
		}
		set_rule(DS_RULE_S3FIFO);
		assert_in_range(policy.window - usual, (most - 1) * 3 / 4, most - 1);
		assert_sound();
	}
	arrive(0);
	for (n = 0; n < 16; n++)
		for (key = 0; key < OBJECTS; key++)
			use(key);
	set_rule(DS_RULE_S3FIFO);
	assert_int_equal(policy.window, usual);
	stop();
}

/* Up to all of them: nobody comes in who has no place, and nothing is lost. */
static void all_may_be_promised(void **state)
{
	u32 key;

	(void)state;
	begin(CAPACITY);
	for (key = 0; key < 2 * CAPACITY; key++)
		use_later(key);
	assert_int_equal(last, CAPACITY);
	assert_sound();
	arrive(0);
	for (key = 2 * CAPACITY; key < 4 * CAPACITY; key++)
		assert_false(use(key));
	assert_sound();
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rules_choose_as_if_all_had_come),
		TEST(promises_are_kept),
		TEST(staging_has_room_for_them),
		TEST(all_may_be_promised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

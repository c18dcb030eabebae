// SPDX-License-Identifier: Apache-2.0
/*
 * The token cache with L2: who waits for a token, as it is on its way or written to, goes on as
 * soon as it can. What he waits for comes while he waits.
 */
#include "core_test.h"

static u32 waited;
static void (*comes)(void);	/* the fifth time that somebody waits */

static inline void wait_for_it(void)
{
	if (++waited == 5)
		comes();
}

#undef cpu_relax
#define cpu_relax()	wait_for_it()

#include "core_tier.h"
#include "tokencache/read.c"
#include "tokencache/inline.c"

static struct ds_cache_change ch;
static u64 *place;

static void it_arrives(void)
{
	assert_int_equal(ds_change_end(&cache, &ch, 0), 0);
}

static void it_stays(void)
{
	ds_change_end(&cache, &ch, -ECANCELED);
}

static void it_is_written(void)
{
	WRITE_ONCE(*place, *place & ~DS_WORD_WRITER);
}

static void wait_until(void (*it)(void))
{
	waited = 0;
	comes = it;
}

/* To L1, or not after all. */
static void on_its_way(void **state)
{
	u32 i, in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	cache.table.blocking = true;
	for (i = 0; i < 4; i++) {
		assert_int_equal(ds_cache_miss_begin(&cache, tokens[i], &ch), 0);
		wait_until(i < 2 ? it_arrives : it_stays);
		if (i % 2)
			post(i);
		assert_int_equal(get(i), i < 2 ? 1 : 3);
		assert_in_range(waited, 5, 6);
	}
	check_all(in);
	stop();
}

static void nothing(struct ds_token_idle *idle)
{
	(void)idle;
}

static struct ds_token_idle nobody = { .done = nothing };

static u32 comes_to(struct ds_cache_change *change)
{
	return change->moves[change->count - 1].move.to;
}

/*
 * By default a quarter of L1 is promised to those on their way, and who else is missed meanwhile comes
 * to L2. Whether they come, stay or are revoked, others may come then.
 */
static void a_quarter_is_on_its_way(void **state)
{
	enum { QUARTER = CAPACITY / 4 };
	static struct ds_cache_change on_their_way[QUARTER + 1];
	u32 mode, i, turn, next = 0, in[4];

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(mode, 1);
		if (mode != DS_POLICY_DEFAULT)
			cache.policy.base->params.promote_to_l1_threshold = 1;
		for (turn = 0; turn < 3; turn++) {
			for (i = 0; i <= QUARTER; i++)
				assert_int_equal(ds_cache_miss_begin(&cache, tokens[next + i],
								     &on_their_way[i]), 0);
			assert_int_equal(comes_to(&on_their_way[QUARTER - 1]), 1);
			assert_int_equal(comes_to(&on_their_way[QUARTER]),
					 mode == DS_POLICY_DEFAULT ? 2 : 1);
			for (i = 0; turn == 2 && i < QUARTER; i++)
				assert_int_equal(ds_token_revoke(&cache.table, tokens[next + i],
								 &nobody), -EINPROGRESS);
			for (i = 0; i <= QUARTER; i++) {
				if (turn == 1)
					ds_change_end(&cache, &on_their_way[i], -ECANCELED);
				else
					ds_change_end(&cache, &on_their_way[i], 0);
			}
			assert_int_equal(cache.coming, 0);
			for (i = 0; turn == 2 && i < QUARTER; i++) {
				ds_token_free(&cache.table, tokens[next + i]);
				tokens[next + i] = create(next + i);
			}
			next += QUARTER + 1;
		}
		check_all(in);
		stop();
		next = 0;
	}
}

/* To be written to, moved, or pinned. */
static void written_to(void **state)
{
	u32 i, in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	for (i = 0; i < 4; i++) {
		place = ds_token_word(&cache.table, tokens[i]);
		*place |= DS_WORD_WRITER;
		wait_until(it_is_written);
		if (i == 0)
			post(i);
		else if (i == 1)
			assert_int_equal(ds_cache_miss(&cache, tokens[i]), 0);
		else if (i == 2)
			assert_int_equal(ds_cache_stage(&cache, tokens[i]), 0);
		else
			assert_int_equal(ds_cache_pin(&cache, tokens[i], true), 0);
		assert_int_equal(waited, 5);
		assert_int_equal(get(i), i == 1 ? 1 : i == 2 ? 2 : 3);
	}
	check_all(in);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(on_its_way),
		TEST(a_quarter_is_on_its_way),
		TEST(written_to),
	};

	return cmocka_run_group_tests_name("core_tier_wait", tests, NULL, NULL);
}

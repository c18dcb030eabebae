// SPDX-License-Identifier: Apache-2.0
/* L2 of the token cache: pages of buckets and mixed ones. */
#include <pthread.h>
#include "core_l2.h"

static void limits(void **state)
{
	int allocs;

	(void)state;
	assert_int_equal(ds_l2_init(&l2, 0, 0), -EINVAL);
	assert_int_equal(ds_l2_init(&l2, DS_L2_PAGES_MAX + 1, 0), -EINVAL);
	for (allocs = 0; allocs < 3; allocs++) {
		allocs_left = allocs;
		assert_int_equal(ds_l2_init(&l2, 1, 0), -ENOMEM);
		assert_int_equal(allocs_held, 0);
		assert_null(l2.pages);
	}
	allocs_left = -1;
	start(DS_L2_PAGES_MAX);
	ds_l2_destroy(&l2);
}

/* A bucket has pages of its own once there are many of it, and each slot of them is used. */
static void a_bucket(void **state)
{
	u32 i, n = CROWD + (PAGES - 1) * DS_L2_PAGE_SLOTS, slots[CROWD + PAGES * DS_L2_PAGE_SLOTS];
	struct ds_token_pack p;

	(void)state;
	start(PAGES);
	for (i = 0; i < n; i++) {
		slots[i] = must_put(i + 1, HIGH);
		assert_int_equal(ds_l2_page_of(&l2, slots[i])->mixed, i < 256);
	}
	assert_int_equal(l2.used, n);
	assert_false(l2.crowded);
	while (put(++n, HIGH) != DS_L2_NONE)	/* then the rest of the mixed one */
		assert_true(l2.crowded);
	assert_int_equal(l2.used, DS_L2_MIXED_SLOTS + (PAGES - 1) * DS_L2_PAGE_SLOTS);
	for (i = 0; i < CROWD + (PAGES - 1) * DS_L2_PAGE_SLOTS; i++)
		expect(slots[i], i + 1, HIGH);
	assert_false(ds_l2_read(&l2, slots[5], 7, &p));
	ds_l2_destroy(&l2);
}

/* No two are neighbours: no page is wasted on one of them. */
static void all_different(void **state)
{
	u32 i, slots[PAGES * DS_L2_MIXED_SLOTS];

	(void)state;
	start(PAGES);
	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		slots[i] = put(i + 1, i * 977);
		if (slots[i] == DS_L2_NONE)
			break;
	}
	assert_int_equal(i, ARRAY_SIZE(slots));
	for (i = 0; i < ARRAY_SIZE(slots); i++)
		expect(slots[i], i + 1, i * 977);
	assert_int_equal(put(i + 1, 1), DS_L2_NONE);
	ds_l2_destroy(&l2);
}

/* Pages are given to whoever needs them once they are empty. */
static void pages_change_hands(void **state)
{
	u32 round, i, n, slots[PAGES * DS_L2_PAGE_SLOTS];

	(void)state;
	start(PAGES);
	for (round = 0; round < 4; round++) {
		for (n = 0; (slots[n] = put(n + 1, round)) != DS_L2_NONE; n++)
			;
		assert_int_equal(n, DS_L2_MIXED_SLOTS + (PAGES - 1) * DS_L2_PAGE_SLOTS);
		for (i = 0; i < n; i++) {
			expect(slots[i], i + 1, round);
			ds_l2_give(&l2, slots[i]);
		}
		assert_int_equal(l2.used, 0);
		assert_false(l2.crowded);
	}
	for (i = 0; i < 1u << l2.bits; i++)
		assert_int_equal(l2.crowd[i], 0);
	ds_l2_destroy(&l2);
}

/* How many pages are a bucket's, and no two of the same one. */
static u32 pages_of_buckets(void)
{
	u32 i, other, n = 0;

	for (i = 0; i < l2.nr_pages; i++) {
		if (l2.pages[i].mixed || !l2.pages[i].used)
			continue;
		n++;
		for (other = 0; other < i; other++)
			assert_true(l2.pages[other].mixed || !l2.pages[other].used ||
				    l2.pages[other].base != l2.pages[i].base);
	}
	return n;
}

/* More buckets of one hash than are looked through: those that are not found are mixed. */
static void same_hash(void **state)
{
	u32 high, found = 0, highs[CHAIN_LOOK + 3], i, n, slot;

	(void)state;
	start(64);
	for (high = 1; found < ARRAY_SIZE(highs); high++)
		if (bucket_of(&l2, high) == bucket_of(&l2, 1))
			highs[found++] = high;
	for (n = 0; n < 500; n++) {
		for (i = 0; i < found; i++) {
			slot = must_put(n * 100 + i + 1, highs[i]);
			expect(slot, n * 100 + i + 1, highs[i]);
		}
	}
	assert_int_equal(l2.used, 500 * found);
	assert_int_equal(pages_of_buckets(), CHAIN_LOOK + 1);
	ds_l2_destroy(&l2);
}

/* A reader with an old slot: another token, nobody, a page that is of another kind by now. */
static void an_old_slot(void **state)
{
	u32 i, n, slots[DS_L2_PAGE_SLOTS * 2], last;
	struct ds_token_pack p;

	(void)state;
	start(2);
	for (n = 0; (slots[n] = put(n + 1, HIGH)) != DS_L2_NONE; n++)
		;
	last = 1u << DS_L2_SLOT_BITS | (DS_L2_PAGE_SLOTS - 1);
	for (i = 0; i < n && slots[i] != last; i++)
		;
	expect(last, i + 1, HIGH);
	ds_l2_renew(&l2, last, (u64)HIGH << 32);
	assert_false(ds_l2_read(&l2, last, i + 1, &p));
	while (n--) {
		ds_l2_give(&l2, slots[n]);
		assert_false(ds_l2_read(&l2, slots[n], n + 1, &p));
	}
	for (n = 0; put(n + 1, n * 1000) != DS_L2_NONE; n++)
		;
	assert_int_equal(l2.pages[1].mixed, 1);
	l2.pages[1].slots[DS_L2_PAGE_SLOTS - 1].token = 12;	/* high halves, that look like it */
	assert_false(ds_l2_read(&l2, last, 12, &p));
	ds_l2_destroy(&l2);
}

/* What a mixed page has behind its slots are no tokens when it is a bucket's. */
static void slots_of_a_page_that_was_mixed(void **state)
{
	u32 i, n, slots[DS_L2_PAGE_SLOTS * 2];

	(void)state;
	start(2);
	for (n = 0; (slots[n] = put(n + 1, (n + 1) * 1000)) != DS_L2_NONE; n++)
		;
	assert_int_equal(l2.pages[1].mixed, 1);
	assert_int_equal(l2.nr_mixed, 2);
	while (n--)
		ds_l2_give(&l2, slots[n]);
	assert_int_equal(l2.nr_mixed, 1);
	for (n = 0; !l2.pages[1].used || l2.pages[1].mixed; n++)
		must_put(n + 1, HIGH);
	for (i = 0; i < DS_L2_PAGE_SLOTS; i++)
		assert_int_equal(!!l2.pages[1].slots[i].token, l2.pages[1].taken[i / 64] >> i % 64 & 1);
	ds_l2_destroy(&l2);
}

/* A page that has room again is found before those that have none. */
static void room_is_found_again(void **state)
{
	u32 n, slots[DS_L2_PAGE_SLOTS * 4];

	(void)state;
	start(4);	/* the first one is mixed */
	for (n = 0; (slots[n] = put(n + 1, HIGH)) != DS_L2_NONE; n++)
		;
	while (n-- > 0) {
		ds_l2_give(&l2, slots[n]);
		assert_int_equal(must_put(n + 1, HIGH), slots[n]);
	}
	/* In several pages at once. */
	for (n = 0; slots[n] >> DS_L2_SLOT_BITS != 1; n++)
		;
	ds_l2_give(&l2, slots[n]);
	for (n = 0; slots[n] >> DS_L2_SLOT_BITS != 2; n++)
		;
	ds_l2_give(&l2, slots[n]);
	must_put(1, HIGH);
	must_put(2, HIGH);
	assert_int_equal(put(3, HIGH), DS_L2_NONE);
	ds_l2_destroy(&l2);
}

/* Fillings are counted, so that a reader sees those of its page that were meanwhile. */
static void filled_meanwhile(void **state)
{
	struct ds_token_pack p = pack_of(3, HIGH);
	u32 a, b;
	u64 before;

	(void)state;
	start(1);
	a = must_put(1, HIGH);
	before = l2.pages[0].filled;
	b = must_put(2, HIGH);
	assert_int_equal(l2.pages[0].filled, before + 1);
	expect(a, 1, HIGH);
	ds_l2_renew(&l2, b, p.fixed);
	ds_l2_fill(&l2, b, 3, &p);
	assert_int_equal(l2.pages[0].filled, before + 2);
	expect(b, 3, HIGH);
	ds_l2_destroy(&l2);
}

/* A quarter of a mixed page is room for anybody. */
static void no_longer_crowded(void **state)
{
	u32 n, slots[DS_L2_MIXED_SLOTS + 1];

	(void)state;
	start(1);
	n = fill_mixed_page(slots);
	while (n > DS_L2_MIXED_SLOTS * 3 / 4) {
		assert_true(l2.crowded);
		ds_l2_give(&l2, slots[--n]);
	}
	assert_false(l2.crowded);
	ds_l2_destroy(&l2);
}

enum { MODEL_TOKENS = 6000 };

static struct { u32 slot, token, high; } model[MODEL_TOKENS];

static void check_model(u32 held)
{
	u32 i, used = 0, mixed = 0;

	for (i = 0; i < MODEL_TOKENS; i++) {
		struct ds_l2_page *page;

		if (!model[i].token)
			continue;
		page = ds_l2_page_of(&l2, model[i].slot);
		expect(model[i].slot, model[i].token, model[i].high);
		assert_true(page->mixed || page->base == model[i].high);
	}
	for (i = 0; i < PAGES; i++) {
		used += l2.pages[i].used;
		mixed += l2.pages[i].chain == mixed_chain(&l2);
	}
	assert_int_equal(l2.nr_mixed, mixed);
	assert_int_equal(used, held);
	assert_int_equal(l2.used, held);
}

static u32 random_high(void)
{
	/* Three buckets have nearly all, and which they are changes. */
	return random_below(10) ? (u32)(random_state >> 60) % 3 : random_below(100000);
}

/* Whoever comes finds a place, and is what it was until it leaves. */
static void random_model(void **state)
{
	u64 n, steps = random_steps();
	u32 held = 0, token = 0;

	(void)state;
	start(PAGES);
	for (n = 0; n < steps; n++) {
		u32 i = random_below(MODEL_TOKENS), v, slot;
		struct ds_token_pack p;

		if (model[i].token && random_below(2)) {
			ds_l2_give(&l2, model[i].slot);
			model[i].token = 0;
			held--;
		}
		if (model[i].token) {
			ds_l2_hit(&l2, model[i].slot);
			continue;
		}
		p = pack_of(++token, random_high());
		slot = ds_l2_take(&l2, p.fixed);
		if (slot == DS_L2_NONE) {
			slot = ds_l2_victim(&l2, p.fixed);
			assert_int_not_equal(slot, DS_L2_NONE);
			for (v = 0; model[v].slot != slot || !model[v].token; v++)
				;
			expect(slot, model[v].token, model[v].high);
			model[v].token = 0;
			held--;
			ds_l2_renew(&l2, slot, p.fixed);
		}
		ds_l2_fill(&l2, slot, token, &p);
		ds_l2_keep(&l2, slot, false);
		model[i].slot = slot;
		model[i].token = token;
		model[i].high = (u32)(p.fixed >> 32);
		held++;
		if (!(n % (steps / 50)))
			check_model(held);
	}
	check_model(held);
	ds_l2_destroy(&l2);
}

/* ---- readers while a page goes from bucket to bucket ---- */

enum { READERS = 2, SHARED = 1 << DS_L2_SLOT_BITS };

static bool stop;
static u64 whole, wrong;

static void *reader(void *arg)
{
	u32 token = 0;

	(void)arg;
	while (!READ_ONCE(stop)) {
		struct ds_token_pack p, want;

		token = token % 4 + 1;
		if (!ds_l2_read(&l2, SHARED, token, &p))
			continue;
		want = pack_of(token, token % 2 + HIGH);
		__atomic_fetch_add(&whole, 1, __ATOMIC_RELAXED);
		if (p.fixed != want.fixed || p.hot != want.hot)
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void pause_a_little(void)
{
	u32 i;

	for (i = 0; i < 20; i++)
		cpu_relax();
}

static void read_meanwhile(void **state)
{
	u64 n, cycles = random_steps();
	pthread_t readers[READERS];
	u32 i;

	(void)state;
	start(2);
	for (i = HIGH; i < HIGH + 2; i++)
		l2.crowd[bucket_of(&l2, i)] += CROWD;	/* as if there were many */
	for (i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, reader, NULL), 0);
	for (n = 0; n < cycles || READ_ONCE(whole) < cycles; n++) {
		u32 token = n % 4 + 1, high = token % 2 + HIGH;
		struct ds_token_pack p = pack_of(token, high);

		assert_int_equal(ds_l2_take(&l2, p.fixed), SHARED);
		pause_a_little();
		ds_l2_fill(&l2, SHARED, token, &p);
		pause_a_little();
		token = (token + 1) % 4 + 1;	/* the other one of this bucket */
		p = pack_of(token, high);
		ds_l2_renew(&l2, SHARED, p.fixed);
		ds_l2_fill(&l2, SHARED, token, &p);
		ds_l2_give(&l2, SHARED);
	}
	WRITE_ONCE(stop, true);
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	print_message("# read %llu times\n", whole);
	assert_int_equal(wrong, 0);
	ds_l2_destroy(&l2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(limits),
		TEST(a_bucket),
		TEST(all_different),
		TEST(pages_change_hands),
		TEST(same_hash),
		TEST(an_old_slot),
		TEST(slots_of_a_page_that_was_mixed),
		TEST(room_is_found_again),
		TEST(filled_meanwhile),
		TEST(no_longer_crowded),
		TEST(random_model),
		TEST(read_meanwhile),
	};

	return cmocka_run_group_tests_name("core_l2", tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* Virtual addresses: first fit, the page behind, generations, and a plain model. */
#include "core_test.h"
#include "rdm/vrange.c"

static void wrong_calls(void **state)
{
	struct ds_vranges v;
	u32 start = 77;

	(void)state;
	assert_int_equal(ds_vranges_init(&v, 0), -EINVAL);
	assert_int_equal(ds_vranges_init(&v, 2), -EINVAL);
	assert_int_equal(ds_vranges_init(&v, 100), 0);
	assert_int_equal(ds_vranges_alloc(&v, 0, &start), -EINVAL);
	assert_int_equal(ds_vranges_alloc(&v, 99, &start), -ENOSPC);
	assert_int_equal(ds_vranges_alloc(&v, 100, &start), -ENOSPC);
	assert_int_equal(ds_vranges_alloc(&v, UINT32_MAX, &start), -ENOSPC);
	assert_int_equal(start, 77);
	assert_int_equal(v.generation, 1);
	assert_int_equal(ds_vranges_alloc(&v, 98, &start), 0);
	assert_int_equal(start, 1);
	ds_vranges_destroy(&v);
}

static void memory_runs_out(void **state)
{
	struct ds_vranges v;
	u32 start, i;

	(void)state;
	for (i = 0; i < 2; i++) {
		allocs_left = (int)i;
		assert_int_equal(ds_vranges_init(&v, 100), -ENOMEM);
		assert_int_equal(allocs_held, 0);
	}
	allocs_left = -1;
	assert_int_equal(ds_vranges_init(&v, 100), 0);
	assert_int_equal(ds_vranges_alloc(&v, 60, &start), 0);
	ds_vranges_free(&v, start, 60);
	/* The list of the next generation; the range that is left can still be had. */
	allocs_left = 0;
	assert_int_equal(ds_vranges_alloc(&v, 60, &start), -ENOMEM);
	assert_int_equal(v.generation, 1);
	assert_int_equal(ds_vranges_alloc(&v, 37, &start), 0);
	assert_int_equal(start, 62);
	allocs_left = -1;
	assert_int_equal(ds_vranges_alloc(&v, 60, &start), 0);
	assert_int_equal(v.generation, 2);
	ds_vranges_destroy(&v);
}

static void defect_5_address_0_is_never_given(void **state)
{
	struct ds_vranges v;
	u32 start, i;

	(void)state;
	assert_int_equal(ds_vranges_init(&v, 3), 0);
	for (i = 1; i < 10; i++) {
		assert_int_equal(ds_vranges_alloc(&v, 1, &start), 0);
		assert_int_equal(start, 1);
		assert_int_equal(v.generation, i);
		assert_int_equal(ds_vranges_alloc(&v, 1, &start), -ENOSPC);
		ds_vranges_free(&v, 1, 1);
	}
	ds_vranges_destroy(&v);
}

static void a_page_lies_between_two_ranges(void **state)
{
	struct ds_vranges v;
	u32 start, i;

	(void)state;
	assert_int_equal(ds_vranges_init(&v, 1000), 0);
	for (i = 1; i + 4 < 1000; i += 4) {
		assert_int_equal(ds_vranges_alloc(&v, 3, &start), 0);
		assert_int_equal(start, i);
	}
	assert_int_equal(ds_vranges_alloc(&v, 3, &start), -ENOSPC);
	assert_int_equal(v.generation, 1);
	ds_vranges_destroy(&v);
}

/* What was freed waits until nothing fits; then all of it can be had. */
static void freed_addresses_wait_for_the_next_generation(void **state)
{
	struct ds_vranges v;
	u32 start, i;

	(void)state;
	assert_int_equal(ds_vranges_init(&v, 101), 0);
	for (i = 0; i < 50; i++) {
		assert_int_equal(ds_vranges_alloc(&v, 1, &start), 0);
		assert_int_equal(start, 1 + 2 * i);
		assert_int_equal(v.generation, 1);
		ds_vranges_free(&v, start, 1);
	}
	assert_int_equal(ds_vranges_alloc(&v, 49, &start), 0);
	assert_int_equal(v.generation, 2);
	assert_int_equal(start, 1);
	ds_vranges_free(&v, start, 49);
	/* Still generation 2: the half behind it. */
	assert_int_equal(ds_vranges_alloc(&v, 20, &start), 0);
	assert_int_equal(start, 51);
	/* A longer one ends the generation, though short ones would fit. */
	assert_int_equal(ds_vranges_alloc(&v, 40, &start), 0);
	assert_int_equal(start, 1);
	assert_int_equal(v.generation, 3);
	/* If there is no room for it then, it does not. */
	assert_int_equal(ds_vranges_alloc(&v, 40, &start), -ENOSPC);
	assert_int_equal(v.generation, 3);
	ds_vranges_destroy(&v);
}

static void all_of_32_bits(void **state)
{
	struct ds_vranges v;
	u32 start;

	(void)state;
	assert_int_equal(ds_vranges_init(&v, UINT32_MAX), 0);
	assert_int_equal(ds_vranges_alloc(&v, 1, &start), 0);
	assert_int_equal(start, 1);
	assert_int_equal(ds_vranges_alloc(&v, UINT32_MAX - 1, &start), -ENOSPC);
	assert_int_equal(ds_vranges_alloc(&v, UINT32_MAX - 4, &start), 0);
	assert_int_equal(start, 3);
	assert_int_equal(ds_vranges_alloc(&v, 1, &start), -ENOSPC);
	ds_vranges_free(&v, start, UINT32_MAX - 4);
	assert_int_equal(ds_vranges_alloc(&v, 5, &start), 0);
	assert_int_equal(start, 3);
	assert_int_equal(v.generation, 2);
	ds_vranges_destroy(&v);
}

/* ---- against a model: what each page is ---- */

#define PAGES	2000
#define HELD	200

enum { FRESH, USED, WAITING };
static u8 model[PAGES];

static u32 model_first_fit(u32 pages)
{
	u32 at, n = 0;

	for (at = 1; at < PAGES; at++) {
		n = model[at] == FRESH ? n + 1 : 0;
		if (n == pages + 1)
			return at - pages;
	}
	return 0;
}

/* Return 0 if there is no room. */
static u32 model_alloc(u32 pages, u32 *generation)
{
	u32 start = model_first_fit(pages), i;
	u8 before[PAGES];

	if (!start) {
		memcpy(before, model, sizeof(before));
		for (i = 1; i < PAGES; i++)
			if (model[i] == WAITING)
				model[i] = FRESH;
		start = model_first_fit(pages);
		if (!start) {
			memcpy(model, before, sizeof(before));
			return 0;
		}
		(*generation)++;
	}
	memset(model + start, USED, pages + 1);
	return start;
}

static void random_against_a_model(void **state)
{
	struct { u32 start, pages; } held[HELD];
	u64 steps = random_steps(), step;
	u32 n = 0, generation = 1, start, pages, expected, i;
	struct ds_vranges v;
	int ret;

	(void)state;
	memset(model, FRESH, sizeof(model));
	assert_int_equal(ds_vranges_init(&v, PAGES), 0);
	for (step = 0; step < steps; step++) {
		if (n == HELD || (n && random_below(2))) {
			i = random_below(n);
			ds_vranges_free(&v, held[i].start, held[i].pages);
			memset(model + held[i].start, WAITING, held[i].pages + 1);
			held[i] = held[--n];
			continue;
		}
		pages = 1 + random_below(1u << random_below(10));
		expected = model_alloc(pages, &generation);
		ret = ds_vranges_alloc(&v, pages, &start);
		assert_int_equal(ret, expected ? 0 : -ENOSPC);
		assert_int_equal(v.generation, generation);
		if (ret)
			continue;
		assert_int_equal(start, expected);
		held[n].start = start;
		held[n++].pages = pages;
	}
	assert_true(generation > steps / 1000);
	while (n--)
		ds_vranges_free(&v, held[n].start, held[n].pages);
	assert_int_equal(ds_vranges_alloc(&v, PAGES - 2, &start), 0);
	assert_int_equal(start, 1);
	ds_vranges_destroy(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_calls),
		TEST(memory_runs_out),
		TEST(defect_5_address_0_is_never_given),
		TEST(a_page_lies_between_two_ranges),
		TEST(freed_addresses_wait_for_the_next_generation),
		TEST(all_of_32_bits),
		TEST(random_against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

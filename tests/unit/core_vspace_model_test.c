// SPDX-License-Identifier: Apache-2.0
/* Address spaces in random use, against a plain model: allocations in a list, with the place of each page. */
#include "core_vspace.h"

#define POOL	512
#define HELD	96
#define LONGEST	40

static struct held {
	u64 address, length;
	u32 access;
	u64 offset[LONGEST];
} held[HELD];

static u32 holder[POOL];	/* of each page of the pool: 1 more than its place in the list */
static u32 count;

static u32 pages_of(const struct held *h)
{
	return (u32)((h->length + PAGE - 1) / PAGE);
}

/* Learn where a new allocation is: in pages that are nobody's. */
static void model_add(struct ds_vspace *s, const struct ds_vspace_grant *grant, u64 length, u32 access)
{
	struct held *h = &held[count++];
	u32 i;

	*h = (struct held) { .address = grant->address, .length = length, .access = access };
	for (i = 0; i < pages_of(h); i++) {
		assert_int_equal(ds_vspace_translate(s, h->address + i * PAGE, 1, access, runs), 1);
		assert_int_equal(runs[0].offset % PAGE, 0);
		assert_true(runs[0].offset < POOL * PAGE);
		assert_int_equal(holder[runs[0].offset / PAGE], 0);
		holder[runs[0].offset / PAGE] = 1;
		h->offset[i] = runs[0].offset;
	}
	assert_int_equal(h->offset[0], grant->offset);
}

static void model_remove(u32 i)
{
	u32 page;

	for (page = 0; page < pages_of(&held[i]); page++)
		holder[held[i].offset[page] / PAGE] = 0;
	held[i] = held[--count];
}

static u32 model_free(void)
{
	u32 i, n = 0;

	for (i = 0; i < POOL; i++)
		n += !holder[i];
	return n;
}

/* What translation must say; for 1 and more, where each byte is. */
static int model_translate(u64 address, u64 length, u32 access)
{
	u32 i;

	for (i = 0; i < count; i++) {
		const struct held *h = &held[i];

		if (address < h->address || address + length > h->address + h->length)
			continue;
		return access & ~h->access ? -EACCES : (int)i;
	}
	return -EFAULT;
}

static void check_runs(int n, const struct held *h, u64 address, u64 length)
{
	u64 at = address - h->address, done;
	int i;

	for (i = 0; i < n; i++) {
		for (done = 0; done < runs[i].length;) {
			u64 in_page = at % PAGE, some = min(PAGE - in_page, runs[i].length - done);

			assert_int_equal(runs[i].offset + done, h->offset[at / PAGE] + in_page);
			done += some;
			at += some;
		}
		if (i)
			assert_int_not_equal(runs[i - 1].offset + runs[i - 1].length, runs[i].offset);
	}
	assert_int_equal(at, address - h->address + length);
}

static void random_translate(struct ds_vspace *s)
{
	const struct held *h = &held[random_below(count)];
	u64 length = 1 + random_below(1u << (1 + random_below(16)));
	u64 address = h->address + random_below((u32)h->length + 1);
	u32 access = 1 + random_below(7);
	int expected, n;

	switch (random_below(4)) {
	case 0:	/* to the end, or one more or less */
		address = h->address + h->length - min(length, h->length) + random_below(3) - 1;
		break;
	case 1:	/* from the start, or before it */
		address = h->address - random_below(2);
		break;
	}
	expected = model_translate(address, length, access);
	n = ds_vspace_translate(s, address, length, access, runs);
	if (expected < 0) {
		assert_int_equal(n, expected);
	} else {
		assert_in_range(n, 1, DS_VSPACE_RUNS);
		check_runs(n, &held[expected], address, length);
	}
}

static void random_alloc(struct ds_vspace *s)
{
	u64 length = 1 + random_below((u32)(random_below(LONGEST) * PAGE + PAGE));
	u32 pages = (u32)((length + PAGE - 1) / PAGE), access = random_below(8);
	struct ds_vspace_grant grant;
	int ret = ds_vspace_alloc(s, length, access, &grant);

	if (ret) {
		assert_int_equal(ret, -ENOSPC);
		if (s->attr.kind == DS_PACKET_HASH)
			assert_true(pages > model_free());
	} else {
		model_add(s, &grant, length, access ? access : DS_ACCESS_ALL);
	}
}

static void random_against_a_model(struct ds_vspace *s)
{
	u64 steps = random_steps(), step;
	struct ds_vspace_usage usage;
	u32 i;

	count = 0;
	memset(holder, 0, sizeof(holder));
	for (step = 0; step < steps; step++) {
		u32 what = random_below(8);

		if (what == 0 && count < HELD) {
			random_alloc(s);
		} else if (what == 1 && count > random_below(HELD / 2)) {
			i = random_below(count);
			assert_int_equal(ds_vspace_free(s, held[i].address,
							random_below(2) ? held[i].length : 0), 0);
			model_remove(i);
		} else if (count) {
			random_translate(s);
		}
		ds_vspace_usage(s, &usage);
		assert_int_equal(usage.allocations, count);
		assert_int_equal(usage.free_bytes, model_free() * PAGE);
	}
	assert_true(usage.generation > steps / 100000);
	while (count--)
		assert_int_equal(ds_vspace_free(s, held[count].address, 0), 0);
	assert_empty(s);
	ds_vspace_destroy(s);
}

static void random_segments(void **state)
{
	(void)state;
	random_against_a_model(create(DS_PACKET_SEGMENTS, POOL));
}

static void random_hash(void **state)
{
	(void)state;
	random_against_a_model(create(DS_PACKET_HASH, POOL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(random_segments),
		TEST(random_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

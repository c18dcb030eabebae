// SPDX-License-Identifier: Apache-2.0
/* The address map: document 000's golden values, every edge, every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rdm/layout.h"

static const struct ds_layout doc000 = { .servers = 4, .server_shift = 24 };

static void expect_pos(const struct ds_layout *l, u64 addr, u32 server, u32 region,
		       u64 offset, u64 region_offset)
{
	struct ds_layout_pos pos;

	assert_int_equal(ds_layout_resolve(l, addr, &pos), 0);
	assert_int_equal(pos.server, server);
	assert_int_equal(pos.region, region);
	assert_int_equal(pos.offset, offset);
	assert_int_equal(pos.region_offset, region_offset);
}

static void check_rejects(void **state)
{
	static const struct ds_layout bad[] = {
		{ 0, 24 }, { 1025, 24 }, { UINT32_MAX, 24 },
		{ 1, 23 }, { 1, 41 }, { 1, 0 }, { 1, UINT32_MAX },
	};
	static const struct ds_layout good[] = {
		{ 1, 24 }, { 1024, 24 }, { 1, 40 }, { 1024, 40 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(ds_layout_check(&bad[i]), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(ds_layout_check(&good[i]), 0);
}

static void golden(void **state)
{
	(void)state;
	expect_pos(&doc000, 0x12300000, 2, DS_REGION_LEAF, 0x300000, 0x100000);
	expect_pos(&doc000, 0x11250000, 1, DS_REGION_LEAF, 0x250000, 0x50000);
	expect_pos(&doc000, 0x12200000, 2, DS_REGION_LEAF, 0x200000, 0);
	expect_pos(&doc000, 0x13010000, 3, DS_REGION_LEVEL1, 0x10000, 0);
	expect_pos(&doc000, 0x10000000, 0, DS_REGION_ROOT, 0, 0);
	expect_pos(&doc000, 0x11250000, GET_MEMORY_SERVER(0x11250000), DS_REGION_LEAF,
		   0x250000, 0x50000);
	assert_int_equal(ds_layout_base(&doc000), MEMORY_BASE_ADDRESS);
	assert_int_equal(ds_layout_last(&doc000), 0x13ffffff);
	assert_int_equal(ds_layout_addr(&doc000, 2, 0x300000), 0x12300000);
}

static void outside(void **state)
{
	static const u64 addrs[] = {
		0, 1, 0x0fffffff, 0x14000000, 0x14000001, 0xffffffff,
		1ULL << 32, 1ULL << 63, UINT64_MAX,
	};
	struct ds_layout_pos pos = { .server = 77 };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		assert_int_equal(ds_layout_resolve(&doc000, addrs[i], &pos), -ERANGE);
		assert_int_equal(ds_layout_range(&doc000, addrs[i], 1, &pos), -ERANGE);
	}
	assert_int_equal(pos.server, 77);
}

/* On both sides of each edge between regions and servers, for each server size. */
static void edges(void **state)
{
	static const u64 start[] = { 0x0, 0x10000, 0x20000, 0x40000, 0x200000, 0x1000000 };
	struct ds_layout l = { .servers = 3 };
	u32 k, s, r;

	(void)state;
	for (k = 0; k <= DS_LAYOUT_MAX_K; k++) {
		l.server_shift = 24 + k;
		for (r = 0; r < DS_REGION_COUNT; r++) {
			assert_int_equal(ds_layout_region_start(&l, r), start[r] << k);
			assert_int_equal(ds_layout_region_end(&l, r), start[r + 1] << k);
		}
		for (s = 0; s < l.servers; s++) {
			u64 base = 0x10000000 + ((u64)s << (24 + k));

			for (r = 0; r < DS_REGION_COUNT; r++) {
				u64 first = start[r] << k, last = (start[r + 1] << k) - 1;

				expect_pos(&l, base + first, s, r, first, 0);
				expect_pos(&l, base + last, s, r, last, last - first);
				assert_int_equal(ds_layout_addr(&l, s, last), base + last);
			}
		}
		expect_pos(&l, ds_layout_last(&l), 2, DS_REGION_LEAF, (1ULL << (24 + k)) - 1,
			   (0xe00000ULL << k) - 1);
	}
}

static void largest(void **state)
{
	const struct ds_layout l = { .servers = 1024, .server_shift = 40 };
	struct ds_layout_pos pos;
	u64 last = 0x10000000 + (1ULL << 50) - 1;

	(void)state;
	assert_int_equal(ds_layout_last(&l), last);
	expect_pos(&l, last, 1023, DS_REGION_LEAF, (1ULL << 40) - 1, (0xe00000ULL << 16) - 1);
	assert_int_equal(ds_layout_resolve(&l, last + 1, &pos), -ERANGE);
}

static void ranges(void **state)
{
	static const struct {
		u64 addr, length;
		int ret;
	} t[] = {
		{ 0x10000000, 0, -EINVAL },
		{ 0, 0, -EINVAL },
		{ 0x10000000, 1, 0 },
		{ 0x10000000, 0x1000000, 0 },
		{ 0x10000000, 0x1000001, -ERANGE },	/* one byte on server 1 */
		{ 0x10ffffff, 1, 0 },
		{ 0x10ffffff, 2, -ERANGE },
		{ 0x13ffffff, 1, 0 },
		{ 0x13ffffff, 2, -ERANGE },		/* one byte past the end */
		{ 0x0fffffff, 2, -ERANGE },		/* one byte before */
		{ 0x10001000, 0x40000, 0 },		/* over three regions */
		{ 0x10000001, UINT64_MAX, -ERANGE },	/* wraps */
		{ 0x10000001, UINT64_MAX - 0x10000000, -ERANGE },
		{ 0x11000000, 1ULL << 63, -ERANGE },
		{ 0x10000000, (1ULL << 32) + 1, -ERANGE },	/* not cut to 32 bits */
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct ds_layout_pos pos = { .server = 77 };

		assert_int_equal(ds_layout_range(&doc000, t[i].addr, t[i].length, &pos), t[i].ret);
		if (t[i].ret)
			assert_int_equal(pos.server, 77);
		else
			expect_pos(&doc000, t[i].addr, pos.server, pos.region, pos.offset,
				   pos.region_offset);
	}
}

static void names(void **state)
{
	u32 r;

	(void)state;
	for (r = 0; r < DS_REGION_COUNT; r++)
		assert_string_not_equal(ds_region_name(r), "unknown");
	assert_string_equal(ds_region_name(DS_REGION_LEAF), "leaf");
	assert_string_equal(ds_region_name(DS_REGION_ROOT), "root");
	assert_string_equal(ds_region_name(DS_REGION_COUNT), "unknown");
	assert_string_equal(ds_region_name(UINT32_MAX), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_rejects),
		cmocka_unit_test(golden),
		cmocka_unit_test(outside),
		cmocka_unit_test(edges),
		cmocka_unit_test(largest),
		cmocka_unit_test(ranges),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests_name("core_layout", tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Packed tokens: nothing is cut off, each field at its ends and where it belongs, and random
 * objects there and back. And what a peer may have of a memory region.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tokencache/pack.h"

static u64 seed = 20261122;

/* splitmix64 */
static u64 random64(void)
{
	u64 z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static struct ds_token_desc object(u8 type)
{
	struct ds_token_desc d;

	memset(&d, 0, sizeof(d));
	d.type = type;
	if (type == DS_TOKEN_MR)
		d.mr.page_shift = 12;
	return d;
}

static bool is_wide(const struct ds_token_desc *d)
{
	struct ds_token_pack p = { 77, 78 };
	int ret = ds_token_pack(d, &p);

	if (ret) {
		assert_int_equal(ret, -EOVERFLOW);
		assert_int_equal(p.fixed, 77);
		assert_int_equal(p.hot, 78);
	}
	return ret;
}

/* There and back, narrow or wide. True if it was wide. */
static bool returns(const struct ds_token_desc *d)
{
	struct ds_token_desc back;
	struct ds_token_pack p;
	u32 where = 12345;
	bool wide;

	memset(&back, 0xa5, sizeof(back));
	wide = ds_token_pack(d, &p);
	if (wide)
		ds_token_pack_wide(d, 4000000, &p);
	assert_int_equal(ds_token_pack_is_wide(&p, &where), wide);
	assert_int_equal(where, wide ? 4000000 : 12345);
	if (ds_token_words(d->type) == 1)
		assert_int_equal(p.hot, 0);
	assert_int_equal(ds_token_unpack(&p, wide ? d : NULL, &back), 0);
	assert_memory_equal(&back, d, sizeof(back));
	return wide;
}

/* The largest value of a field that is narrow, and that the next one is not. */
#define ENDS(type_, field, last) do {			\
	struct ds_token_desc d_ = object(type_);	\
	d_.field = (last);				\
	assert_false(returns(&d_));			\
	d_.field = (last) + 1;				\
	assert_true(returns(&d_));			\
} while (0)

static void ends_of_fields(void **state)
{
	struct ds_token_desc d;

	(void)state;
	ENDS(DS_TOKEN_PD, pd.domain, 65535);
	ENDS(DS_TOKEN_CQ, cq.number, (1u << 24) - 1);
	ENDS(DS_TOKEN_CQ, cq.vector, 255);
	ENDS(DS_TOKEN_CQ, cq.entries, 8388607);
	ENDS(DS_TOKEN_CQ, cq.flags, 3);
	ENDS(DS_TOKEN_MR, mr.access, 0x3ff);
	ENDS(DS_TOKEN_MR, mr.pd, (1u << 20) - 2);
	ENDS(DS_TOKEN_MR, mr.page_shift, 27);
	ENDS(DS_TOKEN_QP, qp.number, (1u << 24) - 1);
	ENDS(DS_TOKEN_QP, qp.qp_type, 15);
	ENDS(DS_TOKEN_QP, qp.access, 63);
	ENDS(DS_TOKEN_QP, qp.pd, (1u << 20) - 2);
	ENDS(DS_TOKEN_QP, qp.scq, (1u << 21) - 2);
	ENDS(DS_TOKEN_QP, qp.rcq, (1u << 21) - 2);

	d = object(DS_TOKEN_MR);
	d.mr.length = 1023 << 12;
	assert_false(returns(&d));
	d.mr.length = 1024 << 12;
	assert_true(returns(&d));
	d.mr.length = 4095;
	assert_true(returns(&d));
	d = object(DS_TOKEN_MR);
	d.mr.iova = ((1ull << 40) - 1) << 12;
	assert_false(returns(&d));
	d.mr.iova = 1ull << 52;
	assert_true(returns(&d));
	d.mr.iova = 8;
	assert_true(returns(&d));
	d = object(DS_TOKEN_MR);
	d.mr.page_shift = 11;
	assert_true(returns(&d));
	d.mr.page_shift = 63;
	assert_true(returns(&d));
	d = object(DS_TOKEN_MR);
	d.mr.access = 1 << 20;		/* IB_ACCESS_RELAXED_ORDERING */
	assert_false(returns(&d));
	d.mr.access = 1 << 21;
	assert_true(returns(&d));
	d = object(DS_TOKEN_QP);
	d.qp.pd = DS_TOKEN_NONE;
	d.qp.scq = DS_TOKEN_NONE;
	d.qp.rcq = DS_TOKEN_NONE;
	d.qp.srq = true;
	d.qp.posted = 65535;
	d.qp.state = 6;
	assert_false(returns(&d));
}

static void keys(void **state)
{
	static const struct { u32 lkey, rkey; bool wide; } cases[] = {
		{ 0, 0, false }, { 5, 0, false }, { 5, 5, false }, { 0, 5, false }, { 5, 6, true },
		{ ~0u, ~0u, false }, { ~0u, 1, true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ds_token_desc d = object(DS_TOKEN_MR);

		d.mr.lkey = cases[i].lkey;
		d.mr.rkey = cases[i].rkey;
		assert_int_equal(returns(&d), cases[i].wide);
	}
}

static void bad_objects(void **state)
{
	struct ds_token_desc d = object(DS_TOKEN_QP);

	(void)state;
	d.qp.state = 6;
	assert_int_equal(ds_token_check(&d), 0);
	d.qp.state = 7;
	assert_int_equal(ds_token_check(&d), -EINVAL);
	d = object(DS_TOKEN_MR);
	d.mr.iova = ~0ull;
	assert_int_equal(ds_token_check(&d), 0);
	d.mr.length = 1;
	assert_int_equal(ds_token_check(&d), 0);
	d.mr.length = 2;
	assert_int_equal(ds_token_check(&d), -EINVAL);
	d = object(DS_TOKEN_MR);
	d.mr.page_shift = 64;
	assert_int_equal(ds_token_check(&d), -EINVAL);
	d.type = DS_TOKEN_TYPES;
	assert_int_equal(ds_token_check(&d), -EINVAL);
	d.type = 255;
	assert_int_equal(ds_token_check(&d), -EINVAL);
}

/* ---- words by the layout that pack.h has, made by hand ---- */

static void expect_words(const struct ds_token_desc *d, u64 fixed, u64 hot)
{
	struct ds_token_pack p;
	struct ds_token_desc back;

	assert_int_equal(ds_token_pack(d, &p), 0);
	assert_int_equal(p.fixed, fixed);
	assert_int_equal(p.hot, hot);
	p = (struct ds_token_pack){ fixed, hot };
	assert_int_equal(ds_token_unpack(&p, NULL, &back), 0);
	assert_memory_equal(&back, d, sizeof(back));
}

/* Layout 1 is narrow; so the lowest digit of the high half is 4 and the type. */
static void golden_words(void **state)
{
	struct ds_token_desc d;

	(void)state;
	d = object(DS_TOKEN_PD);
	d.pd.number = 0x89abcdef;
	d.pd.domain = 0x1234;
	expect_words(&d, 0x0001234489abcdef, 0);

	/* Entries at bit 4 of the high half, flags at bit 27. */
	d = object(DS_TOKEN_CQ);
	d.cq.number = 0xabcdef;
	d.cq.vector = 0x12;
	d.cq.entries = 0x123456;
	d.cq.flags = 2;
	expect_words(&d, 0x1123456612abcdef, 0);

	/* Access at bit 4, the remote key is the local one (1) at 15, 21 - 12 at 17, pages at 21. */
	d = object(DS_TOKEN_MR);
	d.mr.lkey = 0x89abcdef;
	d.mr.rkey = 0x89abcdef;
	d.mr.access = 0x1002a5;		/* relaxed ordering is bit 10 */
	d.mr.page_shift = 21;
	d.mr.length = 0x155ull << 21;
	d.mr.iova = 0x123456789aull << 21;
	d.mr.pd = 0xabcde;
	expect_words(&d, 0x2ab2ea5589abcdef, 0x0abcde123456789a);
	/* Only a remote key (2). */
	d.mr.lkey = 0;
	d.mr.access = 0x2a5;
	expect_words(&d, 0x2ab32a5589abcdef, 0x0abcde123456789a);

	/* Access at bit 4, SRQ at 10, PD at 11. */
	d = object(DS_TOKEN_QP);
	d.qp.number = 0x123456;
	d.qp.qp_type = 9;
	d.qp.access = 0x2b;
	d.qp.srq = true;
	d.qp.pd = 0x54321;
	d.qp.state = 3;
	d.qp.posted = 0xbeef;
	d.qp.scq = 0x12345;
	d.qp.rcq = 0x1abcd;
	expect_words(&d, 0x2a190eb709123456, 0x03579a12345beef3);
	/* None of these is all ones. */
	d.qp.pd = DS_TOKEN_NONE;
	d.qp.scq = DS_TOKEN_NONE;
	d.qp.rcq = DS_TOKEN_NONE;
	expect_words(&d, 0x7ffffeb709123456, 0x3ffffffffffbeef3);
}

/* Layout 3, and where the description is in the low half; a QP's state and posted as above. */
static void golden_wide_words(void **state)
{
	struct ds_token_desc d = object(DS_TOKEN_CQ);
	struct ds_token_pack p;

	(void)state;
	d.cq.number = 1 << 24;
	ds_token_pack_wide(&d, 0x123456, &p);
	assert_int_equal(p.fixed, 0x0000000e00123456);
	assert_int_equal(p.hot, 0);
	d = object(DS_TOKEN_QP);
	d.qp.number = 1 << 24;
	d.qp.state = 3;
	d.qp.posted = 0xbeef;
	ds_token_pack_wide(&d, 0x123456, &p);
	assert_int_equal(p.fixed, 0x0000000f00123456);
	assert_int_equal(p.hot, 0xbeef3);
}

/* Any content: a layout that is known, or an error; and what is refused writes nothing. */
static void any_content(void **state)
{
	struct ds_token_desc d, wide = object(DS_TOKEN_CQ), untouched;
	u32 i, unpacked = 0, refused = 0;

	(void)state;
	memset(&untouched, 0x5a, sizeof(untouched));
	for (i = 0; i < 100000; i++) {
		struct ds_token_pack p = { random64(), random64() };
		u64 layout = p.fixed >> 34 & 3, type = p.fixed >> 32 & 3;
		int ret;

		d = untouched;
		ret = ds_token_unpack(&p, NULL, &d);
		assert_int_equal(ret, layout == 1 ? 0 : -EPROTO);
		if (ret)
			assert_memory_equal(&d, &untouched, sizeof(d));
		else
			assert_int_equal(d.type, type);
		ret = ds_token_unpack(&p, &wide, &d);
		assert_int_equal(ret, layout == 1 || (layout == 3 && type == DS_TOKEN_CQ) ?
				 0 : -EPROTO);
		unpacked += !ret;
		refused += ret != 0;
	}
	assert_int_not_equal(unpacked, 0);
	assert_int_not_equal(refused, 0);
	assert_int_equal(ds_token_unpack(&(struct ds_token_pack){ 0, 0 }, &wide, &d), -EPROTO);
	/* Where somebody found it before is not part of what it says. */
	wide.tier = 2;
	wide.slot = 7;
	assert_int_equal(ds_token_unpack(&(struct ds_token_pack){ (u64)(DS_TOKEN_CQ | 3 << 2) << 32, 0 },
					 &wide, &d), 0);
	assert_int_equal(d.tier, 0);
	assert_int_equal(d.slot, 0);
}

static void pages_of_a_region(void **state)
{
	struct ds_token_desc d = object(DS_TOKEN_MR);

	(void)state;
	assert_int_equal(ds_token_mr_pages(&d), 0);
	d.mr.length = 1;
	assert_int_equal(ds_token_mr_pages(&d), 1);
	d.mr.length = 4096;
	assert_int_equal(ds_token_mr_pages(&d), 1);
	d.mr.length = ~0ull;
	assert_int_equal(ds_token_mr_pages(&d), 1ull << 52);
}

/* A region may end with the last byte that there is: 1 to 2^16 pages of each size are before it. */
static void regions_at_the_end(void **state)
{
	struct ds_token_desc d = object(DS_TOKEN_MR);
	u32 shift, log;

	(void)state;
	for (shift = 0; shift < 64; shift++)
		for (log = 0; log <= 16 && shift + log < 64; log++) {
			d.mr.page_shift = (u8)shift;
			d.mr.length = 1ull << (shift + log);
			d.mr.iova = -d.mr.length;
			assert_int_equal(ds_token_check(&d), 0);
			/* 40 bits of a first page, 10 of pages. */
			assert_int_equal(returns(&d), shift < 24 || shift > 27 || log > 9);
			assert_int_equal(ds_token_mr_pages(&d), 1ull << log);
			d.mr.length++;
			assert_int_equal(ds_token_check(&d), -EINVAL);
		}
}

/* ---- what a peer may have of a region ---- */

/* A region of PD 7 with a gap among its rights, so that neither more nor less stands for them. */
#define RIGHTS	5u

static struct ds_token_desc region(u64 iova, u64 length)
{
	struct ds_token_desc d = object(DS_TOKEN_MR);

	d.mr.pd = 7;
	d.mr.access = RIGHTS;
	d.mr.iova = iova;
	d.mr.length = length;
	assert_int_equal(ds_token_check(&d), 0);
	return d;
}

static bool reaches(const struct ds_token_desc *d, u64 offset, u32 length)
{
	return ds_token_allows(d, 7, offset, length, RIGHTS);
}

static void only_its_own_pd(void **state)
{
	struct ds_token_desc d = region(4096, 4096);

	(void)state;
	assert_true(ds_token_allows(&d, 7, 4096, 1, RIGHTS));
	assert_false(ds_token_allows(&d, 6, 4096, 1, RIGHTS));
	assert_false(ds_token_allows(&d, 7 | 1 << 19, 4096, 1, RIGHTS));
	assert_false(ds_token_allows(&d, DS_TOKEN_NONE, 4096, 1, RIGHTS));
	/* That of packets is in no PD, and no PD reaches it. */
	d.mr.pd = DS_TOKEN_NONE;
	assert_true(ds_token_allows(&d, DS_TOKEN_NONE, 4096, 1, RIGHTS));
	assert_false(ds_token_allows(&d, 7, 4096, 1, RIGHTS));
	assert_false(ds_token_allows(&d, 0, 4096, 1, RIGHTS));
}

/* All that is asked for is needed, and one right of it is not enough. */
static void only_its_rights(void **state)
{
	struct ds_token_desc d = region(4096, 4096);
	u32 has, asks;

	(void)state;
	for (has = 0; has < 32; has++)
		for (asks = 0; asks < 32; asks++) {
			d.mr.access = has;
			assert_int_equal(ds_token_allows(&d, 7, 4096, 1, asks),
					 (has | asks) == has);
		}
	d.mr.access = RIGHTS;
	assert_false(ds_token_allows(&d, 7, 4096, 1, 1u << 31));
}

static void only_within(void **state)
{
	struct ds_token_desc d = region(4096, 4096);

	(void)state;
	assert_true(reaches(&d, 4096, 4096));
	assert_true(reaches(&d, 8191, 1));
	assert_false(reaches(&d, 4095, 1));
	assert_false(reaches(&d, 4095, 2));
	assert_false(reaches(&d, 0, 4096));
	assert_false(reaches(&d, 4097, 4096));
	assert_false(reaches(&d, 8191, 2));
	assert_false(reaches(&d, 8192, 1));
	assert_false(reaches(&d, ~0ull, 1));
	/* Longer than all of it: what would be left is less than nothing. */
	assert_false(reaches(&d, 4096, 4097));
	assert_false(reaches(&d, 4096, ~0u));
	/* Nothing is anywhere from the first byte to behind the last. */
	assert_true(reaches(&d, 4096, 0));
	assert_true(reaches(&d, 8192, 0));
	assert_false(reaches(&d, 4095, 0));
	assert_false(reaches(&d, 8193, 0));
	d = region(4096, 0);
	assert_true(reaches(&d, 4096, 0));
	assert_false(reaches(&d, 4096, 1));
}

/* Where an end that is added up, a difference, or a number of 32 bits would be another one. */
static void only_within_at_the_ends_of_numbers(void **state)
{
	struct ds_token_desc d = region(-4096ull, 4096);	/* the last page */

	(void)state;
	assert_true(reaches(&d, -4096ull, 4096));
	assert_true(reaches(&d, -4096ull, 1));
	assert_true(reaches(&d, ~0ull, 1));
	assert_false(reaches(&d, ~0ull, 2));
	assert_false(reaches(&d, ~0ull, ~0u));
	assert_false(reaches(&d, -4097ull, 1));
	assert_false(reaches(&d, 0, 1));
	d = region(0, 4096);					/* the first one */
	assert_true(reaches(&d, 0, 4096));
	assert_false(reaches(&d, ~0ull, 1));
	assert_false(reaches(&d, -4096ull, 4096));
	d = region(0, ~0ull);					/* all that can be */
	assert_true(reaches(&d, 0, ~0u));
	assert_true(reaches(&d, ~0ull - 1, 1));
	assert_false(reaches(&d, ~0ull, 1));
	d = region(8, -8ull);					/* all but 8 bytes */
	assert_true(reaches(&d, ~0ull, 1));
	assert_false(reaches(&d, 0, 0));
	assert_false(reaches(&d, 7, 1));
	d = region(1ull << 40, (1ull << 32) + 8);		/* too long for 32 bits */
	assert_true(reaches(&d, 1ull << 40, ~0u));
	assert_true(reaches(&d, (1ull << 40) + 9, ~0u));
	assert_false(reaches(&d, (1ull << 40) + 10, ~0u));
	assert_true(reaches(&d, (1ull << 40) + (1ull << 32) + 7, 1));
	assert_false(reaches(&d, (1ull << 40) + (1ull << 32) + 8, 1));
	assert_false(reaches(&d, 8, 1));
	assert_false(reaches(&d, (1ull << 40) + (1ull << 33), 1));
}

/* A number below a random power of two: the ends of fields are as likely as their middles. */
static u64 random_of(u32 bits)
{
	u64 r = random64();

	return r >> (64 - bits) >> random64() % bits;
}

static u32 random_index(u32 bits)
{
	return random64() % 8 ? (u32)random_of(bits) : DS_TOKEN_NONE;
}

static void random_mr(struct ds_token_desc *d)
{
	u64 r = random64();

	d->mr.page_shift = r % 4 ? 12 + r / 4 % 16 : r / 4 % 64;
	d->mr.lkey = r >> 32 & 1 ? (u32)random_of(32) : 0;
	d->mr.rkey = r >> 33 & 1 ? d->mr.lkey : (u32)random_of(32) * (r >> 34 & 1);
	d->mr.access = (u32)random_of(10) | (r >> 35 & 1) << 20;
	d->mr.pd = random_index(21);
	d->mr.iova = random_of(41);
	d->mr.length = random_of(11);
	if (r >> 36 & 7) {
		d->mr.iova = d->mr.iova << d->mr.page_shift >> 1;
		d->mr.length = d->mr.length << d->mr.page_shift >> 1;
	}
}

static struct ds_token_desc random_object(void)
{
	struct ds_token_desc d = object(random64() % DS_TOKEN_TYPES);

	switch (d.type) {
	case DS_TOKEN_PD:
		d.pd.number = (u32)random_of(32);
		d.pd.domain = (u32)random_of(17);
		break;
	case DS_TOKEN_MR:
		random_mr(&d);
		break;
	case DS_TOKEN_CQ:
		d.cq.number = (u32)random_of(25);
		d.cq.vector = (u32)random_of(9);
		d.cq.entries = (u32)random_of(24);
		d.cq.flags = (u32)random_of(3);
		break;
	default:
		d.qp.number = (u32)random_of(25);
		d.qp.qp_type = (u16)random_of(5);
		d.qp.access = (u32)random_of(7);
		d.qp.pd = random_index(21);
		d.qp.scq = random_index(22);
		d.qp.rcq = random_index(22);
		d.qp.posted = (u16)random64();
		d.qp.state = random64() % 7;
		d.qp.srq = random64() & 1;
	}
	return d;
}

/* DS_TEST_STEPS: how many. */
static void random_objects(void **state)
{
	const char *steps = getenv("DS_TEST_STEPS");
	u64 count = steps ? strtoull(steps, NULL, 0) : 1000000, i, wide = 0;

	(void)state;
	print_message("# seed %llu\n", seed);
	for (i = 0; i < count; i++) {
		struct ds_token_desc d = random_object();

		if (ds_token_check(&d))
			continue;
		assert_int_equal(is_wide(&d), returns(&d));
		wide += is_wide(&d);
	}
	print_message("# %llu objects, %llu of them wide\n", count, wide);
	assert_in_range(wide, count / 20, count / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_of_fields),
		cmocka_unit_test(keys),
		cmocka_unit_test(bad_objects),
		cmocka_unit_test(golden_words),
		cmocka_unit_test(golden_wide_words),
		cmocka_unit_test(any_content),
		cmocka_unit_test(pages_of_a_region),
		cmocka_unit_test(regions_at_the_end),
		cmocka_unit_test(only_its_own_pd),
		cmocka_unit_test(only_its_rights),
		cmocka_unit_test(only_within),
		cmocka_unit_test(only_within_at_the_ends_of_numbers),
		cmocka_unit_test(random_objects),
	};

	return cmocka_run_group_tests_name("core_pack", tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a look-up costs: 1,000,000 pages in the pagemap, in an rhashtable and in an
 * xarray; 64 allocations in the segtable and in a list that is scanned.
 *
 * All of them have the same keys, 1 to 1,000,000, dense as addresses of a space
 * are, and are asked for the same ones in the same random order, each answer being
 * checked. They take turns. The rhashtable has grown to its final size, and its
 * objects lie side by side. The log has a line for each round, nanoseconds of all
 * look-ups of each, and of a call that looks nothing up, which is no part of them.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "rdm/pagemap.h"
#include "rdm/segtable.h"

#define PAGES		1000000u
#define SEGMENTS	64u
#define BATCH		10000u	/* look-ups between two chances to let others run */
#define KNOWN(page)	(DS_PAGEMAP_MAPPED | VALUE(page))
#define VALUE(page)	((page) ^ 0xfffffu)

static unsigned int rounds = 5;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "measurements of each table");

static unsigned int lookups = PAGES;
module_param(lookups, uint, 0444);
MODULE_PARM_DESC(lookups, "look-ups of a measurement");

struct object {
	struct rhash_head node;
	u32 page;
	u32 value;
};

static const struct rhashtable_params params = {
	.key_len = sizeof(u32),
	.key_offset = offsetof(struct object, page),
	.head_offset = offsetof(struct object, node),
};

static struct ds_pagemap *pagemap;
static struct object *objects;
static struct rhashtable rhashtable;
static DEFINE_XARRAY(xarray);
static struct ds_segtable segtable;

/* ---- one look-up in each. Return: whether the answer is right ---- */

/* None: what asking costs by itself, to be taken off the others. */
static noinline u64 known(u32 page)
{
	barrier();
	return KNOWN(page);
}

static __always_inline bool in_nothing(u32 page)
{
	return known(page) == KNOWN(page);
}

static __always_inline bool in_pagemap(u32 page)
{
	return ds_pagemap_find(pagemap, page) == KNOWN(page);
}

static __always_inline bool in_rhashtable(u32 page)
{
	struct object *o = rhashtable_lookup_fast(&rhashtable, &page, params);

	return o && o->value == VALUE(page);
}

static __always_inline bool in_xarray(u32 page)
{
	return xa_load(&xarray, page) == xa_mk_value(VALUE(page));
}

/* Addresses of segment n: 100 pages from 128 * n pages on. */
static __always_inline u64 address_of(u32 number)
{
	return (u64)(number / 100 * 128 + number % 100) << 12;
}

static __always_inline bool is_right(const struct ds_segtable_entry *e, u64 address)
{
	return e && e->offset == (address & ~0x7ffffull);
}

static __always_inline bool in_segtable(u32 number)
{
	u64 address = address_of(number);

	return is_right(ds_segtable_find(&segtable, address), address);
}

static noinline const struct ds_segtable_entry *scan(const struct ds_segtable *t, u64 address)
{
	const struct ds_segtable_entry *e;

	for (e = t->entry; e < t->entry + t->count; e++)
		if (address >= e->base && address < e->limit)
			return e;
	return NULL;
}

static __always_inline bool in_scan(u32 number)
{
	u64 address = address_of(number);

	return is_right(scan(&segtable, address), address);
}

/* ---- many look-ups ---- */

/* The time of @lookups of them, of numbers from 1 to @n in the order of @seed; 0: one was wrong. */
static __always_inline u64 measure(bool (*in)(u32), u32 n, u64 seed)
{
	u64 start = ktime_get_ns();
	u32 i, right = 0;

	for (i = 0; i < lookups; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		right += in((u32)((seed >> 32) * n >> 32) + 1);
		if (i % BATCH == 0)
			cond_resched();
	}
	return right == lookups ? ktime_get_ns() - start : 0;
}

static int measure_round(u32 round)
{
	u64 nothing = measure(in_nothing, PAGES, round);
	u64 map = measure(in_pagemap, PAGES, round);
	u64 rht = measure(in_rhashtable, PAGES, round);
	u64 xa = measure(in_xarray, PAGES, round);
	u64 seg = measure(in_segtable, SEGMENTS * 100 - 1, round);
	u64 list = measure(in_scan, SEGMENTS * 100 - 1, round);

	if (!nothing || !map || !rht || !xa || !seg || !list)
		return -EBADMSG;
	pr_info("ds_bench_translation: lookups %u nothing %llu pagemap %llu rhashtable %llu xarray %llu segtable %llu scan %llu\n",
		lookups, nothing, map, rht, xa, seg, list);
	return 0;
}

/* ---- the tables ---- */

static void destroy(void)
{
	ds_segtable_destroy(&segtable);
	xa_destroy(&xarray);
	if (objects)
		rhashtable_destroy(&rhashtable);
	vfree(objects);
	if (pagemap)
		ds_pagemap_destroy(pagemap);
	kvfree(pagemap);
}

static int fill_page(u32 page)
{
	struct object *o = &objects[page - 1];
	int ret;

	o->page = page;
	o->value = VALUE(page);
	ret = ds_pagemap_insert(pagemap, page, KNOWN(page));
	if (!ret)
		ret = rhashtable_insert_fast(&rhashtable, &o->node, params);
	if (!ret)
		ret = xa_err(xa_store(&xarray, page, xa_mk_value(VALUE(page)), GFP_KERNEL));
	return ret;
}

static int fill(void)
{
	struct ds_segtable_entry e = { .access = 1 };
	u32 i;
	int ret;

	for (i = 1; i <= PAGES; i++) {
		ret = fill_page(i);
		if (ret)
			return ret;
		cond_resched();
	}
	flush_work(&rhashtable.run_work);	/* it grows */
	for (i = 0; i < SEGMENTS; i++) {
		e.base = address_of(i * 100);
		e.limit = e.base + (100 << 12);
		e.offset = e.base;
		ret = ds_segtable_insert(&segtable, &e);
		if (ret)
			return ret;
	}
	return 0;
}

static int create(void)
{
	int ret;

	ds_segtable_init(&segtable);
	pagemap = kvzalloc(sizeof(*pagemap), GFP_KERNEL);
	if (!pagemap)
		return -ENOMEM;
	ret = ds_pagemap_init(pagemap, PAGES, ktime_get_ns());
	if (ret)
		return ret;
	objects = vzalloc(PAGES * sizeof(*objects));
	if (!objects)
		return -ENOMEM;
	ret = rhashtable_init(&rhashtable, &params);
	if (ret) {
		vfree(objects);
		objects = NULL;
	}
	return ret;
}

static int __init translation_init(void)
{
	u32 round;
	int ret;

	ret = create();
	if (!ret)
		ret = fill();
	if (!ret)
		pr_info("ds_bench_translation: pages %u bytes %llu\n", PAGES,
			ds_pagemap_bytes(pagemap));
	for (round = 1; !ret && round <= rounds; round++)
		ret = measure_round(round);
	destroy();
	return ret;
}

static void __exit translation_exit(void)
{
}

module_init(translation_init);
module_exit(translation_exit);
MODULE_DESCRIPTION("DS: what address translation costs");
MODULE_LICENSE("GPL");

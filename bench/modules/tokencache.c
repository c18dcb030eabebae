// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a look-up costs: tokens in the directory, and values in an xarray under the
 * same indices.
 *
 * Both are asked for the same ones in the same random order, which is drawn before
 * the clock starts, each answer being checked. They take turns. The log has a line
 * for each round, nanoseconds of all look-ups of each, and of a call that looks
 * nothing up, which is no part of them.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>

#include "tokencache/token.h"

#define BATCH		10000u	/* between two chances to let others run */
#define VALUE(token)	xa_mk_value((token) ^ 0xfffffu)

static unsigned int objects = 1000000;
module_param(objects, uint, 0444);
MODULE_PARM_DESC(objects, "tokens, in the mix QP:MR:CQ:PD = 4:16:2:1");

static unsigned int rounds = 5;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "measurements of each table");

static unsigned int lookups = 250000;
module_param(lookups, uint, 0444);
MODULE_PARM_DESC(lookups, "look-ups of a measurement");

static struct ds_token_table table;
static DEFINE_XARRAY(xarray);
static u32 *tokens;	/* of all objects */
static u32 *drawn;	/* that a round asks for */

/* ---- one look-up in each. Return: whether the answer is right ---- */

/* None: what asking costs by itself, to be taken off the others. */
static noinline u64 known(u32 token)
{
	barrier();
	return token;
}

static __always_inline bool in_nothing(u32 token)
{
	return known(token) == token;
}

static __always_inline bool in_directory(u32 token)
{
	u64 word;

	return !ds_token_find(&table, token, &word);
}

static __always_inline bool in_xarray(u32 token)
{
	return xa_load(&xarray, ds_token_index(token)) == VALUE(token);
}

/* ---- many look-ups ---- */

static void draw(u64 seed)
{
	u32 i;

	for (i = 0; i < lookups; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		drawn[i] = tokens[(seed >> 32) * objects >> 32];
		if (i % BATCH == 0)
			cond_resched();
	}
}

/* The time of a look-up of each that was drawn; 0: one was wrong. */
static __always_inline u64 measure(bool (*in)(u32))
{
	u64 start = ktime_get_ns();
	u32 i, right = 0;

	for (i = 0; i < lookups; i++) {
		right += in(drawn[i]);
		if (i % BATCH == 0)
			cond_resched();
	}
	return right == lookups ? ktime_get_ns() - start : 0;
}

static int measure_round(u32 round)
{
	u64 nothing, directory, xa;

	draw(round);
	nothing = measure(in_nothing);
	directory = measure(in_directory);
	xa = measure(in_xarray);
	if (!nothing || !directory || !xa)
		return -EBADMSG;
	pr_info("ds_bench_tokencache: lookups %u nothing %llu directory %llu xarray %llu\n",
		lookups, nothing, directory, xa);
	return 0;
}

/* ---- the tables ---- */

static void destroy(void)
{
	ds_token_table_destroy(&table);
	xa_destroy(&xarray);
	vfree(tokens);
	vfree(drawn);
}

static u8 type_of(u32 number)
{
	u32 place = number % 23;

	if (place < 16)
		return DS_TOKEN_MR;
	if (place < 20)
		return DS_TOKEN_QP;
	return place < 22 ? DS_TOKEN_CQ : DS_TOKEN_PD;
}

static int fill(void)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < objects; i++) {
		struct ds_token_desc d = { .type = type_of(i) };

		if (d.type == DS_TOKEN_MR)
			d.mr.page_shift = PAGE_SHIFT;	/* or it would be wide */
		ret = ds_token_create(&table, &d, &tokens[i]);
		if (!ret)
			ret = xa_err(xa_store(&xarray, ds_token_index(tokens[i]),
					      VALUE(tokens[i]), GFP_KERNEL));
		if (i % BATCH == 0)
			cond_resched();
	}
	return ret;
}

static int create(void)
{
	tokens = vzalloc(array_size(objects, sizeof(*tokens)));
	drawn = vzalloc(array_size(lookups, sizeof(*drawn)));
	return tokens && drawn ? fill() : -ENOMEM;
}

static int __init tokencache_init(void)
{
	u32 round;
	int ret;

	ret = ds_token_table_init(&table, 1u << DS_TOKEN_INDEX_BITS);
	if (ret)
		return ret;
	ret = create();
	for (round = 1; !ret && round <= rounds; round++)
		ret = measure_round(round);
	destroy();
	return ret;
}

static void __exit tokencache_exit(void)
{
}

module_init(tokencache_init);
module_exit(tokencache_exit);
MODULE_DESCRIPTION("DS: what a look-up of a token costs");
MODULE_LICENSE("GPL");

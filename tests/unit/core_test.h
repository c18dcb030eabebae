/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the core that include the sources behind this: memory that runs out and
 * is counted, and random numbers.
 */
#ifndef CORE_TEST_H
#define CORE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim.h"

static int allocs_left = -1;	/* before the one that fails; -1: none does */
static int allocs_held;

static inline void *counted_alloc(size_t size)
{
	void *p;

	if (allocs_left >= 0 && !allocs_left--)
		return NULL;
	p = calloc(1, size);
	allocs_held += p != NULL;
	return p;
}

static inline void counted_free(void *p)
{
	allocs_held -= p != NULL;
	free(p);
}

#undef ds_alloc
#undef ds_free
#define ds_alloc(size)	counted_alloc(size)
#define ds_free(p)	counted_free(p)

/* After each test: nothing is held. */
static inline int no_memory_held(void **state)
{
	int held = allocs_held;

	(void)state;
	allocs_held = 0;
	allocs_left = -1;
	return held ? -1 : 0;
}

#define TEST(f)	cmocka_unit_test_teardown(f, no_memory_held)

static u64 random_state = 1;

static inline u32 random_below(u32 n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (u32)((random_state >> 32) * n >> 32);
}

/* Steps of a random test; a long one says how many and from which seed. */
static inline u64 random_steps(void)
{
	const char *steps = getenv("DS_TEST_STEPS"), *seed = getenv("DS_TEST_SEED");

	random_state = seed ? strtoull(seed, NULL, 0) : 1;
	if (seed)
		print_message("# seed %s\n", seed);
	return steps ? strtoull(steps, NULL, 0) : 200000;
}

#endif

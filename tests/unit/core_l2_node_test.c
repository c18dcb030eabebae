// SPDX-License-Identifier: Apache-2.0
/* The NUMA node of L2: what may be asked for, and what is taken when nothing is. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tokencache/l2_node.h"

#define NODES	130	/* three words of a bitmap */

static unsigned long memory[3], processors[3];
static struct ds_l2_node chosen;

static void set(unsigned long *bitmap, u32 node)
{
	bitmap[node / 64] |= 1ul << node % 64;
}

/* Nodes 0 and 1 are usual ones, 5 has processors only. */
static int begin(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	memset(processors, 0, sizeof(processors));
	set(memory, 0);
	set(memory, 1);
	set(processors, 0);
	set(processors, 1);
	set(processors, 5);
	return 0;
}

static int choose(int wanted)
{
	return ds_l2_node_choose(memory, processors, NODES, wanted, 1, &chosen);
}

static void assert_chosen(u32 node, const char *kind, const char *why)
{
	assert_int_equal(chosen.node, node);
	assert_string_equal(chosen.kind, kind);
	assert_string_equal(chosen.why, why);
}

static void a_node_without_memory_is_refused(void **state)
{
	(void)state;
	set(memory, NODES - 1);
	set(memory, NODES);	/* behind the last one */
	assert_int_equal(choose(5), -ENODEV);
	assert_int_equal(choose(64), -ENODEV);
	assert_int_equal(choose(NODES), -ENODEV);
	assert_int_equal(choose(INT_MAX), -ENODEV);
	assert_int_equal(choose(-2), -ENODEV);
	assert_int_equal(choose(INT_MIN), -ENODEV);
	assert_int_equal(choose(NODES - 1), 0);
}

static void without_cxl_memory_the_local_node_is_taken(void **state)
{
	(void)state;
	set(memory, NODES);	/* behind the last one */
	assert_int_equal(choose(DS_L2_NODE_BEST), 0);
	assert_chosen(1, "DRAM", " (no CXL memory node)");
}

static void the_only_node_without_processors_is_taken(void **state)
{
	static const u32 where[] = { 2, 63, 64, 128, NODES - 1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(where); i++) {
		begin(state);
		set(memory, where[i]);
		assert_int_equal(choose(DS_L2_NODE_BEST), 0);
		assert_chosen(where[i], "CXL memory", "");
	}
}

static void of_several_none_is_taken(void **state)
{
	(void)state;
	set(memory, 2);
	set(memory, 65);
	assert_int_equal(choose(DS_L2_NODE_BEST), 0);
	assert_chosen(1, "DRAM", " (several CXL memory nodes, none is named)");
}

static void what_is_named_is_taken(void **state)
{
	(void)state;
	set(memory, 2);
	set(memory, 65);
	assert_int_equal(choose(0), 0);
	assert_chosen(0, "DRAM", "");
	assert_int_equal(choose(65), 0);
	assert_chosen(65, "CXL memory", "");
}

#define TEST(name)	cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_node_without_memory_is_refused),
		TEST(without_cxl_memory_the_local_node_is_taken),
		TEST(the_only_node_without_processors_is_taken),
		TEST(of_several_none_is_taken),
		TEST(what_is_named_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

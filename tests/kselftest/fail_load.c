// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: loading the module with one allocation or copy after the other failing, until none is
 * left to fail. A load that fails leaves nothing; one that does not may lack what is said to be
 * able to lack, as a device. DS_TEST_MODULE is the file of ds.ko. Unloads the module, which must
 * not be in use, and leaves it loaded. Needs a kernel that can (fail_nth.c).
 */
#include <sys/syscall.h>

#include "ds_test.h"
#include "ds_fail_nth.h"
#include "ds_nl.h"
#include "ds_proc.h"

/* The errno or 0, and what is @left of @nth: that step fails. */
static int load(const char *parameters, unsigned int nth, unsigned int *left)
{
	int file = open(getenv("DS_TEST_MODULE"), O_RDONLY | O_CLOEXEC), ret;

	ASSERT(file >= 0);
	fail_nth(nth);
	ret = syscall(SYS_finit_module, file, parameters, 0) ? errno : 0;
	*left = fail_nth(0);
	close(file);
	return ret;
}

/*
 * The step with which the kernel begins to set the module up, as it has all its memory and its
 * parameters: a wrong one is found just before. What comes before is the kernel's own, and it
 * prints a stack if there is no room for the code.
 */
static unsigned int first_step(void)
{
	unsigned int left;

	EXPECT_EQ(EINVAL, load("port=1", MOST, &left));
	return MOST - left + 1;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "ds", O_NONBLOCK) ? errno : 0;
}

static bool is_loaded(void)
{
	return !access("/sys/module/ds", F_OK);
}

static void count_object(void *ctx)
{
	++*(unsigned int *)ctx;
}

/* Its family has other numbers after each load. */
static unsigned int devices(void)
{
	unsigned int count = 0;

	nl_own = -1;
	EXPECT_EQ(0, nl_dump(DS_CMD_DEV_GET, count_object, &count, NULL));
	close(nl_own);
	return count;
}

TEST(each_step_of_a_load)
{
	unsigned int nth, first, left = 0, failed = 0, before;
	uint64_t unloaded;
	int ret = 0;

	if (!getenv("DS_TEST_MODULE"))
		SKIP("DS_TEST_MODULE is not set: it is the file of ds.ko");
	let_all_fail();
	before = devices();
	EXPECT(before);
	ASSERT(unload() == 0);
	unloaded = resources();
	first = first_step();
	for (nth = first; !left && nth < MOST; nth++) {
		ret = load("", nth, &left);
		failed += !!ret;
		if (ret && ret != ENOMEM && ret != EFAULT)
			ds_test_fail(__FILE__, __LINE__, "step %u: %s", nth, ds_errno_name(ret));
		EXPECT_EQ(!ret, is_loaded());
		if (!ret)
			EXPECT_EQ(0, unload());
	}
	EXPECT(left && !ret);
	EXPECT(failed);
	EXPECT_EQ(unloaded, resources());
	EXPECT_EQ(0, load("", 0, &left));
	EXPECT_EQ(before, devices());
	printf("# a load: steps %u to %u, %u of them made it fail\n", first, nth - 2, failed);
}

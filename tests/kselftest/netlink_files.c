// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dump of open files: each is in it once, and many are not walked again and again.
 */
#include <sys/resource.h>
#include "ds_test.h"
#include "ds_nl.h"

#define FEW	2000
#define MANY	(10 * FEW)
#define TRIES	5

static int mine;

static void count(void *unused)
{
	(void)unused;
	mine += nl_get(DS_A_PID) == (uint64_t)getpid();
}

static void open_files(int files)
{
	while (files--)
		ASSERT(open(DS_TEST_DEVICE, O_RDWR | O_CLOEXEC) >= 0);
}

/* Microseconds of so many dumps, the fastest of a few times. */
static uint64_t dumps_us(int dumps, int files)
{
	uint64_t best = ~0ull, start, us;

	for (int i = 0; i < TRIES; i++) {
		start = ds_now_us();
		for (int dump = 0; dump < dumps; dump++) {
			mine = 0;
			EXPECT_EQ(0, nl_dump(DS_CMD_FILE_GET, count, NULL, NULL));
			EXPECT_EQ(files, mine);
		}
		us = ds_now_us() - start;
		if (us < best)
			best = us;
	}
	return best;
}

/* As many messages both times, so that a busy host is as much in the way of the one as of the other. */
TEST(ten_times_the_files_take_ten_times_as_long)
{
	struct rlimit most = { MANY + 100, MANY + 100 };
	uint64_t few, many;

	ASSERT_OK(setrlimit(RLIMIT_NOFILE, &most));
	open_files(FEW);
	few = dumps_us(MANY / FEW, FEW);
	open_files(MANY - FEW);
	many = dumps_us(1, MANY);
	printf("# %d times %d files: %llu us, once %d files: %llu us\n", MANY / FEW, FEW,
	       (unsigned long long)few, MANY, (unsigned long long)many);
	EXPECT(many < 4 * few);
}

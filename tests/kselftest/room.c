// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: operations for which there is never room in the send queue, by the failpoint
 * chain_post. DS_TEST_SPACE names a space whose first server is attached.
 */
#include "ds_test.h"

#include <sys/mount.h>

#define CHAIN_POST	"/sys/kernel/debug/ds/failpoints/chain_post"

/* Of the operation and, by chance, of a heartbeat or two. */
#define FEW_TRIES	8

static int open_failpoint(void)
{
	int fd;

	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);	/* it may be there */
	fd = open(CHAIN_POST, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		SKIP("there are no failpoints");
	return fd;
}

static unsigned long hits(int fd)
{
	char text[64] = "";
	unsigned long count;
	char *line;

	ASSERT(pread(fd, text, sizeof(text) - 1, 0) > 0);
	line = strchr(text, '\n');
	ASSERT(line && sscanf(line, "\nhits %lu", &count) == 1);
	return count;
}

TEST(who_waits_for_room_in_vain_is_told_and_does_not_spin)
{
	int failpoint = open_failpoint(), fd = ds_open();
	struct ds_ioc_space_open space = ds_open_space(fd, DS_ACCESS_ALL);
	struct ds_op op = { .opcode = DS_OP_FETCH_ADD, .length = 8, .compare_add = 1,
			    .space = space.out_handle, .addr = space.out_base };
	struct ds_cqe cqe = { 0 };
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .ops = (uintptr_t)&op,
					  .cqes = (uintptr_t)&cqe, .nr_ops = 1,
					  .timeout_ms = 3000);
	unsigned long before = hits(failpoint);
	uint64_t value;

	ASSERT_OK(ds_ioctl(fd, DS_IOC_SUBMIT, &arg));
	EXPECT_EQ(0, cqe.status);
	value = cqe.value;

	ASSERT(write(failpoint, "fail 11", 7) == 7);
	EXPECT_OK(ds_ioctl(fd, DS_IOC_SUBMIT, &arg));
	ASSERT(write(failpoint, "off", 3) == 3);
	EXPECT_EQ(-ETIMEDOUT, cqe.status);
	EXPECT_EQ(DS_NOT_EXECUTED, cqe.outcome);
	EXPECT(hits(failpoint) > before);
	EXPECT(hits(failpoint) <= before + FEW_TRIES);

	/* A heartbeat that could not be sent may have ended the connection. */
	for (int tries = 0; tries < 100; tries++) {
		EXPECT_OK(ds_ioctl(fd, DS_IOC_SUBMIT, &arg));
		if (!cqe.status)
			break;
		ds_sleep_ms(100);
	}
	EXPECT_EQ(0, cqe.status);
	EXPECT_EQ(value + 1, cqe.value);
}

#define LANES	4

/* Whether all was done, each once; else the connection was down, and @values are as before. */
static bool each_is_added_once(int fd, const struct ds_ioc_submit *arg, uint64_t *values)
{
	const struct ds_cqe *cqes = (const struct ds_cqe *)(uintptr_t)arg->cqes;
	struct ds_ioc_submit again = *arg;
	bool all = true;

	EXPECT_OK(ds_ioctl(fd, DS_IOC_SUBMIT, &again));
	for (int i = 0; i < LANES; i++)
		all &= !cqes[i].status;
	for (int i = 0; all && i < LANES; i++) {
		EXPECT(!values[i] || cqes[i].value == values[i] + 1);
		values[i] = cqes[i].value;
	}
	return all;
}

/* One or both of the lanes that there are have no room at once, but when they are tried again. */
TEST(a_batch_is_done_whole_though_lanes_had_no_room_at_first)
{
	int failpoint = open_failpoint(), fd = ds_open();
	struct ds_ioc_space_open space = ds_open_space(fd, DS_ACCESS_ALL);
	struct ds_op ops[LANES];
	struct ds_cqe cqes[LANES];
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .ops = (uintptr_t)ops,
					  .cqes = (uintptr_t)cqes, .nr_ops = LANES,
					  .timeout_ms = 3000);
	static const char *const few[] = { "fail 11 1", "fail 11 2" };
	uint64_t values[LANES] = { 0 };
	int done = 0;

	for (uint32_t i = 0; i < LANES; i++)
		ops[i] = (struct ds_op){ .opcode = DS_OP_FETCH_ADD, .length = 8, .compare_add = 1,
					 .space = space.out_handle, .lane = i + 1,
					 .addr = space.out_base + 8 * i };
	ASSERT(each_is_added_once(fd, &arg, values));
	for (int tries = 0; tries < 30 && done < (int)ARRAY_LEN(few); tries++) {
		unsigned long before = hits(failpoint);

		/* A heartbeat that meets the failpoint may end the connection. */
		ASSERT(write(failpoint, few[done], strlen(few[done])) > 0);
		if (each_is_added_once(fd, &arg, values) && hits(failpoint) > before)
			done++;
		else
			ds_sleep_ms(100);
		ASSERT(write(failpoint, "off", 3) == 3);
	}
	EXPECT_EQ((int)ARRAY_LEN(few), done);
}

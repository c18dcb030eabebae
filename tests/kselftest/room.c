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

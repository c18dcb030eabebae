/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: a disk for tests. Included after ds_test.h.
 */
#ifndef DS_DISK_H
#define DS_DISK_H

/* What is on it does not matter: it may keep nothing. */
static inline int disk(void)
{
	int file;

	if (access("/dev/nullb0", F_OK) && system("modprobe null_blk"))
		SKIP("the kernel has no null_blk, a disk for tests");
	file = open("/dev/nullb0", O_RDWR | O_CLOEXEC);
	ASSERT(file >= 0);
	return file;
}

#endif

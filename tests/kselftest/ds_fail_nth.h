/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: let an allocation or copy of the kernel fail, the first, the second, ... that this thread
 * asks for. Included after ds_test.h.
 */
#ifndef DS_FAIL_NTH_H
#define DS_FAIL_NTH_H

#include <sys/mount.h>

#include "ds_proc.h"

#define MOST	2000	/* a path with more steps than this is a loop */

/*
 * Without "N" only allocations that may not sleep fail. Without "0" each of them
 * tells its stack, which looks like a broken kernel.
 */
static inline void let_all_fail(void)
{
	static const char *const files[][2] = {
		{ "/sys/kernel/debug/failslab/ignore-gfp-wait", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/min-order", "0" },
		{ "/sys/kernel/debug/failslab/verbose", "0" },
		{ "/sys/kernel/debug/fail_page_alloc/verbose", "0" },
		{ "/sys/kernel/debug/fail_usercopy/verbose", "0" },
	};

	if (access("/proc/thread-self/fail-nth", W_OK))
		SKIP("the kernel has no fault injection");
	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);	/* it may be there */
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (!access(files[i][0], W_OK))
			write_file(files[i][0], files[i][1]);
}

/*
 * Let the @nth step fail from now on, 0 for none. Return what was left of the last
 * @nth. This copies, too, so what was left may fail here.
 */
static inline unsigned int fail_nth(unsigned int nth)
{
	static int fd = -1;
	char was[16] = "", now[16];
	ssize_t copied;

	if (fd < 0)
		fd = open("/proc/thread-self/fail-nth", O_RDWR);
	ASSERT(fd >= 0);
	if (pread(fd, was, sizeof(was) - 1, 0) < 0) {
		ASSERT(errno == EFAULT);
		strcpy(was, "1");
	}
	snprintf(now, sizeof(now), "%u", nth);
	do {
		copied = pwrite(fd, now, strlen(now), 0);
	} while (copied < 0 && errno == EFAULT);
	ASSERT(copied > 0);
	return strtoul(was, NULL, 10);
}

#endif

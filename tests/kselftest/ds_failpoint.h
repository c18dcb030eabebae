/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: failpoints of ds.ko, /sys/kernel/debug/ds/failpoints/NAME, for tests. Included
 * after ds_test.h.
 */
#ifndef DS_FAILPOINT_H
#define DS_FAILPOINT_H

#include <sys/mount.h>

#define FAILPOINTS	"/sys/kernel/debug/ds/failpoints/"

static inline int failpoint_open(const char *name)
{
	char path[128];
	int fd;

	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);	/* it may be there */
	snprintf(path, sizeof(path), FAILPOINTS "%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && access(FAILPOINTS, F_OK))
		SKIP("there is no debugfs");
	ASSERT(fd >= 0);
	return fd;
}

static inline int failpoint_set(int fd, const char *text)
{
	return write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

/* The first line of the file; @hits: the number in the second. */
static inline const char *failpoint_get(int fd, unsigned long *hits)
{
	static char text[128];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
	char *end;

	ASSERT(length > 0);
	text[length] = '\0';
	end = strchr(text, '\n');
	ASSERT(end);
	*end = '\0';
	ASSERT(sscanf(end + 1, "hits %lu\n", hits) == 1);
	return text;
}

/* Until it has acted; @before: how often it had. */
static inline void failpoint_wait(int fd, unsigned long before)
{
	unsigned long hits;

	do {
		usleep(1000);
		failpoint_get(fd, &hits);
	} while (hits == before);
}

#endif /* DS_FAILPOINT_H */

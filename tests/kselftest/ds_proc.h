/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: what the kernel tells of memory, and limits on it. Included after
 * ds_test.h.
 */
#ifndef DS_PROC_H
#define DS_PROC_H

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* The number after @key in a file of /proc, -1 if it is not there. */
static inline long proc_number(const char *file, const char *key)
{
	char line[256];
	long value = -1;
	FILE *f = fopen(file, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static inline long locked_kb(void)
{
	return proc_number("/proc/self/status", "VmPin:");
}

/* Pages that are pinned for someone, in the whole system. */
static inline long pinned_pages(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);

	/* Each processor counts for itself until it is asked. */
	ASSERT(fd >= 0 && write(fd, "1", 1) == 1);
	close(fd);
	return proc_number("/proc/vmstat", "nr_foll_pin_acquired ") -
	       proc_number("/proc/vmstat", "nr_foll_pin_released ");
}

/* Without the capability that lifts RLIMIT_MEMLOCK. */
static inline void be_nobody(rlim_t memlock)
{
	struct rlimit limit = { memlock, memlock };

	ASSERT_OK(setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_OK(setresgid(65534, 65534, 65534));
	ASSERT_OK(setresuid(65534, 65534, 65534));
}

static inline void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	ASSERT(fd >= 0);
	ASSERT(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* Go into a memory cgroup of 16 MiB, or skip where there is no second version of them. */
static inline void cgroup_of_16_mib(void)
{
	static char root[] = "/run/ds_test_cgroup", path[64];

	mkdir(root, 0700);
	if (access("/run/ds_test_cgroup/cgroup.procs", F_OK) && mount("none", root, "cgroup2", 0, NULL))
		SKIP("cgroup2 cannot be mounted");
	if (access("/run/ds_test_cgroup/cgroup.controllers", F_OK))
		SKIP("there are no cgroups");
	write_file("/run/ds_test_cgroup/cgroup.subtree_control", "+memory");
	snprintf(path, sizeof(path), "%s/%d", root, getpid());
	ASSERT_OK(mkdir(path, 0700));
	strcat(path, "/memory.max");
	write_file(path, "16M");
	*strrchr(path, '/') = '\0';
	strcat(path, "/cgroup.procs");
	write_file(path, "0");
}

/* All that the RDMA devices have, added up: 0 if there is no program that says it. */
static inline uint64_t resources(void)
{
	FILE *f = popen("rdma resource show 2>/dev/null", "re");
	unsigned long number;
	uint64_t sum = 0;
	int got;

	ASSERT(f);
	while ((got = fscanf(f, "%lu", &number)) != EOF) {
		if (got)
			sum += number;
		else
			getc(f);
	}
	pclose(f);
	return sum;
}

#endif

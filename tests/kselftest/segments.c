// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: segments made by ioctl: what cannot be exported, what pinning costs, and
 * that they end with their file. DS_TEST_DOMAIN is a trust domain of this host.
 */
#include "ds_test.h"
#include "ds_proc.h"

#define LENGTH	(16 * PAGE)

static struct ds_ioc_seg_create seg_arg(uint64_t length)
{
	return DS_ARG(ds_ioc_seg_create, .length = length, .access = DS_ACCESS_ALL, .numa_node = -1,
		      .domain = ds_test_number("DS_TEST_DOMAIN", "a trust domain"));
}

static int seg_create(int fd, uint64_t length)
{
	struct ds_ioc_seg_create arg = seg_arg(length);

	return ds_ioctl(fd, DS_IOC_SEG_CREATE, &arg);
}

static int seg_export(int fd, const void *addr, uint64_t length, uint32_t *handle)
{
	struct ds_ioc_seg_create arg = seg_arg(length);
	int rc;

	arg.flags = DS_SEG_USER_MEMORY;
	arg.addr = (uintptr_t)addr;
	rc = ds_ioctl(fd, DS_IOC_SEG_CREATE, &arg);
	if (handle)
		*handle = arg.out_handle;
	return rc;
}

TEST(lengths_that_are_refused)
{
	int fd = ds_open();

	EXPECT_ERR(EINVAL, seg_create(fd, 0));
	EXPECT_ERR(EINVAL, seg_create(fd, 1));
	EXPECT_ERR(EINVAL, seg_create(fd, PAGE - 1));
	EXPECT_ERR(EINVAL, seg_create(fd, PAGE + 8));
	EXPECT_ERR(EINVAL, seg_create(fd, ~0ull));
	EXPECT_ERR(EINVAL, seg_create(fd, -PAGE));
	EXPECT_ERR(EINVAL, seg_create(fd, (1ull << 40) + PAGE));
	EXPECT_ERR(ENOMEM, seg_create(fd, 1ull << 40));
	EXPECT_OK(seg_create(fd, PAGE));
}

TEST(fields_that_are_refused)
{
	static const int nodes[] = { -2, 1023, 1024, INT32_MAX, INT32_MIN };
	static const uint32_t domains[] = { 0, 64999, 65536, ~0u };
	struct ds_ioc_seg_create arg;
	int fd = ds_open();

	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		arg = seg_arg(PAGE);
		arg.numa_node = nodes[i];
		EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_SEG_CREATE, &arg));
	}
	for (size_t i = 0; i < ARRAY_LEN(domains); i++) {
		arg = seg_arg(PAGE);
		arg.domain = domains[i];
		EXPECT_ERR(ENOENT, ds_ioctl(fd, DS_IOC_SEG_CREATE, &arg));
		EXPECT_EQ(0, arg.out_handle);
	}
	/* An address without the flag that says what it is for. */
	arg = seg_arg(PAGE);
	arg.addr = (uintptr_t)ds_memory(PAGE, PROT_READ | PROT_WRITE);
	EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_SEG_CREATE, &arg));
	/* Memory that is there has its node already. */
	arg.flags = DS_SEG_USER_MEMORY;
	arg.numa_node = 0;
	EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_SEG_CREATE, &arg));
	arg.numa_node = -1;
	EXPECT_OK(ds_ioctl(fd, DS_IOC_SEG_CREATE, &arg));
}

TEST(numbers_are_never_used_twice)
{
	struct ds_ioc_seg_create arg;
	int fd = ds_open();
	uint64_t last = 0;

	for (int i = 0; i < 50; i++) {
		arg = seg_arg(PAGE);
		ASSERT_OK(ds_ioctl(fd, DS_IOC_SEG_CREATE, &arg));
		EXPECT(arg.out_segment > last);
		last = arg.out_segment;
		EXPECT_OK(ds_close_handle(fd, DS_HANDLE_SEG, arg.out_handle));
	}
}

TEST(user_memory_that_is_refused)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	long before = pinned_pages();
	int fd = ds_open();

	ASSERT_OK(mprotect(p + PAGE, PAGE, PROT_READ));
	ASSERT_OK(munmap(p + LENGTH - PAGE, PAGE));
	EXPECT_ERR(EINVAL, seg_export(fd, p + 1, PAGE, NULL));
	EXPECT_ERR(EINVAL, seg_export(fd, p, PAGE + 1, NULL));
	EXPECT_ERR(EINVAL, seg_export(fd, p, 0, NULL));
	EXPECT_ERR(EFAULT, seg_export(fd, NULL, PAGE, NULL));
	EXPECT_ERR(EFAULT, seg_export(fd, p + PAGE, PAGE, NULL));
	EXPECT_ERR(EFAULT, seg_export(fd, p + LENGTH - PAGE, PAGE, NULL));
	EXPECT_ERR(EFAULT, seg_export(fd, p + 2 * PAGE, LENGTH, NULL));
	EXPECT_ERR(EFAULT, seg_export(fd, (void *)-PAGE, PAGE, NULL));
	EXPECT_EQ(0, locked_kb());
	EXPECT_EQ(before, pinned_pages());
}

TEST(user_memory_is_pinned_until_the_close)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	long before = pinned_pages();
	int fd = ds_open();
	uint32_t handle;

	ASSERT_OK(seg_export(fd, p, LENGTH, &handle));
	EXPECT_EQ(LENGTH / 1024, locked_kb());
	EXPECT_EQ(before + LENGTH / PAGE, pinned_pages());
	ASSERT_OK(munmap(p, LENGTH));
	EXPECT_EQ(before + LENGTH / PAGE, pinned_pages());
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_SEG, handle));
	EXPECT_EQ(0, locked_kb());
	EXPECT_EQ(before, pinned_pages());
}

TEST(user_memory_is_limited_by_rlimit_memlock)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	int fd = ds_open();
	uint32_t handle;

	be_nobody(LENGTH - PAGE);
	EXPECT_ERR(ENOMEM, seg_export(fd, p, LENGTH, NULL));
	EXPECT_OK(seg_export(fd, p, LENGTH - PAGE, &handle));
	EXPECT_ERR(ENOMEM, seg_export(fd, p, PAGE, NULL));
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_SEG, handle));
	EXPECT_OK(seg_export(fd, p, PAGE, NULL));
	close(fd);	/* waits until it is not pinned any more; our exit would not */
}

TEST(segments_end_with_their_file)
{
	long before = pinned_pages();

	for (int i = 0; i < 20; i++) {
		char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
		int fd = ds_open();

		ASSERT_OK(seg_export(fd, p, LENGTH, NULL));
		ASSERT_OK(seg_create(fd, LENGTH));
		close(fd);
		munmap(p, LENGTH);
	}
	EXPECT_EQ(0, locked_kb());
	EXPECT_EQ(before, pinned_pages());
}

TEST(a_process_killed_with_segments)
{
	long before = pinned_pages();
	int status;
	pid_t pid = fork();

	ASSERT(pid >= 0);
	if (!pid) {
		char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
		int fd = ds_open();

		if (!seg_export(fd, p, LENGTH, NULL) && !seg_create(fd, 1 << 20))
			raise(SIGKILL);
		_exit(1);
	}
	ASSERT(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == DS_TEST_SKIP)
		exit(DS_TEST_SKIP);
	EXPECT(WIFSIGNALED(status));
	for (int i = 0; i < 100 && pinned_pages() != before; i++)
		ds_sleep_ms(10);
	EXPECT_EQ(before, pinned_pages());
}

TEST(a_cgroup_pays_for_segments)
{
	int fd = ds_open();

	seg_arg(PAGE);
	cgroup_of_16_mib();
	EXPECT_ERR(ENOMEM, seg_create(fd, 64 << 20));
	EXPECT_OK(seg_create(fd, 4 << 20));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: buffers: what cannot be one, what pinning costs, what a mapping may do
 * and how long it lasts.
 */
#include "ds_test.h"
#include "ds_proc.h"
#include "ds_submit.h"

#define LENGTH	(16 * PAGE)

static int buf_create(int fd, uint64_t length, int numa_node)
{
	struct ds_ioc_buf_create arg = DS_ARG(ds_ioc_buf_create, .length = length,
					      .numa_node = numa_node);

	return ds_ioctl(fd, DS_IOC_BUF_CREATE, &arg);
}

static int buf_pin(int fd, const void *addr, uint64_t length, uint32_t *handle)
{
	struct ds_ioc_buf_pin arg = DS_ARG(ds_ioc_buf_pin, .addr = (uintptr_t)addr, .length = length);
	int rc = ds_ioctl(fd, DS_IOC_BUF_PIN, &arg);

	if (handle)
		*handle = arg.out_handle;
	return rc;
}

static uint64_t max_bytes(int fd)
{
	struct ds_ioc_info info = DS_ARG(ds_ioc_info);

	ASSERT_OK(ds_ioctl(fd, DS_IOC_INFO, &info));
	return info.out_max_buf_bytes;
}

/* Signal that ends a child which touches @p, 0 if it lives. */
static int touch(volatile char *p, bool write)
{
	int status;
	pid_t pid = fork();

	ASSERT(pid >= 0);
	if (!pid) {
		if (write)
			*p = 1;
		else
			(void)*p;
		_exit(0);
	}
	ASSERT(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(create_refuses_lengths)
{
	int fd = ds_open();
	uint64_t max = max_bytes(fd);

	EXPECT_ERR(EINVAL, buf_create(fd, 0, -1));
	EXPECT_ERR(EINVAL, buf_create(fd, 1, -1));
	EXPECT_ERR(EINVAL, buf_create(fd, PAGE - 1, -1));
	EXPECT_ERR(EINVAL, buf_create(fd, PAGE + 8, -1));
	EXPECT_ERR(EINVAL, buf_create(fd, ~0ull, -1));
	EXPECT_ERR(EDQUOT, buf_create(fd, max + PAGE, -1));
	EXPECT_ERR(EDQUOT, buf_create(fd, 1ull << 62, -1));
	EXPECT_ERR(EDQUOT, buf_create(fd, 1ull << 63, -1));
	EXPECT_ERR(EDQUOT, buf_create(fd, -PAGE, -1));
}

TEST(create_refuses_numa_nodes)
{
	static const int nodes[] = { -2, 1023, 1024, 5000, INT32_MAX, INT32_MIN };
	int fd = ds_open();

	for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
		EXPECT_ERR(EINVAL, buf_create(fd, PAGE, nodes[i]));
	EXPECT_OK(buf_create(fd, PAGE, 0));
}

TEST(pin_refuses_what_is_not_aligned)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	int fd = ds_open();

	EXPECT_ERR(EINVAL, buf_pin(fd, p + 1, PAGE, NULL));
	EXPECT_ERR(EINVAL, buf_pin(fd, p + 8, PAGE, NULL));
	EXPECT_ERR(EINVAL, buf_pin(fd, p, PAGE + 1, NULL));
	EXPECT_ERR(EINVAL, buf_pin(fd, p, 8, NULL));
	EXPECT_ERR(EINVAL, buf_pin(fd, p, 0, NULL));
	EXPECT_ERR(EINVAL, buf_pin(fd, (void *)-PAGE, 2 * PAGE, NULL));
	EXPECT_OK(buf_pin(fd, p, PAGE, NULL));
	close(fd);	/* waits until it is not pinned any more; our exit would not */
}

TEST(pin_refuses_what_is_not_there)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	int fd = ds_open();
	long before = pinned_pages();

	ASSERT_OK(munmap(p + LENGTH - PAGE, PAGE));
	EXPECT_ERR(EFAULT, buf_pin(fd, NULL, PAGE, NULL));
	EXPECT_ERR(EFAULT, buf_pin(fd, (void *)-PAGE, PAGE, NULL));
	EXPECT_ERR(EFAULT, buf_pin(fd, (void *)(1ull << 63), PAGE, NULL));
	EXPECT_ERR(EFAULT, buf_pin(fd, p, LENGTH, NULL));
	EXPECT_ERR(EFAULT, buf_pin(fd, p + LENGTH - PAGE, PAGE, NULL));
	EXPECT_EQ(0, locked_kb());
	EXPECT_EQ(before, pinned_pages());
}

TEST(pin_refuses_more_than_the_limit)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	int fd = ds_open();
	uint64_t max = max_bytes(fd);

	EXPECT_ERR(EDQUOT, buf_pin(fd, p, max + PAGE, NULL));
	EXPECT_ERR(EDQUOT, buf_pin(fd, p, 1ull << 46, NULL));
	EXPECT_ERR(EDQUOT, buf_pin(fd, p, -PAGE, NULL));
}

TEST(pin_refuses_what_is_not_writable)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	int fd = ds_open();
	long before = pinned_pages();

	ASSERT_OK(mprotect(p + PAGE, PAGE, PROT_READ));
	ASSERT_OK(mprotect(p + 2 * PAGE, PAGE, PROT_NONE));
	EXPECT_ERR(EFAULT, buf_pin(fd, p + PAGE, PAGE, NULL));
	EXPECT_ERR(EFAULT, buf_pin(fd, p + 2 * PAGE, PAGE, NULL));
	EXPECT_ERR(EFAULT, buf_pin(fd, p, LENGTH, NULL));
	EXPECT_EQ(0, locked_kb());
	EXPECT_EQ(before, pinned_pages());
}

TEST(pin_counts_locked_memory_until_the_close)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	long before = pinned_pages();
	uint32_t first, second;
	int fd = ds_open();

	ASSERT_OK(buf_pin(fd, p, LENGTH, &first));
	EXPECT_EQ(LENGTH / 1024, locked_kb());
	EXPECT_EQ(before + LENGTH / PAGE, pinned_pages());
	ASSERT_OK(buf_pin(fd, p, PAGE, &second));
	EXPECT_EQ((LENGTH + PAGE) / 1024, locked_kb());
	/* What is unmapped stays pinned. */
	ASSERT_OK(munmap(p, LENGTH));
	EXPECT_EQ((LENGTH + PAGE) / 1024, locked_kb());
	EXPECT_EQ(before + LENGTH / PAGE + 1, pinned_pages());
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, first));
	EXPECT_EQ(PAGE / 1024, locked_kb());
	close(fd);
	EXPECT_EQ(0, locked_kb());
	EXPECT_EQ(before, pinned_pages());
}

/* Nor does what an operation names that needs none, nor one behind it that names the same. */
TEST(operations_keep_no_buffer)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	struct ds_op ops[] = {
		{ .opcode = DS_OP_READ, .length = 8 },
		{ .opcode = DS_OP_FETCH_ADD, .length = 8 },
		{ .opcode = DS_OP_READ, .length = 8 },
		{ .opcode = DS_OP_READ, .length = 8 },
	};
	struct ds_cqe cqes[ARRAY_LEN(ops)];
	uint32_t handle;
	int fd = ds_open();

	for (size_t first = 0; first < ARRAY_LEN(ops); first++) {
		ASSERT_OK(buf_pin(fd, p, LENGTH, &handle));
		for (size_t i = 0; i < ARRAY_LEN(ops); i++)
			ops[i].buf = handle;
		EXPECT_OK(submit(fd, ops + first, ARRAY_LEN(ops) - first, cqes));
		EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, handle));
		EXPECT_EQ(0, locked_kb());
	}
}

TEST(pin_is_limited_by_rlimit_memlock)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	int fd = ds_open();
	uint32_t handle;

	be_nobody(LENGTH - PAGE);
	EXPECT_ERR(ENOMEM, buf_pin(fd, p, LENGTH, NULL));
	EXPECT_EQ(0, locked_kb());
	EXPECT_OK(buf_pin(fd, p, LENGTH - PAGE, &handle));
	EXPECT_ERR(ENOMEM, buf_pin(fd, p, PAGE, NULL));
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, handle));
	EXPECT_OK(buf_pin(fd, p, PAGE, NULL));
	close(fd);	/* waits until it is not pinned any more; our exit would not */
}

TEST(a_dead_process_leaves_nothing_pinned)
{
	long before = pinned_pages();
	int status;
	pid_t pid = fork();

	ASSERT(pid >= 0);
	if (!pid) {
		char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);

		if (!buf_pin(ds_open(), p, LENGTH, NULL))
			raise(SIGKILL);
		_exit(1);
	}
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFSIGNALED(status));
	/* The last reference to a file may be dropped a little after the exit. */
	for (int i = 0; i < 100 && pinned_pages() != before; i++)
		ds_sleep_ms(10);
	EXPECT_EQ(before, pinned_pages());
}

/* A file passed on may close the buffer when its maker is gone. */
TEST(a_buffer_outlives_the_process_that_pinned_it)
{
	long before = pinned_pages();
	int fd = ds_open(), status;
	pid_t pid = fork();

	ASSERT(pid >= 0);
	if (!pid) {
		char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);

		_exit(buf_pin(fd, p, LENGTH, NULL) ? 1 : 0);
	}
	ASSERT(waitpid(pid, &status, 0) == pid);
	ASSERT(!status);
	EXPECT_EQ(before + LENGTH / PAGE, pinned_pages());
	close(fd);
	/* Nobody waits for memory that is another's. */
	for (int i = 0; i < 100 && pinned_pages() != before; i++)
		ds_sleep_ms(20);
	EXPECT_EQ(before, pinned_pages());
}

static volatile bool racing;

static void *race_munmap(void *p)
{
	while (racing) {
		mmap(p, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		munmap((char *)p + 3 * PAGE, PAGE);
	}
	return NULL;
}

TEST(pin_against_munmap)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	long before = pinned_pages();
	int fd = ds_open(), pinned = 0, failed = 0;
	pthread_t thread;
	uint32_t handle;

	racing = true;
	ASSERT(!pthread_create(&thread, NULL, race_munmap, p));
	for (uint64_t end = ds_now_ms() + 3000; ds_now_ms() < end;) {
		if (!buf_pin(fd, p, LENGTH, &handle)) {
			pinned++;
			EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, handle));
		} else {
			failed++;
			EXPECT_EQ(EFAULT, errno);
		}
	}
	racing = false;
	pthread_join(thread, NULL);
	printf("# pinned %d times, failed %d times\n", pinned, failed);
	EXPECT(pinned + failed > 0);
	EXPECT_EQ(0, locked_kb());
	EXPECT_EQ(before, pinned_pages());
}

/* The limit counts bytes in use: pinning one page often needs no memory. */
TEST(the_limit_of_a_file_counts_what_is_in_use)
{
	int fd = ds_open(), other = ds_open();
	uint64_t step = 64ul << 20, max = max_bytes(fd), done;
	uint32_t handle = 0;
	char *p;

	if (max > step * 64)
		SKIP("max_buf_mb is above 4096: load the module with less");
	step = max < step ? max : step;
	p = ds_memory(step, PROT_READ | PROT_WRITE);
	for (done = 0; done + step <= max; done += step)
		ASSERT_OK(buf_pin(fd, p, step, &handle));
	if (done < max)
		ASSERT_OK(buf_pin(fd, p, max - done, NULL));
	EXPECT_ERR(EDQUOT, buf_pin(fd, p, PAGE, NULL));
	EXPECT_ERR(EDQUOT, buf_create(fd, PAGE, -1));
	EXPECT_OK(buf_create(other, PAGE, -1));
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, handle));
	EXPECT_OK(buf_create(fd, PAGE, -1));
	EXPECT_ERR(EDQUOT, buf_pin(fd, p, step, NULL));
	EXPECT_OK(buf_pin(fd, p, step - PAGE, NULL));
}

/* The limit of a cgroup is an error for who asks, not the end of a process. */
TEST(a_cgroup_pays_for_buffers)
{
	int fd = ds_open();

	cgroup_of_16_mib();
	EXPECT_ERR(ENOMEM, buf_create(fd, 64 << 20, -1));
	EXPECT_OK(buf_create(fd, 4 << 20, -1));
	EXPECT_ERR(ENOMEM, buf_create(fd, 16 << 20, -1));
}

/* ---- Mappings ---- */

#define EXPECT_NO_MAP(error, length, prot, flags, fd, offset)			\
	EXPECT_ERR(error, (intptr_t)mmap(NULL, length, prot, flags, fd, offset) == -1 ? -1 : 0)

TEST(mmap_wants_exactly_the_buffer)
{
	const int rw = PROT_READ | PROT_WRITE;
	int fd = ds_open(), other = ds_open();
	uint64_t offset;
	uint32_t handle = ds_make_buf(fd, LENGTH, &offset);

	EXPECT_NO_MAP(EINVAL, LENGTH, rw, MAP_PRIVATE, fd, offset);
	EXPECT_NO_MAP(EINVAL, LENGTH, PROT_READ, MAP_PRIVATE, fd, offset);
	EXPECT_NO_MAP(EINVAL, LENGTH - PAGE, rw, MAP_SHARED, fd, offset);
	EXPECT_NO_MAP(EINVAL, LENGTH + PAGE, rw, MAP_SHARED, fd, offset);
	EXPECT_NO_MAP(EINVAL, PAGE, rw, MAP_SHARED, fd, offset);
	EXPECT_NO_MAP(EBADF, LENGTH, rw, MAP_SHARED, fd, offset + PAGE);
	EXPECT_NO_MAP(EBADF, LENGTH - PAGE, rw, MAP_SHARED, fd, offset + PAGE);
	EXPECT_NO_MAP(EBADF, LENGTH, rw, MAP_SHARED, fd, offset + (1ull << 44));
	EXPECT_NO_MAP(EBADF, LENGTH, rw, MAP_SHARED, other, offset);
	EXPECT_NO_MAP(EINVAL, LENGTH, rw, MAP_SHARED, fd, 0);	/* there is no ring */
	EXPECT_NO_MAP(EACCES, LENGTH, rw | PROT_EXEC, MAP_SHARED, fd, offset);
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, handle));
	EXPECT_NO_MAP(ESTALE, LENGTH, rw, MAP_SHARED, fd, offset);
}

TEST(mmap_refuses_pinned_memory)
{
	char *p = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	int fd = ds_open();
	uint32_t handle;

	ASSERT_OK(buf_pin(fd, p, LENGTH, &handle));
	EXPECT_NO_MAP(EINVAL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, handle * PAGE);
}

TEST(a_new_buffer_is_zero)
{
	enum { LONG = 8 << 20 };	/* longer than the largest block of pages */
	int fd = ds_open();
	uint64_t offset;
	uint32_t handle;
	uint64_t *p;

	for (int round = 0; round < 2; round++) {
		handle = ds_make_buf(fd, LONG, &offset);
		p = ds_map(fd, LONG, offset);
		for (size_t i = 0; i < LONG / sizeof(*p); i++)
			if (!EXPECT_EQ(0, p[i]))
				break;
		memset(p, 0xa5, LONG);
		ASSERT_OK(munmap(p, LONG));
		EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, handle));
	}
}

TEST(two_mappings_show_the_same_pages)
{
	int fd = ds_open();
	uint64_t offset;
	uint64_t *a, *b;

	ds_make_buf(fd, LENGTH, &offset);
	a = ds_map(fd, LENGTH, offset);
	b = ds_map(fd, LENGTH, offset);
	for (size_t i = 0; i < LENGTH / sizeof(*a); i++)
		a[i] = i * 0x9e3779b97f4a7c15;
	EXPECT(!memcmp(a, b, LENGTH));
	b[LENGTH / sizeof(*b) - 1] = 42;
	EXPECT_EQ(42, a[LENGTH / sizeof(*a) - 1]);
}

TEST(a_mapping_outlives_handle_and_file)
{
	int fd = ds_open();
	uint64_t offset;
	uint32_t handle = ds_make_buf(fd, LENGTH, &offset);
	char *p = ds_map(fd, LENGTH, offset), *q;

	memset(p, 0x5a, LENGTH / 2);
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, handle));
	memset(p + LENGTH / 2, 0x5a, LENGTH / 2);
	close(fd);
	/* Others must not get its pages. */
	fd = ds_open();
	for (int i = 0; i < 100; i++) {
		handle = ds_make_buf(fd, LENGTH, &offset);
		q = ds_map(fd, LENGTH, offset);
		memset(q, 0, LENGTH);
	}
	for (size_t i = 0; i < LENGTH; i++)
		if (!EXPECT_EQ(0x5a, p[i]))
			break;
}

/* A handle that is closed frees no more than it should. */
TEST(a_mapping_counts_after_the_close)
{
	enum { STEP = 1 << 20 };
	int fd = ds_open();
	uint64_t offset, max = max_bytes(fd);
	uint32_t handle = ds_make_buf(fd, STEP, &offset);
	char *p = ds_map(fd, STEP, offset);

	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, handle));
	EXPECT_ERR(EDQUOT, buf_pin(fd, p, max, NULL));
	EXPECT_ERR(EDQUOT, buf_pin(fd, p, max - STEP + PAGE, NULL));
	ASSERT_OK(munmap(p, STEP));
	/* Now the limit is not in the way, but the memory is gone. */
	EXPECT_ERR(EFAULT, buf_pin(fd, p, max - STEP + PAGE, NULL));
}

TEST(mprotect_never_makes_it_executable)
{
	int fd = ds_open();
	uint64_t offset;
	char *p;

	ds_make_buf(fd, LENGTH, &offset);
	p = ds_map(fd, LENGTH, offset);
	EXPECT_ERR(EACCES, mprotect(p, LENGTH, PROT_READ | PROT_EXEC));
	EXPECT_ERR(EACCES, mprotect(p, LENGTH, PROT_READ | PROT_WRITE | PROT_EXEC));
	EXPECT_OK(mprotect(p, LENGTH, PROT_READ));
	EXPECT_EQ(SIGSEGV, touch(p, true));
	EXPECT_EQ(0, touch(p, false));
	EXPECT_OK(mprotect(p, LENGTH, PROT_NONE));
	EXPECT_EQ(SIGSEGV, touch(p, false));
	EXPECT_OK(mprotect(p, LENGTH, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, touch(p, true));
	EXPECT_EQ(1, *p);
}

TEST(a_mapping_does_not_grow)
{
	int fd = ds_open();
	uint64_t offset;
	char *p, *moved;

	ds_make_buf(fd, LENGTH, &offset);
	p = ds_map(fd, LENGTH, offset);
	p[LENGTH - 1] = 7;
	EXPECT(mremap(p, LENGTH, LENGTH + PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT(mremap(p, 0, LENGTH + PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	moved = ds_memory(LENGTH, PROT_NONE);
	EXPECT(mremap(p, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == moved);
	EXPECT_EQ(7, moved[LENGTH - 1]);
	EXPECT_OK(munmap(moved, LENGTH));
}

TEST(a_mapping_may_be_cut_and_dropped)
{
	int fd = ds_open();
	uint64_t offset;
	uint32_t handle = ds_make_buf(fd, LENGTH, &offset);
	char *p = ds_map(fd, LENGTH, offset);

	for (size_t i = 0; i < LENGTH / PAGE; i++)
		p[i * PAGE] = i + 1;
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, handle));
	EXPECT_OK(munmap(p + PAGE, PAGE));
	EXPECT_EQ(SIGSEGV, touch(p + PAGE, false));
	EXPECT_OK(madvise(p + 2 * PAGE, LENGTH - 2 * PAGE, MADV_DONTNEED));
	EXPECT_EQ(1, p[0]);
	for (size_t i = 2; i < LENGTH / PAGE; i++)
		EXPECT_EQ(i + 1, p[i * PAGE]);
	EXPECT_OK(munmap(p, PAGE));
	EXPECT_EQ(3, p[2 * PAGE]);
	EXPECT_OK(munmap(p + 2 * PAGE, LENGTH - 2 * PAGE));
}

TEST(a_child_sees_the_same_pages)
{
	int fd = ds_open(), status;
	uint64_t offset;
	volatile char *p;
	pid_t pid;

	ds_make_buf(fd, LENGTH, &offset);
	p = ds_map(fd, LENGTH, offset);
	p[0] = 1;
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		bool right = p[0] == 1;

		p[0] = 2;
		p[LENGTH - 1] = 3;
		_exit(!right);
	}
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT_EQ(0, status);
	EXPECT_EQ(2, p[0]);
	EXPECT_EQ(3, p[LENGTH - 1]);
}

/* The pages of a buffer are pages like others to the rest of the kernel. */
TEST(a_mapping_can_be_locked_and_pinned)
{
	long before = pinned_pages();
	int fd = ds_open();
	uint64_t offset;
	uint32_t pin;
	char *p;

	ds_make_buf(fd, LENGTH, &offset);
	p = ds_map(fd, LENGTH, offset);
	EXPECT_OK(mlock(p, LENGTH));
	EXPECT_OK(munlock(p, LENGTH));
	EXPECT_OK(buf_pin(fd, p, LENGTH, &pin));
	ASSERT_OK(munmap(p, LENGTH));
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, pin));
	EXPECT_EQ(before, pinned_pages());
}

static void *race_close(void *p)
{
	const uint32_t *handle = p;
	int fd = handle[1];

	ds_close_handle(fd, DS_HANDLE_BUF, handle[0]);
	return NULL;
}

TEST(mmap_against_close)
{
	int fd = ds_open(), mapped = 0;

	for (int i = 0; i < 500; i++) {
		uint64_t offset;
		uint32_t arg[2] = { ds_make_buf(fd, LENGTH, &offset), fd };
		pthread_t thread;
		char *p;

		ASSERT(!pthread_create(&thread, NULL, race_close, arg));
		p = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
		if (p == MAP_FAILED) {
			EXPECT_EQ(ESTALE, errno);
		} else {
			memset(p, 1, LENGTH);
			munmap(p, LENGTH);
			mapped++;
		}
		pthread_join(thread, NULL);
	}
	printf("# mapped %d of 500 times\n", mapped);
}

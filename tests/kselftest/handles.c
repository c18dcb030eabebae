// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: handles of an open file: bad, stale and foreign ones of each type, how
 * slots are used again, and who shares a file.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include "ds_test.h"

/* How an object of each type is made. */
static int make(int fd, uint32_t type, uint32_t *handle)
{
	static uint32_t service = DS_SERVICE_USER_FIRST + 0x2000;
	struct ds_ioc_buf_create buf = DS_ARG(ds_ioc_buf_create, .length = PAGE, .numa_node = -1);
	struct ds_ioc_service_bind bind = DS_ARG(ds_ioc_service_bind, .queue = 1);
	struct ds_ioc_space_open space = DS_ARG(ds_ioc_space_open, .access = DS_ACCESS_READ);
	struct ds_ioc_seg_create seg = DS_ARG(ds_ioc_seg_create, .length = PAGE,
					      .access = DS_ACCESS_ALL, .numa_node = -1);
	int rc = -1;

	switch (type) {
	case DS_HANDLE_SPACE:
		space.space = ds_test_number("DS_TEST_SPACE", "an attached space");
		rc = ds_ioctl(fd, DS_IOC_SPACE_OPEN, &space);
		*handle = space.out_handle;
		break;
	case DS_HANDLE_BUF:
		rc = ds_ioctl(fd, DS_IOC_BUF_CREATE, &buf);
		*handle = buf.out_handle;
		break;
	case DS_HANDLE_SEG:
		seg.domain = ds_test_number("DS_TEST_DOMAIN", "a trust domain");
		rc = ds_ioctl(fd, DS_IOC_SEG_CREATE, &seg);
		*handle = seg.out_handle;
		break;
	case DS_HANDLE_SERVICE:
		bind.service = service++;
		rc = ds_ioctl(fd, DS_IOC_SERVICE_BIND, &bind);
		*handle = bind.out_handle;
		break;
	}
	return rc;
}

TEST(types_that_do_not_exist)
{
	int fd = ds_open();

	EXPECT_ERR(EOPNOTSUPP, ds_close_handle(fd, DS_HANDLE_TYPES, 1));
	EXPECT_ERR(EOPNOTSUPP, ds_close_handle(fd, ~0u, 1));
}

TEST(handles_that_were_never_given)
{
	static const uint32_t never[] = { 0, 1, 2, 0xfffff, 0x100000, 0x7fffffff, 0x80000000, ~0u };
	int fd = ds_open();

	for (uint32_t type = 0; type < DS_HANDLE_TYPES; type++)
		for (size_t i = 0; i < ARRAY_LEN(never); i++)
			EXPECT_ERR(EBADF, ds_close_handle(fd, type, never[i]));
}

/* Wrong calls first; then the handle works exactly once. */
static void one_type(uint32_t type)
{
	int fd = ds_open(), other = ds_open();
	uint32_t handle, wrong;

	ASSERT_OK(make(fd, type, &handle));
	EXPECT_ERR(EBADF, ds_close_handle(other, type, handle));
	for (uint32_t t = 0; t < DS_HANDLE_TYPES; t++)
		if (t != type)
			EXPECT_ERR(EBADF, ds_close_handle(fd, t, handle));
	for (int bit = 0; bit < 32; bit++) {
		wrong = handle ^ 1u << bit;
		EXPECT_ERR(EBADF, ds_close_handle(fd, type, wrong));
	}
	EXPECT_OK(ds_close_handle(fd, type, handle));
	EXPECT_ERR(ESTALE, ds_close_handle(fd, type, handle));
	EXPECT_ERR(EBADF, ds_close_handle(other, type, handle));
}

TEST(a_space_bad_foreign_closed_twice)	{ one_type(DS_HANDLE_SPACE); }
TEST(a_buffer_bad_foreign_closed_twice)	{ one_type(DS_HANDLE_BUF); }
TEST(a_segment_bad_foreign_closed_twice)	{ one_type(DS_HANDLE_SEG); }
TEST(a_service_bad_foreign_closed_twice)	{ one_type(DS_HANDLE_SERVICE); }

/* What both files were given must not be mistaken either. */
TEST(the_same_steps_on_two_files_give_different_handles)
{
	int fd = ds_open(), other = ds_open();
	uint32_t mine, yours;

	for (int i = 0; i < 100; i++) {
		ASSERT_OK(make(fd, DS_HANDLE_BUF, &mine));
		ASSERT_OK(make(other, DS_HANDLE_BUF, &yours));
		EXPECT(mine != yours);
		EXPECT_ERR(EBADF, ds_close_handle(other, DS_HANDLE_BUF, mine));
		EXPECT_ERR(EBADF, ds_close_handle(fd, DS_HANDLE_BUF, yours));
	}
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* More often than one slot has generations. */
TEST(a_handle_is_never_given_twice)
{
	enum { TIMES = 10000 };
	static uint32_t handles[TIMES];
	int fd = ds_open();

	for (int i = 0; i < TIMES; i++) {
		ASSERT_OK(make(fd, DS_HANDLE_BUF, &handles[i]));
		ASSERT_OK(ds_close_handle(fd, DS_HANDLE_BUF, handles[i]));
	}
	for (int i = 0; i < TIMES; i += 97)
		EXPECT_ERR(ESTALE, ds_close_handle(fd, DS_HANDLE_BUF, handles[i]));
	qsort(handles, TIMES, sizeof(handles[0]), compare);
	for (int i = 1; i < TIMES; i++)
		if (!EXPECT(handles[i - 1] != handles[i]))
			break;
}

/* The limit is a number of open handles, not of handles ever. */
static void fill(uint32_t type, uint32_t limit)
{
	uint32_t *handles = calloc(limit + 1, sizeof(*handles));
	int fd = ds_open();

	ASSERT(handles);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < limit; i++)
			ASSERT_OK(make(fd, type, &handles[i]));
		EXPECT_ERR(EDQUOT, make(fd, type, &handles[limit]));
		EXPECT_OK(ds_close_handle(fd, type, handles[limit / 2]));
		EXPECT_OK(make(fd, type, &handles[limit / 2]));
		EXPECT_ERR(EDQUOT, make(fd, type, &handles[limit]));
		for (uint32_t i = 0; i < limit; i++)
			EXPECT_OK(ds_close_handle(fd, type, handles[i]));
	}
	free(handles);
}

TEST(at_most_4096_buffers)	{ fill(DS_HANDLE_BUF, 4096); }
TEST(at_most_64_services)	{ fill(DS_HANDLE_SERVICE, 64); }
TEST(at_most_1024_spaces)	{ fill(DS_HANDLE_SPACE, 1024); }
TEST(at_most_256_segments)	{ fill(DS_HANDLE_SEG, 256); }

TEST(a_child_shares_the_file)
{
	int fd = ds_open(), status;
	uint32_t handle, childs;
	pid_t pid;
	int pipe_fd[2];

	ASSERT_OK(make(fd, DS_HANDLE_BUF, &handle));
	ASSERT_OK(pipe(pipe_fd));
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		if (ds_close_handle(fd, DS_HANDLE_BUF, handle) || make(fd, DS_HANDLE_BUF, &childs) ||
		    write(pipe_fd[1], &childs, sizeof(childs)) != sizeof(childs))
			_exit(1);
		_exit(0);
	}
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT_EQ(0, status);
	ASSERT(read(pipe_fd[0], &childs, sizeof(childs)) == sizeof(childs));
	EXPECT_ERR(ESTALE, ds_close_handle(fd, DS_HANDLE_BUF, handle));
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, childs));
}

static void send_fd(int over, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec vec = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &vec, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	ASSERT(sendmsg(over, &msg, 0) == 1);
}

static int receive_fd(int over)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec vec = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &vec, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(over, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

/* Who holds the file may use its handles: that is what passing it on means. */
TEST(a_file_that_is_passed_on_keeps_its_handles)
{
	int pair[2], fd, status;
	uint32_t handle;
	pid_t pid;

	ASSERT_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		fd = receive_fd(pair[1]);
		if (fd < 0 || read(pair[1], &handle, sizeof(handle)) != sizeof(handle))
			_exit(1);
		_exit(ds_close_handle(fd, DS_HANDLE_BUF, handle) ? 2 : 0);
	}
	fd = ds_open();
	ASSERT_OK(make(fd, DS_HANDLE_BUF, &handle));
	send_fd(pair[0], fd);
	close(fd);		/* the child alone keeps it open */
	ASSERT(write(pair[0], &handle, sizeof(handle)) == sizeof(handle));
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT_EQ(0, status);
}

static uint32_t shared_handle;
static int shared_fd;

static void *close_it(void *closed)
{
	if (!ds_close_handle(shared_fd, DS_HANDLE_BUF, shared_handle))
		__atomic_add_fetch((int *)closed, 1, __ATOMIC_RELAXED);
	else
		EXPECT_EQ(ESTALE, errno);
	return NULL;
}

TEST(of_many_who_close_one_handle_one_does)
{
	shared_fd = ds_open();
	for (int i = 0; i < 200; i++) {
		pthread_t threads[4];
		int closed = 0;

		ASSERT_OK(make(shared_fd, DS_HANDLE_BUF, &shared_handle));
		for (size_t t = 0; t < ARRAY_LEN(threads); t++)
			ASSERT(!pthread_create(&threads[t], NULL, close_it, &closed));
		for (size_t t = 0; t < ARRAY_LEN(threads); t++)
			pthread_join(threads[t], NULL);
		EXPECT_EQ(1, closed);
	}
}

static int delete_module(void)
{
	return syscall(SYS_delete_module, "ds", O_NONBLOCK);
}

/* Who has it open must not lose it. */
TEST(a_file_or_a_mapping_keeps_the_module)
{
	int fd = ds_open();
	uint64_t offset;
	char *p;

	EXPECT_ERR(EAGAIN, delete_module());
	ds_make_buf(fd, PAGE, &offset);
	p = ds_map(fd, PAGE, offset);
	close(fd);
	EXPECT_ERR(EAGAIN, delete_module());
	*p = 1;
}

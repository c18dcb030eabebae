// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: each success path of a program's calls with its first, second, ... allocation or copy
 * failing, until none is left to fail. Needs a kernel with CONFIG_FAULT_INJECTION and
 * FAILSLAB, FAIL_PAGE_ALLOC or FAULT_INJECTION_USERCOPY.
 */
#include "ds_test.h"
#include "ds_fail_nth.h"
#include "ds_proc.h"

#define LENGTH	(16 * PAGE)

static void *memory;

static int with_open(void)
{
	return open(DS_TEST_DEVICE, O_RDWR);
}

/* One ioctl on a file of its own. */
static int call(unsigned long cmd, void *arg)
{
	int fd = with_open(), error;

	if (fd >= 0 && ioctl(fd, cmd, arg)) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

static int buffer(void)
{
	struct ds_ioc_buf_create arg = DS_ARG(ds_ioc_buf_create, .length = LENGTH, .numa_node = -1);

	return call(DS_IOC_BUF_CREATE, &arg);
}

static int pin(void)
{
	struct ds_ioc_buf_pin arg = DS_ARG(ds_ioc_buf_pin, .addr = (uintptr_t)memory,
					   .length = LENGTH);

	return call(DS_IOC_BUF_PIN, &arg);
}

static int ring(void)
{
	struct ds_ioc_ring_create arg = DS_ARG(ds_ioc_ring_create, .entries = 1024);

	return call(DS_IOC_RING_CREATE, &arg);
}

static int service(void)
{
	struct ds_ioc_service_bind arg = DS_ARG(ds_ioc_service_bind, .queue = 8,
						.service = DS_SERVICE_USER_FIRST + 0x3000);

	return call(DS_IOC_SERVICE_BIND, &arg);
}

static int segment(void)
{
	struct ds_ioc_seg_create arg = DS_ARG(ds_ioc_seg_create, .length = LENGTH, .numa_node = -1,
		.access = DS_ACCESS_ALL,
		.domain = ds_test_number("DS_TEST_DOMAIN", "a trust domain"));

	return call(DS_IOC_SEG_CREATE, &arg);
}

static int segment_of_user(void)
{
	struct ds_ioc_seg_create arg = DS_ARG(ds_ioc_seg_create, .length = LENGTH, .numa_node = -1,
		.access = DS_ACCESS_ALL, .flags = DS_SEG_USER_MEMORY, .addr = (uintptr_t)memory,
		.domain = ds_test_number("DS_TEST_DOMAIN", "a trust domain"));

	return call(DS_IOC_SEG_CREATE, &arg);
}

static int space(void)
{
	struct ds_ioc_space_open arg = DS_ARG(ds_ioc_space_open, .access = DS_ACCESS_ALL,
		.space = ds_test_number("DS_TEST_SPACE", "an attached space"));

	return call(DS_IOC_SPACE_OPEN, &arg);
}

static int submit_refused(void)
{
	static struct ds_op ops[40];
	static struct ds_cqe cqes[40];
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .ops = (uintptr_t)ops,
					  .cqes = (uintptr_t)cqes, .nr_ops = 40);

	return call(DS_IOC_SUBMIT, &arg);
}

/* Operations on remote memory, with a file that is ready. */
static int ready;
static struct ds_op remote[40];

static void get_ready(void)
{
	struct ds_ioc_space_open s;
	uint32_t buf;

	ready = ds_open();
	s = ds_open_space(ready, DS_ACCESS_ALL);
	buf = ds_make_buf(ready, LENGTH, NULL);
	for (size_t i = 0; i < ARRAY_LEN(remote); i++)
		remote[i] = (struct ds_op){ .opcode = i % 4, .space = s.out_handle, .length = 8,
					    .buf = i % 4 < 2 ? buf : 0, .addr = s.out_base + i * 64,
					    .flags = i % 3 < 2 && i < 39 ? DS_OP_CHAIN : 0 };
}

static int submit_remote(void)
{
	static struct ds_cqe cqes[40];
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .ops = (uintptr_t)remote,
					  .cqes = (uintptr_t)cqes, .nr_ops = 40);

	if (ds_ioctl(ready, DS_IOC_SUBMIT, &arg))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(cqes); i++) {
		if (cqes[i].status && cqes[i].status != -ECANCELED) {
			errno = -cqes[i].status;
			return -1;
		}
	}
	return 0;
}

static int send_message(void)
{
	static char reply[64];
	struct ds_ioc_msg_send arg = DS_ARG(ds_ioc_msg_send, .service = DS_SERVICE_USER_LAST,
		.node = ds_test_number("DS_TEST_PEER", "a node that is connected"),
		.data = (uintptr_t)reply, .length = 16, .reply = (uintptr_t)reply,
		.reply_size = sizeof(reply), .timeout_ms = 2000);
	int rc = ds_ioctl(ready, DS_IOC_MSG_SEND, &arg);

	/* Nobody has bound the service: that is the end of the way. */
	return rc && errno == ECONNREFUSED ? 0 : rc;
}

/* Make each step of @path fail once. */
static void sweep(const char *name, int (*path)(void))
{
	long pinned, failed = 0;
	unsigned int nth, left;
	int fd, error;

	let_all_fail();
	memory = ds_memory(LENGTH, PROT_READ | PROT_WRITE);
	memset(memory, 1, LENGTH);
	get_ready();
	fd = path();		/* it works, and what it needs once is there */
	ASSERT(fd >= 0);
	if (fd > 0)
		close(fd);
	pinned = pinned_pages();

	for (nth = 1; nth < MOST; nth++) {
		fail_nth(nth);
		errno = 0;
		fd = path();
		error = errno;
		left = fail_nth(0);
		if (fd > 0)
			close(fd);
		if (fd < 0) {
			failed++;
			if (error != ENOMEM && error != EFAULT)
				ds_test_fail(__FILE__, __LINE__, "step %u of %s: %s", nth, name,
					     ds_errno_name(error));
		}
		if (left)
			break;
	}
	EXPECT(nth < MOST);
	EXPECT_EQ(pinned, pinned_pages());
	EXPECT_EQ(0, locked_kb());
	fd = path();
	EXPECT(fd >= 0);
	printf("# %s: %u steps, %ld of them made it fail\n", name, nth - 1, failed);
}

#define SWEEP(path)	TEST(each_step_of_##path) { sweep(#path, path); }

SWEEP(with_open)
SWEEP(buffer)
SWEEP(pin)
SWEEP(ring)
SWEEP(service)
SWEEP(segment)
SWEEP(segment_of_user)
SWEEP(space)
SWEEP(submit_refused)
SWEEP(submit_remote)
SWEEP(send_message)

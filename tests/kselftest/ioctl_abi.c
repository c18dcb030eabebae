// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the general format of the ioctls (include/uapi/ds/ioctl.h), for each of
 * them: sizes, pointers, flags and reserved fields. Each wrong call is a right
 * one with one thing changed, on a file that was just opened.
 */
#include "ds_test.h"

union arg {
	uint32_t			size;
	struct ds_ioc_info		info;
	struct ds_ioc_space_open	space_open;
	struct ds_ioc_close		close;
	struct ds_ioc_buf_create	buf_create;
	struct ds_ioc_buf_pin		buf_pin;
	struct ds_ioc_seg_create	seg_create;
	struct ds_ioc_ring_create	ring_create;
	struct ds_ioc_submit		submit;
	struct ds_ioc_service_bind	service_bind;
	struct ds_ioc_msg_send		msg_send;
	struct ds_ioc_msg_recv		msg_recv;
	struct ds_ioc_msg_reply		msg_reply;
	struct ds_ioc_enroll		enroll;
	struct ds_ioc_fence		fence;
	uint8_t				bytes[2 * PAGE];
};

#define FLAGS_AT	4	/* in every struct */

/* A call that is right in form, and what comes of it. */
struct call {
	const char	*name;
	unsigned long	cmd;
	int		error;		/* its errno, 0 if it succeeds */
	uint32_t	known_flags;
	uint32_t	reserved_at;	/* offset of the reserved field, 0 if there is none */
	union arg	arg;
};

static uint8_t page[PAGE] __attribute__((aligned(4096)));
static struct ds_op op = { .opcode = DS_OP_READ, .length = 8 };
static struct ds_cqe cqe;

#define CALL(cmd_, member, ...)						\
	.name = #cmd_, .cmd = cmd_,					\
	.arg.member = { .size = sizeof(((union arg *)0)->member), ##__VA_ARGS__ }
#define RESERVED(type)	.reserved_at = offsetof(struct type, reserved)

/* Numbers that nothing has: the calls are right in form and find nothing. */
static const struct call calls[] = {
	{ CALL(DS_IOC_INFO, info) },
	{ CALL(DS_IOC_SPACE_OPEN, space_open, .space = 0xfffffff0, .access = DS_ACCESS_ALL),
	  .error = ENOENT, RESERVED(ds_ioc_space_open) },
	{ CALL(DS_IOC_CLOSE, close, .type = DS_HANDLE_BUF), .error = EBADF },
	{ CALL(DS_IOC_BUF_CREATE, buf_create, .length = PAGE, .numa_node = -1) },
	{ CALL(DS_IOC_BUF_PIN, buf_pin, .addr = (uintptr_t)page, .length = PAGE),
	  RESERVED(ds_ioc_buf_pin) },
	{ CALL(DS_IOC_SEG_CREATE, seg_create, .length = PAGE, .domain = 65535,
	       .access = DS_ACCESS_ALL, .numa_node = -1),
	  .error = ENOENT, .known_flags = DS_SEG_USER_MEMORY },
	{ CALL(DS_IOC_RING_CREATE, ring_create, .entries = 8), RESERVED(ds_ioc_ring_create) },
	{ CALL(DS_IOC_SUBMIT, submit, .ops = (uintptr_t)&op, .cqes = (uintptr_t)&cqe, .nr_ops = 1),
	  .known_flags = DS_SUBMIT_ASYNC },
	{ CALL(DS_IOC_SERVICE_BIND, service_bind, .service = 0x4d53, .queue = 1),
	  RESERVED(ds_ioc_service_bind) },
	{ CALL(DS_IOC_MSG_SEND, msg_send, .node = 65535, .service = 0x4d53),
	  .error = ENOTCONN, .known_flags = DS_SEND_ONE_WAY },
	{ CALL(DS_IOC_MSG_RECV, msg_recv), .error = EBADF },
	{ CALL(DS_IOC_MSG_REPLY, msg_reply), .error = EBADF, RESERVED(ds_ioc_msg_reply) },
	{ CALL(DS_IOC_ENROLL, enroll), .error = EBADF, .known_flags = DS_ENROLL_WITHDRAW },
	{ CALL(DS_IOC_FENCE, fence, .node = 1, .token = 1), .error = EBADF,
	  .known_flags = DS_FENCE_IF_GONE, RESERVED(ds_ioc_fence) },
};

/* Make the call with @arg on a file of its own and check what comes of it. */
static void expect(const struct call *call, int error, void *arg, const char *what, long detail)
{
	int fd = ds_open();
	int have = ioctl(fd, call->cmd, arg) ? errno : 0;

	if (have != error)
		ds_test_fail(__FILE__, __LINE__, "%s, %s %ld: %s, expected %s", call->name, what,
			     detail, ds_errno_name(have), ds_errno_name(error));
	close(fd);
}

#define EACH_CALL(call)	\
	(const struct call *call = calls; call < calls + ARRAY_LEN(calls); call++)

TEST(unknown_numbers_are_enotty)
{
	static const unsigned long unknown[] = {
		_IOWR(DS_IOC_TYPE, 0x0e, struct ds_ioc_info),
		_IOWR(DS_IOC_TYPE, 0x3f, struct ds_ioc_info),
		_IOWR(DS_IOC_TYPE, 0xff, struct ds_ioc_info),
		_IOWR(DS_IOC_TYPE - 1, 0x00, struct ds_ioc_info),
		_IOR(DS_IOC_TYPE, 0x00, struct ds_ioc_info),
		_IOW(DS_IOC_TYPE, 0x00, struct ds_ioc_info),
		_IO(DS_IOC_TYPE, 0x00),
		0, ~0u, 0x5401 /* TCGETS */,
	};
	struct ds_ioc_info info = DS_ARG(ds_ioc_info);
	int fd = ds_open();

	for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
		EXPECT_ERR(ENOTTY, ioctl(fd, unknown[i], &info));
}

TEST(a_call_right_in_form_does_what_it_should)
{
	for EACH_CALL(call) {
		union arg arg = call->arg;

		expect(call, call->error, &arg, "as it is", 0);
	}
}

TEST(the_size_in_the_number_does_not_matter)
{
	for EACH_CALL(call) {
		union arg arg = call->arg;
		struct call other = *call;

		other.cmd = _IOC(_IOC_READ | _IOC_WRITE, DS_IOC_TYPE, _IOC_NR(call->cmd), 200);
		expect(&other, call->error, &arg, "with another size in the number", 200);
	}
}

TEST(a_short_size_is_einval)
{
	for EACH_CALL(call) {
		const uint32_t sizes[] = { 0, 1, 4, 8, call->arg.size - 1 };

		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			union arg arg = call->arg;

			arg.size = sizes[i];
			expect(call, EINVAL, &arg, "size", arg.size);
		}
	}
}

TEST(a_longer_struct_with_zeroes_works)
{
	for EACH_CALL(call) {
		const uint32_t more[] = { 1, 4, 8, 100, PAGE - call->arg.size };

		for (size_t i = 0; i < ARRAY_LEN(more); i++) {
			union arg arg = call->arg;

			arg.size += more[i];
			expect(call, call->error, &arg, "zeroes behind", more[i]);
		}
	}
}

TEST(a_longer_struct_with_something_in_it_is_e2big)
{
	for EACH_CALL(call) {
		const uint32_t size = call->arg.size, at[] = { 0, 1, 7, 8, 63 };

		for (size_t i = 0; i < ARRAY_LEN(at); i++) {
			union arg arg = call->arg;

			arg.size = size + 64;
			arg.bytes[size + at[i]] = 1;
			expect(call, E2BIG, &arg, "a byte behind at", at[i]);
		}
	}
}

TEST(a_struct_longer_than_a_page_is_e2big)
{
	for EACH_CALL(call) {
		const uint32_t sizes[] = { PAGE + 1, 2 * PAGE, 1u << 31, ~0u };

		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			union arg arg = call->arg;

			arg.size = sizes[i];
			expect(call, E2BIG, &arg, "size", sizes[i]);
		}
	}
}

TEST(bytes_behind_the_size_are_not_looked_at)
{
	for EACH_CALL(call) {
		uint32_t size = call->arg.size;
		char *edge = ds_memory_edge(size);
		union arg arg = call->arg;

		memset(arg.bytes + size, 0xff, 64);
		expect(call, call->error, &arg, "noise behind", 0);
		for (int i = 0; i < 64; i++)
			if (arg.bytes[size + i] != 0xff)
				ds_test_fail(__FILE__, __LINE__, "%s wrote behind its struct",
					     call->name);

		memcpy(edge, &call->arg, size);
		expect(call, call->error, edge, "nothing behind", 0);
	}
}

TEST(a_pointer_that_cannot_be_read_is_efault)
{
	for EACH_CALL(call) {
		uint32_t size = call->arg.size;
		char *edge = ds_memory_edge(size);

		expect(call, EFAULT, NULL, "pointer", 0);
		expect(call, EFAULT, (void *)-PAGE, "pointer", -PAGE);
		memcpy(edge + 1, &call->arg, size - 1);
		expect(call, EFAULT, edge + 1, "bytes that are missing", 1);
		memcpy(edge + size - 4, &call->arg, 4);
		expect(call, EFAULT, edge + size - 4, "bytes that are there", 4);
		expect(call, EFAULT, edge + size - 2, "bytes that are there", 2);
	}
}

/* The call runs, and what it made is taken back because nobody can be told. */
TEST(a_pointer_that_cannot_be_written_is_efault)
{
	for EACH_CALL(call) {
		union arg *arg = ds_memory(sizeof(*arg), PROT_READ | PROT_WRITE);

		memcpy(arg, &call->arg, sizeof(*arg));
		ASSERT_OK(mprotect(arg, sizeof(*arg), PROT_READ));
		expect(call, call->error ?: EFAULT, arg, "read-only", 0);
	}
}

TEST(what_could_not_be_told_is_taken_back)
{
	struct ds_ioc_ring_create ring = DS_ARG(ds_ioc_ring_create, .entries = 8);
	int fd = ds_open();

	for EACH_CALL(call) {
		union arg *arg = ds_memory(sizeof(*arg), PROT_READ | PROT_WRITE);

		if (call->error)
			continue;
		memcpy(arg, &call->arg, sizeof(*arg));
		ASSERT_OK(mprotect(arg, sizeof(*arg), PROT_READ));
		/* More often than a table has handles; a service and a ring exist once. */
		for (int i = 0; i < 4200; i++)
			if (!EXPECT_ERR(EFAULT, ioctl(fd, call->cmd, arg)))
				break;
		munmap(arg, sizeof(*arg));
	}
	EXPECT_OK(ioctl(fd, DS_IOC_RING_CREATE, &ring));
}

TEST(unknown_flags_are_eopnotsupp)
{
	for EACH_CALL(call) {
		for (int bit = 0; bit < 32; bit++) {
			union arg arg = call->arg;
			uint32_t flag = 1u << bit;

			if (call->known_flags & flag)
				continue;
			memcpy(arg.bytes + FLAGS_AT, &flag, sizeof(flag));
			expect(call, EOPNOTSUPP, &arg, "flag", bit);
		}
	}
}

TEST(reserved_fields_must_be_zero)
{
	for EACH_CALL(call) {
		for (int bit = 0; call->reserved_at && bit < 32; bit++) {
			union arg arg = call->arg;
			uint32_t value = 1u << bit;

			memcpy(arg.bytes + call->reserved_at, &value, sizeof(value));
			expect(call, EINVAL, &arg, "reserved bit", bit);
		}
	}
}

TEST(unknown_access_is_eopnotsupp_and_none_einval)
{
	for EACH_CALL(call) {
		union arg arg = call->arg;
		uint32_t *access = call->cmd == DS_IOC_SPACE_OPEN ? &arg.space_open.access :
				   call->cmd == DS_IOC_SEG_CREATE ? &arg.seg_create.access : NULL;

		if (!access)
			continue;
		*access = DS_ACCESS_ALL | 1u << 3;
		expect(call, EOPNOTSUPP, &arg, "access", *access);
		*access = DS_ACCESS_READ | 1u << 31;
		expect(call, EOPNOTSUPP, &arg, "access", *access);
		*access = 0;
		expect(call, EINVAL, &arg, "access", 0);
	}
}

TEST(info_says_what_there_is)
{
	struct ds_ioc_info info;
	int fd = ds_open();

	memset(&info, 0xff, sizeof(info));
	info.size = sizeof(info);
	info.flags = 0;
	ASSERT_OK(ds_ioctl(fd, DS_IOC_INFO, &info));
	EXPECT_EQ(sizeof(info), info.size);
	EXPECT_EQ(DS_ABI_VERSION, info.out_abi);
	EXPECT(info.out_node <= 65535);
	EXPECT(info.out_max_ops >= 64);
	EXPECT(info.out_max_chain >= 2 && info.out_max_chain <= info.out_max_ops);
	EXPECT(info.out_max_op_bytes >= 1u << 20);
	EXPECT_EQ(4096, info.out_max_msg_bytes);
	EXPECT(info.out_max_buf_bytes >= 1u << 20);
	EXPECT_EQ(0, info.out_features);
}

/* A kernel that reads a field twice would see two values. */
static volatile bool racing;

static void *race_size(void *p)
{
	volatile uint32_t *size = p;

	static const uint32_t sizes[] = { sizeof(struct ds_ioc_info), ~0u, 0 };

	for (size_t i = 0; racing; i++) {
		*size = sizes[i % ARRAY_LEN(sizes)];
		for (volatile int wait = 0; wait < 100; wait++)
			;
	}
	return NULL;
}

TEST(a_size_that_changes_meanwhile_does_no_harm)
{
	struct { struct ds_ioc_info info; uint8_t behind[PAGE]; } arg = {};
	int fd = ds_open(), seen_ok = 0;
	pthread_t thread;

	racing = true;
	ASSERT(!pthread_create(&thread, NULL, race_size, &arg.info.size));
	for (int i = 0; i < 20000; i++) {
		int error = ioctl(fd, DS_IOC_INFO, &arg) ? errno : 0;

		seen_ok += !error;
		EXPECT(!error || error == EINVAL || error == E2BIG);
	}
	racing = false;
	pthread_join(thread, NULL);
	for (size_t i = 0; i < sizeof(arg.behind); i++)
		if (!EXPECT_EQ(0, arg.behind[i]))
			break;
	printf("# %d of 20000 calls saw the right size\n", seen_ok);
}

TEST(half_open_files_are_refused)
{
	EXPECT_ERR(EACCES, open(DS_TEST_DEVICE, O_RDONLY));
	EXPECT_ERR(EACCES, open(DS_TEST_DEVICE, O_WRONLY));
}

TEST(read_write_and_seek_are_refused)
{
	int fd = ds_open();
	char byte = 0;

	EXPECT_ERR(EINVAL, read(fd, &byte, 1));
	EXPECT_ERR(EINVAL, write(fd, &byte, 1));
	EXPECT_ERR(ESPIPE, lseek(fd, 0, SEEK_SET));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: DS_IOC_SUBMIT: arrays that are refused as a whole, operations that are
 * refused alone, and what an operation may touch. DS_TEST_SPACE names a space of
 * two servers or more, the first of which is attached; without it only what
 * needs no remote memory is tested.
 */
#include "ds_test.h"

#define BUF_LENGTH	(8 * PAGE)

/* A synchronous submit of whole arrays. */
static int submit(int fd, const struct ds_op *ops, uint32_t count, struct ds_cqe *cqes)
{
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .ops = (uintptr_t)ops,
					  .cqes = (uintptr_t)cqes, .nr_ops = count);
	int rc = ds_ioctl(fd, DS_IOC_SUBMIT, &arg);

	EXPECT_EQ(rc ? 0 : count, arg.out_accepted);
	return rc;
}

/* One operation. Return its completion. */
static struct ds_cqe run(int fd, struct ds_op op)
{
	struct ds_cqe cqe;

	memset(&cqe, 0x77, sizeof(cqe));
	op.user_data = 0x123456789abcdef0;
	ASSERT_OK(submit(fd, &op, 1, &cqe));
	EXPECT_EQ(op.user_data, cqe.user_data);
	EXPECT(!cqe.reserved[0] && !cqe.reserved[1] && !cqe.reserved[2]);
	EXPECT(cqe.status || cqe.outcome == DS_EXECUTED);
	return cqe;
}

/* @op is refused with @error and did not happen. */
#define EXPECT_REFUSED(error, fd, ...) do {					\
	struct ds_cqe cqe_ = run(fd, (struct ds_op){ __VA_ARGS__ });		\
	if (cqe_.status != -(error) || cqe_.outcome != DS_NOT_EXECUTED ||	\
	    cqe_.length || cqe_.value)						\
		ds_test_fail(__FILE__, __LINE__, "{ %s }: status %s, outcome %d, length %u, "	\
			     "value %#llx, expected %s", #__VA_ARGS__,		\
			     ds_errno_name(-cqe_.status), cqe_.outcome, cqe_.length,	\
			     (unsigned long long)cqe_.value, ds_errno_name(error));	\
} while (0)

/* ---- The whole array is refused; nothing runs ---- */

static const struct ds_op harmless = { .opcode = DS_OP_CAS, .length = 8 };

TEST(arrays_that_are_too_short_or_too_long)
{
	static struct ds_op ops[1025];
	static struct ds_cqe cqes[1025];
	int fd = ds_open();

	EXPECT_ERR(EINVAL, submit(fd, ops, 0, cqes));
	EXPECT_ERR(E2BIG, submit(fd, ops, 1025, cqes));
	EXPECT_ERR(E2BIG, submit(fd, ops, 1u << 31, cqes));
	EXPECT_ERR(E2BIG, submit(fd, ops, ~0u, cqes));
	EXPECT_OK(submit(fd, ops, 1024, cqes));
	for (int i = 0; i < 1024; i++)
		EXPECT_EQ(-EBADF, cqes[i].status);
}

TEST(pointers_that_cannot_be_used)
{
	static struct ds_op ops[40];
	static struct ds_cqe cqes[40];
	struct ds_op *edge_ops = ds_memory_edge(40 * sizeof(*edge_ops));
	struct ds_cqe *edge_cqes = ds_memory_edge(40 * sizeof(*edge_cqes));
	void *readonly = ds_memory(PAGE, PROT_READ);
	int fd = ds_open();

	memcpy(edge_ops, ops, sizeof(ops));
	for (int count = 1; count <= 40; count += 13) {
		EXPECT_ERR(EFAULT, submit(fd, NULL, count, cqes));
		EXPECT_ERR(EFAULT, submit(fd, ops, count, NULL));
		EXPECT_ERR(EFAULT, submit(fd, (void *)-PAGE, count, cqes));
		EXPECT_ERR(EFAULT, submit(fd, ops, count, (void *)-PAGE));
		EXPECT_ERR(EFAULT, submit(fd, ops, count, readonly));
		EXPECT_ERR(EFAULT, submit(fd, edge_ops + 41 - count, count, cqes));
		EXPECT_ERR(EFAULT, submit(fd, ops, count, edge_cqes + 41 - count));
		EXPECT_OK(submit(fd, edge_ops + 40 - count, count, edge_cqes + 40 - count));
	}
}

TEST(operations_that_are_none)
{
	struct ds_op ops[3] = { harmless, harmless, harmless };
	struct ds_cqe cqes[3];
	int fd = ds_open();

	for (int at = 0; at < 3; at++) {
		for (int opcode = DS_OPCODES; opcode < 256; opcode++) {
			ops[at].opcode = opcode;
			EXPECT_ERR(EOPNOTSUPP, submit(fd, ops, 3, cqes));
		}
		ops[at] = harmless;
		for (int bit = 2; bit < 8; bit++) {
			ops[at].flags = 1 << bit;
			EXPECT_ERR(EOPNOTSUPP, submit(fd, ops, 3, cqes));
		}
		ops[at] = harmless;
		for (int bit = 0; bit < 64; bit++) {
			ops[at].reserved = 1ull << bit;
			EXPECT_ERR(EINVAL, submit(fd, ops, 3, cqes));
		}
		ops[at] = harmless;
		EXPECT_OK(submit(fd, ops, 3, cqes));
	}
}

TEST(chains_that_are_none)
{
	struct ds_op ops[40];
	struct ds_cqe cqes[40];
	int fd = ds_open();

	for (int i = 0; i < 40; i++) {
		ops[i] = harmless;
		ops[i].flags = DS_OP_CHAIN;
	}
	for (int count = 1; count <= 16; count++)
		EXPECT_ERR(EINVAL, submit(fd, ops, count, cqes));
	ops[16].flags = 0;
	EXPECT_ERR(E2BIG, submit(fd, ops, 17, cqes));
	ops[15].flags = 0;
	EXPECT_OK(submit(fd, ops, 16, cqes));
	EXPECT_OK(submit(fd, ops, 17, cqes));
	/* The chain that does not end is the second, and the first does not run. */
	EXPECT_ERR(EINVAL, submit(fd, ops, 19, cqes));
}

TEST(what_each_way_of_waiting_takes)
{
	struct ds_op op = harmless;
	struct ds_cqe cqe;
	struct ds_ioc_ring_create ring = DS_ARG(ds_ioc_ring_create, .entries = 8);
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .ops = (uintptr_t)&op, .nr_ops = 1,
					  .flags = DS_SUBMIT_ASYNC);
	int fd = ds_open();

	EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_SUBMIT, &arg));
	ASSERT_OK(ds_ioctl(fd, DS_IOC_RING_CREATE, &ring));
	arg.cqes = (uintptr_t)&cqe;
	EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_SUBMIT, &arg));
	arg.cqes = 0;
	arg.timeout_ms = 1;
	EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_SUBMIT, &arg));
	arg.timeout_ms = 0;
	EXPECT_OK(ds_ioctl(fd, DS_IOC_SUBMIT, &arg));
	EXPECT_EQ(1, arg.out_accepted);
}

/* ---- One operation is refused ---- */

TEST(handles_that_name_nothing)
{
	static const uint32_t wrong[] = { 0, 1, 0xfffff, ~0u };
	int fd = ds_open(), other = ds_open();
	uint32_t buf = ds_make_buf(fd, PAGE, NULL);

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		EXPECT_REFUSED(EBADF, fd, .opcode = DS_OP_READ, .length = 8, .space = wrong[i],
			       .buf = buf);
		EXPECT_REFUSED(EBADF, fd, .opcode = DS_OP_FETCH_ADD, .length = 8,
			       .space = wrong[i]);
	}
	/* A handle of another type and one of another file are no better. */
	EXPECT_REFUSED(EBADF, fd, .opcode = DS_OP_CAS, .length = 8, .space = buf);
	EXPECT_REFUSED(EBADF, other, .opcode = DS_OP_READ, .length = 8, .buf = buf);
}

TEST(spaces_stale_and_foreign)
{
	int fd = ds_open(), other = ds_open();
	struct ds_ioc_space_open space = ds_open_space(fd, DS_ACCESS_ALL);
	struct ds_op op = { .opcode = DS_OP_FETCH_ADD, .length = 8, .space = space.out_handle,
			    .addr = space.out_base };

	EXPECT_EQ(0, run(fd, op).status);
	EXPECT_EQ(-EBADF, run(other, op).status);
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_SPACE, space.out_handle));
	EXPECT_EQ(-ESTALE, run(fd, op).status);
	EXPECT_EQ(-EBADF, run(other, op).status);
}

TEST(buffers_stale_and_foreign)
{
	int fd = ds_open(), other = ds_open();
	struct ds_ioc_space_open space = ds_open_space(fd, DS_ACCESS_ALL);
	uint32_t mine = ds_make_buf(fd, PAGE, NULL), theirs = ds_make_buf(other, PAGE, NULL);
	struct ds_op op = { .opcode = DS_OP_READ, .length = 8, .space = space.out_handle,
			    .addr = space.out_base, .buf = mine };

	EXPECT_EQ(0, run(fd, op).status);
	op.buf = theirs;
	EXPECT_EQ(-EBADF, run(fd, op).status);
	op.buf = space.out_handle;
	EXPECT_EQ(-EBADF, run(fd, op).status);
	op.buf = 0;
	EXPECT_EQ(-EBADF, run(fd, op).status);
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_BUF, mine));
	op.buf = mine;
	EXPECT_EQ(-ESTALE, run(fd, op).status);
}

struct setup {
	int fd;
	struct ds_ioc_space_open space;
	uint32_t buf;
	uint64_t *map;
};

static struct setup set_up(uint32_t access)
{
	struct setup s = { .fd = ds_open() };
	uint64_t offset;

	s.space = ds_open_space(s.fd, access);
	s.buf = ds_make_buf(s.fd, BUF_LENGTH, &offset);
	s.map = ds_map(s.fd, BUF_LENGTH, offset);
	return s;
}

/* A READ or WRITE into or from the start of the buffer, if nothing else is said. */
#define RW(s, op, ...)	.opcode = (op), .space = (s).space.out_handle, .buf = (s).buf, ##__VA_ARGS__
#define RUN_RW(s, op, ...)	run((s).fd, (struct ds_op){ RW(s, op, __VA_ARGS__) })
#define RW_REFUSED(error, s, op, ...)	EXPECT_REFUSED(error, (s).fd, RW(s, op, __VA_ARGS__))

TEST(addresses_out_of_the_space)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	uint64_t base = s.space.out_base, last = s.space.out_last;
	uint64_t server = 1ull << s.space.out_server_shift;

	for (int op = DS_OP_READ; op <= DS_OP_WRITE; op++) {
		RW_REFUSED(ERANGE, s, op, .length = 8, .addr = 0);
		RW_REFUSED(ERANGE, s, op, .length = 1, .addr = base - 1);
		RW_REFUSED(ERANGE, s, op, .length = 8, .addr = base - 8);
		RW_REFUSED(ERANGE, s, op, .length = 2, .addr = base - 1);
		RW_REFUSED(ERANGE, s, op, .length = 1, .addr = last + 1);
		RW_REFUSED(ERANGE, s, op, .length = 2, .addr = last);
		RW_REFUSED(ERANGE, s, op, .length = 1, .addr = ~0ull);
		RW_REFUSED(ERANGE, s, op, .length = 8, .addr = -4ull);
		/* One that begins on a server and ends on the next. */
		RW_REFUSED(ERANGE, s, op, .length = 2, .addr = base + server - 1);
		RW_REFUSED(ERANGE, s, op, .length = 4096, .addr = base + server - 8);
	}
	EXPECT_REFUSED(ERANGE, s.fd, .opcode = DS_OP_CAS, .length = 8, .addr = base - 8,
		       .space = s.space.out_handle);
	EXPECT_REFUSED(ERANGE, s.fd, .opcode = DS_OP_FETCH_ADD, .length = 8, .addr = last + 1,
		       .space = s.space.out_handle);
}

TEST(lengths_that_are_refused)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_ioc_info info = DS_ARG(ds_ioc_info);
	uint64_t base = s.space.out_base;

	ASSERT_OK(ds_ioctl(s.fd, DS_IOC_INFO, &info));
	for (int op = DS_OP_READ; op <= DS_OP_WRITE; op++) {
		RW_REFUSED(EINVAL, s, op, .length = 0, .addr = base);
		RW_REFUSED(E2BIG, s, op, .length = info.out_max_op_bytes + 1, .addr = base);
		RW_REFUSED(E2BIG, s, op, .length = ~0u, .addr = base);
		RW_REFUSED(EINVAL, s, op, .length = 8, .addr = base, .swap = 1);
		RW_REFUSED(EINVAL, s, op, .length = 8, .addr = base, .compare_add = 1);
	}
}

TEST(ranges_out_of_the_buffer)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	uint64_t base = s.space.out_base;

	for (int op = DS_OP_READ; op <= DS_OP_WRITE; op++) {
		EXPECT_EQ(0, RUN_RW(s, op, .length = 1, .addr = base,
				    .buf_offset = BUF_LENGTH - 1).status);
		RW_REFUSED(ERANGE, s, op, .length = 1, .addr = base,
					  .buf_offset = BUF_LENGTH);
		RW_REFUSED(ERANGE, s, op, .length = 2, .addr = base,
					  .buf_offset = BUF_LENGTH - 1);
		RW_REFUSED(ERANGE, s, op, .length = BUF_LENGTH + 1, .addr = base);
		RW_REFUSED(ERANGE, s, op, .length = 8, .addr = base,
					  .buf_offset = 1ull << 32);
		RW_REFUSED(ERANGE, s, op, .length = 8, .addr = base,
					  .buf_offset = ~0ull);
		RW_REFUSED(ERANGE, s, op, .length = 8, .addr = base, .buf_offset = -8ull);
		RW_REFUSED(ERANGE, s, op, .length = 9, .addr = base, .buf_offset = -8ull);
	}
}

TEST(words_that_atomics_refuse)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	uint64_t base = s.space.out_base;
	uint32_t space = s.space.out_handle;

	for (int op = DS_OP_CAS; op <= DS_OP_FETCH_ADD; op++) {
		for (int off = 1; off < 8; off++)
			EXPECT_REFUSED(EINVAL, s.fd, .opcode = op, .space = space, .length = 8,
				       .addr = base + off);
		for (int length = 0; length < 18; length++)
			if (length != 8)
				EXPECT_REFUSED(EINVAL, s.fd, .opcode = op, .space = space,
					       .length = length, .addr = base);
		EXPECT_REFUSED(EINVAL, s.fd, .opcode = op, .space = space, .length = 8,
			       .addr = base, .buf = s.buf);
		EXPECT_REFUSED(EINVAL, s.fd, .opcode = op, .space = space, .length = 8,
			       .addr = base, .buf_offset = 8);
	}
}

TEST(access_that_was_not_asked_for)
{
	for (uint32_t access = 1; access <= DS_ACCESS_ALL; access++) {
		struct setup s = set_up(access);
		uint64_t at = s.space.out_base;
		uint32_t space = s.space.out_handle;

		struct ds_op ops[3] = {
			{ RW(s, DS_OP_READ, .length = 8, .addr = at) },
			{ RW(s, DS_OP_WRITE, .length = 8, .addr = at + 64) },
			{ .opcode = DS_OP_CAS, .length = 8, .space = space, .addr = at },
		};
		struct ds_cqe cqes[3];

		/* Alone, and behind one that names the same handles. */
		ASSERT_OK(submit(s.fd, ops, 3, cqes));
		for (int i = 0; i < 3; i++) {
			int status = access & 1 << i ? 0 : -EACCES;

			EXPECT_EQ(status, cqes[i].status);
			EXPECT_EQ(status, run(s.fd, ops[i]).status);
		}
	}
}

TEST(a_server_that_is_not_attached)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	uint64_t at = s.space.out_base + (1ull << s.space.out_server_shift);

	ASSERT(s.space.out_servers >= 2);
	RW_REFUSED(ENXIO, s, DS_OP_READ, .length = 8, .addr = at);
	EXPECT_REFUSED(ENXIO, s.fd, .opcode = DS_OP_CAS, .length = 8, .addr = at,
		       .space = s.space.out_handle);
}

/* One bad operation ends its chain and no other. */
TEST(a_refused_operation_among_others)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_op good = { .opcode = DS_OP_READ, .length = 8, .space = s.space.out_handle,
			      .addr = s.space.out_base, .buf = s.buf };
	struct ds_op bad = good, ops[7];
	struct ds_cqe cqes[7];

	bad.space = 1;
	for (int i = 0; i < 7; i++)
		ops[i] = i == 0 || i == 3 ? bad : good;
	ops[2].flags = DS_OP_CHAIN;
	ops[3].flags = DS_OP_CHAIN;
	ASSERT_OK(submit(s.fd, ops, 7, cqes));
	EXPECT_EQ(-EBADF, cqes[0].status);
	EXPECT_EQ(0, cqes[1].status);
	EXPECT_EQ(-ECANCELED, cqes[2].status);
	EXPECT_EQ(-EBADF, cqes[3].status);
	EXPECT_EQ(-ECANCELED, cqes[4].status);
	EXPECT_EQ(0, cqes[5].status);
	EXPECT_EQ(0, cqes[6].status);
	for (int i = 0; i < 7; i++)
		EXPECT_EQ(cqes[i].status ? DS_NOT_EXECUTED : DS_EXECUTED, cqes[i].outcome);
}

/* A chain is on one server. */
TEST(a_chain_over_two_servers)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_op ops[2] = {
		{ .opcode = DS_OP_READ, .length = 8, .space = s.space.out_handle,
		  .addr = s.space.out_base, .buf = s.buf, .flags = DS_OP_CHAIN },
	};
	struct ds_cqe cqes[2];

	ops[1] = ops[0];
	ops[1].flags = 0;
	ops[1].addr += 1ull << s.space.out_server_shift;
	ASSERT_OK(submit(s.fd, ops, 2, cqes));
	EXPECT_EQ(-ECANCELED, cqes[0].status);
	EXPECT_EQ(-EXDEV, cqes[1].status);
}

/* ---- What happens ---- */

TEST(what_is_written_is_read)
{
	static const uint32_t lengths[] = { 1, 7, 8, 63, 64, 65, 4095, 4096, 4097, 12289, 16384 };
	struct setup s = set_up(DS_ACCESS_ALL);
	uint8_t *map = (uint8_t *)s.map, *half = map + BUF_LENGTH / 2;

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		uint32_t length = lengths[i];
		uint64_t at = s.space.out_base + 4096 * 7 + i * 13;
		struct ds_cqe cqe;

		for (uint32_t b = 0; b < length; b++)
			map[b] = b * 31 + i + 1;
		memset(half, 0, BUF_LENGTH / 2);
		cqe = RUN_RW(s, DS_OP_WRITE, .length = length, .addr = at);
		EXPECT_EQ(0, cqe.status);
		EXPECT_EQ(length, cqe.length);
		EXPECT(cqe.node > 0);
		cqe = RUN_RW(s, DS_OP_READ, .length = length, .addr = at,
			     .buf_offset = BUF_LENGTH / 2);
		EXPECT_EQ(0, cqe.status);
		EXPECT(!memcmp(map, half, length));
		if (length < BUF_LENGTH / 2)
			EXPECT_EQ(0, half[length]);
	}
}

TEST(pinned_memory_is_used)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	char *p = ds_memory(BUF_LENGTH, PROT_READ | PROT_WRITE);
	struct ds_ioc_buf_pin pin = DS_ARG(ds_ioc_buf_pin, .addr = (uintptr_t)p,
					   .length = BUF_LENGTH);
	struct ds_op op = { .space = s.space.out_handle, .addr = s.space.out_base + 65536,
			    .length = 10000 };

	ASSERT_OK(ds_ioctl(s.fd, DS_IOC_BUF_PIN, &pin));
	memset(p, 0x3c, 10000);
	op.opcode = DS_OP_WRITE;
	op.buf = pin.out_handle;
	EXPECT_EQ(0, run(s.fd, op).status);
	op.opcode = DS_OP_READ;
	op.buf_offset = 12345;
	EXPECT_EQ(0, run(s.fd, op).status);
	EXPECT(!memcmp(p, p + 12345, 10000));
}

TEST(atomics_return_the_old_value)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_op op = { .space = s.space.out_handle, .addr = s.space.out_base + 1024,
			    .length = 8 };
	struct ds_cqe cqe;
	uint64_t start;

	op.opcode = DS_OP_FETCH_ADD;
	start = run(s.fd, op).value;
	op.compare_add = 5;
	cqe = run(s.fd, op);
	EXPECT_EQ(0, cqe.status);
	EXPECT_EQ(8, cqe.length);
	EXPECT_EQ(start, cqe.value);
	op.opcode = DS_OP_CAS;
	op.compare_add = start;
	op.swap = 0xdeadbeef;
	EXPECT_EQ(start + 5, run(s.fd, op).value);
	op.compare_add = start + 5;
	EXPECT_EQ(start + 5, run(s.fd, op).value);
	op.opcode = DS_OP_FETCH_ADD;
	op.compare_add = -1ull;
	EXPECT_EQ(0xdeadbeef, run(s.fd, op).value);
	EXPECT_EQ(0xdeadbeef - 1, run(s.fd, op).value);
}

TEST(a_batch_does_all)
{
	enum { COUNT = 1024 };
	static struct ds_op ops[COUNT];
	static struct ds_cqe cqes[COUNT];
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_op add = { .opcode = DS_OP_FETCH_ADD, .length = 8, .compare_add = 1,
			     .space = s.space.out_handle, .addr = s.space.out_base + 2048 };
	uint64_t start = run(s.fd, (struct ds_op){ .opcode = DS_OP_FETCH_ADD, .length = 8,
						   .space = add.space, .addr = add.addr }).value;

	for (int i = 0; i < COUNT; i++) {
		ops[i] = add;
		ops[i].user_data = i;
		ops[i].flags = i % 3 && i + 1 < COUNT ? DS_OP_CHAIN : 0;
	}
	ASSERT_OK(submit(s.fd, ops, COUNT, cqes));
	for (int i = 0; i < COUNT; i++) {
		EXPECT_EQ(0, cqes[i].status);
		EXPECT_EQ(i, cqes[i].user_data);
		EXPECT(cqes[i].value - start < COUNT);
	}
	add.compare_add = 0;
	EXPECT_EQ(start + COUNT, run(s.fd, add).value);
}

TEST(a_chain_executes_in_order)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_op op = { .space = s.space.out_handle, .addr = s.space.out_base + 3072,
			    .length = 8, .buf = s.buf, .flags = DS_OP_CHAIN };
	struct ds_op ops[4] = { op, op, op, op };
	struct ds_cqe cqes[4];

	for (int round = 0; round < 50; round++) {
		ops[0].opcode = DS_OP_WRITE;
		ops[1].opcode = DS_OP_READ;
		ops[1].buf_offset = 64;
		ops[2].opcode = DS_OP_WRITE;
		ops[2].buf_offset = 128;
		ops[2].flags = DS_OP_CHAIN | DS_OP_FENCE;
		ops[3].opcode = DS_OP_READ;
		ops[3].buf_offset = 192;
		ops[3].flags = 0;
		s.map[0] = 1000 + round;
		s.map[8] = s.map[24] = 0;
		s.map[16] = 2000 + round;
		ASSERT_OK(submit(s.fd, ops, 4, cqes));
		for (int i = 0; i < 4; i++)
			EXPECT_EQ(0, cqes[i].status);
		EXPECT_EQ(1000 + round, s.map[8]);
		EXPECT_EQ(2000 + round, s.map[24]);
	}
}

/* Nothing happens of which the caller cannot be told. */
TEST(completions_that_cannot_be_written)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_op op = { .opcode = DS_OP_FETCH_ADD, .length = 8, .compare_add = 1,
			    .space = s.space.out_handle, .addr = s.space.out_base + 4096 };
	uint64_t before = run(s.fd, op).value;

	EXPECT_ERR(EFAULT, submit(s.fd, &op, 1, ds_memory(PAGE, PROT_READ)));
	EXPECT_EQ(before + 1, run(s.fd, op).value);
}

/* ---- Asynchronous ---- */

TEST(asynchronous_operations_complete)
{
	enum { COUNT = 3000, ENTRIES = 256 };
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_ioc_ring_create create = DS_ARG(ds_ioc_ring_create, .entries = ENTRIES);
	static struct ds_op ops[64];
	static uint8_t seen[COUNT];
	uint32_t sent = 0, done = 0, head = 0;
	struct ds_ring *ring;

	ASSERT_OK(ds_ioctl(s.fd, DS_IOC_RING_CREATE, &create));
	ring = ds_map(s.fd, create.out_mmap_length, create.out_mmap_offset);
	while (done < COUNT) {
		struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .flags = DS_SUBMIT_ASYNC,
						  .ops = (uintptr_t)ops);

		for (arg.nr_ops = 0; arg.nr_ops < 64 && sent + arg.nr_ops < COUNT; arg.nr_ops++)
			ops[arg.nr_ops] = (struct ds_op){
				.opcode = arg.nr_ops % 4, .space = s.space.out_handle,
				.addr = s.space.out_base + 8192 + arg.nr_ops * 64, .length = 8,
				.buf = arg.nr_ops % 4 < 2 ? s.buf : 0,
				.user_data = sent + arg.nr_ops };
		if (arg.nr_ops) {
			if (ds_ioctl(s.fd, DS_IOC_SUBMIT, &arg))
				EXPECT_EQ(EAGAIN, errno);
			else
				sent += arg.out_accepted;
		}
		/* The send queue may be full of others' operations: then poll says nothing. */
		if (sent == done) {
			ds_sleep_ms(1);
			continue;
		}
		ASSERT(ds_poll(s.fd, 20000) == POLLIN);
		for (; head != __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE); head++, done++) {
			struct ds_cqe cqe = ring->cqes[head & (ENTRIES - 1)];

			EXPECT_EQ(0, cqe.status);
			ASSERT(cqe.user_data < COUNT);
			EXPECT_EQ(0, seen[cqe.user_data]++);
		}
		__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
	}
	EXPECT_EQ(COUNT, sent);
	EXPECT_EQ(COUNT, done);
}

/* A place is kept for each operation under way, whatever the head says. */
TEST(a_ring_full_of_operations_under_way)
{
	enum { ENTRIES = 4 };
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_ioc_ring_create create = DS_ARG(ds_ioc_ring_create, .entries = ENTRIES);
	struct ds_op ops[ENTRIES];
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .flags = DS_SUBMIT_ASYNC,
					  .ops = (uintptr_t)ops, .nr_ops = ENTRIES);
	struct ds_ring *ring;
	uint32_t sent = 0;

	ASSERT_OK(ds_ioctl(s.fd, DS_IOC_RING_CREATE, &create));
	ring = ds_map(s.fd, create.out_mmap_length, create.out_mmap_offset);
	for (int i = 0; i < ENTRIES; i++)
		ops[i] = (struct ds_op){ RW(s, DS_OP_READ, .length = BUF_LENGTH,
					    .addr = s.space.out_base) };
	for (int round = 0; round < 20; round++) {
		arg.nr_ops = ENTRIES;
		ASSERT_OK(ds_ioctl(s.fd, DS_IOC_SUBMIT, &arg));
		ASSERT(arg.out_accepted == ENTRIES);
		arg.nr_ops = 1;
		EXPECT_ERR(EAGAIN, ds_ioctl(s.fd, DS_IOC_SUBMIT, &arg));
		for (uint32_t ahead = 1; ahead <= ENTRIES + 1; ahead++) {
			__atomic_store_n(&ring->head, sent + ahead, __ATOMIC_RELEASE);
			/* Right only if operations have ended meanwhile. */
			if (!ds_ioctl(s.fd, DS_IOC_SUBMIT, &arg)) {
				EXPECT(__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) != sent);
				sent++;
				break;
			}
		}
		sent += ENTRIES;
		for (int i = 0; i < 5000; i++) {
			if (__atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == sent)
				break;
			ds_sleep_ms(1);
		}
		ASSERT(ring->tail == sent);
		__atomic_store_n(&ring->head, sent, __ATOMIC_RELEASE);
	}
}

/* ---- Races; the last ones leave operations under way behind ---- */

static volatile bool racing;

static void *race_op(void *p)
{
	volatile struct ds_op *op = p;

	while (racing) {
		op->opcode = 200;
		op->reserved = 1;
		op->opcode = DS_OP_CAS;
		op->space = 12345;
		op->reserved = 0;
		op->flags = DS_OP_CHAIN;
		op->space = 0;
		op->flags = 0;
	}
	return NULL;
}

TEST(operations_that_change_meanwhile)
{
	struct ds_op ops[20] = {};
	struct ds_cqe cqes[20];
	int fd = ds_open(), ran = 0;
	pthread_t thread;

	for (int i = 0; i < 20; i++)
		ops[i] = harmless;
	racing = true;
	ASSERT(!pthread_create(&thread, NULL, race_op, &ops[19]));
	for (int i = 0; i < 5000; i++) {
		if (submit(fd, ops, 20, cqes))
			EXPECT(errno == EINVAL || errno == EOPNOTSUPP);
		else
			ran++;
	}
	racing = false;
	pthread_join(thread, NULL);
	printf("# %d of 5000 arrays were well formed\n", ran);
}

static void *race_close(void *p)
{
	const struct setup *s = p;

	ds_sleep_ms(1);
	ds_close_handle(s->fd, DS_HANDLE_BUF, s->buf);
	return NULL;
}

/* Operations keep the buffer that they began with. */
TEST(a_buffer_closed_under_way)
{
	for (int i = 0; i < 30; i++) {
		struct setup s = set_up(DS_ACCESS_ALL);
		struct ds_op ops[64];
		struct ds_cqe cqes[64];
		pthread_t thread;

		for (int k = 0; k < 64; k++)
			ops[k] = (struct ds_op){ .opcode = DS_OP_READ, .length = 4096, .buf = s.buf,
						 .space = s.space.out_handle,
						 .addr = s.space.out_base };
		ASSERT(!pthread_create(&thread, NULL, race_close, &s));
		for (int round = 0; round < 20; round++) {
			ASSERT_OK(submit(s.fd, ops, 64, cqes));
			EXPECT(cqes[0].status == 0 || cqes[0].status == -ESTALE);
			for (int k = 1; k < 64; k++)
				EXPECT_EQ(cqes[0].status, cqes[k].status);
			if (cqes[0].status)
				break;
		}
		pthread_join(thread, NULL);
		munmap(s.map, BUF_LENGTH);
		close(s.fd);
	}
}

/* A file that is closed with operations in flight: they end by themselves. */
TEST(a_file_closed_under_way)
{
	for (int i = 0; i < 30; i++) {
		struct setup s = set_up(DS_ACCESS_ALL);
		struct ds_ioc_ring_create ring = DS_ARG(ds_ioc_ring_create, .entries = 64);
		static struct ds_op ops[64];
		struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .flags = DS_SUBMIT_ASYNC,
						  .ops = (uintptr_t)ops, .nr_ops = 64);

		ASSERT_OK(ds_ioctl(s.fd, DS_IOC_RING_CREATE, &ring));
		for (int k = 0; k < 64; k++)
			ops[k] = (struct ds_op){ .opcode = DS_OP_READ, .length = BUF_LENGTH,
						 .space = s.space.out_handle, .buf = s.buf,
						 .addr = s.space.out_base };
		/* Operations of the files before may still fill the send queue. */
		for (int wait = 0; wait < 2000; wait++) {
			if (!ds_ioctl(s.fd, DS_IOC_SUBMIT, &arg) || !EXPECT_EQ(EAGAIN, errno))
				break;
			ds_sleep_ms(10);
		}
		EXPECT(arg.out_accepted > 0);
		munmap(s.map, BUF_LENGTH);
		close(s.fd);
	}
}

/* A client killed inside a batch, which then ends by itself. */
TEST(a_process_killed_under_way)
{
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t pid = fork();

		ASSERT(pid >= 0);
		if (!pid) {
			struct setup s = set_up(DS_ACCESS_ALL);
			static struct ds_op ops[256];
			static struct ds_cqe cqes[256];

			for (int k = 0; k < 256; k++)
				ops[k] = (struct ds_op){ .opcode = DS_OP_READ, .buf = s.buf,
							 .length = BUF_LENGTH,
							 .space = s.space.out_handle,
							 .addr = s.space.out_base };
			for (;;)
				submit(s.fd, ops, 256, cqes);
		}
		ds_sleep_ms(50 + 7 * i);
		ASSERT_OK(kill(pid, SIGKILL));
		ASSERT(waitpid(pid, &status, 0) == pid);
		/* It may have ended before, as skipped. */
		if (WIFEXITED(status) && WEXITSTATUS(status) == DS_TEST_SKIP)
			exit(DS_TEST_SKIP);
		EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: DS_IOC_SUBMIT: arrays that are refused as a whole, operations that are
 * refused alone. DS_TEST_SPACE names a space of two servers or more, the first
 * of which is attached; without it only what needs no remote memory is tested.
 */
#include "ds_test.h"
#include "ds_submit.h"

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

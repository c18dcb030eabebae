/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: submitting operations, for submit.c and execute.c. Included after ds_test.h.
 */
#ifndef DS_SUBMIT_H
#define DS_SUBMIT_H

#define BUF_LENGTH	(8 * PAGE)

/* A synchronous submit of whole arrays. */
static inline int submit(int fd, const struct ds_op *ops, uint32_t count, struct ds_cqe *cqes)
{
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .ops = (uintptr_t)ops,
					  .cqes = (uintptr_t)cqes, .nr_ops = count);
	int rc = ds_ioctl(fd, DS_IOC_SUBMIT, &arg);

	EXPECT_EQ(rc ? 0 : count, arg.out_accepted);
	return rc;
}

/* One operation. Return its completion. */
static inline struct ds_cqe run(int fd, struct ds_op op)
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
struct setup {
	int fd;
	struct ds_ioc_space_open space;
	uint32_t buf;
	uint64_t *map;
};

static inline struct setup set_up(uint32_t access)
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

#endif /* DS_SUBMIT_H */

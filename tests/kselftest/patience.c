// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: DS_IOC_SUBMIT with a patience: what takes longer ends in the ring. DS_TEST_SPACE is as
 * in submit.c. The operations are READs of so much that hardly a device has it within a patience.
 */
#include "ds_test.h"
#include "ds_submit.h"

#define READS		16
/* Whole pages; a slow machine has all in less than a missed heartbeat. */
#define READ_BYTES	((1u << 20) / ds_test_slow() & ~(PAGE - 1))
#define PATIENCE_MS	1
#define FOR_LONG_MS	30000
#define TRIES		100	/* until some are under way when the call returns */
#define TAKEN_BACK	20

struct reads {
	int fd;
	struct ds_ring *ring;
	uint32_t entries;
	struct ds_op ops[READS];
	struct ds_cqe cqes[READS];
	struct ds_ioc_submit arg;
};

static void make_reads_without_ring(struct reads *r)
{
	struct ds_ioc_space_open space;
	uint32_t buf;

	memset(r, 0, sizeof(*r));
	r->fd = ds_open();
	space = ds_open_space(r->fd, DS_ACCESS_ALL);
	buf = ds_make_buf(r->fd, READ_BYTES, NULL);
	for (uint32_t i = 0; i < READS; i++)
		r->ops[i] = (struct ds_op){ .opcode = DS_OP_READ, .length = READ_BYTES,
					    .space = space.out_handle, .addr = space.out_base,
					    .buf = buf, .user_data = 1000 + i };
	r->arg = DS_ARG(ds_ioc_submit, .ops = (uintptr_t)r->ops, .cqes = (uintptr_t)r->cqes,
			.nr_ops = READS, .patience_ms = PATIENCE_MS, .timeout_ms = FOR_LONG_MS);
}

static void make_reads(struct reads *r, uint32_t entries)
{
	struct ds_ioc_ring_create ring = DS_ARG(ds_ioc_ring_create, .entries = entries);

	make_reads_without_ring(r);
	ASSERT_OK(ds_ioctl(r->fd, DS_IOC_RING_CREATE, &ring));
	r->ring = ds_map(r->fd, ring.out_mmap_length, ring.out_mmap_offset);
	r->entries = entries;
}

static uint32_t completions(struct reads *r)
{
	return __atomic_load_n(&r->ring->tail, __ATOMIC_ACQUIRE) - r->ring->head;
}

/*
 * Of the call: those that were under way when it returned. Some may have found no room. There
 * may be none, if the processor was the device's until all had ended.
 */
static uint32_t under_way(const struct reads *r)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < READS; i++) {
		const struct ds_cqe *cqe = &r->cqes[i];

		EXPECT_EQ(1000 + i, cqe->user_data);
		if (cqe->status == -EINPROGRESS) {
			EXPECT_EQ(DS_UNKNOWN, cqe->outcome);
			count++;
		} else if (cqe->status) {
			EXPECT_EQ(-ETIMEDOUT, cqe->status);
			EXPECT_EQ(DS_NOT_EXECUTED, cqe->outcome);
		}
	}
	return count;
}

static uint32_t submit_until_under_way(struct reads *r)
{
	uint32_t count = 0;

	for (int tries = 0; !count && tries < TRIES; tries++) {
		EXPECT_EQ(0, completions(r));
		if (ds_ioctl(r->fd, DS_IOC_SUBMIT, &r->arg))
			return 0;
		EXPECT_EQ(READS, r->arg.out_accepted);
		count = under_way(r);
	}
	printf("# %u of %u were under way\n", count, READS);
	return count;
}

static uint32_t unknown(const struct reads *r)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < READS; i++)
		count += r->cqes[i].status == -ETIMEDOUT && r->cqes[i].outcome == DS_UNKNOWN;
	return count;
}

static void wait_for(struct reads *r, uint32_t count)
{
	for (int tries = 0; completions(r) < count && tries < 3000; tries++)
		ds_sleep_ms(10);
	EXPECT_EQ(count, completions(r));
}

/* Asynchronous, with all places of a ring of two free: it takes two. */
static void async_until_full(struct reads *r)
{
	__atomic_store_n(&r->ring->head, r->ring->tail, __ATOMIC_RELEASE);
	r->arg = DS_ARG(ds_ioc_submit, .flags = DS_SUBMIT_ASYNC, .ops = (uintptr_t)r->ops,
			.nr_ops = READS);
	EXPECT_OK(ds_ioctl(r->fd, DS_IOC_SUBMIT, &r->arg));
	EXPECT_EQ(2, r->arg.out_accepted);
	wait_for(r, 2);
}

TEST(it_needs_a_ring_and_somebody_who_waits)
{
	struct ds_op op = { .opcode = DS_OP_CAS, .length = 8 };
	struct ds_cqe cqe;
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .ops = (uintptr_t)&op, .nr_ops = 1,
					  .cqes = (uintptr_t)&cqe, .patience_ms = 1000);
	struct ds_ioc_ring_create ring = DS_ARG(ds_ioc_ring_create, .entries = 8);
	int fd = ds_open();

	EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_SUBMIT, &arg));
	ASSERT_OK(ds_ioctl(fd, DS_IOC_RING_CREATE, &ring));
	EXPECT_OK(ds_ioctl(fd, DS_IOC_SUBMIT, &arg));
	EXPECT_EQ(-EBADF, cqe.status);
	EXPECT_EQ(0, ds_poll(fd, 0));
	arg.cqes = 0;
	arg.flags = DS_SUBMIT_ASYNC;
	EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_SUBMIT, &arg));
}

TEST(what_takes_longer_ends_in_the_ring_and_each_once)
{
	struct reads r;
	bool seen[READS] = { false };
	uint32_t count;

	make_reads(&r, 64);
	count = submit_until_under_way(&r);
	ASSERT(count > 0);
	wait_for(&r, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct ds_cqe *cqe = &r.ring->cqes[(r.ring->head + i) % r.entries];
		uint32_t op = cqe->user_data - 1000;

		ASSERT(op < READS);
		EXPECT_EQ(0, cqe->status);
		EXPECT_EQ(READ_BYTES, cqe->length);
		EXPECT_EQ(-EINPROGRESS, r.cqes[op].status);
		EXPECT(!seen[op]);
		seen[op] = true;
	}
	ds_sleep_ms(50);
	EXPECT_EQ(count, completions(&r));
}

TEST(without_room_in_the_ring_all_are_waited_for)
{
	struct reads r;

	make_reads(&r, 2);
	r.ring->head = 0xfffffffe;	/* full, as if two had not been consumed */
	ASSERT_OK(ds_ioctl(r.fd, DS_IOC_SUBMIT, &r.arg));
	EXPECT_EQ(0, under_way(&r));
	EXPECT_EQ(0, __atomic_load_n(&r.ring->tail, __ATOMIC_ACQUIRE));
	async_until_full(&r);
}

/* So much as that may be taken, and is given back. */
TEST(nothing_stays_reserved_in_a_ring_that_is_too_small)
{
	struct reads r;

	for (int i = 0; i < 5; i++) {
		make_reads(&r, 2);
		ASSERT_OK(ds_ioctl(r.fd, DS_IOC_SUBMIT, &r.arg));
		wait_for(&r, under_way(&r));	/* two or one may have fitted */
		async_until_full(&r);
	}
}

TEST(the_time_limit_may_be_as_short)
{
	struct reads r;
	uint32_t count;

	make_reads(&r, 64);
	r.arg.timeout_ms = PATIENCE_MS;
	count = submit_until_under_way(&r);
	ASSERT(count > 0);
	wait_for(&r, count);

	r.ring->head = r.ring->tail;
	r.arg.patience_ms = 2 * PATIENCE_MS;	/* a longer one has no meaning */
	count = 0;
	for (int tries = 0; !count && tries < TRIES; tries++) {
		ASSERT_OK(ds_ioctl(r.fd, DS_IOC_SUBMIT, &r.arg));
		count = unknown(&r);
	}
	EXPECT(count > 0);
	ds_sleep_ms(500);
	EXPECT_EQ(0, completions(&r));
}

struct maker {
	int fd;
	volatile bool over;
};

/* Makes rings that it cannot be told of, so that each is taken back. */
static void *make_in_vain(void *p)
{
	struct maker *m = p;
	struct ds_ioc_ring_create *arg;

	arg = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(arg != MAP_FAILED);
	*arg = DS_ARG(ds_ioc_ring_create, .entries = 64);
	ASSERT_OK(mprotect(arg, PAGE, PROT_READ));
	while (!m->over)
		EXPECT_ERR(EFAULT, ds_ioctl(m->fd, DS_IOC_RING_CREATE, arg));
	munmap(arg, PAGE);
	return NULL;
}

TEST(the_ring_may_be_taken_back_meanwhile)
{
	uint64_t end = ds_now_ms() + 10000u * ds_test_slow();
	struct maker m = { 0 };
	pthread_t thread;
	struct reads r;
	int found = 0;

	make_reads_without_ring(&r);
	m.fd = r.fd;
	ASSERT(!pthread_create(&thread, NULL, make_in_vain, &m));
	while (found < TAKEN_BACK && ds_now_ms() < end) {
		r.arg.patience_ms = PATIENCE_MS;
		if (ds_ioctl(r.fd, DS_IOC_SUBMIT, &r.arg)) {
			EXPECT_EQ(EINVAL, errno);	/* there was none just then */
			continue;
		}
		found++;
		r.arg.patience_ms = 0;
		ASSERT_OK(ds_ioctl(r.fd, DS_IOC_SUBMIT, &r.arg));
	}
	m.over = true;
	ASSERT(!pthread_join(thread, NULL));
	printf("# a ring was there %d times\n", found);
	EXPECT(found > 0);
}

TEST(the_file_may_be_closed_meanwhile)
{
	struct reads r;

	for (int i = 0; i < 5; i++) {
		make_reads(&r, 64);
		ASSERT_OK(ds_ioctl(r.fd, DS_IOC_SUBMIT, &r.arg));
		close(r.fd);
		munmap(r.ring, PAGE);
	}
	/* What is under way holds up nobody who comes after this test. */
	make_reads(&r, 64);
	r.arg.patience_ms = 0;
	ASSERT_OK(ds_ioctl(r.fd, DS_IOC_SUBMIT, &r.arg));
	EXPECT_EQ(0, r.cqes[READS - 1].status);
}

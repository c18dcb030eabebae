// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: completions that come while another caller polls the same queue pair. The
 * module drops the event of a completion while somebody polls, so each of these
 * would hang if it dropped one too many. Nothing else goes on in a round: no
 * later completion can hide that one was overlooked.
 */
#include "ds_test.h"

#define ROUNDS		200
#define LANE		1	/* all share one queue pair */
#define LONG_BYTES	(64 * 1024u)
#define PATIENCE_MS	10000

struct caller {
	int fd;
	uint32_t space, buf;
	uint64_t addr;
	pthread_barrier_t *round;
};

static struct caller caller_open(void)
{
	struct caller c = { .fd = ds_open() };
	struct ds_ioc_space_open space = ds_open_space(c.fd, DS_ACCESS_READ);

	c.space = space.out_handle;
	c.addr = space.out_base;
	c.buf = ds_make_buf(c.fd, LONG_BYTES, NULL);
	return c;
}

static struct ds_op read_op(const struct caller *c, uint32_t length)
{
	return (struct ds_op){ .opcode = DS_OP_READ, .lane = LANE, .space = c->space,
			       .addr = c->addr, .length = length, .buf = c->buf };
}

/* A synchronous READ, for whose completion the kernel polls. */
static void read_now(const struct caller *c, uint32_t length)
{
	struct ds_op op = read_op(c, length);
	struct ds_cqe cqe = { .status = 1 };
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .ops = (uintptr_t)&op, .nr_ops = 1,
					  .cqes = (uintptr_t)&cqe, .timeout_ms = PATIENCE_MS);

	EXPECT_OK(ds_ioctl(c->fd, DS_IOC_SUBMIT, &arg));
	EXPECT_EQ(0, cqe.status);
}

/* An asynchronous READ, and what poll(2) and the ring say of it. */
static void read_by_ring(const struct caller *c, struct ds_ring *ring)
{
	struct ds_op op = read_op(c, 64);
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .flags = DS_SUBMIT_ASYNC,
					  .ops = (uintptr_t)&op, .nr_ops = 1);

	ASSERT_OK(ds_ioctl(c->fd, DS_IOC_SUBMIT, &arg));
	ASSERT(ds_poll(c->fd, PATIENCE_MS) & POLLIN);
	EXPECT_EQ(0, ring->cqes[ring->head & (ring->entries - 1)].status);
	__atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
}

static void *reader(void *arg)
{
	const struct caller *c = arg;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(c->round);
		read_now(c, i % 2 ? LONG_BYTES : 64);
	}
	return NULL;
}

/* The asynchronous READ is posted before, during and after the polling of the other. */
TEST(a_completion_is_noticed_though_another_caller_polls)
{
	struct caller poller = caller_open(), c = caller_open();
	struct ds_ioc_ring_create ring_arg = DS_ARG(ds_ioc_ring_create, .entries = 4);
	pthread_barrier_t round;
	struct ds_ring *ring;
	pthread_t thread;

	ASSERT_OK(ds_ioctl(c.fd, DS_IOC_RING_CREATE, &ring_arg));
	ring = ds_map(c.fd, ring_arg.out_mmap_length, ring_arg.out_mmap_offset);
	pthread_barrier_init(&round, NULL, 2);
	poller.round = &round;
	ASSERT(!pthread_create(&thread, NULL, reader, &poller));
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&round);
		usleep(i * 37 % 2000);
		read_by_ring(&c, ring);
	}
	pthread_join(thread, NULL);
}

TEST(two_callers_poll_for_each_other)
{
	struct caller a = caller_open(), b = caller_open();
	pthread_barrier_t round;
	pthread_t thread;

	pthread_barrier_init(&round, NULL, 2);
	a.round = &round;
	b.round = &round;
	ASSERT(!pthread_create(&thread, NULL, reader, &a));
	reader(&b);
	pthread_join(thread, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the completion ring and asynchronous submits. The operations name a
 * handle that does not exist: they need no space and still complete.
 */
#include <sys/epoll.h>

#include "ds_test.h"

#define RING_AT	0	/* offset for mmap(2) */

static int ring_create(int fd, uint32_t entries, struct ds_ioc_ring_create *arg)
{
	struct ds_ioc_ring_create own;

	arg = arg ?: &own;
	*arg = DS_ARG(ds_ioc_ring_create, .entries = entries);
	return ds_ioctl(fd, DS_IOC_RING_CREATE, arg);
}

static struct ds_ring *ring_map(int fd, uint32_t entries)
{
	struct ds_ioc_ring_create arg;

	ASSERT_OK(ring_create(fd, entries, &arg));
	EXPECT_EQ(RING_AT, arg.out_mmap_offset);
	EXPECT(arg.out_mmap_length >= sizeof(struct ds_ring) + entries * sizeof(struct ds_cqe));
	EXPECT_EQ(0, arg.out_mmap_length % PAGE);
	return ds_map(fd, arg.out_mmap_length, arg.out_mmap_offset);
}

static uint32_t tail(struct ds_ring *ring)
{
	return __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
}

static void consume(struct ds_ring *ring, uint32_t count)
{
	__atomic_store_n(&ring->head, ring->head + count, __ATOMIC_RELEASE);
}

/* Submit @count operations numbered from @first, in chains of @chain; *@accepted of them. */
static int submit(int fd, uint32_t first, uint32_t count, uint32_t chain, uint32_t *accepted)
{
	static _Thread_local struct ds_op ops[1024];
	struct ds_ioc_submit arg = DS_ARG(ds_ioc_submit, .flags = DS_SUBMIT_ASYNC,
					  .ops = (uintptr_t)ops, .nr_ops = count);
	int rc;

	for (uint32_t i = 0; i < count; i++)
		ops[i] = (struct ds_op){ .opcode = DS_OP_CAS, .length = 8, .user_data = first + i,
					 .flags = (i + 1) % chain && i + 1 < count ? DS_OP_CHAIN : 0 };
	arg.out_accepted = ~0u;
	rc = ds_ioctl(fd, DS_IOC_SUBMIT, &arg);
	if (accepted)
		*accepted = arg.out_accepted;
	return rc;
}

TEST(sizes_that_are_refused)
{
	static const uint32_t wrong[] = { 0, 3, 5, 6, 7, 65535, 65537, 131072, 1u << 31, ~0u };
	int fd = ds_open();

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		EXPECT_ERR(EINVAL, ring_create(fd, wrong[i], NULL));
	EXPECT_OK(ring_create(fd, 65536, NULL));
}

TEST(a_file_has_one_ring)
{
	int fd = ds_open();

	EXPECT_OK(ring_create(fd, 1, NULL));
	EXPECT_ERR(EEXIST, ring_create(fd, 1, NULL));
	EXPECT_ERR(EEXIST, ring_create(fd, 64, NULL));
	EXPECT_OK(ring_create(ds_open(), 64, NULL));
}

TEST(mmap_wants_exactly_the_ring)
{
	const int rw = PROT_READ | PROT_WRITE;
	struct ds_ioc_ring_create arg;
	int fd = ds_open();

	EXPECT(mmap(NULL, PAGE, rw, MAP_SHARED, fd, RING_AT) == MAP_FAILED && errno == EINVAL);
	ASSERT_OK(ring_create(fd, 1024, &arg));
	EXPECT(mmap(NULL, arg.out_mmap_length - PAGE, rw, MAP_SHARED, fd, RING_AT) == MAP_FAILED &&
	       errno == EINVAL);
	EXPECT(mmap(NULL, arg.out_mmap_length + PAGE, rw, MAP_SHARED, fd, RING_AT) == MAP_FAILED &&
	       errno == EINVAL);
	EXPECT(mmap(NULL, arg.out_mmap_length, rw, MAP_PRIVATE, fd, RING_AT) == MAP_FAILED &&
	       errno == EINVAL);
	EXPECT(mmap(NULL, arg.out_mmap_length, rw, MAP_SHARED, fd, PAGE) == MAP_FAILED &&
	       errno == EBADF);
	EXPECT(mmap(NULL, arg.out_mmap_length, rw | PROT_EXEC, MAP_SHARED, fd, RING_AT) ==
	       MAP_FAILED && errno == EACCES);
	EXPECT(mmap(NULL, arg.out_mmap_length, rw, MAP_SHARED, fd, RING_AT) != MAP_FAILED);
}

TEST(a_new_ring_is_empty)
{
	int fd = ds_open();
	struct ds_ring *ring = ring_map(fd, 64);
	const uint8_t *p = (void *)ring;

	EXPECT_EQ(64, ring->entries);
	for (size_t i = 0; i < sizeof(*ring) + 64 * sizeof(struct ds_cqe); i++)
		if (i / 4 != offsetof(struct ds_ring, entries) / 4)
			EXPECT_EQ(0, p[i]);
	EXPECT_EQ(0, ds_poll(fd, 0));
	EXPECT_EQ(0, ds_poll(fd, 50));
}

TEST(submit_needs_a_ring)
{
	int fd = ds_open();

	EXPECT_ERR(EINVAL, submit(fd, 0, 1, 1, NULL));
	EXPECT_EQ(0, ds_poll(fd, 0));
	EXPECT_OK(ring_create(fd, 1, NULL));
	EXPECT_OK(submit(fd, 0, 1, 1, NULL));
}

TEST(a_completion_says_what_happened)
{
	int fd = ds_open();
	struct ds_ring *ring = ring_map(fd, 4);
	uint32_t accepted;

	ASSERT_OK(submit(fd, 77, 1, 1, &accepted));
	EXPECT_EQ(1, accepted);
	EXPECT_EQ(1, tail(ring));
	EXPECT_EQ(77, ring->cqes[0].user_data);
	EXPECT_EQ(-EBADF, ring->cqes[0].status);
	EXPECT_EQ(DS_NOT_EXECUTED, ring->cqes[0].outcome);
	EXPECT_EQ(0, ring->cqes[0].node);
	EXPECT_EQ(0, ring->cqes[0].length);
	EXPECT_EQ(POLLIN, ds_poll(fd, 0));
	EXPECT_EQ(POLLIN, ds_poll(fd, 0));
	consume(ring, 1);
	EXPECT_EQ(0, ds_poll(fd, 0));
}

TEST(a_full_ring_takes_nothing)
{
	int fd = ds_open();
	struct ds_ring *ring = ring_map(fd, 4);
	uint32_t accepted;

	EXPECT_OK(submit(fd, 0, 6, 1, &accepted));
	EXPECT_EQ(4, accepted);
	EXPECT_EQ(4, tail(ring));
	EXPECT_ERR(EAGAIN, submit(fd, 4, 2, 1, &accepted));
	EXPECT_EQ(0, accepted);
	EXPECT_EQ(4, tail(ring));
	consume(ring, 1);
	EXPECT_OK(submit(fd, 4, 2, 1, &accepted));
	EXPECT_EQ(1, accepted);
	EXPECT_EQ(5, tail(ring));
	EXPECT_EQ(4, ring->cqes[0].user_data);
	consume(ring, 4);
	EXPECT_OK(submit(fd, 5, 4, 1, &accepted));
	EXPECT_EQ(4, accepted);
}

TEST(chains_are_taken_whole)
{
	int fd = ds_open();
	struct ds_ring *ring = ring_map(fd, 8);
	uint32_t accepted;

	EXPECT_OK(submit(fd, 0, 9, 3, &accepted));
	EXPECT_EQ(6, accepted);
	EXPECT_EQ(6, tail(ring));
	EXPECT_ERR(EAGAIN, submit(fd, 6, 3, 3, &accepted));
	EXPECT_EQ(0, accepted);
	EXPECT_EQ(6, tail(ring));
	/* One that the whole ring could not hold will never be taken. */
	EXPECT_ERR(E2BIG, submit(fd, 0, 9, 9, &accepted));
	EXPECT_EQ(0, accepted);
	/* The rest of a chain does not happen after a failure. */
	EXPECT_EQ(-EBADF, ring->cqes[0].status);
	EXPECT_EQ(DS_NOT_EXECUTED, ring->cqes[1].outcome);
	EXPECT(ring->cqes[1].status < 0);
}

TEST(a_head_that_makes_no_sense_is_a_full_ring)
{
	static const uint32_t garbage[] = { 1, 5, 1000, 0x7fffffff, 0x80000000, 0xfffffff8 };
	int fd = ds_open();
	struct ds_ring *ring = ring_map(fd, 4);

	for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
		__atomic_store_n(&ring->head, tail(ring) + garbage[i], __ATOMIC_RELEASE);
		EXPECT_ERR(EAGAIN, submit(fd, 0, 1, 1, NULL));
		EXPECT_EQ(POLLIN, ds_poll(fd, 0));
		__atomic_store_n(&ring->head, tail(ring), __ATOMIC_RELEASE);
		EXPECT_OK(submit(fd, i, 1, 1, NULL));
		EXPECT_EQ(i, ring->cqes[i & 3].user_data);
		EXPECT_EQ(i + 1, tail(ring));
		consume(ring, 1);
	}
}

TEST(the_kernel_does_not_believe_its_own_fields)
{
	int fd = ds_open();
	struct ds_ring *ring = ring_map(fd, 4);
	uint32_t accepted;

	ring->tail = 12345;
	ring->entries = 1u << 30;
	EXPECT_OK(submit(fd, 1, 6, 1, &accepted));
	EXPECT_EQ(4, accepted);
	EXPECT_EQ(4, tail(ring));
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(1 + i, ring->cqes[i].user_data);
	memset(ring, 0xff, sizeof(*ring));
	EXPECT_ERR(EAGAIN, submit(fd, 1, 1, 1, NULL));
	__atomic_store_n(&ring->head, 4, __ATOMIC_RELEASE);
	EXPECT_OK(submit(fd, 9, 1, 1, NULL));
	EXPECT_EQ(5, tail(ring));
	EXPECT_EQ(9, ring->cqes[0].user_data);
}

TEST(completions_keep_their_order_and_number)
{
	enum { TIMES = 20000 };
	int fd = ds_open();
	struct ds_ring *ring = ring_map(fd, 8);
	uint32_t sent = 0, seen = 0, accepted;

	while (seen < TIMES) {
		if (submit(fd, sent, 1 + sent % 11, 1, &accepted))
			EXPECT_EQ(EAGAIN, errno);
		else
			sent += accepted;
		while (ring->head != tail(ring)) {
			if (!EXPECT_EQ(seen, ring->cqes[ring->head & 7].user_data))
				return;
			seen++;
			consume(ring, 1);
		}
	}
	EXPECT_EQ(sent, seen);
}

static void *submit_later(void *p)
{
	ds_sleep_ms(100);
	EXPECT_OK(submit(*(int *)p, 1, 1, 1, NULL));
	return NULL;
}

TEST(poll_wakes_up)
{
	int fd = ds_open();
	pthread_t thread;
	struct ds_ring *ring;
	uint64_t start;

	ring = ring_map(fd, 4);
	for (int i = 0; i < 3; i++) {
		start = ds_now_ms();
		ASSERT(!pthread_create(&thread, NULL, submit_later, &fd));
		EXPECT_EQ(POLLIN, ds_poll(fd, 10000));
		EXPECT(ds_now_ms() - start < 5000);
		pthread_join(thread, NULL);
		consume(ring, 1);
	}
}

static void *create_later(void *p)
{
	ds_sleep_ms(100);
	EXPECT_OK(ring_create(*(int *)p, 4, NULL));
	return submit_later(p);
}

TEST(poll_may_come_before_the_ring)
{
	int fd = ds_open();
	pthread_t thread;

	ASSERT(!pthread_create(&thread, NULL, create_later, &fd));
	EXPECT_EQ(POLLIN, ds_poll(fd, 10000));
	pthread_join(thread, NULL);
}

TEST(epoll_sees_each_completion)
{
	int fd = ds_open(), epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	struct ds_ring *ring = ring_map(fd, 4);

	ASSERT(epoll >= 0);
	ASSERT_OK(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	EXPECT_EQ(0, epoll_wait(epoll, &event, 1, 0));
	for (int i = 0; i < 3; i++) {
		EXPECT_OK(submit(fd, i, 1, 1, NULL));
		EXPECT_EQ(1, epoll_wait(epoll, &event, 1, 1000));
		EXPECT_EQ(0, epoll_wait(epoll, &event, 1, 0));
	}
	EXPECT_EQ(3, tail(ring));
	close(fd);
	EXPECT_EQ(0, epoll_wait(epoll, &event, 1, 0));
}

struct race {
	int fd;
	uint32_t accepted;
	bool done;
};

static void *race_submit(void *p)
{
	struct race *race = p;
	uint32_t accepted;

	while (race->accepted < 3000)
		if (!submit(race->fd, 0, 5, 2, &accepted))
			race->accepted += accepted;
		else if (!EXPECT_EQ(EAGAIN, errno))
			break;
	__atomic_store_n(&race->done, true, __ATOMIC_RELEASE);
	return NULL;
}

TEST(many_submitters_never_lose_a_completion)
{
	int fd = ds_open();
	struct ds_ring *ring = ring_map(fd, 32);
	struct race races[3] = {};
	pthread_t threads[3];
	uint32_t accepted = 0;
	size_t done = 0;

	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		races[i].fd = fd;
		ASSERT(!pthread_create(&threads[i], NULL, race_submit, &races[i]));
	}
	while (done < ARRAY_LEN(threads)) {
		done = 0;
		for (size_t i = 0; i < ARRAY_LEN(threads); i++)
			done += __atomic_load_n(&races[i].done, __ATOMIC_ACQUIRE);
		EXPECT(tail(ring) - ring->head <= 32);
		__atomic_store_n(&ring->head, tail(ring), __ATOMIC_RELEASE);
	}
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		pthread_join(threads[i], NULL);
		accepted += races[i].accepted;
	}
	EXPECT_EQ(accepted, tail(ring));
	printf("# %u operations\n", accepted);
}

TEST(a_mapped_ring_outlives_its_file)
{
	int fd = ds_open();
	struct ds_ring *ring = ring_map(fd, 4);

	EXPECT_OK(submit(fd, 5, 1, 1, NULL));
	close(fd);
	EXPECT_EQ(1, tail(ring));
	EXPECT_EQ(5, ring->cqes[0].user_data);
	munmap(ring, PAGE);
}

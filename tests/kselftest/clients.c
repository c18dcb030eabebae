// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: DS_IOC_ENROLL and DS_IOC_FENCE: clients that live, are fenced, and go.
 * DS_TEST_SPACE is as in submit.c. DS_TEST_SPACE_OF_TWO has two servers, on different
 * hosts. What hosts do that hang or are cut off is tested in tests/e2e (fence).
 */
#include "ds_test.h"
#include "ds_submit.h"
#include "ds_failpoint.h"

#define TOKEN_MAX	(1ull << 48)

static uint64_t enroll(const struct setup *s)
{
	struct ds_ioc_enroll arg = DS_ARG(ds_ioc_enroll, .space = s->space.out_handle);

	ASSERT_OK(ds_ioctl(s->fd, DS_IOC_ENROLL, &arg));
	EXPECT(arg.out_token && arg.out_token < TOKEN_MAX);
	return arg.out_token;
}

static int withdraw(const struct setup *s)
{
	struct ds_ioc_enroll arg = DS_ARG(ds_ioc_enroll, .flags = DS_ENROLL_WITHDRAW,
					  .space = s->space.out_handle);

	return ds_ioctl(s->fd, DS_IOC_ENROLL, &arg);
}

static int fence(const struct setup *s, uint64_t token, uint32_t flags)
{
	struct ds_ioc_fence arg = DS_ARG(ds_ioc_fence, .flags = flags, .token = token,
					 .space = s->space.out_handle, .node = ds_own_node(s->fd));

	return ds_ioctl(s->fd, DS_IOC_FENCE, &arg);
}

#define READ_8(s)	RW(s, DS_OP_READ, .addr = (s).space.out_base, .length = 8)
#define EXPECT_ENDED(s)	EXPECT_REFUSED(ESHUTDOWN, (s).fd, READ_8(s))
#define EXPECT_RUNS(s)	EXPECT_EQ(0, run((s).fd, (struct ds_op){ READ_8(s) }).status)

TEST(a_handle_is_enrolled_once)
{
	struct setup s = set_up(DS_ACCESS_ALL), other = set_up(DS_ACCESS_ALL);
	struct ds_ioc_enroll arg = DS_ARG(ds_ioc_enroll, .space = s.space.out_handle,
					  .timeout_ms = 1);
	uint64_t token, again;

	EXPECT_ERR(EINVAL, ds_ioctl(s.fd, DS_IOC_ENROLL, &arg));
	EXPECT_ERR(ENOENT, withdraw(&s));
	token = enroll(&s);
	arg.timeout_ms = 0;
	EXPECT_ERR(EBUSY, ds_ioctl(s.fd, DS_IOC_ENROLL, &arg));
	EXPECT(enroll(&other) != token);
	EXPECT_RUNS(s);
	EXPECT_OK(withdraw(&s));
	EXPECT_ERR(ENOENT, withdraw(&s));
	EXPECT_RUNS(s);
	again = enroll(&s);
	EXPECT(again != token);
	EXPECT_RUNS(other);
}

TEST(a_fence_names_a_client)
{
	struct setup s = set_up(DS_ACCESS_ALL), reader = set_up(DS_ACCESS_READ);
	struct ds_ioc_fence arg = DS_ARG(ds_ioc_fence, .space = s.space.out_handle);

	EXPECT_ERR(EINVAL, ds_ioctl(s.fd, DS_IOC_FENCE, &arg));
	arg.node = 1;
	EXPECT_ERR(EINVAL, ds_ioctl(s.fd, DS_IOC_FENCE, &arg));
	arg.token = TOKEN_MAX;
	EXPECT_ERR(EINVAL, ds_ioctl(s.fd, DS_IOC_FENCE, &arg));
	arg.token = 1;
	arg.node = 65536;
	EXPECT_ERR(EINVAL, ds_ioctl(s.fd, DS_IOC_FENCE, &arg));
	EXPECT_ERR(EACCES, fence(&reader, 1, 0));
	/* One that never was does nothing. */
	EXPECT_OK(fence(&s, TOKEN_MAX - 1, 0));
	EXPECT_OK(fence(&s, TOKEN_MAX - 1, DS_FENCE_IF_GONE));
}

TEST(whoever_is_fenced_does_nothing_more)
{
	struct setup s = set_up(DS_ACCESS_ALL), victim = set_up(DS_ACCESS_ALL);
	struct ds_op add = { .opcode = DS_OP_FETCH_ADD, .space = victim.space.out_handle,
			     .addr = victim.space.out_base + 64, .length = 8, .compare_add = 1 };
	uint64_t token = enroll(&victim), before;

	EXPECT_ERR(EBUSY, fence(&s, token, DS_FENCE_IF_GONE));
	before = run(victim.fd, add).value;
	EXPECT_OK(fence(&s, token, 0));
	EXPECT_OK(fence(&s, token, 0));
	EXPECT_OK(fence(&s, token, DS_FENCE_IF_GONE));
	EXPECT_ENDED(victim);
	EXPECT_EQ(-ESHUTDOWN, run(victim.fd, add).status);
	add.space = s.space.out_handle;
	EXPECT_EQ(before + 1, run(s.fd, add).value);

	/* Another handle is another client; and it may begin anew. */
	EXPECT_RUNS(s);
	EXPECT_OK(withdraw(&victim));
	EXPECT_RUNS(victim);
	EXPECT(enroll(&victim) != token);
	EXPECT_OK(fence(&s, token, 0));
	EXPECT_RUNS(victim);
}

#define CROWD		300	/* files of somebody who enrolls as often as he may */
#define ENROLLED	1024	/* handles of each */
#define FENCES		50
#define ROUNDS		10

/* Of a client that never was. The shortest of some: the machine may be busy with other things. */
static unsigned long long us_of_a_fence(const struct setup *s)
{
	uint64_t start, us, least = ~0ull;

	for (int i = 0; i < FENCES; i++) {
		start = ds_now_us();
		EXPECT_OK(fence(s, TOKEN_MAX - 1, 0));
		us = ds_now_us() - start;
		if (us < least)
			least = us;
	}
	return least;
}

TEST(many_clients_of_somebody_else_slow_no_fence)
{
	struct setup s = set_up(DS_ACCESS_ALL), other;
	unsigned long long before = us_of_a_fence(&s), with = ~0ull, most = 2 * before + 3000;

	for (unsigned int i = 0; i < CROWD / ds_test_slow(); i++) {
		other.fd = ds_open();
		for (int j = 0; j < ENROLLED; j++) {
			other.space = ds_open_space(other.fd, DS_ACCESS_ALL);
			enroll(&other);
		}
	}
	/* Who goes through all of them is slow in each round; a busy machine is not for so long. */
	for (int i = 0; with >= most && i < ROUNDS; i++)
		with = us_of_a_fence(&s);
	printf("# %llu us, with many clients %llu\n", before, with);
	EXPECT(with < most);
}

TEST(one_may_fence_oneself)
{
	struct setup s = set_up(DS_ACCESS_ALL);

	EXPECT_OK(fence(&s, enroll(&s), 0));
	EXPECT_ENDED(s);
}

TEST(a_client_goes_with_its_handle)
{
	struct setup s = set_up(DS_ACCESS_ALL), other = set_up(DS_ACCESS_ALL);
	struct ds_ioc_close arg = DS_ARG(ds_ioc_close, .type = DS_HANDLE_SPACE,
					 .handle = other.space.out_handle);
	uint64_t token = enroll(&other);

	EXPECT_ERR(EBUSY, fence(&s, token, DS_FENCE_IF_GONE));
	EXPECT_OK(ds_ioctl(other.fd, DS_IOC_CLOSE, &arg));
	EXPECT_OK(fence(&s, token, DS_FENCE_IF_GONE));

	other.space = ds_open_space(other.fd, DS_ACCESS_ALL);
	token = enroll(&other);
	EXPECT_ERR(EBUSY, fence(&s, token, DS_FENCE_IF_GONE));
	munmap(other.map, BUF_LENGTH);	/* it keeps the file open, too */
	close(other.fd);
	EXPECT_OK(fence(&s, token, DS_FENCE_IF_GONE));
}

/* A chain is one client's. */
TEST(chains_do_not_mix_clients)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_ioc_space_open second = ds_open_space(s.fd, DS_ACCESS_ALL);
	struct ds_op ops[2] = { { READ_8(s) }, { READ_8(s) } };
	struct ds_cqe cqes[2];

	ops[0].flags = DS_OP_CHAIN;
	ops[1].space = second.out_handle;
	ASSERT_OK(submit(s.fd, ops, 2, cqes));
	EXPECT_EQ(0, cqes[1].status);
	enroll(&s);
	ASSERT_OK(submit(s.fd, ops, 2, cqes));
	EXPECT_EQ(-EXDEV, cqes[1].status);
	/* As chains of their own they go together. */
	ops[0].flags = 0;
	ASSERT_OK(submit(s.fd, ops, 2, cqes));
	EXPECT_EQ(0, cqes[0].status);
	EXPECT_EQ(0, cqes[1].status);
}

struct worker {
	struct setup	s;
	uint64_t	done;
};

/* Adds to a word until it is refused; counts what it was told of. */
static void *add_until_refused(void *p)
{
	struct worker *w = p;
	struct ds_op add = { .opcode = DS_OP_FETCH_ADD, .space = w->s.space.out_handle,
			     .addr = w->s.space.out_base + 128, .length = 8, .compare_add = 1 };
	struct ds_op ops[16];
	struct ds_cqe cqes[16];

	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		ops[i] = add;
	for (;;) {
		ASSERT_OK(submit(w->s.fd, ops, ARRAY_LEN(ops), cqes));
		for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
			if (cqes[i].status == -ESHUTDOWN) {
				EXPECT_EQ(DS_NOT_EXECUTED, cqes[i].outcome);
				return NULL;
			}
			EXPECT_EQ(0, cqes[i].status);
			w->done++;
		}
	}
}

/* While it works, again and again: what it has done by then is all that it does. */
TEST(a_fence_is_final)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	struct ds_op look = { .opcode = DS_OP_FETCH_ADD, .space = s.space.out_handle,
			      .addr = s.space.out_base + 128, .length = 8 };

	for (int round = 0; round < 20; round++) {
		struct worker w = { .s = set_up(DS_ACCESS_ALL) };
		uint64_t token = enroll(&w.s), before = run(s.fd, look).value, after;
		pthread_t thread;

		ASSERT(!pthread_create(&thread, NULL, add_until_refused, &w));
		usleep(1000 * (round % 7));
		EXPECT_OK(fence(&s, token, 0));
		after = run(s.fd, look).value;
		ASSERT(!pthread_join(thread, NULL));
		EXPECT_EQ(after, run(s.fd, look).value);
		EXPECT_EQ(before + w.done, after);
		close(w.s.fd);
	}
}

struct fencer {
	struct setup	s;
	uint64_t	token;
	volatile bool	done;
};

static void *fence_it(void *p)
{
	struct fencer *f = p;

	EXPECT_OK(fence(&f->s, f->token, 0));
	return NULL;
}

static void *read_once(void *p)
{
	struct setup *s = p;

	EXPECT_EQ(0, run(s->fd, (struct ds_op){ READ_8(*s) }).status);
	return NULL;
}

/*
 * Holds a READ of the client in the module for @ms, fences the client meanwhile, and
 * lets it read until it is refused. Return whether that was before the first READ ended.
 */
static bool refused_while_it_waits(int failpoint, unsigned int ms)
{
	struct setup victim = set_up(DS_ACCESS_ALL);
	struct fencer f = { .s = set_up(DS_ACCESS_ALL), .token = enroll(&victim) };
	pthread_t reading, fencing;
	unsigned long before;
	uint64_t start = ds_now_ms();
	char text[32];
	bool early;

	failpoint_get(failpoint, &before);
	snprintf(text, sizeof(text), "delay %u 1", ms);
	ASSERT_OK(failpoint_set(failpoint, text));
	ASSERT(!pthread_create(&reading, NULL, read_once, &victim));
	failpoint_wait(failpoint, before);
	ASSERT(!pthread_create(&fencing, NULL, fence_it, &f));
	while (run(victim.fd, (struct ds_op){ READ_8(victim) }).status != -ESHUTDOWN)
		;
	early = ds_now_ms() - start < ms / 2;
	ASSERT(!pthread_join(reading, NULL));
	ASSERT(!pthread_join(fencing, NULL));
	close(victim.fd);
	close(f.s.fd);
	return early;
}

/* Or a client with always something under way could not be fenced at all. */
TEST(who_begins_while_a_fence_waits_is_refused)
{
	int failpoint = failpoint_open("request_post");
	bool refused = false;

	/* On a machine that stands still for long the first READ may be over by then. */
	for (unsigned int ms = 500; !refused && ms <= 4000; ms += 500)
		refused = refused_while_it_waits(failpoint, ms);
	EXPECT(refused);
	ASSERT_OK(failpoint_set(failpoint, "off"));
}

#define FENCERS	8

struct reader {
	struct setup	s;
	uint64_t	addr;
	volatile bool	done;
	pthread_t	thread;
};

static void *read_there(void *p)
{
	struct reader *r = p;

	EXPECT_EQ(0, RUN_RW(r->s, DS_OP_READ, .addr = r->addr, .length = 8).status);
	r->done = true;
	return NULL;
}

/* Holds the READ in the module. */
static void hold(struct reader *r, int failpoint, const char *delay)
{
	unsigned long before;

	failpoint_get(failpoint, &before);
	ASSERT_OK(failpoint_set(failpoint, delay));
	r->done = false;
	ASSERT(!pthread_create(&r->thread, NULL, read_there, r));
	failpoint_wait(failpoint, before);
}

static void *fence_in_vain(void *p)
{
	struct fencer *f = p;

	EXPECT(fence(&f->s, f->token, 0));
	f->done = true;
	return NULL;
}

static uint64_t ms_until(const struct setup *s, bool works)
{
	uint64_t start = ds_now_ms();

	while (works != !RUN_RW(*s, DS_OP_READ, .addr = s->space.out_base, .length = 8).status)
		usleep(10000);
	return ds_now_ms() - start;
}

/* DS_TEST_SPACE is the space with two servers from here on. */
static void use_space_of_two(void)
{
	const char *two = getenv("DS_TEST_SPACE_OF_TWO");

	if (!two)
		SKIP("DS_TEST_SPACE_OF_TWO is not set");
	setenv("DS_TEST_SPACE", two, true);
}

static uint64_t at_second_server(const struct setup *s)
{
	return s->space.out_base + (1ull << s->space.out_server_shift);
}

#define SOON_MS	900	/* the host is waited for 1500, of which 300 are over */

/* Is a client fenced while this host is waited for, as it has one that hangs? */
static bool fenced_meanwhile(int failpoint)
{
	struct setup s = set_up(DS_ACCESS_ALL), hangs = set_up(DS_ACCESS_ALL);
	struct setup other = set_up(DS_ACCESS_ALL);
	struct fencer f = { .s = s, .token = enroll(&hangs) };
	struct reader r = { .s = hangs, .addr = at_second_server(&s) };
	uint64_t token = enroll(&other);
	pthread_t thread;
	uint64_t start;
	bool meanwhile;

	hold(&r, failpoint, "delay 5000 1");
	ASSERT(!pthread_create(&thread, NULL, fence_in_vain, &f));
	ds_sleep_ms(300);
	start = ds_now_ms();
	meanwhile = !fence(&s, token, 0) && !f.done && ds_now_ms() - start < SOON_MS;
	pthread_join(thread, NULL);
	pthread_join(r.thread, NULL);
	ms_until(&s, true);	/* it was cut off, as a client of it hung */
	EXPECT_ENDED(other);
	close(s.fd);
	close(hangs.fd);
	close(other.fd);
	return meanwhile;
}

TEST(one_that_hangs_holds_up_no_other_fence)
{
	int failpoint = failpoint_open("request_post");
	bool meanwhile = false;

	use_space_of_two();
	/* On a machine that stands still the first fence may be over before the other one. */
	for (int tries = 0; !meanwhile && tries < 3; tries++)
		meanwhile = fenced_meanwhile(failpoint);
	EXPECT(meanwhile);
	ASSERT_OK(failpoint_set(failpoint, "off"));
}

/*
 * The client does not end, as it has something under way at the second server; so the
 * first one cuts its host off. That host makes a new connection when it has ended the old
 * one, and that does not wait for each fence that has been asked for over it.
 */
TEST(nobody_waits_for_fences_of_a_connection_that_has_ended)
{
	int failpoint = failpoint_open("request_post");
	struct setup s, victim;
	struct fencer f[FENCERS];
	pthread_t threads[FENCERS];
	struct reader r;

	use_space_of_two();
	s = set_up(DS_ACCESS_ALL);
	victim = set_up(DS_ACCESS_ALL);
	for (int i = 0; i < FENCERS; i++)
		f[i] = (struct fencer){ .s = s, .token = i ? f[0].token : enroll(&victim) };
	r = (struct reader){ .s = victim, .addr = at_second_server(&s) };
	hold(&r, failpoint, "delay 14000 1");
	for (int i = 0; i < FENCERS; i++)
		ASSERT(!pthread_create(&threads[i], NULL, fence_in_vain, &f[i]));
	printf("# cut off after %llu ms\n", (unsigned long long)ms_until(&s, false));
	EXPECT(ms_until(&s, true) < 6000u * ds_test_slow());
	EXPECT(!r.done);
	for (int i = 0; i < FENCERS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(r.thread, NULL);
	EXPECT_ENDED(victim);
	ASSERT_OK(failpoint_set(failpoint, "off"));
}

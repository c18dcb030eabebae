// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: DS_IOC_SUBMIT: what operations do, synchronous and asynchronous, and what
 * becomes of those that something goes away from. DS_TEST_SPACE is as in submit.c.
 */
#include "ds_test.h"
#include "ds_submit.h"

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
		ops[i] = (struct ds_op){ .opcode = DS_OP_CAS, .length = 8 };
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

// SPDX-License-Identifier: Apache-2.0
/*
 * The packet service as a whole: spaces, sessions and answers. Memory that fails, storage
 * that fails, packets too small for their answers, and random requests against a model.
 */
#include "core_test.h"

#include "rdm/buddy.c"
#include "rdm/packet1.c"
#include "rdm/packet2.c"
#include "rdm/packet_space.c"
#include "rdm/pagemap.c"
#include "rdm/segtable.c"
#include "rdm/selftest.c"
#include "rdm/serve.c"
#include "rdm/session.c"
#include "rdm/vrange.c"
#include "rdm/vspace.c"

#define POOL	(256u << 10)
#define PEER	77

static u8 pool[POOL], disk[POOL];
static int persist_error;
static bool pool_first;		/* the pool was written before the storage was */

static void pool_read(void *p, u64 offset, void *to, u32 length)
{
	assert_true(offset + length <= POOL);
	memcpy(to, (u8 *)p + offset, length);
}

static void pool_write(void *p, u64 offset, const void *from, u32 length)
{
	assert_true(offset + length <= POOL);
	memcpy((u8 *)p + offset, from, length);
}

static u64 pool_cas(void *p, u64 offset, u64 compare, u64 swap)
{
	assert_true(offset % 8 == 0 && offset + 8 <= POOL);
	return ds_cmpxchg64((u64 *)((u8 *)p + offset), compare, swap);
}

static u64 pool_fetch_add(void *p, u64 offset, u64 operand)
{
	assert_true(offset % 8 == 0 && offset + 8 <= POOL);
	return __atomic_fetch_add((u64 *)((u8 *)p + offset), operand, __ATOMIC_SEQ_CST);
}

static int pool_persist(void *p, const struct ds_vspace_run *runs, u32 count, const u8 *data)
{
	u32 i;

	for (i = 0; i < count; i++) {
		pool_first |= !memcmp((u8 *)p + runs[i].offset, data, runs[i].length);
		memcpy(disk + runs[i].offset, data, runs[i].length);
		data += runs[i].length;
	}
	return persist_error;
}

static const struct ds_packet_memory_ops with_storage = {
	pool_read, pool_write, pool_cas, pool_fetch_add, pool_persist, NULL,
};
static const struct ds_packet_memory_ops without_storage = {
	pool_read, pool_write, pool_cas, pool_fetch_add, NULL, NULL,
};

/* A pool that asks; what it was asked last, and what it says. */
static struct ds_vspace_run checked[DS_VSPACE_RUNS];
static u32 checks, checked_count, checked_access;
static int check_error;

static int pool_check(void *p, const struct ds_vspace_run *runs, u32 count, u32 access)
{
	assert_ptr_equal(p, pool);
	checks++;
	memcpy(checked, runs, count * sizeof(*runs));
	checked_count = count;
	checked_access = access;
	return check_error;
}

static const struct ds_packet_memory_ops that_asks = {
	pool_read, pool_write, pool_cas, pool_fetch_add, pool_persist, pool_check,
};

/* ---- a client ---- */

static struct ds_packet_space space;
static struct ds_packet_out out;
static u8 answer[70000];
static u32 answer_room, answers, answer_length;
static u8 request[70000];
static u64 session, seq;

static void emit(struct ds_packet_out *o, u32 length)
{
	assert_true(length <= o->room);
	answers++;
	answer_length = length;
	o->packet += length;
	o->room -= length;
}

static int make_space(u32 kind, const struct ds_packet_memory_ops *ops)
{
	struct ds_packet_space_attr attr = {
		.map = { .kind = kind, .page_shift = 12, .access = DS_ACCESS_ALL, .size = POOL,
			 .seed = 5 },
	};

	memset(pool, 0, sizeof(pool));
	seq = 0;
	answer_room = sizeof(answer);
	return ds_packet_space_init(&space, &attr, ops, pool);
}

/* Status of the last of the answers, which @r is; -1: there was none. */
static int ask(struct ds_packet *p, struct ds_packet *r)
{
	u32 size = ds_packet2_build(request, p, false, NULL);
	struct ds_packet parsed;
	u32 at = 0;
	int n;

	assert_int_equal(ds_packet2_parse(request, size, false, &parsed), size);
	out = (struct ds_packet_out){ .packet = answer, .room = answer_room, .emit = emit };
	answers = 0;
	ds_packet_serve2(&space, PEER, &parsed, &out);
	while (at < answer_room - out.room) {
		n = ds_packet2_parse(answer + at, answer_room - out.room - at, true, r);
		assert_true(n > 0);
		at += n;
	}
	return answers ? r->status : -1;
}

static int open_session(void)
{
	struct ds_packet p = { .op = DS_PACKET_OPEN, .seq = 9 }, r = { 0 };
	int status = ask(&p, &r);

	session = r.session;
	return status;
}

static int change(u8 op, u64 address, u64 length, const void *data, u32 part, u64 offset,
		  struct ds_packet *r)
{
	struct ds_packet p = { .op = op, .address = address, .length = length, .data = data,
			       .part = part, .offset = offset, .session = session, .seq = seq };

	return ask(&p, r);
}

static u64 allocate(u64 length)
{
	struct ds_packet r;

	seq++;
	assert_int_equal(change(DS_PACKET_ALLOC, 0, length, NULL, 0, 0, &r), DS_PACKET_OK);
	return r.address;
}

/* ---- tests ---- */

/* Every allocation of memory fails in turn: an error, no change, no leak. */
static void memory_that_fails(void **state)
{
	static const u8 data[2048] = { 1, 2, 3 };
	struct ds_packet r;
	int left, status = -1;
	u64 va;

	(void)state;
	for (left = 0; status != DS_PACKET_OK; left++) {
		assert_true(left < 100);
		allocs_left = left;
		if (make_space(DS_PACKET_HASH, &without_storage)) {
			ds_packet_space_exit(&space);
			assert_int_equal(allocs_held, 0);
			continue;
		}
		status = open_session();
		if (status == DS_PACKET_OK) {
			seq = 1;
			status = change(DS_PACKET_ALLOC, 0, 4096, NULL, 0, 0, &r);
			va = r.address;
		}
		if (status == DS_PACKET_OK) {
			seq = 2;
			status = change(DS_PACKET_WRITE, va, sizeof(data), data, 1024, 1024, &r);
			if (status == -1)	/* a part is not answered */
				status = change(DS_PACKET_WRITE, va, sizeof(data), data, 1024, 0,
						&r);
			if (status != DS_PACKET_OK)
				assert_int_equal(pool[0], 0);
		}
		if (status != DS_PACKET_OK)
			assert_int_equal(status, DS_PACKET_MEMORY);
		allocs_left = -1;
		ds_packet_space_exit(&space);
		assert_int_equal(allocs_held, 0);
	}
	assert_true(left > 5);
}

static void storage_that_fails_changes_nothing(void **state)
{
	struct ds_packet r;
	u64 va;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_SEGMENTS, &with_storage), 0);
	assert_int_equal(open_session(), DS_PACKET_OK);
	va = allocate(64);
	persist_error = -EIO;
	seq++;
	assert_int_equal(change(DS_PACKET_WRITE_PERSISTENT, va, 4, "data", 4, 0, &r), DS_PACKET_IO);
	assert_int_equal(pool[0], 0);

	persist_error = 0;
	seq++;
	assert_int_equal(change(DS_PACKET_WRITE_PERSISTENT, va, 4, "data", 4, 0, &r), DS_PACKET_OK);
	assert_memory_equal(pool, "data", 4);
	assert_memory_equal(disk, "data", 4);
	assert_false(pool_first);
	ds_packet_space_exit(&space);
}

static void no_storage(void **state)
{
	struct ds_packet r;
	u64 va;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_SEGMENTS, &without_storage), 0);
	assert_int_equal(open_session(), DS_PACKET_OK);
	va = allocate(64);
	seq++;
	assert_int_equal(change(DS_PACKET_WRITE_PERSISTENT, va, 4, "data", 4, 0, &r),
			 DS_PACKET_NOT_PERSISTENT);
	assert_int_equal(pool[0], 0);
	ds_packet_space_exit(&space);
}

/* What does not fit into a packet comes in several; what does not fit at all is said. */
static void answers_and_their_room(void **state)
{
	struct ds_packet p = { .op = DS_PACKET_READ, .length = 100, .part = 100 }, r;
	u64 va, i;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_HASH, &without_storage), 0);
	assert_int_equal(open_session(), DS_PACKET_OK);
	va = allocate(100);
	for (i = 0; i < 100; i++)
		pool[i] = i;
	p.address = va;

	answer_room = 80 + 100;
	assert_int_equal(ask(&p, &r), DS_PACKET_OK);
	assert_int_equal(answers, 1);
	assert_int_equal(r.part, 100);

	answer_room = 80 + 60 + 80 + 20;	/* one packet takes all the room it can */
	assert_int_equal(ask(&p, &r), DS_PACKET_OK);
	assert_int_equal(r.offset + r.part, 100);

	answer_room = 80 + 10;
	assert_int_equal(ask(&p, &r), DS_PACKET_OK);
	assert_int_equal(r.part, 10);
	p.offset = 90;
	p.part = 10;
	assert_int_equal(ask(&p, &r), DS_PACKET_OK);
	assert_int_equal(r.offset, 90);
	for (i = 0; i < 10; i++)
		assert_int_equal(r.data[i], 90 + i);

	answer_room = 80;
	assert_int_equal(ask(&p, &r), DS_PACKET_MTU);
	answer_room = 79;
	assert_int_equal(ask(&p, &r), -1);
	ds_packet_space_exit(&space);
}

static void version_1_and_its_room(void **state)
{
	struct ds_packet p = { .op = DS_PACKET_READ, .length = 65, .part = 65, .address = 0 }, r;
	u64 counter = 0, seen;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_DIRECT, &without_storage), 0);
	out = (struct ds_packet_out){ .packet = answer, .room = 86 + 128, .emit = emit };
	ds_packet_serve1(&space, &p, false, &counter, &out);
	assert_int_equal(ds_packet1_parse_reply(answer, answer_length, &r, &seen), 0);
	assert_int_equal(r.status, DS_PACKET_OK);
	assert_int_equal(seen, 1);

	out = (struct ds_packet_out){ .packet = answer, .room = 86 + 127, .emit = emit };
	ds_packet_serve1(&space, &p, false, &counter, &out);
	assert_int_equal(ds_packet1_parse_reply(answer, answer_length, &r, &seen), 0);
	assert_int_equal(r.status, DS_PACKET_MTU);
	assert_int_equal(seen, 2);

	answers = 0;
	out = (struct ds_packet_out){ .packet = answer, .room = 85, .emit = emit };
	ds_packet_serve1(&space, &p, false, &counter, &out);
	assert_int_equal(answers, 0);
	ds_packet_space_exit(&space);
}

/* A request that there is no room to answer does nothing. */
static void what_cannot_be_answered(void **state)
{
	struct ds_packet p = { .op = DS_PACKET_ALLOC, .length = 64 }, r;
	struct ds_vspace_usage usage;
	u64 counter = 0;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_HASH, &without_storage), 0);
	assert_int_equal(open_session(), DS_PACKET_OK);
	answer_room = 79;
	seq = 1;
	assert_int_equal(change(DS_PACKET_ALLOC, 0, 64, NULL, 0, 0, &r), -1);
	out = (struct ds_packet_out){ .packet = answer, .room = 85, .emit = emit };
	ds_packet_serve1(&space, &p, false, &counter, &out);
	ds_vspace_usage(space.map, &usage);
	assert_int_equal(usage.allocations, 0);
	ds_packet_space_exit(&space);
}

/* Holes in the pool: a range that lies in many places is read and written as one. */
static void ranges_in_many_places(void **state)
{
	static u8 data[16384];
	struct ds_packet p = { .op = DS_PACKET_READ, .length = 16384, .part = 16384 }, r;
	u64 va[64], i;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_HASH, &without_storage), 0);
	assert_int_equal(open_session(), DS_PACKET_OK);
	for (i = 0; i < 64; i++)
		va[i] = allocate(4096);
	for (i = 0; i < 64; i += 2) {
		seq++;
		assert_int_equal(change(DS_PACKET_FREE, va[i], 0, NULL, 0, 0, &r), DS_PACKET_OK);
	}
	p.address = allocate(16384);
	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 31 >> 3;
	seq++;
	assert_int_equal(change(DS_PACKET_WRITE, p.address, 16384, data, 16384, 0, &r), 0);
	assert_int_equal(ask(&p, &r), DS_PACKET_OK);
	assert_memory_equal(r.data, data, sizeof(data));
	ds_packet_space_exit(&space);
}

/* A number of a session that ended, or of another peer's, opens nothing. */
static void numbers_of_sessions(void **state)
{
	struct ds_packet r;
	u64 first;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_HASH, &without_storage), 0);
	assert_int_equal(open_session(), DS_PACKET_OK);
	first = session;
	assert_ptr_equal(ds_session_find(&space.sessions, PEER + 1, first), NULL);
	assert_int_equal(change(DS_PACKET_CLOSE, 0, 0, NULL, 0, 0, &r), DS_PACKET_OK);
	assert_int_equal(open_session(), DS_PACKET_OK);
	assert_int_not_equal(session, first);
	assert_int_equal(session % DS_SESSIONS_MAX, first % DS_SESSIONS_MAX);
	session = first;
	seq = 1;
	assert_int_equal(change(DS_PACKET_ALLOC, 0, 64, NULL, 0, 0, &r), DS_PACKET_SESSION);
	assert_int_equal(space.counters.ops[DS_PACKET_ALLOC], 0);
	ds_packet_space_exit(&space);
}

/* The numbers at the end of their range do not wrap into the window. */
static void largest_numbers(void **state)
{
	static const u8 data[1024];
	struct ds_packet r;
	u64 va;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_HASH, &without_storage), 0);
	assert_int_equal(open_session(), DS_PACKET_OK);
	va = allocate(4096);
	seq = ~0ull - 1;
	assert_int_equal(change(DS_PACKET_WRITE, va, 2048, data, 1024, 0, &r), -1);
	seq = ~0ull;
	assert_int_equal(change(DS_PACKET_WRITE, va, 2048, data, 1024, 0, &r), -1);
	assert_int_equal(change(DS_PACKET_WRITE, va, 2048, data, 1024, 1024, &r), DS_PACKET_OK);
	seq = ~0ull - 1;
	assert_int_equal(change(DS_PACKET_WRITE, va, 2048, data, 1024, 1024, &r), DS_PACKET_OK);
	seq = 5;
	assert_int_equal(change(DS_PACKET_ALLOC, 0, 64, NULL, 0, 0, &r), DS_PACKET_SEQUENCE);
	ds_packet_space_exit(&space);
}

/* Four WRITEs may lack parts; a number 64 further on ends their waiting. */
static void room_for_parts(void **state)
{
	static const u8 data[1024];
	struct ds_packet r;
	u64 va, first;
	u32 i;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_HASH, &without_storage), 0);
	assert_int_equal(open_session(), DS_PACKET_OK);
	va = allocate(4096);
	first = seq + 1;
	for (i = 0; i < DS_SESSION_PARTED; i++) {
		seq++;
		assert_int_equal(change(DS_PACKET_WRITE, va, 2048, data, 1024, 0, &r), -1);
	}
	seq++;
	assert_int_equal(change(DS_PACKET_WRITE, va, 2048, data, 1024, 0, &r), DS_PACKET_BUSY);
	seq = first + DS_SESSION_PARTED - 1 + DS_PACKET_WINDOW;
	assert_int_equal(change(DS_PACKET_WRITE, va, 2048, data, 1024, 0, &r), -1);
	for (i = 0; i < DS_SESSION_PARTED - 1; i++) {
		seq++;
		assert_int_equal(change(DS_PACKET_WRITE, va, 2048, data, 1024, 0, &r), -1);
	}
	seq = first;
	assert_int_equal(change(DS_PACKET_WRITE, va, 2048, data, 1024, 1024, &r),
			 DS_PACKET_SEQUENCE);
	ds_packet_space_exit(&space);
}

/* The pool is asked for each request that reaches memory, and may refuse it. */
static void the_pool_may_refuse(void **state)
{
	static const struct {
		u8 op;
		u32 access;
	} ops[] = {
		{ DS_PACKET_WRITE, DS_ACCESS_WRITE },
		{ DS_PACKET_WRITE_PERSISTENT, DS_ACCESS_WRITE },
		{ DS_PACKET_CAS, DS_ACCESS_ATOMIC },
		{ DS_PACKET_FETCH_ADD, DS_ACCESS_ATOMIC },
	};
	struct ds_packet2_operands operands = { .operand = cpu_to_le64(0x5a) };
	static u8 before[POOL];
	struct ds_packet r, p;
	u64 va;
	size_t i;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_HASH, &that_asks), 0);
	assert_int_equal(open_session(), DS_PACKET_OK);
	check_error = 0;
	checks = 0;
	va = allocate(8192);
	assert_int_equal(checks, 0);
	p = (struct ds_packet){ .op = DS_PACKET_READ, .address = va + 4000, .length = 200,
				.part = 200 };
	assert_int_equal(ask(&p, &r), DS_PACKET_OK);
	assert_int_equal(checks, 1);
	assert_int_equal(checked_access, DS_ACCESS_READ);
	for (i = 1; i < checked_count; i++)
		checked[0].length += checked[i].length;
	assert_int_equal(checked[0].length, 200);
	check_error = -EACCES;
	assert_int_equal(ask(&p, &r), DS_PACKET_PERMISSION);

	memcpy(before, pool, POOL);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		u16 size = ops[i].access == DS_ACCESS_WRITE ? sizeof(operands) : 8;

		seq++;
		checks = 0;
		assert_int_equal(change(ops[i].op, va, size, &operands, sizeof(operands), 0, &r),
				 DS_PACKET_PERMISSION);
		assert_int_equal(checks, 1);
		assert_int_equal(checked_access, ops[i].access);
		assert_memory_equal(pool, before, POOL);
	}
	check_error = -ESTALE;
	assert_int_equal(ask(&p, &r), DS_PACKET_MEMORY);
	ds_packet_space_exit(&space);
}

/* A reply, of an error too, has the session of its request, whatever that means to it. */
static void replies_have_the_session(void **state)
{
	static const u8 ops[] = {
		DS_PACKET_READ, DS_PACKET_WRITE, DS_PACKET_ALLOC, DS_PACKET_FREE, DS_PACKET_CAS,
		DS_PACKET_CLOSE, DS_PACKET_PING, 99,
	};
	static const u8 data[16];
	struct ds_packet p, r;
	u32 tenant;
	size_t i;

	(void)state;
	assert_int_equal(make_space(DS_PACKET_DIRECT, &without_storage), 0);
	for (tenant = 0; tenant < 2; tenant++) {
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			p = (struct ds_packet){ .op = ops[i], .tag = 3, .tenant = tenant,
						.session = 0xfedcba9876543210 };
			if (p.op < DS_PACKET_ALLOC)
				p.length = p.part = 8;
			if (p.op == DS_PACKET_CAS) {
				p.length = 8;
				p.part = sizeof(data);
			}
			p.data = data;
			assert_int_not_equal(ask(&p, &r), -1);
			assert_int_equal(r.session, p.session);
			assert_int_equal(r.tag, 3);
			if (tenant)
				assert_int_equal(r.status, DS_PACKET_NO_SPACE);
			else if (p.op == DS_PACKET_READ || p.op == DS_PACKET_PING)
				assert_int_equal(r.status, DS_PACKET_OK);
		}
	}
	p = (struct ds_packet){ .op = DS_PACKET_READ, .address = POOL, .length = 8, .part = 8,
				.session = 7 };
	assert_int_equal(ask(&p, &r), DS_PACKET_ADDRESS);
	assert_int_equal(r.session, 7);
	ds_packet_space_exit(&space);
}

static void random_requests_against_a_model(void **state)
{
	struct ds_packet_selftest result = { 0 };
	u64 steps = random_steps();

	(void)state;
	assert_int_equal(ds_packet_selftest(steps, random_state, &result), 0);
	assert_int_equal(result.failed, 0);
	assert_true(result.passed >= steps - 3);
	print_message("# %llu requests\n", (unsigned long long)result.passed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_that_fails),
		TEST(storage_that_fails_changes_nothing),
		TEST(no_storage),
		TEST(answers_and_their_room),
		TEST(version_1_and_its_room),
		TEST(what_cannot_be_answered),
		TEST(ranges_in_many_places),
		TEST(numbers_of_sessions),
		TEST(largest_numbers),
		TEST(room_for_parts),
		TEST(the_pool_may_refuse),
		TEST(replies_have_the_session),
		TEST(random_requests_against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Version 2 of the packet service, over the loopback device: wrong packets, then right
 * ones, then the same ones again.
 */
#include <pthread.h>
#include <sys/mount.h>
#include "ds_test.h"
#include "ds_nl.h"
#include "ds_nl_host.h"
#include "ds_packets.h"

static struct v2_packet p, a;	/* each test is a process */
static uint64_t session, seq;

static void part(const void *data, uint32_t length)
{
	memcpy(p.data, data, length);
	p.h.part = length;
}

static void change(uint8_t opcode, uint64_t address, uint64_t length)
{
	v2_begin(&p, opcode);
	p.h.session = session;
	p.h.seq = ++seq;
	p.h.address = address;
	p.h.length = length;
}

static uint64_t allocate(int fd, uint64_t length)
{
	change(DS_PACKET_ALLOC, 0, length);
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	return a.h.address;
}

static int write_whole(int fd, uint64_t to, const void *data, uint32_t length)
{
	change(DS_PACKET_WRITE, to, length);
	part(data, length);
	return v2_ask(fd, &p, &a);
}

static int read_whole(int fd, uint64_t from, uint32_t length)
{
	v2_begin(&p, DS_PACKET_READ);
	p.h.address = from;
	p.h.length = length;
	p.h.part = length;
	return v2_ask(fd, &p, &a);
}

static int atomic(int fd, uint8_t opcode, uint64_t at, uint64_t operand, uint64_t compare)
{
	struct ds_packet2_operands operands = { .operand = operand, .compare = compare };

	change(opcode, at, 8);
	part(&operands, sizeof(operands));
	return v2_ask(fd, &p, &a);
}

static uint64_t start(struct rdm_space *s, int *fd)
{
	uint64_t segment = rdm_start(s, 0);

	*fd = rdm_socket(FRIEND, 2);
	session = v2_open(*fd, 42);
	return segment;
}

static bool unanswered(int fd)
{
	ASSERT(send(fd, &p, v2_size(&p), 0) == v2_size(&p));
	return rdm_receive(fd, &a, sizeof(a), SILENCE_MS) < 0;
}

/* ---- wrong ---- */

TEST(what_is_no_packet_is_not_answered)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd, length;
	uint64_t segment = start(&s, &fd), before;

	v2_begin(&p, DS_PACKET_PING);
	part("0123456789abcdef", 16);
	v2_seal(&p);
	before = rdm_counter("module", "packets_malformed");
	for (length = 0; length < V2_HEAD + 16; length++)
		ASSERT(send(fd, &p, length, 0) == length);
	ASSERT(send(fd, &p, V2_HEAD + 17, 0) == V2_HEAD + 17);
	EXPECT_EQ(-1, rdm_receive(fd, &a, sizeof(a), SILENCE_MS));
	EXPECT_EQ(before + V2_HEAD + 17, rdm_counter("module", "packets_malformed"));
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	EXPECT_EQ(16, a.h.part);
	EXPECT(!memcmp(a.data, "0123456789abcdef", 16));
	rdm_stop(segment);
}

TEST(each_byte_that_is_not_as_it_was_made)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd, i;
	uint64_t segment = start(&s, &fd);

	v2_begin(&p, DS_PACKET_PING);
	part("0123456789abcdef", 16);
	v2_seal(&p);
	for (i = 0; i < V2_HEAD + 16; i++) {
		((uint8_t *)&p)[i] ^= 0x40;
		ASSERT(send(fd, &p, V2_HEAD + 16, 0) == V2_HEAD + 16);
		((uint8_t *)&p)[i] ^= 0x40;
	}
	EXPECT_EQ(-1, rdm_receive(fd, &a, sizeof(a), SILENCE_MS));
	rdm_stop(segment);
}

TEST(every_opcode)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd, opcode, status;
	uint64_t segment = start(&s, &fd);

	for (opcode = 0; opcode < 256; opcode++) {
		if (opcode >= DS_PACKET_READ && opcode <= DS_PACKET_PING)
			continue;
		v2_begin(&p, opcode);
		status = v2_ask(fd, &p, &a);
		EXPECT_EQ(DS_PACKET_OPCODE, status);
	}
	rdm_stop(segment);
}

TEST(fields_that_do_not_fit_together)
{
	static const struct {
		uint8_t opcode;
		uint32_t part;
		uint64_t address, length, offset;
		int status;
	} cases[] = {
		{ DS_PACKET_READ, 0, 4096, 64, 0, DS_PACKET_MALFORMED },
		{ DS_PACKET_READ, 65, 4096, 64, 0, DS_PACKET_MALFORMED },
		{ DS_PACKET_READ, 1, 4096, 64, 64, DS_PACKET_MALFORMED },
		{ DS_PACKET_READ, 1, 4096, 64, ~0ull, DS_PACKET_MALFORMED },
		{ DS_PACKET_READ, 1, 4096, 0, 0, DS_PACKET_LENGTH },
		{ DS_PACKET_READ, 1, 4096, 65537, 0, DS_PACKET_LENGTH },
		{ DS_PACKET_READ, 1, 4096, ~0ull, 0, DS_PACKET_LENGTH },
		{ DS_PACKET_WRITE, 64, 4096, 65537, 0, DS_PACKET_LENGTH },
		{ DS_PACKET_WRITE, 64, 4096, 65, 0, DS_PACKET_MALFORMED },	/* no block */
		{ DS_PACKET_WRITE, 1024, 4096, 4096, 512, DS_PACKET_MALFORMED },
		{ DS_PACKET_WRITE, 128, 4096, 64, 0, DS_PACKET_MALFORMED },
		{ DS_PACKET_ALLOC, 1, 0, 64, 0, DS_PACKET_MALFORMED },
		{ DS_PACKET_ALLOC, 0, 0, 64, 1, DS_PACKET_MALFORMED },
		{ DS_PACKET_ALLOC, 0, 8, 64, 0, DS_PACKET_MALFORMED },	/* no such access */
		{ DS_PACKET_ALLOC, 0, 0, 0, 0, DS_PACKET_LENGTH },
		{ DS_PACKET_ALLOC, 0, 0, ~0ull, 0, DS_PACKET_LENGTH },
		{ DS_PACKET_FREE, 0, 12345, 0, 0, DS_PACKET_ADDRESS },
		{ DS_PACKET_CAS, 15, 4096, 8, 0, DS_PACKET_MALFORMED },
		{ DS_PACKET_CAS, 16, 4096, 4, 0, DS_PACKET_MALFORMED },
		{ DS_PACKET_CAS, 16, 4097, 8, 0, DS_PACKET_ALIGNMENT },
		{ DS_PACKET_FETCH_ADD, 16, ~0ull - 7, 8, 0, DS_PACKET_ADDRESS },
		{ DS_PACKET_OPEN, 1, 0, 0, 0, DS_PACKET_MALFORMED },
		{ DS_PACKET_PING, 0, 1, 0, 0, DS_PACKET_MALFORMED },
	};
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd;
	uint64_t segment = start(&s, &fd);

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		change(cases[i].opcode, cases[i].address, cases[i].length);
		if (cases[i].opcode == DS_PACKET_READ || cases[i].opcode >= DS_PACKET_OPEN)
			p.h.seq = 0;
		p.h.part = cases[i].part;
		p.h.offset = cases[i].offset;
		EXPECT_EQ(cases[i].status, v2_ask(fd, &p, &a));
	}
	EXPECT_EQ(0, rdm_counter("rdm 7", "bytes_written"));
	rdm_stop(segment);
}

TEST(another_tenant_another_space_no_session)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH, .tenant = 5 };
	int fd, other;
	uint64_t segment = rdm_start(&s, 0);

	fd = rdm_socket(FRIEND, 2);
	other = rdm_socket(OTHER, 2);
	v2_begin(&p, DS_PACKET_PING);
	EXPECT_EQ(DS_PACKET_NO_SPACE, v2_ask(fd, &p, &a));	/* tenant 0 */
	p.h.tenant = 5;
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	EXPECT_EQ(DS_PACKET_NO_SPACE, v2_ask(other, &p, &a));	/* speaks for 6 only */
	p.h.space = TEST_RDM + 65536;
	EXPECT_EQ(DS_PACKET_NO_SPACE, v2_ask(fd, &p, &a));

	v2_begin(&p, DS_PACKET_ALLOC);
	p.h.tenant = 5;
	p.h.length = 64;
	p.h.seq = 1;
	EXPECT_EQ(DS_PACKET_SESSION, v2_ask(fd, &p, &a));
	p.h.session = 0x1234567800;
	EXPECT_EQ(DS_PACKET_SESSION, v2_ask(fd, &p, &a));
	rdm_stop(segment);
}

TEST(a_session_is_its_hosts_own)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd, other;
	uint64_t segment = start(&s, &fd);

	EXPECT_EQ(0, rdm_peer(DS_CMD_RDM_PEER_DEL, OTHER, -1));
	EXPECT_EQ(0, rdm_peer(DS_CMD_RDM_PEER_ADD, OTHER, -1));
	other = rdm_socket(OTHER, 2);
	change(DS_PACKET_ALLOC, 0, 64);
	EXPECT_EQ(DS_PACKET_SESSION, v2_ask(other, &p, &a));
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	rdm_stop(segment);
}

TEST(without_the_right_key_there_is_silence)
{
	static const uint8_t key[DS_PACKET_KEY_LEN] = { 1 };
	struct rdm_space s = { .kind = DS_PACKET_HASH, .key = key };
	uint64_t segment = rdm_start(&s, 0), before;
	int fd = rdm_socket(FRIEND, 2);

	before = rdm_counter("module", "packets_forged");
	v2_begin(&p, DS_PACKET_PING);
	v2_seal(&p);
	EXPECT(unanswered(fd));
	p.h.flags = DS_PACKET2_MAC;
	p.h.mac = 0x123456789abcdef0;
	v2_seal(&p);
	EXPECT(unanswered(fd));
	EXPECT_EQ(before + 2, rdm_counter("module", "packets_forged"));
	rdm_stop(segment);
}

TEST(sessions_are_bounded)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd, i;
	uint64_t segment = start(&s, &fd);

	EXPECT_EQ(session, v2_open(fd, 42));	/* the same nonce: the same session */
	for (i = 1; i < 16; i++)
		v2_open(fd, 42 + i);
	v2_begin(&p, DS_PACKET_OPEN);
	p.h.seq = 9999;
	EXPECT_EQ(DS_PACKET_BUSY, v2_ask(fd, &p, &a));

	v2_begin(&p, DS_PACKET_CLOSE);
	p.h.session = session;
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	EXPECT_EQ(DS_PACKET_SESSION, v2_ask(fd, &p, &a));
	EXPECT(v2_open(fd, 9999) != session);
	rdm_stop(segment);
}

/* ---- right, and again ---- */

TEST(what_comes_twice_is_done_once)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd, i;
	uint64_t segment = start(&s, &fd), va = allocate(fd, 64), twice;
	uint64_t again = seq;

	/* ALLOC again: the same allocation. */
	v2_send(fd, &p);
	EXPECT_EQ(DS_PACKET_OK, v2_take(fd, &p, &a, ANSWER_MS));
	EXPECT_EQ(va, a.h.address);
	EXPECT_EQ(1, rdm_counter("rdm 7", "ops_alloc"));
	EXPECT_EQ(1, rdm_counter("rdm 7", "repeated"));

	/* The number for another request. */
	change(DS_PACKET_ALLOC, 0, 128);
	p.h.seq = again;
	EXPECT_EQ(DS_PACKET_SEQUENCE, v2_ask(fd, &p, &a));

	/* An addition ten times: it is added once, and the answer stays. */
	EXPECT_EQ(DS_PACKET_OK, atomic(fd, DS_PACKET_FETCH_ADD, va, 5, 0));
	twice = a.h.length;
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
		EXPECT_EQ(twice, a.h.length);
	}
	EXPECT_EQ(DS_PACKET_OK, read_whole(fd, va, 8));
	EXPECT_EQ(twice + 5, v1_get64(a.data));

	/* A WRITE that comes again after a later one does not undo it. */
	EXPECT_EQ(DS_PACKET_OK, write_whole(fd, va, "first...", 8));
	static struct v2_packet first;
	first = p;
	EXPECT_EQ(DS_PACKET_OK, write_whole(fd, va, "second..", 8));
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &first, &a));
	EXPECT_EQ(DS_PACKET_OK, read_whole(fd, va, 8));
	EXPECT(!memcmp(a.data, "second..", 8));

	/* FREE again: it was done. Then what is freed is gone. */
	change(DS_PACKET_FREE, va, 0);
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	EXPECT_EQ(DS_PACKET_ADDRESS, read_whole(fd, va, 8));
	EXPECT_EQ(1, rdm_counter("rdm 7", "ops_free"));
	rdm_stop(segment);
}

TEST(numbers_may_come_in_any_order_within_the_window)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd;
	uint64_t segment = start(&s, &fd), va = allocate(fd, 64), i;

	for (i = DS_PACKET_WINDOW; i > 1; i--) {
		seq = i - 1;
		EXPECT_EQ(DS_PACKET_OK, atomic(fd, DS_PACKET_FETCH_ADD, va, 1, 0));
	}
	EXPECT_EQ(DS_PACKET_OK, read_whole(fd, va, 8));
	EXPECT_EQ(DS_PACKET_WINDOW - 1, v1_get64(a.data));
	seq = 999;
	EXPECT_EQ(DS_PACKET_OK, atomic(fd, DS_PACKET_FETCH_ADD, va, 1, 0));
	seq = 1000 - DS_PACKET_WINDOW - 1;
	EXPECT_EQ(DS_PACKET_SEQUENCE, atomic(fd, DS_PACKET_FETCH_ADD, va, 1, 0));
	EXPECT_EQ(DS_PACKET_OK, atomic(fd, DS_PACKET_FETCH_ADD, va, 1, 0));	/* just within */
	rdm_stop(segment);
}

TEST(compare_and_swap)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd;
	uint64_t segment = start(&s, &fd), va = allocate(fd, 64);

	EXPECT_EQ(DS_PACKET_OK, write_whole(fd, va, "\0\0\0\0\0\0\0\0", 8));
	EXPECT_EQ(DS_PACKET_OK, atomic(fd, DS_PACKET_CAS, va, 7, 1));
	EXPECT_EQ(0, a.h.length);
	EXPECT_EQ(DS_PACKET_OK, atomic(fd, DS_PACKET_CAS, va, 7, 0));
	EXPECT_EQ(0, a.h.length);
	EXPECT_EQ(DS_PACKET_OK, atomic(fd, DS_PACKET_CAS, va, 9, 7));
	EXPECT_EQ(7, a.h.length);
	EXPECT_EQ(DS_PACKET_OK, read_whole(fd, va, 8));
	EXPECT_EQ(9, v1_get64(a.data));
	rdm_stop(segment);
}

TEST(an_allocation_may_allow_less_than_its_space)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd;
	uint64_t segment = start(&s, &fd), va;

	change(DS_PACKET_ALLOC, DS_ACCESS_READ, 64);
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	va = a.h.address;
	EXPECT_EQ(DS_PACKET_OK, read_whole(fd, va, 64));
	EXPECT_EQ(DS_PACKET_PERMISSION, write_whole(fd, va, "no", 2));
	EXPECT_EQ(DS_PACKET_PERMISSION, atomic(fd, DS_PACKET_CAS, va, 1, 0));
	EXPECT_EQ(2, rdm_counter("rdm 7", "ended_permission"));
	rdm_stop(segment);
}

/* A WRITE in parts, last one first, some twice; and READ in parts. */
TEST(ranges_in_parts)
{
	static uint8_t want[65536], have[65536];
	static const uint32_t order[] = { 15, 3, 3, 0, 1, 2, 14, 13, 4, 5, 6, 7, 8, 15, 9, 10, 11, 12 };
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd, got = 0, length;
	uint64_t segment = start(&s, &fd), va = allocate(fd, sizeof(want));
	size_t i;

	for (i = 0; i < sizeof(want); i++)
		want[i] = i * 7 + i / 256;
	change(DS_PACKET_WRITE, va, sizeof(want));
	for (i = 0; i < ARRAY_LEN(order); i++) {
		p.h.offset = order[i] * 4096;
		part(want + order[i] * 4096, 4096);
		v2_send(fd, &p);
		if (i == 2)	/* no part is answered by itself */
			EXPECT_EQ(-1, v2_take(fd, &p, &a, SILENCE_MS));
	}
	EXPECT_EQ(DS_PACKET_OK, v2_take(fd, &p, &a, ANSWER_MS));
	EXPECT_EQ(sizeof(want), rdm_counter("rdm 7", "bytes_written"));

	v2_begin(&p, DS_PACKET_READ);
	p.h.address = va;
	p.h.length = sizeof(have);
	p.h.part = sizeof(have);
	v2_send(fd, &p);
	while (got < (int)sizeof(have)) {
		length = v2_take(fd, &p, &a, ANSWER_MS);
		ASSERT(length == DS_PACKET_OK);
		memcpy(have + a.h.offset, a.data, a.h.part);
		got += a.h.part;
	}
	EXPECT_EQ(sizeof(have), got);
	EXPECT(!memcmp(want, have, sizeof(have)));

	/* What is still missing is asked for by itself. */
	p.h.offset = 100;
	p.h.part = 28;
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	EXPECT_EQ(100, a.h.offset);
	EXPECT_EQ(28, a.h.part);
	EXPECT(!memcmp(want + 100, a.data, 28));
	rdm_stop(segment);
}

/* Look-ups in the token cache, by whoever. */
static uint64_t looked_up(void)
{
	unsigned long long n, sum = 0;
	char line[128], name[32];
	FILE *f;

	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);	/* it may be there */
	f = fopen("/sys/kernel/debug/ds/tokencache", "re");
	if (!f)
		SKIP("there is no debugfs");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %31s %llu", name, &n) == 2 && !strncmp(name, "hits_", 5))
			sum += n;
	}
	fclose(f);
	return sum;
}

/* A request asks the token of each 2 MiB in which it has bytes; one that is refused, none. */
TEST(requests_look_up_the_tokens_of_their_memory)
{
	enum { CHUNK = 2 << 20 };
	struct rdm_space s = { .kind = DS_PACKET_DIRECT };
	uint64_t segment, va, before;
	int fd, i;

	prepare_host();
	s.segment = rdm_segment(2 * CHUNK, DS_ACCESS_READ | DS_ACCESS_WRITE, -1);
	segment = start(&s, &fd);
	before = looked_up();
	va = allocate(fd, 2 * CHUNK);
	EXPECT_EQ(0, looked_up() - before);
	for (i = 0; i < 100; i++)
		EXPECT_EQ(DS_PACKET_OK, read_whole(fd, va + i * 8, 64));
	EXPECT_EQ(100, looked_up() - before);
	EXPECT_EQ(DS_PACKET_OK, write_whole(fd, va, "01234567", 8));
	EXPECT_EQ(DS_PACKET_OK, atomic(fd, DS_PACKET_FETCH_ADD, va, 1, 0));
	EXPECT_EQ(DS_PACKET_OK, atomic(fd, DS_PACKET_CAS, va, 1, 0));
	EXPECT_EQ(103, looked_up() - before);
	EXPECT_EQ(DS_PACKET_OK, read_whole(fd, va + CHUNK - 8, 16));
	EXPECT_EQ(105, looked_up() - before);
	EXPECT_EQ(DS_PACKET_ADDRESS, read_whole(fd, va + 2 * CHUNK, 8));
	EXPECT_EQ(105, looked_up() - before);
	rdm_stop(segment);
}

TEST(incomplete_writes_are_bounded_and_change_nothing)
{
	static uint8_t data[1024] = { 1 };
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd, i;
	uint64_t segment = start(&s, &fd), va = allocate(fd, 4096);

	for (i = 0; i < 4; i++) {
		change(DS_PACKET_WRITE, va, 2048);
		part(data, sizeof(data));
		v2_send(fd, &p);
	}
	change(DS_PACKET_WRITE, va, 2048);
	part(data, sizeof(data));
	EXPECT_EQ(DS_PACKET_BUSY, v2_ask(fd, &p, &a));
	EXPECT_EQ(DS_PACKET_OK, read_whole(fd, va, 1));
	EXPECT_EQ(0, a.data[0]);
	EXPECT_EQ(4, rdm_counter("rdm 7", "parts"));
	rdm_stop(segment);
}

TEST(until_full_and_back_to_empty)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	int fd, count = 0, i, status;
	uint64_t segment = start(&s, &fd), va[TEST_LENGTH / 4096 + 1];

	for (;;) {
		change(DS_PACKET_ALLOC, 0, 4096);
		status = v2_ask(fd, &p, &a);
		if (status)
			break;
		ASSERT(count < (int)ARRAY_LEN(va));
		va[count++] = a.h.address;
	}
	EXPECT_EQ(DS_PACKET_FULL, status);
	EXPECT_EQ(TEST_LENGTH / 4096, count);
	for (i = 0; i < count; i++) {
		change(DS_PACKET_FREE, va[i], 4096);
		EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	}
	EXPECT(allocate(fd, TEST_LENGTH));	/* one free block again */
	rdm_stop(segment);
}

/* ---- others at the same time ---- */

static volatile bool flooding;

static void *flood(void *arg)
{
	static struct v2_packet f;
	int fd = rdm_socket(arg, 2);

	v2_begin(&f, DS_PACKET_PING);
	f.h.tenant = 1;
	v2_seal(&f);
	while (flooding)
		(void)!send(fd, &f, v2_size(&f), MSG_DONTWAIT);
	close(fd);
	return NULL;
}

TEST(a_flood_takes_nothing_from_another)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	bool flooded = false;
	pthread_t thread;
	int fd, i, lost = 0;
	uint64_t segment = start(&s, &fd), longest;

	flooding = true;
	ASSERT(!pthread_create(&thread, NULL, flood, OTHER));
	/* On a busy host the flood may come late: it is waited for. */
	for (i = 0; i < 300 || (!flooded && i < 3000); i++) {
		v2_begin(&p, DS_PACKET_PING);
		lost += v2_ask(fd, &p, &a) != DS_PACKET_OK;
		if (i >= 299)
			flooded = rdm_counter("rdm peer " OTHER, "received") > 300;
	}
	flooding = false;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, lost);
	EXPECT_EQ(0, rdm_counter("rdm peer " FRIEND, "dropped"));
	longest = rdm_counter("rdm peer " FRIEND, "longest_wait");
	EXPECT(longest <= 4);
	EXPECT(flooded);
	rdm_stop(segment);
}

TEST(a_space_that_is_deleted_under_traffic)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	pthread_t thread;
	int fd, i, status;
	uint64_t segment = start(&s, &fd);

	flooding = true;
	ASSERT(!pthread_create(&thread, NULL, flood, FRIEND));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, rdm_space_del(TEST_RDM));
		v2_begin(&p, DS_PACKET_PING);
		v2_seal(&p);
		EXPECT_EQ(0, rdm_space_add(&s));
	}
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, rdm_listen(DS_CMD_RDM_LISTEN_DEL, 2, SERVER, 0));
		EXPECT_EQ(0, rdm_listen(DS_CMD_RDM_LISTEN_ADD, 2, SERVER, 0));
		EXPECT_EQ(0, rdm_peer(DS_CMD_RDM_PEER_DEL, FRIEND, -1));
		EXPECT_EQ(0, rdm_peer(DS_CMD_RDM_PEER_ADD, FRIEND, -1));
	}
	flooding = false;
	pthread_join(thread, NULL);

	/* A session of the former life is none. */
	change(DS_PACKET_ALLOC, 0, 64);
	for (i = 0; i < 30; i++) {	/* what is left of the flood may be in the way */
		status = v2_ask(fd, &p, &a);
		if (status == DS_PACKET_SESSION)
			break;
		EXPECT(status == DS_PACKET_BUSY || status < 0);
	}
	EXPECT_EQ(DS_PACKET_SESSION, status);
	rdm_stop(segment);
}

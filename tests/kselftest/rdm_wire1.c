// SPDX-License-Identifier: GPL-2.0-only
/*
 * Version 1 of the packet service, over the loopback device: wrong packets, then right
 * ones. What the original does wrong has a test of its own, named defect_.
 */
#include "ds_test.h"
#include "ds_nl.h"
#include "ds_nl_host.h"
#include "ds_packets.h"

#define READ		APP_RDMA_OPCODE_READ
#define WRITE		APP_RDMA_OPCODE_WRITE
#define PERSISTENT	APP_RDMA_OPCODE_WRITE_PERSISTENT
#define ALLOC		APP_RDMA_OPCODE_ALLOC
#define WROTE		APP_RDMA_OPCODE_REPLY_WRITE
#define ALLOCATED	APP_RDMA_OPCODE_REPLY_ALLOC
#define NO_ALLOC	APP_RDMA_OPCODE_REPLY_ALLOC_ERROR
#define HERE		APP_RDMA_OPCODE_REPLY_READ
#define NO_READ		APP_RDMA_OPCODE_REPLY_READ_ERROR

static struct v1_packet p;	/* each test is a process */

static uint64_t address(void)
{
	return v1_get64(p.bytes + 23);
}

static uint64_t value(void)
{
	return v1_get64(p.bytes + 31);
}

static uint64_t counter(void)
{
	return v1_get64(p.bytes + 39);
}

static uint64_t allocate(int fd, uint64_t length)
{
	EXPECT_EQ(ALLOCATED, v1_call(fd, &p, ALLOC, 0, length));
	EXPECT_EQ(86, p.length);
	return address();
}

static void fill(uint8_t *at, size_t length, uint32_t seed)
{
	while (length--)
		*at++ = (seed = seed * 1103515245 + 12345) >> 16;
}

/* As an answered WRITE; its opcode. */
static int write_as(int fd, uint8_t opcode, uint64_t to, uint64_t length, uint32_t seed)
{
	v1_fill(&p, TEST_RDM, opcode, to, length, (length + 63) / 64);
	fill(p.bytes + 86, length, seed);
	return v1_ask(fd, &p, ANSWER_MS);
}

static bool holds(int fd, uint64_t from, uint64_t length, uint32_t seed)
{
	static uint8_t want[70000];

	if (v1_call(fd, &p, READ, from, length) != HERE || value() != length ||
	    p.length != 86 + (int)(length + 63) / 64 * 64)
		return false;
	memset(want, 0, sizeof(want));
	fill(want, length, seed);
	return !memcmp(p.bytes + 86, want, p.length - 86);	/* padding is 0 */
}

/* Is the service alive, and has nothing been written to the words at @va? */
static void unharmed(int fd, uint64_t va)
{
	EXPECT(holds(fd, va, 4096, 1));
}

/* ---- wrong ---- */

TEST(truncated_at_every_byte)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1), length, opcode;
	uint64_t va = allocate(fd, 4096);

	EXPECT_EQ(WROTE, write_as(fd, WRITE, va, 4096, 1));
	for (length = 0; length < 86 + 128; length++) {
		v1_fill(&p, TEST_RDM, WRITE, va, 128, 2);
		p.length = length;
		ASSERT(send(fd, p.bytes, length, 0) == length);
		if (length < 86)
			continue;	/* no request: no answer */
		opcode = p.bytes[22];
		p.length = rdm_receive(fd, p.bytes, sizeof(p.bytes), ANSWER_MS);
		EXPECT_EQ(WRITE, opcode);
		EXPECT_EQ(86, p.length);
		EXPECT_EQ(NO_READ, p.bytes[22]);
		EXPECT_EQ(DS_PACKET_MALFORMED, value());
	}
	EXPECT_EQ(-1, rdm_receive(fd, p.bytes, sizeof(p.bytes), SILENCE_MS));
	unharmed(fd, va);
	rdm_stop(segment);
}

TEST(units_that_do_not_fit_the_length)
{
	static const struct {
		uint8_t opcode;
		uint64_t length;
		int units;
		uint64_t status;
	} cases[] = {
		{ WRITE, 64, 0, DS_PACKET_MALFORMED },
		{ WRITE, 64, 2, DS_PACKET_MALFORMED },
		{ WRITE, 65, 1, DS_PACKET_MALFORMED },
		{ WRITE, 63, 2, DS_PACKET_MALFORMED },
		{ WRITE, 0, 1, DS_PACKET_MALFORMED },
		{ WRITE, 0, 0, DS_PACKET_LENGTH },
		{ WRITE, 65537, 1, DS_PACKET_LENGTH },
		{ WRITE, ~0ull, 1, DS_PACKET_LENGTH },
		{ WRITE, ~0ull - 62, 0, DS_PACKET_LENGTH },	/* rounded up it would be 0 */
		{ READ, 64, 1, DS_PACKET_MALFORMED },
		{ READ, 0, 0, DS_PACKET_LENGTH },
		{ READ, 65537, 0, DS_PACKET_LENGTH },
		{ READ, ~0ull, 0, DS_PACKET_LENGTH },
	};
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1);
	uint64_t va = allocate(fd, 4096);

	EXPECT_EQ(WROTE, write_as(fd, WRITE, va, 4096, 1));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		v1_fill(&p, TEST_RDM, cases[i].opcode, va, cases[i].length, cases[i].units);
		EXPECT_EQ(NO_READ, v1_ask(fd, &p, ANSWER_MS));
		EXPECT_EQ(cases[i].status, value());
		EXPECT_EQ(va, address());
		EXPECT_EQ(86, p.length);
	}
	v1_fill(&p, TEST_RDM, ALLOC, 0, 4096, 1);
	EXPECT_EQ(NO_ALLOC, v1_ask(fd, &p, ANSWER_MS));
	v1_fill(&p, TEST_RDM, ALLOC, 4096, 4096, 0);
	EXPECT_EQ(NO_ALLOC, v1_ask(fd, &p, ANSWER_MS));
	unharmed(fd, va);
	rdm_stop(segment);
}

TEST(every_opcode)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1), opcode;
	uint64_t va = allocate(fd, 4096), before;

	EXPECT_EQ(WROTE, write_as(fd, WRITE, va, 4096, 1));
	before = rdm_counter("module", "packets_malformed");
	for (opcode = ALLOC + 1; opcode < 256; opcode++) {
		v1_fill(&p, TEST_RDM, opcode, va, 64, 0);
		ASSERT(send(fd, p.bytes, p.length, 0) == p.length);
		if (opcode % 32 == 0)
			unharmed(fd, va);	/* not more than the queue takes */
	}
	EXPECT_EQ(-1, rdm_receive(fd, p.bytes, sizeof(p.bytes), SILENCE_MS));
	EXPECT_EQ(before + 256 - (ALLOC + 1), rdm_counter("module", "packets_malformed"));
	unharmed(fd, va);
	rdm_stop(segment);
}

TEST(unknown_application_and_stranger)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES), before;
	int fd = rdm_socket(FRIEND, 1), other = rdm_socket(OTHER, 1);
	int stranger = rdm_socket(STRANGER, 1);

	v1_fill(&p, TEST_RDM + 1, ALLOC, 0, 4096, 0);
	EXPECT_EQ(NO_ALLOC, v1_ask(fd, &p, ANSWER_MS));
	EXPECT_EQ(DS_PACKET_NO_SPACE, value());
	v1_fill(&p, TEST_RDM + 1, READ, 0, 64, 0);
	EXPECT_EQ(NO_READ, v1_ask(fd, &p, ANSWER_MS));
	EXPECT_EQ(NO_ALLOC, v1_call(other, &p, ALLOC, 0, 4096));	/* another tenant's */
	EXPECT_EQ(DS_PACKET_NO_SPACE, value());

	before = rdm_counter("module", "packets_strangers");
	v1_fill(&p, TEST_RDM, ALLOC, 0, 4096, 0);
	EXPECT_EQ(-1, v1_ask(stranger, &p, SILENCE_MS));
	EXPECT_EQ(before + 1, rdm_counter("module", "packets_strangers"));
	rdm_stop(segment);
}

TEST(a_space_with_a_key_is_not_for_version_1)
{
	static const uint8_t key[DS_PACKET_KEY_LEN] = { 1 };
	struct rdm_space s = { .kind = DS_PACKET_HASH, .key = key };
	uint64_t segment = rdm_start(&s, 0);
	int fd = rdm_socket(FRIEND, 1);

	EXPECT_EQ(NO_ALLOC, v1_call(fd, &p, ALLOC, 0, 4096));
	EXPECT_EQ(DS_PACKET_NO_SPACE, value());
	rdm_stop(segment);
}

TEST(a_space_that_can_only_be_read)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH, .access = DS_ACCESS_READ };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1);
	uint64_t va = allocate(fd, 4096);

	EXPECT_EQ(NO_READ, write_as(fd, WRITE, va, 64, 1));
	EXPECT_EQ(DS_PACKET_PERMISSION, value());
	EXPECT_EQ(HERE, v1_call(fd, &p, READ, va, 64));
	EXPECT_EQ(1, rdm_counter("rdm 7", "ended_permission"));
	EXPECT_EQ(0, rdm_counter("rdm 7", "bytes_written"));
	rdm_stop(segment);
}

TEST(longer_than_the_link_takes)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1);
	uint64_t va = allocate(fd, 65536);

	/* The loopback device takes 65,536 bytes with their headers. */
	EXPECT_EQ(HERE, v1_call(fd, &p, READ, va, 65536 - 28 - 86 - 64));
	EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, va, 65536));
	EXPECT_EQ(DS_PACKET_MTU, value());
	rdm_stop(segment);
}

/* ---- right ---- */

static void bytes_come_back(uint32_t kind)
{
	static const uint64_t lengths[] = { 1, 63, 64, 65, 127, 128, 4096, 20000 };
	struct rdm_space s = { .kind = kind };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES), va[ARRAY_LEN(lengths)];
	int fd = rdm_socket(FRIEND, 1);
	size_t i;

	for (i = 0; i < ARRAY_LEN(lengths); i++) {
		va[i] = allocate(fd, lengths[i]);
		EXPECT(value() < TEST_LENGTH);	/* offset in the pool */
		EXPECT_EQ(WROTE, write_as(fd, WRITE, va[i], lengths[i], i));
		EXPECT_EQ(va[i], address());
	}
	for (i = 0; i < ARRAY_LEN(lengths); i++)
		EXPECT(holds(fd, va[i], lengths[i], i));
	EXPECT_EQ(ARRAY_LEN(lengths), rdm_counter("rdm 7", "ops_alloc"));
	EXPECT_EQ(ARRAY_LEN(lengths), rdm_counter("rdm 7", "ops_write"));
	EXPECT_EQ(ARRAY_LEN(lengths), rdm_counter("rdm 7", "ops_read"));
	rdm_stop(segment);
}

TEST(bytes_come_back_direct)
{
	bytes_come_back(DS_PACKET_DIRECT);
}

TEST(bytes_come_back_segments)
{
	bytes_come_back(DS_PACKET_SEGMENTS);
}

TEST(bytes_come_back_hash)
{
	bytes_come_back(DS_PACKET_HASH);
}

TEST(replies_are_counted_from_1)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES), i;
	int fd = rdm_socket(FRIEND, 1);

	for (i = 1; i <= 5; i++) {
		EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, 0, 64));
		EXPECT_EQ(i, counter());
	}
	rdm_stop(segment);
}

TEST(a_write_is_not_answered_unless_told_so)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, 0), va;
	int fd = rdm_socket(FRIEND, 1);

	va = allocate(fd, 4096);
	v1_fill(&p, TEST_RDM, WRITE, va, 4096, 64);
	fill(p.bytes + 86, 4096, 1);
	EXPECT_EQ(-1, v1_ask(fd, &p, SILENCE_MS));
	unharmed(fd, va);
	EXPECT_EQ(2, counter());	/* of the ALLOC and the READ */
	rdm_stop(segment);
}

TEST(persistent_only_with_a_file_behind)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, 0), va;
	int fd = rdm_socket(FRIEND, 1);

	va = allocate(fd, 4096);
	EXPECT_EQ(NO_READ, write_as(fd, PERSISTENT, va, 4096, 1));
	EXPECT_EQ(DS_PACKET_NOT_PERSISTENT, value());
	EXPECT_EQ(HERE, v1_call(fd, &p, READ, va, 64));
	EXPECT_EQ(0, p.bytes[86]);	/* nothing was written */
	rdm_stop(segment);
}

TEST(persistent_data_is_in_the_file)
{
	static uint8_t want[4096], have[4096];
	struct rdm_space s = { .kind = DS_PACKET_DIRECT };
	uint64_t segment, va, at;
	int fd, file;

	if (system("modprobe brd rd_nr=1 rd_size=4096"))
		SKIP("the kernel has no brd, a disk for tests");
	file = open("/dev/ram0", O_RDWR | O_CLOEXEC);
	ASSERT(file >= 0);
	ASSERT(pwrite(file, "before", 6, 8192) == 6);
	prepare_host();
	s.segment = rdm_segment(TEST_LENGTH, DS_ACCESS_READ | DS_ACCESS_WRITE, file);
	segment = rdm_start(&s, 0);
	fd = rdm_socket(FRIEND, 1);

	EXPECT_EQ(HERE, v1_call(fd, &p, READ, 8192, 6));	/* the file's content */
	EXPECT(!memcmp(p.bytes + 86, "before", 6));
	va = allocate(fd, 4096);
	at = value();
	EXPECT_EQ(WROTE, write_as(fd, PERSISTENT, va, 4096, 1));
	fill(want, sizeof(want), 1);
	ASSERT(pread(file, have, sizeof(have), at) == sizeof(have));
	EXPECT(!memcmp(want, have, sizeof(want)));
	/* Who shares the open file can do that at any time. */
	ASSERT_OK(fcntl(file, F_SETFL, O_APPEND));
	EXPECT_EQ(NO_READ, write_as(fd, PERSISTENT, va, 4096, 2));
	EXPECT_EQ(DS_PACKET_IO, value());
	ASSERT_OK(fcntl(file, F_SETFL, 0));
	EXPECT_EQ(WROTE, write_as(fd, PERSISTENT, va, 4096, 3));
	rdm_stop(segment);
	close(file);
}

/* ---- the original's defects ---- */

TEST(defect_2_all_of_an_allocation_translates_and_no_more)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1);
	uint64_t va = allocate(fd, 5000), next = allocate(fd, 64);

	EXPECT_EQ(WROTE, write_as(fd, WRITE, va + 64, 64, 1));
	EXPECT(holds(fd, va + 64, 64, 1));
	EXPECT_EQ(HERE, v1_call(fd, &p, READ, va + 4999, 1));
	EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, va + 4999, 2));
	EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, va + 5000, 1));
	EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, va - 1, 1));
	EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, va - 1, 2));
	EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, va, next - va + 1));	/* into the next one */
	EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, ~0ull, 2));
	EXPECT_EQ(DS_PACKET_ADDRESS, value());
	rdm_stop(segment);
}

TEST(defect_3_what_is_in_no_segment_misses)
{
	struct rdm_space s = { .kind = DS_PACKET_SEGMENTS };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1);

	EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, 4096, 64));
	EXPECT_EQ(DS_PACKET_ADDRESS, value());
	rdm_stop(segment);
}

TEST(defect_4_a_failed_write_leaves_nothing_behind)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1);
	uint64_t va = allocate(fd, 4096);

	EXPECT_EQ(NO_READ, write_as(fd, WRITE, va + 4096, 64, 9));	/* an error, and said */
	EXPECT_EQ(DS_PACKET_ADDRESS, value());
	EXPECT_EQ(WROTE, write_as(fd, WRITE, va, 4096, 1));	/* not the former data */
	unharmed(fd, va);
	rdm_stop(segment);
}

TEST(defect_5_address_0_is_not_mapped)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1);

	EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, 0, 64));
	EXPECT_EQ(NO_READ, write_as(fd, WRITE, 0, 64, 1));
	EXPECT(allocate(fd, 64) != 0);
	EXPECT_EQ(NO_READ, v1_call(fd, &p, READ, 0, 64));
	rdm_stop(segment);
}

TEST(defect_8_a_write_is_answered_only_as_told)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1);
	uint64_t va = allocate(fd, 64);

	EXPECT_EQ(WROTE, write_as(fd, WRITE, va, 64, 1));
	EXPECT_EQ(64, value());
	EXPECT_EQ(86, p.length);
	rdm_stop(segment);
}

TEST(defect_10_any_length_at_any_address)
{
	struct rdm_space s = { .kind = DS_PACKET_HASH };
	uint64_t segment = rdm_start(&s, DS_RDM_ANSWER_WRITES);
	int fd = rdm_socket(FRIEND, 1);
	uint64_t va = allocate(fd, 20000);

	EXPECT_EQ(WROTE, write_as(fd, WRITE, va + 3, 12345, 1));
	EXPECT(holds(fd, va + 3, 12345, 1));
	rdm_stop(segment);
}

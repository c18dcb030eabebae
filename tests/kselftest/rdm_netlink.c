// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink commands of the packet service: wrong calls, then lives.
 */
#include <sys/mman.h>
#include "ds_test.h"
#include "ds_nl.h"
#include "ds_nl_host.h"
#include "ds_packets.h"

#define RW	(DS_ACCESS_READ | DS_ACCESS_WRITE)

static void nothing(struct nl_request *r)
{
	(void)r;
}

TEST(what_is_missing_is_named)
{
	static const struct {
		uint8_t cmd;
		uint16_t first;
	} cases[] = {
		{ DS_CMD_RDM_SPACE_ADD, DS_A_SEGMENT },
		{ DS_CMD_RDM_SPACE_DEL, DS_A_RDM_SPACE },
		{ DS_CMD_RDM_LISTEN_ADD, DS_A_IPV4 },
		{ DS_CMD_RDM_LISTEN_DEL, DS_A_IPV4 },
		{ DS_CMD_RDM_PEER_ADD, DS_A_IPV4 },
		{ DS_CMD_RDM_PEER_DEL, DS_A_IPV4 },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		EXPECT_EQ(-EINVAL, rdm_call(cases[i].cmd, nothing));
		EXPECT_EQ(cases[i].first, nl_answer.missing);
		EXPECT(nl_answer.text[0]);
	}
}

TEST(what_is_out_of_range_is_refused)
{
	static const struct {
		uint8_t cmd;
		uint16_t attr;
		uint32_t value;
	} cases[] = {
		{ DS_CMD_RDM_SPACE_ADD, DS_A_RDM_SPACE, DS_PACKET_SPACES },
		{ DS_CMD_RDM_SPACE_ADD, DS_A_KIND, DS_PACKET_HASH + 1 },
		{ DS_CMD_RDM_SPACE_ADD, DS_A_PAGE_SHIFT, DS_PACKET_PAGE_SHIFT_MIN - 1 },
		{ DS_CMD_RDM_SPACE_ADD, DS_A_PAGE_SHIFT, DS_PACKET_PAGE_SHIFT_MAX + 1 },
		{ DS_CMD_RDM_SPACE_ADD, DS_A_ACCESS, 0 },
		{ DS_CMD_RDM_SPACE_ADD, DS_A_ACCESS, DS_ACCESS_ALL + 1 },
		{ DS_CMD_RDM_LISTEN_ADD, DS_A_WIRE, 0 },
		{ DS_CMD_RDM_LISTEN_ADD, DS_A_WIRE, 3 },
		{ DS_CMD_RDM_LISTEN_ADD, DS_A_FLAGS, DS_RDM_ANSWER_WRITES << 1 },
	};
	struct nl_request r;
	size_t i;

	for (i = 0; i < ARRAY_LEN(cases); i++) {
		nl_begin(&r, cases[i].cmd, 0);
		nl_put_u32(&r, cases[i].attr, cases[i].value);
		EXPECT_EQ(-ERANGE, nl_call(&r));
		EXPECT_EQ(cases[i].attr, nl_fault(&r));
	}
}

/* The one space of the dump, in nl_answer. */
struct rdm_seen {
	int count;
	struct nl_answer object;
};

static void rdm_see(void *ctx)
{
	struct rdm_seen *seen = ctx;

	seen->count++;
	seen->object = nl_answer;
	EXPECT(!nl_find(DS_A_MAC_KEY));
}

static int rdm_see_all(uint8_t cmd)
{
	struct rdm_seen seen = { 0 };

	EXPECT_EQ(0, nl_dump(cmd, rdm_see, &seen, NULL));
	nl_answer = seen.object;
	return seen.count;
}

TEST(a_space_needs_a_segment_that_fits)
{
	struct rdm_space s = { .id = TEST_RDM, .segment = ABSENT_SEGMENT };
	uint64_t all, rw;

	prepare_host();
	EXPECT_EQ(-ENOENT, rdm_space_add(&s));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(-ENOENT, rdm_space_del(TEST_RDM));

	all = rdm_segment(TEST_LENGTH, DS_ACCESS_ALL, -1);
	rw = rdm_segment(TEST_LENGTH, DS_ACCESS_READ, -1);
	s.segment = all;
	s.length = TEST_LENGTH + PAGE;
	EXPECT_EQ(-EINVAL, rdm_space_add(&s));
	s.length = TEST_LENGTH - 1;
	EXPECT_EQ(-EINVAL, rdm_space_add(&s));
	s.length = 0;
	s.access = DS_ACCESS_ATOMIC;	/* peers' atomics are allowed there */
	EXPECT_EQ(-EINVAL, rdm_space_add(&s));
	s.segment = rw;
	s.access = RW;
	EXPECT_EQ(-EACCES, rdm_space_add(&s));
	EXPECT(nl_answer.text[0]);
	s.access = DS_ACCESS_READ | DS_ACCESS_ATOMIC;	/* it would be written */
	EXPECT_EQ(-EACCES, rdm_space_add(&s));
	s.access = 0;
	EXPECT_EQ(0, rdm_space_add(&s));
	EXPECT_EQ(1, rdm_see_all(DS_CMD_RDM_SPACE_GET));
	EXPECT_EQ(DS_ACCESS_READ, nl_get(DS_A_ACCESS));
	EXPECT_EQ(0, rdm_space_del(TEST_RDM));
	EXPECT_EQ(0, rdm_segment_del(all));
	EXPECT_EQ(0, rdm_segment_del(rw));
	tidy_host();
}

TEST(life_of_a_space)
{
	static const uint8_t key[DS_PACKET_KEY_LEN] = { 1, 2, 3 };
	struct rdm_space s = { .id = 65535, .kind = DS_PACKET_SEGMENTS, .tenant = 9, .key = key };
	uint64_t segment;

	prepare_host();
	segment = rdm_segment(TEST_LENGTH, RW, -1);
	s.segment = segment;
	EXPECT_EQ(0, rdm_space_add(&s));
	EXPECT_EQ(-EEXIST, rdm_space_add(&s));
	s.id = TEST_RDM;
	EXPECT_EQ(-EBUSY, rdm_space_add(&s));	/* the segment has one */
	EXPECT_EQ(-EBUSY, rdm_segment_del(segment));
	EXPECT(nl_answer.text[0]);

	EXPECT_EQ(1, rdm_see_all(DS_CMD_RDM_SPACE_GET));
	EXPECT_EQ(65535, nl_get(DS_A_RDM_SPACE));
	EXPECT_EQ(segment, nl_get(DS_A_SEGMENT));
	EXPECT_EQ(TEST_LENGTH, nl_get(DS_A_LENGTH));
	EXPECT_EQ(DS_PACKET_SEGMENTS, nl_get(DS_A_KIND));
	EXPECT_EQ(12, nl_get(DS_A_PAGE_SHIFT));
	EXPECT_EQ(9, nl_get(DS_A_TENANT));
	EXPECT_EQ(DS_ACCESS_ALL, nl_get(DS_A_ACCESS));
	EXPECT_EQ(1, nl_get(DS_A_KEYED));
	EXPECT_EQ(0, nl_get(DS_A_ALLOCATIONS));
	EXPECT_EQ(TEST_LENGTH, nl_get(DS_A_FREE));
	EXPECT_EQ(TEST_LENGTH, nl_get(DS_A_LARGEST));
	EXPECT_EQ(0, nl_get(DS_A_SESSIONS));

	EXPECT_EQ(0, rdm_space_del(65535));
	EXPECT_EQ(0, rdm_see_all(DS_CMD_RDM_SPACE_GET));
	EXPECT_EQ(0, rdm_segment_del(segment));
	tidy_host();
}

TEST(life_of_a_listener)
{
	EXPECT_EQ(-EADDRNOTAVAIL, rdm_listen(DS_CMD_RDM_LISTEN_ADD, 1, "0.0.0.0", 0));
	EXPECT_EQ(-EADDRNOTAVAIL, rdm_listen(DS_CMD_RDM_LISTEN_ADD, 1, "224.0.0.1", 0));
	EXPECT_EQ(-EADDRNOTAVAIL, rdm_listen(DS_CMD_RDM_LISTEN_ADD, 1, "127.255.255.255", 0));
	EXPECT_EQ(-EADDRNOTAVAIL, rdm_listen(DS_CMD_RDM_LISTEN_ADD, 1, "192.0.2.1", 0));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(-EINVAL, rdm_listen(DS_CMD_RDM_LISTEN_ADD, 2, SERVER, DS_RDM_ANSWER_WRITES));
	EXPECT_EQ(-ENOENT, rdm_listen(DS_CMD_RDM_LISTEN_DEL, 1, SERVER, 0));

	EXPECT_EQ(0, rdm_listen(DS_CMD_RDM_LISTEN_ADD, 1, SERVER, DS_RDM_ANSWER_WRITES));
	EXPECT_EQ(-EADDRINUSE, rdm_listen(DS_CMD_RDM_LISTEN_ADD, 1, SERVER, 0));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(1, rdm_see_all(DS_CMD_RDM_LISTEN_GET));
	EXPECT_EQ(1, nl_get(DS_A_WIRE));
	EXPECT_EQ(inet_addr(SERVER), nl_get(DS_A_IPV4));
	EXPECT_EQ(DS_PACKET1_PORT, nl_get(DS_A_PORT));
	EXPECT_EQ(DS_RDM_ANSWER_WRITES, nl_get(DS_A_FLAGS));
	EXPECT_EQ(-ENOENT, rdm_listen(DS_CMD_RDM_LISTEN_DEL, 2, SERVER, 0));
	EXPECT_EQ(0, rdm_listen(DS_CMD_RDM_LISTEN_DEL, 1, SERVER, 0));
	EXPECT_EQ(0, rdm_see_all(DS_CMD_RDM_LISTEN_GET));
}

TEST(life_of_a_host_that_may_send)
{
	EXPECT_EQ(-EINVAL, rdm_peer(DS_CMD_RDM_PEER_ADD, "255.255.255.255", -1));
	EXPECT_EQ(-ENOENT, rdm_peer(DS_CMD_RDM_PEER_DEL, FRIEND, -1));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(0, rdm_peer(DS_CMD_RDM_PEER_ADD, FRIEND, 9));
	EXPECT_EQ(-EEXIST, rdm_peer(DS_CMD_RDM_PEER_ADD, FRIEND, -1));
	EXPECT_EQ(1, rdm_see_all(DS_CMD_RDM_PEER_GET));
	EXPECT_EQ(inet_addr(FRIEND), nl_get(DS_A_IPV4));
	EXPECT_EQ(9, nl_get(DS_A_TENANT));
	EXPECT_EQ(0, rdm_peer(DS_CMD_RDM_PEER_DEL, FRIEND, -1));
	EXPECT_EQ(0, rdm_see_all(DS_CMD_RDM_PEER_GET));
}

TEST(a_file_behind_a_segment_must_be_one)
{
	struct nl_request r;
	int pipes[2], readable, fleeting;

	prepare_host();
	ASSERT_OK(pipe(pipes));
	fleeting = memfd_create("nothing stays of it", MFD_CLOEXEC);
	ASSERT(fleeting >= 0);
	readable = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ASSERT(readable >= 0);
	int fds[] = { 9999, pipes[1], readable, fleeting };
	int errors[] = { -EBADF, -EINVAL, -EINVAL, -EINVAL };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		nl_begin(&r, DS_CMD_SEG_ADD, 0);
		nl_put_u64(&r, DS_A_LENGTH, PAGE);
		nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN);
		nl_put_u32(&r, DS_A_FD, fds[i]);
		EXPECT_EQ(errors[i], nl_call(&r));
		EXPECT(nl_answer.text[0]);
	}
	close(readable);
	close(fleeting);
	close(pipes[0]);
	close(pipes[1]);
	tidy_host();
}

TEST(the_service_tests_itself)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_RDM_SELFTEST, 0);
	nl_put_u64(&r, DS_A_VALUE, 30000);
	EXPECT_EQ(0, nl_call(&r));
	EXPECT(nl_get(DS_A_PASSED) >= 30000 && nl_get(DS_A_PASSED) < 31000);
	EXPECT_EQ(0, nl_get(DS_A_FAILED));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Storage behind a segment's file that hangs, for longer than anybody waits for it. A
 * failpoint is that storage.
 */
#include "ds_test.h"
#include "ds_failpoint.h"
#include "ds_nl.h"
#include "ds_nl_host.h"
#include "ds_packets.h"
#include "ds_disk.h"

#define HANGS		"delay 30000 1"		/* thrice as long */
#define WAITED_MS	15000			/* for what waits for storage in vain */

static struct v1_packet p;

static int segment_add(int file)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_SEG_ADD, 0);
	nl_put_u64(&r, DS_A_LENGTH, TEST_LENGTH);
	nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN);
	nl_put_u32(&r, DS_A_FD, file);
	return nl_call(&r);
}

/* The storage answers at last: the segment can go. */
static int segment_del_later(uint64_t segment)
{
	uint64_t end = ds_now_ms() + 2 * WAITED_MS * ds_test_slow();
	int ret;

	while ((ret = rdm_segment_del(segment)) == -EAGAIN && ds_now_ms() < end)
		usleep(100000);
	return ret;
}

static void persist(int fd, uint64_t to)
{
	v1_fill(&p, TEST_RDM, APP_RDMA_OPCODE_WRITE_PERSISTENT, to, 64, 1);
	memset(p.bytes + 86, 'x', 64);
	ASSERT(send(fd, p.bytes, p.length, 0) == p.length);
}

/* It failed: in the memory is what was there before. */
static void failed(int fd, int timeout_ms)
{
	p.length = rdm_receive(fd, p.bytes, sizeof(p.bytes), timeout_ms * ds_test_slow());
	EXPECT_EQ(86, p.length);
	EXPECT_EQ(APP_RDMA_OPCODE_REPLY_READ_ERROR, p.bytes[22]);
	EXPECT_EQ(DS_PACKET_IO, v1_get64(p.bytes + 31));
}

TEST(commands_do_not_wait_for_storage_that_hangs)
{
	struct rdm_space s = { .kind = DS_PACKET_DIRECT };
	uint64_t segment, va, begin;
	int fd, hang, file = disk();

	prepare_host();
	s.segment = rdm_segment(TEST_LENGTH, DS_ACCESS_READ | DS_ACCESS_WRITE, file);
	segment = rdm_start(&s, 0);
	fd = rdm_socket(FRIEND, 1);
	EXPECT_EQ(APP_RDMA_OPCODE_REPLY_ALLOC, v1_call(fd, &p, APP_RDMA_OPCODE_ALLOC, 0, 4096));
	va = v1_get64(p.bytes + 23);

	hang = failpoint_open("storage");
	ASSERT_OK(failpoint_set(hang, HANGS));
	persist(fd, va);
	usleep(200000);
	begin = ds_now_ms();
	EXPECT_EQ(0, nl_dump(DS_CMD_RDM_SPACE_GET, NULL, NULL, NULL));
	EXPECT_EQ(1, rdm_counter("rdm 7", "ops_write_persistent"));
	EXPECT(ds_now_ms() - begin < 5000u * ds_test_slow());	/* who looks does not wait */
	EXPECT_EQ(0, rdm_listen(DS_CMD_RDM_LISTEN_DEL, 1, SERVER, 0));
	failed(fd, WAITED_MS);
	EXPECT_EQ(0, rdm_listen(DS_CMD_RDM_LISTEN_ADD, 1, SERVER, 0));

	/* Nobody waits for it twice, and who does not need it not at all. */
	persist(fd, va);
	failed(fd, ANSWER_MS);
	EXPECT_EQ(APP_RDMA_OPCODE_REPLY_READ, v1_call(fd, &p, APP_RDMA_OPCODE_READ, va, 64));
	EXPECT(p.bytes[86] != 'x');

	EXPECT_EQ(0, rdm_listen(DS_CMD_RDM_LISTEN_DEL, 1, SERVER, 0));
	EXPECT_EQ(0, rdm_listen(DS_CMD_RDM_LISTEN_DEL, 2, SERVER, 0));
	EXPECT_EQ(0, rdm_peer(DS_CMD_RDM_PEER_DEL, FRIEND, -1));
	EXPECT_EQ(0, rdm_peer(DS_CMD_RDM_PEER_DEL, OTHER, -1));
	EXPECT_EQ(0, rdm_space_del(TEST_RDM));
	/* It may still write: who gets the file next must not find that. */
	EXPECT_EQ(-EAGAIN, rdm_space_add(&s));
	EXPECT_EQ(-EAGAIN, rdm_segment_del(segment));
	EXPECT(strstr(nl_answer.text, "storage"));
	EXPECT_EQ(0, segment_del_later(segment));
	tidy_host();
}

TEST(a_segment_does_not_wait_for_storage_that_hangs)
{
	int file = disk(), hang = failpoint_open("storage");

	prepare_host();
	ASSERT_OK(failpoint_set(hang, HANGS));
	EXPECT_EQ(-ETIMEDOUT, segment_add(file));
	EXPECT(strstr(nl_answer.text, "storage"));
	EXPECT_EQ(0, segment_add(file));
	EXPECT_EQ(0, rdm_segment_del(nl_get(DS_A_SEGMENT)));
	tidy_host();
}

TEST(who_waits_for_storage_can_be_killed)
{
	int file = disk(), hang = failpoint_open("storage"), status;
	uint64_t begin;
	pid_t pid;

	prepare_host();
	ASSERT_OK(failpoint_set(hang, HANGS));
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		segment_add(file);
		_exit(0);
	}
	usleep(500000);
	begin = ds_now_ms();
	ASSERT_OK(kill(pid, SIGKILL));
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFSIGNALED(status));
	EXPECT(ds_now_ms() - begin < 5000u * ds_test_slow());
	tidy_host();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets on a peer connection, of this host to itself, to spaces whose storage is slow (a
 * failpoint is that storage). DS_TEST_SPACE_OF_TWO is a space with a server on each of two hosts,
 * the second one on this; DS_TEST_DOMAIN is its trust domain.
 */
#include <ds/wire.h>
#include "ds_test.h"
#include "ds_failpoint.h"
#include "ds_nl.h"
#include "ds_nl_host.h"
#include "ds_packets.h"
#include "ds_disk.h"
#include "ds_submit.h"

#define DISK	TEST_RDM
#define MEMORY	(TEST_RDM + 1)
#define SLOW	"delay 12000 1"
#define SOON_MS	5000

static uint64_t space_add(uint32_t id, int file)
{
	struct rdm_space s = { .id = id, .kind = DS_PACKET_DIRECT };
	struct nl_request r;

	nl_begin(&r, DS_CMD_SEG_ADD, 0);
	nl_put_u64(&r, DS_A_LENGTH, TEST_LENGTH);
	nl_put_u32(&r, DS_A_DOMAIN, ds_test_number("DS_TEST_DOMAIN", "its trust domain"));
	nl_put_u32(&r, DS_A_ACCESS, DS_ACCESS_READ | DS_ACCESS_WRITE);
	if (file >= 0)
		nl_put_u32(&r, DS_A_FD, file);
	ASSERT(nl_call(&r) == 0);
	s.segment = nl_get(DS_A_SEGMENT);
	ASSERT(rdm_space_add(&s) == 0);
	return s.segment;
}

static void space_del(uint32_t id, uint64_t segment)
{
	EXPECT_EQ(0, rdm_space_del(id));
	EXPECT_EQ(0, rdm_segment_del(segment));
}

/* A client of one of the spaces. */
struct client {
	int fd;
	uint32_t node, space, length;
	uint64_t session, seq, address;
	uint8_t answers[DS_MSG_MAX_PAYLOAD];
	pthread_t thread;
	int status;
};

/* Send @length bytes of packets; the status of the first answer. */
static int ask(struct client *c, const void *packets, uint32_t length)
{
	struct ds_ioc_msg_send arg = DS_ARG(ds_ioc_msg_send, .node = c->node,
					    .service = DS_SERVICE_PACKET,
					    .data = (uintptr_t)packets, .length = length,
					    .reply = (uintptr_t)c->answers,
					    .reply_size = sizeof(c->answers),
					    .timeout_ms = 40000);

	if (!EXPECT_OK(ds_ioctl(c->fd, DS_IOC_MSG_SEND, &arg)) || !EXPECT_EQ(0, arg.out_status))
		return -1;
	c->length = arg.out_reply_length;
	if (!EXPECT(c->length >= sizeof(struct ds_packet2_header)))
		return -1;
	return ((struct ds_packet2_header *)c->answers)->status;
}

static void fill(struct client *c, struct v2_packet *p, uint8_t opcode, uint64_t length)
{
	v2_begin(p, opcode);
	p->h.space = c->space;
	p->h.session = c->session;
	p->h.seq = ++c->seq;
	p->h.address = c->address;
	p->h.length = length;
}

static int call(struct client *c, struct v2_packet *p)
{
	v2_seal(p);
	return ask(c, p, v2_size(p));
}

static void client_open(struct client *c, int fd, uint32_t space)
{
	const struct ds_packet2_header *answer = (void *)c->answers;
	static struct v2_packet p;
	static uint64_t nonce;

	c->fd = fd;
	c->node = ds_own_node(fd);
	c->space = space;
	fill(c, &p, DS_PACKET_OPEN, 0);
	p.h.seq = ++nonce;
	ASSERT(call(c, &p) == DS_PACKET_OK);
	c->session = answer->session;
	c->seq = 0;
	fill(c, &p, DS_PACKET_ALLOC, 4096);
	ASSERT(call(c, &p) == DS_PACKET_OK);
	c->address = answer->address;
}

static void *persist(void *client)
{
	struct client *c = client;
	struct v2_packet *p = calloc(1, sizeof(*p));

	fill(c, p, DS_PACKET_WRITE_PERSISTENT, 64);
	p->h.part = 64;
	c->status = call(c, p);
	free(p);
	return NULL;
}

static void fill_ping(const struct client *c, struct v2_packet *p)
{
	v2_begin(p, DS_PACKET_PING);
	p->h.space = c->space;
}

static int ping(struct client *c)
{
	static struct v2_packet p;

	fill_ping(c, &p);
	return call(c, &p);
}

/* A fence of nobody, for which this host asks itself, too. */
static int ask_the_kernel(int fd)
{
	struct ds_ioc_space_open space = DS_ARG(ds_ioc_space_open, .access = DS_ACCESS_ALL,
		.space = ds_test_number("DS_TEST_SPACE_OF_TWO", "a space of two servers"));
	struct ds_ioc_fence arg = DS_ARG(ds_ioc_fence, .node = ds_own_node(fd), .token = 1,
					 .timeout_ms = 30000);

	ASSERT_OK(ds_ioctl(fd, DS_IOC_SPACE_OPEN, &space));
	arg.space = space.out_handle;
	return ds_ioctl(fd, DS_IOC_FENCE, &arg);
}

TEST(slow_storage_holds_up_its_own_space_only)
{
	static struct client slow[3], other;
	uint64_t disk_segment, memory_segment, begin;
	int fd = ds_open(), hang = failpoint_open("storage");

	disk_segment = space_add(DISK, disk());
	memory_segment = space_add(MEMORY, -1);
	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		client_open(&slow[i], fd, DISK);
	client_open(&other, fd, MEMORY);

	ASSERT_OK(failpoint_set(hang, SLOW));
	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		ASSERT(!pthread_create(&slow[i].thread, NULL, persist, &slow[i]));
	ds_sleep_ms(500);
	begin = ds_now_ms();
	EXPECT_EQ(DS_PACKET_OK, ping(&other));
	EXPECT_OK(ask_the_kernel(fd));
	EXPECT(ds_now_ms() - begin < SOON_MS);
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		pthread_join(slow[i].thread, NULL);
		/* The first one waits for 10 s, in vain; then nobody does. */
		EXPECT_EQ(DS_PACKET_IO, slow[i].status);
	}
	ds_sleep_ms(3000);
	EXPECT_EQ(DS_PACKET_OK, ping(&slow[0]));
	space_del(MEMORY, memory_segment);
	space_del(DISK, disk_segment);
}

/* Who waits for a space that is deleted is told that it is gone. */
TEST(a_space_ends_with_those_who_wait_for_it)
{
	static struct client slow[3];
	int fd = ds_open(), hang = failpoint_open("storage"), gone = 0;
	uint64_t segment = space_add(DISK, disk());

	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		client_open(&slow[i], fd, DISK);
	ASSERT_OK(failpoint_set(hang, "delay 3000 1"));
	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		ASSERT(!pthread_create(&slow[i].thread, NULL, persist, &slow[i]));
	ds_sleep_ms(1000);
	space_del(DISK, segment);
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		pthread_join(slow[i].thread, NULL);
		if (slow[i].status == DS_PACKET_NO_SPACE)
			gone++;
		else
			EXPECT_EQ(DS_PACKET_OK, slow[i].status);
	}
	EXPECT_EQ(2, gone);
}

TEST(a_message_is_for_one_space)
{
	static struct client a, b;
	struct ds_packet2_header *answer = (void *)a.answers;
	struct { struct ds_packet2_header h[3]; } message;
	uint64_t disk_segment = space_add(DISK, disk()), memory_segment = space_add(MEMORY, -1);
	static struct v2_packet p;
	int fd = ds_open();

	client_open(&a, fd, DISK);
	client_open(&b, fd, MEMORY);
	for (int i = 0; i < 3; i++) {
		fill_ping(i == 1 ? &b : &a, &p);
		v2_seal(&p);
		message.h[i] = p.h;
	}
	EXPECT_EQ(DS_PACKET_OK, ask(&a, &message, sizeof(message)));
	EXPECT_EQ(sizeof(*answer), a.length);
	EXPECT_EQ(message.h[0].tag, answer->tag);
	space_del(MEMORY, memory_segment);
	space_del(DISK, disk_segment);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: packets of the packet service for tests, byte by byte, and a service to send
 * them to: this host's own, on loopback addresses. Included after ds_nl_host.h.
 */
#ifndef DS_PACKETS_H
#define DS_PACKETS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <ds/ioctl.h>
#include <ds/packet.h>

#define TEST_RDM	7		/* number of the space */
#define TEST_LENGTH	(1ull << 20)
#define SERVER		"127.0.0.1"
#define FRIEND		"127.0.0.2"	/* may send packets */
#define OTHER		"127.0.0.3"	/* may too, for another tenant only */
#define STRANGER	"127.0.0.4"
#define SILENCE_MS	300		/* as long as that nothing comes: no answer */
#define ANSWER_MS	5000

#define V2_HEAD		((int)sizeof(struct ds_packet2_header))

/* ---- set up ---- */

static inline int rdm_call(uint8_t cmd, void (*fill)(struct nl_request *r))
{
	struct nl_request r;

	nl_begin(&r, cmd, 0);
	fill(&r);
	return nl_call(&r);
}

static inline uint64_t rdm_segment(uint64_t length, uint32_t access, int fd)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_SEG_ADD, 0);
	nl_put_u64(&r, DS_A_LENGTH, length);
	nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN);
	nl_put_u32(&r, DS_A_ACCESS, access);
	if (fd >= 0)
		nl_put_u32(&r, DS_A_FD, fd);
	ASSERT(nl_call(&r) == 0);
	return nl_get(DS_A_SEGMENT);
}

static inline int rdm_segment_del(uint64_t segment)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_SEG_DEL, 0);
	nl_put_u64(&r, DS_A_SEGMENT, segment);
	return nl_call(&r);
}

/* What a space of a test is, beyond its defaults. */
struct rdm_space {
	uint32_t id, kind, access, tenant;
	uint64_t segment, length;
	const uint8_t *key;
};

static inline int rdm_space_add(const struct rdm_space *s)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_RDM_SPACE_ADD, 0);
	nl_put_u32(&r, DS_A_RDM_SPACE, s->id);
	nl_put_u64(&r, DS_A_SEGMENT, s->segment);
	nl_put_u32(&r, DS_A_KIND, s->kind);
	nl_put_u32(&r, DS_A_TENANT, s->tenant);
	if (s->access)
		nl_put_u32(&r, DS_A_ACCESS, s->access);
	if (s->length)
		nl_put_u64(&r, DS_A_LENGTH, s->length);
	if (s->key)
		nl_put(&r, DS_A_MAC_KEY, s->key, DS_PACKET_KEY_LEN);
	return nl_call(&r);
}

static inline int rdm_space_del(uint32_t id)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_RDM_SPACE_DEL, 0);
	nl_put_u32(&r, DS_A_RDM_SPACE, id);
	return nl_call(&r);
}

static inline int rdm_listen(uint8_t cmd, uint32_t wire, const char *address, uint32_t flags)
{
	struct nl_request r;

	nl_begin(&r, cmd, 0);
	nl_put_u32(&r, DS_A_WIRE, wire);
	nl_put_u32(&r, DS_A_IPV4, inet_addr(address));
	if (flags)
		nl_put_u32(&r, DS_A_FLAGS, flags);
	return nl_call(&r);
}

static inline int rdm_peer(uint8_t cmd, const char *address, int tenant)
{
	struct nl_request r;

	nl_begin(&r, cmd, 0);
	nl_put_u32(&r, DS_A_IPV4, inet_addr(address));
	if (tenant >= 0)
		nl_put_u32(&r, DS_A_TENANT, tenant);
	return nl_call(&r);
}

/* A segment and a space on it that serves both versions to FRIEND and OTHER. */
static inline uint64_t rdm_start(struct rdm_space *s, uint32_t flags)
{
	prepare_host();
	s->id = TEST_RDM;
	if (!s->segment)
		s->segment = rdm_segment(TEST_LENGTH, DS_ACCESS_READ | DS_ACCESS_WRITE, -1);
	ASSERT(rdm_space_add(s) == 0);
	ASSERT(rdm_listen(DS_CMD_RDM_LISTEN_ADD, 1, SERVER, flags) == 0);
	ASSERT(rdm_listen(DS_CMD_RDM_LISTEN_ADD, 2, SERVER, 0) == 0);
	ASSERT(rdm_peer(DS_CMD_RDM_PEER_ADD, FRIEND, -1) == 0);
	ASSERT(rdm_peer(DS_CMD_RDM_PEER_ADD, OTHER, s->tenant + 1) == 0);
	return s->segment;
}

static inline void rdm_stop(uint64_t segment)
{
	EXPECT_EQ(0, rdm_peer(DS_CMD_RDM_PEER_DEL, OTHER, -1));
	EXPECT_EQ(0, rdm_peer(DS_CMD_RDM_PEER_DEL, FRIEND, -1));
	EXPECT_EQ(0, rdm_listen(DS_CMD_RDM_LISTEN_DEL, 2, SERVER, 0));
	EXPECT_EQ(0, rdm_listen(DS_CMD_RDM_LISTEN_DEL, 1, SERVER, 0));
	EXPECT_EQ(0, rdm_space_del(TEST_RDM));
	EXPECT_EQ(0, rdm_segment_del(segment));
	tidy_host();
}

/* A counter by the names that the dump gives it. */
struct rdm_counter {
	const char *object, *name;
	uint64_t value;
	int found;
};

static inline void rdm_counter_object(void *ctx)
{
	const struct nlattr *object = nl_find(DS_A_OBJECT), *name = nl_find(DS_A_NAME);
	struct rdm_counter *c = ctx;

	ASSERT(object && name);
	if (strcmp(nl_data(object), c->object) || strcmp(nl_data(name), c->name))
		return;
	c->value = nl_get(DS_A_VALUE);
	c->found++;
}

static inline uint64_t rdm_counter(const char *object, const char *name)
{
	struct rdm_counter c = { .object = object, .name = name };

	EXPECT_EQ(0, nl_dump(DS_CMD_STAT_GET, rdm_counter_object, &c, NULL));
	EXPECT_EQ(1, c.found);
	return c.value;
}

/* ---- sockets ---- */

/* A socket of the host @address that talks to the service of version @wire. */
static inline int rdm_socket(const char *address, int wire)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr(address) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr(SERVER) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ASSERT(fd >= 0);
	to.sin_port = htons(wire == 1 ? DS_PACKET1_PORT : DS_PACKET2_PORT);
	ASSERT_OK(bind(fd, (struct sockaddr *)&from, sizeof(from)));
	ASSERT_OK(connect(fd, (struct sockaddr *)&to, sizeof(to)));
	return fd;
}

/* Length of the answer, or -1: none came. */
static inline int rdm_receive(int fd, void *packet, int room, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t end = ds_now_ms() + timeout_ms;
	uint64_t now;
	int rc;

	do {
		now = ds_now_ms();
		rc = poll(&p, 1, now < end ? end - now : 0);
	} while (rc < 0 && errno == EINTR);
	return rc > 0 ? recv(fd, packet, room, 0) : -1;
}

/* ---- version 1 ---- */

struct v1_packet {
	int length;
	uint8_t bytes[70000];
};

static inline void v1_put64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

static inline uint64_t v1_get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* @units: of data */
static inline void v1_fill(struct v1_packet *p, uint8_t app, uint8_t opcode, uint64_t address,
			   uint64_t length, int units)
{
	memset(p->bytes, 0, 86 + units * 64);
	p->bytes[0] = app;
	p->bytes[22] = opcode;
	v1_put64(p->bytes + 23, address);
	v1_put64(p->bytes + 31, length);
	p->length = 86 + units * 64;
}

/* Send @p and put the answer in its place; its opcode, or -1. */
static inline int v1_ask(int fd, struct v1_packet *p, int timeout_ms)
{
	ASSERT(send(fd, p->bytes, p->length, 0) == p->length);
	p->length = rdm_receive(fd, p->bytes, sizeof(p->bytes), timeout_ms);
	return p->length < 86 ? -1 : p->bytes[22];
}

static inline int v1_call(int fd, struct v1_packet *p, uint8_t opcode, uint64_t address,
			  uint64_t length)
{
	v1_fill(p, TEST_RDM, opcode, address, length, 0);
	return v1_ask(fd, p, ANSWER_MS);
}

/* ---- version 2 ---- */

struct v2_packet {
	struct ds_packet2_header h;
	uint8_t data[66000];
} __attribute__((packed));

static inline uint32_t v2_crc(const uint8_t *p, size_t length)
{
	uint32_t crc = ~0u;
	int bit;

	while (length--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static inline int v2_size(const struct v2_packet *p)
{
	return V2_HEAD + (p->h.opcode == DS_PACKET_READ && !(p->h.flags & DS_PACKET2_REPLY) ?
			  0 : (int)p->h.part);
}

static inline void v2_seal(struct v2_packet *p)
{
	p->h.crc = v2_crc((uint8_t *)p + 12, v2_size(p) - 12);
}

static inline void v2_begin(struct v2_packet *p, uint8_t opcode)
{
	static uint32_t tag;

	memset(&p->h, 0, sizeof(p->h));
	p->h.magic = DS_PACKET2_MAGIC;
	p->h.version = DS_PACKET2_VERSION;
	p->h.opcode = opcode;
	p->h.tag = ++tag;
	p->h.space = TEST_RDM;
}

static inline void v2_send(int fd, struct v2_packet *p)
{
	v2_seal(p);
	ASSERT(send(fd, p, v2_size(p), 0) == v2_size(p));
}

/* Status of the answer, which is in @answer; -1: none came, -2: it is not one to @p. */
static inline int v2_take(int fd, const struct v2_packet *p, struct v2_packet *answer,
			  int timeout_ms)
{
	int length = rdm_receive(fd, answer, sizeof(*answer), timeout_ms);

	if (length < 0)
		return -1;
	if (length < V2_HEAD || length != v2_size(answer) || answer->h.tag != p->h.tag ||
	    answer->h.opcode != p->h.opcode || !(answer->h.flags & DS_PACKET2_REPLY) ||
	    answer->h.crc != v2_crc((uint8_t *)answer + 12, length - 12))
		return -2;
	return answer->h.status;
}

static inline int v2_ask(int fd, struct v2_packet *p, struct v2_packet *answer)
{
	v2_send(fd, p);
	return v2_take(fd, p, answer, ANSWER_MS);
}

/* A session of @fd's host. */
static inline uint64_t v2_open(int fd, uint64_t nonce)
{
	static struct v2_packet p, a;

	v2_begin(&p, DS_PACKET_OPEN);
	p.h.seq = nonce;
	EXPECT_EQ(DS_PACKET_OK, v2_ask(fd, &p, &a));
	return a.h.session;
}

#endif

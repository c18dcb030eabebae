// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: whatever makes tokens, with the first, second, ... of them failing, until none is left to
 * fail: a clear error each time, and nothing stays. DS_TEST_ADDRESS is an IPv4 address of this
 * host on an RDMA device; the host must have no peers.
 */
#include "ds_test.h"
#include "ds_nl.h"
#include "ds_nl_host.h"
#include "ds_failpoint.h"
#include "ds_packets.h"
#include "ds_proc.h"

#define LENGTH	(6ull << 20)	/* three chunks */
#define MOST	500		/* something with more tokens than this is a loop */
#define SETTLE_MS	(10000 * ds_test_slow())	/* others let go a little later */

/* ---- what there is ---- */

struct gauge {
	uint64_t tokens, resources, keys, devices, peers, segments, spaces, attaches, rdm_spaces;
};

static void count_object(void *ctx)
{
	++*(uint64_t *)ctx;
}

static uint64_t objects(uint8_t dump)
{
	uint64_t count = 0;

	EXPECT_EQ(0, nl_dump(dump, count_object, &count, NULL));
	return count;
}

static uint64_t tokens(void)
{
	FILE *f = fopen("/sys/kernel/debug/ds/tokens", "re");
	unsigned long count;

	ASSERT(f && fscanf(f, "%lu", &count) == 1);
	fclose(f);
	return count;
}

static struct gauge gauge(void)
{
	return (struct gauge){
		.tokens = tokens(),
		.resources = resources(),
		.keys = rdm_counter("module", "keys_registered") -
			rdm_counter("module", "keys_revoked"),
		.devices = objects(DS_CMD_DEV_GET),
		.peers = objects(DS_CMD_PEER_GET),
		.segments = objects(DS_CMD_SEG_GET),
		.spaces = objects(DS_CMD_SPACE_GET),
		.attaches = objects(DS_CMD_ATTACH_GET),
		.rdm_spaces = objects(DS_CMD_RDM_SPACE_GET),
	};
}

static bool is_again(const struct gauge *before)
{
	struct gauge now;
	uint64_t end = ds_now_ms() + SETTLE_MS;

	do {
		now = gauge();
		if (!memcmp(&now, before, sizeof(now)))
			return true;
		ds_sleep_ms(10);
	} while (ds_now_ms() < end);
	EXPECT_EQ(before->tokens, now.tokens);
	EXPECT_EQ(before->resources, now.resources);
	EXPECT_EQ(before->keys, now.keys);
	EXPECT_EQ(before->devices, now.devices);
	EXPECT_EQ(before->peers, now.peers);
	EXPECT_EQ(before->segments, now.segments);
	EXPECT_EQ(before->spaces, now.spaces);
	EXPECT_EQ(before->attaches, now.attaches);
	EXPECT_EQ(before->rdm_spaces, now.rdm_spaces);
	return false;
}

/* The other end of a connection lets go of its domain a little later. */
static void tidy(void)
{
	uint64_t end = ds_now_ms() + SETTLE_MS;
	int ret;

	while ((ret = domain_call(DS_CMD_DOMAIN_DEL, TEST_DOMAIN)) == -EBUSY && ds_now_ms() < end)
		ds_sleep_ms(10);
	EXPECT_EQ(0, ret);
}

/* ---- the sweep ---- */

/*
 * Let each token of what @make makes fail once. @make: 0 or a negative errno; @end undoes what it
 * made; @may: what it may give, besides -ENOMEM, with a token that failed.
 */
static void sweep(const char *name, int (*make)(void), void (*end)(void), bool (*may)(int ret))
{
	int failpoint = failpoint_open("token_add"), nth, ret;
	struct gauge before = gauge();
	bool failed = true;
	unsigned long hits;
	char text[32];

	for (nth = 0; failed && nth < MOST; nth++) {
		snprintf(text, sizeof(text), "fail %d 1 %d", ENOMEM, nth);
		ASSERT_OK(failpoint_set(failpoint, text));
		ret = make();
		failed = !strcmp(failpoint_get(failpoint, &hits), "off");
		ASSERT_OK(failpoint_set(failpoint, "off"));
		if (!failed)
			break;
		if (!EXPECT(ret == -ENOMEM || (may && may(ret))))
			printf("# %s: %s without token %d\n", name, ds_errno_name(-ret), nth);
		if (!ret)
			end();
		if (!is_again(&before)) {
			printf("# %s: left without token %d\n", name, nth);
			return;
		}
	}
	EXPECT_EQ(0, ret);
	printf("# %s: %d tokens\n", name, nth);
	EXPECT(nth > 0);
	EXPECT_EQ(before.tokens + nth, tokens());
	end();
	EXPECT(is_again(&before));
}

/* What @make gives if all tokens are used up when it wants its @nth, counted from 0. */
static int make_without(int (*make)(void), int nth, int how)
{
	int failpoint = failpoint_open("token_add"), ret;
	unsigned long hits;
	char text[32];

	snprintf(text, sizeof(text), "fail %d 1 %d", how, nth);
	ASSERT_OK(failpoint_set(failpoint, text));
	ret = make();
	EXPECT(!strcmp(failpoint_get(failpoint, &hits), "off"));
	ASSERT_OK(failpoint_set(failpoint, "off"));
	return ret;
}

/* ---- what makes tokens ---- */

static uint32_t own_address(void)
{
	if (!getenv("DS_TEST_ADDRESS"))
		SKIP("DS_TEST_ADDRESS is not set: it is this host's, on an RDMA device");
	return inet_addr(getenv("DS_TEST_ADDRESS"));
}

static uint64_t segment;

static int add_rdm_space(void)
{
	struct rdm_space s = { .id = TEST_RDM, .kind = DS_PACKET_DIRECT, .segment = segment };

	return rdm_space_add(&s);
}

static void del_rdm_space(void)
{
	EXPECT_EQ(0, rdm_space_del(TEST_RDM));
}

TEST(a_space_of_packets)
{
	prepare_host();
	segment = rdm_segment(LENGTH, DS_ACCESS_READ | DS_ACCESS_WRITE, -1);
	sweep("a space of packets", add_rdm_space, del_rdm_space, NULL);
	EXPECT_EQ(0, rdm_segment_del(segment));
	tidy();
}

/* Its device has its share of them, or all are in use. */
static const int used_up[] = { ENOSPC, EDQUOT };

TEST(no_token_is_left_for_a_space_of_packets)
{
	size_t i;

	prepare_host();
	segment = rdm_segment(LENGTH, DS_ACCESS_READ | DS_ACCESS_WRITE, -1);
	for (i = 0; i < ARRAY_LEN(used_up); i++)
		EXPECT_EQ(-ENOSPC, make_without(add_rdm_space, 1, used_up[i]));
	EXPECT_EQ(0, rdm_segment_del(segment));
	tidy();
}

/* This host is its own peer: it makes the tokens of both ends. */
static int peer_call(uint8_t cmd)
{
	struct nl_request r;

	nl_begin(&r, cmd, 0);
	nl_put_u32(&r, DS_A_IPV4, own_address());
	if (cmd == DS_CMD_PEER_ADD) {
		nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN);
		nl_put_u32(&r, DS_A_TIMEOUT_MS, 20000);
	}
	return nl_call(&r);
}

static int add_peer(void)
{
	return peer_call(DS_CMD_PEER_ADD);
}

static void del_peer(void)
{
	EXPECT_EQ(0, peer_call(DS_CMD_PEER_DEL));
}

/* It connects again, but for one that is refused, which is told and is not kept. */
static bool peer_may(int ret)
{
	return !ret || ret == -ECONNREFUSED;
}

TEST(a_connection)
{
	own_address();
	prepare_host();
	sweep("a connection", add_peer, del_peer, peer_may);
	tidy();
}

static int space_call(uint8_t cmd)
{
	struct nl_request r;

	nl_begin(&r, cmd, 0);
	nl_put_u32(&r, DS_A_SPACE, TEST_SPACE);
	if (cmd == DS_CMD_SPACE_ADD) {
		nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN);
		nl_put_u32(&r, DS_A_SERVERS, 1);
		nl_put_u32(&r, DS_A_SERVER_SHIFT, 24);
	}
	return nl_call(&r);
}

static int attach(void)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_NODE_GET, 0);
	ASSERT(nl_call(&r) == 0);
	nl_begin(&r, DS_CMD_ATTACH_ADD, 0);
	nl_put_u32(&r, DS_A_SPACE, TEST_SPACE);
	nl_put_u32(&r, DS_A_SERVER, 0);
	nl_put_u32(&r, DS_A_NODE, nl_get(DS_A_NODE));
	nl_put_u64(&r, DS_A_SEGMENT, segment);
	return nl_call(&r);
}

static void detach(void)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_ATTACH_DEL, 0);
	nl_put_u32(&r, DS_A_SPACE, TEST_SPACE);
	nl_put_u32(&r, DS_A_SERVER, 0);
	EXPECT_EQ(0, nl_call(&r));
}

/* Half of its tokens are of the keys, the others of who was given them. */
TEST(a_segment_that_is_attached)
{
	own_address();
	prepare_host();
	segment = rdm_segment(LENGTH, DS_ACCESS_ALL, -1);
	ASSERT(add_peer() == 0);
	ASSERT(space_call(DS_CMD_SPACE_ADD) == 0);
	sweep("a segment that is attached", attach, detach, NULL);
	EXPECT_EQ(0, space_call(DS_CMD_SPACE_DEL));
	del_peer();
	EXPECT_EQ(0, rdm_segment_del(segment));
	tidy();
}

/* Of -EDQUOT who attaches would think that he has attached too much. */
TEST(no_token_is_left_for_a_segment_that_is_attached)
{
	struct gauge before;
	size_t i;
	int keys;

	own_address();
	prepare_host();
	segment = rdm_segment(LENGTH, DS_ACCESS_ALL, -1);
	ASSERT(add_peer() == 0);
	ASSERT(space_call(DS_CMD_SPACE_ADD) == 0);
	before = gauge();
	ASSERT(attach() == 0);
	keys = (int)(tokens() - before.tokens) / 2;
	detach();
	ASSERT(is_again(&before));
	for (i = 0; i < ARRAY_LEN(used_up); i++) {
		EXPECT_EQ(-ENOMEM, make_without(attach, 0, used_up[i]));
		EXPECT_EQ(-ENOSPC, make_without(attach, keys, used_up[i]));
	}
	EXPECT_EQ(0, space_call(DS_CMD_SPACE_DEL));
	del_peer();
	EXPECT_EQ(0, rdm_segment_del(segment));
	tidy();
}

/* DS_TEST_LINK is the RDMA link of the only device, as `rdma link add` wants it. */
static const char *link_text(void)
{
	if (!getenv("DS_TEST_LINK"))
		SKIP("DS_TEST_LINK is not set: it is a soft-RoCE link that may be made anew");
	return getenv("DS_TEST_LINK");
}

static int run_rdma(const char *format, const char *link)
{
	char command[128];

	snprintf(command, sizeof(command), format, link);
	return system(command);
}

static void del_link(void)
{
	EXPECT_EQ(0, run_rdma("set %s; rdma link delete $1", link_text()));
}

/* The kernel does not tell that we could not take the device. */
static int add_link(void)
{
	EXPECT_EQ(0, run_rdma("rdma link add %s", link_text()));
	if (objects(DS_CMD_DEV_GET))
		return 0;
	del_link();
	return -ENOMEM;
}

TEST(a_device)
{
	link_text();
	del_link();
	sweep("a device", add_link, del_link, NULL);
	EXPECT_EQ(0, add_link());
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family "ds": lives of the objects that need no other host, dumps
 * and events.
 */
#include "ds_test.h"
#include "ds_nl.h"
#include "ds_nl_host.h"
#include "ds_failpoint.h"

/* ---- lives of objects ---- */

static uint64_t add_segment(uint64_t length, uint32_t domain, const char *name)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_SEG_ADD, 0);
	nl_put_u64(&r, DS_A_LENGTH, length);
	nl_put_u32(&r, DS_A_DOMAIN, domain);
	nl_put_u32(&r, DS_A_ACCESS, DS_ACCESS_READ | DS_ACCESS_WRITE);
	if (name)
		nl_put(&r, DS_A_NAME, name, strlen(name) + 1);
	ASSERT(nl_call(&r) == 0);
	ASSERT(nl_find(DS_A_SEGMENT));
	return nl_get(DS_A_SEGMENT);
}

static int segment_call(uint8_t cmd, uint64_t segment)
{
	struct nl_request r;

	nl_begin(&r, cmd, 0);
	nl_put_u64(&r, DS_A_SEGMENT, segment);
	return nl_call(&r);
}

/* Looks through a dump for the object whose attribute @type is @value; keeps it. */
struct search {
	uint16_t type;
	uint64_t value;
	int found, objects;
	struct nl_answer object;
};

static void search_object(void *ctx)
{
	struct search *s = ctx;

	s->objects++;
	EXPECT(!nl_find(DS_A_KEY));
	if (nl_get(s->type) == s->value) {
		s->found++;
		s->object = nl_answer;
	}
}

/* How often it is there; the last one is in nl_answer then. */
static int search(uint8_t dump, uint16_t type, uint64_t value)
{
	struct search s = { .type = type, .value = value };

	EXPECT_EQ(0, nl_dump(dump, search_object, &s, NULL));
	nl_answer = s.object;
	return s.found;
}

TEST(identity_of_the_host)
{
	struct nl_request r;
	const struct nlattr *uuid;

	prepare_host();
	nl_begin(&r, DS_CMD_NODE_GET, 0);
	ASSERT(nl_call(&r) == 0);
	EXPECT(nl_get(DS_A_NODE) >= 1 && nl_get(DS_A_NODE) <= 65535);
	EXPECT(nl_find(DS_A_INCARNATION) && nl_get(DS_A_INCARNATION) != 0);
	EXPECT(nl_find(DS_A_GROUP));
	EXPECT(nl_find(DS_A_VERSION));
	EXPECT(nl_get(DS_A_PORT) >= 1024 && nl_get(DS_A_PORT) <= 65535);
	EXPECT(nl_get(DS_A_LANES) >= 1 && nl_get(DS_A_LANES) <= 32);
	uuid = nl_find(DS_A_UUID);
	ASSERT(uuid && uuid->nla_len == NLA_HDRLEN + DS_UUID_LEN);
	EXPECT_EQ(4, ((const uint8_t *)nl_data(uuid))[6] >> 4);	/* random, as RFC 9562 has it */
	tidy_host();
}

TEST(life_of_a_domain)
{
	uint64_t segment;

	prepare_host();
	EXPECT_EQ(1, search(DS_CMD_DOMAIN_GET, DS_A_DOMAIN, TEST_DOMAIN));
	EXPECT_EQ(0, search(DS_CMD_DOMAIN_GET, DS_A_DOMAIN, ABSENT_DOMAIN));
	EXPECT_EQ(-EEXIST, domain_call(DS_CMD_DOMAIN_ADD, TEST_DOMAIN));
	EXPECT(nl_answer.text[0]);

	segment = add_segment(4096, TEST_DOMAIN, NULL);
	EXPECT_EQ(-EBUSY, domain_call(DS_CMD_DOMAIN_DEL, TEST_DOMAIN));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(0, segment_call(DS_CMD_SEG_DEL, segment));
	EXPECT_EQ(0, domain_call(DS_CMD_DOMAIN_DEL, TEST_DOMAIN));
	EXPECT_EQ(-ENOENT, domain_call(DS_CMD_DOMAIN_DEL, TEST_DOMAIN));
	EXPECT_EQ(0, search(DS_CMD_DOMAIN_GET, DS_A_DOMAIN, TEST_DOMAIN));
}

TEST(life_of_a_segment)
{
	const uint64_t length = 5 << 20;
	uint64_t first, second;

	prepare_host();
	first = add_segment(length, TEST_DOMAIN, "netlink abi");
	second = add_segment(4096, TEST_DOMAIN, NULL);
	EXPECT(second > first);

	EXPECT_EQ(1, search(DS_CMD_SEG_GET, DS_A_SEGMENT, first));
	EXPECT_EQ(length, nl_get(DS_A_LENGTH));
	EXPECT_EQ(3, nl_get(DS_A_CHUNKS));
	EXPECT_EQ(TEST_DOMAIN, nl_get(DS_A_DOMAIN));
	EXPECT_EQ(DS_ACCESS_READ | DS_ACCESS_WRITE, nl_get(DS_A_ACCESS));
	EXPECT_EQ(-1, (int32_t)nl_get(DS_A_NUMA_NODE));
	EXPECT_EQ(0, nl_get(DS_A_ATTACHED));
	EXPECT_EQ(0, nl_get(DS_A_FLAGS));
	ASSERT(nl_find(DS_A_NAME));
	EXPECT(!strcmp(nl_data(nl_find(DS_A_NAME)), "netlink abi"));
	EXPECT_EQ(1, search(DS_CMD_SEG_GET, DS_A_SEGMENT, second));
	EXPECT(!nl_find(DS_A_NAME));

	EXPECT_EQ(0, segment_call(DS_CMD_SEG_REVOKE, first));
	EXPECT_EQ(1, search(DS_CMD_SEG_GET, DS_A_SEGMENT, first));
	EXPECT_EQ(0, segment_call(DS_CMD_SEG_DEL, first));
	EXPECT_EQ(0, search(DS_CMD_SEG_GET, DS_A_SEGMENT, first));
	EXPECT_EQ(-ENOENT, segment_call(DS_CMD_SEG_DEL, first));
	EXPECT_EQ(-ENOENT, segment_call(DS_CMD_SEG_REVOKE, first));
	EXPECT(add_segment(4096, TEST_DOMAIN, NULL) > second);	/* no number is used twice */
	EXPECT_EQ(0, segment_call(DS_CMD_SEG_DEL, second + 1));
	EXPECT_EQ(0, segment_call(DS_CMD_SEG_DEL, second));
	tidy_host();
}

TEST(a_segment_of_an_open_file_belongs_to_it)
{
	struct ds_ioc_seg_create arg = DS_ARG(ds_ioc_seg_create, .length = 4096,
		.domain = TEST_DOMAIN, .access = DS_ACCESS_ALL, .numa_node = -1);
	int fd = ds_open();

	prepare_host();
	ASSERT_OK(ds_ioctl(fd, DS_IOC_SEG_CREATE, &arg));
	EXPECT_EQ(1, search(DS_CMD_SEG_GET, DS_A_SEGMENT, arg.out_segment));
	EXPECT_EQ(-EPERM, segment_call(DS_CMD_SEG_DEL, arg.out_segment));
	EXPECT(nl_answer.text[0]);
	close(fd);
	EXPECT_EQ(0, search(DS_CMD_SEG_GET, DS_A_SEGMENT, arg.out_segment));
	tidy_host();
}

/* A program may have as many as it has memory, and nobody may have to wait for that. */
TEST(many_segments_are_listed_soon)
{
	struct ds_ioc_seg_create arg = DS_ARG(ds_ioc_seg_create, .length = 4096,
		.domain = TEST_DOMAIN, .access = DS_ACCESS_ALL, .numa_node = -1);
	uint64_t start;
	int files[32];

	prepare_host();
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		files[i] = ds_open();
		for (int k = 0; k < 250; k++)
			ASSERT_OK(ds_ioctl(files[i], DS_IOC_SEG_CREATE, &arg));
	}
	start = ds_now_ms();
	EXPECT_EQ(1, search(DS_CMD_SEG_GET, DS_A_SEGMENT, arg.out_segment));
	printf("# %llu ms\n", (unsigned long long)(ds_now_ms() - start));
	EXPECT(ds_now_ms() - start < 5000u * ds_test_slow());
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		close(files[i]);
	tidy_host();
}

static int space_call(uint8_t cmd, uint32_t space)
{
	struct nl_request r;

	nl_begin(&r, cmd, 0);
	nl_put_u32(&r, DS_A_SPACE, space);
	if (cmd == DS_CMD_SPACE_ADD) {
		nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN);
		nl_put_u32(&r, DS_A_SERVERS, 3);
		nl_put_u32(&r, DS_A_SERVER_SHIFT, 26);
		nl_put_u32(&r, DS_A_UID, 1000);
		nl_put_u32(&r, DS_A_ACCESS, DS_ACCESS_READ);
	}
	return nl_call(&r);
}

TEST(life_of_a_space)
{
	struct nl_request r;

	prepare_host();
	EXPECT_EQ(0, space_call(DS_CMD_SPACE_ADD, TEST_SPACE));
	EXPECT_EQ(-EEXIST, space_call(DS_CMD_SPACE_ADD, TEST_SPACE));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(1, search(DS_CMD_SPACE_GET, DS_A_SPACE, TEST_SPACE));
	EXPECT_EQ(TEST_DOMAIN, nl_get(DS_A_DOMAIN));
	EXPECT_EQ(3, nl_get(DS_A_SERVERS));
	EXPECT_EQ(26, nl_get(DS_A_SERVER_SHIFT));
	EXPECT_EQ(1000, nl_get(DS_A_UID));
	EXPECT_EQ(DS_ACCESS_READ, nl_get(DS_A_ACCESS));
	EXPECT_EQ(0, nl_get(DS_A_ATTACHED));
	EXPECT_EQ(0, search(DS_CMD_ATTACH_GET, DS_A_SPACE, TEST_SPACE));
	EXPECT_EQ(-EBUSY, domain_call(DS_CMD_DOMAIN_DEL, TEST_DOMAIN));

	nl_begin(&r, DS_CMD_ATTACH_ADD, 0);
	nl_put_u32(&r, DS_A_SPACE, TEST_SPACE);
	nl_put_u32(&r, DS_A_SERVER, 0);
	nl_put_u32(&r, DS_A_NODE, ABSENT_NODE);
	nl_put_u64(&r, DS_A_SEGMENT, 1);
	EXPECT_EQ(-ENOTCONN, nl_call(&r));
	EXPECT(nl_answer.text[0]);
	nl_begin(&r, DS_CMD_ATTACH_ADD, 0);
	nl_put_u32(&r, DS_A_SPACE, TEST_SPACE);
	nl_put_u32(&r, DS_A_SERVER, 3);		/* one past the last */
	nl_put_u32(&r, DS_A_NODE, ABSENT_NODE);
	nl_put_u64(&r, DS_A_SEGMENT, 1);
	EXPECT(nl_call(&r) < 0);
	EXPECT(nl_answer.text[0]);
	nl_begin(&r, DS_CMD_ATTACH_DEL, 0);
	nl_put_u32(&r, DS_A_SPACE, TEST_SPACE);
	nl_put_u32(&r, DS_A_SERVER, 0);
	EXPECT_EQ(-ENOENT, nl_call(&r));
	EXPECT(nl_answer.text[0]);

	EXPECT_EQ(0, space_call(DS_CMD_SPACE_DEL, TEST_SPACE));
	EXPECT_EQ(-ENOENT, space_call(DS_CMD_SPACE_DEL, TEST_SPACE));
	EXPECT_EQ(0, search(DS_CMD_SPACE_GET, DS_A_SPACE, TEST_SPACE));
	tidy_host();
}

#define FILES	30	/* of each of two spaces */

/* Handles of the space on the files, 1000 on each, all of them enrolled. */
static void enroll_many(uint32_t space, int files[FILES])
{
	struct ds_ioc_space_open open = DS_ARG(ds_ioc_space_open, .access = DS_ACCESS_READ,
					       .space = space);
	struct ds_ioc_enroll enroll = DS_ARG(ds_ioc_enroll);

	for (int i = 0; i < FILES; i++) {
		files[i] = ds_open();
		for (int k = 0; k < 1000; k++) {
			ASSERT_OK(ds_ioctl(files[i], DS_IOC_SPACE_OPEN, &open));
			enroll.space = open.out_handle;
			ASSERT_OK(ds_ioctl(files[i], DS_IOC_ENROLL, &enroll));
		}
	}
}

/* Also beside those of another space, which are not ended. */
TEST(many_clients_end_soon)
{
	int files[2][FILES];
	uint64_t start;

	prepare_host();
	for (uint32_t i = 0; i < 2; i++) {
		EXPECT_EQ(0, space_call(DS_CMD_SPACE_ADD, TEST_SPACE + i));
		enroll_many(TEST_SPACE + i, files[i]);
	}
	start = ds_now_ms();
	EXPECT_EQ(0, space_call(DS_CMD_SPACE_DEL, TEST_SPACE + 1));
	printf("# %llu ms\n", (unsigned long long)(ds_now_ms() - start));
	EXPECT(ds_now_ms() - start < 2000u * ds_test_slow());
	EXPECT_EQ(0, space_call(DS_CMD_SPACE_DEL, TEST_SPACE));
	for (int i = 0; i < FILES; i++) {
		close(files[0][i]);
		close(files[1][i]);
	}
	tidy_host();
}

TEST(an_open_file_is_seen)
{
	int before, fd;

	before = search(DS_CMD_FILE_GET, DS_A_PID, getpid());
	EXPECT_EQ(0, before);
	fd = ds_open();
	ds_make_buf(fd, PAGE, NULL);
	EXPECT_EQ(1, search(DS_CMD_FILE_GET, DS_A_PID, getpid()));
	EXPECT_EQ(1, nl_get(DS_A_BUFS));
	EXPECT_EQ(0, nl_get(DS_A_UID));
	ASSERT(nl_find(DS_A_COMM));
	EXPECT(!strncmp(nl_data(nl_find(DS_A_COMM)), "netlink_objects", 15));
	close(fd);
	EXPECT_EQ(0, search(DS_CMD_FILE_GET, DS_A_PID, getpid()));
}

/* ---- a peer that is not there ---- */

#define NOBODY	"\xc0\x00\x02\x63"	/* 192.0.2.99: kept free for documentation */

static void peer_request(struct nl_request *r, uint8_t cmd, uint32_t timeout_ms)
{
	nl_begin(r, cmd, 0);
	nl_put(r, DS_A_IPV4, NOBODY, 4);
	if (cmd == DS_CMD_PEER_ADD) {
		nl_put_u32(r, DS_A_DOMAIN, TEST_DOMAIN);
		nl_put_u32(r, DS_A_TIMEOUT_MS, timeout_ms);
	}
}

static int peer_call(uint8_t cmd, uint32_t timeout_ms)
{
	struct nl_request r;

	peer_request(&r, cmd, timeout_ms);
	return nl_call(&r);
}

static int search_nobody(void)
{
	uint32_t address;

	memcpy(&address, NOBODY, sizeof(address));
	return search(DS_CMD_PEER_GET, DS_A_IPV4, address);
}

TEST(a_peer_that_does_not_answer_stays)
{
	uint64_t start;

	prepare_host();
	start = ds_ticks_ms();
	EXPECT_EQ(-ETIMEDOUT, peer_call(DS_CMD_PEER_ADD, 700));
	EXPECT(ds_waited(ds_ticks_ms() - start, 700));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(1, search_nobody());
	EXPECT_EQ(DS_PEER_CONNECTING, nl_get(DS_A_STATE));
	EXPECT_EQ(TEST_DOMAIN, nl_get(DS_A_DOMAIN));
	EXPECT_EQ(0, nl_get(DS_A_PASSIVE));
	EXPECT(nl_find(DS_A_PORT) && nl_find(DS_A_REASON));
	EXPECT(!nl_find(DS_A_NODE) && !nl_find(DS_A_LANES));

	EXPECT_EQ(-EEXIST, peer_call(DS_CMD_PEER_ADD, 700));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(-EBUSY, domain_call(DS_CMD_DOMAIN_DEL, TEST_DOMAIN));
	EXPECT_EQ(0, peer_call(DS_CMD_PEER_DEL, 0));
	EXPECT_EQ(-ENOENT, peer_call(DS_CMD_PEER_DEL, 0));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(0, search_nobody());
	tidy_host();
}

/* Commands run in parallel: one that waits keeps nobody from the others. */
TEST(a_peer_is_deleted_while_it_is_added)
{
	int status;
	pid_t pid;

	prepare_host();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		nl_renew();
		EXPECT_EQ(-ENOENT, peer_call(DS_CMD_PEER_ADD, 15000));
		EXPECT(nl_answer.text[0]);
		exit(ds_test_failed);
	}
	while (!search_nobody())
		ds_sleep_ms(10);
	EXPECT_EQ(0, peer_call(DS_CMD_PEER_DEL, 0));
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT_EQ(0, status);
	tidy_host();
}

TEST(a_fatal_signal_ends_the_wait_for_a_peer)
{
	uint64_t start;
	int status;
	pid_t pid;

	prepare_host();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		nl_renew();
		peer_call(DS_CMD_PEER_ADD, 15000);
		exit(0);
	}
	while (!search_nobody())
		ds_sleep_ms(10);
	start = ds_now_ms();
	kill(pid, SIGKILL);
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFSIGNALED(status));
	EXPECT(ds_now_ms() - start < 3000);
	EXPECT_EQ(1, search_nobody());	/* it was added, and is kept as at the end of the time */
	EXPECT_EQ(0, peer_call(DS_CMD_PEER_DEL, 0));
	tidy_host();
}

/* ---- dumps and events ---- */

static void count_counters(void *ctx)
{
	const struct nlattr *object = nl_find(DS_A_OBJECT), *name = nl_find(DS_A_NAME);
	int *counters = ctx;

	EXPECT(name && nl_find(DS_A_VALUE));
	*counters += object && !strcmp(nl_data(object), "module");
}

TEST(counters_have_names)
{
	int counters = 0;

	EXPECT_EQ(0, nl_dump(DS_CMD_STAT_GET, count_counters, &counters, NULL));
	EXPECT_EQ(28, counters);
}

#define MANY	400	/* domains, for a dump of several buffers */

static void set_domains(uint8_t cmd)
{
	uint32_t i;

	for (i = 1; i <= MANY; i++)
		EXPECT_EQ(0, domain_call(cmd, 1000 + i));
}

static void note_domain(void *ctx)
{
	uint8_t *seen = ctx;
	uint64_t domain = nl_get(DS_A_DOMAIN);

	if (domain > 1000 && domain <= 1000 + MANY)
		seen[domain - 1001]++;
}

TEST(a_long_dump_is_whole)
{
	uint8_t seen[MANY] = { 0 };
	bool interrupted = false;
	int i;

	set_domains(DS_CMD_DOMAIN_ADD);
	EXPECT_EQ(0, nl_dump(DS_CMD_DOMAIN_GET, note_domain, seen, &interrupted));
	EXPECT(!interrupted);
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(1, seen[i]);
	set_domains(DS_CMD_DOMAIN_DEL);
}

static void remove_one(void)
{
	EXPECT_EQ(0, domain_call(DS_CMD_DOMAIN_DEL, 1001));
}

TEST(a_dump_says_that_it_was_interrupted)
{
	set_domains(DS_CMD_DOMAIN_ADD);
	EXPECT(nl_dump_is_interrupted(DS_CMD_DOMAIN_GET, remove_one));
	EXPECT_EQ(0, domain_call(DS_CMD_DOMAIN_ADD, 1001));
	set_domains(DS_CMD_DOMAIN_DEL);
}

static uint64_t doomed;
static pid_t deleting;

/* When it is listed no more, those who may have its keys are still waited for. */
static void begin_to_delete(void)
{
	fflush(stdout);
	deleting = fork();
	ASSERT(deleting >= 0);
	if (!deleting) {
		nl_renew();
		_exit(segment_call(DS_CMD_SEG_DEL, doomed) != 0);
	}
	while (search(DS_CMD_SEG_GET, DS_A_SEGMENT, doomed))
		usleep(1000);
}

TEST(a_dump_is_interrupted_by_a_deletion_that_is_not_over)
{
	int failpoint = failpoint_open("seg_revoke"), status;
	uint64_t segments[MANY];

	prepare_host();
	for (int i = 0; i < MANY; i++)
		segments[i] = add_segment(4096, TEST_DOMAIN, NULL);
	doomed = segments[0];
	ASSERT_OK(failpoint_set(failpoint, "delay 2000 1"));
	EXPECT(nl_dump_is_interrupted(DS_CMD_SEG_GET, begin_to_delete));
	ASSERT_OK(failpoint_set(failpoint, "off"));
	ASSERT(waitpid(deleting, &status, 0) == deleting);
	EXPECT_EQ(0, status);
	for (int i = 1; i < MANY; i++)
		EXPECT_EQ(0, segment_call(DS_CMD_SEG_DEL, segments[i]));
	tidy_host();
}

/* The next event about segment @segment on @fd, others are passed over. */
static uint64_t next_event(int fd, uint64_t segment)
{
	char buffer[NL_BUFFER];

	do {
		nl_receive(fd, buffer);
		ASSERT(nl_take((const struct nlmsghdr *)buffer) == 1);
	} while (nl_get(DS_A_SEGMENT) != segment);
	return nl_get(DS_A_EVENT);
}

TEST(events_of_a_segment)
{
	uint64_t segment;
	int fd, group;

	prepare_host();
	fd = nl_open_socket();
	group = nl_group;
	ASSERT_OK(setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)));

	segment = add_segment(8192, TEST_DOMAIN, NULL);
	EXPECT_EQ(DS_EVENT_SEG_ADDED, next_event(fd, segment));
	EXPECT_EQ(8192, nl_get(DS_A_LENGTH));
	EXPECT_EQ(0, segment_call(DS_CMD_SEG_REVOKE, segment));
	EXPECT_EQ(DS_EVENT_SEG_REVOKED, next_event(fd, segment));
	EXPECT_EQ(0, segment_call(DS_CMD_SEG_DEL, segment));
	EXPECT_EQ(DS_EVENT_SEG_REMOVED, next_event(fd, segment));
	tidy_host();
}

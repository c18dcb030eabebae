// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family "ds" under many callers at once: the same few objects are
 * made, looked at and deleted by all of them. Each call may find that another was
 * faster, but nothing else, and nothing is left at the end. And a list that is read while
 * one of its objects comes and goes has all others, or says that it was interrupted.
 */
#include "ds_test.h"
#include "ds_nl.h"
#include "ds_nl_host.h"

#define RACERS		6
#define SECONDS		8
#define DOMAINS		3	/* TEST_DOMAIN + 1 and so on */
#define SPACES		3
#define RECENT		8	/* segments that are fought for */

static uint64_t *last_segment;		/* shared by the racers */

static void expect_one_of(int ret, int a, int b, int c)
{
	if (ret && ret != a && ret != b && ret != c)
		ds_test_fail(__FILE__, __LINE__, "%s (\"%s\")", ds_errno_name(-ret),
			     nl_answer.text);
	if (ret)
		EXPECT(nl_answer.text[0]);
}

static void race_domain(unsigned int i)
{
	uint8_t cmd = i & 1 ? DS_CMD_DOMAIN_ADD : DS_CMD_DOMAIN_DEL;

	expect_one_of(domain_call(cmd, TEST_DOMAIN + 1 + i / 2 % DOMAINS), -EEXIST, -ENOENT, -EBUSY);
}

static void race_space(unsigned int i)
{
	struct nl_request r;

	nl_begin(&r, i & 1 ? DS_CMD_SPACE_ADD : DS_CMD_SPACE_DEL, 0);
	nl_put_u32(&r, DS_A_SPACE, TEST_SPACE + i / 2 % SPACES);
	if (i & 1) {
		nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN + 1 + i % DOMAINS);
		nl_put_u32(&r, DS_A_SERVERS, 4);
		nl_put_u32(&r, DS_A_SERVER_SHIFT, 24);
	}
	expect_one_of(nl_call(&r), -EEXIST, -ENOENT, -EBUSY);
}

static void add_segment(unsigned int i)
{
	struct nl_request r;
	int ret;

	nl_begin(&r, DS_CMD_SEG_ADD, 0);
	nl_put_u64(&r, DS_A_LENGTH, 65536);
	nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN + 1 + i % DOMAINS);
	ret = nl_call(&r);
	if (!ret)
		__atomic_store_n(last_segment, nl_get(DS_A_SEGMENT), __ATOMIC_RELAXED);
	expect_one_of(ret, -ENOENT, 0, 0);
}

/* Also the segment that is about to be made: its number is no secret. */
static void end_segment(unsigned int i)
{
	struct nl_request r;

	nl_begin(&r, i & 1 ? DS_CMD_SEG_DEL : DS_CMD_SEG_REVOKE, 0);
	nl_put_u64(&r, DS_A_SEGMENT,
		   __atomic_load_n(last_segment, __ATOMIC_RELAXED) + 2 - i / 2 % RECENT);
	expect_one_of(nl_call(&r), -ENOENT, -EBUSY, 0);
}

static void look(unsigned int i)
{
	static const uint8_t dumps[] = {
		DS_CMD_DOMAIN_GET, DS_CMD_SEG_GET, DS_CMD_SPACE_GET, DS_CMD_ATTACH_GET,
		DS_CMD_STAT_GET, DS_CMD_FILE_GET,
	};

	EXPECT_EQ(0, nl_dump(dumps[i % ARRAY_LEN(dumps)], NULL, NULL, NULL));
}

static void race(unsigned int seed)
{
	static void (*const steps[])(unsigned int i) = {
		race_domain, race_space, add_segment, end_segment, look,
	};
	uint64_t end = ds_now_ms() + SECONDS * 1000;

	while (ds_now_ms() < end && !ds_test_failed) {
		unsigned int dice = rand_r(&seed);

		steps[dice % ARRAY_LEN(steps)](dice / ARRAY_LEN(steps));
	}
}

/* Delete every segment of the test's domains. */
static void delete_segment(void *ctx)
{
	uint64_t domain = nl_get(DS_A_DOMAIN);
	uint64_t (*list)[256] = ctx;

	if (domain > TEST_DOMAIN && domain <= TEST_DOMAIN + DOMAINS && (*list)[0] < 255)
		(*list)[++(*list)[0]] = nl_get(DS_A_SEGMENT);
}

static void clean_up(void)
{
	uint64_t list[256];
	struct nl_request r;
	uint64_t i;

	for (i = 0; i < SPACES; i++) {
		nl_begin(&r, DS_CMD_SPACE_DEL, 0);
		nl_put_u32(&r, DS_A_SPACE, TEST_SPACE + i);
		expect_one_of(nl_call(&r), -ENOENT, 0, 0);
	}
	do {
		list[0] = 0;
		EXPECT_EQ(0, nl_dump(DS_CMD_SEG_GET, delete_segment, &list, NULL));
		for (i = 1; i <= list[0]; i++) {
			nl_begin(&r, DS_CMD_SEG_DEL, 0);
			nl_put_u64(&r, DS_A_SEGMENT, list[i]);
			EXPECT_EQ(0, nl_call(&r));
		}
	} while (list[0] && !ds_test_failed);
	/* Fails with -EBUSY if a space or a segment was lost with its domain in hand. */
	for (i = 1; i <= DOMAINS; i++)
		expect_one_of(domain_call(DS_CMD_DOMAIN_DEL, TEST_DOMAIN + i), -ENOENT, 0, 0);
}

TEST(many_callers_fight_for_the_same_objects)
{
	pid_t racers[RACERS];
	int i, status;

	prepare_host();
	last_segment = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(last_segment != MAP_FAILED);
	fflush(stdout);
	for (i = 0; i < RACERS; i++) {
		racers[i] = fork();
		ASSERT(racers[i] >= 0);
		if (!racers[i]) {
			nl_renew();
			race(i + 1);
			exit(ds_test_failed);
		}
	}
	for (i = 0; i < RACERS; i++) {
		ASSERT(waitpid(racers[i], &status, 0) == racers[i]);
		EXPECT_EQ(0, status);
	}
	clean_up();
	tidy_host();
}

/* ---- lists ---- */

#define LIST_SECONDS	8
#define SHARES		16	/* of domains 1 to 16 */
#define WHOLE_L1	8192	/* no share */

static void count_share(void *ctx)
{
	unsigned int *times = ctx;
	uint64_t domain = nl_get(DS_A_DOMAIN);

	if (domain <= SHARES)
		times[domain]++;
}

/* All but the first are in the list, with two values each, unless it was interrupted. */
static bool is_whole(void)
{
	unsigned int times[SHARES + 1] = { 0 };
	bool interrupted = false;
	uint32_t domain;

	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_PARAM_GET, count_share, times, &interrupted));
	for (domain = 2; domain <= SHARES && !interrupted; domain++)
		if (!EXPECT_EQ(2, times[domain])) {
			printf("# domain %u\n", domain);
			break;
		}
	return !interrupted;
}

static int set_share(uint32_t domain, uint64_t max)
{
	static const char name[] = "SHARE_MAX";
	struct nl_request r;

	nl_begin(&r, DS_CMD_TOKEN_SET, 0);
	nl_put(&r, DS_A_NAME, name, sizeof(name));
	nl_put_u64(&r, DS_A_SETTING, max);
	nl_put_u32(&r, DS_A_DOMAIN, domain);
	return nl_call(&r);
}

TEST(a_list_is_whole_or_interrupted)
{
	uint64_t end = ds_now_ms() + LIST_SECONDS * 1000;
	unsigned int whole = 0, all = 0;
	uint32_t domain;
	pid_t child;
	int status;

	for (domain = 1; domain <= SHARES; domain++)
		ASSERT(set_share(domain, 100) == 0);
	fflush(stdout);
	child = fork();
	ASSERT(child >= 0);
	if (!child) {
		nl_renew();
		while (ds_now_ms() < end) {
			EXPECT_EQ(0, set_share(1, 100));
			EXPECT_EQ(0, set_share(1, WHOLE_L1));
		}
		exit(ds_test_failed);
	}
	for (; ds_now_ms() < end && !ds_test_failed; all++)
		whole += is_whole();
	ASSERT(waitpid(child, &status, 0) == child);
	EXPECT_EQ(0, status);
	printf("# %u of %u lists were not interrupted\n", whole, all);
	for (domain = 1; domain <= SHARES; domain++)
		EXPECT_EQ(0, set_share(domain, WHOLE_L1));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: netlink commands with their first, second, ... allocation or copy failing, until none is
 * left to fail: each is done or it is not, and what was there before is there whole. Needs a
 * kernel that can (fail_nth.c).
 */
#include "ds_test.h"
#include "ds_fail_nth.h"
#include "ds_nl.h"
#include "ds_nl_host.h"
#include "ds_nl_import.h"

#define LENGTH	(3ull << 20)	/* two chunks, one of them not whole */
#define PART	80		/* objects: an error has its request in it, and a page is enough */
#define OTHERS	(3 * PART)	/* more than a message of a list */

/* ---- a command with a step that fails ---- */

static unsigned int objects;	/* that the last answer held */
static int channel;		/* a socket for each try: an answer may be left there */

/* The errno that ended the answer or its reception, or 0. */
static int take_answer(void)
{
	char buffer[NL_BUFFER];
	ssize_t length;
	int ret;

	for (;;) {
		const struct nlmsghdr *head = (const struct nlmsghdr *)buffer;

		length = recv(channel, buffer, sizeof(buffer), 0);
		if (length < 0)
			return -errno;
		for (; NLMSG_OK(head, (size_t)length); head = NLMSG_NEXT(head, length)) {
			ret = nl_take(head);
			if (ret <= 0)
				return ret;
			objects++;
		}
	}
}

/* Send @r and take the answer, of which the @nth step fails. @left: what is left of @nth. */
static int call_failing(const struct nl_request *r, unsigned int nth, unsigned int *left)
{
	int ret;

	objects = 0;
	fail_nth(nth);
	ret = send(channel, r, r->head.nlmsg_len, 0) < 0 ? -errno : take_answer();
	*left = fail_nth(0);
	return ret;
}

/*
 * A command. @ask: prepares for it, and gives the request. @is_done: has it been, all of it?
 * @undo: whether it was or not; NULL: there is nothing to undo.
 */
struct command {
	const char *name;
	const struct nl_request *(*ask)(void);
	bool (*is_done)(void);
	void (*undo)(void);
};

/* The answer was lost: it may have been done. */
static bool is_unknown(int ret)
{
	return ret == -ENOBUFS || ret == -EFAULT;
}

static void check(const struct command *c, int ret, unsigned int nth)
{
	bool done = c->is_done();

	if (ret && ret != -ENOMEM && !is_unknown(ret))
		ds_test_fail(__FILE__, __LINE__, "step %u of %s: %s", nth, c->name,
			     ds_errno_name(-ret));
	if (!is_unknown(ret) && done != !ret)
		ds_test_fail(__FILE__, __LINE__, "step %u of %s: %s, and it is %s", nth, c->name,
			     ds_errno_name(-ret), done ? "done" : "not done");
}

/* Let each step fail once. */
static void sweep(const struct command *c)
{
	unsigned int nth, left = 0, failed = 0;
	int ret = 0;

	for (nth = 1; !left && nth < MOST; nth++) {
		channel = nl_open_socket();
		ret = call_failing(c->ask(), nth, &left);
		check(c, ret, nth);
		close(channel);
		if (c->undo)
			c->undo();
		failed += !!ret;
	}
	EXPECT(left && !ret);
	EXPECT(failed);
	printf("# %s: %u steps, %u of them made it fail\n", c->name, nth - 2, failed);
}

static struct nl_request request;

static const struct nl_request *ask(uint8_t cmd, uint16_t flags)
{
	nl_begin(&request, cmd, NLM_F_ACK | flags);
	return &request;
}

/* ---- objects of others ---- */

static struct ds_token_object others[OTHERS];

#define PART_BYTES	(PART * sizeof(others[0]))

static void count_foreign(void *ctx)
{
	*(unsigned int *)ctx += !!(nl_get(DS_A_FLAGS) & DS_TOKEN_FOREIGN);
}

static unsigned int foreign(void)
{
	unsigned int count = 0;

	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_GET, count_foreign, &count, NULL));
	return count;
}

/* One of two imports is there, and whole. */
static bool is_there(unsigned int wanted)
{
	unsigned int count = foreign();

	EXPECT(count == 1 || count == wanted);
	return count == wanted;
}

static bool is_imported(void)
{
	return is_there(PART);
}

static void import_one(void)
{
	EXPECT_EQ(0, import(others, 1, 1, 1));
}

static void prepare_import(void)
{
	let_all_fail();
	find_device();
	for (uint32_t i = 0; i < OTHERS; i++)
		others[i] = (struct ds_token_object)PD(1000 + i);
	/* The second part needs memory that the first does not: its tokens have another size. */
	for (uint32_t i = PART; i < 2 * PART; i++)
		others[i] = (struct ds_token_object){ .type = DS_TOKEN_MR, .pd = DS_TOKEN_NO_PD,
						      .lkey = i, .rkey = i, .length = 123 };
	import_one();
}

static const struct nl_request *ask_import(void)
{
	return import_request(device, others, PART_BYTES, 1, 1);
}

TEST(each_step_of_an_import)
{
	static const struct command c = { "an import", ask_import, is_imported, import_one };

	prepare_import();
	sweep(&c);
	EXPECT_EQ(0, forget(device));
}

static const struct nl_request *ask_second_part(void)
{
	ASSERT(import_on(channel, device, others, PART_BYTES, 1, 3) == 0);
	return import_request(device, others + PART, PART_BYTES, 2, 3);
}

/* What is there stays until the last part, which is taken only behind all others. */
static bool takes_last_part(void)
{
	int ret;

	EXPECT_EQ(1, foreign());
	ret = import_on(channel, device, others + 2 * PART, PART_BYTES, 3, 3);
	EXPECT(!ret || ret == -ESTALE);
	EXPECT_EQ(!ret, is_there(OTHERS));
	return !ret;
}

TEST(each_step_of_a_part_of_an_import)
{
	static const struct command c = { "a part of an import", ask_second_part, takes_last_part,
					  import_one };

	prepare_import();
	sweep(&c);
	EXPECT_EQ(0, forget(device));
}

static const struct nl_request *ask_forget(void)
{
	import_one();
	ask(DS_CMD_TOKEN_FORGET, 0);
	nl_put(&request, DS_A_DEVICE, device, strlen(device) + 1);
	return &request;
}

static bool is_forgotten(void)
{
	return !foreign();
}

TEST(each_step_of_forgetting)
{
	static const struct command c = { "forgetting", ask_forget, is_forgotten, import_one };

	prepare_import();
	sweep(&c);
	EXPECT_EQ(0, forget(device));
}

/* ---- parameters ---- */

#define PARAMETER	"MAX_BATCH"
#define VALUE		7

static uint64_t usual, value;

static void note_value(void *ctx)
{
	const struct nlattr *name = nl_find(DS_A_NAME);

	(void)ctx;
	ASSERT(name);
	if (!strcmp(nl_data(name), PARAMETER))
		value = nl_get(DS_A_SETTING);
}

static uint64_t setting(void)
{
	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_PARAM_GET, note_value, NULL, NULL));
	return value;
}

static const struct nl_request *ask_set_to(uint64_t to)
{
	ask(DS_CMD_TOKEN_SET, 0);
	nl_put(&request, DS_A_NAME, PARAMETER, sizeof(PARAMETER));
	nl_put_u64(&request, DS_A_SETTING, to);
	return &request;
}

static const struct nl_request *ask_set(void)
{
	return ask_set_to(VALUE);
}

static bool is_set(void)
{
	uint64_t is = setting();

	EXPECT(is == usual || is == VALUE);
	return is == VALUE;
}

static void set_back(void)
{
	ask_set_to(usual);
	EXPECT_EQ(0, nl_call(&request));
}

TEST(each_step_of_setting)
{
	static const struct command c = { "setting", ask_set, is_set, set_back };

	let_all_fail();
	usual = setting();
	ASSERT(usual != VALUE);
	sweep(&c);
}

/* ---- domains and segments ---- */

static const struct nl_request *ask_domain(void)
{
	static const uint8_t key[DS_DOMAIN_KEY_LEN] = { 1, 2, 3 };

	ask(DS_CMD_DOMAIN_ADD, 0);
	nl_put_u32(&request, DS_A_DOMAIN, TEST_DOMAIN);
	nl_put(&request, DS_A_KEY, key, sizeof(key));
	return &request;
}

static bool is_domain_there(void)
{
	int ret = domain_call(DS_CMD_DOMAIN_DEL, TEST_DOMAIN);

	EXPECT(!ret || ret == -ENOENT);
	return !ret;
}

TEST(each_step_of_a_domain)
{
	static const struct command c = { "a domain", ask_domain, is_domain_there, NULL };

	let_all_fail();
	sweep(&c);
}

static uint64_t segment;
static unsigned int segments;

static void note_segment(void *ctx)
{
	(void)ctx;
	if (nl_get(DS_A_DOMAIN) == TEST_DOMAIN) {
		segment = nl_get(DS_A_SEGMENT);
		segments++;
	}
}

static const struct nl_request *ask_segment(void)
{
	ask(DS_CMD_SEG_ADD, 0);
	nl_put_u64(&request, DS_A_LENGTH, LENGTH);
	nl_put_u32(&request, DS_A_DOMAIN, TEST_DOMAIN);
	return &request;
}

static bool is_segment_there(void)
{
	segments = 0;
	EXPECT_EQ(0, nl_dump(DS_CMD_SEG_GET, note_segment, NULL, NULL));
	EXPECT(segments <= 1);
	return segments;
}

static void del_segment(void)
{
	if (!is_segment_there())
		return;
	ask(DS_CMD_SEG_DEL, 0);
	nl_put_u64(&request, DS_A_SEGMENT, segment);
	EXPECT_EQ(0, nl_call(&request));
}

TEST(each_step_of_a_segment)
{
	static const struct command c = { "a segment", ask_segment, is_segment_there, del_segment };

	let_all_fail();
	prepare_host();
	sweep(&c);
	tidy_host();
}

/* ---- lists ---- */

static uint8_t dump;
static unsigned int whole;

static const struct nl_request *ask_dump(void)
{
	return ask(dump, NLM_F_DUMP);
}

static bool is_whole(void)
{
	EXPECT(objects <= whole);
	return objects == whole;
}

static void count_object(void *ctx)
{
	++*(unsigned int *)ctx;
}

static void sweep_dump(uint8_t cmd, const char *name)
{
	struct command c = { name, ask_dump, is_whole, NULL };

	dump = cmd;
	whole = 0;
	EXPECT_EQ(0, nl_dump(cmd, count_object, &whole, NULL));
	EXPECT(whole);
	sweep(&c);
}

TEST(each_step_of_lists_of_tokens)
{
	prepare_import();
	EXPECT_EQ(0, import(others, OTHERS, 1, 1));
	sweep_dump(DS_CMD_TOKEN_GET, "a list of tokens");
	sweep_dump(DS_CMD_TOKEN_STAT_GET, "a list of counters of tokens");
	sweep_dump(DS_CMD_TOKEN_PARAM_GET, "a list of parameters");
	EXPECT_EQ(0, forget(device));
}

TEST(each_step_of_other_lists)
{
	int fd = ds_open();

	let_all_fail();
	sweep_dump(DS_CMD_DEV_GET, "a list of devices");
	sweep_dump(DS_CMD_STAT_GET, "a list of counters");
	sweep_dump(DS_CMD_FILE_GET, "a list of open files");
	close(fd);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mailbox of the token cache at work: operations whose tokens cannot be read or written
 * where they are, and a host that does not answer. DS_TEST_SPACE is as in submit.c.
 */
#include "ds_test.h"
#include "ds_submit.h"
#include "ds_nl.h"
#include "ds_failpoint.h"

#include <ds/token.h>

#define PATIENCE_NS	10000000ull	/* how long the host is waited for, if nothing is set */

/* ---- counters ---- */

struct counter {
	const char *name;
	uint64_t value;
	bool found;
};

static void note_counter(void *ctx)
{
	const struct nlattr *device = nl_find(DS_A_DEVICE), *name = nl_find(DS_A_NAME);
	struct counter *c = ctx;

	if (!device || strcmp(nl_data(device), "(fetch)") || !name ||
	    strcmp(nl_data(name), c->name))
		return;
	c->value = nl_get(DS_A_VALUE);
	c->found = true;
}

static uint64_t counted(const char *name)
{
	struct counter c = { .name = name };

	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_STAT_GET, note_counter, &c, NULL));
	if (!EXPECT(c.found))
		printf("# there is no counter %s\n", name);
	return c.value;
}

/* ---- what queue pairs have posted ---- */

struct posts {
	int count;
	uint32_t token[512];
	uint16_t posted[512];
};

static void note_posted(void *ctx)
{
	struct posts *p = ctx;

	if (nl_get(DS_A_TYPE) != DS_TOKEN_QP || p->count == (int)ARRAY_LEN(p->token))
		return;
	p->token[p->count] = nl_get(DS_A_TOKEN);
	p->posted[p->count++] = nl_get(DS_A_POSTED);
}

static struct posts posts(void)
{
	struct posts p = { 0 };

	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_GET, note_posted, &p, NULL));
	EXPECT(p.count > 0);
	return p;
}

/* Of the queue pair that has posted most since. */
static uint16_t posted_since(const struct posts *before)
{
	struct posts now = posts();
	uint16_t most = 0, grown;
	int i, k;

	for (i = 0; i < now.count; i++)
		for (k = 0; k < before->count; k++) {
			grown = now.posted[i] - before->posted[k];
			if (now.token[i] == before->token[k] && grown > most)
				most = grown;
		}
	return most;
}

/* ---- operations ---- */

static void arm(const char *name, const char *text)
{
	int fd = failpoint_open(name);

	ASSERT_OK(failpoint_set(fd, text));
	close(fd);
}

static struct ds_cqe read_some(struct setup *s)
{
	return RUN_RW(*s, DS_OP_READ, .length = 64, .addr = s->space.out_base + 4096);
}

TEST(what_cannot_be_read_where_it_is_the_host_reads)
{
	uint64_t asked = counted("expand_asked"), copied = counted("expand_copied");
	uint64_t urgent = counted("expand_urgent");
	struct setup s = set_up(DS_ACCESS_ALL);
	int i;

	for (i = 0; i < 20; i++) {
		arm("token_read", "fail 11 1");
		EXPECT_EQ(0, read_some(&s).status);
	}
	EXPECT_EQ(asked + 20, counted("expand_asked"));
	EXPECT_EQ(copied + 20, counted("expand_copied"));
	EXPECT_EQ(urgent + 20, counted("expand_urgent"));
}

/* Who may not have it does not get as far as to its token; what it may have does. */
TEST(who_may_not_have_it_is_refused_before_anybody_is_asked)
{
	uint64_t asked = counted("expand_asked");
	struct setup s = set_up(DS_ACCESS_READ);
	int failpoint = failpoint_open("token_read");
	unsigned long before, after;

	failpoint_get(failpoint, &before);
	ASSERT_OK(failpoint_set(failpoint, "fail 11 1"));
	RW_REFUSED(EACCES, s, DS_OP_WRITE, .length = 64, .addr = s.space.out_base + 4096);
	EXPECT(!strcmp(failpoint_get(failpoint, &after), "fail 11 1"));
	EXPECT_EQ(asked, counted("expand_asked"));
	EXPECT_EQ(0, read_some(&s).status);
	EXPECT(!strcmp(failpoint_get(failpoint, &after), "off"));
	EXPECT_EQ(before + 1, after);
	EXPECT_EQ(asked + 1, counted("expand_asked"));
}

/*
 * Two tries, and none that comes by chance later: then the host has the token at rest. A
 * heartbeat may take one of the two; then nobody has to ask, and it is done again.
 */
TEST(what_cannot_be_written_is_written_when_the_host_has_answered)
{
	uint64_t staged = counted("expand_staged");
	struct setup s = set_up(DS_ACCESS_ALL);
	struct posts before = posts();
	int i, reads;

	for (reads = 0; reads < 30; reads++)	/* more than heartbeats post meanwhile */
		EXPECT_EQ(0, read_some(&s).status);
	while (counted("expand_staged") == staged && reads < 35) {
		arm("token_write", "fail 11 2");
		EXPECT_EQ(0, read_some(&s).status);
		reads++;
		for (i = 0; i < 300 && posted_since(&before) < reads; i++)
			usleep(10000);
		EXPECT_EQ(reads, posted_since(&before));
	}
	EXPECT_EQ(staged + 1, counted("expand_staged"));
}

/* Nothing is lost: when the host has answered, or with the next post. */
TEST(what_cannot_be_written_where_it_is_is_written_later)
{
	uint64_t asked = counted("expand_asked");
	struct setup s = set_up(DS_ACCESS_ALL);
	struct posts before = posts();
	int i;

	for (i = 0; i < 300; i++) {
		if (i % 3 == 0)
			arm("token_write", i % 2 ? "fail 11 1" : "fail 11 3");
		EXPECT_EQ(0, read_some(&s).status);
	}
	arm("token_write", "off");
	EXPECT_EQ(0, read_some(&s).status);
	for (i = 0; i < 100 && posted_since(&before) < 301; i++)
		usleep(10000);
	EXPECT_EQ(301, posted_since(&before));
	EXPECT(counted("expand_asked") > asked);
}

TEST(a_host_that_does_not_answer)
{
	uint64_t expired = counted("expand_expired");
	struct setup s = set_up(DS_ACCESS_ALL);

	/* One time it could not be read, and nobody answered; then it could. */
	arm("token_host", "fail 5");
	arm("token_read", "fail 11 1");
	EXPECT_EQ(0, read_some(&s).status);
	EXPECT(counted("expand_expired") > expired);
	/* It never can: the operation ends, and was not done. */
	arm("token_read", "fail 11");
	RW_REFUSED(ETIMEDOUT, s, DS_OP_WRITE, .length = 64, .addr = s.space.out_base + 4096);
	arm("token_host", "off");
	EXPECT_EQ(0, read_some(&s).status);	/* the host reads it */
	arm("token_read", "off");
	EXPECT_EQ(0, read_some(&s).status);
}

/* A queue pair that is never written goes on, and what it was to write is not lost. */
TEST(chains_do_not_wait_for_the_host)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	struct posts before;
	int i;

	arm("token_host", "fail 5");
	arm("token_write", "fail 11");
	before = posts();	/* now: a heartbeat could be written before */
	for (i = 0; i < 100; i++)
		EXPECT_EQ(0, read_some(&s).status);
	EXPECT_EQ(0, posted_since(&before));
	arm("token_write", "off");
	arm("token_host", "off");
	EXPECT_EQ(0, read_some(&s).status);
	EXPECT_EQ(101, posted_since(&before));
}

static void set_patience(uint64_t ns)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_TOKEN_SET, 0);
	nl_put(&r, DS_A_NAME, "EXPAND_TIMEOUT_NS", sizeof("EXPAND_TIMEOUT_NS"));
	nl_put_u64(&r, DS_A_SETTING, ns);
	ASSERT(nl_call(&r) == 0);
}

static void add_uses(void *sum)
{
	if (nl_get(DS_A_TYPE) == DS_TOKEN_MR)
		*(uint64_t *)sum += nl_get(DS_A_USES);
}

/* So many operations use a memory region, but for one that is just moved to another tier. */
static bool uses_are(uint64_t count)
{
	uint64_t sum;
	int i;

	for (i = 0; i < 100; i++) {
		sum = 0;
		EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_GET, add_uses, &sum, NULL));
		if (sum == count)
			return true;
		ds_sleep_ms(10);
	}
	return false;
}

/* The host says nothing all the time, and would be waited for much longer. */
TEST(who_is_killed_while_it_waits_is_gone_at_once)
{
	uint64_t cancelled = counted("expand_cancelled"), asked = counted("expand_asked");
	int silent = failpoint_open("token_host"), status;
	struct setup s = set_up(DS_ACCESS_ALL);
	unsigned long hits;
	uint64_t start;
	pid_t pid;

	set_patience(30 * 1000000000ull);
	ASSERT_OK(failpoint_set(silent, "fail 5"));
	arm("token_read", "fail 11");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		read_some(&s);
		exit(0);
	}
	while (counted("expand_asked") == asked)
		ds_sleep_ms(10);
	EXPECT(uses_are(1));
	start = ds_now_ms();
	kill(pid, SIGKILL);
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT(ds_now_ms() - start < 3000 * ds_test_slow());
	EXPECT(WIFSIGNALED(status));
	EXPECT_EQ(cancelled + 1, counted("expand_cancelled"));
	EXPECT_EQ(asked + 1, counted("expand_asked"));
	EXPECT(uses_are(0));
	EXPECT(!strcmp(failpoint_get(silent, &hits), "fail 5"));

	ASSERT_OK(failpoint_set(silent, "off"));
	EXPECT_EQ(0, read_some(&s).status);	/* the host reads it for us */
	EXPECT_EQ(asked + 2, counted("expand_asked"));
	arm("token_read", "off");
	set_patience(PATIENCE_NS);
	EXPECT_EQ(0, read_some(&s).status);
}

TEST(all_failpoints_are_off)
{
	static const char *const names[] = {
		"token_read", "token_write", "token_host", "token_wide",
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		arm(names[i], "off");
	set_patience(PATIENCE_NS);
}

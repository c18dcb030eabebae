// SPDX-License-Identifier: GPL-2.0-only
/*
 * The failpoints of ds.ko: /sys/kernel/debug/ds/failpoints/NAME.
 */
#include "ds_test.h"
#include "ds_nl.h"
#include "ds_nl_host.h"
#include "ds_failpoint.h"

static const char *const names[] = {
	"request_post", "chain_post", "chain_partial", "conn_open", "hello", "auth_ok",
	"lane_connect", "msg_send", "seg_alloc", "seg_register", "seg_revoke", "attach_keys",
	"storage", "token_add", "token_wide", "token_read", "token_write", "token_claim",
	"token_commit", "token_host",
};

/* Nothing may sleep there. */
static bool is_atomic(const char *name)
{
	return !strcmp(name, "token_write") || !strcmp(name, "token_claim") ||
	       !strcmp(name, "token_commit");
}

static int add_segment(void)
{
	struct nl_request r;
	int ret;

	nl_begin(&r, DS_CMD_SEG_ADD, 0);
	nl_put_u64(&r, DS_A_LENGTH, 4096);
	nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN);
	ret = nl_call(&r);
	if (!ret) {
		uint64_t segment = nl_get(DS_A_SEGMENT);

		nl_begin(&r, DS_CMD_SEG_DEL, 0);
		nl_put_u64(&r, DS_A_SEGMENT, segment);
		EXPECT_EQ(0, nl_call(&r));
	}
	return ret;
}

TEST(what_is_no_setting_is_refused_and_changes_nothing)
{
	static const char *const wrong[] = {
		" ", "\n", "x", "on", "Off", "off 1", "fail", "fail x", "fail 0", "fail -5",
		"fail 4096", "fail 5 0", "fail 5 -1", "fail 5 x", "fail 5 1 x", "fail 5 1 -1",
		"fail 5 0 1", "fail 5 1 99999999999", "fail 5 1 1 1",
		"fail 99999999999", "fail 5 99999999999", "fail 0x5", "delay", "delay 0",
		"delay 60001", "delay 1 0", "spin", "spin 1001", "fail5", "fail,5",
		"fail 5 1 2 3 4 5 6 7 8 9",
		"fail 5                                            1",
	};
	int fd = failpoint_open("seg_alloc");
	unsigned long hits;
	size_t i;

	ASSERT_OK(failpoint_set(fd, "fail 71 7"));
	for (i = 0; i < ARRAY_LEN(wrong); i++) {
		if (!EXPECT_ERR(EINVAL, failpoint_set(fd, wrong[i])))
			printf("# with \"%s\"\n", wrong[i]);
		EXPECT(!strcmp(failpoint_get(fd, &hits), "fail 71 7"));
	}
	EXPECT_ERR(EINVAL, (int)write(fd, "off\0off", 7));
	EXPECT_ERR(EFAULT, (int)write(fd, (void *)PAGE, 3));
	EXPECT(!strcmp(failpoint_get(fd, &hits), "fail 71 7"));
	ASSERT_OK(failpoint_set(fd, "off"));
}

TEST(a_setting_reads_back_as_it_was_written)
{
	static const char *const right[][2] = {
		{ "fail 12", "fail 12" }, { "fail 4095 4294967294", "fail 4095 4294967294" },
		{ "spin 1000 9", "spin 1000 9" }, { "\t fail  5\t2 \n", "fail 5 2" },
		{ "fail 5 2 7", "fail 5 2 7" }, { "spin 9 1 4294967295", "spin 9 1 4294967295" },
		{ "fail 5 4294967295 1", "fail 5 4294967295 1" }, { "fail 5 3 0", "fail 5 3" },
		{ "off\n", "off" },
	};
	unsigned long hits;
	size_t i, k;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		int fd = failpoint_open(names[i]);

		for (k = 0; k < ARRAY_LEN(right); k++) {
			EXPECT_OK(failpoint_set(fd, right[k][0]));
			EXPECT(!strcmp(failpoint_get(fd, &hits), right[k][1]));
		}
		close(fd);
	}
}

TEST(who_may_not_sleep_takes_no_delay)
{
	unsigned long hits;
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++) {
		int fd = failpoint_open(names[i]);

		if (is_atomic(names[i])) {
			EXPECT_ERR(EINVAL, failpoint_set(fd, "delay 60000 1\n"));
			EXPECT(!strcmp(failpoint_get(fd, &hits), "off"));
		} else {
			EXPECT_OK(failpoint_set(fd, "delay 60000 1\n"));
			EXPECT(!strcmp(failpoint_get(fd, &hits), "delay 60000 1"));
			EXPECT_OK(failpoint_set(fd, "off"));
		}
		close(fd);
	}
}

TEST(arming_needs_cap_sys_admin)
{
	int fd = failpoint_open("seg_alloc");
	unsigned long hits;

	ASSERT_OK(setresgid(65534, 65534, 65534));
	ASSERT_OK(setresuid(65534, 65534, 65534));
	EXPECT_ERR(EACCES, open(FAILPOINTS "seg_alloc", O_RDWR));
	EXPECT_ERR(EPERM, failpoint_set(fd, "fail 5"));
	EXPECT_ERR(EPERM, failpoint_set(fd, "off"));
	EXPECT(!strcmp(failpoint_get(fd, &hits), "off"));
}

TEST(it_fails_as_often_as_it_was_told)
{
	int fd = failpoint_open("seg_alloc");
	unsigned long before, after;

	prepare_host();
	failpoint_get(fd, &before);
	EXPECT_EQ(0, add_segment());
	ASSERT_OK(failpoint_set(fd, "fail 71 2"));
	EXPECT_EQ(-71, add_segment());
	EXPECT(nl_answer.text[0]);
	EXPECT(!strcmp(failpoint_get(fd, &after), "fail 71 1"));
	EXPECT_EQ(-71, add_segment());
	EXPECT(!strcmp(failpoint_get(fd, &after), "off"));
	EXPECT_EQ(0, add_segment());
	failpoint_get(fd, &after);
	EXPECT_EQ(2, after - before);

	ASSERT_OK(failpoint_set(fd, "fail 71"));
	EXPECT_EQ(-71, add_segment());
	EXPECT_EQ(-71, add_segment());
	EXPECT_EQ(-71, add_segment());
	ASSERT_OK(failpoint_set(fd, "off"));
	EXPECT_EQ(0, add_segment());
	tidy_host();
}

TEST(it_lets_the_first_ones_pass)
{
	int fd = failpoint_open("seg_alloc");
	unsigned long before, after;

	prepare_host();
	ASSERT_OK(failpoint_set(fd, "fail 71 1 2"));
	failpoint_get(fd, &before);
	EXPECT_EQ(0, add_segment());
	EXPECT(!strcmp(failpoint_get(fd, &after), "fail 71 1 1"));
	EXPECT_EQ(0, add_segment());
	EXPECT(!strcmp(failpoint_get(fd, &after), "fail 71 1"));
	EXPECT_EQ(before, after);
	EXPECT_EQ(-71, add_segment());
	EXPECT(!strcmp(failpoint_get(fd, &after), "off"));
	EXPECT_EQ(before + 1, after);
	EXPECT_EQ(0, add_segment());
	tidy_host();
}

static void delays(const char *text)
{
	int fd = failpoint_open("seg_alloc");
	uint64_t start;

	prepare_host();
	ASSERT_OK(failpoint_set(fd, text));
	start = ds_now_ms();
	EXPECT_EQ(0, add_segment());
	EXPECT(ds_waited(ds_now_ms() - start, 300));
	EXPECT_EQ(0, add_segment());
	tidy_host();
}

TEST(it_delays)
{
	delays("delay 300 1");
}

TEST(it_keeps_its_processor_as_long)
{
	delays("spin 300 1");
}

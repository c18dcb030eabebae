// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family "ds": tokens, their counters, and the import of objects of other users
 * of a device. Only the numbers of the first device are looked at.
 */
#include "ds_test.h"
#include "ds_nl.h"
#include "ds_nl_import.h"

#define COUNTERS	16	/* of a device */
#define TIMES		5
#define FOREIGN_MOST	262144

/* One of each type. */
static const struct ds_token_object each[] = {
	PD(77),
	{ .type = DS_TOKEN_CQ, .number = 78, .pd = DS_TOKEN_NO_PD, .entries = 511 },
	{ .type = DS_TOKEN_MR, .pd = 77, .lkey = 0x1234, .rkey = 0x1235, .length = 12345 },
	{ .type = DS_TOKEN_QP, .number = 79, .pd = 77, .qp_type = 2, .state = 3 },
};

/* ---- what is listed ---- */

struct list {
	int own, foreign;
	int keys;			/* with a key */
	int places;			/* that say where they are and how they are used */
	struct nl_answer by_type[4];	/* the last foreign one */
};

/* All of it or nothing. */
static bool says_place(void)
{
	if (!nl_find(DS_A_TIER)) {
		EXPECT(!nl_find(DS_A_USES) && !nl_find(DS_A_WORD_VERSION) &&
		       !nl_find(DS_A_SLOT) && !nl_find(DS_A_POSTED));
		EXPECT(!(nl_get(DS_A_FLAGS) & ~(DS_TOKEN_WIDE | DS_TOKEN_FOREIGN)));
		return false;
	}
	EXPECT(nl_find(DS_A_USES) && nl_find(DS_A_WORD_VERSION));
	EXPECT_EQ(nl_get(DS_A_TIER) < 3, nl_find(DS_A_SLOT) != NULL);
	EXPECT_EQ(nl_get(DS_A_TYPE) == DS_TOKEN_QP, nl_find(DS_A_POSTED) != NULL);
	return true;
}

static void list_token(void *ctx)
{
	struct list *list = ctx;

	EXPECT(nl_find(DS_A_TOKEN) && nl_find(DS_A_DEVICE) && nl_find(DS_A_GENERATION) &&
	       nl_find(DS_A_FLAGS));
	ASSERT(nl_get(DS_A_TYPE) < 4);
	EXPECT_EQ(nl_get(DS_A_TYPE), nl_get(DS_A_TOKEN) >> DS_TOKEN_TYPE_OFF);
	list->keys += nl_find(DS_A_LKEY) || nl_find(DS_A_RKEY);
	list->places += says_place();
	if (!(nl_get(DS_A_FLAGS) & DS_TOKEN_FOREIGN)) {
		list->own++;
		return;
	}
	EXPECT(is_of_device());
	list->foreign++;
	list->by_type[nl_get(DS_A_TYPE)] = nl_answer;
}

static struct list list;

static void list_tokens(void)
{
	memset(&list, 0, sizeof(list));
	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_GET, list_token, &list, NULL));
}

/* Are these the foreign ones? */
static bool lists(int foreign)
{
	list_tokens();
	if (list.foreign != foreign)
		printf("# %d foreign tokens, expected %d\n", list.foreign, foreign);
	return list.foreign == foreign;
}

TEST(what_is_imported_is_listed)
{
	int own;

	find_device();
	list_tokens();
	own = list.own;
	EXPECT(own > 0);	/* the PD of control traffic */
	EXPECT_EQ(0, import(each, ARRAY_LEN(each), 1, 1));
	EXPECT(lists(ARRAY_LEN(each)));
	EXPECT_EQ(own, list.own);

	nl_answer = list.by_type[DS_TOKEN_PD];
	EXPECT_EQ(77, nl_get(DS_A_NUMBER));
	EXPECT_EQ(3, nl_get(DS_A_TIER));
	own = nl_get(DS_A_TOKEN);
	nl_answer = list.by_type[DS_TOKEN_CQ];
	EXPECT_EQ(78, nl_get(DS_A_NUMBER));
	EXPECT_EQ(511, nl_get(DS_A_ENTRIES));
	EXPECT_EQ(0, nl_get(DS_A_CQ_FLAGS));
	EXPECT_EQ(DS_TOKEN_LAYOUT_NARROW, nl_get(DS_A_LAYOUT));
	nl_answer = list.by_type[DS_TOKEN_MR];
	EXPECT_EQ(own, nl_get(DS_A_PD));
	EXPECT_EQ(12345, nl_get(DS_A_LENGTH));
	EXPECT_EQ(4, nl_get(DS_A_PAGES));
	EXPECT_EQ(0x1234, nl_get(DS_A_LKEY));
	EXPECT_EQ(0x1235, nl_get(DS_A_RKEY));
	EXPECT(nl_get(DS_A_FLAGS) & DS_TOKEN_WIDE);	/* no whole pages */
	EXPECT_EQ(DS_TOKEN_LAYOUT_WIDE, nl_get(DS_A_LAYOUT));
	nl_answer = list.by_type[DS_TOKEN_QP];
	EXPECT_EQ(79, nl_get(DS_A_NUMBER));
	EXPECT_EQ(own, nl_get(DS_A_PD));
	EXPECT_EQ(2, nl_get(DS_A_QP_TYPE));
	EXPECT_EQ(3, nl_get(DS_A_STATE));
	EXPECT_EQ(0, nl_get(DS_A_SRQ));
	EXPECT(!nl_find(DS_A_SCQ) && !nl_find(DS_A_RCQ));	/* nobody has said them */
	EXPECT(!(nl_get(DS_A_FLAGS) & DS_TOKEN_WIDE));
	EXPECT_EQ(0, forget(device));
}

TEST(an_import_takes_the_place_of_the_one_before)
{
	static const struct ds_token_object one = PD(5);

	find_device();
	EXPECT_EQ(0, import(each, ARRAY_LEN(each), 1, 1));
	EXPECT_EQ(0, import(&one, 1, 1, 1));
	EXPECT(lists(1));
	nl_answer = list.by_type[DS_TOKEN_PD];
	EXPECT_EQ(5, nl_get(DS_A_NUMBER));
	EXPECT_EQ(0, import(NULL, 0, 1, 1));
	EXPECT(lists(0));
	EXPECT_EQ(0, forget(device));
	EXPECT_EQ(-ENOENT, forget(device));
	EXPECT(nl_answer.text[0]);
}

TEST(parts_count_when_all_are_there)
{
	find_device();
	EXPECT_EQ(0, import(each, 1, 1, 1));
	EXPECT_EQ(0, import(each, 2, 1, 2));
	EXPECT(lists(1));
	EXPECT_EQ(0, import(each + 2, 2, 2, 2));
	EXPECT(lists(4));
	nl_answer = list.by_type[DS_TOKEN_QP];	/* its PD came with the other part */
	EXPECT(nl_find(DS_A_PD));

	/* Begun anew, and forgotten half way. */
	EXPECT_EQ(0, import(each, 2, 1, 3));
	EXPECT_EQ(0, import(each, 2, 1, 3));
	EXPECT_EQ(0, forget(device));
	EXPECT_EQ(-ESTALE, import(each, 2, 2, 3));
	EXPECT(lists(0));
}

TEST(parts_come_in_order_and_from_one_hand)
{
	int other = nl_open_socket();

	find_device();
	EXPECT_EQ(-ESTALE, import(each, 1, 2, 2));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(0, import(each, 1, 1, 3));
	EXPECT_EQ(-ESTALE, import(each, 1, 3, 3));
	EXPECT_EQ(-ESTALE, import(each, 1, 2, 4));
	EXPECT_EQ(-ESTALE, import_on(other, device, each, sizeof(each[0]), 2, 3));
	EXPECT_EQ(0, import(each, 1, 2, 3));
	EXPECT_EQ(-ESTALE, import(each, 1, 2, 3));	/* twice */
	/* Somebody else begins: he is who goes on. */
	EXPECT_EQ(0, import_on(other, device, each, sizeof(each[0]), 1, 2));
	EXPECT_EQ(-ESTALE, import(each, 1, 3, 3));
	EXPECT_EQ(0, import_on(other, device, each + 1, sizeof(each[0]), 2, 2));
	EXPECT(lists(2));
	EXPECT_EQ(-EINVAL, import(each, 1, 2, 1));
	EXPECT_EQ(DS_A_PART, nl_fault(&message.head));
	EXPECT_EQ(0, forget(device));
}

/* A closed socket takes the import with it that it has begun, and no other one. */
TEST(an_import_ends_with_its_socket)
{
	int quits = nl_open_socket(), other = nl_open_socket();

	find_device();
	EXPECT_EQ(0, import_on(quits, device, each, sizeof(each[0]), 1, 1));
	EXPECT_EQ(0, import_on(quits, device, each, 2 * sizeof(each[0]), 1, 2));
	EXPECT_EQ(0, close(other));
	EXPECT_EQ(0, import_on(quits, device, each + 2, sizeof(each[0]), 2, 2));
	EXPECT_EQ(0, import_on(quits, device, each, 2 * sizeof(each[0]), 1, 2));
	EXPECT_EQ(0, close(quits));
	EXPECT(lists(3));	/* what was whole stays */
	EXPECT_EQ(0, forget(device));

	quits = nl_open_socket();
	EXPECT_EQ(0, import_on(quits, device, each, 2 * sizeof(each[0]), 1, 2));
	EXPECT_EQ(0, close(quits));
	EXPECT_EQ(-ENOENT, forget(device));
}

/* Numbers of the largest kind, of which none is cut off, and one that stands for none. */
TEST(numbers_may_be_large)
{
	static const uint32_t numbers[] = { 0, 0xffffff, 0x1000000, 0x1000001, 0xfffffffe };
	struct ds_token_object of[4] = {
		PD(0), { .type = DS_TOKEN_CQ, .pd = DS_TOKEN_NO_PD, .entries = 0xffffffff },
		{ .type = DS_TOKEN_MR, .length = ~0ull, .lkey = 0xffffffff, .rkey = 0xfffffffe },
		{ .type = DS_TOKEN_QP },
	};
	uint32_t pd;
	size_t i;

	find_device();
	for (i = 0; i < ARRAY_LEN(numbers); i++) {
		of[0].number = of[1].number = of[2].pd = of[3].number = of[3].pd = numbers[i];
		EXPECT_EQ(0, import(of, ARRAY_LEN(of), 1, 1));
		EXPECT(lists(ARRAY_LEN(of)));
		nl_answer = list.by_type[DS_TOKEN_PD];
		pd = nl_get(DS_A_TOKEN);
		EXPECT_EQ(numbers[i], nl_get(DS_A_NUMBER));
		nl_answer = list.by_type[DS_TOKEN_CQ];
		EXPECT_EQ(numbers[i], nl_get(DS_A_NUMBER));
		EXPECT_EQ(0xffffffff, nl_get(DS_A_ENTRIES));
		nl_answer = list.by_type[DS_TOKEN_MR];
		EXPECT_EQ(pd, nl_get(DS_A_PD));
		EXPECT_EQ(~0ull, nl_get(DS_A_LENGTH));
		EXPECT_EQ(0xffffffff, nl_get(DS_A_LKEY));
		EXPECT_EQ(0xfffffffe, nl_get(DS_A_RKEY));
		nl_answer = list.by_type[DS_TOKEN_QP];
		EXPECT_EQ(pd, nl_get(DS_A_PD));
		EXPECT_EQ(numbers[i], nl_get(DS_A_NUMBER));
		EXPECT_EQ(numbers[i] > 0xffffff, !!(nl_get(DS_A_FLAGS) & DS_TOKEN_WIDE));
	}
	of[0].number = DS_TOKEN_NO_PD;
	EXPECT_EQ(-EINVAL, import(of, 1, 1, 1));
	EXPECT_EQ(0, forget(device));
}

TEST(what_cannot_be_is_refused)
{
	static const struct ds_token_object bad[] = {
		{ .type = 4, .pd = DS_TOKEN_NO_PD },
		{ .type = 0xffffffff, .pd = DS_TOKEN_NO_PD },
		{ .type = DS_TOKEN_PD, .pd = 1 },
		{ .type = DS_TOKEN_PD, .pd = DS_TOKEN_NO_PD, .lkey = 1 },
		{ .type = DS_TOKEN_PD, .pd = DS_TOKEN_NO_PD, .length = 1 },
		{ .type = DS_TOKEN_PD, .pd = DS_TOKEN_NO_PD, .entries = 1 },
		{ .type = DS_TOKEN_CQ, .pd = 0, .entries = 1 },
		{ .type = DS_TOKEN_CQ, .pd = DS_TOKEN_NO_PD, .rkey = 1 },
		{ .type = DS_TOKEN_CQ, .pd = DS_TOKEN_NO_PD, .state = 1 },
		{ .type = DS_TOKEN_MR, .pd = 77, .number = 1 },
		{ .type = DS_TOKEN_MR, .pd = 77, .qp_type = 1 },
		{ .type = DS_TOKEN_QP, .pd = 77, .state = 7 },
		{ .type = DS_TOKEN_QP, .pd = 77, .state = 0x102 },
		{ .type = DS_TOKEN_QP, .pd = 77, .qp_type = 0x10002 },
		{ .type = DS_TOKEN_QP, .pd = 77, .rkey = 1 },
	};
	struct ds_token_object objects[2] = { PD(77) };
	size_t i;

	find_device();
	EXPECT_EQ(0, import(each, ARRAY_LEN(each), 1, 1));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		objects[1] = bad[i];
		if (import(objects, 2, 1, 1) != -EINVAL || !nl_answer.text[0])
			ds_test_fail(__FILE__, __LINE__, "object %zu", i);
	}
	/* The error of a part ends the import. */
	EXPECT_EQ(0, import(each, 1, 1, 2));
	EXPECT_EQ(-EINVAL, import(bad, 1, 2, 2));
	EXPECT_EQ(-ESTALE, import(each, 1, 2, 2));
	EXPECT(lists(ARRAY_LEN(each)));	/* what was there stays */

	EXPECT_EQ(-EINVAL, import_on(nl_socket(), device, each, sizeof(each[0]) + 1, 1, 1));
	EXPECT_EQ(DS_A_OBJECTS, nl_fault(&message.head));
	EXPECT_EQ(-EINVAL, import_on(nl_socket(), device, each, 1, 1, 1));
	EXPECT_EQ(-ENODEV, import_on(nl_socket(), "none", each, sizeof(each), 1, 1));
	EXPECT_EQ(DS_A_DEVICE, nl_fault(&message.head));
	EXPECT_EQ(-ENODEV, forget("none"));
	EXPECT_EQ(-ENODEV, import_on(nl_socket(), "(packets)", each, sizeof(each), 1, 1));
	EXPECT_EQ(0, forget(device));
}

static void nothing(void)
{
}

static void import_anew(void)
{
	EXPECT_EQ(0, import(each, ARRAY_LEN(each), 1, 1));
}

static void forget_all(void)
{
	EXPECT_EQ(0, forget(device));
}

/* Imported objects are numbered anew. Others that come and go are no matter. */
TEST(an_import_interrupts_who_lists)
{
	static struct ds_token_object many[500];
	size_t i;

	find_device();
	for (i = 0; i < ARRAY_LEN(many); i++)
		many[i] = (struct ds_token_object)PD(i);
	EXPECT_EQ(0, import(many, ARRAY_LEN(many), 1, 1));
	EXPECT(!nl_dump_is_interrupted(DS_CMD_TOKEN_GET, nothing));
	EXPECT(nl_dump_is_interrupted(DS_CMD_TOKEN_GET, import_anew));
	EXPECT_EQ(0, import(many, ARRAY_LEN(many), 1, 1));
	EXPECT(nl_dump_is_interrupted(DS_CMD_TOKEN_GET, forget_all));
}

TEST(a_host_has_a_limit)
{
	static struct ds_token_object many[DS_TOKEN_OBJECTS_MAX + 1];
	uint32_t parts = FOREIGN_MOST / DS_TOKEN_OBJECTS_MAX, part;
	int brief = nl_open_socket(), on = 1;
	size_t i;

	find_device();
	for (i = 0; i < ARRAY_LEN(many); i++)
		many[i] = (struct ds_token_object){ .type = DS_TOKEN_CQ, .number = i,
						    .pd = DS_TOKEN_NO_PD };
	/* An error that does not send the request back, which is longer than our buffer. */
	ASSERT_OK(setsockopt(brief, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on)));
	EXPECT_EQ(-ERANGE, import_on(brief, device, many, sizeof(many), 1, 1));
	for (part = 1; part <= parts; part++)
		ASSERT(import(many, DS_TOKEN_OBJECTS_MAX, part, parts) == 0);
	EXPECT(lists(FOREIGN_MOST));
	/* The next import and the one that it is to replace are there at the same time. */
	EXPECT_EQ(-EDQUOT, import(many, 1, 1, 1));
	EXPECT(nl_answer.text[0]);
	EXPECT_EQ(0, forget(device));
	EXPECT_EQ(0, import(many, 1, 1, 1));
	EXPECT(lists(1));
	EXPECT_EQ(0, forget(device));
}

TEST(keys_and_activity_are_for_administrators)
{
	int own, keys;

	find_device();
	list_tokens();
	own = list.own;
	keys = list.keys;
	EXPECT_EQ(0, import(each, ARRAY_LEN(each), 1, 1));
	EXPECT(lists(ARRAY_LEN(each)));
	EXPECT_EQ(keys + 1, list.keys);
	EXPECT_EQ(own + (int)ARRAY_LEN(each), list.places);
	ASSERT_OK(setresgid(65534, 65534, 65534));
	ASSERT_OK(setresuid(65534, 65534, 65534));
	/* Nor are objects of programs that the others may not see. */
	EXPECT(lists(0));
	EXPECT_EQ(0, list.keys);
	EXPECT_EQ(0, list.places);
	EXPECT_EQ(own, list.own);
}

TEST(what_the_test_above_has_left)
{
	find_device();
	EXPECT_EQ(0, forget(device));
}

/* ---- counters ---- */

struct counters {
	int values, times;
	uint64_t foreign;
};

static void count(void *ctx)
{
	const struct nlattr *name = nl_find(DS_A_NAME), *times = nl_find(DS_A_HISTOGRAM);
	struct counters *counters = ctx;

	if (!is_of_device())
		return;
	EXPECT(name);
	EXPECT((nl_find(DS_A_VALUE) != NULL) != (times != NULL));
	if (times)
		EXPECT_EQ(NLA_HDRLEN + DS_TOKEN_BUCKETS * 8, times->nla_len);
	counters->values += !times;
	counters->times += times != NULL;
	if (name && !strcmp(nl_data(name), "foreign"))
		counters->foreign = nl_get(DS_A_VALUE);
}

TEST(counters_of_a_device)
{
	struct counters counters = { 0 };

	find_device();
	EXPECT_EQ(0, import(each, ARRAY_LEN(each), 1, 1));
	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_STAT_GET, count, &counters, NULL));
	EXPECT_EQ(COUNTERS, counters.values);
	EXPECT_EQ(TIMES, counters.times);
	EXPECT_EQ(ARRAY_LEN(each), counters.foreign);
	EXPECT_EQ(0, forget(device));
}

/* What of the kernel's slabs cannot be reclaimed. */
static long kernel_kib(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	long kib = -1;

	ASSERT(file);
	while (kib < 0 && fgets(line, sizeof(line), file))
		sscanf(line, "SUnreclaim: %ld kB", &kib);
	fclose(file);
	ASSERT(kib > 0);
	return kib;
}

/* Its counts are made once, at the beginning: they end with it, or with whoever had asked. */
TEST(a_dump_of_counters_is_left)
{
	struct counters counters = { 0 };
	struct nl_request r;
	char part[NL_BUFFER];
	long before, after;
	int i, fd;

	find_device();
	before = kernel_kib();
	for (i = 0; i < 2048; i++) {
		nl_begin(&r, DS_CMD_TOKEN_STAT_GET, NLM_F_DUMP);
		fd = nl_open_socket();
		nl_send(fd, &r);
		EXPECT(nl_receive(fd, part) > 0);
		EXPECT_OK(close(fd));
	}
	/* They take 4 KiB or more. */
	after = kernel_kib();
	EXPECT(after - before < 4096);
	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_STAT_GET, count, &counters, NULL));
	EXPECT_EQ(COUNTERS, counters.values);
}

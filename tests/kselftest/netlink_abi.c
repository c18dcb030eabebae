// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family "ds": each command with each kind of wrong attribute.
 *
 * Wrong requests are made from right ones, which are about objects that do not
 * exist (ABSENT): a right request gives the errno in the table, so another errno
 * with the wrong one comes from what was made wrong.
 */
#include "ds_test.h"
#include "ds_nl.h"
#include "ds_nl_host.h"

#include <sched.h>

enum kind { U16, U32, S32, U64, BINARY, STRING };

/* A right value of an attribute, and wrong ones. Of a string @right is how long it may be. */
struct attr {
	uint16_t type;
	const char *name;
	enum kind kind;
	uint16_t length;
	int64_t right;
	int bad_count;
	int64_t bad[3];		/* out of range */
};

static const struct attr attrs[] = {
	{ DS_A_NODE, "NODE", U32, 4, ABSENT_NODE, 3, { 0, 65536, 0xffffffff } },
	{ DS_A_GROUP, "GROUP", U64, 8, 0, 0, { 0 } },
	{ DS_A_DOMAIN, "DOMAIN", U32, 4, ABSENT_DOMAIN, 3, { 0, 65536, 0xffffffff } },
	{ DS_A_KEY, "KEY", BINARY, 32, 0, 0, { 0 } },
	{ DS_A_IPV4, "IPV4", U32, 4, 0x6300000a, 0, { 0 } },	/* 10.0.0.99 */
	{ DS_A_IPV6, "IPV6", BINARY, 16, 0, 0, { 0 } },
	{ DS_A_PORT, "PORT", U16, 2, 18527, 1, { 0 } },
	{ DS_A_TIMEOUT_MS, "TIMEOUT_MS", U32, 4, 100, 3, { 0, 20001, 0xffffffff } },
	{ DS_A_SEGMENT, "SEGMENT", U64, 8, (int64_t)ABSENT_SEGMENT, 0, { 0 } },
	{ DS_A_LENGTH, "LENGTH", U64, 8, 4096, 2, { 0, 4095 } },
	{ DS_A_ACCESS, "ACCESS", U32, 4, 7, 3, { 0, 8, 0xffffffff } },
	{ DS_A_NUMA_NODE, "NUMA_NODE", S32, 4, -1, 3, { -2, 1024, INT32_MIN } },
	{ DS_A_NAME, "NAME", STRING, 5, 31, 0, { 0 } },
	{ DS_A_DEVICE, "DEVICE", STRING, 5, 63, 0, { 0 } },
	{ DS_A_SPACE, "SPACE", U32, 4, ABSENT_SPACE, 1, { 0 } },
	{ DS_A_SERVERS, "SERVERS", U32, 4, 2, 3, { 0, 1025, 0xffffffff } },
	{ DS_A_SERVER_SHIFT, "SERVER_SHIFT", U32, 4, 24, 3, { 23, 41, 0xffffffff } },
	{ DS_A_SERVER, "SERVER", U32, 4, 0, 2, { 1024, 0xffffffff } },
	{ DS_A_UID, "UID", U32, 4, 1000, 0, { 0 } },
	{ DS_A_FLAGS, "FLAGS", U32, 4, 0, 2, { 2, 0xffffffff } },
	{ DS_A_VALUE, "VALUE", U64, 8, 1, 2, { 0, 1000001 } },
	{ DS_A_RDM_SPACE, "RDM_SPACE", U32, 4, ABSENT_SPACE, 2, { 65536, 0xffffffff } },
	{ DS_A_TENANT, "TENANT", U32, 4, 7, 0, { 0 } },
	{ DS_A_KIND, "KIND", U32, 4, 2, 2, { 3, 0xffffffff } },
	{ DS_A_PAGE_SHIFT, "PAGE_SHIFT", U32, 4, 12, 3, { 11, 22, 0xffffffff } },
	{ DS_A_MAC_KEY, "MAC_KEY", BINARY, 16, 0, 0, { 0 } },
	{ DS_A_WIRE, "WIRE", U32, 4, 2, 3, { 0, 3, 0xffffffff } },
	{ DS_A_SETTING, "SETTING", U64, 8, 1, 0, { 0 } },
	{ DS_A_PART, "PART", U32, 4, 1, 3, { 0, 4097, 0xffffffff } },
	{ DS_A_PARTS, "PARTS", U32, 4, 1, 3, { 0, 4097, 0xffffffff } },
	{ DS_A_TOKEN, "TOKEN", U32, 4, 0xffffffff, 0, { 0 } },
};

#define MAX_ATTRS	8

/* A command: what it needs, what else it takes, and what a right request gives. */
struct command {
	uint8_t cmd;
	const char *name;
	int error;
	uint16_t needs[MAX_ATTRS];
	uint16_t takes[MAX_ATTRS];
};

static const struct command commands[] = {
	{ DS_CMD_NODE_GET, "NODE_GET", 0, { 0 }, { 0 } },
	{ DS_CMD_NODE_SET, "NODE_SET", -EBUSY, { DS_A_NODE }, { DS_A_GROUP } },
	{ DS_CMD_DOMAIN_ADD, "DOMAIN_ADD", -EEXIST, { DS_A_DOMAIN, DS_A_KEY }, { 0 } },
	{ DS_CMD_DOMAIN_DEL, "DOMAIN_DEL", -ENOENT, { DS_A_DOMAIN }, { 0 } },
	{ DS_CMD_PEER_ADD, "PEER_ADD", -ENOENT, { DS_A_DOMAIN, DS_A_IPV4 },
	  { DS_A_PORT, DS_A_TIMEOUT_MS } },
	{ DS_CMD_PEER_ADD, "PEER_ADD by IPv6", -ENOENT, { DS_A_DOMAIN, DS_A_IPV6 },
	  { DS_A_PORT, DS_A_TIMEOUT_MS } },
	{ DS_CMD_PEER_DEL, "PEER_DEL", -ENOENT, { DS_A_NODE }, { 0 } },
	{ DS_CMD_PEER_DEL, "PEER_DEL by IPv4", -ENOENT, { DS_A_IPV4 }, { DS_A_PORT } },
	{ DS_CMD_PEER_DEL, "PEER_DEL by IPv6", -ENOENT, { DS_A_IPV6 }, { DS_A_PORT } },
	{ DS_CMD_SEG_ADD, "SEG_ADD", -ENOENT, { DS_A_LENGTH, DS_A_DOMAIN },
	  { DS_A_ACCESS, DS_A_NUMA_NODE, DS_A_NAME } },
	{ DS_CMD_SEG_DEL, "SEG_DEL", -ENOENT, { DS_A_SEGMENT }, { 0 } },
	{ DS_CMD_SEG_REVOKE, "SEG_REVOKE", -ENOENT, { DS_A_SEGMENT }, { 0 } },
	{ DS_CMD_SPACE_ADD, "SPACE_ADD", -ENOENT,
	  { DS_A_SPACE, DS_A_DOMAIN, DS_A_SERVERS, DS_A_SERVER_SHIFT }, { DS_A_UID, DS_A_ACCESS } },
	{ DS_CMD_SPACE_DEL, "SPACE_DEL", -ENOENT, { DS_A_SPACE }, { 0 } },
	{ DS_CMD_ATTACH_ADD, "ATTACH_ADD", -ENOENT,
	  { DS_A_SPACE, DS_A_SERVER, DS_A_NODE, DS_A_SEGMENT }, { DS_A_TIMEOUT_MS } },
	{ DS_CMD_ATTACH_DEL, "ATTACH_DEL", -ENOENT, { DS_A_SPACE, DS_A_SERVER }, { 0 } },
	{ DS_CMD_RDM_SPACE_ADD, "RDM_SPACE_ADD", -ENOENT, { DS_A_RDM_SPACE, DS_A_SEGMENT },
	  { DS_A_LENGTH, DS_A_KIND, DS_A_PAGE_SHIFT, DS_A_TENANT, DS_A_ACCESS, DS_A_MAC_KEY } },
	{ DS_CMD_RDM_SPACE_DEL, "RDM_SPACE_DEL", -ENOENT, { DS_A_RDM_SPACE }, { 0 } },
	{ DS_CMD_RDM_LISTEN_ADD, "RDM_LISTEN_ADD", -EADDRNOTAVAIL, { DS_A_WIRE, DS_A_IPV4 },
	  { DS_A_PORT, DS_A_FLAGS } },
	{ DS_CMD_RDM_LISTEN_DEL, "RDM_LISTEN_DEL", -ENOENT, { DS_A_WIRE, DS_A_IPV4 },
	  { DS_A_PORT } },
	{ DS_CMD_RDM_PEER_DEL, "RDM_PEER_DEL", -ENOENT, { DS_A_IPV4 }, { 0 } },
	{ DS_CMD_RDM_SELFTEST, "RDM_SELFTEST", 0, { 0 }, { DS_A_VALUE } },
	{ DS_CMD_TOKEN_SET, "TOKEN_SET", -ENOENT, { DS_A_NAME, DS_A_SETTING }, { DS_A_DOMAIN } },
	{ DS_CMD_TOKEN_IMPORT, "TOKEN_IMPORT", -ENODEV, { DS_A_DEVICE }, { DS_A_PART, DS_A_PARTS } },
	{ DS_CMD_TOKEN_FORGET, "TOKEN_FORGET", -ENODEV, { DS_A_DEVICE }, { 0 } },
	{ DS_CMD_TOKEN_PIN, "TOKEN_PIN", -EBADF, { DS_A_TOKEN }, { 0 } },
	{ DS_CMD_TOKEN_UNPIN, "TOKEN_UNPIN", -EBADF, { DS_A_TOKEN }, { 0 } },
};

static const uint8_t dumps[] = {
	DS_CMD_DOMAIN_GET, DS_CMD_DEV_GET, DS_CMD_PEER_GET, DS_CMD_SEG_GET, DS_CMD_SPACE_GET,
	DS_CMD_ATTACH_GET, DS_CMD_FILE_GET, DS_CMD_STAT_GET, DS_CMD_RDM_SPACE_GET,
	DS_CMD_RDM_LISTEN_GET, DS_CMD_RDM_PEER_GET, DS_CMD_TOKEN_GET, DS_CMD_TOKEN_STAT_GET,
	DS_CMD_TOKEN_PARAM_GET,
};

/* ---- building requests ---- */

static const struct attr *attr_of(uint16_t type)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(attrs); i++)
		if (attrs[i].type == type)
			return &attrs[i];
	ASSERT(!"an attribute of the tables");
	return NULL;
}

/* Bytes of a right value: numbers are little-endian as all DS hosts are. */
static void right_value(const struct attr *a, uint8_t *value)
{
	memset(value, 0, 64);
	if (a->kind == STRING)
		memcpy(value, "test", 5);
	else if (a->type == DS_A_IPV6)
		memcpy(value, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x99", 16);
	else if (a->kind == BINARY)
		memset(value, 0x5a, a->length);
	else
		memcpy(value, &a->right, a->length);
}

static void put_right(struct nl_request *r, uint16_t type)
{
	const struct attr *a = attr_of(type);
	uint8_t value[64];

	right_value(a, value);
	nl_put(r, type, value, a->length);
}

/* All of a command's attributes but @without, which may be 0. */
static void put_all(struct nl_request *r, const struct command *c, uint16_t without)
{
	int i;

	nl_begin(r, c->cmd, 0);
	for (i = 0; i < MAX_ATTRS && c->needs[i]; i++)
		if (c->needs[i] != without)
			put_right(r, c->needs[i]);
	for (i = 0; i < MAX_ATTRS && c->takes[i]; i++)
		if (c->takes[i] != without)
			put_right(r, c->takes[i]);
}

static bool knows(const struct command *c, uint16_t type)
{
	int i;

	for (i = 0; i < MAX_ATTRS; i++)
		if (c->needs[i] == type || c->takes[i] == type)
			return true;
	return false;
}

/* Send @r; it must fail with @error, a sentence, and @fault as the attribute at fault. */
static void expect_refusal(const struct command *c, struct nl_request *r, int error, uint16_t fault,
			   const char *what)
{
	int ret = nl_call(r);

	if (ret != error)
		ds_test_fail(__FILE__, __LINE__, "%s, %s: %s, expected %s (\"%s\")", c->name, what,
			     ds_errno_name(-ret), ds_errno_name(-error), nl_answer.text);
	if (!nl_answer.text[0])
		ds_test_fail(__FILE__, __LINE__, "%s, %s: no sentence", c->name, what);
	if (fault && nl_fault(r) != fault)
		ds_test_fail(__FILE__, __LINE__, "%s, %s: blames attribute %u", c->name, what,
			     nl_fault(r));
}

/* Call @fn for each command and each attribute that it knows. */
static void for_each_attr(void (*fn)(const struct command *c, const struct attr *a))
{
	size_t i;
	int k;

	for (i = 0; i < ARRAY_LEN(commands); i++) {
		for (k = 0; k < MAX_ATTRS && commands[i].needs[k]; k++)
			fn(&commands[i], attr_of(commands[i].needs[k]));
		for (k = 0; k < MAX_ATTRS && commands[i].takes[k]; k++)
			fn(&commands[i], attr_of(commands[i].takes[k]));
	}
}

/* ---- wrong requests ---- */

/* Without this the others would prove nothing. */
TEST(right_requests_give_the_errors_of_the_table)
{
	struct nl_request r;
	size_t i;

	prepare_host();
	for (i = 0; i < ARRAY_LEN(commands); i++) {
		const struct command *c = &commands[i];

		/* The one that could work is about the domain that is there. */
		if (c->cmd == DS_CMD_DOMAIN_ADD) {
			EXPECT_EQ(c->error, domain_call(c->cmd, TEST_DOMAIN));
			continue;
		}
		put_all(&r, c, 0);
		if (c->error)
			expect_refusal(c, &r, c->error, 0, "right request");
		else
			EXPECT_EQ(0, nl_call(&r));
	}
	tidy_host();
}

static void try_missing(const struct command *c, const struct attr *a)
{
	struct nl_request r;
	int i;

	for (i = 0; i < MAX_ATTRS && c->needs[i] != a->type; i++)
		;
	if (i == MAX_ATTRS)
		return;
	put_all(&r, c, a->type);
	/* An address may be missing in one way only: give PORT neither. */
	expect_refusal(c, &r, -EINVAL, 0, a->name);
	if (a->type == DS_A_IPV4 || a->type == DS_A_IPV6 || c->cmd == DS_CMD_PEER_DEL)
		return;
	EXPECT_EQ(a->type, nl_answer.missing);
}

TEST(a_missing_attribute)
{
	prepare_host();
	for_each_attr(try_missing);
	tidy_host();
}

static void try_duplicate(const struct command *c, const struct attr *a)
{
	struct nl_request r;

	put_all(&r, c, 0);
	put_right(&r, a->type);
	expect_refusal(c, &r, -EINVAL, a->type, a->name);
}

TEST(a_duplicate_attribute)
{
	prepare_host();
	for_each_attr(try_duplicate);
	tidy_host();
}

static void try_length(const struct command *c, const struct attr *a, int length)
{
	struct nl_request r;
	uint8_t value[64];

	right_value(a, value);
	put_all(&r, c, a->type);
	nl_put(&r, a->type, value, length);
	expect_refusal(c, &r, a->kind == BINARY ? -ERANGE : -EINVAL, a->type, a->name);
}

static void try_lengths(const struct command *c, const struct attr *a)
{
	uint8_t text[65];
	struct nl_request r;

	try_length(c, a, 0);
	if (a->kind != STRING) {
		try_length(c, a, a->length - 1);
		try_length(c, a, a->length + 1);
		try_length(c, a, 64);
		return;
	}
	try_length(c, a, 4);	/* no NUL */
	memset(text, 'x', sizeof(text));
	text[a->right + 1] = '\0';
	put_all(&r, c, a->type);
	nl_put(&r, a->type, text, a->right + 2);	/* one character too long */
	expect_refusal(c, &r, -EINVAL, a->type, a->name);
	put_all(&r, c, a->type);
	nl_put(&r, a->type, text + 1, a->right + 1);	/* the longest */
	expect_refusal(c, &r, c->error, 0, a->name);
}

TEST(a_wrong_length)
{
	prepare_host();
	for_each_attr(try_lengths);
	tidy_host();
}

static void try_nested(const struct command *c, const struct attr *a)
{
	struct nl_request r;
	uint8_t value[64];

	right_value(a, value);
	put_all(&r, c, a->type);
	nl_put(&r, a->type | NLA_F_NESTED, value, a->length);
	expect_refusal(c, &r, -EINVAL, a->type, a->name);
}

TEST(a_wrong_type)
{
	prepare_host();
	for_each_attr(try_nested);
	tidy_host();
}

static void try_range(const struct command *c, const struct attr *a)
{
	struct nl_request r;
	int i;

	for (i = 0; i < a->bad_count; i++) {
		put_all(&r, c, a->type);
		nl_put(&r, a->type, &a->bad[i], a->length);
		expect_refusal(c, &r, -ERANGE, a->type, a->name);
	}
}

TEST(a_value_out_of_range)
{
	prepare_host();
	for_each_attr(try_range);
	tidy_host();
}

/* Attributes of other commands, those that only the kernel gives, and no attributes. */
TEST(an_attribute_that_the_command_does_not_know)
{
	static const uint16_t numbers[] = { DS_A_MAX + 1, 1000, 0x3fff };
	struct nl_request r;
	size_t i, k;
	uint16_t type;

	prepare_host();
	for (i = 0; i < ARRAY_LEN(commands); i++) {
		const struct command *c = &commands[i];

		for (type = 1; type <= DS_A_MAX; type++) {
			/* PEER_DEL stands in the table by its three ways. */
			if (knows(c, type) || c->cmd == DS_CMD_PEER_ADD || c->cmd == DS_CMD_PEER_DEL)
				continue;
			/* An open file's number: rdm_netlink.c. Objects: netlink_tokens.c. */
			if ((c->cmd == DS_CMD_SEG_ADD && type == DS_A_FD) ||
			    (c->cmd == DS_CMD_TOKEN_IMPORT && type == DS_A_OBJECTS))
				continue;
			put_all(&r, c, 0);
			for (k = 0; k < ARRAY_LEN(attrs); k++)
				if (attrs[k].type == type)
					break;
			if (k < ARRAY_LEN(attrs))
				put_right(&r, type);
			else
				nl_put_u64(&r, type, 0);
			expect_refusal(c, &r, -EINVAL, type, "an attribute of another command");
		}
		for (k = 0; k < ARRAY_LEN(numbers); k++) {
			put_all(&r, c, 0);
			nl_put_u32(&r, numbers[k], 0);
			expect_refusal(c, &r, -EINVAL, numbers[k], "no attribute");
		}
	}
	tidy_host();
}

TEST(bytes_behind_the_attributes)
{
	struct nl_request r;
	size_t i;

	prepare_host();
	for (i = 0; i < ARRAY_LEN(commands); i++) {
		put_all(&r, &commands[i], 0);
		r.head.nlmsg_len += 3;
		expect_refusal(&commands[i], &r, -EINVAL, 0, "trailing bytes");
	}
	tidy_host();
}

TEST(an_attribute_that_is_longer_than_the_message)
{
	struct nl_request r;
	struct nlattr *attr;

	nl_begin(&r, DS_CMD_SEG_DEL, 0);
	attr = (struct nlattr *)r.attrs;
	nl_put_u64(&r, DS_A_SEGMENT, ABSENT_SEGMENT);
	attr->nla_len = 0xffff;
	EXPECT_EQ(-EINVAL, nl_call(&r));
	EXPECT(nl_answer.text[0]);
}

TEST(a_wrong_header)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_NODE_GET, 0);
	r.genl.reserved = 1;
	EXPECT_EQ(-EINVAL, nl_call(&r));
	EXPECT(nl_answer.text[0]);

	nl_begin(&r, DS_CMD_NODE_GET, NLM_F_CREATE);
	EXPECT_EQ(-EINVAL, nl_call(&r));
	EXPECT(nl_answer.text[0]);

	nl_begin(&r, 200, 0);
	EXPECT_EQ(-EOPNOTSUPP, nl_call(&r));
	nl_begin(&r, DS_CMD_UNSPEC, 0);
	EXPECT_EQ(-EOPNOTSUPP, nl_call(&r));
	nl_begin(&r, DS_CMD_EVENT, 0);
	EXPECT_EQ(-EOPNOTSUPP, nl_call(&r));
	nl_begin(&r, DS_CMD_SEG_GET, 0);	/* a dump, asked for as a command */
	EXPECT_EQ(-EOPNOTSUPP, nl_call(&r));
	EXPECT_EQ(-EOPNOTSUPP, nl_dump(DS_CMD_SEG_ADD, NULL, NULL, NULL));
}

TEST(an_address_that_no_host_has)
{
	static const char *const ipv4[] = {
		"\0\0\0\0", "\xe0\0\0\1", "\xff\xff\xff\xff",
	};
	static const char *const ipv6[] = {
		"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1",
		"\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1",
	};
	struct nl_request r;
	size_t i;

	for (i = 0; i < ARRAY_LEN(ipv4); i++) {
		nl_begin(&r, DS_CMD_PEER_DEL, 0);
		nl_put(&r, DS_A_IPV4, ipv4[i], 4);
		EXPECT_EQ(-EINVAL, nl_call(&r));
		EXPECT(nl_answer.text[0]);
	}
	for (i = 0; i < ARRAY_LEN(ipv6); i++) {
		nl_begin(&r, DS_CMD_PEER_DEL, 0);
		nl_put(&r, DS_A_IPV6, ipv6[i], 16);
		EXPECT_EQ(-EINVAL, nl_call(&r));
		EXPECT(nl_answer.text[0]);
	}

	/* Two names for one peer. */
	nl_begin(&r, DS_CMD_PEER_DEL, 0);
	put_right(&r, DS_A_NODE);
	put_right(&r, DS_A_IPV4);
	EXPECT_EQ(-EINVAL, nl_call(&r));
	nl_begin(&r, DS_CMD_PEER_DEL, 0);
	put_right(&r, DS_A_NODE);
	put_right(&r, DS_A_PORT);
	EXPECT_EQ(-EINVAL, nl_call(&r));
	nl_begin(&r, DS_CMD_PEER_DEL, 0);
	put_right(&r, DS_A_IPV4);
	put_right(&r, DS_A_IPV6);
	EXPECT_EQ(-EINVAL, nl_call(&r));
	EXPECT(nl_answer.text[0]);
}

TEST(wrong_values_that_have_the_right_type)
{
	static const char *const names[] = { "a\nb", "a\x7f", "\xc3\xa4", "\x1b[31m" };
	struct nl_request r;
	uint64_t lengths[] = { 4097, 8191, 1ull << 50, ~0ull & ~4095ull };
	size_t i;

	prepare_host();
	for (i = 0; i < ARRAY_LEN(lengths); i++) {
		nl_begin(&r, DS_CMD_SEG_ADD, 0);
		nl_put_u64(&r, DS_A_LENGTH, lengths[i]);
		nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN);
		EXPECT_EQ(-EINVAL, nl_call(&r));
		EXPECT(nl_answer.text[0]);
	}
	for (i = 0; i < ARRAY_LEN(names); i++) {
		nl_begin(&r, DS_CMD_SEG_ADD, 0);
		nl_put_u64(&r, DS_A_LENGTH, 4096);
		nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN);
		nl_put(&r, DS_A_NAME, names[i], strlen(names[i]) + 1);
		EXPECT_EQ(-EINVAL, nl_call(&r));
		EXPECT_EQ(DS_A_NAME, nl_fault(&r));
	}
	nl_begin(&r, DS_CMD_SEG_ADD, 0);
	nl_put_u64(&r, DS_A_LENGTH, 4096);
	nl_put_u32(&r, DS_A_DOMAIN, TEST_DOMAIN);
	nl_put_u32(&r, DS_A_NUMA_NODE, 1023);	/* no machine of the tests has so many */
	EXPECT_EQ(-EINVAL, nl_call(&r));
	EXPECT(nl_answer.text[0]);

	put_all(&r, &(struct command){ DS_CMD_SPACE_ADD, "", 0, { DS_A_SPACE, DS_A_DOMAIN,
		DS_A_SERVERS, DS_A_SERVER_SHIFT }, { 0 } }, 0);
	nl_put_u32(&r, DS_A_UID, 0xffffffff);
	EXPECT_EQ(-EINVAL, nl_call(&r));
	EXPECT_EQ(DS_A_UID, nl_fault(&r));
	tidy_host();
}

TEST(dumps_take_no_attributes)
{
	struct nl_request r;
	size_t i;

	for (i = 0; i < ARRAY_LEN(dumps); i++) {
		nl_begin(&r, dumps[i], NLM_F_DUMP);
		nl_put_u32(&r, DS_A_DOMAIN, 1);
		EXPECT_EQ(-EINVAL, nl_talk(nl_socket(), &r, NULL, NULL, NULL));
		EXPECT(nl_answer.text[0]);
		nl_begin(&r, dumps[i], NLM_F_DUMP);
		nl_put_u32(&r, 1000, 1);
		EXPECT_EQ(-EINVAL, nl_talk(nl_socket(), &r, NULL, NULL, NULL));
		EXPECT_EQ(0, nl_dump(dumps[i], NULL, NULL, NULL));
	}
}

/* ---- rights ---- */

TEST(changes_need_the_right_to_make_them)
{
	struct nl_request r;
	size_t i;

	prepare_host();
	nl_socket();
	ASSERT_OK(setresgid(65534, 65534, 65534));
	ASSERT_OK(setresuid(65534, 65534, 65534));
	for (i = 0; i < ARRAY_LEN(commands); i++) {
		put_all(&r, &commands[i], 0);
		EXPECT_EQ(commands[i].cmd == DS_CMD_NODE_GET ? 0 : -EPERM, nl_call(&r));
	}
	for (i = 0; i < ARRAY_LEN(dumps); i++)
		EXPECT_EQ(0, nl_dump(dumps[i], NULL, NULL, NULL));
}

TEST(the_domain_of_the_test_above_is_still_there)
{
	nl_socket();
	tidy_host();
}

TEST(other_network_namespaces_have_no_family)
{
	struct nl_request r;
	int fd;

	nl_socket();
	ASSERT_OK(unshare(CLONE_NEWNET));
	fd = nl_open_socket();
	EXPECT_EQ(-ENOENT, nl_resolve(fd));
	nl_begin_as(&r, nl_family, DS_CMD_NODE_GET, NLM_F_ACK);
	EXPECT_EQ(-ENOENT, nl_talk(fd, &r, NULL, NULL, NULL));
}

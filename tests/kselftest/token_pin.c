// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family "ds": tokens that are pinned. DS_TEST_SPACE names a space whose server 0 is
 * a segment of CHUNKS memory regions of another host; the module was loaded with token_l1=16, so
 * that who is not pinned leaves L1 soon.
 */
#include "ds_test.h"
#include "ds_submit.h"
#include "ds_nl.h"

#include <ds/token.h>

#define CHUNKS		40
#define CHUNK		(2ull << 20)
#define ROUNDS		500
#define HALF_OF_L1	8
#define HIGH_INDEX	1000	/* no token of ours has it */

/* ---- tokens ---- */

struct token {
	uint32_t handle, tier, slot, flags;
};

/* The memory regions of the segment by their place, and the foreign token that came last. */
static struct token chunks[CHUNKS];
static uint32_t foreign;

static void note_token(void *ctx)
{
	uint64_t at = nl_get(DS_A_IOVA) / CHUNK;

	(void)ctx;
	if (nl_get(DS_A_FLAGS) & DS_TOKEN_FOREIGN)
		foreign = nl_get(DS_A_TOKEN);
	else if (nl_get(DS_A_TYPE) == DS_TOKEN_MR && nl_get(DS_A_LKEY) == 0 && at < CHUNKS)
		chunks[at] = (struct token){ nl_get(DS_A_TOKEN), nl_get(DS_A_TIER),
					     nl_get(DS_A_SLOT), nl_get(DS_A_FLAGS) };
}

static void list_tokens(void)
{
	memset(chunks, 0, sizeof(chunks));
	foreign = 0;
	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_GET, note_token, NULL, NULL));
}

static int call(uint8_t cmd, uint32_t token)
{
	struct nl_request r;
	int ret;

	nl_begin(&r, cmd, 0);
	nl_put_u32(&r, DS_A_TOKEN, token);
	ret = nl_call(&r);
	EXPECT(!ret || (nl_answer.text[0] && nl_fault(&r) == DS_A_TOKEN));
	return ret;
}

/* It may be on its way just now. */
static int change(uint8_t cmd, uint32_t token)
{
	int tries, ret = -EBUSY;

	for (tries = 0; tries < 1000 && (ret == -EBUSY || ret == -EAGAIN); tries++)
		ret = call(cmd, token);
	return ret;
}

static int pin(uint32_t token)
{
	return change(DS_CMD_TOKEN_PIN, token);
}

static int unpin(uint32_t token)
{
	return change(DS_CMD_TOKEN_UNPIN, token);
}

static void use(struct setup *s, int from, int to)
{
	int i;

	for (i = from; i < to; i++)
		EXPECT_EQ(0, RUN_RW(*s, DS_OP_READ, .length = 64,
				    .addr = s->space.out_base + i * CHUNK).status);
}

/* Each but the first two, some at a time and again and again, or the policy knows it for a scan. */
static void use_others(struct setup *s, int round)
{
	int from = 2 + round * 6 % (CHUNKS - 2 - 12), again;

	for (again = 0; again < 3; again++)
		use(s, from, from + 12);
}

/* The first two come to L1. */
static bool both_come(struct setup *s)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		use(s, 0, 2);
		list_tokens();
		if (chunks[0].tier == 1 && chunks[1].tier == 1)
			return true;
		usleep(1000);
	}
	return false;
}

/* The first two leave L1, but for one that is pinned. */
static bool both_leave(struct setup *s)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		use_others(s, i);
		list_tokens();
		if ((chunks[0].tier != 1 || chunks[0].flags & DS_TOKEN_PINNED) && chunks[1].tier != 1)
			return true;
	}
	return false;
}

/* ---- wrong calls ---- */

static void import_many(void)
{
	static const struct ds_token_object none = { .type = DS_TOKEN_CQ, .pd = DS_TOKEN_NO_PD };
	static struct {
		struct nl_request head;
		char more[DS_TOKEN_OBJECTS_MAX * sizeof(struct ds_token_object)];
	} message;
	struct nl_request *r = &message.head;
	struct ds_token_object *objects;
	struct nlattr *attr;
	int i;

	nl_begin(r, DS_CMD_TOKEN_IMPORT, NLM_F_ACK);
	nl_put(r, DS_A_DEVICE, "rxe0", 5);
	attr = (struct nlattr *)((char *)r + r->head.nlmsg_len);
	attr->nla_type = DS_A_OBJECTS;
	attr->nla_len = NLA_HDRLEN + DS_TOKEN_OBJECTS_MAX * sizeof(none);
	objects = (struct ds_token_object *)((char *)attr + NLA_HDRLEN);
	for (i = 0; i < (int)DS_TOKEN_OBJECTS_MAX; i++)
		objects[i] = none;
	r->head.nlmsg_len += attr->nla_len;
	EXPECT_EQ(0, nl_talk(nl_socket(), r, NULL, NULL, NULL));
}

TEST(what_is_no_token_of_ours_is_not_pinned)
{
	static const uint8_t cmds[] = { DS_CMD_TOKEN_PIN, DS_CMD_TOKEN_UNPIN };
	struct nl_request r;
	uint32_t token, i;

	import_many();
	list_tokens();
	token = chunks[0].handle;
	ASSERT(token && foreign % (1u << DS_TOKEN_INDEX_BITS) > HIGH_INDEX);
	for (i = 0; i < ARRAY_LEN(cmds); i++) {
		EXPECT_EQ(-EBADF, call(cmds[i], 0));
		EXPECT_EQ(-EBADF, call(cmds[i], ~0u));
		EXPECT_EQ(-EBADF, call(cmds[i], token + HIGH_INDEX));
		EXPECT_EQ(-EBADF, call(cmds[i], token + (1u << DS_TOKEN_GEN_OFF)));
		EXPECT_EQ(-EBADF, call(cmds[i], token ^ 1u << DS_TOKEN_TYPE_OFF));
		EXPECT_EQ(-EOPNOTSUPP, call(cmds[i], foreign));
		EXPECT(strstr(nl_answer.text, "imported"));
	}
	nl_begin(&r, DS_CMD_TOKEN_FORGET, 0);
	nl_put(&r, DS_A_DEVICE, "rxe0", 5);
	EXPECT_EQ(0, nl_call(&r));
	EXPECT_EQ(-EBADF, call(DS_CMD_TOKEN_PIN, foreign));
	list_tokens();
	EXPECT(!(chunks[0].flags & DS_TOKEN_PINNED));
}

/* ---- pinned tokens ---- */

TEST(a_pinned_token_stays_in_l1)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	struct token first;
	int i;

	ASSERT(both_come(&s));
	EXPECT(!(chunks[0].flags & DS_TOKEN_PINNED));
	EXPECT_EQ(0, pin(chunks[0].handle));
	EXPECT_EQ(0, pin(chunks[0].handle));	/* it is */
	list_tokens();
	first = chunks[0];
	EXPECT_EQ(1, first.tier);
	EXPECT(first.flags & DS_TOKEN_PINNED);
	EXPECT(both_leave(&s));
	for (i = 0; i < 20; i++)
		use_others(&s, i);
	list_tokens();
	EXPECT_EQ(1, chunks[0].tier);
	EXPECT_EQ(first.slot, chunks[0].slot);
	EXPECT(chunks[0].flags & DS_TOKEN_PINNED);

	EXPECT_EQ(0, unpin(first.handle));
	EXPECT_EQ(0, unpin(first.handle));
	list_tokens();
	EXPECT(!(chunks[0].flags & DS_TOKEN_PINNED));
	EXPECT(both_leave(&s));
}

TEST(nor_does_it_come_to_l1)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	uint32_t tier;
	int i;

	ASSERT(both_leave(&s));
	tier = chunks[0].tier;
	EXPECT_EQ(0, pin(chunks[0].handle));
	for (i = 0; i < 100; i++) {
		use(&s, 0, 1);
		usleep(1000);
	}
	list_tokens();
	EXPECT_EQ(tier, chunks[0].tier);
	EXPECT_EQ(0, unpin(chunks[0].handle));
	EXPECT(both_come(&s));
}

/* Pin each that is in L1 until one is refused. How many there were. */
static int pin_all(struct setup *s)
{
	int i, k, ret, pins = 0;

	for (i = 0; i < ROUNDS; i++) {
		use(s, 0, CHUNKS);
		list_tokens();
		for (k = 0; k < CHUNKS; k++) {
			if (chunks[k].tier != 1 || chunks[k].flags & DS_TOKEN_PINNED)
				continue;
			ret = pin(chunks[k].handle);
			if (ret == -EDQUOT)
				return pins;
			EXPECT_EQ(0, ret);
			list_tokens();
			pins += chunks[k].tier == 1;	/* it may have left before it was pinned */
		}
	}
	return -1;
}

static void attach(uint8_t cmd, const uint32_t *node, const uint64_t *segment)
{
	struct nl_request r;

	nl_begin(&r, cmd, 0);
	nl_put_u32(&r, DS_A_SPACE, ds_test_number("DS_TEST_SPACE", "an attached space"));
	nl_put_u32(&r, DS_A_SERVER, 0);
	if (node) {
		nl_put_u32(&r, DS_A_NODE, *node);
		nl_put_u64(&r, DS_A_SEGMENT, *segment);
	}
	EXPECT_EQ(0, nl_call(&r));
}

/* And its pin ends with it. The last ones are left to who unloads the module. */
TEST(half_of_l1_can_be_pinned_and_a_pinned_token_ends)
{
	struct setup s = set_up(DS_ACCESS_ALL);
	uint32_t old, other, node;
	uint64_t segment;

	EXPECT_EQ(HALF_OF_L1, pin_all(&s));
	EXPECT(strstr(nl_answer.text, "half of L1"));
	for (other = 0; other < CHUNKS && chunks[other].tier == 1; other++)
		;
	ASSERT(other < CHUNKS);
	EXPECT_EQ(0, pin(chunks[other].handle));	/* the limit is of L1 */
	EXPECT_EQ(0, unpin(chunks[other].handle));
	/* Another one may have left L1 before it was pinned. */
	for (old = 0; old < CHUNKS; old++)
		if (chunks[old].tier == 1 && chunks[old].flags & DS_TOKEN_PINNED)
			break;
	ASSERT(old < CHUNKS);
	EXPECT_EQ(0, unpin(chunks[old].handle));
	EXPECT_EQ(1, pin_all(&s));
	old = chunks[old].handle;

	EXPECT_EQ(0, nl_dump(DS_CMD_ATTACH_GET, NULL, NULL, NULL));
	node = nl_get(DS_A_NODE);
	segment = nl_get(DS_A_SEGMENT);
	attach(DS_CMD_ATTACH_DEL, NULL, NULL);
	EXPECT_EQ(-ESTALE, call(DS_CMD_TOKEN_PIN, old));
	EXPECT_EQ(-ESTALE, call(DS_CMD_TOKEN_UNPIN, old));
	attach(DS_CMD_ATTACH_ADD, &node, &segment);
	EXPECT_EQ(HALF_OF_L1, pin_all(&s));
}

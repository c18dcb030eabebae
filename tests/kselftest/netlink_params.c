// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family "ds": the parameters of the token cache, and shares of trust domains in it.
 */
#include "ds_test.h"
#include "ds_nl.h"

/* ---- parameters ---- */

struct parameter {
	char name[32], note[64];
	uint64_t value, least, most, normal;
	uint32_t domain;
};

struct parameters {
	int count;
	struct parameter list[64];
};

static void note_parameter(void *ctx)
{
	struct parameters *all = ctx;
	struct parameter *p = &all->list[all->count++];

	ASSERT(all->count <= (int)ARRAY_LEN(all->list) && nl_find(DS_A_NAME));
	snprintf(p->name, sizeof(p->name), "%s", (const char *)nl_data(nl_find(DS_A_NAME)));
	p->value = nl_get(DS_A_SETTING);
	p->least = nl_get(DS_A_LEAST);
	p->most = nl_get(DS_A_MOST);
	p->normal = nl_get(DS_A_DEFAULT);
	if (nl_find(DS_A_REASON))
		snprintf(p->note, sizeof(p->note), "%s",
			 (const char *)nl_data(nl_find(DS_A_REASON)));
	if (nl_find(DS_A_DOMAIN))
		p->domain = nl_get(DS_A_DOMAIN);
}

/* Of a trust domain, unless it is 0. */
static int set_of(uint32_t domain, const char *name, uint64_t value)
{
	struct nl_request r;
	int ret;

	nl_begin(&r, DS_CMD_TOKEN_SET, 0);
	nl_put(&r, DS_A_NAME, name, strlen(name) + 1);
	nl_put_u64(&r, DS_A_SETTING, value);
	if (domain)
		nl_put_u32(&r, DS_A_DOMAIN, domain);
	ret = nl_call(&r);
	EXPECT(!ret || (nl_answer.text[0] && nl_fault(&r)));
	return ret;
}

static int set(const char *name, uint64_t value)
{
	return set_of(0, name, value);
}

static struct parameters all;

static const struct parameter *parameter_of(uint32_t domain, const char *name)
{
	int i;

	memset(&all, 0, sizeof(all));
	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_PARAM_GET, note_parameter, &all, NULL));
	for (i = 0; i < all.count; i++)
		if (all.list[i].domain == domain && !strcmp(all.list[i].name, name))
			return &all.list[i];
	return NULL;
}

static uint64_t value_of(const char *name)
{
	const struct parameter *p = parameter_of(0, name);

	return p ? p->value : ~0ull;
}

TEST(parameters_are_set_within_their_ranges)
{
	static struct parameters all;
	int i, can = 0;

	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_PARAM_GET, note_parameter, &all, NULL));
	EXPECT(all.count > 0);
	for (i = 0; i < all.count; i++) {
		const struct parameter *p = &all.list[i];

		EXPECT(p->least <= p->value && p->value <= p->most);
		if (p->least == p->most) {	/* fixed */
			EXPECT_EQ(-ERANGE, set(p->name, p->value + 1));
			EXPECT_EQ(-ERANGE, set(p->name, p->value));
			continue;
		}
		can++;
		EXPECT_EQ(0, set(p->name, p->least));
		EXPECT_EQ(p->least, value_of(p->name));
		EXPECT_EQ(0, set(p->name, p->most));
		EXPECT_EQ(p->most, value_of(p->name));
		if (p->least)
			EXPECT_EQ(-ERANGE, set(p->name, p->least - 1));
		if (p->most != ~0ull)
			EXPECT_EQ(-ERANGE, set(p->name, p->most + 1));
		EXPECT_EQ(p->most, value_of(p->name));
		EXPECT_EQ(0, set(p->name, p->normal));
	}
	EXPECT(can > 0);
	EXPECT_EQ(8192, value_of("L1_CAPACITY"));
	/* Of document 001. */
	EXPECT(value_of("PREFETCH_BATCH_THRESHOLD") != ~0ull);
	EXPECT(value_of("MAX_BATCH") != ~0ull);
	EXPECT(value_of("L2_PAGE_PREFETCH_SIZE") != ~0ull);
	EXPECT_EQ(-ENOENT, set("", 1));
	EXPECT_EQ(-ENOENT, set("L1_CAPACIT", 1));
	EXPECT_EQ(-ENOENT, set("l1_capacity", 1));
}

/* Of document 001's policies, and settable with these only. */
TEST(parameters_of_a_policy)
{
	static const struct parameter of_001[] = {
		{ .name = "PROMOTE_TO_L1_THRESHOLD", .least = 1, .most = 255, .normal = 128 },
		{ .name = "PROMOTE_TO_L2_THRESHOLD", .least = 1, .most = 255, .normal = 16 },
		{ .name = "DEMOTE_FROM_L1_IDLE_NS", .least = 1024, .most = 1000000000000,
		  .normal = 1000000 },
		{ .name = "DEMOTE_FROM_L2_IDLE_NS", .least = 1024, .most = 1000000000000,
		  .normal = 10000000 },
		{ .name = "AGING_INTERVAL", .least = 1, .most = 1ull << 40, .normal = 81920 },
		{ .name = "ALPHA", .least = 0, .most = 255, .normal = 1 },
		{ .name = "HEAT_SAMPLING", .least = 1, .most = 255, .normal = 1 },
	};
	uint64_t policy = value_of("POLICY");
	size_t i;

	ASSERT(policy < 3);
	EXPECT(!strcmp(parameter_of(0, "POLICY")->note,
		       policy == 0 ? "default" : policy == 1 ? "literal-001" : "adaptive-001"));
	EXPECT_EQ(-ERANGE, set("POLICY", 0));
	for (i = 0; i < ARRAY_LEN(of_001); i++) {
		const struct parameter *p = parameter_of(0, of_001[i].name);
		uint64_t normal = policy == 2 && i < 2 ? 1 : of_001[i].normal;

		ASSERT(p);
		EXPECT_EQ(normal, p->normal);
		EXPECT_EQ(normal, p->value);
		if (policy) {
			EXPECT_EQ(of_001[i].least, p->least);
			EXPECT_EQ(of_001[i].most, p->most);
			EXPECT_EQ(policy == 2 && i < 2, p->note[0] != 0);
			continue;
		}
		EXPECT(p->note[0]);
		EXPECT_EQ(p->least, p->most);
		EXPECT_EQ(-ERANGE, set(of_001[i].name, of_001[i].most));
		EXPECT(strstr(nl_answer.text, "token_policy="));
		EXPECT_EQ(normal, value_of(of_001[i].name));
	}
}

/* ---- shares of trust domains ---- */

static bool has_share(uint32_t domain, uint64_t min, uint64_t max)
{
	const struct parameter *p = parameter_of(domain, "SHARE_MIN");
	bool right = p && p->value == min && p->least == 0 && p->most == 4096;

	p = parameter_of(domain, "SHARE_MAX");
	return right && p && p->value == max && p->least == 1 && p->most == 8192 &&
	       p->normal == 8192;
}

TEST(shares_are_of_a_domain)
{
	EXPECT(!parameter_of(7, "SHARE_MIN"));
	EXPECT_EQ(-EINVAL, set("SHARE_MIN", 1));
	EXPECT_EQ(-EINVAL, set("SHARE_MAX", 1));
	EXPECT_EQ(-EINVAL, set_of(7, "LATENCY_SAMPLING", 61));
	EXPECT_EQ(-ENOENT, set_of(7, "SHARE", 1));
	EXPECT_EQ(-ERANGE, set_of(7, "SHARE_MIN", 4097));
	EXPECT_EQ(-ERANGE, set_of(7, "SHARE_MIN", ~0ull));
	EXPECT_EQ(-ERANGE, set_of(7, "SHARE_MAX", 0));
	EXPECT_EQ(-ERANGE, set_of(7, "SHARE_MAX", 8193));
	EXPECT(!parameter_of(7, "SHARE_MIN"));

	EXPECT_EQ(0, set_of(7, "SHARE_MIN", 4000));
	EXPECT(has_share(7, 4000, 8192));
	EXPECT_EQ(-EINVAL, set_of(7, "SHARE_MAX", 3999));
	EXPECT_EQ(0, set_of(7, "SHARE_MAX", 4000));
	EXPECT(has_share(7, 4000, 4000));
	EXPECT_EQ(-EINVAL, set_of(7, "SHARE_MIN", 4001));
	/* All together keep half of L1 at most. */
	EXPECT_EQ(-ENOSPC, set_of(65535, "SHARE_MIN", 97));
	EXPECT_EQ(0, set_of(65535, "SHARE_MIN", 96));
	EXPECT(has_share(65535, 96, 8192) && has_share(7, 4000, 4000));
	EXPECT(strstr(parameter_of(65535, "SHARE_MAX")->note, "domain 65535 has 0 slots"));

	EXPECT_EQ(0, set_of(7, "SHARE_MIN", 0));
	EXPECT_EQ(0, set_of(7, "SHARE_MAX", 8192));
	EXPECT_EQ(0, set_of(65535, "SHARE_MIN", 0));
	EXPECT(!parameter_of(7, "SHARE_MIN") && !parameter_of(65535, "SHARE_MAX"));
}

static void take_away_ninth(void)
{
	EXPECT_EQ(0, set_of(9, "SHARE_MAX", 8192));
}

TEST(sixteen_domains_have_a_share)
{
	uint32_t domain;

	for (domain = 1; domain <= 16; domain++)
		EXPECT_EQ(0, set_of(domain, "SHARE_MAX", 100 + domain));
	EXPECT_EQ(-ENOSPC, set_of(17, "SHARE_MAX", 117));
	/* It has none any more, and others take its place in the list. */
	EXPECT(nl_dump_is_interrupted(DS_CMD_TOKEN_PARAM_GET, take_away_ninth));
	EXPECT_EQ(0, set_of(17, "SHARE_MAX", 117));
	EXPECT(!parameter_of(9, "SHARE_MAX"));
	for (domain = 1; domain <= 17; domain++) {
		EXPECT(domain == 9 || has_share(domain, 0, 100 + domain));
		EXPECT_EQ(0, set_of(domain, "SHARE_MAX", 8192));
	}
	for (domain = 1; domain <= 17; domain++)
		EXPECT(!parameter_of(domain, "SHARE_MIN"));
}

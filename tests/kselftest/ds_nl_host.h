/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: a host and a domain for the tests of netlink. Included after ds_nl.h.
 */
#ifndef DS_NL_HOST_H
#define DS_NL_HOST_H

#define ABSENT_DOMAIN	60001
#define ABSENT_NODE	60002
#define ABSENT_SPACE	60003
#define ABSENT_SEGMENT	0xfffffffffffffff0ull
#define TEST_DOMAIN	60010
#define TEST_SPACE	60011

static inline int domain_call(uint8_t cmd, uint32_t domain)
{
	struct nl_request r;
	uint8_t key[DS_DOMAIN_KEY_LEN];

	memset(key, 0x5a, sizeof(key));
	nl_begin(&r, cmd, 0);
	nl_put_u32(&r, DS_A_DOMAIN, domain);
	if (cmd == DS_CMD_DOMAIN_ADD)
		nl_put(&r, DS_A_KEY, key, sizeof(key));
	return nl_call(&r);
}

/*
 * The host has a number, because PEER_ADD looks for one first, and a domain, so
 * that NODE_SET is refused and nothing is changed by mistake.
 */
static inline void prepare_host(void)
{
	struct nl_request r;
	int ret;

	nl_begin(&r, DS_CMD_NODE_GET, 0);
	ASSERT(nl_call(&r) == 0);
	if (!nl_get(DS_A_NODE)) {
		nl_begin(&r, DS_CMD_NODE_SET, 0);
		nl_put_u32(&r, DS_A_NODE, 1);
		ASSERT(nl_call(&r) == 0);
	}
	ret = domain_call(DS_CMD_DOMAIN_ADD, TEST_DOMAIN);
	ASSERT(ret == 0 || ret == -EEXIST);
}

static inline void tidy_host(void)
{
	EXPECT_EQ(0, domain_call(DS_CMD_DOMAIN_DEL, TEST_DOMAIN));
}

#endif

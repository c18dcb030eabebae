// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: parameters of the token cache.
 */
#include <linux/kernel.h>
#include <linux/numa.h>
#include <linux/sizes.h>
#include "params.h"
#include "token_param.h"
#include "tokens.h"

static u64 ds_l1_capacity(void)
{
	return ds_token_l1;
}

static u64 ds_l2_capacity(void)
{
	return (u64)ds_token_l2 * SZ_1M;
}

static u64 ds_l2_node(void)
{
	return ds_token_l2_place.node;
}

static void ds_l2_node_note(char *text, size_t size)
{
	snprintf(text, size, "%s%s", ds_token_l2_place.kind, ds_token_l2_place.why);
}

static u64 ds_blocking(void)
{
	return READ_ONCE(ds_tokens.table.blocking);
}

static void ds_set_blocking(u64 value)
{
	WRITE_ONCE(ds_tokens.table.blocking, value);
}

static u64 ds_sampling(void)
{
	return READ_ONCE(ds_token_sampling);
}

static void ds_set_sampling(u64 value)
{
	WRITE_ONCE(ds_token_sampling, value);
}

const struct ds_token_param ds_token_params[DS_TOKEN_PARAMS] = {
	{ "L1_CAPACITY", DS_POLICY_CAPACITY_MIN, DS_L1_MAX, 8192, ds_l1_capacity, NULL,
	  NULL },
	/* Bytes, and the NUMA node that they are of. */
	{ "L2_CAPACITY", 0, 64 * SZ_1M, 4 * SZ_1M, ds_l2_capacity, NULL, NULL },
	{ "L2_NODE", 0, MAX_NUMNODES - 1, 0, ds_l2_node, NULL, ds_l2_node_note },
	/* Who meets a token on its way: waits (1), or goes on with what is there (0). */
	{ "MIGRATION_BLOCKING", 0, 1, 0, ds_blocking, ds_set_blocking, NULL },
	/* One of so many look-ups is timed; 0: none. */
	{ "LATENCY_SAMPLING", 0, S32_MAX, DS_TOKEN_SAMPLING, ds_sampling, ds_set_sampling,
	  NULL },
};

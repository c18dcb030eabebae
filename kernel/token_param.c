// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: parameters of the token cache.
 */
#include "params.h"
#include "token_param.h"
#include "tokens.h"

static u64 ds_l1_capacity(void)
{
	return ds_token_l1;
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
	{ "L1_CAPACITY", DS_POLICY_CAPACITY_MIN, DS_L1_MAX, 8192, ds_l1_capacity, NULL },
	/* Who meets a token on its way: waits (1), or goes on with what is there (0). */
	{ "MIGRATION_BLOCKING", 0, 1, 0, ds_blocking, ds_set_blocking },
	/* One of so many look-ups is timed; 0: none. */
	{ "LATENCY_SAMPLING", 0, S32_MAX, DS_TOKEN_SAMPLING, ds_sampling, ds_set_sampling },
};

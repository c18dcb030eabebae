/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of shares of L1: trust domains, and tokens that are theirs. */
#ifndef CORE_SHARE_H
#define CORE_SHARE_H

#include "core_tier.h"

enum { DOMAINS = 4 };

/* Each protection domain is of another trust domain; tokens are theirs by turns. */
static inline void start_domains_in(u32 mode, u32 pds[DOMAINS])
{
	u32 i;

	assert_int_equal(ds_cache_init(&cache, TOKENS + 10, CAPACITY, mode, 1, DS_L2_ANYWHERE), 0);
	memset(posted, 0, sizeof(posted));
	for (i = 0; i < DOMAINS; i++) {
		struct ds_token_desc d = { .type = DS_TOKEN_PD, .pd.domain = i + 100, .pd.number = i };

		assert_int_equal(ds_token_create(&cache.table, &d, &pds[i]), 0);
	}
	for (i = 0; i < TOKENS; i++)
		tokens[i] = create_queue_pair(&cache.table, i, ds_token_index(pds[i % DOMAINS]));
}

static inline void start_domains(u32 pds[DOMAINS])
{
	start_domains_in(DS_POLICY_DEFAULT, pds);
}

static inline void stop_domains(const u32 pds[DOMAINS])
{
	u32 i;

	for (i = 0; i < DOMAINS; i++)
		end(pds[i]);
	stop();
}

static inline void count_domains(u32 of[DOMAINS])
{
	u32 i;

	memset(of, 0, DOMAINS * sizeof(of[0]));
	for (i = 0; i < TOKENS; i++)
		of[i % DOMAINS] += tier_of(i) == 1;
}

/* As many uses as can be counted, or no longer. */
static inline void hold(u32 token, bool hold)
{
	u32 n;

	for (n = 0; n < DS_WORD_USES_MAX - 1; n++) {
		if (hold)
			assert_int_equal(ds_token_hold(&cache.table, token), 0);
		else
			ds_token_put(&cache.table, token);
	}
}

#endif

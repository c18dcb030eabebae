/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of tokens: those of queue pairs, whose numbers tell one from the other. */
#ifndef CORE_QUEUE_PAIR_H
#define CORE_QUEUE_PAIR_H

#include "tokencache/token.h"

/* The one with an index, of a protection domain; the rest of it is 0. */
static inline struct ds_token_desc queue_pair(u32 i, u32 pd)
{
	return (struct ds_token_desc){ .type = DS_TOKEN_QP, .qp.number = i + 1, .qp.pd = pd };
}

static inline u32 create_queue_pair(struct ds_token_table *t, u32 i, u32 pd)
{
	struct ds_token_desc d = queue_pair(i, pd);
	u32 token;

	assert_int_equal(ds_token_create(t, &d, &token), 0);
	return token;
}

#endif /* CORE_QUEUE_PAIR_H */

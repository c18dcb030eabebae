/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: hot inline, document 001's path A: small fields of a token are changed where it is.
 *
 * The writer has the token for itself for some instructions, in which it must not be
 * interrupted for long: the caller has disabled preemption. In L1 and L2 what is written
 * makes the token dirty, and reaches its home when the token goes there.
 *
 * All: any context in which preemption is off, no lock. Return 0, -ESTALE or -EBADF,
 * -EINVAL for a token that has no such field, or -EAGAIN when others write to the token, or
 * move it with ds_token_table.blocking, for long.
 */
#ifndef DS_TOKENCACHE_INLINE_H
#define DS_TOKENCACHE_INLINE_H

#include "token.h"

/**
 * ds_token_set_state - a queue pair has another state
 * @t: table
 * @token: any number
 * @state: enum ib_qp_state; -EINVAL for any other number
 */
int ds_token_set_state(struct ds_token_table *t, u32 token, u8 state);

/**
 * ds_token_add_posted - work requests were posted to a queue pair
 * @t: table
 * @token: any number
 * @count: how many; the sum is kept modulo 2^16
 */
int ds_token_add_posted(struct ds_token_table *t, u32 token, u16 count);

#endif /* DS_TOKENCACHE_INLINE_H */

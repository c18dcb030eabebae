/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of moves: all of one at once. What moves tokens in ds begins and ends them apart. */
#ifndef CORE_MOVE_H
#define CORE_MOVE_H

#include "tokencache/move.h"

/* 0, or an error of ds_move_begin() or ds_move_end(), after which @slot is the caller's. */
static inline int move_now(struct ds_token_table *t, u32 token, u32 to, u32 slot)
{
	struct ds_move m;
	int ret;

	ret = ds_move_begin(t, &m, token, to, slot);
	if (ret)
		return ret;
	return ds_move_end(t, &m);
}

#endif /* CORE_MOVE_H */

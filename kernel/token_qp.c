// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the token of a queue pair, and what changes in it while the queue pair lives.
 *
 * It is written where it is (hot inline), by a bounded number of tries. With these used up the
 * chain goes on: what is to be written is kept here, and the host is asked for the token
 * (EXPAND_ISSUED). It is written when the host has answered, or with the next change.
 */
#include "debug.h"
#include "params.h"
#include "token_fetch.h"
#include "token_qp.h"
#include "tokencache/inline.h"
#include "tokens.h"
#include "trace.h"

#define DS_TOKEN_ASKS	8	/* in a row */

static int ds_token_qp_add_posted(struct ds_token_qp *q, u16 count)
{
	return ds_failpoint(DS_FP_TOKEN_WRITE) ? -EAGAIN :
	       ds_token_add_posted(&ds_tokens.table, q->token, count);
}

static int ds_token_qp_set_state(struct ds_token_qp *q, u8 state)
{
	return ds_failpoint(DS_FP_TOKEN_WRITE) ? -EAGAIN :
	       ds_token_set_state(&ds_tokens.table, q->token, state);
}

/* What is late. Under the lock. Other errors than -EAGAIN: the token has ended. */
static void ds_token_qp_write(struct ds_token_qp *q)
{
	if (q->posted && ds_token_qp_add_posted(q, q->posted) != -EAGAIN)
		q->posted = 0;
	if (q->state < DS_QP_STATES && ds_token_qp_set_state(q, q->state) != -EAGAIN)
		q->state = DS_QP_STATES;
	WRITE_ONCE(q->late, q->posted || q->state < DS_QP_STATES);
}

/* Whatever came of it. */
static void ds_token_qp_told(struct ds_waiter *w, int ret)
{
	struct ds_token_qp *q = container_of(w, struct ds_token_qp, w.base);

	spin_lock(&q->lock);
	ds_token_qp_write(q);
	complete_all(&q->told);	/* under the lock: see ds_token_qp_end() */
	spin_unlock(&q->lock);
}

/* Write what is late, or ask. Under the lock. */
static void ds_token_qp_write_or_ask(struct ds_token_qp *q)
{
	int tries = DS_TOKEN_ASKS, ret;

	ds_token_qp_write(q);
	if (!q->late || !completion_done(&q->told))
		return;
	reinit_completion(&q->told);
	/* One that moves at this moment is stale, too. */
	do
		ret = ds_token_ask(q->dev, q->token, &q->w);
	while (ret == -ESTALE && ds_token_lives(q->token) && --tries);
	if (ret != -EINPROGRESS)
		complete_all(&q->told);
}

void ds_token_qp_init(struct ds_token_qp *q, const struct ds_token_device *dev)
{
	*q = (struct ds_token_qp){ .dev = dev, .state = DS_QP_STATES,
				   .w.base.done = ds_token_qp_told };
	spin_lock_init(&q->lock);
	init_completion(&q->told);
	complete_all(&q->told);
}

void ds_token_qp_end(struct ds_token_qp *q)
{
	ds_token_end(q->token);
	wait_for_completion(&q->told);
	spin_lock_bh(&q->lock);	/* who has told us has done with @q */
	spin_unlock_bh(&q->lock);
}

void ds_token_qp_state(struct ds_token_qp *q, enum ib_qp_state state)
{
	if (!q->token)
		return;
	trace_ds_token_access(q->token, DS_TOKEN_OP_WRITE, 0);
	if (!READ_ONCE(q->late) && ds_token_qp_set_state(q, state) != -EAGAIN)
		return;
	spin_lock(&q->lock);
	q->state = state;
	ds_token_qp_write_or_ask(q);
	spin_unlock(&q->lock);
}

int ds_token_qp_check(struct ds_token_qp *q)
{
	u64 began = ds_token_began(q->dev);
	struct ds_token_pack p;
	int found;

	if (!READ_ONCE(ds_token_cache))
		return 0;
	found = ds_cache_look(&ds_tokens, q->token, &p);
	if (found > 0)
		trace_ds_token_access(q->token, DS_TOKEN_OP_WRITE, found);
	ds_token_looked(q->dev, q->token, found, found > 1, began);
	if (found < 0)
		return ds_token_lives(q->token) ? 0 : -ENOTCONN;
	/* The connection manager goes on to RTS before it tells us: only an error counts. */
	return ds_token_pack_state(&p) == IB_QPS_ERR && !READ_ONCE(q->late) ? -ENOTCONN : 0;
}

void ds_token_qp_posted(struct ds_token_qp *q, u32 count)
{
	if (!READ_ONCE(ds_token_cache))
		return;
	if (!READ_ONCE(q->late) && ds_token_qp_add_posted(q, count) != -EAGAIN)
		return;
	spin_lock(&q->lock);
	q->posted += count;
	ds_token_qp_write_or_ask(q);
	spin_unlock(&q->lock);
}

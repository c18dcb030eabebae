/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the token of a queue pair, and what changes in it while the queue pair lives.
 */
#ifndef _DS_TOKEN_QP_H
#define _DS_TOKEN_QP_H

#include <linux/completion.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include "tokencache/expand.h"

struct ds_token_device;

/**
 * struct ds_token_qp - the token of a queue pair
 * @dev: its device
 * @token: handle, 0 at first
 * @late: something of what follows is to be written yet
 * @lock: guards all below; the mailbox's lock is taken within it
 * @posted: requests posted, not yet added
 * @state: not yet written, or DS_QP_STATES
 * @w: waits for the host to have the token at rest
 * @told: it does not wait
 */
struct ds_token_qp {
	const struct ds_token_device	*dev;
	u32				token;
	bool				late;
	spinlock_t			lock;		/* see above */
	u16				posted;
	u8				state;
	struct ds_expand_waiter		w;
	struct completion		told;
};

/*
 * Before anything can happen to the queue pair. Who has made its token then sets @token, under the
 * lock that ds_token_qp_state() is called with.
 */
void ds_token_qp_init(struct ds_token_qp *q, const struct ds_token_device *dev);

/* As ds_token_end(). */
void ds_token_qp_end(struct ds_token_qp *q);

/*
 * May requests be posted, by what the token says? Look it up and count that. Context: not an
 * interrupt; bottom halves are off, under a lock of the caller. Return: 0, or -ENOTCONN: it has
 * ended, or the queue pair is in error.
 */
int ds_token_qp_check(struct ds_token_qp *q);

/* The queue pair has another state. Context: as ds_token_qp_check(). */
void ds_token_qp_state(struct ds_token_qp *q, enum ib_qp_state state);

/* It has posted @count requests more. Context: as ds_token_qp_check(). */
void ds_token_qp_posted(struct ds_token_qp *q, u32 count);

#endif

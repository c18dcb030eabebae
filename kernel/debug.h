/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: failpoints and debugfs.
 *
 * A failpoint is a named place where a step of a protocol ends. Tests arm it in
 * /sys/kernel/debug/ds/failpoints/NAME ("fail ERRNO COUNT SKIP", "delay MS COUNT SKIP",
 * "spin MS COUNT SKIP", "off"). One that is off costs a static branch.
 */
#ifndef _DS_DEBUG_H
#define _DS_DEBUG_H

#include <linux/jump_label.h>
#include <linux/types.h>

enum ds_failpoint {
	DS_FP_REQUEST_POST,	/* before requests of a client are posted, with their keys */
	DS_FP_CHAIN_POST,	/* before a chain is posted; EAGAIN: there is no room, ever */
	DS_FP_CHAIN_PARTIAL,	/* only the first request of a chain reaches the device */
	DS_FP_CONN_OPEN,	/* before a connection to a peer is made */
	DS_FP_HELLO,		/* before HELLO or its answer is sent */
	DS_FP_AUTH_OK,		/* before AUTH_OK is sent */
	DS_FP_LANE_CONNECT,	/* before a data queue pair is connected */
	DS_FP_MSG_SEND,		/* before a message is sent: it is lost */
	DS_FP_SEG_ALLOC,	/* before pages of a segment are allocated */
	DS_FP_SEG_REGISTER,	/* before a chunk is registered */
	DS_FP_SEG_REVOKE,	/* before keys are taken away, after attachers were told */
	DS_FP_ATTACH_KEYS,	/* keys of a segment arrived, before they are used */
	DS_FP_STORAGE,		/* before a file behind a segment is read or written */
	DS_FP_TOKEN_ADD,	/* before a token is made: there is no memory for it */
	DS_FP_TOKEN_WIDE,	/* a memory region's token has no room for what it says */
	DS_FP_TOKEN_READ,	/* a token cannot be read where it is: the host is asked */
	DS_FP_TOKEN_WRITE,	/* likewise a queue pair's be written; it may not sleep there */
	DS_FP_TOKEN_CLAIM,	/* a token's move has begun; with fail it is given up */
	DS_FP_TOKEN_COMMIT,	/* likewise: it is about to end */
	DS_FP_TOKEN_HOST,	/* before the host answers its mailbox; with fail it does not */
	DS_FP_COUNT
};

DECLARE_STATIC_KEY_FALSE(ds_failpoints_armed);
int __ds_failpoint(enum ds_failpoint fp);

/* 0, or the negative errno to fail with. May sleep when armed with a delay. */
static inline int ds_failpoint(enum ds_failpoint fp)
{
	if (static_branch_unlikely(&ds_failpoints_armed))
		return __ds_failpoint(fp);
	return 0;
}

void ds_debug_init(void);
void ds_debug_exit(void);

#endif

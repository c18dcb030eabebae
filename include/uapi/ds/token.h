/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * DS: handles, the small numbers by which objects are named (docs/design.md rule 5).
 *
 * A token handle names an RDMA object that ds.ko made: a protection domain, a
 * memory region, a completion queue or a queue pair. A file handle names an
 * object of one open /dev/ds. Both carry a generation, so that a handle kept
 * too long is told from a handle of the slot's next user.
 */
#ifndef _UAPI_DS_TOKEN_H
#define _UAPI_DS_TOKEN_H

#include <linux/types.h>

/**
 * enum ds_token_type - what a token describes (document 001's codes)
 * @DS_TOKEN_PD: protection domain
 * @DS_TOKEN_MR: memory region, ours or a peer's
 * @DS_TOKEN_CQ: completion queue
 * @DS_TOKEN_QP: queue pair
 */
enum ds_token_type {
	DS_TOKEN_PD = 0,
	DS_TOKEN_MR = 1,
	DS_TOKEN_CQ = 2,
	DS_TOKEN_QP = 3,
};

#define DS_TOKEN_TYPES		4

/**
 * enum ds_token_op - what is done with a token, in the tracepoint ds_token_access
 * @DS_TOKEN_OP_READ: it is looked up
 * @DS_TOKEN_OP_WRITE: it is looked up and changed
 * @DS_TOKEN_OP_CREATE: it is made
 * @DS_TOKEN_OP_FREE: it is revoked
 */
enum ds_token_op {
	DS_TOKEN_OP_READ = 0,
	DS_TOKEN_OP_WRITE = 1,
	DS_TOKEN_OP_CREATE = 2,
	DS_TOKEN_OP_FREE = 3,
};

/* Token handle: type 2 | generation 8 | index 22. Generation 0 is never used. */
#define DS_TOKEN_INDEX_OFF	0
#define DS_TOKEN_INDEX_BITS	22	/* at most 4,194,304 objects a host */
#define DS_TOKEN_GEN_OFF	22
#define DS_TOKEN_GEN_BITS	8	/* a slot is retired after 255 uses */
#define DS_TOKEN_TYPE_OFF	30
#define DS_TOKEN_TYPE_BITS	2

/* File handle: generation 12 | index 20. Generation 0 is never used. */
#define DS_HANDLE_INDEX_OFF	0
#define DS_HANDLE_INDEX_BITS	20
#define DS_HANDLE_GEN_OFF	20
#define DS_HANDLE_GEN_BITS	12	/* a slot is retired after 4,095 uses */

#endif /* _UAPI_DS_TOKEN_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: attachments, the segments of peers that this host uses, and their keys.
 */
#ifndef _DS_ATTACH_H
#define _DS_ATTACH_H

#include <linux/completion.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct ds_conn;
struct ds_space;
struct ds_attach_info;

/**
 * struct ds_keyset - keys of a segment, good for one connection
 * @users: one for the attachment, one for each chain in flight
 * @unused: completed when there are none
 * @rcu: frees it
 * @conn: the connection; a reference is held
 * @segment: its number on the node
 * @length: bytes of the segment
 * @access: DS_ACCESS_* granted
 * @chunk_shift: log2 of a chunk's bytes
 * @chunks: length of @tokens
 * @tokens: for each chunk the handle of its token, in which its key is
 */
struct ds_keyset {
	refcount_t		users;
	struct completion	unused;
	struct rcu_head		rcu;
	struct ds_conn		*conn;
	u64			segment;
	u64			length;
	u32			access;
	u32			chunk_shift;
	u32			chunks;
	u32			tokens[];
};

/**
 * struct ds_attach - a segment that is a server of a space
 * @rcu: frees it
 * @node: whose segment it is
 * @segment: its number there
 * @incarnation: of the node when it was attached
 * @state: enum ds_attach_state, under ds_space.lock, read anywhere
 * @keys: its keys, NULL unless it is up; read under RCU
 * @length: bytes of the segment; like the next two kept while it is down
 * @access: DS_ACCESS_* granted
 * @chunks: memory regions
 */
struct ds_attach {
	struct rcu_head			rcu;
	u32				node;
	u64				segment;
	u64				incarnation;
	u32				state;
	struct ds_keyset __rcu		*keys;
	u64				length;
	u32				access;
	u32				chunks;
};

/**
 * ds_keyset_get - the keys of a server for a chain
 * @node: set to the server's node, 0 if nothing is attached there
 * @err: why there are none: -ENXIO nothing is attached, -ENOTCONN down,
 *	-ENODATA lost, -EKEYREVOKED revoked
 *
 * Context: any but hard interrupt. Give back by ds_keyset_put().
 */
struct ds_keyset *ds_keyset_get(struct ds_space *space, u32 server, u32 *node, int *err);
void ds_keyset_put(struct ds_keyset *keys);

/*
 * For space.c, under ds_space.lock. @max_length: bytes of a server. @knows: of
 * ds_fence_catch_up(). @deadline: ktime ns.
 */
struct ds_attach *ds_attach_create(u32 node, u64 segment);
int ds_attach_up(struct ds_attach *a, struct ds_conn *conn, u64 max_length, u64 knows,
		 u64 deadline);
void ds_attach_down(struct ds_attach *a, u32 state);	/* waits for chains in flight */
void ds_attach_release(struct ds_attach *a);		/* tells the node, frees it */

#endif

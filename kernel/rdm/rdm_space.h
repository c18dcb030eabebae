/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the spaces of the packet service on this host. What a space does is in
 * packet_space.h; here they are made, found and deleted.
 */
#ifndef _DS_RDM_SPACE_H
#define _DS_RDM_SPACE_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include "packet_space.h"

struct ds_domain;
struct ds_packet_queue;
struct ds_pool;
struct ds_segment;
struct netlink_ext_ack;

/**
 * struct ds_rdm_space - a space
 * @ref: lifetime of the struct
 * @rcu: it is found under RCU
 * @id: its number
 * @seg: its memory; a reference is held
 * @dom: trust domain of that; to compare, as the space may be dead
 * @pool: its memory, as packets reach it
 * @queue: where peers' packets wait, as its storage may be slow; NULL: it has no storage
 * @lock: held while a request runs; protects @core
 * @dead: being deleted: @core is gone, or will be
 * @core: see packet_space.h
 */
struct ds_rdm_space {
	struct kref		ref;
	struct rcu_head		rcu;
	u32			id;
	struct ds_segment	*seg;
	const struct ds_domain	*dom;
	struct ds_pool		*pool;
	struct ds_packet_queue	*queue;
	struct mutex		lock;	/* see above */
	bool			dead;
	struct ds_packet_space	core;
};

/**
 * struct ds_rdm_space_attr - what a new space shall be
 * @id: its number, below DS_PACKET_SPACES
 * @segment: number of the segment
 * @core: @map.size 0: the whole segment; @map.access 0: all that it may have, atomics
 *	if the segment can be written and gives none to peers;
 *	@map.seed and @secret are filled in
 */
struct ds_rdm_space_attr {
	u32				id;
	u64				segment;
	struct ds_packet_space_attr	core;
};

/* Context of both: process. -EEXIST, -ENOENT, -EBUSY: the segment has a space, ... */
int ds_rdm_space_add(const struct ds_rdm_space_attr *attr, struct netlink_ext_ack *extack);
int ds_rdm_space_del(u32 id, struct netlink_ext_ack *extack);

/* The space with a reference, or NULL. It may be dead. */
struct ds_rdm_space *ds_rdm_space_find(u32 id);
void ds_rdm_space_put(struct ds_rdm_space *space);

/**
 * ds_rdm_space_lock - begin to work on a space
 *
 * Nobody else works on it until ds_rdm_space_unlock().
 * Context: process; waits as long as storage does.
 * Return: false: it is dead
 */
bool ds_rdm_space_lock(struct ds_rdm_space *space);
void ds_rdm_space_unlock(struct ds_rdm_space *space);

/* Find and lock it; unlock and put. */
struct ds_rdm_space *ds_rdm_space_enter(u32 id);
void ds_rdm_space_leave(struct ds_rdm_space *space);

/*
 * Call @fn for each space until it returns non-zero. None is deleted meanwhile, but requests
 * run: @fn reads numbers, which may be of different moments.
 */
int ds_rdm_space_for_each(int (*fn)(struct ds_rdm_space *space, void *ctx), void *ctx);

void ds_rdm_space_exit(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: callers, the hosts that may send packets to this one by UDP (the allow-list),
 * and whose turn it is.
 *
 * A packet waits in its caller's own queue, which is bounded; callers with waiting
 * packets are served in turn, a packet each. So who sends too much fills its own
 * queue and nobody else's.
 */
#ifndef _DS_CALLER_H
#define _DS_CALLER_H

#include <linux/list.h>
#include <linux/skbuff.h>
#include <linux/types.h>

struct ds_udp;
struct netlink_ext_ack;

#define DS_CALLER_QUEUE		128		/* packets that may wait */
#define DS_CALLER_BYTES		0x100000	/* memory that they may take */
#define DS_CALLERS_BYTES	0x4000000	/* that all callers' may, but for one each */
#define DS_CALLERS_MAX		4096

/**
 * struct ds_caller - a host that may send packets
 * @addr: its address, network byte order
 * @bound: it may speak for @tenant only
 * @tenant: see @bound
 * @replies: of wire version 1 sent to it; they carry their number. The worker's
 * @turn: in the list of those with waiting packets
 * @queue: these packets
 * @bytes: memory that they take
 * @mark: what ds_callers_served was when a packet of its was served last, or when the
 *	first came into an empty queue
 * @received: packets that came
 * @dropped: of them, found the queue full
 * @served: of them
 * @longest_wait: most packets of others that were served between two of its that waited
 *
 * @turn to @longest_wait are protected by the lock of the turns.
 */
struct ds_caller {
	__be32			addr;
	bool			bound;
	u32			tenant;
	u64			replies;
	struct list_head	turn;
	struct sk_buff_head	queue;
	u32			bytes;
	u64			mark;
	u64			received;
	u64			dropped;
	u64			served;
	u64			longest_wait;
};

/* Context of both: process. -EEXIST, -ENOENT, -EDQUOT */
int ds_caller_add(__be32 addr, bool bound, u32 tenant, struct netlink_ext_ack *extack);
int ds_caller_del(__be32 addr, struct netlink_ext_ack *extack);

/* The caller with this address, or NULL. Context: RCU read side. */
struct ds_caller *ds_caller_find(__be32 addr);

/**
 * ds_caller_enqueue - a packet of a caller's has come to a listener
 *
 * Takes the packet. Context: RCU read side, softirq.
 * Return: false: its queue is full, the packet is dropped
 */
bool ds_caller_enqueue(struct ds_caller *caller, struct ds_udp *udp, struct sk_buff *skb);

/* Drop what waits for a listener, and wait until none of it is served. Context: process. */
void ds_callers_forget(struct ds_udp *udp);

/* Call @fn for each caller until it returns non-zero; the list is locked. */
int ds_caller_for_each(int (*fn)(struct ds_caller *caller, void *ctx), void *ctx);

void ds_callers_exit(void);

#endif

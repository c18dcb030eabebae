/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: peers, the hosts that this host was told to connect to. A peer keeps its
 * connection up: it reconnects with back-off and jitter until it is deleted.
 */
#ifndef _DS_PEER_H
#define _DS_PEER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include "stats.h"

struct ds_conn;
struct ds_domain;
struct netlink_ext_ack;

/**
 * struct ds_peer - a host to connect to
 * @link: in the list of peers, under its lock
 * @ref: lifetime
 * @node: its number, learned by the first handshake; 0 before
 * @incarnation: of the host as last seen
 * @uuid: of the host as last seen
 * @addr: where its listener is
 * @domain: trust domain; a reference is held
 * @state: enum ds_peer_state
 * @reason: static sentence: why it is not up
 * @lock: protects @conn, @state, @reason
 * @conn: the connection that is up, or NULL
 * @work: connects
 * @failures: attempts since it was last up
 * @stats: its counters
 */
struct ds_peer {
	struct list_head	link;
	struct kref		ref;
	u32			node;
	u64			incarnation;
	u8			uuid[16];
	struct sockaddr_storage	addr;
	struct ds_domain	*domain;
	u32			state;
	const char		*reason;
	struct mutex		lock;		/* see above */
	struct ds_conn		*conn;
	struct delayed_work	work;
	struct wait_queue_head	wait;
	u32			failures;
	struct ds_stats		stats;
};

/**
 * ds_peer_add - add a peer and wait until it is up
 * @node: set to its number
 *
 * Context: process; killable.
 * Return: 0; -EEXIST: the address is there already; -ETIMEDOUT: it stays and
 *	goes on trying; -ECONNREFUSED: it was refused and is not added;
 *	-ESHUTDOWN: after ds_peer_exit()
 */
int ds_peer_add(const struct sockaddr_storage *addr, u32 domain, u32 timeout_ms,
		u32 *node, struct netlink_ext_ack *extack);

/* Delete by number, or by address if @node is 0. Waits until drained. */
int ds_peer_del(u32 node, const struct sockaddr_storage *addr,
		struct netlink_ext_ack *extack);

/* The peer with number @node, with a reference; or NULL. */
struct ds_peer *ds_peer_find(u32 node);
void ds_peer_put(struct ds_peer *peer);

/* conn.c: the peer's connection ended. */
void ds_peer_conn_closed(struct ds_peer *peer, struct ds_conn *conn);

/* Call @fn for each peer until it returns non-zero. */
int ds_peer_for_each(int (*fn)(struct ds_peer *peer, void *ctx), void *ctx);

bool ds_peer_any(void);

/* End all peers for good; none can be added any more. */
void ds_peer_exit(void);

#endif

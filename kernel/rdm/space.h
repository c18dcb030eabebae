/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: spaces. A space maps addresses to segments of peers (document 000's map);
 * every operation names a space and an address in it.
 */
#ifndef _DS_SPACE_H
#define _DS_SPACE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include "layout.h"

struct ds_attach;
struct ds_conn;
struct ds_domain;
struct netlink_ext_ack;

/**
 * struct ds_space - a space
 * @link: in the list of spaces, under its lock
 * @ref: lifetime
 * @id: its number
 * @domain: trust domain; a reference is held
 * @layout: its address map
 * @access: DS_ACCESS_* that may be had
 * @uid: who may open it, INVALID_UID for all
 * @lock: protects changes of @servers and of the attachments, and @dead
 * @dead: deleted
 * @attached: attachments
 * @busy: connection whose keys are being taken or given up, or NULL; written under
 *	@lock, read anywhere
 * @servers: for each server its attachment or NULL; read under RCU
 */
struct ds_space {
	struct list_head	link;
	struct kref		ref;
	u32			id;
	struct ds_domain	*domain;
	struct ds_layout	layout;
	u32			access;
	kuid_t			uid;
	struct mutex		lock;		/* see above */
	bool			dead;
	u32			attached;
	struct ds_conn		*busy;
	struct ds_attach __rcu	*servers[];
};

int ds_space_add(u32 id, u32 domain, const struct ds_layout *layout, u32 access,
		 kuid_t uid, struct netlink_ext_ack *extack);
int ds_space_del(u32 id, struct netlink_ext_ack *extack);

/**
 * ds_space_open - the space @id for the current user
 * @access: DS_ACCESS_* wanted
 *
 * Return: it with a reference; ERR_PTR(-ENOENT), ERR_PTR(-EACCES)
 */
struct ds_space *ds_space_open(u32 id, u32 access);
void ds_space_get(struct ds_space *space);
void ds_space_put(struct ds_space *space);

/**
 * ds_space_attach - make segment @segment of node @node server @server of a space
 *
 * Asks the node for its keys. Context: process, killable, at most @timeout_ms.
 * Return: 0; -ENOENT, -EEXIST (another segment is there and up; one that is
 *	down, lost or revoked is replaced), -ENOTCONN, -EACCES (other domain), -EFBIG (the
 *	segment is longer than a server; shorter is fine), -ETIMEDOUT
 */
int ds_space_attach(u32 id, u32 server, u32 node, u64 segment, u32 timeout_ms,
		    struct netlink_ext_ack *extack);
int ds_space_detach(u32 id, u32 server, struct netlink_ext_ack *extack);

/* Call @fn for each space until it returns non-zero. */
int ds_space_for_each(int (*fn)(struct ds_space *space, void *ctx), void *ctx);

/* What a dump tells of an attachment. */
struct ds_attach_info {
	u32	server;
	u32	node;
	u64	segment;
	u64	length;
	u32	access;
	u32	chunks;
	u32	state;		/* enum ds_attach_state */
};

/* The first attachment at or after server @server, -ENOENT if none. */
int ds_space_attach_info(struct ds_space *space, u32 server, struct ds_attach_info *info);
u32 ds_space_attached(struct ds_space *space);

/* Is the node's segment a server of the space, up or not? */
bool ds_space_has(struct ds_space *space, u32 node, u64 segment);

/*
 * A client connection came up: attach again what was attached on its node. It
 * went down and its queue pairs are destroyed: drop the keys. Context: process.
 */
void ds_space_conn_up(struct ds_conn *conn);
void ds_space_conn_down(struct ds_conn *conn);

int ds_space_init(void);
void ds_space_exit(void);

#endif

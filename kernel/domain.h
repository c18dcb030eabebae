/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: this host's identity and its trust domains.
 *
 * A trust domain is a number and a key. Hosts that know the key trust each
 * other's kernels; a segment, a space and a peer belong to one domain, and a
 * domain is one protection domain on each device.
 */
#ifndef _DS_DOMAIN_H
#define _DS_DOMAIN_H

#include <linux/types.h>
#include <linux/refcount.h>
#include <linux/list.h>
#include <uapi/ds/netlink.h>

struct netlink_ext_ack;
struct ds_hs_host;

/**
 * struct ds_domain - a trust domain
 * @link: in the list of domains
 * @id: its number, 1 to 65535
 * @serial: another one for each that is added
 * @users: one for the list, one for each user
 * @key: shared secret of its hosts
 */
struct ds_domain {
	struct list_head	link;
	u32			id;
	u64			serial;
	refcount_t		users;
	u8			key[DS_DOMAIN_KEY_LEN];
};

/* Context of all: process, may sleep. */
int ds_domain_add(u32 id, const u8 *key, struct netlink_ext_ack *extack);
int ds_domain_del(u32 id, struct netlink_ext_ack *extack);
struct ds_domain *ds_domain_get(u32 id);
void ds_domain_ref(struct ds_domain *domain);
void ds_domain_put(struct ds_domain *domain);
u32 ds_domain_next(u32 id);	/* smallest number above @id, 0 if none */
void ds_domain_exit(void);

/* ds_node_set() fails with -EBUSY once a domain or a peer exists. */
void ds_node_init(void);
int ds_node_set(u32 node, u64 group, struct netlink_ext_ack *extack);
u32 ds_node_id(void);
u64 ds_node_group(void);
u64 ds_node_incarnation(void);
const u8 *ds_node_uuid(void);

/* This host as the handshake tells of it. */
void ds_node_describe(struct ds_hs_host *host, u32 domain);

#endif

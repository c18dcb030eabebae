/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: where packets come in by UDP.
 */
#ifndef _DS_PACKET_UDP_H
#define _DS_PACKET_UDP_H

#include <linux/types.h>

struct ds_caller;
struct netlink_ext_ack;
struct sk_buff;
struct socket;

/**
 * struct ds_udp_attr - a listener as it was made
 * @wire: version of its packets, 1 or 2
 * @addr: address of this host
 * @port: UDP port
 * @flags: DS_RDM_*
 */
struct ds_udp_attr {
	u32	wire;
	__be32	addr;
	u16	port;
	u32	flags;
};

struct ds_udp;

/* Context of both: process. -EADDRINUSE, -EADDRNOTAVAIL, -ENOENT, ... */
int ds_udp_add(const struct ds_udp_attr *attr, struct netlink_ext_ack *extack);
int ds_udp_del(const struct ds_udp_attr *attr, struct netlink_ext_ack *extack);

/* Call @fn for each listener until it returns non-zero; the list is locked. */
int ds_udp_for_each(int (*fn)(const struct ds_udp_attr *attr, void *ctx), void *ctx);

/* For caller.c, one at a time: answer a packet, which stays the caller's. */
void ds_udp_serve(struct ds_udp *udp, struct ds_caller *caller, struct sk_buff *skb);

void ds_udp_exit(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: what netlink.c, netlink_dump.c and events.c share.
 */
#ifndef _DS_NETLINK_FAMILY_H
#define _DS_NETLINK_FAMILY_H

#include <net/genetlink.h>
#include <uapi/ds/netlink.h>

struct sockaddr_storage;

extern struct genl_family ds_genl_family;

/* How often the objects of a GET command have changed. */
u32 ds_netlink_generation(u8 get);

/* All dump commands; resumes by the number of objects given so far. */
int ds_netlink_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

/* events.c: send from here on, or stop: no event is under way when it returns. */
void ds_events_enable(bool on);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the generic netlink family, and the events that other files send by it.
 */
#ifndef _DS_NETLINK_H
#define _DS_NETLINK_H

#include <linux/types.h>

int ds_netlink_init(void);
void ds_netlink_exit(void);

/*
 * Objects of the dump @get (DS_CMD_*_GET) have come or gone: a dump that is
 * under way says so (NLM_F_DUMP_INTR). Call it with the lock held that keeps the dump
 * from seeing them half changed: what comes after it may take its time. Context: any.
 */
void ds_netlink_changed(u8 get);

/* Tell listeners. Context: process, may sleep. Lost when memory is short. */
void ds_event_device(const char *name, bool added, u32 state);
void ds_event_peer(u32 node, bool passive, bool up, const char *reason);
void ds_event_segment(u32 event, u64 id, u64 length);
void ds_event_attach(u32 space, u32 server, u32 node, u32 state);

#endif

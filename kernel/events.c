// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: multicast events, and how often the objects of a dump have changed.
 */
#include <linux/atomic.h>
#include <linux/rwsem.h>
#include "netlink.h"
#include "netlink_family.h"

/* The family must not go away under an event. */
static DECLARE_RWSEM(ds_events_lock);
static bool ds_events_on;

static atomic_t ds_generations[DS_CMD_MAX + 1];	/* by GET command */

void ds_netlink_changed(u8 get)
{
	atomic_inc(&ds_generations[get]);
}

u32 ds_netlink_generation(u8 get)
{
	/* Not 0, which means that there was no earlier message. */
	return (u32)atomic_read(&ds_generations[get]) + 1;
}

void ds_events_enable(bool on)
{
	down_write(&ds_events_lock);
	ds_events_on = on;
	up_write(&ds_events_lock);
}

/* NULL if nobody listens or there is no memory. */
static struct sk_buff *ds_event_begin(u32 event, void **hdr)
{
	struct sk_buff *skb;

	if (!genl_has_listeners(&ds_genl_family, &init_net, 0))
		return NULL;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return NULL;
	*hdr = genlmsg_put(skb, 0, 0, &ds_genl_family, 0, DS_CMD_EVENT);
	if (!*hdr || nla_put_u32(skb, DS_A_EVENT, event)) {
		nlmsg_free(skb);
		return NULL;
	}
	return skb;
}

/* @err: an attribute did not fit. */
static void ds_event_end(struct sk_buff *skb, void *hdr, int err)
{
	if (err) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, hdr);

	down_read(&ds_events_lock);
	if (ds_events_on)
		genlmsg_multicast(&ds_genl_family, skb, 0, 0, GFP_KERNEL);
	else
		nlmsg_free(skb);
	up_read(&ds_events_lock);
}

void ds_event_device(const char *name, bool added, u32 state)
{
	struct sk_buff *skb;
	void *hdr;
	int err;

	skb = ds_event_begin(added ? DS_EVENT_DEV_ADDED : DS_EVENT_DEV_REMOVED, &hdr);
	if (!skb)
		return;
	err = nla_put_string(skb, DS_A_DEVICE, name);
	if (!err && added)
		err = nla_put_u32(skb, DS_A_STATE, state);
	ds_event_end(skb, hdr, err);
}

void ds_event_peer(u32 node, bool passive, bool up, const char *reason)
{
	struct sk_buff *skb;
	void *hdr;
	int err;

	skb = ds_event_begin(up ? DS_EVENT_PEER_UP : DS_EVENT_PEER_DOWN, &hdr);
	if (!skb)
		return;
	err = nla_put_u32(skb, DS_A_NODE, node) ?: nla_put_u8(skb, DS_A_PASSIVE, passive);
	if (!err && !up && reason)
		err = nla_put_string(skb, DS_A_REASON, reason);
	ds_event_end(skb, hdr, err);
}

void ds_event_segment(u32 event, u64 id, u64 length)
{
	struct sk_buff *skb;
	void *hdr;
	int err;

	skb = ds_event_begin(event, &hdr);
	if (!skb)
		return;
	err = nla_put_u64_64bit(skb, DS_A_SEGMENT, id, DS_A_PAD);
	if (!err && event == DS_EVENT_SEG_ADDED)
		err = nla_put_u64_64bit(skb, DS_A_LENGTH, length, DS_A_PAD);
	ds_event_end(skb, hdr, err);
}

void ds_event_attach(u32 space, u32 server, u32 node, u32 state)
{
	struct sk_buff *skb;
	void *hdr;
	int err;

	skb = ds_event_begin(DS_EVENT_ATTACH_STATE, &hdr);
	if (!skb)
		return;
	err = nla_put_u32(skb, DS_A_SPACE, space) ?: nla_put_u32(skb, DS_A_SERVER, server) ?:
	      nla_put_u32(skb, DS_A_NODE, node) ?: nla_put_u32(skb, DS_A_STATE, state);
	ds_event_end(skb, hdr, err);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the netlink commands and dumps of the packet service.
 */
#include <linux/inetdevice.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <net/route.h>
#include <uapi/ds/ioctl.h>
#include <uapi/ds/packet.h>
#include "netlink_family.h"
#include "rdm/caller.h"
#include "rdm/packet_udp.h"
#include "rdm/rdm_space.h"
#include "rdm/segment.h"
#include "rdm/selftest.h"

#define DS_SELFTEST_REQUESTS	10000
#define DS_SELFTEST_AT_ONCE	3000	/* then a signal may end it */

/* ---- spaces ---- */

int ds_rdm_space_add_cmd(struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct nlattr *key = attrs[DS_A_MAC_KEY];
	struct ds_rdm_space_attr attr = {
		.id		= nla_get_u32(attrs[DS_A_RDM_SPACE]),
		.segment	= nla_get_u64(attrs[DS_A_SEGMENT]),
		.core.tenant	= ds_get_u32(info, DS_A_TENANT, 0),
		.core.map.kind	= ds_get_u32(info, DS_A_KIND, DS_PACKET_HASH),
		.core.map.access = ds_get_u32(info, DS_A_ACCESS, 0),
		.core.map.page_shift = ds_get_u32(info, DS_A_PAGE_SHIFT,
						  DS_PACKET_PAGE_SHIFT_MIN),
	};
	int err;

	if (attrs[DS_A_LENGTH])
		attr.core.map.size = nla_get_u64(attrs[DS_A_LENGTH]);
	if (key) {
		attr.core.keyed = true;
		memcpy(attr.core.key, nla_data(key), sizeof(attr.core.key));
		memzero_explicit(nla_data(key), nla_len(key));
	}
	err = ds_rdm_space_add(&attr, info->extack);
	memzero_explicit(&attr, sizeof(attr));
	return err;
}

int ds_rdm_space_del_cmd(struct genl_info *info)
{
	return ds_rdm_space_del(nla_get_u32(info->attrs[DS_A_RDM_SPACE]), info->extack);
}

static int ds_put_rdm_space(struct sk_buff *skb, void *object)
{
	struct ds_rdm_space *space = object;
	const struct ds_packet_space_attr *attr = &space->core.attr;
	struct ds_vspace_usage usage;

	ds_vspace_usage(space->core.map, &usage);
	return nla_put_u32(skb, DS_A_RDM_SPACE, space->id) ?:
	       nla_put_u64_64bit(skb, DS_A_SEGMENT, space->seg->id, DS_A_PAD) ?:
	       nla_put_u64_64bit(skb, DS_A_LENGTH, attr->map.size, DS_A_PAD) ?:
	       nla_put_u32(skb, DS_A_KIND, attr->map.kind) ?:
	       nla_put_u32(skb, DS_A_PAGE_SHIFT, attr->map.page_shift) ?:
	       nla_put_u32(skb, DS_A_TENANT, attr->tenant) ?:
	       nla_put_u32(skb, DS_A_ACCESS, attr->map.access) ?:
	       nla_put_u8(skb, DS_A_KEYED, attr->keyed) ?:
	       nla_put_u64_64bit(skb, DS_A_ALLOCATIONS, usage.allocations, DS_A_PAD) ?:
	       nla_put_u64_64bit(skb, DS_A_FREE, usage.free_bytes, DS_A_PAD) ?:
	       nla_put_u64_64bit(skb, DS_A_LARGEST, usage.largest_free, DS_A_PAD) ?:
	       nla_put_u32(skb, DS_A_GENERATION, usage.generation) ?:
	       nla_put_u64_64bit(skb, DS_A_TABLE, usage.table_bytes, DS_A_PAD) ?:
	       nla_put_u32(skb, DS_A_SESSIONS, space->core.sessions.count);
}

static int ds_dump_rdm_space(struct ds_rdm_space *space, void *dump)
{
	return ds_dump_object(dump, ds_put_rdm_space, space);
}

int ds_dump_rdm_spaces(struct ds_dump *dump)
{
	return ds_rdm_space_for_each(ds_dump_rdm_space, dump);
}

/* ---- listeners ---- */

static int ds_get_listener(struct genl_info *info, struct ds_udp_attr *attr)
{
	struct nlattr **attrs = info->attrs;

	attr->wire = nla_get_u32(attrs[DS_A_WIRE]);
	attr->addr = nla_get_in_addr(attrs[DS_A_IPV4]);
	attr->port = attrs[DS_A_PORT] ? nla_get_u16(attrs[DS_A_PORT]) :
		     attr->wire == 1 ? DS_PACKET1_PORT : DS_PACKET2_PORT;
	attr->flags = ds_get_u32(info, DS_A_FLAGS, 0);
	if (attr->flags && attr->wire != 1) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[DS_A_FLAGS],
				    "version 2 answers all writes; leave the flag out");
		return -EINVAL;
	}
	return 0;
}

int ds_rdm_listen_add_cmd(struct genl_info *info)
{
	struct ds_udp_attr attr;
	int err;

	err = ds_get_listener(info, &attr);
	if (err)
		return err;
	if (inet_addr_type(&init_net, attr.addr) != RTN_LOCAL) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DS_A_IPV4],
				    "this is no address of this host; give one of its own");
		return -EADDRNOTAVAIL;
	}
	return ds_udp_add(&attr, info->extack);
}

int ds_rdm_listen_del_cmd(struct genl_info *info)
{
	struct ds_udp_attr attr;

	return ds_get_listener(info, &attr) ?: ds_udp_del(&attr, info->extack);
}

static int ds_put_rdm_listener(struct sk_buff *skb, void *object)
{
	const struct ds_udp_attr *attr = object;

	return nla_put_u32(skb, DS_A_WIRE, attr->wire) ?:
	       nla_put_in_addr(skb, DS_A_IPV4, attr->addr) ?:
	       nla_put_u16(skb, DS_A_PORT, attr->port) ?:
	       nla_put_u32(skb, DS_A_FLAGS, attr->flags);
}

static int ds_dump_rdm_listener(const struct ds_udp_attr *attr, void *dump)
{
	struct ds_udp_attr copy = *attr;

	return ds_dump_object(dump, ds_put_rdm_listener, &copy);
}

int ds_dump_rdm_listeners(struct ds_dump *dump)
{
	return ds_udp_for_each(ds_dump_rdm_listener, dump);
}

/* ---- hosts that may send packets ---- */

int ds_rdm_peer_add_cmd(struct genl_info *info)
{
	__be32 addr = nla_get_in_addr(info->attrs[DS_A_IPV4]);

	if (ipv4_is_zeronet(addr) || ipv4_is_multicast(addr) || ipv4_is_lbcast(addr)) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[DS_A_IPV4],
				    "this is no address of a host");
		return -EINVAL;
	}
	return ds_caller_add(addr, info->attrs[DS_A_TENANT], ds_get_u32(info, DS_A_TENANT, 0),
			     info->extack);
}

int ds_rdm_peer_del_cmd(struct genl_info *info)
{
	return ds_caller_del(nla_get_in_addr(info->attrs[DS_A_IPV4]), info->extack);
}

static int ds_put_rdm_peer(struct sk_buff *skb, void *object)
{
	const struct ds_caller *caller = object;
	int err = nla_put_in_addr(skb, DS_A_IPV4, caller->addr);

	if (!err && caller->bound)
		err = nla_put_u32(skb, DS_A_TENANT, caller->tenant);
	return err;
}

static int ds_dump_rdm_peer(struct ds_caller *caller, void *dump)
{
	return ds_dump_object(dump, ds_put_rdm_peer, caller);
}

int ds_dump_rdm_peers(struct ds_dump *dump)
{
	return ds_caller_for_each(ds_dump_rdm_peer, dump);
}

/* ---- counters ---- */

static int ds_dump_caller_stats(struct ds_caller *caller, void *ctx)
{
	struct ds_dump *dump = ctx;
	char object[32];

	snprintf(object, sizeof(object), "rdm peer %pI4", &caller->addr);
	return ds_dump_counter(dump, object, "received", READ_ONCE(caller->received)) ?:
	       ds_dump_counter(dump, object, "dropped", READ_ONCE(caller->dropped)) ?:
	       ds_dump_counter(dump, object, "served", READ_ONCE(caller->served)) ?:
	       ds_dump_counter(dump, object, "longest_wait", READ_ONCE(caller->longest_wait));
}

static const char *const ds_rdm_op_names[] = {
	[DS_PACKET_READ]		= "read",
	[DS_PACKET_WRITE]		= "write",
	[DS_PACKET_WRITE_PERSISTENT]	= "write_persistent",
	[DS_PACKET_ALLOC]		= "alloc",
	[DS_PACKET_FREE]		= "free",
	[DS_PACKET_CAS]			= "cas",
	[DS_PACKET_FETCH_ADD]		= "fetch_add",
	[DS_PACKET_OPEN]		= "open",
	[DS_PACKET_CLOSE]		= "close",
	[DS_PACKET_PING]		= "ping",
};

static const char *const ds_rdm_status_names[DS_PACKET_STATUS_COUNT] = {
	[DS_PACKET_OK]			= "ok",
	[DS_PACKET_MALFORMED]		= "malformed",
	[DS_PACKET_OPCODE]		= "opcode",
	[DS_PACKET_NO_SPACE]		= "no_space",
	[DS_PACKET_PERMISSION]		= "permission",
	[DS_PACKET_ADDRESS]		= "address",
	[DS_PACKET_LENGTH]		= "length",
	[DS_PACKET_ALIGNMENT]		= "alignment",
	[DS_PACKET_FULL]		= "full",
	[DS_PACKET_MEMORY]		= "memory",
	[DS_PACKET_NOT_PERSISTENT]	= "not_persistent",
	[DS_PACKET_IO]			= "io",
	[DS_PACKET_SESSION]		= "session",
	[DS_PACKET_SEQUENCE]		= "sequence",
	[DS_PACKET_BUSY]		= "busy",
	[DS_PACKET_MTU]			= "mtu",
};

static int ds_dump_rdm_named(struct ds_dump *dump, const char *object, const char *before,
			     const char *const *names, const u64 *values, u32 count)
{
	char name[32];
	int err = 0;
	u32 i;

	for (i = 0; i < count && !err; i++) {
		if (!names[i])
			continue;
		snprintf(name, sizeof(name), "%s_%s", before, names[i]);
		err = ds_dump_counter(dump, object, name, values[i]);
	}
	return err;
}

static int ds_dump_rdm_space_stats(struct ds_rdm_space *space, void *ctx)
{
	const struct ds_packet_counters *c = &space->core.counters;
	const struct ds_vspace_stats *v = ds_vspace_stats(space->core.map);
	struct ds_dump *dump = ctx;
	char object[24];

	snprintf(object, sizeof(object), "rdm %u", space->id);
	return ds_dump_rdm_named(dump, object, "ops", ds_rdm_op_names, c->ops,
				 ARRAY_SIZE(ds_rdm_op_names)) ?:
	       ds_dump_rdm_named(dump, object, "ended", ds_rdm_status_names, c->statuses,
				 ARRAY_SIZE(ds_rdm_status_names)) ?:
	       ds_dump_counter(dump, object, "bytes_read", c->bytes_read) ?:
	       ds_dump_counter(dump, object, "bytes_written", c->bytes_written) ?:
	       ds_dump_counter(dump, object, "repeated", c->repeated) ?:
	       ds_dump_counter(dump, object, "parts", c->parts) ?:
	       ds_dump_counter(dump, object, "front_hits", v->front_hits) ?:
	       ds_dump_counter(dump, object, "table_hits", v->table_hits) ?:
	       ds_dump_counter(dump, object, "misses", v->misses) ?:
	       ds_dump_counter(dump, object, "chain_steps", v->chain_steps);
}

int ds_dump_rdm_stats(struct ds_dump *dump)
{
	return ds_rdm_space_for_each(ds_dump_rdm_space_stats, dump) ?:
	       ds_caller_for_each(ds_dump_caller_stats, dump);
}

/* ---- selftest ---- */

static int ds_rdm_selftest(u64 requests, struct ds_packet_selftest *result)
{
	u64 seed = 1, n;
	int err = 0;

	for (; requests && !err; requests -= n) {
		n = min_t(u64, requests, DS_SELFTEST_AT_ONCE);
		err = fatal_signal_pending(current) ? -EINTR :
		      ds_packet_selftest(n, seed++, result);
	}
	return err;
}

int ds_rdm_selftest_cmd(struct genl_info *info)
{
	u64 requests = DS_SELFTEST_REQUESTS;
	struct ds_packet_selftest result = { 0 };
	struct sk_buff *skb;
	void *hdr;
	int err;

	if (info->attrs[DS_A_VALUE])
		requests = nla_get_u64(info->attrs[DS_A_VALUE]);
	skb = ds_reply_begin(info, &hdr);
	if (!skb)
		return -ENOMEM;
	err = ds_rdm_selftest(requests, &result) ?:
	      nla_put_u64_64bit(skb, DS_A_PASSED, result.passed, DS_A_PAD) ?:
	      nla_put_u64_64bit(skb, DS_A_FAILED, result.failed, DS_A_PAD);
	return ds_reply_end(info, skb, hdr, err);
}

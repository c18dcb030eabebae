// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the dumps of the netlink family: one message an object.
 *
 * A dump that does not fit into one buffer is resumed: it walks the objects
 * again and skips as many as it has given, or goes on by their numbers. If
 * objects came or went meanwhile one may be missed or given twice, so each
 * message carries the generation of its kind of object and netlink tells the
 * caller when it has moved.
 */
#include <linux/in6.h>
#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include "chardev.h"
#include "conn.h"
#include "conn_list.h"
#include "device.h"
#include "domain.h"
#include "netlink_family.h"
#include "peer.h"
#include "rdm/grant.h"
#include "rdm/segment.h"
#include "rdm/space.h"
#include "stats.h"
#include "verbs.h"

int ds_dump_object(struct ds_dump *dump, int (*put)(struct sk_buff *skb, void *object),
		   void *object)
{
	struct netlink_callback *cb = dump->cb;
	void *hdr;

	if (dump->index++ < cb->args[0])
		return 0;

	hdr = genlmsg_put(dump->skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			  &ds_genl_family, NLM_F_MULTI, dump->get);
	if (!hdr)
		return -EMSGSIZE;
	if (put(dump->skb, object)) {
		genlmsg_cancel(dump->skb, hdr);
		return -EMSGSIZE;
	}
	/* Not before: what it says is said once, and a message that does not fit is not sent. */
	cb->seq = ds_netlink_generation(dump->get);
	genl_dump_check_consistent(cb, hdr);
	genlmsg_end(dump->skb, hdr);
	cb->args[0]++;
	return 0;
}

/* ---- domains ---- */

static int ds_put_domain(struct sk_buff *skb, void *id)
{
	return nla_put_u32(skb, DS_A_DOMAIN, *(u32 *)id);
}

static int ds_dump_domains(struct ds_dump *dump)
{
	int err = 0;
	u32 id;

	for (id = ds_domain_next(0); id && !err; id = ds_domain_next(id))
		err = ds_dump_object(dump, ds_put_domain, &id);
	return err;
}

/* ---- devices ---- */

/*
 * Largest path MTU of the first port, 0 if it is down or no Ethernet. The port
 * is not asked itself because that takes the RTNL, under which some drivers
 * register their devices.
 */
static u32 ds_device_mtu(struct ib_device *ib)
{
	const struct ib_gid_attr *gid;
	struct net_device *ndev;
	enum ib_mtu mtu = 0;

	gid = rdma_get_gid_attr(ib, rdma_start_port(ib), 0);
	if (IS_ERR(gid))
		return 0;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(gid);
	if (!IS_ERR(ndev))
		mtu = iboe_get_mtu(READ_ONCE(ndev->mtu));
	rcu_read_unlock();
	rdma_put_gid_attr(gid);
	return mtu ? ib_mtu_enum_to_int(mtu) : 0;
}

static int ds_put_device(struct sk_buff *skb, void *object)
{
	struct ds_device *dev = object;
	u32 mtu = ds_device_mtu(dev->ib);
	int err;

	err = nla_put_string(skb, DS_A_DEVICE, dev->ib->name) ?:
	      nla_put_u32(skb, DS_A_STATE, dev->refused ? DS_DEV_REFUSED : DS_DEV_USED);
	if (!err && mtu)
		err = nla_put_u32(skb, DS_A_MTU, mtu);
	if (!err && dev->refused)
		err = nla_put_string(skb, DS_A_REASON, dev->refused);
	return err;
}

static int ds_dump_device(struct ds_device *dev, void *dump)
{
	return ds_dump_object(dump, ds_put_device, dev);
}

static int ds_dump_devices(struct ds_dump *dump)
{
	return ds_device_for_each(ds_dump_device, dump);
}

/* ---- peers: those that we connect to, then those that connected to us ---- */

static int ds_put_address(struct sk_buff *skb, const struct sockaddr_storage *addr, bool port)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	int err;

	if (addr->ss_family == AF_INET6)
		err = nla_put_in6_addr(skb, DS_A_IPV6, &in6->sin6_addr);
	else
		err = nla_put_in_addr(skb, DS_A_IPV4, in->sin_addr.s_addr);
	if (!err && port)
		err = nla_put_u16(skb, DS_A_PORT, ntohs(in->sin_port));	/* same place in both */
	return err;
}

static int ds_put_identity(struct sk_buff *skb, u32 node, const u8 *uuid, u64 incarnation)
{
	return nla_put_u32(skb, DS_A_NODE, node) ?:
	       nla_put(skb, DS_A_UUID, DS_UUID_LEN, uuid) ?:
	       nla_put_u64_64bit(skb, DS_A_INCARNATION, incarnation, DS_A_PAD);
}

/* The round trip is not known before the first heartbeat, and never to a server. */
static int ds_put_link(struct sk_buff *skb, const struct ds_conn *conn)
{
	u64 rtt = READ_ONCE(conn->ctrl.qp->srtt_ns);
	int err;

	err = nla_put_u32(skb, DS_A_LANES, conn->lanes);
	if (!err && conn->mtu)
		err = nla_put_u32(skb, DS_A_MTU, conn->mtu);
	if (!err && rtt)
		err = nla_put_u64_64bit(skb, DS_A_RTT_NS, rtt, DS_A_PAD);
	return err;
}

static int ds_put_peer(struct sk_buff *skb, void *object)
{
	struct ds_peer *peer = object;
	int err;

	mutex_lock(&peer->lock);
	err = nla_put_u8(skb, DS_A_PASSIVE, 0) ?:
	      nla_put_u32(skb, DS_A_DOMAIN, peer->domain->id) ?:
	      nla_put_u32(skb, DS_A_STATE, peer->state) ?:
	      ds_put_address(skb, &peer->addr, true);
	if (!err && peer->node)
		err = ds_put_identity(skb, peer->node, peer->uuid, peer->incarnation);
	if (!err && peer->reason && peer->state != DS_PEER_UP)
		err = nla_put_string(skb, DS_A_REASON, peer->reason);
	if (!err && peer->state == DS_PEER_UP && peer->conn)
		err = ds_put_link(skb, peer->conn);
	mutex_unlock(&peer->lock);
	return err;
}

static int ds_dump_peer(struct ds_peer *peer, void *dump)
{
	return ds_dump_object(dump, ds_put_peer, peer);
}

static int ds_put_server_conn(struct sk_buff *skb, void *object)
{
	struct ds_conn *conn = object;
	const struct ds_hs_host *host = &conn->hs.peer;

	return nla_put_u8(skb, DS_A_PASSIVE, 1) ?:
	       nla_put_u32(skb, DS_A_DOMAIN, host->domain) ?:
	       nla_put_u32(skb, DS_A_STATE, DS_PEER_UP) ?:
	       ds_put_address(skb, &conn->addr, false) ?:
	       ds_put_identity(skb, host->node, host->uuid, host->incarnation) ?:
	       ds_put_link(skb, conn);
}

static bool ds_conn_is_up(struct ds_conn *conn)
{
	bool up;

	spin_lock_bh(&conn->lock);
	up = conn->state == DS_CONN_UP;
	spin_unlock_bh(&conn->lock);
	return up;
}

static int ds_dump_server_conn(struct ds_conn *conn, void *dump)
{
	if (!ds_conn_is_up(conn))
		return 0;
	return ds_dump_object(dump, ds_put_server_conn, conn);
}

static int ds_dump_peers(struct ds_dump *dump)
{
	return ds_peer_for_each(ds_dump_peer, dump) ?:
	       ds_conn_each_server(ds_dump_server_conn, dump);
}

/* ---- segments ---- */

static int ds_put_segment(struct sk_buff *skb, void *object)
{
	struct ds_segment *seg = object;
	const struct ds_segment_attr *attr = &seg->attr;
	int err;

	err = nla_put_u64_64bit(skb, DS_A_SEGMENT, seg->id, DS_A_PAD) ?:
	      nla_put_u64_64bit(skb, DS_A_LENGTH, attr->length, DS_A_PAD) ?:
	      nla_put_u32(skb, DS_A_CHUNKS, DIV_ROUND_UP_ULL(attr->length, DS_CHUNK_SIZE)) ?:
	      nla_put_u32(skb, DS_A_DOMAIN, attr->domain) ?:
	      nla_put_u32(skb, DS_A_ACCESS, attr->access) ?:
	      nla_put_s32(skb, DS_A_NUMA_NODE, attr->numa_node) ?:
	      nla_put_u32(skb, DS_A_FLAGS, attr->flags) ?:
	      nla_put_u32(skb, DS_A_ATTACHED, ds_grant_holders(seg));
	if (!err && attr->name[0])
		err = nla_put_string(skb, DS_A_NAME, attr->name);
	return err;
}

static int ds_dump_segment(struct ds_segment *seg, void *dump)
{
	return ds_dump_object(dump, ds_put_segment, seg);
}

static int ds_dump_segments(struct ds_dump *dump)
{
	return ds_segment_for_each(ds_dump_segment, dump);
}

/* ---- spaces and their servers ---- */

static int ds_put_space(struct sk_buff *skb, void *object)
{
	struct ds_space *space = object;
	int err;

	err = nla_put_u32(skb, DS_A_SPACE, space->id) ?:
	      nla_put_u32(skb, DS_A_DOMAIN, space->domain->id) ?:
	      nla_put_u32(skb, DS_A_SERVERS, space->layout.servers) ?:
	      nla_put_u32(skb, DS_A_SERVER_SHIFT, space->layout.server_shift) ?:
	      nla_put_u32(skb, DS_A_ACCESS, space->access) ?:
	      nla_put_u32(skb, DS_A_ATTACHED, ds_space_attached(space));
	if (!err && uid_valid(space->uid))
		err = nla_put_u32(skb, DS_A_UID, from_kuid(&init_user_ns, space->uid));
	return err;
}

static int ds_dump_space(struct ds_space *space, void *dump)
{
	return ds_dump_object(dump, ds_put_space, space);
}

static int ds_dump_spaces(struct ds_dump *dump)
{
	return ds_space_for_each(ds_dump_space, dump);
}

struct ds_dump_attach {
	u32			space;
	struct ds_attach_info	info;
};

static int ds_put_attach(struct sk_buff *skb, void *object)
{
	const struct ds_dump_attach *attach = object;
	const struct ds_attach_info *info = &attach->info;

	return nla_put_u32(skb, DS_A_SPACE, attach->space) ?:
	       nla_put_u32(skb, DS_A_SERVER, info->server) ?:
	       nla_put_u32(skb, DS_A_NODE, info->node) ?:
	       nla_put_u64_64bit(skb, DS_A_SEGMENT, info->segment, DS_A_PAD) ?:
	       nla_put_u64_64bit(skb, DS_A_LENGTH, info->length, DS_A_PAD) ?:
	       nla_put_u32(skb, DS_A_ACCESS, info->access) ?:
	       nla_put_u32(skb, DS_A_CHUNKS, info->chunks) ?:
	       nla_put_u32(skb, DS_A_STATE, info->state);
}

static int ds_dump_space_attaches(struct ds_space *space, void *dump)
{
	struct ds_dump_attach attach = { .space = space->id };
	u32 server = 0;
	int err = 0;

	while (!err && !ds_space_attach_info(space, server, &attach.info)) {
		err = ds_dump_object(dump, ds_put_attach, &attach);
		server = attach.info.server + 1;
	}
	return err;
}

static int ds_dump_attaches(struct ds_dump *dump)
{
	return ds_space_for_each(ds_dump_space_attaches, dump);
}

/* ---- open files ---- */

static int ds_put_file(struct sk_buff *skb, void *object)
{
	const struct ds_file_info *info = object;

	return nla_put_u32(skb, DS_A_PID, info->pid) ?:
	       nla_put_u32(skb, DS_A_UID, info->uid) ?:
	       nla_put_u32(skb, DS_A_BUFS, info->bufs) ?:
	       nla_put_string(skb, DS_A_COMM, info->comm);
}

static int ds_dump_file(const struct ds_file_info *info, void *ctx)
{
	struct ds_file_info copy = *info;
	struct ds_dump *dump = ctx;

	dump->cb->args[0] = info->id;
	dump->index = info->id;
	return ds_dump_object(dump, ds_put_file, &copy);
}

/* Any user may have very many open: what was given is not walked again. */
static int ds_dump_files(struct ds_dump *dump)
{
	return ds_chardev_for_each(dump->cb->args[0], ds_dump_file, dump);
}

/* ---- counters ---- */

struct ds_dump_counter {
	const char	*object;
	const char	*name;
	u64		value;
};

static int ds_put_counter(struct sk_buff *skb, void *object)
{
	const struct ds_dump_counter *counter = object;

	return nla_put_string(skb, DS_A_OBJECT, counter->object) ?:
	       nla_put_string(skb, DS_A_NAME, counter->name) ?:
	       nla_put_u64_64bit(skb, DS_A_VALUE, counter->value, DS_A_PAD);
}

int ds_dump_counter(struct ds_dump *dump, const char *object, const char *name, u64 value)
{
	struct ds_dump_counter counter = { .object = object, .name = name, .value = value };

	return ds_dump_object(dump, ds_put_counter, &counter);
}

static int ds_dump_counters(struct ds_dump *dump, const char *object, struct ds_stats *stats)
{
	int err = 0;
	int i;

	for (i = 0; i < DS_STAT_COUNT && !err; i++)
		err = ds_dump_counter(dump, object, ds_stat_names[i],
				      atomic64_read(&stats->n[i]));
	return err;
}

static int ds_dump_peer_stats(struct ds_peer *peer, void *dump)
{
	char object[24];

	snprintf(object, sizeof(object), "peer %u", READ_ONCE(peer->node));
	return ds_dump_counters(dump, object, &peer->stats);
}

static int ds_dump_server_conn_stats(struct ds_conn *conn, void *dump)
{
	char object[24];

	if (!ds_conn_is_up(conn))
		return 0;
	snprintf(object, sizeof(object), "host %u", conn->hs.peer.node);
	return ds_dump_counters(dump, object, conn->stats);
}

static int ds_dump_stats(struct ds_dump *dump)
{
	return ds_dump_counters(dump, "module", &ds_stats) ?:
	       ds_peer_for_each(ds_dump_peer_stats, dump) ?:
	       ds_conn_each_server(ds_dump_server_conn_stats, dump) ?:
	       ds_dump_rdm_stats(dump);
}

static int (*const ds_dumps[])(struct ds_dump *dump) = {
	[DS_CMD_DOMAIN_GET]	= ds_dump_domains,
	[DS_CMD_DEV_GET]	= ds_dump_devices,
	[DS_CMD_PEER_GET]	= ds_dump_peers,
	[DS_CMD_SEG_GET]	= ds_dump_segments,
	[DS_CMD_SPACE_GET]	= ds_dump_spaces,
	[DS_CMD_ATTACH_GET]	= ds_dump_attaches,
	[DS_CMD_FILE_GET]	= ds_dump_files,
	[DS_CMD_STAT_GET]	= ds_dump_stats,
	[DS_CMD_RDM_SPACE_GET]	= ds_dump_rdm_spaces,
	[DS_CMD_RDM_LISTEN_GET]	= ds_dump_rdm_listeners,
	[DS_CMD_RDM_PEER_GET]	= ds_dump_rdm_peers,
	[DS_CMD_TOKEN_GET]	= ds_dump_tokens,
	[DS_CMD_TOKEN_STAT_GET]	= ds_dump_token_stats,
	[DS_CMD_TOKEN_PARAM_GET] = ds_dump_token_params,
};

int ds_netlink_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genlmsghdr *genl = nlmsg_data(cb->nlh);
	struct ds_dump dump = { .skb = skb, .cb = cb, .get = genl->cmd };
	int err;

	if (nlmsg_attrlen(cb->nlh, GENL_HDRLEN)) {
		NL_SET_ERR_MSG(cb->extack, "a dump takes no attributes; send the command without");
		return -EINVAL;
	}
	/* Before anything is looked at: a change may come between that and its message. */
	if (!cb->prev_seq)
		cb->prev_seq = ds_netlink_generation(dump.get);
	err = ds_dumps[dump.get](&dump);
	cb->seq = ds_netlink_generation(dump.get);	/* for the message that ends the dump */
	if (err && !skb->len)
		return err;
	return skb->len;
}

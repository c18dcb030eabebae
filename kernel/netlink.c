// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the commands of the netlink family. docs/netlink.md has the table of
 * commands and attributes that ds_policy and ds_commands write down here.
 *
 * Commands run in parallel (parallel_ops) because some wait for other hosts, or for
 * storage. While one waits, no netlink family of the kernel can be registered or
 * removed, this one included; so no wait is without a limit. Where the caller says how
 * long, it is DS_MAX_TIMEOUT_MS.
 */
#include <linux/ctype.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/module.h>
#include <linux/numa.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>
#include <uapi/ds/ioctl.h>
#include <uapi/ds/layout.h>
#include <uapi/ds/packet.h>
#include <uapi/ds/token.h>
#include "domain.h"
#include "netlink.h"
#include "netlink_family.h"
#include "params.h"
#include "peer.h"
#include "rdm/backing.h"
#include "rdm/segment.h"
#include "rdm/space.h"

#define DS_TIMEOUT_MS		10000
#define DS_MAX_TIMEOUT_MS	20000
#define DS_MIN_LENGTH		4096
#define DS_TOKEN_PARTS_MAX	4096

static struct netlink_range_validation ds_u16_range = { .min = 1, .max = U16_MAX };
static struct netlink_range_validation ds_rdm_space_range = { .max = DS_PACKET_SPACES - 1 };
static struct netlink_range_validation ds_selftest_range = { .min = 1, .max = 1000000 };

/* Attributes that only the kernel gives are absent: netlink refuses them. */
static const struct nla_policy ds_policy[DS_A_MAX + 1] = {
	[DS_A_NODE]		= NLA_POLICY_FULL_RANGE(NLA_U32, &ds_u16_range),
	[DS_A_GROUP]		= { .type = NLA_U64 },
	[DS_A_DOMAIN]		= NLA_POLICY_FULL_RANGE(NLA_U32, &ds_u16_range),
	[DS_A_KEY]		= NLA_POLICY_EXACT_LEN(DS_DOMAIN_KEY_LEN),
	[DS_A_IPV4]		= { .type = NLA_BE32 },
	[DS_A_IPV6]		= NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)),
	[DS_A_PORT]		= NLA_POLICY_MIN(NLA_U16, 1),
	[DS_A_TIMEOUT_MS]	= NLA_POLICY_RANGE(NLA_U32, 1, DS_MAX_TIMEOUT_MS),
	[DS_A_SEGMENT]		= { .type = NLA_U64 },
	[DS_A_LENGTH]		= NLA_POLICY_MIN(NLA_U64, DS_MIN_LENGTH),
	[DS_A_ACCESS]		= NLA_POLICY_RANGE(NLA_U32, 1, DS_ACCESS_ALL),
	[DS_A_NUMA_NODE]	= NLA_POLICY_RANGE(NLA_S32, NUMA_NO_NODE, MAX_NUMNODES - 1),
	[DS_A_NAME]		= { .type = NLA_NUL_STRING, .len = DS_NAME_LEN - 1 },
	[DS_A_SPACE]		= NLA_POLICY_MIN(NLA_U32, 1),
	[DS_A_SERVERS]		= NLA_POLICY_RANGE(NLA_U32, 1, DS_LAYOUT_MAX_SERVERS),
	[DS_A_SERVER_SHIFT]	= NLA_POLICY_RANGE(NLA_U32, DS_LAYOUT_SERVER_SHIFT,
						   DS_LAYOUT_SERVER_SHIFT + DS_LAYOUT_MAX_K),
	[DS_A_SERVER]		= NLA_POLICY_MAX(NLA_U32, DS_LAYOUT_MAX_SERVERS - 1),
	[DS_A_UID]		= { .type = NLA_U32 },
	[DS_A_FLAGS]		= NLA_POLICY_MAX(NLA_U32, DS_RDM_ANSWER_WRITES),
	[DS_A_VALUE]		= NLA_POLICY_FULL_RANGE(NLA_U64, &ds_selftest_range),
	[DS_A_RDM_SPACE]	= NLA_POLICY_FULL_RANGE(NLA_U32, &ds_rdm_space_range),
	[DS_A_TENANT]		= { .type = NLA_U32 },
	[DS_A_KIND]		= NLA_POLICY_MAX(NLA_U32, DS_PACKET_HASH),
	[DS_A_PAGE_SHIFT]	= NLA_POLICY_RANGE(NLA_U32, DS_PACKET_PAGE_SHIFT_MIN,
						   DS_PACKET_PAGE_SHIFT_MAX),
	[DS_A_MAC_KEY]		= NLA_POLICY_EXACT_LEN(DS_PACKET_KEY_LEN),
	[DS_A_WIRE]		= NLA_POLICY_RANGE(NLA_U32, 1, 2),
	[DS_A_FD]		= { .type = NLA_U32 },
	[DS_A_DEVICE]		= { .type = NLA_NUL_STRING, .len = IB_DEVICE_NAME_MAX - 1 },
	[DS_A_SETTING]		= { .type = NLA_U64 },
	[DS_A_OBJECTS]		= { .type = NLA_BINARY,
				    .len = DS_TOKEN_OBJECTS_MAX * sizeof(struct ds_token_object) },
	[DS_A_PART]		= NLA_POLICY_RANGE(NLA_U32, 1, DS_TOKEN_PARTS_MAX),
	[DS_A_PARTS]		= NLA_POLICY_RANGE(NLA_U32, 1, DS_TOKEN_PARTS_MAX),
	[DS_A_TOKEN]		= { .type = NLA_U32 },
};

static_assert(DS_A_TOKEN < 64, "what a program sends has a bit in a word");

/* What to say when a command lacks an attribute that it needs. */
static const char *const ds_missing[DS_A_MAX + 1] = {
	[DS_A_NODE]		= "the node number (DS_A_NODE) is missing",
	[DS_A_DOMAIN]		= "the trust domain (DS_A_DOMAIN) is missing",
	[DS_A_KEY]		= "the domain's key (DS_A_KEY) is missing",
	[DS_A_SEGMENT]		= "the segment's number (DS_A_SEGMENT) is missing",
	[DS_A_LENGTH]		= "the length in bytes (DS_A_LENGTH) is missing",
	[DS_A_SPACE]		= "the space's number (DS_A_SPACE) is missing",
	[DS_A_SERVERS]		= "the number of servers (DS_A_SERVERS) is missing",
	[DS_A_SERVER_SHIFT]	= "the size of a server (DS_A_SERVER_SHIFT) is missing",
	[DS_A_SERVER]		= "the server's index (DS_A_SERVER) is missing",
	[DS_A_IPV4]		= "the host's address (DS_A_IPV4) is missing",
	[DS_A_RDM_SPACE]	= "the space's number (DS_A_RDM_SPACE) is missing",
	[DS_A_WIRE]		= "the version of the packets (DS_A_WIRE) is missing",
	[DS_A_DEVICE]		= "the RDMA device (DS_A_DEVICE) is missing",
	[DS_A_NAME]		= "the parameter's name (DS_A_NAME) is missing",
	[DS_A_SETTING]		= "the parameter's value (DS_A_SETTING) is missing",
	[DS_A_TOKEN]		= "the token's handle (DS_A_TOKEN) is missing",
};

/* ---- replies ---- */

struct sk_buff *ds_reply_begin(struct genl_info *info, void **hdr)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);

	if (!skb)
		return NULL;
	*hdr = genlmsg_put_reply(skb, info, &ds_genl_family, 0, info->genlhdr->cmd);
	if (!*hdr) {
		nlmsg_free(skb);
		return NULL;
	}
	return skb;
}

/* @err: the command failed, or an attribute did not fit. */
int ds_reply_end(struct genl_info *info, struct sk_buff *skb, void *hdr, int err)
{
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

/* ---- optional attributes ---- */

u32 ds_get_u32(struct genl_info *info, int attr, u32 otherwise)
{
	return info->attrs[attr] ? nla_get_u32(info->attrs[attr]) : otherwise;
}

static u32 ds_get_timeout(struct genl_info *info)
{
	return ds_get_u32(info, DS_A_TIMEOUT_MS, DS_TIMEOUT_MS);
}

static int ds_get_ipv4(struct genl_info *info, struct sockaddr_in *in)
{
	const struct nlattr *attr = info->attrs[DS_A_IPV4];

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = nla_get_in_addr(attr);
	if (ipv4_is_zeronet(in->sin_addr.s_addr) || ipv4_is_multicast(in->sin_addr.s_addr) ||
	    ipv4_is_lbcast(in->sin_addr.s_addr)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "this is no address of a host; give the peer's own");
		return -EINVAL;
	}
	return 0;
}

static int ds_get_ipv6(struct genl_info *info, struct sockaddr_in6 *in6)
{
	const struct nlattr *attr = info->attrs[DS_A_IPV6];

	in6->sin6_family = AF_INET6;
	in6->sin6_addr = nla_get_in6_addr(attr);
	if (ipv6_addr_any(&in6->sin6_addr) || ipv6_addr_is_multicast(&in6->sin6_addr)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "this is no address of a host; give the peer's own");
		return -EINVAL;
	}
	if (ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "a link-local address does not say which link; give a global one");
		return -EINVAL;
	}
	return 0;
}

static int ds_get_address(struct genl_info *info, struct sockaddr_storage *addr)
{
	struct nlattr **attrs = info->attrs;
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	u16 port = attrs[DS_A_PORT] ? nla_get_u16(attrs[DS_A_PORT]) : ds_port;

	memset(addr, 0, sizeof(*addr));
	in->sin_port = htons(port);	/* sin6_port is the same place */

	if (!attrs[DS_A_IPV4] == !attrs[DS_A_IPV6]) {
		GENL_SET_ERR_MSG(info,
				 "give one address of the peer, by DS_A_IPV4 or by DS_A_IPV6");
		return -EINVAL;
	}
	if (attrs[DS_A_IPV4])
		return ds_get_ipv4(info, in);
	return ds_get_ipv6(info, (struct sockaddr_in6 *)addr);
}

/* ---- commands ---- */

static int ds_node_get_cmd(struct genl_info *info)
{
	struct sk_buff *skb;
	void *hdr;
	int err;

	skb = ds_reply_begin(info, &hdr);
	if (!skb)
		return -ENOMEM;
	err = nla_put_u32(skb, DS_A_NODE, ds_node_id()) ?:
	      nla_put(skb, DS_A_UUID, DS_UUID_LEN, ds_node_uuid()) ?:
	      nla_put_u64_64bit(skb, DS_A_INCARNATION, ds_node_incarnation(), DS_A_PAD) ?:
	      nla_put_u64_64bit(skb, DS_A_GROUP, ds_node_group(), DS_A_PAD) ?:
	      nla_put_u16(skb, DS_A_PORT, ds_port) ?:
	      nla_put_u32(skb, DS_A_LANES, ds_qp_mul_factor) ?:
	      nla_put_string(skb, DS_A_VERSION, THIS_MODULE->version);
	return ds_reply_end(info, skb, hdr, err);
}

static int ds_node_set_cmd(struct genl_info *info)
{
	const struct nlattr *group = info->attrs[DS_A_GROUP];

	return ds_node_set(nla_get_u32(info->attrs[DS_A_NODE]),
			   group ? nla_get_u64(group) : ds_node_group(), info->extack);
}

static int ds_domain_add_cmd(struct genl_info *info)
{
	struct nlattr *key = info->attrs[DS_A_KEY];
	int err;

	err = ds_domain_add(nla_get_u32(info->attrs[DS_A_DOMAIN]), nla_data(key), info->extack);
	memzero_explicit(nla_data(key), nla_len(key));	/* memory of the request is not cleared */
	return err;
}

static int ds_domain_del_cmd(struct genl_info *info)
{
	return ds_domain_del(nla_get_u32(info->attrs[DS_A_DOMAIN]), info->extack);
}

static int ds_peer_add_cmd(struct genl_info *info)
{
	struct sockaddr_storage addr;
	struct sk_buff *skb;
	u32 node;
	void *hdr;
	int err;

	err = ds_get_address(info, &addr);
	if (err)
		return err;
	skb = ds_reply_begin(info, &hdr);
	if (!skb)
		return -ENOMEM;
	err = ds_peer_add(&addr, nla_get_u32(info->attrs[DS_A_DOMAIN]), ds_get_timeout(info),
			  &node, info->extack);
	if (!err)
		err = nla_put_u32(skb, DS_A_NODE, node);
	return ds_reply_end(info, skb, hdr, err);
}

static int ds_peer_del_cmd(struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct sockaddr_storage addr;
	int err;

	if (attrs[DS_A_NODE]) {
		if (attrs[DS_A_IPV4] || attrs[DS_A_IPV6] || attrs[DS_A_PORT]) {
			GENL_SET_ERR_MSG(info,
					 "give the peer's node number or its address, not both");
			return -EINVAL;
		}
		return ds_peer_del(nla_get_u32(attrs[DS_A_NODE]), NULL, info->extack);
	}
	if (!attrs[DS_A_IPV4] && !attrs[DS_A_IPV6]) {
		GENL_SET_ERR_MSG(info,
				 "the peer's node number (DS_A_NODE) or its address is missing");
		return -EINVAL;
	}
	err = ds_get_address(info, &addr);
	return err ?: ds_peer_del(0, &addr, info->extack);
}

static int ds_get_name(struct genl_info *info, char *name)
{
	const struct nlattr *attr = info->attrs[DS_A_NAME];
	const char *c;

	nla_strscpy(name, attr, DS_NAME_LEN);
	for (c = name; *c; c++) {
		if (!isascii(*c) || !isprint(*c)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "a name is made of printable ASCII characters");
			return -EINVAL;
		}
	}
	return 0;
}

static int ds_seg_add_cmd(struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct ds_segment_attr attr = {
		.length = nla_get_u64(attrs[DS_A_LENGTH]),
		.domain = nla_get_u32(attrs[DS_A_DOMAIN]),
		.access = ds_get_u32(info, DS_A_ACCESS, DS_ACCESS_ALL),
		.numa_node = attrs[DS_A_NUMA_NODE] ?
			     nla_get_s32(attrs[DS_A_NUMA_NODE]) : NUMA_NO_NODE,
	};
	struct ds_segment *seg;
	struct sk_buff *skb;
	void *hdr;
	int err;
	u64 id;

	if (!IS_ALIGNED(attr.length, PAGE_SIZE)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attrs[DS_A_LENGTH],
				    "the length is not a multiple of 4096; round it up");
		return -EINVAL;
	}
	if (attrs[DS_A_NAME]) {
		err = ds_get_name(info, attr.name);
		if (err)
			return err;
	}

	if (attrs[DS_A_FD]) {
		attr.backing = ds_backing_open(nla_get_u32(attrs[DS_A_FD]), info->extack);
		if (IS_ERR(attr.backing))
			return PTR_ERR(attr.backing);
	}
	skb = ds_reply_begin(info, &hdr);
	if (!skb) {
		ds_backing_put(attr.backing);
		return -ENOMEM;
	}
	seg = ds_segment_create(&attr, &id, info->extack);
	ds_backing_put(attr.backing);
	if (IS_ERR(seg))
		return ds_reply_end(info, skb, hdr, PTR_ERR(seg));
	err = nla_put_u64_64bit(skb, DS_A_SEGMENT, id, DS_A_PAD);
	err = ds_reply_end(info, skb, hdr, err);
	if (err)
		ds_segment_delete_id(id, NULL);	/* the caller would not know its number */
	return err;
}

static int ds_seg_del_cmd(struct genl_info *info)
{
	return ds_segment_delete_id(nla_get_u64(info->attrs[DS_A_SEGMENT]), info->extack);
}

static int ds_seg_revoke_cmd(struct genl_info *info)
{
	return ds_segment_revoke_id(nla_get_u64(info->attrs[DS_A_SEGMENT]), info->extack);
}

static int ds_space_add_cmd(struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct ds_layout layout = {
		.servers = nla_get_u32(attrs[DS_A_SERVERS]),
		.server_shift = nla_get_u32(attrs[DS_A_SERVER_SHIFT]),
	};
	kuid_t uid = INVALID_UID;

	if (attrs[DS_A_UID]) {
		uid = make_kuid(&init_user_ns, nla_get_u32(attrs[DS_A_UID]));
		if (!uid_valid(uid)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attrs[DS_A_UID],
					    "this is no user; leave DS_A_UID out to let all in");
			return -EINVAL;
		}
	}
	return ds_space_add(nla_get_u32(attrs[DS_A_SPACE]), nla_get_u32(attrs[DS_A_DOMAIN]),
			    &layout, ds_get_u32(info, DS_A_ACCESS, DS_ACCESS_ALL), uid,
			    info->extack);
}

static int ds_space_del_cmd(struct genl_info *info)
{
	return ds_space_del(nla_get_u32(info->attrs[DS_A_SPACE]), info->extack);
}

static int ds_attach_add_cmd(struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;

	return ds_space_attach(nla_get_u32(attrs[DS_A_SPACE]), nla_get_u32(attrs[DS_A_SERVER]),
			       nla_get_u32(attrs[DS_A_NODE]), nla_get_u64(attrs[DS_A_SEGMENT]),
			       ds_get_timeout(info), info->extack);
}

static int ds_attach_del_cmd(struct genl_info *info)
{
	return ds_space_detach(nla_get_u32(info->attrs[DS_A_SPACE]),
			       nla_get_u32(info->attrs[DS_A_SERVER]), info->extack);
}

/**
 * struct ds_command - a command that is no dump
 * @run: does it; the attributes are there, have their types and are in range
 * @needs: attributes that it cannot do without, as bits
 * @takes: others that it knows
 */
struct ds_command {
	int	(*run)(struct genl_info *info);
	u64	needs;
	u64	takes;
};

#define DS_A(name)	BIT_ULL(DS_A_##name)

static const struct ds_command ds_commands[] = {
	[DS_CMD_NODE_GET] = { ds_node_get_cmd },
	[DS_CMD_NODE_SET] = { ds_node_set_cmd, DS_A(NODE), DS_A(GROUP) },
	[DS_CMD_DOMAIN_ADD] = { ds_domain_add_cmd, DS_A(DOMAIN) | DS_A(KEY) },
	[DS_CMD_DOMAIN_DEL] = { ds_domain_del_cmd, DS_A(DOMAIN) },
	[DS_CMD_PEER_ADD] = { ds_peer_add_cmd, DS_A(DOMAIN),
			      DS_A(IPV4) | DS_A(IPV6) | DS_A(PORT) | DS_A(TIMEOUT_MS) },
	[DS_CMD_PEER_DEL] = { ds_peer_del_cmd, 0,
			      DS_A(NODE) | DS_A(IPV4) | DS_A(IPV6) | DS_A(PORT) },
	[DS_CMD_SEG_ADD] = { ds_seg_add_cmd, DS_A(LENGTH) | DS_A(DOMAIN),
			     DS_A(ACCESS) | DS_A(NUMA_NODE) | DS_A(NAME) | DS_A(FD) },
	[DS_CMD_SEG_DEL] = { ds_seg_del_cmd, DS_A(SEGMENT) },
	[DS_CMD_SEG_REVOKE] = { ds_seg_revoke_cmd, DS_A(SEGMENT) },
	[DS_CMD_SPACE_ADD] = { ds_space_add_cmd,
			       DS_A(SPACE) | DS_A(DOMAIN) | DS_A(SERVERS) | DS_A(SERVER_SHIFT),
			       DS_A(UID) | DS_A(ACCESS) },
	[DS_CMD_SPACE_DEL] = { ds_space_del_cmd, DS_A(SPACE) },
	[DS_CMD_ATTACH_ADD] = { ds_attach_add_cmd,
				DS_A(SPACE) | DS_A(SERVER) | DS_A(NODE) | DS_A(SEGMENT),
				DS_A(TIMEOUT_MS) },
	[DS_CMD_ATTACH_DEL] = { ds_attach_del_cmd, DS_A(SPACE) | DS_A(SERVER) },
	[DS_CMD_RDM_SPACE_ADD] = { ds_rdm_space_add_cmd, DS_A(RDM_SPACE) | DS_A(SEGMENT),
				   DS_A(LENGTH) | DS_A(KIND) | DS_A(PAGE_SHIFT) |
				   DS_A(TENANT) | DS_A(ACCESS) | DS_A(MAC_KEY) },
	[DS_CMD_RDM_SPACE_DEL] = { ds_rdm_space_del_cmd, DS_A(RDM_SPACE) },
	[DS_CMD_RDM_LISTEN_ADD] = { ds_rdm_listen_add_cmd, DS_A(WIRE) | DS_A(IPV4),
				    DS_A(PORT) | DS_A(FLAGS) },
	[DS_CMD_RDM_LISTEN_DEL] = { ds_rdm_listen_del_cmd, DS_A(WIRE) | DS_A(IPV4), DS_A(PORT) },
	[DS_CMD_RDM_PEER_ADD] = { ds_rdm_peer_add_cmd, DS_A(IPV4), DS_A(TENANT) },
	[DS_CMD_RDM_PEER_DEL] = { ds_rdm_peer_del_cmd, DS_A(IPV4) },
	[DS_CMD_RDM_SELFTEST] = { ds_rdm_selftest_cmd, 0, DS_A(VALUE) },
	[DS_CMD_TOKEN_SET] = { ds_token_set_cmd, DS_A(NAME) | DS_A(SETTING), DS_A(DOMAIN) },
	[DS_CMD_TOKEN_IMPORT] = { ds_token_import_cmd, DS_A(DEVICE),
				  DS_A(OBJECTS) | DS_A(PART) | DS_A(PARTS) },
	[DS_CMD_TOKEN_FORGET] = { ds_token_forget_cmd, DS_A(DEVICE) },
	[DS_CMD_TOKEN_PIN] = { ds_token_pin_cmd, DS_A(TOKEN) },
	[DS_CMD_TOKEN_UNPIN] = { ds_token_pin_cmd, DS_A(TOKEN) },
};

/* Each attribute is known to the command and given once, none is missing. */
static int ds_check_attrs(struct genl_info *info, const struct ds_command *command)
{
	const struct nlattr *attr;
	u64 seen = 0, missing;
	int rem;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		u64 bit = BIT_ULL(nla_type(attr));	/* netlink has seen that it is in range */

		if (!(bit & (command->needs | command->takes))) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "this command does not know this attribute; leave it out");
			return -EINVAL;
		}
		if (bit & seen) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "this attribute is there twice; give it once");
			return -EINVAL;
		}
		seen |= bit;
	}

	missing = command->needs & ~seen;
	if (missing) {
		int which = __ffs64(missing);

		NL_SET_ERR_ATTR_MISS(info->extack, NULL, which);
		info->extack->_msg = ds_missing[which];
		return -EINVAL;
	}
	return 0;
}

/* For errors about which nobody has said more. */
static const char *ds_sentence(int err)
{
	switch (err) {
	case -ENOENT:
		return "there is nothing with this number; list the objects for theirs";
	case -EEXIST:
		return "it exists already; delete it first or choose another number";
	case -EBUSY:
		return "it is in use; remove what uses it first";
	case -ENOMEM:
		return "there is not enough memory; ask for less or free some";
	case -EDQUOT:
		return "a limit of the module is reached; free something or raise its parameter";
	case -ENOTCONN:
		return "the peer is not connected; list the peers for the reason";
	case -ETIMEDOUT:
		return "the peer did not answer in time; see that its host runs and try again";
	case -EINTR:
		return "a signal ended the command; see what it has done before trying again";
	default:
		return "the command failed; the kernel log may say why";
	}
}

static int ds_netlink_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct ds_command *command = &ds_commands[info->genlhdr->cmd];
	int err;

	err = ds_check_attrs(info, command);
	if (err)
		return err;
	err = command->run(info);
	if (err == -ERESTARTSYS)
		err = -EINTR;
	if (err && !info->extack->_msg)
		info->extack->_msg = ds_sentence(err);
	return err;
}

#define DS_CHANGE(name) \
	{ .cmd = DS_CMD_##name, .doit = ds_netlink_doit, .flags = GENL_ADMIN_PERM }
#define DS_DUMP(name)	{ .cmd = DS_CMD_##name, .dumpit = ds_netlink_dumpit }

static const struct genl_small_ops ds_ops[] = {
	{ .cmd = DS_CMD_NODE_GET, .doit = ds_netlink_doit },
	DS_CHANGE(NODE_SET),
	DS_CHANGE(DOMAIN_ADD),
	DS_CHANGE(DOMAIN_DEL),
	DS_DUMP(DOMAIN_GET),
	DS_DUMP(DEV_GET),
	DS_CHANGE(PEER_ADD),
	DS_CHANGE(PEER_DEL),
	DS_DUMP(PEER_GET),
	DS_CHANGE(SEG_ADD),
	DS_CHANGE(SEG_DEL),
	DS_CHANGE(SEG_REVOKE),
	DS_DUMP(SEG_GET),
	DS_CHANGE(SPACE_ADD),
	DS_CHANGE(SPACE_DEL),
	DS_DUMP(SPACE_GET),
	DS_CHANGE(ATTACH_ADD),
	DS_CHANGE(ATTACH_DEL),
	DS_DUMP(ATTACH_GET),
	DS_DUMP(FILE_GET),
	DS_DUMP(STAT_GET),
	DS_CHANGE(RDM_SPACE_ADD),
	DS_CHANGE(RDM_SPACE_DEL),
	DS_DUMP(RDM_SPACE_GET),
	DS_CHANGE(RDM_LISTEN_ADD),
	DS_CHANGE(RDM_LISTEN_DEL),
	DS_DUMP(RDM_LISTEN_GET),
	DS_CHANGE(RDM_PEER_ADD),
	DS_CHANGE(RDM_PEER_DEL),
	DS_DUMP(RDM_PEER_GET),
	DS_CHANGE(RDM_SELFTEST),
	DS_DUMP(TOKEN_GET),
	DS_DUMP(TOKEN_PARAM_GET),
	DS_CHANGE(TOKEN_SET),
	DS_CHANGE(TOKEN_IMPORT),
	DS_CHANGE(TOKEN_FORGET),
	DS_CHANGE(TOKEN_PIN),
	DS_CHANGE(TOKEN_UNPIN),
};

/* Small ones have no done(). */
static const struct genl_ops ds_ops_that_end[] = {
	{ .cmd = DS_CMD_TOKEN_STAT_GET, .dumpit = ds_netlink_dumpit,
	  .done = ds_dump_token_stats_done },
};

static const struct genl_multicast_group ds_groups[] = {
	{ .name = DS_GENL_GROUP },
};

struct genl_family ds_genl_family __ro_after_init = {
	.name		= DS_GENL_NAME,
	.version	= DS_GENL_VERSION,
	.maxattr	= DS_A_MAX,
	.policy		= ds_policy,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.small_ops	= ds_ops,
	.n_small_ops	= ARRAY_SIZE(ds_ops),
	.ops		= ds_ops_that_end,
	.n_ops		= ARRAY_SIZE(ds_ops_that_end),
	.mcgrps		= ds_groups,
	.n_mcgrps	= ARRAY_SIZE(ds_groups),
};

int __init ds_netlink_init(void)
{
	int err = genl_register_family(&ds_genl_family);

	if (!err)
		ds_events_enable(true);
	return err;
}

void ds_netlink_exit(void)
{
	ds_events_enable(false);
	genl_unregister_family(&ds_genl_family);
}

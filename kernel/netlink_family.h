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

/* netlink.c, for commands with a reply: begin it; end it with the command's outcome. */
struct sk_buff *ds_reply_begin(struct genl_info *info, void **hdr);
int ds_reply_end(struct genl_info *info, struct sk_buff *skb, void *hdr, int err);
u32 ds_get_u32(struct genl_info *info, int attr, u32 otherwise);

/* netlink_rdm.c: the commands of the packet service. */
int ds_rdm_space_add_cmd(struct genl_info *info);
int ds_rdm_space_del_cmd(struct genl_info *info);
int ds_rdm_listen_add_cmd(struct genl_info *info);
int ds_rdm_listen_del_cmd(struct genl_info *info);
int ds_rdm_peer_add_cmd(struct genl_info *info);
int ds_rdm_peer_del_cmd(struct genl_info *info);
int ds_rdm_selftest_cmd(struct genl_info *info);

/* netlink_token.c: the commands of the token cache. */
int ds_token_set_cmd(struct genl_info *info);
int ds_token_import_cmd(struct genl_info *info);
int ds_token_forget_cmd(struct genl_info *info);
int ds_token_pin_cmd(struct genl_info *info);

/**
 * struct ds_dump - a call of a dump
 * @skb: buffer to fill
 * @cb: state of the dump; args[0] is the number of objects given so far, the others are the
 *	command's own
 * @get: its command
 * @index: number of the object that the walk has reached
 */
struct ds_dump {
	struct sk_buff		*skb;
	struct netlink_callback	*cb;
	u8			get;
	unsigned long		index;
};

/* Give one object by @put, unless it was given before. -EMSGSIZE: no room. */
int ds_dump_object(struct ds_dump *dump, int (*put)(struct sk_buff *skb, void *object),
		   void *object);
int ds_dump_counter(struct ds_dump *dump, const char *object, const char *name, u64 value);

/* netlink_rdm.c: its dumps. */
int ds_dump_rdm_spaces(struct ds_dump *dump);
int ds_dump_rdm_listeners(struct ds_dump *dump);
int ds_dump_rdm_peers(struct ds_dump *dump);
int ds_dump_rdm_stats(struct ds_dump *dump);

/* netlink_token_dump.c: its dumps. */
int ds_dump_tokens(struct ds_dump *dump);
int ds_dump_token_stats(struct ds_dump *dump);
int ds_dump_token_params(struct ds_dump *dump);
int ds_dump_token_stats_done(struct netlink_callback *cb);

/* How often the objects of a GET command have changed. */
u32 ds_netlink_generation(u8 get);

/* All dump commands; resumes by the number of objects given so far. */
int ds_netlink_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

/* events.c: send from here on, or stop: no event is under way when it returns. */
void ds_events_enable(bool on);

#endif

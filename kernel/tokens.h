/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the host's token cache, in which each RDMA object of ds.ko stands.
 *
 * Each operation looks up the token of its queue pair and of each memory region, and so
 * brings what is used often into L1.
 */
#ifndef _DS_TOKENS_H
#define _DS_TOKENS_H

#include <rdma/ib_verbs.h>
#include "token_device.h"
#include "tokencache/cache.h"
#include "tokencache/l2_node.h"

extern struct ds_cache ds_tokens;
extern struct ds_token_device *ds_token_packets;	/* whose the memory of packets is */
extern struct ds_l2_node ds_token_l2_place;

int ds_tokens_init(void);
void ds_tokens_exit(void);

/*
 * Make a token of an object of @dev, and end one: revoke it, wait until nobody uses it, free
 * it. Context: process. ds_token_add() returns 0, -ENOMEM, or -ENOSPC if no token is left for
 * @dev.
 */
int ds_token_add(const struct ds_token_device *dev, const struct ds_token_desc *d, u32 *token);
void ds_token_end(u32 token);

/*
 * A token stays in its tier, or no longer has to; at most half of L1 can be pinned so.
 * Context: process. Return: as ds_cache_pin().
 */
int ds_token_pin(u32 token, bool pinned);

/*
 * Begin a use, ended by ds_token_drop(), and count it with its device. Context: process,
 * may sleep. Return: 0; -ESTALE or -EBADF as ds_token_get(); -ENODEV when the device goes away,
 * -ETIMEDOUT, or -EINTR, while the token could not be read where it is, or had as many uses as
 * can be counted.
 */
int ds_token_use(const struct ds_token_device *dev, u32 token, struct ds_token_desc *d);

/* Context: any. */
void ds_token_drop(u32 token);

/* Was it not revoked yet? Context: any. */
bool ds_token_lives(u32 token);

/*
 * Count a look-up that found the token in tier @found, or an error, and fetch it if it was
 * @missed in L1. Context: not an interrupt.
 */
void ds_token_looked(const struct ds_token_device *dev, u32 token, int found, bool missed,
		     u64 began);

/* IB_ACCESS_* of a peer that has DS_ACCESS_*. */
int ds_token_access(u32 access);

#endif

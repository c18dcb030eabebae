/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: what is not in L1 of the host's token cache is fetched, in batches; and what cannot be
 * read or written where it is, is asked for through the mailbox.
 */
#ifndef _DS_TOKEN_FETCH_H
#define _DS_TOKEN_FETCH_H

#include "token_device.h"
#include "tokencache/whole.h"

extern struct ds_fetch ds_token_fetch;
extern struct ds_whole ds_token_whole;

/* Before the first token is made. Context: process. Return: 0 or -ENOMEM. */
int ds_token_fetch_init(struct ds_cache *cache);

/* After the last token has ended. Context: process. */
void ds_token_fetch_exit(void);

/* A token was used that is not in L1. Context: not an interrupt. */
void ds_token_missed(u32 token);

/*
 * Ask the host for a token of @dev: urgently, and have @w told. Context: bottom halves are off.
 * Return: as ds_fetch_whole().
 */
int ds_token_ask(const struct ds_token_device *dev, u32 token, struct ds_expand_waiter *w);

/*
 * Ask the host likewise, and wait for a copy of the token. Context: process, may sleep.
 * Return: 0 or an error, as who waits is told; as ds_fetch_whole() if nobody had to wait; -EINTR
 * when it is killed.
 */
int ds_token_ask_wait(const struct ds_token_device *dev, u32 token, struct ds_token_desc *d);

/* Ask the host that what a wide token of @dev says is kept. Context: not an interrupt. */
void ds_token_ask_whole(const struct ds_token_device *dev, u32 token);

/* A token was revoked: nobody waits for it any more. Context: process. */
void ds_token_unfetch(u32 token);

/* Nobody uses a token that was revoked any more: nothing of it is kept. Context: process. */
void ds_token_drop_whole(u32 token);

/*
 * A device goes away: who waits for it is told -ENODEV, and it may ask for nothing more.
 * Waits for what the host has in hand. Context: process, may sleep.
 */
void ds_token_device_leave(struct ds_token_device *dev);

#endif

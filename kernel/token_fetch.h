/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: what is not in L1 of the host's token cache is fetched, in batches.
 */
#ifndef _DS_TOKEN_FETCH_H
#define _DS_TOKEN_FETCH_H

#include "tokencache/fetch.h"

extern struct ds_fetch ds_token_fetch;

/*
 * Before the first token is made, and after the last one has ended. Context: process.
 * ds_token_fetch_init() returns 0 or -ENOMEM.
 */
int ds_token_fetch_init(struct ds_cache *cache);
void ds_token_fetch_exit(void);

/* A token was used that is not in L1. Context: not an interrupt. */
void ds_token_missed(u32 token);

/* A token was revoked. Context: process. */
void ds_token_unfetch(u32 token);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the host's token table, in which each RDMA object of ds.ko stands.
 */
#ifndef _DS_TOKENS_H
#define _DS_TOKENS_H

#include "tokencache/token.h"

extern struct ds_token_table ds_tokens;

int ds_tokens_init(void);
void ds_tokens_exit(void);

/* IB_ACCESS_* of a peer that has DS_ACCESS_*. */
int ds_token_access(u32 access);

/* Revoke a token, wait until nobody uses it, free it. Context: process. */
void ds_token_end(u32 token);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: parameters of the token cache; those of document 001 keep their names.
 */
#ifndef _DS_TOKEN_PARAM_H
#define _DS_TOKEN_PARAM_H

#include "tokencache/param.h"

/**
 * struct ds_token_param - a parameter of the host's token cache
 * @param: what it may be; whether it is fixed by now
 * @value: what it is
 * @domain: trust domain of which it is, 0: of none
 * @why: NULL, or why it cannot be set
 * @note: what is to be known of the value, or ""
 */
struct ds_token_param {
	struct ds_param	param;
	u64		value;
	u32		domain;
	const char	*why;
	char		note[64];
};

/*
 * The one with an index; false behind the last one. Those of trust domains come last: two for
 * each that has a share of L1. Context: process.
 */
bool ds_token_param_get(u32 index, struct ds_token_param *p);

/*
 * The one with a name; of a trust domain if there are such of the name, for which @domain is
 * not 0. Return: its index for ds_token_param_set(), -ENOENT, or -EINVAL: @domain is 0
 * and must not be, or the other way round. Context: process.
 */
int ds_token_param_find(const char *name, u32 domain, struct ds_token_param *p);

/*
 * Change one that can be set to a value that fits. Context: process.
 * Return: 0; of a trust domain -EINVAL: SHARE_MIN would be above SHARE_MAX; -ENOSPC:
 * too many shares, or too much kept of L1; -ENOMEM.
 */
int ds_token_param_set(u32 index, u32 domain, u64 value);

/* What ds_token_param_get() has met of shares that come and go is a change that netlink counts. */
void ds_token_shares_settle(void);

#endif

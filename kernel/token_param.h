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
 * @note: what is to be known of the value, or ""
 */
struct ds_token_param {
	struct ds_param	param;
	u64		value;
	char		note[64];
};

/* The one with an index; false behind the last one. Context: any. */
bool ds_token_param_get(u32 index, struct ds_token_param *p);

/* Change one that is not fixed to a value that fits. Context: any. */
void ds_token_param_set(u32 index, u64 value);

#endif

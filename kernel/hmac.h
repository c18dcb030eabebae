/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: what the handshake needs of the kernel: HMAC-SHA-256, random bytes, keys.
 */
#ifndef _DS_HMAC_H
#define _DS_HMAC_H

#include "handshake.h"

extern const struct ds_hs_ops ds_hmac_ops;

int ds_hmac_init(void);
void ds_hmac_exit(void);

/* A sentence for an enum ds_reject. */
const char *ds_reject_text(u32 reject);

#endif

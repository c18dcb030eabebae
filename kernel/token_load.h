/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: what adaptive-001 has to know of the host, since its last ageing interval ended.
 */
#ifndef _DS_TOKEN_LOAD_H
#define _DS_TOKEN_LOAD_H

#include "tokencache/policy.h"

#define DS_TOKEN_BANDWIDTH	16000000000ull	/* PCIe x16 of 128 Gb/s, as in the simulator */

extern u64 ds_token_bandwidth;	/* bytes a second that are all of DMA; at least 1000 */

/*
 * The load since ds_token_load_restart(). Context: process, may sleep; one at a time.
 * Return: look-ups since the module was loaded.
 */
u64 ds_token_load(struct ds_policy_load *load);

/* An interval ends with what the last ds_token_load() saw. Context: as above. */
void ds_token_load_restart(void);

#endif

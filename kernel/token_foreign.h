/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: tokens of RDMA objects that are not ours: what other users of a device have.
 *
 * They stand in a table of their own for each device, which is only listed: no look-up
 * of an operation reaches it.
 */
#ifndef _DS_TOKEN_FOREIGN_H
#define _DS_TOKEN_FOREIGN_H

#include <linux/xarray.h>
#include <uapi/ds/token.h>
#include "tokencache/token.h"

#define DS_TOKEN_FOREIGN_MOST	262144	/* of a host */

struct ds_token_device;

/**
 * struct ds_token_import - what was imported of a device
 * @table: its tokens, all at home
 * @pds: index of a PD's token by its number
 * @portid: netlink socket that imports it
 * @part: that came last
 * @parts: there will be
 */
struct ds_token_import {
	struct ds_token_table	table;
	struct xarray		pds;
	u32			portid;
	u32			part;
	u32			parts;
};

/**
 * struct ds_token_part - some objects of a device
 * @objects: they, struct ds_token_object of any content, aligned as attributes are
 * @count: how many
 * @portid: who brings them
 * @part: number of the part, 1 to @parts; with 1 an import begins
 * @parts: there will be; with the last one it takes the place of the import before it
 */
struct ds_token_part {
	const void	*objects;
	u32		count;
	u32		portid;
	u32		part;
	u32		parts;
};

/* Context: process. An import that is not whole ends with its socket from then on. */
int ds_token_foreign_init(void);
void ds_token_foreign_exit(void);

/*
 * Context: process; the devices' lock is held.
 * Return: 0; -ESTALE: not the next part of the import that is under way; -EINVAL: no
 * object; -EDQUOT, -ENOMEM. An error but -ESTALE ends the import.
 */
int ds_token_import(struct ds_token_device *dev, const struct ds_token_part *part);

/* Return: 0, or -ENOENT when nothing was imported. Context: as above. */
int ds_token_forget(struct ds_token_device *dev);

#endif

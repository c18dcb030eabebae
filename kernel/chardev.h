/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: /dev/ds.
 */
#ifndef _DS_CHARDEV_H
#define _DS_CHARDEV_H

#include <linux/types.h>
#include <linux/sched.h>

int ds_chardev_init(void);
void ds_chardev_exit(void);

/* An open file, for the list of holders. */
struct ds_file_info {
	u32	id;
	u32	pid;
	u32	uid;
	u32	bufs;
	char	comm[TASK_COMM_LEN];
};

/* Call @fn for each open file from number @first on, until it returns non-zero. */
int ds_chardev_for_each(unsigned long first,
			int (*fn)(const struct ds_file_info *info, void *ctx), void *ctx);

#endif

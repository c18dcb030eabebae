/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the file behind a segment, if it has one: a file on a disk, on persistent
 * memory (DAX), or a block device.
 *
 * The segment's memory is a copy that was read when it was made. Writes to the memory
 * do not reach the file; ds_backing_write() does, and waits until they are there.
 */
#ifndef _DS_BACKING_H
#define _DS_BACKING_H

#include <linux/types.h>

struct file;
struct netlink_ext_ack;
struct page;

/**
 * ds_backing_open - a file of the caller's
 * @fd: its descriptor
 *
 * Context: process, the caller's.
 * Return: the file with a reference, for ds_backing_close(); ERR_PTR: -EBADF, -EINVAL:
 *	no file to read and write at an offset, or on a file system without storage
 */
struct file *ds_backing_open(u32 fd, struct netlink_ext_ack *extack);
void ds_backing_close(struct file *file);	/* may be NULL */

/* Fill @count pages from the file; behind its end they stay as they are. 0 or -errno; killable. */
int ds_backing_read(struct file *file, struct page **pages, u64 count);

/* Write @data to the file. Not yet on the disk: ds_backing_sync(). 0 or -errno. */
int ds_backing_write(struct file *file, u64 offset, const void *data, u32 length);

/* What was written to [from, to) is on stable storage when it returns 0. */
int ds_backing_sync(struct file *file, u64 from, u64 to);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the file behind a segment, if it has one: a file on a disk, on persistent
 * memory (DAX), or a block device.
 *
 * The segment's memory is a copy that was read when it was made. Writes to the memory
 * do not reach the file; ds_backing_write() does, and waits until they are there.
 *
 * Storage may hang, and then nobody can end what it was asked to do. So a work of the
 * file's own asks it, with a copy of the data, and is waited for only so long.
 */
#ifndef _DS_BACKING_H
#define _DS_BACKING_H

#include <linux/types.h>

struct ds_backing;
struct ds_vspace_run;
struct netlink_ext_ack;
struct page;

/**
 * ds_backing_open - a file of the caller's
 * @fd: its descriptor
 *
 * Context: process, the caller's.
 * Return: the file with a reference; ERR_PTR: -EBADF, -EINVAL: no file to read and write
 *	at an offset, or on a file system without storage; -ENOMEM
 */
struct ds_backing *ds_backing_open(u32 fd, struct netlink_ext_ack *extack);
void ds_backing_get(struct ds_backing *b);
void ds_backing_put(struct ds_backing *b);	/* may be NULL */

/*
 * The file is read once, then written, by one caller at a time. Context of both: process;
 * killable. Return: 0 or -errno; -ETIMEDOUT: the storage has not answered within DS_BACKING_MS
 */
#define DS_BACKING_MS	10000

/* Fill @count pages from the file; behind its end they stay as they are. */
int ds_backing_read(struct ds_backing *b, struct page **pages, u64 count);

/*
 * Write @data to the @count runs of the file; 0: it is on stable storage. After -ETIMEDOUT
 * and -EINTR it may still come there, and until it has, this returns -EBUSY at once.
 */
int ds_backing_write(struct ds_backing *b, const struct ds_vspace_run *runs, u32 count,
		     const u8 *data);

/* The storage has not answered yet: the file may still change. */
bool ds_backing_busy(struct ds_backing *b);	/* may be NULL */

#endif

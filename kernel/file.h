/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: an open /dev/ds, for chardev.c, ioctl.c and submit.c.
 */
#ifndef _DS_FILE_H
#define _DS_FILE_H

#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <uapi/ds/ioctl.h>
#include "handle.h"

struct ds_client;
struct ds_file_ring;
struct ds_port;
struct ds_quota;
struct ds_space;
struct file;

/**
 * struct ds_file - an open /dev/ds
 * @id: its number among the open files
 * @lock: protects @tables and @ring; memory of the caller is never touched
 *	under it, as mmap() takes it under the mmap lock
 * @tables: handles, by enum ds_handle_type. They name a struct
 *	ds_space_handle, ds_buffer, ds_segment or ds_port; the handle of each
 *	holds a reference
 * @ring: completion ring, or NULL
 * @wait: those who poll
 * @quota: counts buffers
 * @pid: who opened it
 * @uid: of whom
 * @comm: its name then
 *
 * Lock order: lock of the open files, or mmap lock; @lock; lock of the ring.
 */
struct ds_file {
	u32			id;
	struct mutex		lock;		/* see above */
	struct ds_handle_table	tables[DS_HANDLE_TYPES];
	struct ds_file_ring	*ring;
	wait_queue_head_t	wait;
	struct ds_quota		*quota;
	u32			pid;
	u32			uid;
	char			comm[TASK_COMM_LEN];
};

/**
 * struct ds_space_handle - what the handle of a space names
 * @space: the space; a reference is held
 * @access: DS_ACCESS_* that were asked for and granted
 * @client: the client that it is enrolled as, with a reference, or NULL; under
 *	ds_file.lock
 */
struct ds_space_handle {
	struct ds_space		*space;
	u32			access;
	struct ds_client	*client;
};

/**
 * ds_file_add - give an object a handle
 * @type: enum ds_handle_type
 * @object: on success its reference is the handle's; else it is closed
 *
 * Context: process.
 * Return: 0, -EDQUOT, -ENOMEM
 */
int ds_file_add(struct ds_file *file, u32 type, void *object, u32 *handle);

/* Close a handle. Context: process, may sleep for seconds. */
int ds_file_close_handle(struct ds_file *file, u32 type, u32 handle);

/* The port of a handle with a reference, or an ERR_PTR. */
struct ds_port *ds_file_port(struct ds_file *file, u32 handle);

/* ioctl.c */
long ds_file_ioctl(struct file *filp, unsigned int cmd, unsigned long uarg);

/* enroll.c: DS_IOC_ENROLL, DS_IOC_FENCE */
int ds_file_enroll(struct ds_file *file, void *arg);
void ds_file_undo_enroll(struct ds_file *file, void *arg);
int ds_file_fence(struct ds_file *file, void *arg);
void ds_space_handle_free(struct ds_space_handle *sh);

/* submit.c: DS_IOC_SUBMIT */
int ds_file_submit(struct ds_file *file, void *arg);

#endif

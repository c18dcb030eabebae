// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: /dev/ds: open files, their handles, mappings and poll.
 */
#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>
#include <uapi/ds/directory.h>
#include <uapi/ds/netlink.h>
#include "buffer.h"
#include "chardev.h"
#include "file.h"
#include "netlink.h"
#include "port.h"
#include "rdm/segment.h"
#include "rdm/space.h"
#include "ring.h"
#include "token_directory.h"

static DEFINE_MUTEX(ds_files_lock);
static DEFINE_XARRAY_ALLOC(ds_files);	/* by number, in the order in which they were opened */
static u32 ds_files_next;		/* number */
static atomic_t ds_file_salt;

/* ---- Handles ---- */

static void ds_space_handle_close(void *object)
{
	ds_space_handle_free(object);
}

static void ds_buffer_handle_close(void *object)
{
	ds_buffer_close(object);
}

static void ds_segment_handle_close(void *object)
{
	ds_segment_delete(object);
}

static void ds_port_handle_close(void *object)
{
	ds_port_close(object);
}

/* How many handles of a type a file may have, and what closing one does. */
static const struct {
	u32	limit;
	void	(*close)(void *object);
} ds_handle_types[DS_HANDLE_TYPES] = {
	[DS_HANDLE_SPACE]	= { 1024, ds_space_handle_close },
	[DS_HANDLE_BUF]		= { 4096, ds_buffer_handle_close },
	[DS_HANDLE_SEG]		= { 256, ds_segment_handle_close },
	[DS_HANDLE_SERVICE]	= { 64, ds_port_handle_close },
};

int ds_file_add(struct ds_file *file, u32 type, void *object, u32 *handle)
{
	int err;

	mutex_lock(&file->lock);
	err = ds_handle_add(&file->tables[type], object, handle);
	mutex_unlock(&file->lock);
	if (err)
		ds_handle_types[type].close(object);
	return err == -ENOSPC ? -EDQUOT : err;
}

int ds_file_close_handle(struct ds_file *file, u32 type, u32 handle)
{
	void *object;
	int err;

	mutex_lock(&file->lock);
	object = ds_handle_remove(&file->tables[type], handle, &err);
	mutex_unlock(&file->lock);
	if (object)
		ds_handle_types[type].close(object);
	return err;
}

struct ds_port *ds_file_port(struct ds_file *file, u32 handle)
{
	struct ds_port *port;
	int err;

	mutex_lock(&file->lock);
	port = ds_handle_get(&file->tables[DS_HANDLE_SERVICE], handle, &err);
	if (port)
		ds_port_get(port);
	mutex_unlock(&file->lock);
	return port ?: ERR_PTR(err);
}

/* ---- Open files ---- */

static void ds_file_free(struct ds_file *file)
{
	ds_quota_put(file->quota);
	mutex_destroy(&file->lock);
	kfree(file);
}

static int ds_file_open(struct inode *inode, struct file *filp)
{
	struct ds_file *file;
	u32 type;
	int err;

	/* What a file can do is read and write; half of it is of no use. */
	if ((filp->f_mode & (FMODE_READ | FMODE_WRITE)) != (FMODE_READ | FMODE_WRITE))
		return -EACCES;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	file->quota = ds_quota_create();
	if (!file->quota) {
		kfree(file);
		return -ENOMEM;
	}
	mutex_init(&file->lock);
	init_waitqueue_head(&file->wait);
	for (type = 0; type < DS_HANDLE_TYPES; type++)
		ds_handle_init(&file->tables[type], atomic_inc_return(&ds_file_salt),
			       ds_handle_types[type].limit);
	file->pid = task_tgid_nr(current);
	file->uid = from_kuid_munged(&init_user_ns, current_uid());
	get_task_comm(file->comm, current);
	filp->private_data = file;

	mutex_lock(&ds_files_lock);
	err = xa_alloc_cyclic(&ds_files, &file->id, file, xa_limit_32b, &ds_files_next,
			      GFP_KERNEL_ACCOUNT);
	if (err >= 0)
		ds_netlink_changed(DS_CMD_FILE_GET);
	mutex_unlock(&ds_files_lock);
	if (err >= 0)
		return nonseekable_open(inode, filp);
	ds_file_free(file);
	return err;
}

/* No ioctl and no mapping is left; operations in flight may be. */
static int ds_file_release(struct inode *inode, struct file *filp)
{
	struct ds_file *file = filp->private_data;
	u32 type, cursor, handle;
	void *object;

	mutex_lock(&ds_files_lock);
	xa_erase(&ds_files, file->id);
	ds_netlink_changed(DS_CMD_FILE_GET);
	mutex_unlock(&ds_files_lock);

	for (type = 0; type < DS_HANDLE_TYPES; type++) {
		cursor = 0;
		while (ds_handle_next(&file->tables[type], &cursor, &handle, &object))
			ds_handle_types[type].close(object);
		ds_handle_destroy(&file->tables[type]);
	}
	if (file->ring)
		ds_ring_close(file->ring);
	ds_file_free(file);
	return 0;
}

/* The page offset is 0 for the ring, that of the token directory, or the handle of a buffer. */
static int ds_file_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct ds_file *file = filp->private_data;
	struct ds_buffer *buf = NULL;
	int err = -EINVAL;

	if (vma->vm_pgoff == DS_DIRECTORY_OFFSET >> PAGE_SHIFT)
		return ds_directory_mmap(vma);
	mutex_lock(&file->lock);
	if (vma->vm_pgoff > U32_MAX)
		err = -EBADF;
	else if (vma->vm_pgoff)
		buf = ds_handle_get(&file->tables[DS_HANDLE_BUF], vma->vm_pgoff, &err);
	else if (file->ring)
		buf = ds_ring_buffer(file->ring);
	if (buf)
		err = ds_buffer_mmap(buf, vma);
	mutex_unlock(&file->lock);
	return err;
}

static __poll_t ds_file_poll(struct file *filp, poll_table *wait)
{
	struct ds_file *file = filp->private_data;
	bool readable;

	poll_wait(filp, &file->wait, wait);
	mutex_lock(&file->lock);
	readable = file->ring && ds_ring_readable(file->ring);
	mutex_unlock(&file->lock);
	return readable ? EPOLLIN | EPOLLRDNORM : 0;
}

int ds_chardev_for_each(unsigned long first,
			int (*fn)(const struct ds_file_info *info, void *ctx), void *ctx)
{
	struct ds_file_info info;
	struct ds_file *file;
	unsigned long id;
	int err = 0;

	mutex_lock(&ds_files_lock);
	xa_for_each_start(&ds_files, id, file, first) {
		info.id = id;
		info.pid = file->pid;
		info.uid = file->uid;
		memcpy(info.comm, file->comm, sizeof(info.comm));
		mutex_lock(&file->lock);
		info.bufs = ds_handle_count(&file->tables[DS_HANDLE_BUF]);
		mutex_unlock(&file->lock);
		err = fn(&info, ctx);
		if (err)
			break;
	}
	mutex_unlock(&ds_files_lock);
	return err;
}

static const struct file_operations ds_file_ops = {
	.owner		= THIS_MODULE,
	.open		= ds_file_open,
	.release	= ds_file_release,
	.unlocked_ioctl	= ds_file_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= ds_file_mmap,
	.poll		= ds_file_poll,
};

static struct miscdevice ds_chardev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "ds",
	.fops	= &ds_file_ops,
	.mode	= 0660,
};

int ds_chardev_init(void)
{
	return misc_register(&ds_chardev);
}

void ds_chardev_exit(void)
{
	misc_deregister(&ds_chardev);
}

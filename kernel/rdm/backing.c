// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the file behind a segment.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/sched/signal.h>
#include "backing.h"

struct file *ds_backing_open(u32 fd, struct netlink_ext_ack *extack)
{
	struct file *file = fget(fd);
	umode_t mode;

	if (!file) {
		NL_SET_ERR_MSG(extack, "the caller has no such open file");
		return ERR_PTR(-EBADF);
	}
	mode = file_inode(file)->i_mode;
	if (!(S_ISREG(mode) || S_ISBLK(mode)) || file->f_flags & (O_APPEND | O_DIRECT) ||
	    (file->f_mode & (FMODE_READ | FMODE_WRITE)) != (FMODE_READ | FMODE_WRITE)) {
		NL_SET_ERR_MSG(extack,
			       "it must be a file or a block device, opened to read and write, without O_APPEND and O_DIRECT");
		fput(file);
		return ERR_PTR(-EINVAL);
	}
	if (!file->f_op->fsync || file->f_op->fsync == noop_fsync) {
		NL_SET_ERR_MSG(extack,
			       "this file system keeps nothing when the host stops; choose a file on a disk");
		fput(file);
		return ERR_PTR(-EINVAL);
	}
	return file;
}

void ds_backing_close(struct file *file)
{
	if (file)
		fput(file);
}

int ds_backing_read(struct file *file, struct page **pages, u64 count)
{
	loff_t pos = 0, end = (loff_t)count << PAGE_SHIFT;
	ssize_t n;

	while (pos < end) {
		if (fatal_signal_pending(current))
			return -EINTR;
		n = kernel_read(file, page_address(pages[pos >> PAGE_SHIFT]) + offset_in_page(pos),
				PAGE_SIZE - offset_in_page(pos), &pos);
		if (n <= 0)
			return n;
		cond_resched();
	}
	return 0;
}

int ds_backing_write(struct file *file, u64 offset, const void *data, u32 length)
{
	loff_t pos = offset;
	ssize_t n;

	/* Who shares the open file may have set them since: it would be written elsewhere. */
	if (READ_ONCE(file->f_flags) & (O_APPEND | O_DIRECT))
		return -EIO;
	while (length) {
		n = kernel_write(file, data, length, &pos);
		if (n <= 0)
			return n ?: -EIO;
		data += n;
		length -= n;
	}
	return 0;
}

int ds_backing_sync(struct file *file, u64 from, u64 to)
{
	return vfs_fsync_range(file, from, to - 1, 1);
}

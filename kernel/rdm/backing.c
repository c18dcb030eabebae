// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the file behind a segment.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <uapi/ds/packet.h>
#include "backing.h"
#include "debug.h"
#include "params.h"
#include "vspace.h"

/**
 * struct ds_backing - the file behind a segment
 * @ref: one for the segment, one for @work while it is under way
 * @file: it; a reference is held
 * @idle: @work is not under way; all below is @work's until then
 * @work: reads or writes
 * @write: which of them
 * @runs: what of the file, one behind the other in @data
 * @count: of @runs
 * @result: bytes that were read; 0; or -errno
 * @data: DS_PACKET_MAX_LENGTH bytes
 */
struct ds_backing {
	struct kref		ref;
	struct file		*file;
	struct completion	idle;
	struct work_struct	work;
	bool			write;
	struct ds_vspace_run	runs[DS_VSPACE_RUNS];
	u32			count;
	int			result;
	u8			*data;
};

static void ds_backing_release(struct kref *ref)
{
	struct ds_backing *b = container_of(ref, struct ds_backing, ref);

	fput(b->file);
	kvfree(b->data);
	kfree(b);
}

void ds_backing_get(struct ds_backing *b)
{
	kref_get(&b->ref);
}

void ds_backing_put(struct ds_backing *b)
{
	if (b)
		kref_put(&b->ref, ds_backing_release);
}

/* ---- the work ---- */

static int ds_backing_read_run(struct ds_backing *b)
{
	loff_t pos = b->runs[0].offset;
	u32 done = 0;
	ssize_t n;

	do {
		n = kernel_read(b->file, b->data + done, b->runs[0].length - done, &pos);
		if (n < 0)
			return n;
		done += n;
	} while (n && done < b->runs[0].length);
	return done;
}

static int ds_backing_write_run(struct file *file, const struct ds_vspace_run *run,
				const u8 *data)
{
	loff_t pos = run->offset;
	u32 left = run->length;
	ssize_t n;

	for (; left; left -= n, data += n) {
		n = kernel_write(file, data, left, &pos);
		if (n <= 0)
			return n ?: -EIO;
	}
	return 0;
}

static int ds_backing_write_runs(struct ds_backing *b)
{
	u64 from = U64_MAX, to = 0;
	const u8 *data = b->data;
	u32 i;
	int err;

	for (i = 0; i < b->count; i++) {
		err = ds_backing_write_run(b->file, &b->runs[i], data);
		if (err)
			return err;
		data += b->runs[i].length;
		from = min(from, b->runs[i].offset);
		to = max(to, b->runs[i].offset + b->runs[i].length);
	}
	return vfs_fsync_range(b->file, from, to - 1, 1);
}

static int ds_backing_run(struct ds_backing *b)
{
	int err = ds_failpoint(DS_FP_STORAGE);

	if (err)
		return err;
	/* Who shares the open file may have set them since: it would be written elsewhere. */
	if (READ_ONCE(b->file->f_flags) & (O_APPEND | O_DIRECT))
		return -EIO;
	return b->write ? ds_backing_write_runs(b) : ds_backing_read_run(b);
}

static void ds_backing_work(struct work_struct *work)
{
	struct ds_backing *b = container_of(work, struct ds_backing, work);

	b->result = ds_backing_run(b);
	complete_all(&b->idle);
	ds_backing_put(b);
}

/* ---- who has it do something ---- */

bool ds_backing_busy(struct ds_backing *b)
{
	return b && !completion_done(&b->idle);
}

static int ds_backing_do(struct ds_backing *b)
{
	long left;

	reinit_completion(&b->idle);
	ds_backing_get(b);
	queue_work(ds_storage_wq, &b->work);
	left = wait_for_completion_killable_timeout(&b->idle, msecs_to_jiffies(DS_BACKING_MS));
	if (left > 0)
		return b->result;
	return left ? -EINTR : -ETIMEDOUT;
}

static void ds_backing_copy_out(const struct ds_backing *b, struct page **pages, u32 length)
{
	u32 done, n;

	for (done = 0; done < length; done += n) {
		n = min_t(u32, length - done, PAGE_SIZE);
		memcpy(page_address(*pages++), b->data + done, n);
	}
}

int ds_backing_read(struct ds_backing *b, struct page **pages, u64 count)
{
	u64 from = 0, end = count << PAGE_SHIFT;
	int n;

	while (from < end) {
		b->write = false;
		b->runs[0].offset = from;
		b->runs[0].length = min_t(u64, end - from, DS_PACKET_MAX_LENGTH);
		n = ds_backing_do(b);
		if (n <= 0)
			return n;
		ds_backing_copy_out(b, pages + (from >> PAGE_SHIFT), n);
		from += DS_PACKET_MAX_LENGTH;	/* behind a short one is nothing */
	}
	return 0;
}

int ds_backing_write(struct ds_backing *b, const struct ds_vspace_run *runs, u32 count,
		     const u8 *data)
{
	u32 length = 0, i;

	if (ds_backing_busy(b))
		return -EBUSY;
	for (i = 0; i < count; i++)
		length += runs[i].length;
	b->write = true;
	b->count = count;
	memcpy(b->runs, runs, count * sizeof(*runs));
	memcpy(b->data, data, length);
	return ds_backing_do(b);
}

/* ---- which files may be behind a segment ---- */

static int ds_backing_check(struct file *file, struct netlink_ext_ack *extack)
{
	umode_t mode = file_inode(file)->i_mode;

	if (!(S_ISREG(mode) || S_ISBLK(mode)) || file->f_flags & (O_APPEND | O_DIRECT) ||
	    (file->f_mode & (FMODE_READ | FMODE_WRITE)) != (FMODE_READ | FMODE_WRITE)) {
		NL_SET_ERR_MSG(extack,
			       "it must be a file or a block device, opened to read and write, without O_APPEND and O_DIRECT");
		return -EINVAL;
	}
	if (!file->f_op->fsync || file->f_op->fsync == noop_fsync) {
		NL_SET_ERR_MSG(extack,
			       "this file system keeps nothing when the host stops; choose a file on a disk");
		return -EINVAL;
	}
	return 0;
}

static struct ds_backing *ds_backing_new(struct file *file)
{
	struct ds_backing *b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);

	if (!b)
		return NULL;
	b->data = kvmalloc(DS_PACKET_MAX_LENGTH, GFP_KERNEL_ACCOUNT);
	if (!b->data) {
		kfree(b);
		return NULL;
	}
	kref_init(&b->ref);
	b->file = file;
	init_completion(&b->idle);
	complete_all(&b->idle);
	INIT_WORK(&b->work, ds_backing_work);
	return b;
}

struct ds_backing *ds_backing_open(u32 fd, struct netlink_ext_ack *extack)
{
	struct file *file = fget(fd);
	struct ds_backing *b;
	int err;

	if (!file) {
		NL_SET_ERR_MSG(extack, "the caller has no such open file");
		return ERR_PTR(-EBADF);
	}
	err = ds_backing_check(file, extack);
	b = err ? NULL : ds_backing_new(file);
	if (b)
		return b;
	fput(file);
	return ERR_PTR(err ?: -ENOMEM);
}

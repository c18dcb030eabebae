// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the ioctls of /dev/ds (contract: uapi/ds/ioctl.h), all but submit.c's and enroll.c's.
 *
 * A call copies its struct in once, runs on the copy, and copies it back. If
 * that last step fails, what the call made is taken back: the caller could not
 * learn its name.
 */
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "buffer.h"
#include "domain.h"
#include "file.h"
#include "params.h"
#include "port.h"
#include "rdm/op.h"
#include "rdm/segment.h"
#include "rdm/space.h"
#include "ring.h"

static int ds_ioctl_info(struct ds_file *file, void *p)
{
	struct ds_ioc_info *arg = p;

	if (arg->flags)
		return -EOPNOTSUPP;
	arg->out_abi = DS_ABI_VERSION;
	arg->out_node = ds_node_id();
	arg->out_max_ops = DS_MAX_OPS;
	arg->out_max_chain = DS_MAX_CHAIN_OPS;
	arg->out_max_op_bytes = DS_MAX_OP_BYTES;
	arg->out_max_msg_bytes = DS_PORT_MAX_BYTES;
	arg->out_max_buf_bytes = (u64)ds_max_buf_mb << 20;
	arg->out_features = 0;
	return 0;
}

static int ds_ioctl_space_open(struct ds_file *file, void *p)
{
	struct ds_ioc_space_open *arg = p;
	const struct ds_layout *layout;
	struct ds_space_handle *sh;
	struct ds_space *space;

	arg->out_handle = 0;
	if (arg->flags || arg->access & ~DS_ACCESS_ALL)
		return -EOPNOTSUPP;
	if (arg->reserved || !arg->access)
		return -EINVAL;

	space = ds_space_open(arg->space, arg->access);
	if (IS_ERR(space))
		return PTR_ERR(space);
	sh = kmalloc(sizeof(*sh), GFP_KERNEL_ACCOUNT);
	if (!sh) {
		ds_space_put(space);
		return -ENOMEM;
	}
	sh->space = space;
	sh->access = arg->access;
	sh->client = NULL;

	layout = &space->layout;
	arg->out_servers = layout->servers;
	arg->out_server_shift = layout->server_shift;
	arg->out_base = ds_layout_base(layout);
	arg->out_last = ds_layout_last(layout);
	return ds_file_add(file, DS_HANDLE_SPACE, sh, &arg->out_handle);
}

static void ds_undo_space_open(struct ds_file *file, void *p)
{
	struct ds_ioc_space_open *arg = p;

	ds_file_close_handle(file, DS_HANDLE_SPACE, arg->out_handle);
}

static int ds_ioctl_close(struct ds_file *file, void *p)
{
	struct ds_ioc_close *arg = p;

	if (arg->flags || arg->type >= DS_HANDLE_TYPES)
		return -EOPNOTSUPP;
	return ds_file_close_handle(file, array_index_nospec(arg->type, DS_HANDLE_TYPES),
				    arg->handle);
}

static int ds_ioctl_buf_create(struct ds_file *file, void *p)
{
	struct ds_ioc_buf_create *arg = p;
	struct ds_buffer *buf;
	int err;

	arg->out_handle = 0;
	arg->out_mmap_offset = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	buf = ds_buffer_create(arg->length, arg->numa_node, file->quota);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	err = ds_file_add(file, DS_HANDLE_BUF, buf, &arg->out_handle);
	if (err)
		return err;
	/* A handle is never 0, and offset 0 is the ring: see ds_file_mmap(). */
	arg->out_mmap_offset = (u64)arg->out_handle << PAGE_SHIFT;
	return 0;
}

static void ds_undo_buf_create(struct ds_file *file, void *p)
{
	struct ds_ioc_buf_create *arg = p;

	ds_file_close_handle(file, DS_HANDLE_BUF, arg->out_handle);
}

static int ds_ioctl_buf_pin(struct ds_file *file, void *p)
{
	struct ds_ioc_buf_pin *arg = p;
	struct ds_buffer *buf;

	arg->out_handle = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->reserved)
		return -EINVAL;
	buf = ds_buffer_pin(arg->addr, arg->length, file->quota);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	return ds_file_add(file, DS_HANDLE_BUF, buf, &arg->out_handle);
}

static void ds_undo_buf_pin(struct ds_file *file, void *p)
{
	struct ds_ioc_buf_pin *arg = p;

	ds_file_close_handle(file, DS_HANDLE_BUF, arg->out_handle);
}

static int ds_ioctl_seg_create(struct ds_file *file, void *p)
{
	struct ds_ioc_seg_create *arg = p;
	struct ds_segment_attr attr = {
		.length = arg->length,
		.addr = arg->addr,
		.flags = arg->flags,
		.domain = arg->domain,
		.access = arg->access,
		.numa_node = arg->numa_node,
		.by_file = true,
	};
	bool user = arg->flags & DS_SEG_USER_MEMORY;
	struct ds_segment *seg;
	u64 id;

	arg->out_handle = 0;
	arg->out_segment = 0;
	if (arg->flags & ~DS_SEG_USER_MEMORY || arg->access & ~DS_ACCESS_ALL)
		return -EOPNOTSUPP;
	if (!arg->length || !PAGE_ALIGNED(arg->length) || !PAGE_ALIGNED(arg->addr) ||
	    (!user && arg->addr) || (user && arg->numa_node != NUMA_NO_NODE) || !arg->access)
		return -EINVAL;

	seg = ds_segment_create(&attr, &id, NULL);
	if (IS_ERR(seg))
		return PTR_ERR(seg);
	arg->out_segment = id;
	return ds_file_add(file, DS_HANDLE_SEG, seg, &arg->out_handle);
}

static void ds_undo_seg_create(struct ds_file *file, void *p)
{
	struct ds_ioc_seg_create *arg = p;

	ds_file_close_handle(file, DS_HANDLE_SEG, arg->out_handle);
}

static int ds_ioctl_ring_create(struct ds_file *file, void *p)
{
	struct ds_ioc_ring_create *arg = p;
	struct ds_file_ring *ring;
	u64 length;
	bool exists;

	arg->out_mmap_offset = 0;
	arg->out_mmap_length = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->reserved)
		return -EINVAL;
	ring = ds_ring_create(arg->entries, &file->wait);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	length = ds_ring_buffer(ring)->length;

	mutex_lock(&file->lock);
	exists = file->ring;
	if (!exists)
		file->ring = ring;
	mutex_unlock(&file->lock);
	if (exists) {
		ds_ring_close(ring);
		return -EEXIST;
	}
	arg->out_mmap_length = length;
	return 0;
}

static void ds_undo_ring_create(struct ds_file *file, void *p)
{
	struct ds_file_ring *ring;

	mutex_lock(&file->lock);
	ring = file->ring;
	file->ring = NULL;
	mutex_unlock(&file->lock);
	ds_ring_close(ring);
}

static int ds_ioctl_service_bind(struct ds_file *file, void *p)
{
	struct ds_ioc_service_bind *arg = p;
	struct ds_port *port;

	arg->out_handle = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->reserved)
		return -EINVAL;
	port = ds_port_bind(arg->service, arg->queue);
	if (IS_ERR(port))
		return PTR_ERR(port);
	return ds_file_add(file, DS_HANDLE_SERVICE, port, &arg->out_handle);
}

static void ds_undo_service_bind(struct ds_file *file, void *p)
{
	struct ds_ioc_service_bind *arg = p;

	ds_file_close_handle(file, DS_HANDLE_SERVICE, arg->out_handle);
}

static int ds_ioctl_msg_send(struct ds_file *file, void *p)
{
	struct ds_ioc_msg_send *arg = p;

	arg->out_reply_length = 0;
	arg->out_status = 0;
	arg->out_outcome = DS_NOT_EXECUTED;
	if (arg->flags & ~DS_SEND_ONE_WAY)
		return -EOPNOTSUPP;
	return ds_port_send(arg);
}

static int ds_ioctl_msg_recv(struct ds_file *file, void *p)
{
	struct ds_ioc_msg_recv *arg = p;
	struct ds_port *port;
	int err;

	arg->out_length = 0;
	arg->out_node = 0;
	arg->out_want_reply = 0;
	arg->out_cookie = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	port = ds_file_port(file, arg->handle);
	if (IS_ERR(port))
		return PTR_ERR(port);
	err = ds_port_recv(port, arg);
	ds_port_put(port);
	return err;
}

static void ds_undo_msg_recv(struct ds_file *file, void *p)
{
	struct ds_ioc_msg_recv *arg = p;
	struct ds_port *port = ds_file_port(file, arg->handle);

	if (IS_ERR(port))
		return;		/* closed since then, which has answered */
	ds_port_drop(port, arg->out_cookie);
	ds_port_put(port);
}

static int ds_ioctl_msg_reply(struct ds_file *file, void *p)
{
	struct ds_ioc_msg_reply *arg = p;
	struct ds_port *port;
	int err;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->reserved)
		return -EINVAL;
	port = ds_file_port(file, arg->handle);
	if (IS_ERR(port))
		return PTR_ERR(port);
	err = ds_port_reply(port, arg);
	ds_port_put(port);
	return err;
}

/* ---- Dispatch ---- */

union ds_ioctl_arg {
	u32				size;
	struct ds_ioc_info		info;
	struct ds_ioc_space_open	space_open;
	struct ds_ioc_close		close;
	struct ds_ioc_buf_create	buf_create;
	struct ds_ioc_buf_pin		buf_pin;
	struct ds_ioc_seg_create	seg_create;
	struct ds_ioc_ring_create	ring_create;
	struct ds_ioc_submit		submit;
	struct ds_ioc_service_bind	service_bind;
	struct ds_ioc_msg_send		msg_send;
	struct ds_ioc_msg_recv		msg_recv;
	struct ds_ioc_msg_reply		msg_reply;
	struct ds_ioc_enroll		enroll;
	struct ds_ioc_fence		fence;
};

/**
 * struct ds_ioctl - what is known of an ioctl
 * @size: of its struct
 * @min_size: of the first version of its struct
 * @execute: does it; the struct is in kernel memory
 * @undo: takes back what @execute made, as the caller could not be told; or NULL
 */
struct ds_ioctl {
	u32		size;
	u32		min_size;
	int		(*execute)(struct ds_file *file, void *arg);
	void		(*undo)(struct ds_file *file, void *arg);
};

#define DS_IOCTL(_cmd, _type, _last, _execute, _undo)					\
	[_IOC_NR(_cmd)] = {								\
		.size = sizeof(_type) +							\
			BUILD_BUG_ON_ZERO(sizeof(_type) > sizeof(union ds_ioctl_arg)),	\
		.min_size = offsetofend(_type, _last),					\
		.execute = (_execute),							\
		.undo = (_undo),							\
	}

static const struct ds_ioctl ds_ioctls[] = {
	DS_IOCTL(DS_IOC_INFO, struct ds_ioc_info, out_features, ds_ioctl_info, NULL),
	DS_IOCTL(DS_IOC_SPACE_OPEN, struct ds_ioc_space_open, out_last,
		 ds_ioctl_space_open, ds_undo_space_open),
	DS_IOCTL(DS_IOC_CLOSE, struct ds_ioc_close, handle, ds_ioctl_close, NULL),
	DS_IOCTL(DS_IOC_BUF_CREATE, struct ds_ioc_buf_create, out_mmap_offset,
		 ds_ioctl_buf_create, ds_undo_buf_create),
	DS_IOCTL(DS_IOC_BUF_PIN, struct ds_ioc_buf_pin, reserved,
		 ds_ioctl_buf_pin, ds_undo_buf_pin),
	DS_IOCTL(DS_IOC_SEG_CREATE, struct ds_ioc_seg_create, out_segment,
		 ds_ioctl_seg_create, ds_undo_seg_create),
	DS_IOCTL(DS_IOC_RING_CREATE, struct ds_ioc_ring_create, out_mmap_length,
		 ds_ioctl_ring_create, ds_undo_ring_create),
	DS_IOCTL(DS_IOC_SUBMIT, struct ds_ioc_submit, patience_ms, ds_file_submit, NULL),
	DS_IOCTL(DS_IOC_SERVICE_BIND, struct ds_ioc_service_bind, reserved,
		 ds_ioctl_service_bind, ds_undo_service_bind),
	DS_IOCTL(DS_IOC_MSG_SEND, struct ds_ioc_msg_send, out_outcome,
		 ds_ioctl_msg_send, NULL),
	DS_IOCTL(DS_IOC_MSG_RECV, struct ds_ioc_msg_recv, out_cookie,
		 ds_ioctl_msg_recv, ds_undo_msg_recv),
	DS_IOCTL(DS_IOC_MSG_REPLY, struct ds_ioc_msg_reply, reserved,
		 ds_ioctl_msg_reply, NULL),
	DS_IOCTL(DS_IOC_ENROLL, struct ds_ioc_enroll, out_token,
		 ds_file_enroll, ds_file_undo_enroll),
	DS_IOCTL(DS_IOC_FENCE, struct ds_ioc_fence, reserved, ds_file_fence, NULL),
};

/*
 * The size within the number is that of the caller's headers and does not
 * matter here: the struct tells its size itself.
 */
static const struct ds_ioctl *ds_ioctl_find(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (_IOC_TYPE(cmd) != DS_IOC_TYPE || _IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE) ||
	    nr >= ARRAY_SIZE(ds_ioctls))
		return NULL;
	return &ds_ioctls[array_index_nospec(nr, ARRAY_SIZE(ds_ioctls))];
}

long ds_file_ioctl(struct file *filp, unsigned int cmd, unsigned long uarg)
{
	const struct ds_ioctl *op = ds_ioctl_find(cmd);
	struct ds_file *file = filp->private_data;
	void __user *uptr = (void __user *)uarg;
	union ds_ioctl_arg arg;
	u32 size;
	int err;

	if (!op)
		return -ENOTTY;
	if (get_user(size, (u32 __user *)uptr))
		return -EFAULT;
	if (size < op->min_size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(&arg, op->size, uptr, size);
	if (err)
		return err;
	arg.size = size;

	err = op->execute(file, &arg);
	if (copy_to_user(uptr, &arg, min(size, op->size)) && !err) {
		err = -EFAULT;
		if (op->undo)
			op->undo(file, &arg);
	}
	return err;
}

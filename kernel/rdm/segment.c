// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: segments, the memory that this host exports.
 *
 * Normal operation. A segment has no keys until a connection attaches it; then
 * it is registered in the connection's protection domain, once for all
 * connections there, until the last of them detaches or ends.
 *
 * Revoke. Attachers are told first, and have DS_REVOKE_MS to end what they have
 * in flight; then the keys are destroyed whatever they do. One that goes on
 * using a dead key breaks its own queue pair.
 *
 * Locking order:
 *	ds_segments_lock
 *	ds_segment.lock		held while keys are made and destroyed
 *		ds_device.lock
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <uapi/ds/ioctl.h>
#include "buffer.h"
#include "conn.h"
#include "debug.h"
#include "device.h"
#include "domain.h"
#include "key.h"
#include "msg.h"
#include "netlink.h"
#include "params.h"
#include "segment.h"
#include "trace.h"

#define DS_REVOKE_MS	2000

static LIST_HEAD(ds_segments);
static DEFINE_MUTEX(ds_segments_lock);
static u64 ds_segments_last;		/* number given last */
static u64 ds_segments_bytes;

/* A connection that holds a segment's keys. */
struct ds_attacher {
	struct list_head	link;
	struct ds_conn		*conn;
	struct ds_reg		*reg;
	bool			told;	/* that the keys are being taken away */
};

static void ds_segment_free_pages(struct ds_segment *seg)
{
	u64 count = seg->attr.length >> PAGE_SHIFT;

	if (seg->attr.flags & DS_SEG_USER_MEMORY)
		ds_pages_unpin(seg->pages, count, seg->mm);
	else
		ds_pages_free(seg->pages, count);
}

static void ds_segment_release(struct kref *ref)
{
	struct ds_segment *seg = container_of(ref, struct ds_segment, ref);

	ds_segment_free_pages(seg);
	mutex_lock(&ds_segments_lock);
	ds_segments_bytes -= seg->attr.length;
	mutex_unlock(&ds_segments_lock);
	ds_domain_put(seg->dom);
	kfree(seg);
}

static void ds_segment_put(struct ds_segment *seg)
{
	kref_put(&seg->ref, ds_segment_release);
}

static int ds_segment_check(const struct ds_segment_attr *attr, struct netlink_ext_ack *extack)
{
	if (!attr->length || !PAGE_ALIGNED(attr->length) || attr->length > 1ull << 40) {
		NL_SET_ERR_MSG(extack, "the length must be a multiple of 4096, at most 1 TiB");
		return -EINVAL;
	}
	if (!attr->access || attr->access & ~DS_ACCESS_ALL) {
		NL_SET_ERR_MSG(extack, "the access must be some of read, write, atomic");
		return -EINVAL;
	}
	if (attr->numa_node != NUMA_NO_NODE &&
	    (attr->numa_node < 0 || attr->numa_node >= MAX_NUMNODES ||
	     !node_state(attr->numa_node, N_MEMORY))) {
		NL_SET_ERR_MSG(extack, "the host has no such NUMA node with memory");
		return -EINVAL;
	}
	if (attr->flags & ~DS_SEG_USER_MEMORY)
		return -EOPNOTSUPP;
	if (!(attr->flags & DS_SEG_USER_MEMORY) && attr->addr)
		return -EINVAL;
	return 0;
}

static int ds_segment_charge(u64 length, struct netlink_ext_ack *extack)
{
	u64 limit = (u64)ds_max_seg_mb << 20;
	int ret = 0;

	mutex_lock(&ds_segments_lock);
	if (limit && ds_segments_bytes + length > limit) {
		NL_SET_ERR_MSG(extack, "all segments together would exceed max_seg_mb");
		ret = -EDQUOT;
	} else {
		ds_segments_bytes += length;
	}
	mutex_unlock(&ds_segments_lock);
	return ret;
}

static int ds_segment_get_pages(struct ds_segment *seg)
{
	u64 count = seg->attr.length >> PAGE_SHIFT;
	int ret;

	ret = ds_failpoint(DS_FP_SEG_ALLOC);
	if (ret)
		return ret;
	if (seg->attr.flags & DS_SEG_USER_MEMORY)
		seg->pages = ds_pages_pin(seg->attr.addr, count, &seg->mm);
	else
		seg->pages = ds_pages_alloc(count, seg->attr.numa_node);
	return PTR_ERR_OR_ZERO(seg->pages);
}

struct ds_segment *ds_segment_create(const struct ds_segment_attr *attr, u64 *id,
				     struct netlink_ext_ack *extack)
{
	struct ds_segment *seg;
	int ret;

	ret = ds_segment_check(attr, extack);
	if (ret)
		return ERR_PTR(ret);
	seg = kzalloc(sizeof(*seg), GFP_KERNEL_ACCOUNT);
	if (!seg)
		return ERR_PTR(-ENOMEM);
	kref_init(&seg->ref);
	mutex_init(&seg->lock);
	INIT_LIST_HEAD(&seg->regs);
	INIT_LIST_HEAD(&seg->attachers);
	seg->attr = *attr;
	seg->dom = ds_domain_get(attr->domain);
	if (!seg->dom) {
		NL_SET_ERR_MSG(extack, "the trust domain is not known here; add its key first");
		ret = -ENOENT;
		goto err_free;
	}
	ret = ds_segment_charge(attr->length, extack);
	if (ret)
		goto err_domain;
	ret = ds_segment_get_pages(seg);
	if (ret) {
		NL_SET_ERR_MSG(extack, "the host or the caller's limits have not enough memory");
		goto err_uncharge;
	}

	mutex_lock(&ds_segments_lock);
	seg->id = ++ds_segments_last;
	*id = seg->id;
	list_add_tail(&seg->link, &ds_segments);
	mutex_unlock(&ds_segments_lock);
	trace_ds_segment(*id, "create", attr->length);
	ds_event_segment(DS_EVENT_SEG_ADDED, *id, attr->length);
	return seg;

err_uncharge:
	mutex_lock(&ds_segments_lock);
	ds_segments_bytes -= attr->length;
	mutex_unlock(&ds_segments_lock);
err_domain:
	ds_domain_put(seg->dom);
err_free:
	kfree(seg);
	return ERR_PTR(ret);
}

static struct ds_segment *ds_segment_find(u64 id)
{
	struct ds_segment *seg, *found = NULL;

	mutex_lock(&ds_segments_lock);
	list_for_each_entry(seg, &ds_segments, link) {
		if (seg->id == id) {
			kref_get(&seg->ref);
			found = seg;
			break;
		}
	}
	mutex_unlock(&ds_segments_lock);
	return found;
}

/* ---- attachers ---- */

static void ds_attacher_free(struct ds_segment *seg, struct ds_attacher *a)
{
	lockdep_assert_held(&seg->lock);
	list_del(&a->link);
	if (!--a->reg->users) {
		list_del(&a->reg->link);
		ds_reg_destroy(a->reg);
		trace_ds_segment(seg->id, "unregister", seg->attr.length);
	}
	atomic_dec(&a->conn->attaches);
	ds_conn_put(a->conn);
	kfree(a);
}

static struct ds_attacher *ds_attacher_find(struct ds_segment *seg, struct ds_conn *conn)
{
	struct ds_attacher *a;

	lockdep_assert_held(&seg->lock);
	list_for_each_entry(a, &seg->attachers, link) {
		if (a->conn == conn)
			return a;
	}
	return NULL;
}

static struct ds_reg *ds_segment_reg(struct ds_segment *seg, struct ds_pd *pd)
{
	struct ds_reg *reg;

	lockdep_assert_held(&seg->lock);
	list_for_each_entry(reg, &seg->regs, link) {
		if (reg->pd == pd)
			return reg;
	}
	reg = ds_reg_create(pd, seg->pages, seg->attr.length, seg->attr.access, seg->id);
	if (!IS_ERR(reg)) {
		list_add_tail(&reg->link, &seg->regs);
		trace_ds_segment(seg->id, "register", seg->attr.length);
	}
	return reg;
}

static struct ds_attacher *ds_attacher_get(struct ds_segment *seg, struct ds_conn *conn)
{
	struct ds_attacher *a;
	struct ds_reg *reg;

	a = ds_attacher_find(seg, conn);
	if (a)
		return a;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return ERR_PTR(-ENOMEM);
	if (atomic_inc_return(&conn->attaches) > ds_max_attaches) {
		reg = ERR_PTR(-EDQUOT);
		goto err;
	}
	/*
	 * Counted before the state is read: ds_segment_conn_gone() sees the count
	 * and waits for the segment's lock, or we see that the connection closes.
	 */
	if (READ_ONCE(conn->state) != DS_CONN_UP) {
		reg = ERR_PTR(-ENOTCONN);
		goto err;
	}
	reg = ds_segment_reg(seg, conn->pd);
	if (IS_ERR(reg))
		goto err;
	reg->users++;
	a->reg = reg;
	a->conn = conn;
	ds_conn_get(conn);
	list_add_tail(&a->link, &seg->attachers);
	return a;

err:
	atomic_dec(&conn->attaches);
	kfree(a);
	return ERR_CAST(reg);
}

static int ds_segment_give_keys(struct ds_segment *seg, struct ds_conn *conn, u32 first,
				struct ds_seg_keys *out, u32 *out_length)
{
	struct ds_attacher *a;
	u32 i, count;

	lockdep_assert_held(&seg->lock);
	if (seg->dead)
		return -ENOENT;
	if (seg->busy)
		return -EAGAIN;
	a = ds_attacher_get(seg, conn);
	if (IS_ERR(a))
		return PTR_ERR(a);
	if (first >= a->reg->chunks)
		return -EINVAL;
	count = min_t(u32, a->reg->chunks - first, DS_SEG_KEYS_MAX);
	memset(out, 0, sizeof(*out));
	out->length = cpu_to_le64(seg->attr.length);
	out->access = cpu_to_le32(seg->attr.access);
	out->chunk_shift = cpu_to_le32(a->reg->chunk_shift);
	out->first = cpu_to_le32(first);
	out->count = cpu_to_le32(count);
	for (i = 0; i < count; i++)
		out->rkeys[i] = cpu_to_le32(a->reg->keys[first + i].mr->rkey);
	*out_length = struct_size(out, rkeys, count);
	return 0;
}

static int ds_segment_serve(void *ctx, const struct ds_msg *msg, void *reply, u32 *reply_length)
{
	const struct ds_seg_req *req = msg->data;
	struct ds_segment *seg;
	struct ds_attacher *a;
	int ret;

	if (msg->length != sizeof(*req) || memchr_inv(req->reserved, 0, sizeof(req->reserved)))
		return -EINVAL;
	if (!msg->conn->server)
		return -EPERM;	/* only the host that connected may attach */
	seg = ds_segment_find(le64_to_cpu(req->segment));
	if (!seg)
		return -ENOENT;
	if (seg->dom != msg->conn->domain) {
		ret = -EACCES;
		goto put;
	}

	mutex_lock(&seg->lock);
	switch (le32_to_cpu(req->verb)) {
	case DS_SEG_ATTACH:
		ret = ds_segment_give_keys(seg, msg->conn, le32_to_cpu(req->first), reply,
					   reply_length);
		break;
	case DS_SEG_DETACH:
		a = ds_attacher_find(seg, msg->conn);
		ret = a ? 0 : -ENOENT;
		if (a)
			ds_attacher_free(seg, a);
		break;
	default:
		ret = -EOPNOTSUPP;
	}
	mutex_unlock(&seg->lock);
put:
	ds_segment_put(seg);
	return ret;
}

/* The segment after @seg in the list, with a reference, in exchange for @seg's. */
static struct ds_segment *ds_segment_next(struct ds_segment *seg, u64 *last)
{
	struct ds_segment *next, *found = NULL;

	if (seg)
		ds_segment_put(seg);
	mutex_lock(&ds_segments_lock);
	list_for_each_entry(next, &ds_segments, link) {
		if (next->id > *last) {
			kref_get(&next->ref);
			*last = next->id;
			found = next;
			break;
		}
	}
	mutex_unlock(&ds_segments_lock);
	return found;
}

void ds_segment_conn_gone(struct ds_conn *conn)
{
	struct ds_segment *seg = NULL;
	struct ds_attacher *a;
	u64 last = 0;

	/* None is counted any more: the connection is closing. */
	smp_mb();	/* pairs with atomic_inc_return() in ds_attacher_get() */
	while (atomic_read(&conn->attaches) && (seg = ds_segment_next(seg, &last))) {
		mutex_lock(&seg->lock);
		a = ds_attacher_find(seg, conn);
		if (a)
			ds_attacher_free(seg, a);
		mutex_unlock(&seg->lock);
	}
	if (seg)
		ds_segment_put(seg);
}

/* ---- revoke and delete ---- */

/* All attachers of a segment are told at once, so that the dead ones cost one wait. */
struct ds_tell_all {
	struct ds_seg_revoke	msg;
	atomic_t		left;	/* to be told, and one for the teller */
	struct completion	done;
};

struct ds_tell {
	struct work_struct	work;
	struct ds_conn		*conn;
	struct ds_tell_all	*all;
};

static void ds_tell_ended(struct ds_tell_all *all)
{
	if (atomic_dec_and_test(&all->left))
		complete(&all->done);
}

static void ds_tell_work(struct work_struct *work)
{
	struct ds_tell *tell = container_of(work, struct ds_tell, work);
	int status;

	/* Whoever does not answer in time loses the keys all the same. */
	ds_msg_request(tell->conn, DS_SERVICE_REVOKE, &tell->all->msg, sizeof(tell->all->msg),
		       NULL, NULL, &status, DS_REVOKE_MS, NULL);
	ds_conn_put(tell->conn);
	ds_tell_ended(tell->all);
	kfree(tell);
}

/* A connection that holds keys and is not told yet, with a reference. */
static struct ds_conn *ds_segment_untold(struct ds_segment *seg)
{
	struct ds_attacher *a;
	struct ds_conn *conn = NULL;

	mutex_lock(&seg->lock);
	list_for_each_entry(a, &seg->attachers, link) {
		if (!a->told) {
			a->told = true;
			conn = a->conn;
			ds_conn_get(conn);
			break;
		}
	}
	mutex_unlock(&seg->lock);
	return conn;
}

static void ds_segment_tell(struct ds_segment *seg, bool gone)
{
	struct ds_tell_all all = { .msg = { .segment = cpu_to_le64(seg->id), .gone = gone } };
	struct ds_conn *conn;
	struct ds_tell *tell;

	atomic_set(&all.left, 1);
	init_completion(&all.done);
	while ((conn = ds_segment_untold(seg))) {
		tell = kmalloc(sizeof(*tell), GFP_KERNEL | __GFP_NOFAIL);
		INIT_WORK(&tell->work, ds_tell_work);
		tell->conn = conn;
		tell->all = &all;
		atomic_inc(&all.left);
		queue_work(ds_wq, &tell->work);
	}
	ds_tell_ended(&all);
	wait_for_completion(&all.done);
}

static int ds_segment_take_keys(struct ds_segment *seg, bool gone)
{
	struct ds_attacher *a, *next;

	mutex_lock(&seg->lock);
	if (seg->dead || seg->busy) {
		mutex_unlock(&seg->lock);
		return -EBUSY;
	}
	seg->busy = true;
	seg->dead = gone;
	mutex_unlock(&seg->lock);

	ds_segment_tell(seg, gone);
	ds_failpoint(DS_FP_SEG_REVOKE);

	mutex_lock(&seg->lock);
	list_for_each_entry_safe(a, next, &seg->attachers, link)
		ds_attacher_free(seg, a);
	seg->busy = false;
	mutex_unlock(&seg->lock);
	trace_ds_segment(seg->id, gone ? "delete" : "revoke", seg->attr.length);
	return 0;
}

void ds_segment_delete(struct ds_segment *seg)
{
	mutex_lock(&ds_segments_lock);
	list_del(&seg->link);
	mutex_unlock(&ds_segments_lock);

	while (ds_segment_take_keys(seg, true) == -EBUSY)
		schedule_timeout_uninterruptible(HZ / 50);	/* a revoke is at work */
	ds_event_segment(DS_EVENT_SEG_REMOVED, seg->id, seg->attr.length);
	ds_segment_put(seg);
}

int ds_segment_delete_id(u64 id, struct netlink_ext_ack *extack)
{
	struct ds_segment *seg, *found = NULL;
	int ret = -ENOENT;

	mutex_lock(&ds_segments_lock);
	list_for_each_entry(seg, &ds_segments, link) {
		if (seg->id != id)
			continue;
		ret = seg->attr.by_file ? -EPERM : 0;
		found = seg;
		if (!ret)
			list_del_init(&seg->link);
		break;
	}
	mutex_unlock(&ds_segments_lock);
	if (ret == -ENOENT)
		NL_SET_ERR_MSG(extack, "there is no segment with this number");
	else if (ret)
		NL_SET_ERR_MSG(extack, "the segment belongs to an open file and ends with it");
	if (ret)
		return ret;
	ds_segment_delete(found);
	return 0;
}

int ds_segment_revoke_id(u64 id, struct netlink_ext_ack *extack)
{
	struct ds_segment *seg = ds_segment_find(id);
	int ret;

	if (!seg) {
		NL_SET_ERR_MSG(extack, "there is no segment with this number");
		return -ENOENT;
	}
	ret = ds_segment_take_keys(seg, false);
	if (ret)
		NL_SET_ERR_MSG(extack, "the segment's keys are being taken away already");
	else
		ds_event_segment(DS_EVENT_SEG_REVOKED, id, seg->attr.length);
	ds_segment_put(seg);
	return ret;
}

/* ---- look-up ---- */

u32 ds_segment_attachers(struct ds_segment *seg)
{
	u32 count;

	mutex_lock(&seg->lock);
	count = list_count_nodes(&seg->attachers);
	mutex_unlock(&seg->lock);
	return count;
}

int ds_segment_for_each(int (*fn)(struct ds_segment *seg, void *ctx), void *ctx)
{
	struct ds_segment *seg = NULL;
	u64 last = 0;
	int ret = 0;

	while (!ret && (seg = ds_segment_next(seg, &last)))
		ret = fn(seg, ctx);
	if (seg)
		ds_segment_put(seg);
	return ret;
}

bool ds_segment_any(void)
{
	bool any;

	mutex_lock(&ds_segments_lock);
	any = !list_empty(&ds_segments);
	mutex_unlock(&ds_segments_lock);
	return any;
}

int ds_segment_init(void)
{
	return ds_msg_bind(DS_SERVICE_SEGMENT, ds_segment_serve, NULL);
}

void ds_segment_exit(void)
{
	struct ds_segment *seg;

	ds_msg_unbind(DS_SERVICE_SEGMENT);
	/* Files are closed, so these are netlink's. */
	while ((seg = list_first_entry_or_null(&ds_segments, struct ds_segment, link)))
		ds_segment_delete(seg);
	WARN_ON_ONCE(ds_segments_bytes);
}

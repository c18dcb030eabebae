// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: who holds the keys of a segment.
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
 *	ds_segment.lock		held while keys are made and destroyed
 *		ds_device.lock
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <uapi/ds/ioctl.h>
#include "conn.h"
#include "debug.h"
#include "device.h"
#include "fenced.h"
#include "grant.h"
#include "key.h"
#include "msg.h"
#include "params.h"
#include "segment.h"
#include "trace.h"

#define DS_REVOKE_MS	2000
#define DS_DEAF_MS	60000	/* for which who did not answer is waited for less */
#define DS_REVOKE_DEAF_MS	100

/* A connection that holds a segment's keys. */
struct ds_attacher {
	struct list_head	link;
	struct ds_conn		*conn;
	struct ds_reg		*reg;
	u32			uses;	/* attached so often, in several spaces */
	bool			told;	/* that the keys are being taken away */
};

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

/*
 * What keys on this device may grant. Devices know nothing of each other's
 * atomics, so one of them, the first, is the home of all atomics on a segment,
 * as long as anybody holds keys there (rule 3).
 */
static u32 ds_grant_access(const struct ds_segment *seg, const struct ds_pd *pd)
{
	const struct ds_reg *reg;

	lockdep_assert_held(&seg->lock);
	list_for_each_entry(reg, &seg->regs, link) {
		if (reg->access & DS_ACCESS_ATOMIC && reg->pd->dev != pd->dev) {
			pr_info_ratelimited("segment %llu: no atomics through %s, they go through %s\n",
					    seg->id, pd->dev->ib->name, reg->pd->dev->ib->name);
			return seg->attr.access & ~DS_ACCESS_ATOMIC;
		}
	}
	return seg->attr.access;
}

static struct ds_reg *ds_grant_reg(struct ds_segment *seg, struct ds_pd *pd)
{
	struct ds_reg *reg;
	u32 access;

	lockdep_assert_held(&seg->lock);
	list_for_each_entry(reg, &seg->regs, link) {
		if (reg->pd == pd)
			return reg;
	}
	access = ds_grant_access(seg, pd);
	if (!access)
		return ERR_PTR(-EACCES);
	reg = ds_reg_create(pd, seg->pages, seg->attr.length, access);
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
	 * Counted before the state is read: ds_grant_conn_gone() sees the count
	 * and waits for the segment's lock, or we see that the connection closes.
	 */
	if (READ_ONCE(conn->state) != DS_CONN_UP) {
		reg = ERR_PTR(-ENOTCONN);
		goto err;
	}
	reg = ds_grant_reg(seg, conn->pd);
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

static int ds_grant_keys(struct ds_segment *seg, struct ds_conn *conn,
			 const struct ds_seg_req *req, struct ds_seg_keys *out, u32 *out_length)
{
	u32 first = le32_to_cpu(req->first), count, i;
	struct ds_attacher *a;

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
	if (!first) {
		a->uses++;
		ds_fenced_forget(conn, le64_to_cpu(req->knows));
	}
	count = min_t(u32, a->reg->chunks - first, DS_SEG_KEYS_MAX);
	memset(out, 0, sizeof(*out));
	out->length = cpu_to_le64(seg->attr.length);
	out->access = cpu_to_le32(a->reg->access);
	out->chunk_shift = cpu_to_le32(a->reg->chunk_shift);
	out->first = cpu_to_le32(first);
	out->count = cpu_to_le32(count);
	for (i = 0; i < count; i++)
		out->rkeys[i] = cpu_to_le32(a->reg->keys[first + i].mr->rkey);
	*out_length = struct_size(out, rkeys, count);
	return 0;
}

int ds_grant_serve(void *ctx, const struct ds_msg *msg, void *reply, u32 *reply_length)
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
		ret = ds_grant_keys(seg, msg->conn, req, reply, reply_length);
		break;
	case DS_SEG_DETACH:
		if (req->first || req->knows) {
			ret = -EINVAL;
			break;
		}
		a = ds_attacher_find(seg, msg->conn);
		ret = a ? 0 : -ENOENT;
		if (a && a->uses-- <= 1)
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

bool ds_grant_holds(struct ds_segment *seg, struct ds_conn *conn)
{
	bool holds;

	mutex_lock(&seg->lock);
	holds = ds_attacher_find(seg, conn);
	mutex_unlock(&seg->lock);
	return holds;
}

u32 ds_grant_holders(struct ds_segment *seg)
{
	u32 count;

	mutex_lock(&seg->lock);
	count = list_count_nodes(&seg->attachers);
	mutex_unlock(&seg->lock);
	return count;
}

void ds_grant_conn_gone(struct ds_conn *conn)
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

/* ---- taking away ---- */

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
	struct ds_conn *conn = tell->conn;
	bool deaf = ktime_get_ns() < READ_ONCE(conn->deaf_until);
	int ret, status;

	/*
	 * Whoever does not answer in time loses the keys all the same. A program that ends
	 * may have many segments, and would wait as often.
	 */
	ret = ds_msg_request(conn, DS_SERVICE_REVOKE, &tell->all->msg, sizeof(tell->all->msg),
			     NULL, NULL, &status, deaf ? DS_REVOKE_DEAF_MS : DS_REVOKE_MS, NULL);
	if (ret == -ETIMEDOUT && !deaf)
		WRITE_ONCE(conn->deaf_until, ktime_get_ns() + DS_DEAF_MS * NSEC_PER_MSEC);
	ds_conn_put(tell->conn);
	ds_tell_ended(tell->all);
	kfree(tell);
}

/* A connection that holds keys and is not told yet, with a reference. */
static struct ds_conn *ds_grant_untold(struct ds_segment *seg)
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

static void ds_grant_tell(struct ds_segment *seg, bool gone)
{
	struct ds_tell_all all = { .msg = { .segment = cpu_to_le64(seg->id), .gone = gone } };
	struct ds_conn *conn;
	struct ds_tell *tell;

	atomic_set(&all.left, 1);
	init_completion(&all.done);
	while ((conn = ds_grant_untold(seg))) {
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

int ds_grant_take_all(struct ds_segment *seg, bool gone)
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

	ds_grant_tell(seg, gone);
	ds_failpoint(DS_FP_SEG_REVOKE);

	mutex_lock(&seg->lock);
	list_for_each_entry_safe(a, next, &seg->attachers, link)
		ds_attacher_free(seg, a);
	seg->busy = false;
	mutex_unlock(&seg->lock);
	trace_ds_segment(seg->id, gone ? "delete" : "revoke", seg->attr.length);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: segments, the memory that this host exports: how they are made, found and
 * ended. Who holds their keys is in grant.c.
 *
 * Locking order:
 *	ds_segments_lock
 *	ds_segment.lock		see grant.c
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <uapi/ds/ioctl.h>
#include <uapi/ds/netlink.h>
#include "backing.h"
#include "buffer.h"
#include "debug.h"
#include "domain.h"
#include "grant.h"
#include "msg.h"
#include "netlink.h"
#include "params.h"
#include "segment.h"
#include "trace.h"

/* Said to who would delete it, or make another space of it. */
#define DS_SEGMENT_MAY_CHANGE	\
	"the storage behind its file has not answered and may still write; try again when it has"

static LIST_HEAD(ds_segments);
static DEFINE_MUTEX(ds_segments_lock);
static u64 ds_segments_last;		/* number given last */
static u64 ds_segments_bytes;

static void ds_segment_free_pages(struct ds_segment *seg, bool wait)
{
	if (seg->pin)
		ds_pages_unpin(seg->pin, wait);
	else
		ds_pages_free(seg->pages, seg->attr.length >> PAGE_SHIFT);
}

static void ds_segment_end(struct ds_segment *seg, bool wait)
{
	ds_segment_free_pages(seg, wait);
	mutex_lock(&ds_segments_lock);
	ds_segments_bytes -= seg->attr.length;
	mutex_unlock(&ds_segments_lock);
	ds_backing_put(seg->attr.backing);
	ds_domain_put(seg->dom);
	kfree(seg);
}

static void ds_segment_release(struct kref *ref)
{
	ds_segment_end(container_of(ref, struct ds_segment, ref), false);
}

static void ds_segment_release_now(struct kref *ref)
{
	ds_segment_end(container_of(ref, struct ds_segment, ref), true);
}

void ds_segment_put(struct ds_segment *seg)
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
		seg->pages = ds_pages_pin(seg->attr.addr, count, &seg->pin);
	else
		seg->pages = ds_pages_alloc(count, seg->attr.numa_node);
	return PTR_ERR_OR_ZERO(seg->pages);
}

/* What is in the file is in the segment from its first moment on. */
static int ds_segment_get_file(struct ds_segment *seg)
{
	int err;

	if (!seg->attr.backing)
		return 0;
	err = ds_backing_read(seg->attr.backing, seg->pages, seg->attr.length >> PAGE_SHIFT);
	if (!err)
		ds_backing_get(seg->attr.backing);
	return err;
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
	ret = ds_segment_get_file(seg);
	if (ret) {
		if (ret == -ETIMEDOUT)
			NL_SET_ERR_MSG(extack,
				       "the storage behind the file does not answer; try again when it does");
		else if (ret != -EINTR)
			NL_SET_ERR_MSG(extack, "the file behind the segment cannot be read");
		goto err_pages;
	}

	mutex_lock(&ds_segments_lock);
	seg->id = ++ds_segments_last;
	*id = seg->id;
	list_add_tail(&seg->link, &ds_segments);
	ds_netlink_changed(DS_CMD_SEG_GET);
	mutex_unlock(&ds_segments_lock);
	trace_ds_segment(*id, "create", attr->length);
	ds_event_segment(DS_EVENT_SEG_ADDED, *id, attr->length);
	return seg;

err_pages:
	ds_segment_free_pages(seg, true);
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

/* ---- look-up ---- */

struct ds_segment *ds_segment_find(u64 id)
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

struct ds_segment *ds_segment_next(struct ds_segment *seg, u64 *last)
{
	struct ds_segment *next, *found = NULL;

	mutex_lock(&ds_segments_lock);
	/* From the beginning only if @seg was deleted meanwhile: there may be very many. */
	next = seg && !list_empty(&seg->link) ? seg : NULL;
	next = list_prepare_entry(next, &ds_segments, link);
	list_for_each_entry_continue(next, &ds_segments, link) {
		if (next->id > *last) {
			kref_get(&next->ref);
			*last = next->id;
			found = next;
			break;
		}
	}
	mutex_unlock(&ds_segments_lock);
	if (seg)
		ds_segment_put(seg);
	return found;
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

/* ---- revoke and delete ---- */

static void ds_segment_unlist(struct ds_segment *seg)
{
	lockdep_assert_held(&ds_segments_lock);
	list_del_init(&seg->link);
	ds_netlink_changed(DS_CMD_SEG_GET);
}

void ds_segment_delete(struct ds_segment *seg)
{
	mutex_lock(&ds_segments_lock);
	ds_segment_unlist(seg);
	mutex_unlock(&ds_segments_lock);

	while (ds_grant_take_all(seg, true) == -EBUSY)
		schedule_timeout_uninterruptible(HZ / 50);	/* a revoke is at work */
	ds_event_segment(DS_EVENT_SEG_REMOVED, seg->id, seg->attr.length);
	kref_put(&seg->ref, ds_segment_release_now);
}

int ds_segment_delete_id(u64 id, struct netlink_ext_ack *extack)
{
	struct ds_segment *seg, *found = NULL;
	int ret = -ENOENT;

	mutex_lock(&ds_segments_lock);
	list_for_each_entry(seg, &ds_segments, link) {
		if (seg->id != id)
			continue;
		if (seg->attr.by_file)
			ret = -EPERM;
		else if (seg->served)
			ret = -EBUSY;
		else
			ret = ds_backing_busy(seg->attr.backing) ? -EAGAIN : 0;
		found = seg;
		if (!ret)
			ds_segment_unlist(seg);
		break;
	}
	mutex_unlock(&ds_segments_lock);
	if (ret == -ENOENT)
		NL_SET_ERR_MSG(extack, "there is no segment with this number");
	else if (ret == -EBUSY)
		NL_SET_ERR_MSG(extack,
			       "a space of the packet service uses the segment; delete that first");
	else if (ret == -EAGAIN)
		NL_SET_ERR_MSG(extack, DS_SEGMENT_MAY_CHANGE);
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
	ret = ds_grant_take_all(seg, false);
	if (ret)
		NL_SET_ERR_MSG(extack, "the segment's keys are being taken away already");
	else
		ds_event_segment(DS_EVENT_SEG_REVOKED, id, seg->attr.length);
	ds_segment_put(seg);
	return ret;
}

/* ---- the packet service ---- */

struct ds_segment *ds_segment_serve(u64 id, struct netlink_ext_ack *extack)
{
	struct ds_segment *seg = ds_segment_find(id);
	int err = 0;

	if (!seg) {
		NL_SET_ERR_MSG(extack, "there is no segment with this number");
		return ERR_PTR(-ENOENT);
	}
	mutex_lock(&ds_segments_lock);
	if (list_empty(&seg->link))
		err = -ENOENT;		/* deleted meanwhile */
	else if (seg->attr.by_file)
		err = -EPERM;
	else if (seg->served)
		err = -EBUSY;
	else if (ds_backing_busy(seg->attr.backing))
		err = -EAGAIN;
	else
		seg->served = true;
	mutex_unlock(&ds_segments_lock);
	if (!err)
		return seg;
	if (err == -EPERM)
		NL_SET_ERR_MSG(extack, "the segment belongs to an open file and would end with it");
	else if (err == -EBUSY)
		NL_SET_ERR_MSG(extack, "the segment has a space of the packet service already");
	else if (err == -EAGAIN)
		NL_SET_ERR_MSG(extack, DS_SEGMENT_MAY_CHANGE);
	ds_segment_put(seg);
	return ERR_PTR(err);
}

void ds_segment_unserve(struct ds_segment *seg)
{
	mutex_lock(&ds_segments_lock);
	seg->served = false;
	mutex_unlock(&ds_segments_lock);
	ds_segment_put(seg);
}

int ds_segment_init(void)
{
	return ds_msg_bind(DS_SERVICE_SEGMENT, ds_grant_serve, NULL);
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

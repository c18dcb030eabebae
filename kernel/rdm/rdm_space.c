// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the spaces of the packet service on this host.
 *
 * Locking order:
 *	ds_rdm_spaces_lock	held while a space is made or deleted
 *		ds_rdm_space.lock
 */
#include <linux/netlink.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <uapi/ds/ioctl.h>
#include <uapi/ds/netlink.h>
#include "netlink.h"
#include "packet_msg.h"
#include "pool.h"
#include "rdm_space.h"
#include "segment.h"

static DEFINE_XARRAY(ds_rdm_spaces);		/* read under RCU */
static DEFINE_MUTEX(ds_rdm_spaces_lock);	/* see above */

static void ds_rdm_space_release(struct kref *ref)
{
	struct ds_rdm_space *space = container_of(ref, struct ds_rdm_space, ref);

	WARN_ON_ONCE(!space->dead);
	memzero_explicit(&space->core.attr, sizeof(space->core.attr));
	ds_packet_queue_free(space->queue);
	kfree_rcu(space, rcu);
}

static int ds_rdm_space_check(struct ds_rdm_space *space, struct netlink_ext_ack *extack)
{
	const struct ds_segment_attr *seg = &space->seg->attr;
	struct ds_vspace_attr *map = &space->core.attr.map;
	u32 one_sided = seg->access & DS_ACCESS_ATOMIC;
	u32 most = seg->access & (DS_ACCESS_READ | DS_ACCESS_WRITE);

	if (!one_sided && most & DS_ACCESS_WRITE)
		most |= DS_ACCESS_ATOMIC;
	if (!map->size)
		map->size = seg->length;
	if (!map->access)
		map->access = most;
	if (map->size > seg->length || map->size & ((1ull << map->page_shift) - 1)) {
		NL_SET_ERR_MSG(extack,
			       "the length must be a multiple of the page, and at most the segment's");
		return -EINVAL;
	}
	if (map->access & DS_ACCESS_ATOMIC && one_sided) {
		NL_SET_ERR_MSG(extack,
			       "peers' atomics and packets' atomics do not see each other; make the segment without atomic access");
		return -EINVAL;
	}
	if (!map->access || map->access & ~most) {
		NL_SET_ERR_MSG(extack, "the segment does not allow this access");
		return -EACCES;
	}
	return 0;
}

static struct ds_rdm_space *ds_rdm_space_make(const struct ds_rdm_space_attr *attr,
					      struct ds_segment *seg,
					      struct netlink_ext_ack *extack)
{
	struct ds_rdm_space *space;
	struct ds_packet_space_attr core;
	int err;

	space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	if (!space)
		return ERR_PTR(-ENOMEM);
	kref_init(&space->ref);
	mutex_init(&space->lock);
	space->id = attr->id;
	space->seg = seg;
	space->dom = seg->dom;
	space->core.attr = attr->core;
	err = ds_rdm_space_check(space, extack);
	if (err)
		goto err_free;
	core = space->core.attr;
	core.map.seed = get_random_u64();
	get_random_bytes(core.secret, sizeof(core.secret));
	space->pool = ds_pool_create(seg, core.map.access);
	err = PTR_ERR_OR_ZERO(space->pool);
	if (err == -ENOSPC)
		NL_SET_ERR_MSG(extack, "this host has no tokens for so many chunks; delete others");
	if (!err)
		err = ds_packet_space_init(&space->core, &core, ds_pool_ops(space->pool),
					   space->pool);
	memzero_explicit(&core, sizeof(core));
	if (err)
		goto err_pool;
	if (seg->attr.backing)
		space->queue = ds_packet_queue_create(space);
	err = PTR_ERR_OR_ZERO(space->queue);
	if (err)
		goto err_core;
	return space;

err_core:
	ds_packet_space_exit(&space->core);
err_pool:
	if (!IS_ERR(space->pool))
		ds_pool_destroy(space->pool);
err_free:
	kfree_sensitive(space);
	return ERR_PTR(err);
}

/*
 * Ended for all who find it, then without a user; its segment is free for another. Of those who
 * wait for the lock only one that has it already may run a request, and wait for storage.
 */
static void ds_rdm_space_kill(struct ds_rdm_space *space)
{
	struct ds_segment *seg = space->seg;

	WRITE_ONCE(space->dead, true);
	mutex_lock(&space->lock);
	ds_packet_space_exit(&space->core);
	mutex_unlock(&space->lock);
	ds_packet_queue_close(space->queue);
	ds_pool_destroy(space->pool);
	kref_put(&space->ref, ds_rdm_space_release);
	ds_segment_unserve(seg);
}

static void ds_rdm_spaces_changed(void)
{
	lockdep_assert_held(&ds_rdm_spaces_lock);
	ds_netlink_changed(DS_CMD_RDM_SPACE_GET);
	ds_netlink_changed(DS_CMD_STAT_GET);
}

int ds_rdm_space_add(const struct ds_rdm_space_attr *attr, struct netlink_ext_ack *extack)
{
	struct ds_rdm_space *space;
	struct ds_segment *seg;
	int err;

	if (mutex_lock_killable(&ds_rdm_spaces_lock))
		return -EINTR;
	if (xa_load(&ds_rdm_spaces, attr->id)) {
		NL_SET_ERR_MSG(extack, "there is a space with this number already");
		err = -EEXIST;
		goto out;
	}
	seg = ds_segment_serve(attr->segment, extack);
	if (IS_ERR(seg)) {
		err = PTR_ERR(seg);
		goto out;
	}
	space = ds_rdm_space_make(attr, seg, extack);
	if (IS_ERR(space)) {
		err = PTR_ERR(space);
		ds_segment_unserve(seg);
		goto out;
	}
	err = xa_insert(&ds_rdm_spaces, attr->id, space, GFP_KERNEL_ACCOUNT);
	if (err)
		ds_rdm_space_kill(space);
	else
		ds_rdm_spaces_changed();
out:
	mutex_unlock(&ds_rdm_spaces_lock);
	return err;
}

int ds_rdm_space_del(u32 id, struct netlink_ext_ack *extack)
{
	struct ds_rdm_space *space;

	mutex_lock(&ds_rdm_spaces_lock);
	space = xa_erase(&ds_rdm_spaces, id);
	if (space) {
		ds_rdm_spaces_changed();
		ds_rdm_space_kill(space);
	} else {
		NL_SET_ERR_MSG(extack, "there is no space with this number");
	}
	mutex_unlock(&ds_rdm_spaces_lock);
	return space ? 0 : -ENOENT;
}

struct ds_rdm_space *ds_rdm_space_find(u32 id)
{
	struct ds_rdm_space *space;

	rcu_read_lock();
	space = xa_load(&ds_rdm_spaces, id);
	if (space && !kref_get_unless_zero(&space->ref))
		space = NULL;
	rcu_read_unlock();
	return space;
}

void ds_rdm_space_put(struct ds_rdm_space *space)
{
	kref_put(&space->ref, ds_rdm_space_release);
}

bool ds_rdm_space_lock(struct ds_rdm_space *space)
{
	mutex_lock(&space->lock);
	if (!READ_ONCE(space->dead))
		return true;
	mutex_unlock(&space->lock);
	return false;
}

void ds_rdm_space_unlock(struct ds_rdm_space *space)
{
	mutex_unlock(&space->lock);
}

struct ds_rdm_space *ds_rdm_space_enter(u32 id)
{
	struct ds_rdm_space *space = ds_rdm_space_find(id);

	if (!space || ds_rdm_space_lock(space))
		return space;
	ds_rdm_space_put(space);
	return NULL;
}

void ds_rdm_space_leave(struct ds_rdm_space *space)
{
	ds_rdm_space_unlock(space);
	ds_rdm_space_put(space);
}

int ds_rdm_space_for_each(int (*fn)(struct ds_rdm_space *space, void *ctx), void *ctx)
{
	struct ds_rdm_space *space;
	unsigned long id;
	int ret = 0;

	if (mutex_lock_killable(&ds_rdm_spaces_lock))
		return -EINTR;
	xa_for_each(&ds_rdm_spaces, id, space) {
		ret = fn(space, ctx);
		if (ret)
			break;
	}
	mutex_unlock(&ds_rdm_spaces_lock);
	return ret;
}

void ds_rdm_space_exit(void)
{
	struct ds_rdm_space *space;
	unsigned long id;

	xa_for_each(&ds_rdm_spaces, id, space)
		ds_rdm_space_del(id, NULL);
	xa_destroy(&ds_rdm_spaces);
}

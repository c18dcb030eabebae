// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: callers, and whose turn it is.
 *
 * Locking order:
 *	ds_callers_lock		held while a caller is made or deleted
 *		ds_turns_lock	queues and turns; taken in softirq
 */
#include <linux/mutex.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/dst.h>
#include <uapi/ds/netlink.h>
#include "netlink.h"
#include "params.h"
#include "stats.h"
#include "caller.h"
#include "packet_udp.h"

static DEFINE_XARRAY(ds_callers);		/* by address; read under RCU */
static DEFINE_MUTEX(ds_callers_lock);		/* see above */
static u32 ds_callers_count;

static DEFINE_SPINLOCK(ds_turns_lock);		/* see above */
static LIST_HEAD(ds_turns);
static u64 ds_callers_served;			/* packets, of all callers */
static u64 ds_turns_bytes;			/* that all of them take */

/* Whose packet the worker has in its hands, and which listener it came to. */
static struct ds_caller *ds_turn_caller;
static struct ds_udp *ds_turn_udp;
static DECLARE_WAIT_QUEUE_HEAD(ds_turn_wait);

static void ds_turns_work(struct work_struct *work);
static DECLARE_WORK(ds_turns_worker, ds_turns_work);

/* Where the packet came to, while it waits. */
static struct ds_udp **ds_skb_udp(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct ds_udp *) > sizeof(skb->cb));
	return (struct ds_udp **)skb->cb;
}

/* ---- turns ---- */

bool ds_caller_enqueue(struct ds_caller *caller, struct ds_udp *udp, struct sk_buff *skb)
{
	bool full;

	/* What it holds of the network's must not wait with it. */
	skb_dst_drop(skb);
	skb_ext_reset(skb);
	nf_reset_ct(skb);
	skb->dev = NULL;
	*ds_skb_udp(skb) = udp;
	spin_lock_bh(&ds_turns_lock);
	caller->received++;
	full = skb_queue_len(&caller->queue) >= DS_CALLER_QUEUE ||
	       caller->bytes + skb->truesize > DS_CALLER_BYTES ||
	       (caller->bytes && ds_turns_bytes + skb->truesize > DS_CALLERS_BYTES);
	if (full) {
		caller->dropped++;
	} else {
		if (list_empty(&caller->turn)) {
			caller->mark = ds_callers_served;
			list_add_tail(&caller->turn, &ds_turns);
		}
		__skb_queue_tail(&caller->queue, skb);
		caller->bytes += skb->truesize;
		ds_turns_bytes += skb->truesize;
	}
	spin_unlock_bh(&ds_turns_lock);

	if (full)
		kfree_skb(skb);
	else
		queue_work(ds_wq, &ds_turns_worker);
	return !full;
}

static void ds_turn_count(struct ds_caller *caller)
{
	lockdep_assert_held(&ds_turns_lock);
	caller->longest_wait = max(caller->longest_wait, ds_callers_served - caller->mark);
	caller->served++;
	caller->mark = ++ds_callers_served;
}

/* The next packet, and whose it is; NULL: none waits. */
static struct sk_buff *ds_turn_take(void)
{
	struct ds_caller *caller;
	struct sk_buff *skb = NULL;

	spin_lock_bh(&ds_turns_lock);
	caller = list_first_entry_or_null(&ds_turns, struct ds_caller, turn);
	if (caller) {
		skb = __skb_dequeue(&caller->queue);
		caller->bytes -= skb->truesize;
		ds_turns_bytes -= skb->truesize;
		if (skb_queue_empty(&caller->queue))
			list_del_init(&caller->turn);
		else
			list_move_tail(&caller->turn, &ds_turns);
		ds_turn_count(caller);
		ds_turn_udp = *ds_skb_udp(skb);
	}
	ds_turn_caller = caller;
	spin_unlock_bh(&ds_turns_lock);
	return skb;
}

static void ds_turn_end(void)
{
	spin_lock_bh(&ds_turns_lock);
	ds_turn_caller = NULL;
	ds_turn_udp = NULL;
	spin_unlock_bh(&ds_turns_lock);
	if (wq_has_sleeper(&ds_turn_wait))
		wake_up(&ds_turn_wait);
}

static void ds_turns_work(struct work_struct *work)
{
	struct sk_buff *skb;

	while ((skb = ds_turn_take())) {
		ds_udp_serve(ds_turn_udp, ds_turn_caller, skb);
		consume_skb(skb);
		ds_turn_end();
		cond_resched();
	}
}

/* Drop what waits of a caller, or of it what came to @udp. */
static void ds_caller_purge(struct ds_caller *caller, struct ds_udp *udp)
{
	struct sk_buff *skb, *next;

	lockdep_assert_held(&ds_turns_lock);
	skb_queue_walk_safe(&caller->queue, skb, next) {
		if (udp && *ds_skb_udp(skb) != udp)
			continue;
		__skb_unlink(skb, &caller->queue);
		caller->bytes -= skb->truesize;
		ds_turns_bytes -= skb->truesize;
		kfree_skb(skb);
	}
	if (skb_queue_empty(&caller->queue))
		list_del_init(&caller->turn);
}

void ds_callers_forget(struct ds_udp *udp)
{
	struct ds_caller *caller;
	unsigned long addr;

	mutex_lock(&ds_callers_lock);
	xa_for_each(&ds_callers, addr, caller) {
		spin_lock_bh(&ds_turns_lock);
		ds_caller_purge(caller, udp);
		spin_unlock_bh(&ds_turns_lock);
	}
	mutex_unlock(&ds_callers_lock);
	wait_event(ds_turn_wait, READ_ONCE(ds_turn_udp) != udp);
}

/* ---- the allow-list ---- */

static void ds_callers_changed(void)
{
	lockdep_assert_held(&ds_callers_lock);
	ds_netlink_changed(DS_CMD_RDM_PEER_GET);
	ds_netlink_changed(DS_CMD_STAT_GET);
}

int ds_caller_add(__be32 addr, bool bound, u32 tenant, struct netlink_ext_ack *extack)
{
	struct ds_caller *caller;
	int err;

	caller = kzalloc(sizeof(*caller), GFP_KERNEL_ACCOUNT);
	if (!caller)
		return -ENOMEM;
	caller->addr = addr;
	caller->bound = bound;
	caller->tenant = tenant;
	INIT_LIST_HEAD(&caller->turn);
	__skb_queue_head_init(&caller->queue);

	mutex_lock(&ds_callers_lock);
	if (ds_callers_count == DS_CALLERS_MAX) {
		NL_SET_ERR_MSG(extack, "too many hosts may send packets already");
		err = -EDQUOT;
	} else {
		err = xa_insert(&ds_callers, (__force u32)addr, caller, GFP_KERNEL_ACCOUNT);
	}
	if (!err) {
		ds_callers_count++;
		ds_callers_changed();
	}
	mutex_unlock(&ds_callers_lock);
	if (!err)
		return 0;
	kfree(caller);
	if (err == -EBUSY) {
		NL_SET_ERR_MSG(extack, "this host may send packets already");
		err = -EEXIST;
	}
	return err;
}

/* Nobody finds it any more, and who had found it is through. */
static void ds_caller_end(struct ds_caller *caller)
{
	lockdep_assert_held(&ds_callers_lock);
	ds_callers_count--;
	spin_lock_bh(&ds_turns_lock);
	ds_caller_purge(caller, NULL);
	spin_unlock_bh(&ds_turns_lock);
	wait_event(ds_turn_wait, READ_ONCE(ds_turn_caller) != caller);
	kfree(caller);
}

int ds_caller_del(__be32 addr, struct netlink_ext_ack *extack)
{
	struct ds_caller *caller;

	mutex_lock(&ds_callers_lock);
	caller = xa_erase(&ds_callers, (__force u32)addr);
	if (caller) {
		ds_callers_changed();
		synchronize_rcu();
		ds_caller_end(caller);
	} else {
		NL_SET_ERR_MSG(extack, "this host may not send packets anyway");
	}
	mutex_unlock(&ds_callers_lock);
	return caller ? 0 : -ENOENT;
}

struct ds_caller *ds_caller_find(__be32 addr)
{
	return xa_load(&ds_callers, (__force u32)addr);
}

int ds_caller_for_each(int (*fn)(struct ds_caller *caller, void *ctx), void *ctx)
{
	struct ds_caller *caller;
	unsigned long addr;
	int ret = 0;

	mutex_lock(&ds_callers_lock);
	xa_for_each(&ds_callers, addr, caller) {
		ret = fn(caller, ctx);
		if (ret)
			break;
	}
	mutex_unlock(&ds_callers_lock);
	return ret;
}

/* After the listeners' end, which has waited for all who looked for a caller. */
void ds_callers_exit(void)
{
	struct ds_caller *caller;
	unsigned long addr;

	mutex_lock(&ds_callers_lock);
	xa_for_each(&ds_callers, addr, caller) {
		xa_erase(&ds_callers, addr);
		ds_caller_end(caller);
	}
	mutex_unlock(&ds_callers_lock);
	cancel_work_sync(&ds_turns_worker);
	xa_destroy(&ds_callers);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: tokens of RDMA objects that are not ours.
 */
#include <linux/netlink.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include "netlink.h"
#include "token_device.h"
#include "token_foreign.h"

static u32 ds_token_foreign;	/* of all devices and imports; under the devices' lock */

static void ds_token_import_free(struct ds_token_import *import)
{
	unsigned long number;
	void *pd;

	if (!import)
		return;
	ds_token_foreign -= ds_token_count(&import->table);
	ds_token_table_destroy(&import->table);
	/* One by one: xa_destroy() frees all with interrupts off. */
	xa_for_each(&import->pds, number, pd) {
		xa_erase(&import->pds, number);
		cond_resched();
	}
	xa_destroy(&import->pds);
	kfree(import);
}

static struct ds_token_import *ds_token_import_begin(const struct ds_token_part *part)
{
	struct ds_token_import *import;

	import = kzalloc(sizeof(*import), GFP_KERNEL_ACCOUNT);
	if (!import)
		return NULL;
	if (ds_token_table_init(&import->table, DS_TOKEN_FOREIGN_MOST)) {
		kfree(import);
		return NULL;
	}
	xa_init(&import->pds);
	import->portid = part->portid;
	import->parts = part->parts;
	return import;
}

static u32 ds_token_import_pd(struct ds_token_import *import, u32 number)
{
	void *index = number == DS_TOKEN_NO_PD ? NULL : xa_load(&import->pds, number);

	return index ? xa_to_value(index) : DS_TOKEN_NONE;
}

/* What the type does not have is not set. */
static bool ds_token_is_pure(const struct ds_token_object *o)
{
	bool mr = o->type == DS_TOKEN_MR, qp = o->type == DS_TOKEN_QP;

	return (mr || qp || o->pd == DS_TOKEN_NO_PD) &&
	       (mr ? !o->number : !(o->length | o->lkey | o->rkey)) &&
	       (qp || !(o->qp_type | o->state)) &&
	       (o->type == DS_TOKEN_CQ || !o->entries);
}

/* -EINVAL: no such object can be. */
static int ds_token_describe(struct ds_token_import *import, const struct ds_token_object *o,
			     struct ds_token_desc *d)
{
	if (!ds_token_is_pure(o))
		return -EINVAL;
	memset(d, 0, sizeof(*d));
	d->type = o->type;
	switch (o->type) {
	case DS_TOKEN_PD:
		if (o->number == DS_TOKEN_NO_PD)
			return -EINVAL;
		d->pd.number = o->number;
		break;
	case DS_TOKEN_MR:
		d->mr.lkey = o->lkey;
		d->mr.rkey = o->rkey;
		d->mr.length = o->length;
		d->mr.page_shift = PAGE_SHIFT;
		d->mr.pd = ds_token_import_pd(import, o->pd);
		break;
	case DS_TOKEN_CQ:
		d->cq.number = o->number;
		d->cq.entries = o->entries;
		break;
	case DS_TOKEN_QP:
		if (o->qp_type > U16_MAX || o->state > U8_MAX)
			return -EINVAL;
		d->qp.number = o->number;
		d->qp.qp_type = o->qp_type;
		d->qp.state = o->state;
		d->qp.pd = ds_token_import_pd(import, o->pd);
		d->qp.scq = DS_TOKEN_NONE;
		d->qp.rcq = DS_TOKEN_NONE;
		break;
	default:
		return -EINVAL;
	}
	return ds_token_check(d);
}

static int ds_token_import_one(struct ds_token_import *import, const struct ds_token_object *o)
{
	struct ds_token_desc desc;
	u32 token;
	int ret;

	if (ds_token_foreign >= DS_TOKEN_FOREIGN_MOST)
		return -EDQUOT;
	ret = ds_token_describe(import, o, &desc) ?:
	      ds_token_create(&import->table, &desc, &token);
	if (ret)
		return ret;
	ds_token_foreign++;
	if (o->type == DS_TOKEN_PD)
		ret = xa_err(xa_store(&import->pds, o->number,
				      xa_mk_value(ds_token_index(token)),
				      GFP_KERNEL_ACCOUNT));
	return ret;
}

static int ds_token_import_part(struct ds_token_import *import, const struct ds_token_part *part)
{
	struct ds_token_object object;
	int ret = 0;
	u32 i;

	for (i = 0; i < part->count && !ret; i++) {
		memcpy(&object, part->objects + i * sizeof(object), sizeof(object));
		ret = ds_token_import_one(import, &object);
	}
	import->part = part->part;
	return ret;
}

static bool ds_token_is_next(const struct ds_token_import *import, const struct ds_token_part *part)
{
	return import && import->portid == part->portid && import->parts == part->parts &&
	       import->part + 1 == part->part;
}

static void ds_token_import_drop(struct ds_token_device *dev)
{
	if (!dev->coming)
		return;
	ds_token_import_free(dev->coming);
	dev->coming = NULL;
	WRITE_ONCE(dev->importer, 0);
}

int ds_token_import(struct ds_token_device *dev, const struct ds_token_part *part)
{
	int ret;

	if (part->part == 1) {
		ds_token_import_drop(dev);
		dev->coming = ds_token_import_begin(part);
		if (!dev->coming)
			return -ENOMEM;
		WRITE_ONCE(dev->importer, part->portid);
	} else if (!ds_token_is_next(dev->coming, part)) {
		return -ESTALE;
	}

	ret = ds_token_import_part(dev->coming, part);
	if (ret) {
		ds_token_import_drop(dev);
	} else if (part->part == part->parts) {
		ds_token_import_free(dev->foreign);
		dev->foreign = dev->coming;
		dev->coming = NULL;
		WRITE_ONCE(dev->importer, 0);
		WRITE_ONCE(dev->imported, ds_token_count(&dev->foreign->table));
		ds_netlink_changed(DS_CMD_TOKEN_GET);
	}
	return ret;
}

static int ds_token_give_up(struct ds_token_device *dev, void *notify)
{
	const struct netlink_notify *n = notify;

	if (dev->coming && dev->coming->portid == n->portid)
		ds_token_import_drop(dev);
	return 0;
}

/*
 * Who brings an import has closed its socket: nobody can go on with it. Sockets of all programs
 * come here, which shall not wait for the devices' lock.
 */
static int ds_token_socket_closed(struct notifier_block *nb, unsigned long event, void *notify)
{
	const struct netlink_notify *n = notify;

	if (event != NETLINK_URELEASE || n->protocol != NETLINK_GENERIC ||
	    !net_eq(n->net, &init_net) || !ds_token_device_imports(n->portid))
		return NOTIFY_DONE;
	ds_token_devices_lock();
	ds_token_device_for_each(ds_token_give_up, notify);
	ds_token_devices_unlock();
	return NOTIFY_DONE;
}

static struct notifier_block ds_token_socket_nb = {
	.notifier_call = ds_token_socket_closed,
};

int ds_token_foreign_init(void)
{
	return netlink_register_notifier(&ds_token_socket_nb);
}

void ds_token_foreign_exit(void)
{
	netlink_unregister_notifier(&ds_token_socket_nb);
}

int ds_token_forget(struct ds_token_device *dev)
{
	bool listed = dev->foreign, any = listed || dev->coming;

	ds_token_import_free(dev->foreign);
	dev->foreign = NULL;
	if (listed)
		ds_netlink_changed(DS_CMD_TOKEN_GET);
	WRITE_ONCE(dev->imported, 0);
	ds_token_import_drop(dev);
	return any ? 0 : -ENOENT;
}

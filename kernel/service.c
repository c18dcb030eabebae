// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: services, what control messages of other hosts are for.
 */
#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "msg.h"
#include "service.h"

struct ds_msg_service {
	ds_msg_handler		handler;
	void			*ctx;
	refcount_t		users;	/* one while bound, one for each handler that runs */
	struct completion	unused;
};

static DEFINE_XARRAY(ds_services);
static DECLARE_RWSEM(ds_services_lock);

static void ds_service_put(struct ds_msg_service *s)
{
	if (refcount_dec_and_test(&s->users))
		complete(&s->unused);
}

int ds_service_handle(const struct ds_msg *msg, void *reply, u32 *reply_length)
{
	struct ds_msg_service *s;
	int status;

	down_read(&ds_services_lock);
	s = xa_load(&ds_services, msg->service);
	if (s)
		refcount_inc(&s->users);
	up_read(&ds_services_lock);
	if (!s)
		return -ECONNREFUSED;
	status = s->handler(s->ctx, msg, reply, reply_length);
	ds_service_put(s);
	return status;
}

int ds_msg_bind(u16 service, ds_msg_handler handler, void *ctx)
{
	struct ds_msg_service *s;
	int ret;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->handler = handler;
	s->ctx = ctx;
	refcount_set(&s->users, 1);
	init_completion(&s->unused);
	down_write(&ds_services_lock);
	ret = xa_insert(&ds_services, service, s, GFP_KERNEL);
	up_write(&ds_services_lock);
	if (ret) {
		kfree(s);
		return ret == -EBUSY ? -EADDRINUSE : ret;
	}
	return 0;
}

void ds_msg_unbind(u16 service)
{
	struct ds_msg_service *s;

	down_write(&ds_services_lock);
	s = xa_erase(&ds_services, service);
	up_write(&ds_services_lock);
	if (!s)
		return;
	ds_service_put(s);
	wait_for_completion(&s->unused);	/* for the handlers that run */
	kfree(s);
}

/* One-way messages to the service; it takes the number. */
static int ds_msg_heartbeat(void *ctx, const struct ds_msg *msg, void *reply, u32 *reply_length)
{
	return 0;
}

int ds_msg_init(void)
{
	return ds_msg_bind(DS_SERVICE_LINK, ds_msg_heartbeat, NULL);
}

void ds_msg_exit(void)
{
	ds_msg_unbind(DS_SERVICE_LINK);
	WARN_ON_ONCE(!xa_empty(&ds_services));
}

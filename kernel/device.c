// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: RDMA devices as they come and go, and their protection domains.
 *
 * Locking order:
 *	ds_devices_lock
 *	ds_device.lock
 *		ds_pd.loop_lock
 *
 * Removal. ds_device_remove() first lets nobody take a new reference, then has
 * the connections on the device torn down, which take their registrations with
 * them, and waits until the last reference is gone.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include <uapi/ds/netlink.h>
#include "conn.h"
#include "conn_list.h"
#include "device.h"
#include "domain.h"
#include "netlink.h"
#include "token_fetch.h"
#include "tokens.h"
#include "verbs.h"

#define DS_LOOP_TIMEOUT		(10 * HZ)

static struct ib_client ds_ib_client;
static LIST_HEAD(ds_devices);
static DEFINE_MUTEX(ds_devices_lock);

static const char *ds_device_refusal(struct ib_device *ib)
{
	if (!rdma_cap_ib_cm(ib, 1))
		return "the device has no RC connection manager (iWARP is not supported)";
	if (ib->attrs.atomic_cap == IB_ATOMIC_NONE)
		return "the device has no atomic operations";
	if (!(ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return "the device has no fast memory registration";
	return NULL;
}

static int ds_pd_token(struct ds_device *dev, struct ib_pd *pd, u32 domain, u32 *token)
{
	struct ds_token_desc desc = { .type = DS_TOKEN_PD, .pd.number = pd->res.id,
				      .pd.domain = domain };

	return ds_token_add(dev->tokens, &desc, token);
}

static int ds_device_add(struct ib_device *ib)
{
	struct ds_device *dev;
	int ret;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->ib = ib;
	mutex_init(&dev->lock);
	INIT_LIST_HEAD(&dev->pds);
	init_completion(&dev->unused);
	refcount_set(&dev->users, 1);
	dev->refused = ds_device_refusal(ib);
	dev->tokens = ds_token_device_add(ib);
	if (dev->tokens == ERR_PTR(-ENOSPC)) {
		dev->tokens = NULL;
		dev->refused = "the token cache has numbers for 254 RDMA devices only";
	} else if (IS_ERR(dev->tokens)) {
		ret = PTR_ERR(dev->tokens);
		goto err_free;
	}
	if (dev->refused) {
		pr_warn("<%s>: not used: %s\n", dev_name(&ib->dev), dev->refused);
	} else {
		dev->ctrl_pd = ib_alloc_pd(ib, 0);
		if (IS_ERR(dev->ctrl_pd)) {
			ret = PTR_ERR(dev->ctrl_pd);
			goto err_tokens;
		}
		ret = ds_pd_token(dev, dev->ctrl_pd, 0, &dev->ctrl_token);
		if (ret)
			goto err_dealloc;
	}

	mutex_lock(&ds_devices_lock);
	list_add_tail(&dev->link, &ds_devices);
	ds_netlink_changed(DS_CMD_DEV_GET);
	mutex_unlock(&ds_devices_lock);
	ib_set_client_data(ib, &ds_ib_client, dev);
	ds_event_device(dev_name(&ib->dev), true, dev->refused ? DS_DEV_REFUSED : DS_DEV_USED);
	return 0;

err_dealloc:
	ib_dealloc_pd(dev->ctrl_pd);
err_tokens:
	ds_token_device_del(dev->tokens);
err_free:
	kfree(dev);
	return ret;
}

static void ds_device_remove(struct ib_device *ib, void *client_data)
{
	struct ds_device *dev = client_data;

	if (!dev)
		return;

	mutex_lock(&ds_devices_lock);
	list_del(&dev->link);
	ds_netlink_changed(DS_CMD_DEV_GET);
	mutex_unlock(&ds_devices_lock);

	mutex_lock(&dev->lock);
	dev->removing = true;
	mutex_unlock(&dev->lock);

	/* First, so that no operation waits for a token any more. */
	ds_token_device_leave(dev->tokens);
	ds_conn_close_device(dev, "the RDMA device was removed");
	ds_device_put(dev);
	wait_for_completion(&dev->unused);
	WARN_ON_ONCE(!list_empty(&dev->pds));

	if (dev->ctrl_pd) {
		ds_token_end(dev->ctrl_token);
		ib_dealloc_pd(dev->ctrl_pd);
	}
	ds_token_device_del(dev->tokens);
	ds_event_device(ib->name, false, 0);	/* dev_name() is freed by a rename */
	kfree(dev);
}

static struct ib_client ds_ib_client = {
	.name	= "ds",
	.add	= ds_device_add,
	.remove	= ds_device_remove,
};
MODULE_ALIAS_RDMA_CLIENT("ds");

struct ds_device *ds_device_get(struct ib_device *ib)
{
	struct ds_device *dev, *found = NULL;

	mutex_lock(&ds_devices_lock);
	list_for_each_entry(dev, &ds_devices, link) {
		if (dev->ib == ib && !dev->refused && !dev->removing) {
			refcount_inc(&dev->users);
			found = dev;
			break;
		}
	}
	mutex_unlock(&ds_devices_lock);
	return found;
}

void ds_device_put(struct ds_device *dev)
{
	if (refcount_dec_and_test(&dev->users))
		complete(&dev->unused);
}

static void ds_loop_failed(struct ds_qp *qp);

static struct ds_qp *ds_loop_create(struct ds_pd *pd)
{
	struct ds_qp_attr attr = {
		.dev		= pd->dev,
		.pd		= pd->ib,
		.pd_token	= pd->token,
		.sq_size	= DS_LOOP_SQ,
		.rq_size	= 0,
		.failed		= ds_loop_failed,
		.ctx		= pd,
	};
	struct ds_qp *qp;
	int ret;

	qp = ds_qp_create(&attr);
	if (IS_ERR(qp))
		return qp;
	ret = ds_qp_connect_loop(qp);
	if (ret) {
		ds_qp_destroy(qp);
		ds_qp_free(qp);
		return ERR_PTR(ret);
	}
	return qp;
}

static struct ds_pd *ds_pd_create(struct ds_device *dev, struct ds_domain *domain)
{
	struct ds_pd *pd;
	int ret;

	pd = kzalloc(sizeof(*pd), GFP_KERNEL);
	if (!pd)
		return ERR_PTR(-ENOMEM);
	pd->dev = dev;
	pd->domain = domain;
	mutex_init(&pd->loop_lock);
	init_completion(&pd->loop_event);
	pd->ib = ib_alloc_pd(dev->ib, 0);
	if (IS_ERR(pd->ib)) {
		ret = PTR_ERR(pd->ib);
		goto err_free;
	}
	ret = ds_pd_token(dev, pd->ib, domain->id, &pd->token);
	if (ret)
		goto err_dealloc;
	pd->loop = ds_loop_create(pd);
	if (IS_ERR(pd->loop)) {
		ret = PTR_ERR(pd->loop);
		goto err_token;
	}
	refcount_inc(&dev->users);
	ds_domain_ref(domain);
	list_add_tail(&pd->link, &dev->pds);
	return pd;

err_token:
	ds_token_end(pd->token);
err_dealloc:
	ib_dealloc_pd(pd->ib);
err_free:
	kfree(pd);
	return ERR_PTR(ret);
}

struct ds_pd *ds_pd_get(struct ds_device *dev, struct ds_domain *domain)
{
	struct ds_pd *pd;

	mutex_lock(&dev->lock);
	if (dev->removing) {
		pd = ERR_PTR(-ENODEV);
		goto unlock;
	}
	list_for_each_entry(pd, &dev->pds, link) {
		if (pd->domain == domain)
			goto found;
	}
	pd = ds_pd_create(dev, domain);
	if (IS_ERR(pd))
		goto unlock;
found:
	pd->users++;
unlock:
	mutex_unlock(&dev->lock);
	return pd;
}

void ds_pd_ref(struct ds_pd *pd)
{
	mutex_lock(&pd->dev->lock);
	pd->users++;
	mutex_unlock(&pd->dev->lock);
}

void ds_pd_put(struct ds_pd *pd)
{
	struct ds_device *dev = pd->dev;

	mutex_lock(&dev->lock);
	if (--pd->users) {
		mutex_unlock(&dev->lock);
		return;
	}
	list_del(&pd->link);
	mutex_unlock(&dev->lock);

	if (!IS_ERR(pd->loop)) {
		ds_qp_destroy(pd->loop);
		ds_qp_free(pd->loop);
	}
	ds_token_end(pd->token);
	ib_dealloc_pd(pd->ib);
	ds_domain_put(pd->domain);
	kfree(pd);
	ds_device_put(dev);
}

/* A chain of ds_pd_run(). */
struct ds_loop_run {
	struct ds_chain	chain;
	struct ds_pd	*pd;
	bool		ended;
};

static void ds_loop_done(struct ds_chain *chain)
{
	struct ds_loop_run *run = container_of(chain, struct ds_loop_run, chain);
	struct ds_pd *pd = run->pd;

	/* Who waits may have been woken by a failure, and then returns: @run is gone. */
	smp_store_release(&run->ended, true);
	complete(&pd->loop_event);
}

static void ds_loop_failed(struct ds_qp *qp)
{
	struct ds_pd *pd = qp->ctx;

	complete(&pd->loop_event);
}

static int ds_loop_result(const struct ds_chain *chain)
{
	u32 i;

	for (i = 0; i < chain->count; i++) {
		if (i >= chain->posted || chain->wrs[i].status != IB_WC_SUCCESS)
			return -EIO;
	}
	return 0;
}

int ds_pd_run(struct ds_pd *pd, struct ds_wr *wrs, u32 count)
{
	struct ds_loop_run run = { .chain = { .wrs = wrs, .count = count,
					      .done = ds_loop_done }, .pd = pd };
	int ret;

	mutex_lock(&pd->loop_lock);
	if (IS_ERR(pd->loop)) {
		/* An earlier failure took it down. */
		pd->loop = ds_loop_create(pd);
		if (IS_ERR(pd->loop)) {
			ret = PTR_ERR(pd->loop);
			goto unlock;
		}
	}

	reinit_completion(&pd->loop_event);
	ret = ds_chain_post(pd->loop, &run.chain);
	if (!ret) {
		ds_qp_poll(pd->loop, &pd->loop_event);
		wait_for_completion_timeout(&pd->loop_event, DS_LOOP_TIMEOUT);
		/* Pairs with the release in ds_loop_done(). */
		ret = smp_load_acquire(&run.ended) ? ds_loop_result(&run.chain) : -EIO;
	}
	if (ret) {
		/* Only a destroyed queue pair is sure to have let go of @wrs. */
		ds_qp_destroy(pd->loop);
		ds_qp_free(pd->loop);
		pd->loop = ERR_PTR(-EIO);
	}
unlock:
	mutex_unlock(&pd->loop_lock);
	return ret;
}

static void ds_device_no_send(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
}

bool ds_device_is_deaf(struct ds_device *dev, u32 port)
{
	struct ib_qp_init_attr init;
	struct ib_mad_agent *agent;
	struct ib_qp_attr attr;
	int ret;

	/* Only an agent has the queue pair. It sends nothing. */
	agent = ib_register_mad_agent(dev->ib, port, IB_QPT_GSI, NULL, 0, ds_device_no_send,
				      NULL, NULL, 0);
	if (IS_ERR(agent))
		return false;
	ret = ib_query_qp(agent->qp, &attr, IB_QP_STATE, &init);
	ib_unregister_mad_agent(agent);
	return !ret && attr.qp_state == IB_QPS_ERR;
}

int ds_device_for_each(int (*fn)(struct ds_device *dev, void *ctx), void *ctx)
{
	struct ds_device *dev;
	int ret = 0;

	mutex_lock(&ds_devices_lock);
	list_for_each_entry(dev, &ds_devices, link) {
		ret = fn(dev, ctx);
		if (ret)
			break;
	}
	mutex_unlock(&ds_devices_lock);
	return ret;
}

int ds_device_init(void)
{
	return ib_register_client(&ds_ib_client);
}

void ds_device_exit(void)
{
	ib_unregister_client(&ds_ib_client);
	WARN_ON_ONCE(!list_empty(&ds_devices));
}

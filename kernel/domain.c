// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: this host's identity and its trust domains.
 *
 * The uuid and the incarnation are made when the module is loaded: another
 * incarnation tells peers that what they attached before is gone.
 */
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/netlink.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uuid.h>
#include <uapi/ds/netlink.h>
#include "domain.h"
#include "handshake.h"
#include "netlink.h"
#include "params.h"

/* Protects all below and each ds_domain.link. Innermost. */
static DEFINE_MUTEX(ds_domain_lock);
static LIST_HEAD(ds_domains);		/* by number */
static u64 ds_domain_serial;		/* of the last one */
static u32 ds_node;			/* 0: not set yet */
static u64 ds_group;

/* Made by ds_node_init(), never changed. */
static u8 ds_uuid[DS_UUID_LEN];
static u64 ds_incarnation;

void ds_node_init(void)
{
	generate_random_uuid(ds_uuid);
	do {
		ds_incarnation = get_random_u64();
	} while (!ds_incarnation);
}

int ds_node_set(u32 node, u64 group, struct netlink_ext_ack *extack)
{
	int err = 0;

	mutex_lock(&ds_domain_lock);
	/* A peer holds a domain, so no domain means no peer. */
	if (!list_empty(&ds_domains)) {
		NL_SET_ERR_MSG(extack,
			       "the node number is in use; delete all peers and domains first");
		err = -EBUSY;
	} else {
		ds_node = node;
		ds_group = group;
	}
	mutex_unlock(&ds_domain_lock);
	return err;
}

u32 ds_node_id(void)
{
	return READ_ONCE(ds_node);
}

u64 ds_node_group(void)
{
	return READ_ONCE(ds_group);
}

u64 ds_node_incarnation(void)
{
	return ds_incarnation;
}

const u8 *ds_node_uuid(void)
{
	return ds_uuid;
}

void ds_node_describe(struct ds_hs_host *host, u32 domain)
{
	memset(host, 0, sizeof(*host));
	memcpy(host->uuid, ds_uuid, sizeof(host->uuid));
	host->incarnation = ds_incarnation;
	host->group = ds_node_group();
	host->node = ds_node_id();
	host->domain = domain;
	host->lanes = ds_qp_mul_factor;
	host->nics = 1;
}

/* The first domain with a number of at least @id, NULL if there is none. */
static struct ds_domain *ds_domain_at(u32 id)
{
	struct ds_domain *domain;

	lockdep_assert_held(&ds_domain_lock);
	list_for_each_entry(domain, &ds_domains, link) {
		if (domain->id >= id)
			return domain;
	}
	return NULL;
}

static struct ds_domain *ds_domain_find(u32 id)
{
	struct ds_domain *domain = ds_domain_at(id);

	return domain && domain->id == id ? domain : NULL;
}

int ds_domain_add(u32 id, const u8 *key, struct netlink_ext_ack *extack)
{
	struct ds_domain *domain, *next;

	domain = kzalloc(sizeof(*domain), GFP_KERNEL);
	if (!domain)
		return -ENOMEM;
	domain->id = id;
	refcount_set(&domain->users, 1);
	memcpy(domain->key, key, sizeof(domain->key));

	mutex_lock(&ds_domain_lock);
	next = ds_domain_at(id);
	if (next && next->id == id) {
		mutex_unlock(&ds_domain_lock);
		kfree_sensitive(domain);
		NL_SET_ERR_MSG(extack,
			       "the domain exists; delete it first to give it another key");
		return -EEXIST;
	}
	domain->serial = ++ds_domain_serial;
	list_add_tail(&domain->link, next ? &next->link : &ds_domains);
	ds_netlink_changed(DS_CMD_DOMAIN_GET);
	mutex_unlock(&ds_domain_lock);
	return 0;
}

int ds_domain_del(u32 id, struct netlink_ext_ack *extack)
{
	struct ds_domain *domain;

	mutex_lock(&ds_domain_lock);
	domain = ds_domain_find(id);
	if (!domain) {
		mutex_unlock(&ds_domain_lock);
		NL_SET_ERR_MSG(extack,
			       "there is no such domain; list the domains for their numbers");
		return -ENOENT;
	}
	/* ds_domain_get() needs the lock: users cannot come back once only the list is left. */
	if (!refcount_dec_if_one(&domain->users)) {
		mutex_unlock(&ds_domain_lock);
		NL_SET_ERR_MSG(extack,
			       "the domain is in use; delete its peers, segments and spaces first");
		return -EBUSY;
	}
	list_del(&domain->link);
	ds_netlink_changed(DS_CMD_DOMAIN_GET);
	mutex_unlock(&ds_domain_lock);

	kfree_sensitive(domain);
	return 0;
}

struct ds_domain *ds_domain_get(u32 id)
{
	struct ds_domain *domain;

	mutex_lock(&ds_domain_lock);
	domain = ds_domain_find(id);
	if (domain)
		refcount_inc(&domain->users);
	mutex_unlock(&ds_domain_lock);
	return domain;
}

void ds_domain_ref(struct ds_domain *domain)
{
	refcount_inc(&domain->users);
}

void ds_domain_put(struct ds_domain *domain)
{
	if (refcount_dec_and_test(&domain->users))
		kfree_sensitive(domain);
}

u32 ds_domain_next(u32 id)
{
	struct ds_domain *domain;
	u32 next;

	mutex_lock(&ds_domain_lock);
	domain = ds_domain_at(id + 1);
	next = domain ? domain->id : 0;
	mutex_unlock(&ds_domain_lock);
	return next;
}

void ds_domain_exit(void)
{
	struct ds_domain *domain, *next;

	list_for_each_entry_safe(domain, next, &ds_domains, link) {
		list_del(&domain->link);
		WARN_ON(refcount_read(&domain->users) != 1);
		ds_domain_put(domain);
	}
}

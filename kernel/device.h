/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: RDMA devices as they come and go, and their protection domains.
 */
#ifndef _DS_DEVICE_H
#define _DS_DEVICE_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

struct ds_domain;
struct ds_qp;
struct ds_token_device;
struct ds_wr;

/**
 * struct ds_device - an RDMA device that DS uses, or has refused
 * @link: in the list of devices, under its lock
 * @ib: the device
 * @refused: why DS cannot use it, or NULL
 * @ctrl_pd: protection domain of control queue pairs; no memory region is in it
 * @ctrl_token: its token
 * @tokens: what the token cache knows of the device; NULL if it has no number for it
 * @lock: protects @pds and @removing
 * @pds: one struct ds_pd for each domain in use
 * @removing: no new reference is given
 * @users: one for the device's presence, one for each user
 * @unused: completed when the last reference is dropped
 */
struct ds_device {
	struct list_head	link;
	struct ib_device	*ib;
	const char		*refused;
	struct ib_pd		*ctrl_pd;
	u32			ctrl_token;
	struct ds_token_device	*tokens;
	struct mutex		lock;		/* see above */
	struct list_head	pds;
	bool			removing;
	refcount_t		users;
	struct completion	unused;
};

/**
 * struct ds_pd - a trust domain on a device
 * @link: in ds_device.pds
 * @dev: the device; a reference is held
 * @domain: the domain; a reference is held
 * @ib: its protection domain
 * @loop: queue pair connected to itself: REG_MR, LOCAL_INV and operations on
 *	synchronisation words in memory of this host
 * @loop_lock: one user of @loop at a time
 * @loop_event: that user's work has ended, or @loop has broken
 * @users: under @dev->lock
 * @token: handle of its token
 */
struct ds_pd {
	struct list_head	link;
	struct ds_device	*dev;
	struct ds_domain	*domain;
	struct ib_pd		*ib;
	struct ds_qp		*loop;
	struct mutex		loop_lock;	/* see above */
	struct completion	loop_event;
	u32			users;
	u32			token;
};

int ds_device_init(void);
void ds_device_exit(void);

/* The device of @ib with a reference, or NULL if it is refused or going away. */
struct ds_device *ds_device_get(struct ib_device *ib);
void ds_device_put(struct ds_device *dev);

/**
 * ds_pd_get - the protection domain of @domain on @dev, made if there is none
 *
 * Context: process, may sleep.
 * Return: it, with a reference for ds_pd_put(), or an ERR_PTR
 */
struct ds_pd *ds_pd_get(struct ds_device *dev, struct ds_domain *domain);
void ds_pd_ref(struct ds_pd *pd);	/* one more for who holds one */
void ds_pd_put(struct ds_pd *pd);

/**
 * ds_pd_run - run work requests on the loopback queue pair and wait
 * @wrs: at most DS_LOOP_SQ requests; they run in order
 *
 * Context: process, may sleep.
 * Return: 0, or the errno of the first that failed
 */
int ds_pd_run(struct ds_pd *pd, struct ds_wr *wrs, u32 count);

#define DS_LOOP_SQ	64

/**
 * ds_device_is_deaf - is the queue pair in error by which hosts agree to connect?
 *
 * Soft-RoCE of some kernels, 6.12 among them, takes a packet that the network
 * device's queue refuses for an error of the queue pair. Nothing repairs queue
 * pair 1 then but to make the device anew.
 *
 * Context: process, may sleep.
 */
bool ds_device_is_deaf(struct ds_device *dev, u32 port);

/* Call @fn for each device, refused ones too, until it returns non-zero. */
int ds_device_for_each(int (*fn)(struct ds_device *dev, void *ctx), void *ctx);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: segments, the memory that this host exports.
 */
#ifndef _DS_SEGMENT_H
#define _DS_SEGMENT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct ds_backing;
struct ds_conn;
struct ds_domain;
struct ds_pin;
struct netlink_ext_ack;

#define DS_NAME_LEN	32

/* What a new segment shall be. */
struct ds_segment_attr {
	u64		length;		/* bytes, a multiple of PAGE_SIZE */
	u64		addr;		/* with DS_SEG_USER_MEMORY */
	u32		flags;		/* DS_SEG_* */
	u32		domain;
	u32		access;		/* DS_ACCESS_* */
	int		numa_node;
	bool		by_file;	/* made by ioctl: dies with the file */
	struct ds_backing *backing;	/* the file behind it, or NULL */
	char		name[DS_NAME_LEN];
};

/**
 * struct ds_segment - exported memory
 * @link: in the list of segments, under its lock
 * @ref: lifetime; pages are freed with the last reference
 * @id: number, never used twice while the module is loaded
 * @attr: as made; a reference to its @backing is held
 * @dom: trust domain; a reference is held
 * @pages: its pages
 * @served: a space of the packet service uses it; under the lock of the list
 * @pin: of its pages, with DS_SEG_USER_MEMORY
 * @lock: protects @regs, @attachers, @busy and @dead
 * @regs: registrations, one for each protection domain of a device
 * @attachers: connections that hold its keys
 * @busy: keys are being taken away: no attach now
 * @dead: deleted: no attach any more
 */
struct ds_segment {
	struct list_head	link;
	struct kref		ref;
	u64			id;
	struct ds_segment_attr	attr;
	struct ds_domain	*dom;
	struct page		**pages;
	bool			served;
	struct ds_pin		*pin;
	struct mutex		lock;		/* see above */
	struct list_head	regs;
	struct list_head	attachers;
	bool			busy;
	bool			dead;
};

/**
 * ds_segment_create - export memory
 * @id: set to its number
 * @extack: may be NULL
 *
 * Takes a reference of its own to @attr->backing.
 *
 * A segment that is not @attr->by_file may be deleted by its number at any time,
 * so its creator must not touch it any more.
 *
 * Context: process; charged to current.
 * Return: the segment, or an ERR_PTR
 */
struct ds_segment *ds_segment_create(const struct ds_segment_attr *attr, u64 *id,
				     struct netlink_ext_ack *extack);

/**
 * ds_segment_delete - take a segment away
 *
 * Once for each segment. When it returns, no peer can reach the pages.
 * Context: process, may sleep for seconds.
 */
void ds_segment_delete(struct ds_segment *seg);

/*
 * By number, for netlink: -ENOENT; -EPERM if a file made it; -EBUSY: it is served; -EAGAIN:
 * the file behind it may still change, as its storage has not answered.
 */
int ds_segment_delete_id(u64 id, struct netlink_ext_ack *extack);
int ds_segment_revoke_id(u64 id, struct netlink_ext_ack *extack);

/* Call @fn for each segment until it returns non-zero; segments may come and go. */
int ds_segment_for_each(int (*fn)(struct ds_segment *seg, void *ctx), void *ctx);
bool ds_segment_any(void);

/**
 * ds_segment_serve - take a segment for a space of the packet service
 * @id: its number
 *
 * It is not deleted before ds_segment_unserve().
 * Context: process.
 * Return: it with a reference; ERR_PTR: -ENOENT; -EPERM: an open file's; -EBUSY: it
 *	serves another space; -EAGAIN: the file behind it may still change, as above
 */
struct ds_segment *ds_segment_serve(u64 id, struct netlink_ext_ack *extack);
void ds_segment_unserve(struct ds_segment *seg);	/* gives the reference back */

/* By number, with a reference, or NULL. */
struct ds_segment *ds_segment_find(u64 id);
/* The one behind number @last, with a reference, in exchange for @seg's. */
struct ds_segment *ds_segment_next(struct ds_segment *seg, u64 *last);
void ds_segment_put(struct ds_segment *seg);

int ds_segment_init(void);
void ds_segment_exit(void);

#endif

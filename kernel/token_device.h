/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: what the token cache knows of an RDMA device: which tokens are of its objects,
 * what it has counted of them, and the objects of other users.
 */
#ifndef _DS_TOKEN_DEVICE_H
#define _DS_TOKEN_DEVICE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <uapi/ds/netlink.h>

struct ds_token_import;

#define DS_TOKEN_DEVICES	256	/* numbers; 0 is none */
#define DS_TOKEN_SAMPLING	61	/* a prime: look-ups come in patterns */

/* What is counted. Of moves those that ended, each at the device of its token. */
enum ds_token_stat {
	DS_TOKEN_HITS_L1,	/* found there; L2 and L3 follow */
	DS_TOKEN_HITS_L2,
	DS_TOKEN_HITS_L3,
	DS_TOKEN_STALE,		/* revoked */
	DS_TOKEN_FAILED,	/* not found, or not read in time */
	DS_TOKEN_UP_L1,		/* promoted to L1; L2 follows */
	DS_TOKEN_UP_L2,
	DS_TOKEN_DOWN_L2,	/* demoted to L2; L3 follows */
	DS_TOKEN_DOWN_L3,
	DS_TOKEN_ABORTED,	/* moves after which the token was where it had been */
	DS_TOKEN_DMA_BYTES,	/* that moves carried */
	DS_TOKEN_WHOLE_FULL,	/* look-ups of wide ones for which no buffer was free */
	DS_TOKEN_STATS
};

/* What is timed. */
enum ds_token_timing {
	DS_TOKEN_LOOK_L1,	/* a look-up that found it there; L2 and L3 follow */
	DS_TOKEN_LOOK_L2,
	DS_TOKEN_LOOK_L3,
	DS_TOKEN_MISS,		/* what is done after one that did not find it in L1 */
	DS_TOKEN_MOVE,		/* from such a miss until its token has come to L1 */
	DS_TOKEN_TIMINGS
};

extern const char *const ds_token_stat_names[DS_TOKEN_STATS];
extern const char *const ds_token_timing_names[DS_TOKEN_TIMINGS];

/**
 * struct ds_token_counts - counters, of one processor or summed
 * @n: by enum ds_token_stat
 * @ns: by enum ds_token_timing and power of two of nanoseconds
 * @left: look-ups until the next one is timed
 */
struct ds_token_counts {
	u64	n[DS_TOKEN_STATS];
	u64	ns[DS_TOKEN_TIMINGS][DS_TOKEN_BUCKETS];
	s32	left;
};

/**
 * struct ds_token_sums - what is known of a device
 * @device: its name
 * @imported: how many objects of other users
 * @counts: of all processors
 */
struct ds_token_sums {
	char			device[IB_DEVICE_NAME_MAX];
	u32			imported;
	struct ds_token_counts	counts;
};

/**
 * struct ds_token_device - an RDMA device
 * @ib: it; NULL for memory that no device knows, but packets reach
 * @number: by which tokens say whose they are, 1 to 255
 * @leaving: it asks for nothing any more
 * @counts: by processor
 * @foreign: objects of other users, NULL if they were not imported; under the devices' lock
 * @coming: an import of which not all parts are there, or NULL; likewise
 * @importer: netlink socket that brings it, or 0
 * @imported: how many objects are in @foreign
 */
struct ds_token_device {
	struct ib_device		*ib;
	u8				number;
	bool				leaving;
	struct ds_token_counts __percpu	*counts;
	struct ds_token_import		*foreign;
	struct ds_token_import		*coming;
	u32				importer;
	u32				imported;
};

extern unsigned int ds_token_sampling;	/* one of so many look-ups is timed, 0: none */

/*
 * A device comes or goes; all its tokens have ended then. NULL has gone already.
 * Context: process, may sleep. Return: it, or an ERR_PTR: -ENOMEM, -ENOSPC if there are
 * numbers for no more.
 */
struct ds_token_device *ds_token_device_add(struct ib_device *ib);
void ds_token_device_del(struct ds_token_device *dev);

/* Devices and what is imported stay while this is held. Context: process. */
void ds_token_devices_lock(void);
void ds_token_devices_unlock(void);

/* Call @fn for each until it returns non-zero; find an RDMA device by its name, NULL: none. */
int ds_token_device_for_each(int (*fn)(struct ds_token_device *dev, void *ctx), void *ctx);
struct ds_token_device *ds_token_device_find(const char *name);

/* Does one bring an import, not all parts of which are there? Context: any; takes no lock. */
bool ds_token_device_imports(u32 portid);

/*
 * The name that a device has now, or all that is known of it. Takes no lock. Context: any.
 * Return: false if there is none with this number.
 */
bool ds_token_device_name(u8 number, char name[IB_DEVICE_NAME_MAX]);
bool ds_token_device_sums(u8 number, struct ds_token_sums *sums);

/* The number of its device. Context: any. */
u8 ds_token_device_of(u32 token);

/*
 * May the device with a number ask the host for a token? 0, -EACCES for one that is not its
 * own, or -ENODEV if it is leaving. Context: bottom halves are off.
 */
int ds_token_device_may_ask(u32 number, u32 token);

/* The time at which a look-up begins, 0 if it is not timed. Context: any. */
u64 ds_token_began(const struct ds_token_device *dev);

/* Count what a look-up found, a tier or an error, and how long it took. Context: any. */
void ds_token_count_look(const struct ds_token_device *dev, int found, u64 began);
void ds_token_count_miss(const struct ds_token_device *dev, u64 began);

/* Count a look-up of a wide token for which no buffer was free. Context: any. */
void ds_token_count_full(const struct ds_token_device *dev);

/* Count how long a token, missed at @since, took to L1. Context: bottom halves are off. */
void ds_token_count_fetch(u32 token, u64 since);

/*
 * Count a move of a token, after which it is in tier @to and which carried @bytes.
 * Context: bottom halves are off.
 */
void ds_token_count_move(u32 token, u32 from, u32 to, u32 bytes);

/* What all devices together have counted, those that went included. Context: may sleep. */
void ds_token_stats_sum(u64 n[DS_TOKEN_STATS]);

#endif

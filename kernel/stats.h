/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: counters. On soft-RoCE they are the truth and microseconds are noise, so
 * each operation is counted for the module and for the peer it went to.
 */
#ifndef _DS_STATS_H
#define _DS_STATS_H

#include <linux/atomic.h>

enum ds_stat {
	DS_STAT_OPS_READ,		/* as enum ds_opcode, in its order */
	DS_STAT_OPS_WRITE,
	DS_STAT_OPS_CAS,
	DS_STAT_OPS_FETCH_ADD,
	DS_STAT_BYTES_READ,
	DS_STAT_BYTES_WRITTEN,
	DS_STAT_CHAINS,			/* of operations, posted: each is one round trip */
	DS_STAT_WORK_REQUESTS,
	DS_STAT_DOORBELLS,		/* calls of ib_post_send */
	DS_STAT_OPS_NOT_EXECUTED,	/* operations that ended so */
	DS_STAT_OPS_UNKNOWN,
	DS_STAT_SQ_FULL,		/* chains that found no room in the send queue */
	DS_STAT_MSGS_SENT,
	DS_STAT_MSGS_RECEIVED,
	DS_STAT_MSGS_REFUSED,		/* requests for a service that is absent or full */
	DS_STAT_MSG_ROUND_TRIPS,	/* requests answered */
	DS_STAT_CONNECTS,		/* connections that came up */
	DS_STAT_DISCONNECTS,
	DS_STAT_HANDSHAKES_REFUSED,
	DS_STAT_KEYS_REGISTERED,	/* memory regions made reachable, ever */
	DS_STAT_KEYS_REVOKED,
	DS_STAT_PACKETS_RECEIVED,	/* of the packet service */
	DS_STAT_PACKETS_SENT,
	DS_STAT_PACKETS_UNSENT,		/* answers that the network did not take */
	DS_STAT_PACKETS_MALFORMED,	/* no packet at all: no answer */
	DS_STAT_PACKETS_STRANGERS,	/* from hosts that may not */
	DS_STAT_PACKETS_FORGED,		/* without the right MAC: no answer */
	DS_STAT_PACKETS_QUEUE_FULL,	/* their sender had too many waiting */
	DS_STAT_COUNT
};

struct ds_stats {
	atomic64_t	n[DS_STAT_COUNT];
};

extern struct ds_stats ds_stats;	/* of the module */
extern const char *const ds_stat_names[DS_STAT_COUNT];

/* Count for @s, which may be NULL, and for the module. Context: any. */
static inline void ds_stat_add(struct ds_stats *s, enum ds_stat what, u64 n)
{
	atomic64_add(n, &ds_stats.n[what]);
	if (s)
		atomic64_add(n, &s->n[what]);
}

static inline void ds_stat_inc(struct ds_stats *s, enum ds_stat what)
{
	ds_stat_add(s, what, 1);
}

#endif

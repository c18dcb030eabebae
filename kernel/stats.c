// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the counters of the module, and the names of all counters.
 */
#include "stats.h"

struct ds_stats ds_stats;

const char *const ds_stat_names[DS_STAT_COUNT] = {
	[DS_STAT_OPS_READ]		= "ops_read",
	[DS_STAT_OPS_WRITE]		= "ops_write",
	[DS_STAT_OPS_CAS]		= "ops_cas",
	[DS_STAT_OPS_FETCH_ADD]		= "ops_fetch_add",
	[DS_STAT_BYTES_READ]		= "bytes_read",
	[DS_STAT_BYTES_WRITTEN]		= "bytes_written",
	[DS_STAT_CHAINS]		= "chains",
	[DS_STAT_WORK_REQUESTS]		= "work_requests",
	[DS_STAT_DOORBELLS]		= "doorbells",
	[DS_STAT_OPS_NOT_EXECUTED]	= "ops_not_executed",
	[DS_STAT_OPS_UNKNOWN]		= "ops_unknown",
	[DS_STAT_SQ_FULL]		= "sq_full",
	[DS_STAT_MSGS_SENT]		= "msgs_sent",
	[DS_STAT_MSGS_RECEIVED]		= "msgs_received",
	[DS_STAT_MSGS_REFUSED]		= "msgs_refused",
	[DS_STAT_MSG_ROUND_TRIPS]	= "msg_round_trips",
	[DS_STAT_CONNECTS]		= "connects",
	[DS_STAT_DISCONNECTS]		= "disconnects",
	[DS_STAT_HANDSHAKES_REFUSED]	= "handshakes_refused",
	[DS_STAT_KEYS_REGISTERED]	= "keys_registered",
	[DS_STAT_KEYS_REVOKED]		= "keys_revoked",
	[DS_STAT_PACKETS_RECEIVED]	= "packets_received",
	[DS_STAT_PACKETS_SENT]		= "packets_sent",
	[DS_STAT_PACKETS_UNSENT]	= "packets_unsent",
	[DS_STAT_PACKETS_MALFORMED]	= "packets_malformed",
	[DS_STAT_PACKETS_STRANGERS]	= "packets_strangers",
	[DS_STAT_PACKETS_FORGED]	= "packets_forged",
	[DS_STAT_PACKETS_QUEUE_FULL]	= "packets_queue_full",
};

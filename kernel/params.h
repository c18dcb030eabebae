/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: module parameters (main.c; docs/parameters.md).
 */
#ifndef _DS_PARAMS_H
#define _DS_PARAMS_H

#include <linux/types.h>

extern unsigned int ds_port;		/* UDP/RoCE service port of the listener */
extern unsigned int ds_qp_mul_factor;	/* bulk queue pairs for each pair of NICs */
extern unsigned int ds_heartbeat_ms;	/* between heartbeats; a peer is gone after five */
extern unsigned int ds_sq_size;		/* work requests in a bulk send queue */
extern unsigned int ds_max_buf_mb;	/* buffers of one open file, MiB */
extern unsigned int ds_max_seg_mb;	/* segments of the host, MiB, 0: memory is the limit */
extern unsigned int ds_max_peers;	/* connections that other hosts may make to us */
extern unsigned int ds_token_cache;	/* may change; 0: operations pass the token cache by */
extern unsigned int ds_token_l1;	/* tokens in L1 of the token cache */
extern unsigned int ds_token_policy;	/* enum ds_policy_mode: who is in it */
extern unsigned int ds_token_l2;	/* its L2, MiB; 0: none */
extern int ds_token_l2_node;		/* NUMA node of L2, or DS_L2_NODE_BEST */
extern unsigned int ds_max_attaches;	/* segments that one peer may attach */

const char *ds_token_policy_name(void);

/*
 * Unbound. Work on a queue may wait for a place of work on those after it; on the same one,
 * so much could wait that what is waited for finds no place.
 */
extern struct workqueue_struct *ds_fence_wq;	/* for fences, as many as others ask for */
extern struct workqueue_struct *ds_wq;		/* for work that sleeps */
extern struct workqueue_struct *ds_inbox_wq;	/* for messages as they arrive */
extern struct workqueue_struct *ds_packet_wq;	/* for packets that wait for storage */
extern struct workqueue_struct *ds_close_wq;	/* for teardowns */
extern struct workqueue_struct *ds_unpin_wq;	/* for pinned memory, whose owner may hold it up */
extern struct workqueue_struct *ds_storage_wq;	/* for files behind segments, which may hang */

#endif

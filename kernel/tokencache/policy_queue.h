/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the queues of L1's policy: staging, and main in lists by the epoch of last use
 * (policy.h). Each is a ring of slots, known by its last one.
 *
 * What was used since it was queued is found out at the head, where it goes on to
 * where it belongs. Pinned ones go aside there, to a ring of their own: each call looks at
 * some of those, and takes one back if it is no longer pinned. No call takes more than 128
 * such steps, of which each looks at eight slots at most.
 */
#ifndef DS_TOKENCACHE_POLICY_QUEUE_H
#define DS_TOKENCACHE_POLICY_QUEUE_H

#include "policy.h"

static inline bool ds_policy_used(const struct ds_policy *p, u32 slot)
{
	return p->slots[slot].key_high & DS_SLOT_USED;
}

/* Epoch % 32. */
static inline u32 ds_policy_last_use(const struct ds_policy *p, u32 slot)
{
	return READ_ONCE(p->slots[slot].heat) >> 3;
}

static inline u32 ds_policy_ghost_epoch(const struct ds_policy *p)
{
	return p->epoch - p->epochs_of_runs;
}

/**
 * ds_policy_enqueue - to the end of the queue it belongs to
 * @p: the policy
 * @slot: in no queue
 * @epoch: of its last use; means nothing in staging
 */
void ds_policy_enqueue(struct ds_policy *p, u32 slot, u32 epoch);

/* A list of main comes before another, and is empty then. Both by epoch % 32. */
void ds_policy_join(struct ds_policy *p, u32 from, u32 to);

/* Epochs for which main's oldest one was not used; 0: it takes too long to find out. */
u32 ds_policy_main_age(struct ds_policy *p);

/**
 * ds_policy_make_room - someone leaves, and the ghost knows
 * @p: the policy; no slot is fresh
 * @for_main: the one that comes goes to main
 *
 * Return: a slot that is in no queue, still with the key of the one that leaves unless it
 *	was forgotten; DS_POLICY_NONE: only pinned ones were seen
 */
u32 ds_policy_make_room(struct ds_policy *p, bool for_main);

/**
 * ds_policy_used_again - of some slots, one that was used since it was queued leaves
 * @p: the policy; no slot is fresh
 *
 * Return: its slot, with its key, in the queue where it stood; DS_POLICY_NONE: there was none
 */
u32 ds_policy_used_again(struct ds_policy *p);

#endif /* DS_TOKENCACHE_POLICY_QUEUE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: tokens that are moved together, for the files of the token cache. All but
 * ds_change_stage() under its lock.
 *
 * The moves of a change depend on each other: each comes to the slot that the one before it
 * leaves, if there is one. So a slot has two owners for a while, who is in it and who will be:
 * nobody else is sent away from it meanwhile, and if its token is revoked the slot is left to
 * the change (ds_l2_keep(), ds_policy_promise()).
 */
#ifndef DS_TOKENCACHE_CHANGE_H
#define DS_TOKENCACHE_CHANGE_H

#include "cache.h"

/**
 * ds_change_forget - a slot of L1 is nobody's
 * @c: cache
 * @slot: of L1; it may have been nobody's
 */
void ds_change_forget(struct ds_cache *c, u32 slot);

/**
 * ds_change_repin - may somebody be sent away from a slot of L1, as things are now?
 * @c: cache
 * @slot: of L1
 */
void ds_change_repin(struct ds_cache *c, u32 slot);

/**
 * ds_change_add - one more token is on its way
 * @c: cache
 * @ch: change
 * @token: any number
 * @to: tier
 * @slot: of it, the change's once the move before has ended
 *
 * Return: 0, or as ds_move_begin().
 */
int ds_change_add(struct ds_cache *c, struct ds_cache_change *ch, u32 token, u32 to, u32 slot);

/* A slot of L2 whose token was idle long enough to go home, and L2 has no room; DS_L2_NONE */
u32 ds_change_idle_in_l2(struct ds_cache *c, u64 now);

/**
 * ds_change_vacate - who is in a slot of L1 is to leave it, for L2 if that has room
 * @c: cache
 * @ch: change
 * @slot: of L1
 *
 * Return: 0, also if nobody is; or as ds_move_begin(): the change is to be aborted.
 */
int ds_change_vacate(struct ds_cache *c, struct ds_cache_change *ch, u32 slot);

/**
 * ds_change_end - end all moves
 * @c: cache
 * @ch: change
 * @begun: 0; or why they are to be aborted
 *
 * Copies again what was written to meanwhile. No token is on its way afterwards, whatever is
 * returned.
 *
 * Return: 0; or why the last one was not made.
 */
int ds_change_end(struct ds_cache *c, struct ds_cache_change *ch, int begun);

/**
 * ds_change_stage - ds_cache_stage(), and who has moved for it
 * @c: cache
 * @token: any number
 * @ch: result, which is over: each move's ret says whether it was made
 *
 * Takes the lock.
 */
int ds_change_stage(struct ds_cache *c, u32 token, struct ds_cache_change *ch);

#endif /* DS_TOKENCACHE_CHANGE_H */

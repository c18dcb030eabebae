/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the token cache: a table of tokens, L1, and the policy that says who is in it.
 *
 * A hit takes no lock: it reads the token's word and its slot, and stores to what the
 * policy knows of the slot. After a miss the caller says so, and the policy may bring
 * the token into L1 and send another one home.
 */
#ifndef DS_TOKENCACHE_CACHE_H
#define DS_TOKENCACHE_CACHE_H

#include "policy.h"
#include "token.h"

/**
 * struct ds_cache - a token cache; private
 * @table: tokens and L1
 * @policy: who is in L1; calls but those of hits are under @lock
 * @lock: the caller's contexts must not interrupt each other while they hold it; who waits
 *	for a token may be told within it
 */
struct ds_cache {
	struct ds_token_table table;
	struct ds_policy policy;
	ds_spin_t lock;
};

/**
 * ds_cache_init - begin an empty cache
 * @c: cache
 * @limit: most tokens, 1 to 2^22
 * @capacity: slots of L1 (document 001's L1_CAPACITY), DS_POLICY_CAPACITY_MIN to
 *	DS_L1_MAX
 * @mode: enum ds_policy_mode
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int ds_cache_init(struct ds_cache *c, u32 limit, u32 capacity, u32 mode);

/**
 * ds_cache_destroy - end a cache that nobody uses any more
 * @c: cache
 *
 * Return: number of tokens that were not freed.
 */
u32 ds_cache_destroy(struct ds_cache *c);

/**
 * ds_cache_get - begin a use, as ds_token_get()
 * @c: cache
 * @token: any number
 * @out: copy of the descriptor; its @tier is 1 for a hit
 *
 * Any context, takes no lock.
 *
 * Return: as ds_token_get().
 */
int ds_cache_get(struct ds_cache *c, u32 token, struct ds_token_desc *out);

/**
 * ds_cache_look - what a token says, without a use
 * @c: cache
 * @token: any number; of an object that the caller keeps
 * @p: its packed form, of use on success only; a wide one's description is the table's
 *
 * Any context, takes no lock.
 *
 * Return: the tier where it was found, 1 to 3; -ESTALE, -EBADF or -EAGAIN.
 */
int ds_cache_look(struct ds_cache *c, u32 token, struct ds_token_pack *p);

/**
 * ds_cache_miss - a token was used that is not in L1
 * @c: cache
 * @token: any number
 *
 * Takes the lock.
 *
 * Return: 0 if it is in L1 now; -ENOSPC if the policy does not want it there;
 * -ESTALE or -EBADF; -EEXIST, -EBUSY, -EPERM, -EOVERFLOW or -EAGAIN as
 * ds_move_begin(), for it or for whom it was to replace.
 */
int ds_cache_miss(struct ds_cache *c, u32 token);

#endif /* DS_TOKENCACHE_CACHE_H */

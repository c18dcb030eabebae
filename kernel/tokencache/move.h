/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: moving a token from one tier to another (document 001, "migration atomicity").
 *
 *	ds_move_begin()		claims the token: its word says where it goes
 *	ds_move_copy()		copies it; it is read and written where it was
 *	ds_move_commit()	puts the copy there, and the token's word says so
 *
 * Each step is one compare-and-exchange of the word; a commit is two. It fails when the token
 * was written to since it was copied: then it is copied again, or the move is aborted. With
 * ds_token_table.blocking nobody reads or writes it meanwhile instead. The mover uses the
 * token from beginning to end, so its home is not given to another one.
 *
 * The home is always there. It is older than the copy in L1 or L2 only if the word says dirty,
 * so a clean token goes home without being written. Between L1 and L2 a dirty one stays so.
 */
#ifndef DS_TOKENCACHE_MOVE_H
#define DS_TOKENCACHE_MOVE_H

#include "token.h"

/**
 * struct ds_move - a move under way; private but for @to, @token and @slot
 * @token: handle
 * @to: tier, 1 to 3
 * @slot: in that tier; not for home
 * @whole: @pack is what the token was when its word was @word
 * @place: its word in the directory, which stays there
 * @word: its word when it was claimed, or copied last
 * @pack: what was copied
 */
struct ds_move {
	u32 token;
	u32 to;
	u32 slot;
	bool whole;
	u64 *place;
	u64 word;
	struct ds_token_pack pack;
};

/**
 * ds_move_begin - claim a token
 * @t: table
 * @m: move, made by this function
 * @token: any number
 * @to: tier, 1 to 3
 * @slot: of it, the caller's alone from ds_move_commit() on; for home it means nothing
 *
 * Any context, takes no lock.
 *
 * Return: 0, -ESTALE or -EBADF, -EEXIST if it is there, -EBUSY if it is on its way,
 * -EPERM if it is pinned, -EOVERFLOW with too many uses, -EAGAIN when it is written to
 * for long, or the table's stops() says so.
 */
int ds_move_begin(struct ds_token_table *t, struct ds_move *m, u32 token, u32 to, u32 slot);

/**
 * ds_move_is_void - is the copy worth nothing?
 * @m: begun
 *
 * Return: whether the token was written to or revoked since it was copied.
 */
bool ds_move_is_void(const struct ds_move *m);

/**
 * ds_move_copy - copy the token, unless its copy is as new
 * @t: table
 * @m: begun
 *
 * Return: 0; -ESTALE when it was revoked, or -EAGAIN: only ds_move_abort() may follow.
 */
int ds_move_copy(struct ds_token_table *t, struct ds_move *m);

/**
 * ds_move_commit - the token is there
 * @t: table
 * @m: begun
 *
 * The slot that it left is the caller's. Ends the use: may call done() of who waits for
 * it. Preemption is off, as the token is the mover's alone for some instructions.
 *
 * Return: 0; -EAGAIN if it was written to, or not copied: copy it, or abort; -ESTALE when it
 * was revoked, which has ended the move: @slot is the caller's.
 */
int ds_move_commit(struct ds_token_table *t, struct ds_move *m);

/**
 * ds_move_abort - the token stays where it was
 * @t: table
 * @m: begun, and not ended by ds_move_commit()
 *
 * @slot is the caller's. Ends the use: may call done() of who waits for it.
 */
void ds_move_abort(struct ds_token_table *t, struct ds_move *m);

/**
 * ds_move_end - commit, or abort
 * @t: table
 * @m: begun; copied again as often as it was written to meanwhile, up to a limit
 *
 * Return: 0, or an error of these, after which the move has ended and @slot is the caller's.
 */
int ds_move_end(struct ds_token_table *t, struct ds_move *m);

#endif /* DS_TOKENCACHE_MOVE_H */

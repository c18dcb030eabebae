/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: who may send next on a connection.
 *
 * A message takes a credit of the other host's, and a request a place among those that wait for
 * a response. Who finds none waits in the line of his user, and users take turns.
 *
 * Who answers may be slow, and a request keeps its place meanwhile. So of the places that
 * programs have, a user's requests take no more than they leave free: one user has half of
 * them at most, a second one a quarter, and so on. Nobody can leave nothing for another.
 * Fences have a share of their own, as they are asked for by who waits for somebody slow.
 */
#ifndef _DS_MSG_TURN_H
#define _DS_MSG_TURN_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/types.h>

struct ds_msg_state;
struct ds_sender;

enum ds_turn_kind {
	DS_TURN_KERNEL,		/* a request of the kernel's own */
	DS_TURN_REQUEST,	/* of a program */
	DS_TURN_FENCE,		/* of a program, to the kernel there */
	DS_TURN_ONE_WAY,	/* a message of a program, without a response */
};

/**
 * struct ds_turn - a message that waits for its turn, or has had it
 * @link: in the line of its sender, until it is its turn
 * @sender: whose it is
 * @come: it is its turn, or the connection ends
 * @had: which of them
 */
struct ds_turn {
	struct list_head	link;
	struct ds_sender	*sender;
	struct completion	come;
	bool			had;
};

/**
 * ds_turn_begin - wait until a message may be sent
 * @deadline: how long; ktime ns
 *
 * Context: process, killable.
 * Return: 0: it has a credit, and if it is a request a place until ds_turn_end();
 *	-ENOTCONN, -ETIMEDOUT, -EINTR, -ENOMEM
 */
int ds_turn_begin(struct ds_msg_state *m, struct ds_turn *turn, enum ds_turn_kind kind,
		  u64 deadline);

/* @unsent: its credit was not used. */
void ds_turn_end(struct ds_msg_state *m, struct ds_turn *turn, bool unsent);

/* The other host has given credits back. */
void ds_turns_credit(struct ds_msg_state *m, u32 credits);

/* The connection ends: nobody gets a turn any more. */
void ds_turns_abort(struct ds_msg_state *m);

#endif

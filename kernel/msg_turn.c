// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: who may send next on a connection.
 */
#include <linux/cred.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include "msg_state.h"
#include "msg_turn.h"

/**
 * struct ds_sender - a user, or the kernel, while it sends messages of one kind
 * @link: in ds_msg_state.senders; whose turn comes first, first
 * @kind: what it sends
 * @uid: whose
 * @turns: messages of it that wait or have places
 * @places: that it has
 * @line: those that wait
 */
struct ds_sender {
	struct list_head	link;
	enum ds_turn_kind	kind;
	kuid_t			uid;
	u32			turns;
	u32			places;
	struct list_head	line;
};

/*
 * Who asks. Whoever makes a user namespace has many users in it, so all that is done there
 * is done by him.
 */
static kuid_t ds_turn_user(void)
{
	const struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_uid();

	for (; ns->parent; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

static struct ds_sender *ds_sender_find(const struct ds_msg_state *m, enum ds_turn_kind kind,
					kuid_t uid)
{
	struct ds_sender *s;

	list_for_each_entry(s, &m->senders, link) {
		if (s->kind == kind && uid_eq(s->uid, uid))
			return s;
	}
	return NULL;
}

/* A sender that comes has its turn behind all others. */
static struct ds_sender *ds_sender_get(struct ds_msg_state *m, enum ds_turn_kind kind)
{
	kuid_t uid = kind == DS_TURN_KERNEL ? GLOBAL_ROOT_UID : ds_turn_user();
	struct ds_sender *new = NULL, *s;

	for (;;) {
		spin_lock_bh(&m->lock);
		s = ds_sender_find(m, kind, uid);
		if (!s && new) {
			list_add_tail(&new->link, &m->senders);
			swap(s, new);
		}
		if (s)
			s->turns++;
		spin_unlock_bh(&m->lock);
		if (s)
			break;
		new = kzalloc(sizeof(*new), GFP_KERNEL);
		if (!new)
			return NULL;
		new->kind = kind;
		new->uid = uid;
		INIT_LIST_HEAD(&new->line);
	}
	kfree(new);
	return s;
}

static void ds_sender_put(struct ds_sender *s)
{
	if (--s->turns)
		return;
	list_del(&s->link);
	kfree(s);
}

static bool ds_sender_may(const struct ds_msg_state *m, const struct ds_sender *s)
{
	if (m->credits <= 0)
		return false;
	switch (s->kind) {
	case DS_TURN_ONE_WAY:
		return true;
	case DS_TURN_KERNEL:
		return m->waiting < DS_MSG_CREDITS;
	default:
		return s->places + m->waiting < DS_MSG_PROGRAMS;
	}
}

/* Whose turn it is; NULL: nobody's. */
static struct ds_sender *ds_sender_next(const struct ds_msg_state *m)
{
	struct ds_sender *s;

	list_for_each_entry(s, &m->senders, link) {
		if (!list_empty(&s->line) && ds_sender_may(m, s))
			return s;
	}
	return NULL;
}

static void ds_turns_go(struct ds_msg_state *m)
{
	struct ds_sender *s;
	struct ds_turn *turn;

	lockdep_assert_held(&m->lock);
	while (!m->aborted && (s = ds_sender_next(m))) {
		turn = list_first_entry(&s->line, struct ds_turn, link);
		list_del_init(&turn->link);
		list_move_tail(&s->link, &m->senders);
		m->credits--;
		if (s->kind != DS_TURN_ONE_WAY) {
			m->waiting++;
			s->places++;
		}
		turn->had = true;
		complete(&turn->come);
	}
}

int ds_turn_begin(struct ds_msg_state *m, struct ds_turn *turn, enum ds_turn_kind kind,
		  u64 deadline)
{
	s64 left = deadline - ktime_get_ns();
	long ret;

	turn->sender = ds_sender_get(m, kind);
	if (!turn->sender)
		return -ENOMEM;
	turn->had = false;
	init_completion(&turn->come);
	spin_lock_bh(&m->lock);
	list_add_tail(&turn->link, &turn->sender->line);
	if (m->aborted)
		complete(&turn->come);
	ds_turns_go(m);
	spin_unlock_bh(&m->lock);

	ret = wait_for_completion_killable_timeout(&turn->come,
						   left > 0 ? nsecs_to_jiffies(left) + 1 : 0);
	spin_lock_bh(&m->lock);
	if (turn->had) {
		ret = 0;
	} else {
		list_del(&turn->link);
		ds_sender_put(turn->sender);
		ret = ret < 0 ? -EINTR : m->aborted ? -ENOTCONN : -ETIMEDOUT;
	}
	spin_unlock_bh(&m->lock);
	return ret;
}

void ds_turn_end(struct ds_msg_state *m, struct ds_turn *turn, bool unsent)
{
	struct ds_sender *s = turn->sender;

	spin_lock_bh(&m->lock);
	m->credits = min_t(int, m->credits + unsent, DS_MSG_CREDITS);
	if (s->kind != DS_TURN_ONE_WAY) {
		m->waiting--;
		s->places--;
	}
	ds_sender_put(s);
	ds_turns_go(m);
	spin_unlock_bh(&m->lock);
}

void ds_turns_credit(struct ds_msg_state *m, u32 credits)
{
	spin_lock_bh(&m->lock);
	m->credits = min_t(int, m->credits + credits, DS_MSG_CREDITS);
	ds_turns_go(m);
	spin_unlock_bh(&m->lock);
}

void ds_turns_abort(struct ds_msg_state *m)
{
	struct ds_sender *s;
	struct ds_turn *turn;

	spin_lock_bh(&m->lock);
	m->aborted = true;
	list_for_each_entry(s, &m->senders, link)
		list_for_each_entry(turn, &s->line, link)
			complete(&turn->come);
	spin_unlock_bh(&m->lock);
}

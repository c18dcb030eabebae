// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: clients, programs whose use of a space can be ended by others (fenced).
 *
 * Normal operation. A client is in the table from its enrolment until it is ended
 * and its last chain has ended too. Each chain is a user of it, and one more is
 * its being allowed to begin chains, which ends once.
 *
 * Ordering. A chain counts itself and then looks whether the client is ended;
 * who ends it says so and then stops being counted. So either the chain sees the
 * end, or whoever waits for the client sees the chain.
 *
 * Locking: ds_clients_lock is innermost. Any user may make very many clients, so it is not
 * held for all of them.
 */
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/random.h>
#include <linux/refcount.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include "client.h"
#include "params.h"
#include "space.h"

/**
 * struct ds_client - a client
 * @link: in the table of clients, by number, under its lock
 * @ending: in the list of whoever has ended it with others
 * @watches: who is told when it is gone, under the same lock
 * @ref: lifetime of the struct: whoever made it, and one for @users
 * @users: one until it is ended, one for each chain on its way
 * @ended: no chain begins any more
 * @token: its number
 * @space: what it may use; a reference is held
 */
struct ds_client {
	struct hlist_node	link;
	struct list_head	ending;
	struct list_head	watches;
	struct kref		ref;
	refcount_t		users;
	bool			ended;
	u64			token;
	struct ds_space		*space;
};

static DEFINE_HASHTABLE(ds_clients, 12);
static DEFINE_SPINLOCK(ds_clients_lock);
static DECLARE_WAIT_QUEUE_HEAD(ds_clients_wait);
static u64 ds_clients_last;	/* token */

static void ds_client_release(struct kref *ref)
{
	struct ds_client *client = container_of(ref, struct ds_client, ref);

	ds_space_put(client->space);
	kfree(client);
}

void ds_client_get(struct ds_client *client)
{
	kref_get(&client->ref);
}

void ds_client_put(struct ds_client *client)
{
	kref_put(&client->ref, ds_client_release);
}

struct ds_client *ds_client_create(struct ds_space *space)
{
	struct ds_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);

	if (!client)
		return NULL;
	INIT_LIST_HEAD(&client->watches);
	kref_init(&client->ref);
	ds_client_get(client);	/* for its users */
	refcount_set(&client->users, 1);
	ds_space_get(space);
	client->space = space;
	spin_lock(&ds_clients_lock);
	do {
		ds_clients_last = (ds_clients_last + 1) & GENMASK_ULL(DS_CLIENT_TOKEN_BITS - 1, 0);
	} while (!ds_clients_last);
	client->token = ds_clients_last;
	hash_add(ds_clients, &client->link, client->token);
	spin_unlock(&ds_clients_lock);
	return client;
}

u64 ds_client_token(const struct ds_client *client)
{
	return client->token;
}

bool ds_client_ended(const struct ds_client *client)
{
	return READ_ONCE(client->ended);
}

/* With the lock, so that what is looked at next is not older. */
bool ds_client_gone(struct ds_client *client)
{
	bool gone;

	spin_lock(&ds_clients_lock);
	gone = hlist_unhashed(&client->link);
	spin_unlock(&ds_clients_lock);
	return gone;
}

struct ds_space *ds_client_space(const struct ds_client *client)
{
	return client->space;
}

int ds_client_enter(struct ds_client *client)
{
	if (!client)
		return 0;
	if (!refcount_inc_not_zero(&client->users))
		return -ESHUTDOWN;
	smp_mb__after_atomic();	/* pairs with the one in ds_client_end() */
	if (!READ_ONCE(client->ended))
		return 0;
	ds_client_leave(client);
	return -ESHUTDOWN;
}

void ds_client_leave(struct ds_client *client)
{
	struct ds_client_watch *w;

	if (!client || !refcount_dec_and_test(&client->users))
		return;
	spin_lock(&ds_clients_lock);
	hash_del(&client->link);
	list_for_each_entry(w, &client->watches, link)
		mod_delayed_work(ds_inbox_wq, &w->work, 0);
	spin_unlock(&ds_clients_lock);
	wake_up_all(&ds_clients_wait);
	ds_client_put(client);
}

void ds_client_end(struct ds_client *client)
{
	bool first;

	spin_lock(&ds_clients_lock);
	first = !client->ended;
	WRITE_ONCE(client->ended, true);
	spin_unlock(&ds_clients_lock);
	if (!first)
		return;
	smp_mb();	/* pairs with the one in ds_client_enter() */
	ds_client_leave(client);
}

/* Add those in a part of the table to @ended: of the space, or if there is none of the domain. */
static void ds_clients_end_part(struct hlist_head *part, const struct ds_space *space,
				const struct ds_domain *domain, struct list_head *ended)
{
	struct ds_client *client;

	spin_lock(&ds_clients_lock);
	hlist_for_each_entry(client, part, link) {
		if (!client->ended &&
		    (space ? client->space == space : client->space->domain == domain)) {
			WRITE_ONCE(client->ended, true);
			list_add_tail(&client->ending, ended);
		}
	}
	spin_unlock(&ds_clients_lock);
}

/* Who enrolls meanwhile is as one who does so afterwards. */
static void ds_clients_end_all(const struct ds_space *space, const struct ds_domain *domain)
{
	struct ds_client *client, *next;
	LIST_HEAD(ended);
	u32 i;

	for (i = 0; i < HASH_SIZE(ds_clients); i++) {
		ds_clients_end_part(&ds_clients[i], space, domain, &ended);
		cond_resched();
	}
	smp_mb();	/* pairs with the one in ds_client_enter() */
	list_for_each_entry_safe(client, next, &ended, ending) {
		ds_client_leave(client);
		cond_resched();
	}
}

void ds_clients_end(const struct ds_space *space)
{
	ds_clients_end_all(space, NULL);
}

void ds_clients_end_of(const struct ds_domain *domain)
{
	ds_clients_end_all(NULL, domain);
}

int ds_client_wait_gone(struct ds_client *client, u32 timeout_ms)
{
	long left;

	left = wait_event_killable_timeout(ds_clients_wait, ds_client_gone(client),
					   msecs_to_jiffies(timeout_ms) + 1);
	if (left < 0)
		return -EINTR;
	return left ? 0 : -ETIMEDOUT;
}

/* All under the lock: the work, once it has it, is queued by nobody any more. */
void ds_client_watch(struct ds_client *client, struct ds_client_watch *w, u32 timeout_ms)
{
	bool gone;

	spin_lock(&ds_clients_lock);
	gone = hlist_unhashed(&client->link);
	list_add_tail(&w->link, &client->watches);
	queue_delayed_work(ds_inbox_wq, &w->work, gone ? 0 : msecs_to_jiffies(timeout_ms) + 1);
	spin_unlock(&ds_clients_lock);
}

bool ds_client_unwatch(struct ds_client *client, struct ds_client_watch *w)
{
	bool gone;

	spin_lock(&ds_clients_lock);
	gone = hlist_unhashed(&client->link);
	list_del(&w->link);
	cancel_delayed_work(&w->work);	/* it may have gone when the work had begun */
	spin_unlock(&ds_clients_lock);
	return gone;
}

struct ds_client *ds_client_find(u64 token)
{
	struct ds_client *client, *found = NULL;

	spin_lock(&ds_clients_lock);
	hash_for_each_possible(ds_clients, client, link, token) {
		if (client->token == token) {
			ds_client_get(client);
			found = client;
			break;
		}
	}
	spin_unlock(&ds_clients_lock);
	return found;
}

/* Numbers of before a restart shall not come again soon. */
void ds_clients_init(void)
{
	get_random_bytes(&ds_clients_last, sizeof(ds_clients_last));
}

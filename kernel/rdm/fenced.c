// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: clients that were fenced while their node could not be asked.
 *
 * Entries have numbers that grow. A node is told of those that concern it when it
 * is about to attach a segment; when it then does, it has read the answer, and
 * the entries up to the last one that was in it go. A node that never comes back
 * leaves its entries, and anybody can make up clients and nodes. So each client has one
 * entry however often it is fenced, and of the room that is left a host gets no more than it
 * has already: whoever takes what he can leaves some to the others.
 *
 * Locking: ds_fenced_lock is innermost.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "client.h"
#include "conn.h"
#include "fenced.h"
#include "space.h"

/**
 * struct ds_fenced_client - a client that is or was being fenced
 * @link: in the list, or empty
 * @number: its place in it
 * @domain: trust domain of who fences and is fenced
 * @node: where the client is
 * @token: its number there
 * @by: node of who fenced it first
 * @fences: that are under way
 * @missed: one ended well without its node
 */
struct ds_fenced_client {
	struct list_head	link;
	u64			number;
	u32			domain;
	u32			node;
	u64			token;
	u32			by;
	u32			fences;
	bool			missed;
};

static LIST_HEAD(ds_fenced_list);	/* by number */
static DEFINE_SPINLOCK(ds_fenced_lock);
static u64 ds_fenced_last;		/* number */
static u32 ds_fenced_count;

/* Nobody is to be told of it any more. */
static void ds_fenced_drop(struct ds_fenced_client *client)
{
	lockdep_assert_held(&ds_fenced_lock);
	if (!list_empty(&client->link)) {
		list_del_init(&client->link);
		ds_fenced_count--;
	}
	if (!client->fences)
		kfree(client);
}

/* The entry of the same client. @by_same: how many are of the same host as @wanted. */
static struct ds_fenced_client *ds_fenced_find(const struct ds_fenced_client *wanted, u32 *by_same)
{
	struct ds_fenced_client *client;

	lockdep_assert_held(&ds_fenced_lock);
	*by_same = 0;
	list_for_each_entry(client, &ds_fenced_list, link) {
		if (client->domain != wanted->domain)
			continue;
		if (client->node == wanted->node && client->token == wanted->token)
			return client;
		*by_same += client->by == wanted->by;
	}
	return NULL;
}

struct ds_fenced_client *ds_fenced_begin(const struct ds_conn *by, const struct ds_fence_req *req)
{
	struct ds_fenced_client *new = kzalloc(sizeof(*new), GFP_KERNEL), *client;
	u32 by_same;

	if (!new)
		return ERR_PTR(-ENOMEM);
	new->domain = by->hs.peer.domain;
	new->node = le32_to_cpu(req->node);
	new->token = le64_to_cpu(req->token);
	new->by = by->hs.peer.node;
	spin_lock(&ds_fenced_lock);
	client = ds_fenced_find(new, &by_same);
	if (!client && by_same < DS_FENCED_KEPT - ds_fenced_count) {
		client = new;
		client->number = ++ds_fenced_last;
		list_add_tail(&client->link, &ds_fenced_list);
		ds_fenced_count++;
	}
	if (client)
		client->fences++;
	spin_unlock(&ds_fenced_lock);
	if (client != new)
		kfree(new);
	if (client)
		return client;
	pr_warn_ratelimited("node %u may fence no more clients of nodes that do not come back\n",
			    by->hs.peer.node);
	return ERR_PTR(-EDQUOT);
}

void ds_fenced_done(struct ds_fenced_client *client, enum ds_fenced_end end)
{
	spin_lock(&ds_fenced_lock);
	client->fences--;
	client->missed |= end == DS_FENCED_MISSED;
	if (end == DS_FENCED_TOLD || list_empty(&client->link) ||
	    (!client->fences && !client->missed))
		ds_fenced_drop(client);
	spin_unlock(&ds_fenced_lock);
}

static bool ds_fenced_concerns(const struct ds_fenced_client *client, const struct ds_conn *conn)
{
	return client->domain == conn->hs.peer.domain && client->node == conn->hs.peer.node;
}

int ds_fenced_tell(struct ds_conn *conn, u64 after, void *reply, u32 *reply_length)
{
	struct ds_fenced_client *client;
	struct ds_fenced *fenced = reply;
	u32 count = 0, more = 0;

	spin_lock(&ds_fenced_lock);
	conn->knows = ds_fenced_last;
	list_for_each_entry(client, &ds_fenced_list, link) {
		if (client->number <= after || !ds_fenced_concerns(client, conn))
			continue;
		if (count == DS_FENCED_MAX) {
			conn->knows = client->number - 1;
			more = 1;
			break;
		}
		fenced->tokens[count++] = cpu_to_le64(client->token);
	}
	fenced->last = cpu_to_le64(conn->knows);
	spin_unlock(&ds_fenced_lock);
	fenced->count = cpu_to_le32(count);
	fenced->more = cpu_to_le32(more);
	*reply_length = struct_size(fenced, tokens, count);
	return 0;
}

void ds_fenced_forget(struct ds_conn *conn)
{
	struct ds_fenced_client *client, *next;

	spin_lock(&ds_fenced_lock);
	list_for_each_entry_safe(client, next, &ds_fenced_list, link) {
		if (client->number <= conn->knows && ds_fenced_concerns(client, conn))
			ds_fenced_drop(client);
	}
	spin_unlock(&ds_fenced_lock);
}

/* A server says who was fenced among its own domain's clients, not among others. */
void ds_fenced_learn(const struct ds_conn *conn, const struct ds_fenced *fenced)
{
	struct ds_client *client;
	u32 i;

	for (i = 0; i < le32_to_cpu(fenced->count); i++) {
		client = ds_client_find(le64_to_cpu(fenced->tokens[i]));
		if (!client)
			continue;
		if (ds_client_space(client)->domain == conn->domain)
			ds_client_end(client);
		ds_client_put(client);
	}
}

void ds_fenced_exit(void)
{
	struct ds_fenced_client *client, *next;

	list_for_each_entry_safe(client, next, &ds_fenced_list, link)
		kfree(client);
}

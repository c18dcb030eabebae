// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: clients that were fenced while their node could not be asked.
 *
 * Entries have numbers that grow. A node is told of those that concern it when it
 * is about to attach a segment; when it then does, it has read the answer, and
 * the entries up to the last one that was in it go. A node that never comes back
 * leaves its entries: when there are too many, the oldest are dropped, and from
 * then on every node is told that it has missed some.
 *
 * Locking: ds_fenced_lock is innermost.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "client.h"
#include "conn.h"
#include "fenced.h"

#define DS_FENCED_KEPT	4096

struct ds_fenced_client {
	struct list_head	link;
	u64			number;
	u32			domain;
	u32			node;
	u64			token;
};

static LIST_HEAD(ds_fenced_list);	/* by number */
static DEFINE_SPINLOCK(ds_fenced_lock);
static u64 ds_fenced_last;		/* number */
static u32 ds_fenced_count;
static bool ds_fenced_dropped;

static void ds_fenced_drop(struct ds_fenced_client *client)
{
	lockdep_assert_held(&ds_fenced_lock);
	list_del(&client->link);
	ds_fenced_count--;
	kfree(client);
}

int ds_fenced_add(u32 domain, const struct ds_fence_req *req)
{
	struct ds_fenced_client *client = kmalloc(sizeof(*client), GFP_KERNEL);

	if (!client)
		return -ENOMEM;
	client->domain = domain;
	client->node = le32_to_cpu(req->node);
	client->token = le64_to_cpu(req->token);
	spin_lock(&ds_fenced_lock);
	client->number = ++ds_fenced_last;
	list_add_tail(&client->link, &ds_fenced_list);
	if (++ds_fenced_count > DS_FENCED_KEPT) {
		ds_fenced_drop(list_first_entry(&ds_fenced_list, struct ds_fenced_client, link));
		ds_fenced_dropped = true;
	}
	spin_unlock(&ds_fenced_lock);
	return 0;
}

void ds_fenced_del(u32 domain, const struct ds_fence_req *req)
{
	struct ds_fenced_client *client;

	/* The last one that names it: earlier ones are of fences that nobody has answered. */
	spin_lock(&ds_fenced_lock);
	list_for_each_entry_reverse(client, &ds_fenced_list, link) {
		if (client->domain == domain && client->node == le32_to_cpu(req->node) &&
		    client->token == le64_to_cpu(req->token)) {
			ds_fenced_drop(client);
			break;
		}
	}
	spin_unlock(&ds_fenced_lock);
}

static bool ds_fenced_concerns(const struct ds_fenced_client *client, const struct ds_conn *conn)
{
	return client->domain == conn->hs.peer.domain && client->node == conn->hs.peer.node;
}

int ds_fenced_tell(struct ds_conn *conn, void *reply, u32 *reply_length)
{
	struct ds_fenced_client *client;
	struct ds_fenced *fenced = reply;
	u32 count = 0;

	spin_lock(&ds_fenced_lock);
	fenced->all = cpu_to_le32(ds_fenced_dropped);
	list_for_each_entry(client, &ds_fenced_list, link) {
		if (!ds_fenced_concerns(client, conn))
			continue;
		if (count == DS_FENCED_MAX)
			fenced->all = cpu_to_le32(1);
		else
			fenced->tokens[count++] = cpu_to_le64(client->token);
	}
	conn->knows = ds_fenced_last;
	spin_unlock(&ds_fenced_lock);
	fenced->count = cpu_to_le32(count);
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

void ds_fenced_end(const struct ds_fenced *fenced)
{
	struct ds_client *client;
	u32 i;

	for (i = 0; i < le32_to_cpu(fenced->count); i++) {
		client = ds_client_find(le64_to_cpu(fenced->tokens[i]));
		if (!client)
			continue;
		ds_client_end(client);
		ds_client_put(client);
	}
	if (fenced->all)
		ds_clients_end(NULL);
}

void ds_fenced_exit(void)
{
	struct ds_fenced_client *client, *next;

	list_for_each_entry_safe(client, next, &ds_fenced_list, link)
		kfree(client);
}

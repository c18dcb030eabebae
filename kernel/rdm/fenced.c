// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: clients that were fenced while their node could not be asked.
 *
 * Entries have numbers that grow. A node is told of those that concern it when it
 * is about to attach a segment; when it then does, it says how far it knows, and
 * the entries up to there go. A node that never comes back leaves its entries, and
 * anybody can make up clients and nodes. So each client has one entry however often
 * it is fenced; and where there is no room for another, all clients of one node count
 * as fenced: of the one that has as many as an answer can tell of, or of the one of
 * the oldest entry. Trust domains do not share room.
 *
 * A look, which fences nobody, is remembered as well, as it counts for a fence if it
 * finds nobody to ask. Until then nobody is told of it.
 *
 * Locking: ds_fenced_lock is innermost.
 */
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <uapi/ds/ioctl.h>
#include "client.h"
#include "conn.h"
#include "domain.h"
#include "fenced.h"
#include "space.h"

#define DS_FENCED_KEPT	4096	/* clients of a trust domain */

/**
 * struct ds_fenced_client - a client that is or was being fenced
 * @link: in ds_fenced_set.clients, or empty
 * @number: its place there
 * @node: where the client is
 * @token: its number there
 * @fences: that are under way
 * @looks: likewise
 * @missed: one ended well without its node
 * @passed: its node attached without being told, as there were only looks
 * @by_node: it has no place there, as all clients of its node count as fenced
 */
struct ds_fenced_client {
	struct list_head	link;
	u64			number;
	u32			node;
	u64			token;
	u32			fences;
	u32			looks;
	bool			missed;
	bool			passed;
	bool			by_node;
};

/**
 * struct ds_fenced_node - a node whose clients all count as fenced
 * @link: in ds_fenced_set.nodes
 * @node: its number
 * @number: the node must know all up to this
 * @begun: number of the fence that was begun last
 * @known: it does know all up to this
 * @busy: clients of its that are being fenced now
 */
struct ds_fenced_node {
	struct hlist_node	link;
	u32			node;
	u64			number;
	u64			begun;
	u64			known;
	u32			busy;
};

/**
 * struct ds_fenced_set - what is remembered for a trust domain; it stays until the module goes
 * @link: in ds_fenced_sets
 * @domain: its number
 * @count: of @clients
 * @last: number that was given last
 * @clients: by number
 * @nodes: by node
 */
struct ds_fenced_set {
	struct list_head	link;
	u32			domain;
	u32			count;
	u64			last;
	struct list_head	clients;
	DECLARE_HASHTABLE(nodes, 8);
};

static LIST_HEAD(ds_fenced_sets);
static DEFINE_SPINLOCK(ds_fenced_lock);

static struct ds_fenced_set *ds_fenced_set_of(u32 domain)
{
	struct ds_fenced_set *set;

	lockdep_assert_held(&ds_fenced_lock);
	list_for_each_entry(set, &ds_fenced_sets, link) {
		if (set->domain == domain)
			return set;
	}
	return NULL;
}

/* The domain has a set when this has returned 0. */
static int ds_fenced_set_make(u32 domain)
{
	struct ds_fenced_set *new, *set;

	spin_lock(&ds_fenced_lock);
	set = ds_fenced_set_of(domain);
	spin_unlock(&ds_fenced_lock);
	if (set)
		return 0;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->domain = domain;
	INIT_LIST_HEAD(&new->clients);
	hash_init(new->nodes);
	spin_lock(&ds_fenced_lock);
	set = ds_fenced_set_of(domain);
	if (!set)
		list_add(&new->link, &ds_fenced_sets);
	spin_unlock(&ds_fenced_lock);
	if (set)
		kfree(new);
	return 0;
}

/* Nobody is to be told of it any more. */
static void ds_fenced_drop(struct ds_fenced_set *set, struct ds_fenced_client *client)
{
	lockdep_assert_held(&ds_fenced_lock);
	if (!list_empty(&client->link)) {
		list_del_init(&client->link);
		set->count--;
	}
	if (!client->fences && !client->looks)
		kfree(client);
}

static void ds_fenced_drop_of(struct ds_fenced_set *set, u32 node, u64 last)
{
	struct ds_fenced_client *client, *next;

	list_for_each_entry_safe(client, next, &set->clients, link) {
		if (client->node == node && client->number <= last)
			ds_fenced_drop(set, client);
	}
}

static struct ds_fenced_node *ds_fenced_node_of(struct ds_fenced_set *set, u32 number)
{
	struct ds_fenced_node *node;

	hash_for_each_possible(set->nodes, node, link, number) {
		if (node->node == number)
			return node;
	}
	return NULL;
}

/* The node, once it is to go and is out of the set; else NULL. */
static struct ds_fenced_node *ds_fenced_remove_node(struct ds_fenced_node *node)
{
	if (!node || node->busy || node->number > node->known)
		return NULL;
	hash_del(&node->link);
	return node;
}

/* All clients of a node that is not one yet. */
static void ds_fenced_add_node(struct ds_fenced_set *set, u32 number, struct ds_fenced_node *node)
{
	node->node = number;
	node->number = ++set->last;
	hash_add(set->nodes, &node->link, number);
	ds_fenced_drop_of(set, number, set->last);
}

/* The entry of the same client. @count: set to how many its node has, up to it. */
static struct ds_fenced_client *ds_fenced_find(struct ds_fenced_set *set, u32 node, u64 token,
					       u32 *count)
{
	struct ds_fenced_client *client;

	*count = 0;
	list_for_each_entry(client, &set->clients, link) {
		if (client->node != node)
			continue;
		++*count;
		if (client->token == token)
			return client;
	}
	return NULL;
}

/* @client is being fenced: until that has ended, what its node knows is not all. */
static void ds_fenced_by_node(struct ds_fenced_set *set, struct ds_fenced_node *node,
			      struct ds_fenced_client *client)
{
	client->by_node = true;
	client->number = ++set->last;
	node->begun = client->number;
	node->busy++;
}

/* That has ended. Return: the node if it is to be freed. */
static struct ds_fenced_node *ds_fenced_node_done(struct ds_fenced_set *set,
						  const struct ds_fenced_client *client,
						  bool missed)
{
	struct ds_fenced_node *node = ds_fenced_node_of(set, client->node);

	node->busy--;
	if (missed)
		node->number = max(node->number, client->number);
	return ds_fenced_remove_node(node);
}

/* Remember @new, or that all of a node are fenced. Return: whether @spare is used for that. */
static bool ds_fenced_add(struct ds_fenced_set *set, struct ds_fenced_client *new, u32 of_node,
			  struct ds_fenced_node *spare)
{
	struct ds_fenced_client *oldest;

	if (of_node >= DS_FENCED_MAX) {
		ds_fenced_add_node(set, new->node, spare);
		ds_fenced_by_node(set, spare, new);
		return true;
	}
	new->number = ++set->last;
	list_add_tail(&new->link, &set->clients);
	if (++set->count <= DS_FENCED_KEPT)
		return false;
	oldest = list_first_entry(&set->clients, struct ds_fenced_client, link);
	ds_fenced_add_node(set, oldest->node, spare);
	return true;
}

/*
 * The entry of the client that @new is about. Its node may have been told before this, and
 * not have attached yet: it must not have all forgotten of which it was not told.
 */
static struct ds_fenced_client *ds_fenced_enter(struct ds_fenced_set *set,
						struct ds_fenced_client *new, bool look,
						struct ds_fenced_node *spare, bool *spare_used)
{
	struct ds_fenced_node *node = ds_fenced_node_of(set, new->node);
	struct ds_fenced_client *client;
	u32 of_node;

	client = ds_fenced_find(set, new->node, new->token, &of_node);
	if (client) {
		if (!look && !client->fences && !client->missed) {
			client->number = ++set->last;
			list_move_tail(&client->link, &set->clients);
		}
		return client;
	}
	if (node)
		ds_fenced_by_node(set, node, new);
	else
		*spare_used = ds_fenced_add(set, new, of_node, spare);
	return new;
}

struct ds_fenced_client *ds_fenced_begin(const struct ds_conn *by, const struct ds_fence_req *req)
{
	bool look = req->flags & cpu_to_le32(DS_FENCE_IF_GONE), node_used = false;
	struct ds_fenced_client *new, *client;
	struct ds_fenced_node *node;
	struct ds_fenced_set *set;

	if (ds_fenced_set_make(by->hs.peer.domain))
		return ERR_PTR(-ENOMEM);
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	node = kzalloc(sizeof(*node), GFP_KERNEL);
	if (!new || !node) {
		kfree(node);
		kfree(new);
		return ERR_PTR(-ENOMEM);
	}
	INIT_LIST_HEAD(&new->link);
	new->node = le32_to_cpu(req->node);
	new->token = le64_to_cpu(req->token);
	new->fences = !look;	/* it may be dropped as soon as it is in */
	new->looks = look;
	spin_lock(&ds_fenced_lock);
	set = ds_fenced_set_of(by->hs.peer.domain);
	client = ds_fenced_enter(set, new, look, node, &node_used);
	if (client != new) {
		client->fences += !look;
		client->looks += look;
	}
	spin_unlock(&ds_fenced_lock);
	if (client != new)
		kfree(new);
	if (!node_used)
		kfree(node);
	return client;
}

int ds_fenced_done(const struct ds_conn *by, struct ds_fenced_client *client, bool look, bool told,
		   int ret)
{
	struct ds_fenced_node *node = NULL;
	struct ds_fenced_set *set;

	spin_lock(&ds_fenced_lock);
	set = ds_fenced_set_of(by->hs.peer.domain);
	client->fences -= !look;
	client->looks -= look;
	if (!told && !ret && look && client->passed)
		ret = -EEXIST;
	client->missed |= !told && !ret;
	if (client->by_node)
		node = ds_fenced_node_done(set, client, client->missed);
	if (told || list_empty(&client->link) ||
	    (!client->fences && !client->looks && !client->missed))
		ds_fenced_drop(set, client);
	spin_unlock(&ds_fenced_lock);
	kfree(node);
	return ret;
}

static u32 ds_fenced_tell_tokens(struct ds_fenced_set *set, u32 node, __le64 *tokens)
{
	struct ds_fenced_client *client;
	u32 count = 0;

	list_for_each_entry(client, &set->clients, link) {
		if (client->node != node)
			continue;
		if (client->fences || client->missed)
			tokens[count++] = cpu_to_le64(client->token);
		else
			client->passed = true;
	}
	return count;
}

/* Is there anything that the node does not know, should the fences under way miss it? */
static bool ds_fenced_is_news(const struct ds_fenced_node *node)
{
	return max(node->number, node->begun) > node->known;
}

int ds_fenced_tell(const struct ds_conn *conn, void *reply, u32 *reply_length)
{
	struct ds_fenced *fenced = reply;
	struct ds_fenced_node *node;
	struct ds_fenced_set *set;
	u32 count = 0;

	memset(fenced, 0, sizeof(*fenced));
	spin_lock(&ds_fenced_lock);
	set = ds_fenced_set_of(conn->hs.peer.domain);
	if (set) {
		fenced->last = cpu_to_le64(set->last);
		node = ds_fenced_node_of(set, conn->hs.peer.node);
		if (node)
			fenced->all = cpu_to_le32(ds_fenced_is_news(node));
		else
			count = ds_fenced_tell_tokens(set, conn->hs.peer.node, fenced->tokens);
	}
	spin_unlock(&ds_fenced_lock);
	fenced->count = cpu_to_le32(count);
	*reply_length = struct_size(fenced, tokens, count);
	return 0;
}

void ds_fenced_forget(const struct ds_conn *conn, u64 last)
{
	struct ds_fenced_node *node = NULL;
	struct ds_fenced_set *set;

	spin_lock(&ds_fenced_lock);
	set = ds_fenced_set_of(conn->hs.peer.domain);
	if (set) {
		last = min(last, set->last);	/* it says what it likes */
		ds_fenced_drop_of(set, conn->hs.peer.node, last);
		node = ds_fenced_node_of(set, conn->hs.peer.node);
		if (node)
			node->known = max(node->known, last);
		node = ds_fenced_remove_node(node);
	}
	spin_unlock(&ds_fenced_lock);
	kfree(node);
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
	if (fenced->all)
		ds_clients_end_of(conn->domain);
}

void ds_fenced_exit(void)
{
	struct ds_fenced_client *client, *next;
	struct ds_fenced_set *set, *other;
	struct ds_fenced_node *node;
	struct hlist_node *tmp;
	int bucket;

	list_for_each_entry_safe(set, other, &ds_fenced_sets, link) {
		list_for_each_entry_safe(client, next, &set->clients, link)
			kfree(client);
		hash_for_each_safe(set->nodes, bucket, tmp, node, link)
			kfree(node);
		kfree(set);
	}
}

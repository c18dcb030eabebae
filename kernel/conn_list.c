// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the list of connections: who is in it, who is found, and how many there may be.
 *
 * Locking order:
 *	ds_conns_lock
 *		ds_conn.lock
 */
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <uapi/ds/netlink.h>
#include "conn.h"
#include "conn_list.h"
#include "lane.h"
#include "params.h"

#define DS_MAX_STRANGERS	64	/* who cannot keep others out for long */

static LIST_HEAD(ds_conns);
static DEFINE_MUTEX(ds_conns_lock);
static DECLARE_WAIT_QUEUE_HEAD(ds_conns_wait);
static u32 ds_conns_accepted;	/* servers in the list */
static u32 ds_conns_strangers;	/* of them, those that have not proved a key */
static u64 ds_conns_made;	/* ever */
static u32 ds_conns_gone;	/* that have left the list, ever */

/* ---- coming and going ---- */

void ds_conn_publish(struct ds_conn *conn)
{
	ds_conn_get(conn);
	mutex_lock(&ds_conns_lock);
	conn->serial = ++ds_conns_made;
	list_add_tail(&conn->link, &ds_conns);
	/* From here on it may be closed; who does that takes it from the list. */
	WRITE_ONCE(conn->state, DS_CONN_NEW);
	ds_conns_accepted += conn->server;
	ds_conns_strangers += conn->server;
	mutex_unlock(&ds_conns_lock);
}

void ds_conn_unpublish(struct ds_conn *conn)
{
	mutex_lock(&ds_conns_lock);
	list_del_init(&conn->link);
	ds_conns_accepted -= conn->server;
	ds_conns_strangers -= conn->server && !conn->trusted;
	ds_conns_gone++;
	mutex_unlock(&ds_conns_lock);
	wake_up_all(&ds_conns_wait);
}

/*
 * A uuid is no secret: it counts where the same key or the same address was proved, too, or
 * where the administrator named both addresses.
 */
static bool ds_conn_same_host(const struct ds_conn *a, const struct ds_conn *b)
{
	return !memcmp(a->hs.peer.uuid, b->hs.peer.uuid, DS_UUID_LEN) &&
	       (a->hs.peer.domain == b->hs.peer.domain || ds_addr_equal(&a->addr, &b->addr) ||
		(!a->server && !b->server));
}

/*
 * Does another host that is connected have @conn's node number? Then messages
 * for that node could reach the wrong host. One at the same address has
 * restarted: its connection of before is closed.
 */
static bool ds_conn_node_taken(struct ds_conn *conn)
{
	struct ds_conn *other;
	bool taken = false;

	lockdep_assert_held(&ds_conns_lock);
	list_for_each_entry(other, &ds_conns, link) {
		if (!other->trusted || READ_ONCE(other->state) == DS_CONN_CLOSING ||
		    other->hs.peer.node != conn->hs.peer.node || ds_conn_same_host(other, conn))
			continue;
		if (ds_addr_equal(&other->addr, &conn->addr))
			ds_conn_close(other, "the other host has restarted");
		else
			taken = true;
	}
	return taken;
}

static bool ds_conns_full(void)
{
	return ds_conns_accepted - ds_conns_strangers >= ds_max_peers;
}

u32 ds_conn_trust(struct ds_conn *conn)
{
	u32 reject = DS_REJECT_NONE;

	mutex_lock(&ds_conns_lock);
	if (ds_conn_node_taken(conn)) {
		reject = DS_REJECT_NODE;
	} else if (conn->server && ds_conns_full()) {
		reject = DS_REJECT_BUSY;	/* others were faster */
	} else {
		WRITE_ONCE(conn->trusted, true);
		ds_conns_strangers -= conn->server;
	}
	mutex_unlock(&ds_conns_lock);
	return reject;
}

/* ---- look-up ---- */

struct ds_conn *ds_conn_find(u32 node)
{
	struct ds_conn *conn, *found = NULL;

	mutex_lock(&ds_conns_lock);
	list_for_each_entry(conn, &ds_conns, link) {
		if (READ_ONCE(conn->state) != DS_CONN_UP || conn->hs.peer.node != node)
			continue;
		if (!found || found->server)
			found = conn;
	}
	if (found)
		ds_conn_get(found);
	mutex_unlock(&ds_conns_lock);
	return found;
}

struct ds_conn *ds_conn_match_server(bool (*match)(struct ds_conn *conn, void *ctx), void *ctx)
{
	struct ds_conn *conn, *found = NULL;

	mutex_lock(&ds_conns_lock);
	list_for_each_entry(conn, &ds_conns, link) {
		if (conn->server && match(conn, ctx)) {
			ds_conn_get(conn);
			found = conn;
			break;
		}
	}
	mutex_unlock(&ds_conns_lock);
	return found;
}

bool ds_conn_room(void)
{
	bool room;

	mutex_lock(&ds_conns_lock);
	room = ds_conns_strangers < DS_MAX_STRANGERS && !ds_conns_full();
	mutex_unlock(&ds_conns_lock);
	return room;
}

int ds_conn_each_server(int (*fn)(struct ds_conn *conn, void *ctx), void *ctx)
{
	struct ds_conn *conn;
	int ret = 0;

	mutex_lock(&ds_conns_lock);
	list_for_each_entry(conn, &ds_conns, link) {
		if (conn->server)
			ret = fn(conn, ctx);
		if (ret)
			break;
	}
	mutex_unlock(&ds_conns_lock);
	return ret;
}

/* Close what is on @dev; true when nothing is. */
static bool ds_conn_device_clear(struct ds_device *dev, const char *reason, u32 *gone)
{
	struct ds_conn *conn;
	bool clear = true;

	mutex_lock(&ds_conns_lock);
	list_for_each_entry(conn, &ds_conns, link) {
		if (!dev || conn->dev == dev) {
			ds_conn_close(conn, reason);
			clear = false;
		}
	}
	*gone = ds_conns_gone;
	mutex_unlock(&ds_conns_lock);
	return clear;
}

void ds_conn_close_device(struct ds_device *dev, const char *reason)
{
	u32 gone;

	while (!ds_conn_device_clear(dev, reason, &gone))
		wait_event(ds_conns_wait, READ_ONCE(ds_conns_gone) != gone);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: clients, programs whose use of a space can be ended by others (fenced).
 *
 * A program enrolls its handle of a space. From then on its chains on that
 * handle begin only until the client is ended. One that has ended and has no chain
 * on its way any more is gone.
 */
#ifndef _DS_CLIENT_H
#define _DS_CLIENT_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct ds_client;
struct ds_domain;
struct ds_space;

#define DS_CLIENT_TOKEN_BITS	48

/**
 * ds_client_create - a client of @space
 *
 * Context: process.
 * Return: it with a reference, or NULL: no memory
 */
struct ds_client *ds_client_create(struct ds_space *space);

/* Its number on this host, never 0, not used again before 2^48 others were. */
u64 ds_client_token(const struct ds_client *client);

void ds_client_get(struct ds_client *client);
void ds_client_put(struct ds_client *client);

/**
 * ds_client_enter - a chain of the client begins; with NULL, of nobody's
 *
 * To be called when the chain has its keys: keys that came after the client was
 * ended are never used by it. Context: process.
 * Return: 0, and ds_client_leave() is called when the chain has ended; -ESHUTDOWN
 */
int ds_client_enter(struct ds_client *client);
void ds_client_leave(struct ds_client *client);

/* No chain begins any more. Context: process. */
void ds_client_end(struct ds_client *client);

/* End all clients of @space, or of all spaces of @domain. Context: process. */
void ds_clients_end(const struct ds_space *space);
void ds_clients_end_of(const struct ds_domain *domain);

/**
 * ds_client_wait_gone - wait until an ended client is gone
 *
 * Context: process, killable.
 * Return: 0, -ETIMEDOUT, -EINTR
 */
int ds_client_wait_gone(struct ds_client *client, u32 timeout_ms);

/**
 * struct ds_client_watch - what is done when a client is gone, or has taken too long
 * @link: of the client; private
 * @work: does it, on ds_inbox_wq; the caller's, which begins with ds_client_unwatch()
 */
struct ds_client_watch {
	struct list_head	link;
	struct delayed_work	work;
};

/*
 * Have @w->work run when an ended client is gone, or after @timeout_ms. The second one says
 * whether it is, and the work is not queued again. Context: process.
 */
void ds_client_watch(struct ds_client *client, struct ds_client_watch *w, u32 timeout_ms);
bool ds_client_unwatch(struct ds_client *client, struct ds_client_watch *w);

/**
 * ds_client_find - the client with number @token, with a reference
 *
 * Return: NULL: it is gone, or never was
 */
struct ds_client *ds_client_find(u64 token);
bool ds_client_ended(const struct ds_client *client);
bool ds_client_gone(struct ds_client *client);
struct ds_space *ds_client_space(const struct ds_client *client);

void ds_clients_init(void);

#endif

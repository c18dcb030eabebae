// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: DS_IOC_ENROLL and DS_IOC_FENCE: handles of spaces whose users can be ended.
 */
#include <linux/slab.h>
#include <uapi/ds/wire.h>
#include "file.h"
#include "rdm/client.h"
#include "rdm/fence.h"
#include "rdm/space.h"

#define DS_ENROLL_DEFAULT_MS	30000

void ds_space_handle_free(struct ds_space_handle *sh)
{
	if (sh->client) {
		ds_client_end(sh->client);
		ds_client_put(sh->client);
	}
	ds_space_put(sh->space);
	kfree(sh);
}

static struct ds_space_handle *ds_enroll_handle(struct ds_file *file, u32 handle, int *err)
{
	lockdep_assert_held(&file->lock);
	return ds_handle_get(&file->tables[DS_HANDLE_SPACE], handle, err);
}

static int ds_enroll(struct ds_file *file, struct ds_ioc_enroll *arg)
{
	struct ds_space_handle *sh;
	int err = 0;

	mutex_lock(&file->lock);
	sh = ds_enroll_handle(file, arg->space, &err);
	if (sh && sh->client) {
		err = -EBUSY;
	} else if (sh) {
		sh->client = ds_client_create(sh->space);
		if (sh->client)
			arg->out_token = ds_client_token(sh->client);
		else
			err = -ENOMEM;
	}
	mutex_unlock(&file->lock);
	return err;
}

/* The client of a handle with a reference, or an ERR_PTR. */
static struct ds_client *ds_enrolled(struct ds_file *file, u32 handle)
{
	struct ds_client *client = NULL;
	struct ds_space_handle *sh;
	int err = -ENOENT;

	mutex_lock(&file->lock);
	sh = ds_enroll_handle(file, handle, &err);
	if (sh && sh->client) {
		client = sh->client;
		ds_client_get(client);
	} else if (sh) {
		err = -ENOENT;
	}
	mutex_unlock(&file->lock);
	return client ?: ERR_PTR(err);
}

/* Take @client away from the handle, unless somebody else has. */
static void ds_enroll_forget(struct ds_file *file, u32 handle, struct ds_client *client)
{
	struct ds_space_handle *sh;
	int err;

	mutex_lock(&file->lock);
	sh = ds_enroll_handle(file, handle, &err);
	if (sh && sh->client == client) {
		sh->client = NULL;
		ds_client_put(client);
	}
	mutex_unlock(&file->lock);
}

static int ds_withdraw(struct ds_file *file, struct ds_ioc_enroll *arg)
{
	struct ds_client *client = ds_enrolled(file, arg->space);
	int err;

	if (IS_ERR(client))
		return PTR_ERR(client);
	ds_client_end(client);
	err = ds_client_wait_gone(client, arg->timeout_ms ?: DS_ENROLL_DEFAULT_MS);
	if (!err)
		ds_enroll_forget(file, arg->space, client);
	ds_client_put(client);
	return err;
}

int ds_file_enroll(struct ds_file *file, void *p)
{
	struct ds_ioc_enroll *arg = p;

	arg->out_token = 0;
	if (arg->flags & ~DS_ENROLL_WITHDRAW)
		return -EOPNOTSUPP;
	if (arg->flags & DS_ENROLL_WITHDRAW)
		return ds_withdraw(file, arg);
	return arg->timeout_ms ? -EINVAL : ds_enroll(file, arg);
}

void ds_file_undo_enroll(struct ds_file *file, void *p)
{
	struct ds_ioc_enroll *arg = p;
	struct ds_client *client;

	if (arg->flags & DS_ENROLL_WITHDRAW)
		return;		/* what is done may be told again: there is none */
	client = ds_enrolled(file, arg->space);
	if (IS_ERR(client))
		return;		/* withdrawn, or closed since then */
	ds_client_end(client);
	ds_enroll_forget(file, arg->space, client);
	ds_client_put(client);
}

int ds_file_fence(struct ds_file *file, void *p)
{
	struct ds_ioc_fence *arg = p;
	struct ds_space_handle *sh;
	struct ds_space *space = NULL;
	int err = 0;

	if (arg->flags & ~DS_FENCE_IF_GONE)
		return -EOPNOTSUPP;
	if (arg->reserved || !arg->node || arg->node > DS_NODE_MAX || !arg->token ||
	    arg->token >> DS_CLIENT_TOKEN_BITS)
		return -EINVAL;

	mutex_lock(&file->lock);
	sh = ds_enroll_handle(file, arg->space, &err);
	if (sh && !(sh->access & DS_ACCESS_WRITE)) {
		err = -EACCES;
	} else if (sh) {
		space = sh->space;
		ds_space_get(space);
	}
	mutex_unlock(&file->lock);
	if (!space)
		return err;
	err = ds_fence(space, arg->node, arg->token, arg->flags,
		       arg->timeout_ms ?: DS_ENROLL_DEFAULT_MS);
	ds_space_put(space);
	return err;
}

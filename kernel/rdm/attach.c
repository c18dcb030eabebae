// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: attachments, the segments of peers that this host uses, and their keys.
 *
 * Each time a connection comes up, the keys are asked for anew, as they may
 * have changed with the other host's device. A set of keys belongs to one
 * connection and dies with it.
 */
#include <linux/slab.h>
#include <uapi/ds/ioctl.h>
#include <uapi/ds/netlink.h>
#include <uapi/ds/wire.h>
#include "attach.h"
#include "conn.h"
#include "debug.h"
#include "device.h"
#include "msg.h"
#include "space.h"
#include "tokens.h"

#define DS_DETACH_MS	2000
#define DS_DRAIN_MS	30000	/* for chains in flight, and those before them, to end */

/* A segment may take a quarter of all tokens: 2 TiB in chunks of 2 MiB. */
#define DS_KEYSET_CHUNKS	(1u << (DS_TOKEN_INDEX_BITS - 2))
/*
 * Its owner, who says how long its chunks are, may be hostile, and tokens are few. Chunks of a
 * device that registers 64 pages at a time are so long; a small segment may have shorter ones.
 */
#define DS_KEYSET_CHUNK		SZ_256K
#define DS_KEYSET_SMALL		1024u	/* chunks */

static void ds_keyset_free(struct ds_keyset *keys)
{
	u32 i;

	for (i = 0; i < keys->chunks && keys->tokens[i]; i++) {
		ds_token_end(keys->tokens[i]);
		cond_resched();
	}
	ds_conn_put(keys->conn);
	kvfree_rcu(keys, rcu);
}

void ds_keyset_put(struct ds_keyset *keys)
{
	if (refcount_dec_and_test(&keys->users))
		complete(&keys->unused);
}

struct ds_keyset *ds_keyset_get(struct ds_space *space, u32 server, u32 *node, int *err)
{
	struct ds_keyset *keys = NULL;
	struct ds_attach *a;

	*node = 0;
	*err = -ENXIO;
	rcu_read_lock();
	a = rcu_dereference(space->servers[server]);
	if (a) {
		*node = a->node;
		keys = rcu_dereference(a->keys);
		if (keys && !refcount_inc_not_zero(&keys->users))
			keys = NULL;
		if (!keys) {
			switch (READ_ONCE(a->state)) {
			case DS_ATTACH_LOST:
				*err = -ENODATA;
				break;
			case DS_ATTACH_REVOKED:
				*err = -EKEYREVOKED;
				break;
			default:
				*err = -ENOTCONN;
			}
		}
	}
	rcu_read_unlock();
	return keys;
}

struct ds_attach *ds_attach_create(u32 node, u64 segment)
{
	struct ds_attach *a = kzalloc(sizeof(*a), GFP_KERNEL);

	if (a) {
		a->node = node;
		a->segment = segment;
		a->state = DS_ATTACH_DOWN;
	}
	return a;
}

/*
 * An errno of an answer, if it is one that a node has reason to give: others
 * mean something else to our caller, -EINTR and -ERESTARTSYS for one.
 */
static int ds_attach_status(int status)
{
	switch (status) {
	case -ENOENT:
	case -EACCES:
	case -EPERM:
	case -EDQUOT:
	case -EAGAIN:
	case -EINVAL:
	case -ENOMEM:
	case -ENOTCONN:
	case -ENODEV:
	case -EIO:
	case -EOPNOTSUPP:
	case -ECONNREFUSED:
		return status;
	default:
		return -EPROTO;
	}
}

static void ds_attach_tell(struct ds_attach *a, struct ds_conn *conn, u32 timeout_ms)
{
	struct ds_seg_req req = {
		.verb		= cpu_to_le32(DS_SEG_DETACH),
		.segment	= cpu_to_le64(a->segment),
	};
	int status;

	/* If this is lost, the node drops the keys with the connection. */
	ds_msg_request(conn, DS_SERVICE_SEGMENT, &req, sizeof(req), NULL, NULL, &status,
		       timeout_ms, NULL);
}

/*
 * One request for keys from chunk @first on; @out has room for DS_MSG_MAX_PAYLOAD.
 * @given: set if the node may have given the keys.
 */
static int ds_attach_ask(struct ds_attach *a, struct ds_conn *conn, u32 first, u64 knows,
			 u32 timeout_ms, struct ds_seg_keys *out, bool *given)
{
	struct ds_seg_req req = {
		.verb		= cpu_to_le32(DS_SEG_ATTACH),
		.first		= cpu_to_le32(first),
		.segment	= cpu_to_le64(a->segment),
		.knows		= cpu_to_le64(knows),
	};
	u32 length = DS_MSG_MAX_PAYLOAD;
	int ret, status = 0;
	u8 outcome;

	ret = ds_msg_request(conn, DS_SERVICE_SEGMENT, &req, sizeof(req), out, &length,
			     &status, timeout_ms, &outcome);
	*given |= outcome != DS_NOT_EXECUTED && !status;
	if (ret)
		return ret;
	if (status)
		return ds_attach_status(status);
	if (length < sizeof(*out) || le32_to_cpu(out->first) != first ||
	    le32_to_cpu(out->count) > DS_SEG_KEYS_MAX || !out->count ||
	    length != struct_size(out, rkeys, le32_to_cpu(out->count)))
		return -EPROTO;
	return 0;
}

static struct ds_keyset *ds_keyset_create(const struct ds_seg_keys *first, struct ds_conn *conn,
					  u64 max_length)
{
	u64 length = le64_to_cpu(first->length);
	u32 shift = le32_to_cpu(first->chunk_shift);
	struct ds_keyset *keys;
	u64 chunks;

	if (!length || shift < PAGE_SHIFT || shift > 30)
		return ERR_PTR(-EPROTO);
	if (length > max_length)
		return ERR_PTR(-EFBIG);
	chunks = DIV_ROUND_UP_ULL(length, 1ull << shift);
	if (chunks > DS_KEYSET_CHUNKS ||
	    chunks > max_t(u64, length / DS_KEYSET_CHUNK, DS_KEYSET_SMALL))
		return ERR_PTR(-EPROTO);
	keys = kvzalloc(struct_size(keys, tokens, chunks), GFP_KERNEL_ACCOUNT);
	if (!keys)
		return ERR_PTR(-ENOMEM);
	refcount_set(&keys->users, 1);
	init_completion(&keys->unused);
	keys->length = length;
	keys->access = le32_to_cpu(first->access) & DS_ACCESS_ALL;
	keys->chunk_shift = shift;
	keys->chunks = chunks;
	keys->conn = conn;
	ds_conn_get(conn);
	return keys;
}

static int ds_keyset_add(struct ds_keyset *keys, const struct ds_seg_keys *part)
{
	u32 first = le32_to_cpu(part->first), count = le32_to_cpu(part->count);
	/* It is reached by queue pairs of this PD, and so of its trust domain. */
	struct ds_token_desc desc = { .type = DS_TOKEN_MR,
				      .mr.pd = ds_token_index(keys->conn->pd->token),
				      .mr.access = ds_token_access(keys->access),
				      .mr.page_shift = PAGE_SHIFT };
	u32 i;
	int ret;

	if (le64_to_cpu(part->length) != keys->length ||
	    le32_to_cpu(part->chunk_shift) != keys->chunk_shift ||
	    count > keys->chunks - first)
		return -EPROTO;
	for (i = first; i < first + count; i++) {
		desc.mr.rkey = le32_to_cpu(part->rkeys[i - first]);
		desc.mr.iova = (u64)i << keys->chunk_shift;
		desc.mr.length = min(1ull << keys->chunk_shift,
				     keys->length - desc.mr.iova);
		ret = ds_token_add(keys->conn->dev->tokens, &desc, &keys->tokens[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static struct ds_keyset *ds_attach_fetch(struct ds_attach *a, struct ds_conn *conn,
					 u64 max_length, u64 knows, u64 deadline)
{
	struct ds_keyset *keys = NULL;
	struct ds_seg_keys *part;
	bool given = false;
	u32 next = 0;
	int ret;

	part = kmalloc(DS_MSG_MAX_PAYLOAD, GFP_KERNEL);
	if (!part)
		return ERR_PTR(-ENOMEM);
	do {
		s64 left = deadline - ktime_get_ns();

		ret = left > 0 ? ds_attach_ask(a, conn, next, knows, left / NSEC_PER_MSEC + 1,
					       part, &given) : -ETIMEDOUT;
		if (ret)
			break;
		if (!keys) {
			keys = ds_keyset_create(part, conn, max_length);
			if (IS_ERR(keys)) {
				ret = PTR_ERR(keys);
				keys = NULL;
				break;
			}
			keys->segment = a->segment;
		}
		ret = ds_keyset_add(keys, part);
		next += le32_to_cpu(part->count);
	} while (!ret && next < keys->chunks);
	kfree(part);
	if (!ret)
		ret = ds_failpoint(DS_FP_ATTACH_KEYS);
	if (ret && keys)
		ds_keyset_free(keys);
	if (ret && given)
		ds_attach_tell(a, conn, 1);	/* no need to wait for the answer */
	return ret ? ERR_PTR(ret) : keys;
}

int ds_attach_up(struct ds_attach *a, struct ds_conn *conn, u64 max_length, u64 knows,
		 u64 deadline)
{
	struct ds_keyset *keys;

	if (a->incarnation && a->incarnation != conn->hs.peer.incarnation)
		return -ENODATA;	/* the number may stand for another segment now */
	keys = ds_attach_fetch(a, conn, max_length, knows, deadline);
	if (IS_ERR(keys))
		return PTR_ERR(keys);
	if (READ_ONCE(conn->state) != DS_CONN_UP) {
		/* Its end has been told already, or waits for our caller's lock. */
		ds_keyset_free(keys);
		return -ENOTCONN;
	}
	a->incarnation = conn->hs.peer.incarnation;
	a->length = keys->length;
	a->access = keys->access;
	a->chunks = keys->chunks;
	rcu_assign_pointer(a->keys, keys);
	WRITE_ONCE(a->state, DS_ATTACH_UP);
	return 0;
}

/*
 * The other host can keep a chain from ending for as long as it likes. When its queue
 * pair is gone, all have ended; the teardown does that before it wants any space.
 */
static void ds_keyset_drain(struct ds_keyset *keys)
{
	if (wait_for_completion_timeout(&keys->unused, msecs_to_jiffies(DS_DRAIN_MS)))
		return;
	ds_conn_close(keys->conn, "operations did not end in time");
	wait_for_completion(&keys->unused);
}

void ds_attach_down(struct ds_attach *a, u32 state)
{
	struct ds_keyset *keys = rcu_dereference_protected(a->keys, true);

	WRITE_ONCE(a->state, state);
	RCU_INIT_POINTER(a->keys, NULL);
	if (!keys)
		return;
	if (!refcount_dec_and_test(&keys->users))
		ds_keyset_drain(keys);
	ds_keyset_free(keys);
}

void ds_attach_release(struct ds_attach *a)
{
	struct ds_keyset *keys = rcu_dereference_protected(a->keys, true);
	struct ds_conn *conn = keys ? keys->conn : NULL;

	if (conn)
		ds_conn_get(conn);
	ds_attach_down(a, DS_ATTACH_DOWN);
	if (conn) {
		ds_attach_tell(a, conn, DS_DETACH_MS);
		ds_conn_put(conn);
	}
	kfree_rcu(a, rcu);
}

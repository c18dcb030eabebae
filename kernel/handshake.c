// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the authenticated handshake of two hosts.
 *
 * Each side proves the domain key over both hellos, so over both nonces, both
 * identities and its own role: neither a message of an earlier handshake nor
 * one of this side's own messages sent back to it is worth anything.
 */
#include "handshake.h"

#define HS_PAGE_SIZE	4096

static_assert(sizeof(struct ds_cm_req) == 40, "wire format");
static_assert(sizeof(struct ds_cm_rep) == 16, "wire format");
static_assert(sizeof(struct ds_msg_hdr) == 32, "wire format");
static_assert(sizeof(struct ds_hello) == 128, "wire format");
static_assert(sizeof(struct ds_auth) == 32, "wire format");
static_assert(sizeof(struct ds_auth_ok) == 272, "wire format");

enum hs_state {
	HS_CLIENT = 0,		/* has sent nothing */
	HS_HELLO_SENT = 1,
	HS_AUTH_SENT = 2,
	HS_SERVER = 3,		/* waits for HELLO */
	HS_REPLY_SENT = 4,
	HS_UP = 5,
	HS_FAILED = 6,
	HS_STATES = 7,
};

static bool hs_is_zero(const void *p, u32 n)
{
	const u8 *byte = p;
	u8 any = 0;

	while (n--)
		any |= *byte++;
	return !any;
}

/* Takes the same time wherever the first difference is. */
static bool ds_memneq(const u8 *a, const u8 *b, u32 n)
{
	u8 any = 0;

	while (n--)
		any |= READ_ONCE(*a++) ^ READ_ONCE(*b++);
	return any;
}

/* Not memset(), which may be left out for memory that is not read again. */
static void hs_wipe(u8 *p, u32 n)
{
	while (n--)
		WRITE_ONCE(*p++, 0);
}

/* ---- Connection manager ---- */

void ds_hs_make_req(struct ds_cm_req *r, u8 role, u8 nic, u64 group, u64 cookie,
		    u16 lane)
{
	memset(r, 0, sizeof(*r));
	r->magic = cpu_to_le16(DS_WIRE_MAGIC);
	r->version_min = DS_WIRE_VERSION;
	r->version_max = DS_WIRE_VERSION;
	r->role = role;
	r->nic = nic;
	r->group = cpu_to_le64(group);
	r->cookie = cpu_to_le64(cookie);
	r->lane = cpu_to_le16(lane);
}

enum ds_reject ds_hs_check_req(const void *data, u32 len, u64 group,
			       struct ds_cm_req *req)
{
	struct ds_cm_req r;
	u16 lane;

	if (len < sizeof(r))
		return DS_REJECT_MAGIC;
	memcpy(&r, data, sizeof(r));
	if (le16_to_cpu(r.magic) != DS_WIRE_MAGIC)
		return DS_REJECT_MAGIC;
	if (r.version_min > DS_WIRE_VERSION || r.version_max < DS_WIRE_VERSION)
		return DS_REJECT_VERSION;
	if (!hs_is_zero(r.reserved, sizeof(r.reserved)) ||
	    !hs_is_zero((const u8 *)data + sizeof(r), len - sizeof(r)))
		return DS_REJECT_MAGIC;

	lane = le16_to_cpu(r.lane);
	if (r.role > DS_ROLE_URGENT ||
	    r.nic ||		/* one pair of NICs, so far */
	    lane >= (r.role == DS_ROLE_BULK ? DS_MAX_LANES : 1) ||
	    (r.role == DS_ROLE_CONTROL && r.cookie))
		return DS_REJECT_MAGIC;
	if (le64_to_cpu(r.group) != group)
		return DS_REJECT_GROUP;
	if (r.role != DS_ROLE_CONTROL && !r.cookie)
		return DS_REJECT_COOKIE;

	*req = r;
	return DS_REJECT_NONE;
}

void ds_hs_make_rep(struct ds_cm_rep *r, enum ds_reject reason)
{
	memset(r, 0, sizeof(*r));
	r->magic = cpu_to_le16(DS_WIRE_MAGIC);
	r->version = DS_WIRE_VERSION;
	r->reason = reason;
}

enum ds_reject ds_hs_check_rep(const void *data, u32 len)
{
	struct ds_cm_rep r;

	if (len < sizeof(r))
		return DS_REJECT_MAGIC;
	memcpy(&r, data, sizeof(r));
	if (le16_to_cpu(r.magic) != DS_WIRE_MAGIC || r.reason > DS_REJECT_NODE ||
	    !hs_is_zero(r.reserved, sizeof(r.reserved)) ||
	    !hs_is_zero((const u8 *)data + sizeof(r), len - sizeof(r)))
		return DS_REJECT_MAGIC;
	if (r.reason == DS_REJECT_NONE && r.version != DS_WIRE_VERSION)
		return DS_REJECT_VERSION;
	return r.reason;
}

/* ---- Messages ---- */

/* What a type of message may have in its header. */
enum msg_field {
	MSG_PAYLOAD = 1,
	MSG_SERVICE = 2,
	MSG_STATUS = 4,
	MSG_SEQ = 8,
	MSG_KNOWN = 16,
};

static const u8 msg_fields[] = {
	[DS_MSG_HELLO] = MSG_KNOWN | MSG_PAYLOAD,
	[DS_MSG_HELLO_REPLY] = MSG_KNOWN | MSG_PAYLOAD,
	[DS_MSG_AUTH] = MSG_KNOWN | MSG_PAYLOAD,
	[DS_MSG_AUTH_OK] = MSG_KNOWN | MSG_PAYLOAD,
	[DS_MSG_REFUSE] = MSG_KNOWN | MSG_STATUS,
	[DS_MSG_REQUEST] = MSG_KNOWN | MSG_PAYLOAD | MSG_SERVICE | MSG_SEQ,
	[DS_MSG_RESPONSE] = MSG_KNOWN | MSG_PAYLOAD | MSG_SERVICE | MSG_SEQ |
			    MSG_STATUS,
	[DS_MSG_ONE_WAY] = MSG_KNOWN | MSG_PAYLOAD | MSG_SERVICE,
	[DS_MSG_CREDIT] = MSG_KNOWN,
};

int ds_msg_check_hdr(const struct ds_msg_hdr *hdr, u32 received)
{
	u32 length;
	u8 fields;

	if (received < sizeof(*hdr))
		return -EPROTO;
	if (le16_to_cpu(hdr->magic) != DS_WIRE_MAGIC ||
	    hdr->version != DS_WIRE_VERSION ||
	    hdr->type >= ARRAY_SIZE(msg_fields))
		return -EPROTO;
	fields = msg_fields[ds_array_index_nospec(hdr->type, ARRAY_SIZE(msg_fields))];
	if (!(fields & MSG_KNOWN))
		return -EPROTO;

	length = le32_to_cpu(hdr->length);
	if (length != received - sizeof(*hdr) || length > DS_MSG_MAX_PAYLOAD)
		return -EPROTO;
	if ((length && !(fields & MSG_PAYLOAD)) ||
	    (hdr->service && !(fields & MSG_SERVICE)) ||
	    (hdr->status && !(fields & MSG_STATUS)) ||
	    (hdr->seq && !(fields & MSG_SEQ)))
		return -EPROTO;
	return 0;
}

/* ---- Handshake ---- */

static int hs_mac(struct ds_hs *hs, const u8 *key, const char *label,
		  const struct ds_hello *hello, const struct ds_hello *reply,
		  u8 mac[DS_MAC_LEN])
{
	const struct ds_hs_vec vec[] = {
		{ label, 10 },		/* both labels are of this length */
		{ hello, sizeof(*hello) },
		{ reply, sizeof(*reply) },
	};

	return hs->ops->hmac(hs->ctx, key, DS_HS_KEY_LEN, vec, ARRAY_SIZE(vec), mac);
}

/*
 * Both proofs over a pair of hellos, the server's first. The server's covers
 * its hello with @mac zero, the client's covers it with @mac filled; so
 * reply->mac is an input that is zero and a result.
 */
static int hs_proofs(struct ds_hs *hs, u32 domain, const struct ds_hello *hello,
		     struct ds_hello *reply, u8 client[DS_MAC_LEN])
{
	u8 mac[DS_MAC_LEN];
	u8 key[DS_HS_KEY_LEN];
	int ret;

	ret = hs->ops->key(hs->ctx, domain, key);
	if (ret)
		return ret == -ENOENT ? DS_REJECT_DOMAIN : ret;
	ret = hs_mac(hs, key, "DS1 server", hello, reply, mac);
	if (ret)
		goto out;
	memcpy(reply->mac, mac, sizeof(mac));
	ret = hs_mac(hs, key, "DS1 client", hello, reply, client);
out:
	hs_wipe(key, sizeof(key));
	return ret;
}

static void hs_fill_hello(struct ds_hs *hs, u32 domain, struct ds_hello *h)
{
	memset(h, 0, sizeof(*h));
	memcpy(h->uuid, hs->self.uuid, sizeof(h->uuid));
	h->incarnation = cpu_to_le64(hs->self.incarnation);
	h->group = cpu_to_le64(hs->self.group);
	h->node = cpu_to_le32(hs->self.node);
	h->domain = cpu_to_le32(domain);
	h->page_size = cpu_to_le32(HS_PAGE_SIZE);
	h->order = DS_WIRE_ORDER;
	h->lanes = cpu_to_le16(hs->self.lanes);
	h->nics = cpu_to_le16(hs->self.nics);
	hs->ops->random(hs->ctx, h->nonce, sizeof(h->nonce));
}

/* Check what can be checked without a key, and note who the peer says it is. */
static enum ds_reject hs_take_peer(struct ds_hs *hs, const struct ds_hello *h)
{
	struct ds_hs_host *peer = &hs->peer;
	bool same_node, same_host;

	if (!hs_is_zero(h->reserved, sizeof(h->reserved)))
		return DS_REJECT_MAGIC;
	if (h->order != DS_WIRE_ORDER ||
	    le32_to_cpu(h->page_size) != HS_PAGE_SIZE)
		return DS_REJECT_PLATFORM;

	memcpy(peer->uuid, h->uuid, sizeof(peer->uuid));
	peer->incarnation = le64_to_cpu(h->incarnation);
	peer->group = le64_to_cpu(h->group);
	peer->node = le32_to_cpu(h->node);
	peer->domain = le32_to_cpu(h->domain);
	peer->lanes = le16_to_cpu(h->lanes);
	peer->nics = le16_to_cpu(h->nics);

	if (peer->group != hs->self.group)
		return DS_REJECT_GROUP;
	same_node = peer->node == hs->self.node;
	same_host = !memcmp(peer->uuid, hs->self.uuid, sizeof(peer->uuid));
	/* A host that speaks to itself without meaning to was led to do so. */
	if (!peer->node || peer->node > DS_NODE_MAX ||
	    same_node != hs->to_self || same_host != hs->to_self)
		return DS_REJECT_NODE;
	return DS_REJECT_NONE;
}

/* Bulk queue pairs of a NIC pair: the larger wish, within what there can be. */
static u16 hs_lanes(const struct ds_hs *hs)
{
	u16 lanes = max(hs->self.lanes, hs->peer.lanes);

	if (!lanes)
		return 1;
	return lanes < DS_MAX_LANES ? lanes : DS_MAX_LANES;
}

static __le64 hs_cookie(struct ds_hs *hs)
{
	u64 cookie;

	hs->ops->random(hs->ctx, &cookie, sizeof(cookie));
	return cpu_to_le64(cookie ? cookie : 1);	/* 0 means none */
}

/* Server: HELLO in, HELLO_REPLY out. */
static int hs_take_hello(struct ds_hs *hs, const void *payload,
			 struct ds_hs_out *out)
{
	struct ds_hello *reply = &out->payload.hello;
	struct ds_hello hello;
	int ret;

	memcpy(&hello, payload, sizeof(hello));
	ret = hs_take_peer(hs, &hello);
	if (ret)
		return ret;
	if (hs->peer.incarnation != hs->epoch ||
	    !hs_is_zero(hello.mac, sizeof(hello.mac)))
		return DS_REJECT_MAGIC;

	hs_fill_hello(hs, hs->peer.domain, reply);
	ret = hs_proofs(hs, hs->peer.domain, &hello, reply, hs->expect);
	if (ret)
		return ret;

	out->type = DS_MSG_HELLO_REPLY;
	out->length = sizeof(*reply);
	hs->state = HS_REPLY_SENT;
	return 0;
}

/* Client: HELLO_REPLY in, AUTH out. */
static int hs_take_reply(struct ds_hs *hs, const void *payload,
			 struct ds_hs_out *out)
{
	struct ds_auth *auth = &out->payload.auth;
	u8 mac[DS_MAC_LEN];
	struct ds_hello reply;
	int ret;

	memcpy(&reply, payload, sizeof(reply));
	ret = hs_take_peer(hs, &reply);
	if (ret)
		return ret;
	if (hs->peer.domain != hs->self.domain)
		return DS_REJECT_DOMAIN;

	memcpy(mac, reply.mac, sizeof(mac));
	memset(reply.mac, 0, sizeof(reply.mac));
	ret = hs_proofs(hs, hs->self.domain, &hs->hello, &reply, auth->mac);
	if (ret)
		return ret;
	if (ds_memneq(mac, reply.mac, sizeof(mac)))
		return DS_REJECT_AUTH;

	out->type = DS_MSG_AUTH;
	out->length = sizeof(*auth);
	hs->state = HS_AUTH_SENT;
	return 0;
}

/* Server: AUTH in, AUTH_OK out. */
static int hs_take_auth(struct ds_hs *hs, const void *payload,
			struct ds_hs_out *out)
{
	struct ds_auth_ok *ok = &hs->auth_ok;
	struct ds_auth auth;
	u16 i;

	memcpy(&auth, payload, sizeof(auth));
	if (ds_memneq(auth.mac, hs->expect, sizeof(auth.mac)))
		return DS_REJECT_AUTH;

	ok->lanes = cpu_to_le16(hs_lanes(hs));
	ok->urgent = hs_cookie(hs);
	for (i = 0; i < hs_lanes(hs); i++)
		ok->bulk[i] = hs_cookie(hs);

	out->type = DS_MSG_AUTH_OK;
	out->length = sizeof(*ok);
	out->payload.auth_ok = *ok;
	hs->state = HS_UP;
	return 0;
}

/* Client: AUTH_OK in, nothing out. */
static int hs_take_auth_ok(struct ds_hs *hs, const void *payload,
			   struct ds_hs_out *out)
{
	struct ds_auth_ok *ok = &hs->auth_ok;
	u16 i;

	memcpy(ok, payload, sizeof(*ok));
	if (le16_to_cpu(ok->lanes) != hs_lanes(hs) || !ok->urgent ||
	    !hs_is_zero(ok->reserved, sizeof(ok->reserved)))
		return DS_REJECT_MAGIC;
	for (i = 0; i < hs_lanes(hs); i++)
		if (!ok->bulk[i])
			return DS_REJECT_MAGIC;
	if (!hs_is_zero(&ok->bulk[i], (DS_MAX_LANES - i) * sizeof(ok->bulk[0])))
		return DS_REJECT_MAGIC;

	out->type = 0;
	hs->state = HS_UP;
	return 0;
}

/* The one message that each state waits for; other states wait for none. */
static const struct {
	u8 type;
	u16 length;
	int (*take)(struct ds_hs *hs, const void *payload, struct ds_hs_out *out);
} hs_steps[HS_STATES] = {
	[HS_HELLO_SENT] = {
		DS_MSG_HELLO_REPLY, sizeof(struct ds_hello), hs_take_reply
	},
	[HS_AUTH_SENT] = {
		DS_MSG_AUTH_OK, sizeof(struct ds_auth_ok), hs_take_auth_ok
	},
	[HS_SERVER] = {
		DS_MSG_HELLO, sizeof(struct ds_hello), hs_take_hello
	},
	[HS_REPLY_SENT] = {
		DS_MSG_AUTH, sizeof(struct ds_auth), hs_take_auth
	},
};

static int hs_refuse(struct ds_hs *hs, enum ds_reject reject,
		     struct ds_hs_out *out)
{
	hs->state = HS_FAILED;
	hs->reject = reject;
	out->type = DS_MSG_REFUSE;
	out->status = reject;
	out->length = 0;
	return -EPROTO;
}

void ds_hs_init(struct ds_hs *hs, bool server, const struct ds_hs_host *self,
		const struct ds_hs_ops *ops, void *ctx)
{
	memset(hs, 0, sizeof(*hs));
	hs->state = server ? HS_SERVER : HS_CLIENT;
	hs->epoch = server ? 0 : self->incarnation;
	hs->self = *self;
	hs->ops = ops;
	hs->ctx = ctx;
}

void ds_hs_hello(struct ds_hs *hs, struct ds_hs_out *out)
{
	memset(out, 0, sizeof(*out));
	hs_fill_hello(hs, hs->self.domain, &hs->hello);
	out->type = DS_MSG_HELLO;
	out->length = sizeof(hs->hello);
	out->payload.hello = hs->hello;
	hs->state = HS_HELLO_SENT;
}

int ds_hs_input(struct ds_hs *hs, const struct ds_msg_hdr *hdr,
		const void *payload, struct ds_hs_out *out)
{
	u32 status = le32_to_cpu(hdr->status);
	int ret;

	memset(out, 0, sizeof(*out));
	if (hdr->type == DS_MSG_REFUSE) {
		hs_refuse(hs, DS_REJECT_MAGIC, out);
		if (status && status <= DS_REJECT_NODE)
			hs->reject = status;
		out->type = 0;	/* a refusal has no answer */
		return -ECONNREFUSED;
	}

	if (hs->state == HS_SERVER)
		hs->epoch = le64_to_cpu(hdr->epoch);
	if (hdr->type != hs_steps[hs->state].type ||
	    le32_to_cpu(hdr->length) != hs_steps[hs->state].length ||
	    le64_to_cpu(hdr->epoch) != hs->epoch)
		return hs_refuse(hs, DS_REJECT_MAGIC, out);

	ret = hs_steps[hs->state].take(hs, payload, out);
	if (ret > 0)
		return hs_refuse(hs, ret, out);
	if (ret < 0) {
		hs_refuse(hs, DS_REJECT_BUSY, out);
		return ret;
	}
	return hs->state == HS_UP;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the handshake's tests share: hosts with keys and repeatable random
 * numbers, messages as bytes, and a conversation of two hosts in memory.
 */
#ifndef CORE_HANDSHAKE_H
#define CORE_HANDSHAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <openssl/hmac.h>

#include "handshake.h"

#define GROUP	7ULL
#define DOMAIN	3u

/* One host: who it is, the key it has, and how its callbacks behave. */
struct host {
	struct ds_hs_host self;
	u32 domain;		/* the one that it has a key for */
	u8 key[DS_HS_KEY_LEN];
	u64 seed;		/* of its random bytes; 0: they are all zero */
	int hmac_fails_in;	/* calls until one fails, -1 for never */
	int key_fails;		/* errno of the key callback */
	struct ds_hs hs;
};

/* A message as it travels. */
struct wire_msg {
	u32 size;
	union {
		struct ds_msg_hdr hdr;
		u8 bytes[sizeof(struct ds_msg_hdr) + DS_MSG_MAX_PAYLOAD + 8];
	};
};

static inline void *payload_of(struct wire_msg *m)
{
	return m->bytes + sizeof(m->hdr);
}

static inline void hmac_sha256(const u8 *key, const void *bytes, size_t n, u8 mac[DS_MAC_LEN])
{
	unsigned int len = 0;

	assert_non_null(HMAC(EVP_sha256(), key, DS_HS_KEY_LEN, bytes, n, mac, &len));
	assert_int_equal(len, DS_MAC_LEN);
}

static inline int host_hmac(void *ctx, const u8 *key, u32 keylen, const struct ds_hs_vec *vec,
			    u32 n, u8 mac[DS_MAC_LEN])
{
	struct host *h = ctx;
	u8 bytes[1024];
	size_t size = 0;
	u32 i;

	if (!h->hmac_fails_in)
		return -ENOMEM;
	if (h->hmac_fails_in > 0)
		h->hmac_fails_in--;
	assert_int_equal(keylen, DS_HS_KEY_LEN);
	for (i = 0; i < n; i++) {
		assert_true(size + vec[i].len <= sizeof(bytes));
		memcpy(bytes + size, vec[i].data, vec[i].len);
		size += vec[i].len;
	}
	hmac_sha256(key, bytes, size, mac);
	return 0;
}

static inline void host_random(void *ctx, void *p, u32 n)
{
	struct host *h = ctx;
	u8 *byte = p;

	memset(p, 0, n);
	while (h->seed && n--) {
		h->seed = h->seed * 6364136223846793005ULL + 1442695040888963407ULL;
		*byte++ = h->seed >> 56;
	}
}

static inline int host_key(void *ctx, u32 domain, u8 key[DS_HS_KEY_LEN])
{
	struct host *h = ctx;

	if (h->key_fails)
		return h->key_fails;
	if (domain != h->domain)
		return -ENOENT;
	memcpy(key, h->key, DS_HS_KEY_LEN);
	return 0;
}

static const struct ds_hs_ops host_ops = {
	.hmac = host_hmac,
	.random = host_random,
	.key = host_key,
};

static inline void host_start(struct host *h, bool server)
{
	h->self.domain = server ? 0 : h->domain;
	ds_hs_init(&h->hs, server, &h->self, &host_ops, h);
}

/* A host in the usual group and domain, with the usual key. */
static inline void host_make(struct host *h, u32 node, bool server)
{
	memset(h, 0, sizeof(*h));
	memset(h->self.uuid, node + 0x40, sizeof(h->self.uuid));
	h->self.incarnation = 0x1000 + node;
	h->self.group = GROUP;
	h->self.node = node;
	h->self.lanes = 2;
	h->self.nics = 1;
	h->domain = DOMAIN;
	memset(h->key, 0x6b, sizeof(h->key));
	h->seed = node;
	h->hmac_fails_in = -1;
	host_start(h, server);
}

static inline void msg_pack(struct wire_msg *m, const struct ds_hs_out *out, u64 epoch)
{
	memset(m, 0, sizeof(*m));
	m->size = sizeof(m->hdr) + out->length;
	m->hdr.magic = cpu_to_le16(DS_WIRE_MAGIC);
	m->hdr.version = DS_WIRE_VERSION;
	m->hdr.type = out->type;
	m->hdr.status = cpu_to_le32(out->status);
	m->hdr.length = cpu_to_le32(out->length);
	m->hdr.epoch = cpu_to_le64(epoch);
	memcpy(payload_of(m), &out->payload, out->length);
}

static inline void hello(struct host *h, struct wire_msg *m)
{
	struct ds_hs_out out;

	ds_hs_hello(&h->hs, &out);
	assert_int_equal(out.type, DS_MSG_HELLO);
	msg_pack(m, &out, h->hs.epoch);
}

/*
 * Give a host a message as its message layer would: the header is checked
 * first, and the payload lies in a block of its own size, so that the address
 * sanitizer sees every byte read too many. @reply is what it sends next.
 */
static inline int deliver(struct host *h, const struct wire_msg *m, struct wire_msg *reply)
{
	u32 length = m->size > sizeof(m->hdr) ? m->size - sizeof(m->hdr) : 0;
	struct ds_hs_out out;
	void *payload;
	int ret;

	memset(reply, 0, sizeof(*reply));
	if (ds_msg_check_hdr(&m->hdr, m->size))
		return -EPROTO;
	payload = malloc(length ? length : 1);
	assert_non_null(payload);
	memcpy(payload, m->bytes + sizeof(m->hdr), length);
	ret = ds_hs_input(&h->hs, &m->hdr, payload, &out);
	free(payload);
	if (out.type)
		msg_pack(reply, &out, h->hs.epoch);
	return ret;
}

/* The host refuses the message with @reject and says so. */
static inline void expect_refusal(struct host *h, const struct wire_msg *m, enum ds_reject reject)
{
	struct wire_msg reply;

	assert_int_equal(deliver(h, m, &reply), -EPROTO);
	assert_int_equal(h->hs.reject, reject);
	assert_int_equal(reply.hdr.type, DS_MSG_REFUSE);
	assert_int_equal(le32_to_cpu(reply.hdr.status), reject);
	assert_int_equal(reply.size, sizeof(reply.hdr));
	assert_int_equal(ds_msg_check_hdr(&reply.hdr, reply.size), 0);
}

enum { MSG_HELLO, MSG_REPLY, MSG_AUTH, MSG_AUTH_OK, MSGS };

/*
 * Let two hosts talk; @change may change message @which before it arrives, if
 * it is not NULL. @sent keeps the messages as they were sent. Returns how many
 * sides came up: 2 is a handshake, and after a change 2 would be a break-in.
 */
static inline int talk(struct host *client, struct host *server, int which,
		       void (*change)(struct wire_msg *m, void *arg), void *arg,
		       struct wire_msg sent[MSGS])
{
	struct wire_msg m, reply;
	int i, up = 0, ret;

	hello(client, &m);
	for (i = 0; i < MSGS; i++) {
		if (sent)
			sent[i] = m;
		if (change && i == which)
			change(&m, arg);
		ret = deliver(i % 2 ? client : server, &m, &reply);
		if (ret < 0)
			break;
		up += ret;
		m = reply;
	}
	return up;
}

/* Compute both MACs from the text of wire.h, as a host with @key would. */
static inline void sign(const u8 *key, const struct ds_hello *h, struct ds_hello *reply,
			u8 client_mac[DS_MAC_LEN])
{
	u8 bytes[10 + 2 * sizeof(*h)];

	memset(reply->mac, 0, sizeof(reply->mac));
	memcpy(bytes, "DS1 server", 10);
	memcpy(bytes + 10, h, sizeof(*h));
	memcpy(bytes + 10 + sizeof(*h), reply, sizeof(*reply));
	hmac_sha256(key, bytes, sizeof(bytes), reply->mac);
	memcpy(bytes, "DS1 client", 10);
	memcpy(bytes + 10 + sizeof(*h), reply, sizeof(*reply));
	hmac_sha256(key, bytes, sizeof(bytes), client_mac);
}

#endif /* CORE_HANDSHAKE_H */

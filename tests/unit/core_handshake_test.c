// SPDX-License-Identifier: Apache-2.0
/* The handshake of two honest hosts, and what each refuses in a peer with the right key. */
#include "core_handshake.h"

static struct host client, server;

static int setup(void **state)
{
	(void)state;
	host_make(&client, 1, false);
	host_make(&server, 2, true);
	return 0;
}

static void both_come_up(void **state)
{
	const struct ds_auth_ok *ok = &server.hs.auth_ok;
	struct wire_msg sent[MSGS];
	int i;

	(void)state;
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, sent), 2);
	for (i = 0; i < MSGS; i++)
		assert_int_equal(le64_to_cpu(sent[i].hdr.epoch), 0x1001);
	assert_int_equal(sent[MSG_HELLO].size, 32 + 128);
	assert_int_equal(sent[MSG_REPLY].size, 32 + 128);
	assert_int_equal(sent[MSG_AUTH].size, 32 + 32);
	assert_int_equal(sent[MSG_AUTH_OK].size, 32 + 272);

	server.self.domain = DOMAIN;	/* it took the client's */
	assert_memory_equal(&client.hs.peer, &server.self, sizeof(server.self));
	assert_memory_equal(&server.hs.peer, &client.self, sizeof(client.self));
	assert_memory_equal(&client.hs.auth_ok, ok, sizeof(*ok));
	assert_int_equal(le16_to_cpu(ok->lanes), 2);
	assert_int_not_equal(ok->urgent, 0);
	assert_int_not_equal(ok->bulk[0], ok->bulk[1]);
	assert_int_not_equal(ok->bulk[0], ok->urgent);
	assert_int_equal(client.hs.reject, DS_REJECT_NONE);
	assert_int_equal(server.hs.reject, DS_REJECT_NONE);
}

/* The proofs are what wire.h says, computed a second time from its text. */
static void proofs_are_what_the_wire_says(void **state)
{
	struct wire_msg sent[MSGS];
	struct ds_hello reply;
	u8 mac[DS_MAC_LEN];

	(void)state;
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, sent), 2);
	memcpy(&reply, payload_of(&sent[MSG_REPLY]), sizeof(reply));
	sign(client.key, payload_of(&sent[MSG_HELLO]), &reply, mac);
	assert_memory_equal(payload_of(&sent[MSG_REPLY]), &reply, sizeof(reply));
	assert_memory_equal(payload_of(&sent[MSG_AUTH]), mac, sizeof(mac));
}

static void nonces_are_fresh(void **state)
{
	struct wire_msg first[MSGS], second[MSGS];
	struct ds_hello *a = payload_of(&first[MSG_REPLY]), *b = payload_of(&second[MSG_REPLY]);

	(void)state;
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, first), 2);
	host_start(&client, false);
	host_start(&server, true);
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, second), 2);
	assert_memory_not_equal(a->nonce, b->nonce, sizeof(a->nonce));
	a = payload_of(&first[MSG_HELLO]);
	b = payload_of(&second[MSG_HELLO]);
	assert_memory_not_equal(a->nonce, b->nonce, sizeof(a->nonce));
	assert_memory_not_equal(payload_of(&first[MSG_AUTH_OK]),
				payload_of(&second[MSG_AUTH_OK]), sizeof(struct ds_auth_ok));
}

static void lanes(void **state)
{
	static const struct { u16 client, server, want; } t[] = {
		{ 0, 0, 1 }, { 1, 0, 1 }, { 2, 4, 4 }, { 4, 2, 4 }, { 32, 1, 32 },
		{ 33, 1, 32 }, { 1, 65535, 32 },
	};
	size_t i;
	u16 lane;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		client.self.lanes = t[i].client;
		server.self.lanes = t[i].server;
		host_start(&client, false);
		host_start(&server, true);
		assert_int_equal(talk(&client, &server, 0, NULL, NULL, NULL), 2);
		assert_int_equal(le16_to_cpu(client.hs.auth_ok.lanes), t[i].want);
		for (lane = 0; lane < DS_MAX_LANES; lane++)
			assert_int_equal(!client.hs.auth_ok.bulk[lane], lane >= t[i].want);
	}
}

/* A host that means to may connect to itself. */
static void host_and_itself(void **state)
{
	(void)state;
	host_make(&server, 1, true);
	client.hs.to_self = true;
	server.hs.to_self = true;
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, NULL), 2);
}

/* A cookie is never 0, which means none, whatever the random numbers are. */
static void cookies_are_not_zero(void **state)
{
	(void)state;
	server.seed = 0;
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, NULL), 2);
	assert_int_not_equal(client.hs.auth_ok.urgent, 0);
	assert_int_not_equal(client.hs.auth_ok.bulk[0], 0);
}

static void domain_without_key(void **state)
{
	struct wire_msg m;

	(void)state;
	server.domain = DOMAIN + 1;
	hello(&client, &m);
	expect_refusal(&server, &m, DS_REJECT_DOMAIN);
}

static void client_lost_its_key(void **state)
{
	struct wire_msg m, reply;

	(void)state;
	hello(&client, &m);
	assert_int_equal(deliver(&server, &m, &reply), 0);
	client.domain = DOMAIN + 1;
	expect_refusal(&client, &reply, DS_REJECT_DOMAIN);
}

static void client_with_another_key(void **state)
{
	struct wire_msg m, reply;

	(void)state;
	client.key[31] ^= 1;
	hello(&client, &m);
	assert_int_equal(deliver(&server, &m, &reply), 0);
	expect_refusal(&client, &reply, DS_REJECT_AUTH);
}

/* The client says nothing of it and answers as well as it can. */
static void rogue_client_with_another_key(void **state)
{
	struct wire_msg h, reply, auth = { 0 };
	struct ds_hs_out out = { .type = DS_MSG_AUTH, .length = sizeof(struct ds_auth) };

	(void)state;
	client.key[0] ^= 0x80;
	hello(&client, &h);
	assert_int_equal(deliver(&server, &h, &reply), 0);
	sign(client.key, payload_of(&h), payload_of(&reply), out.payload.auth.mac);
	msg_pack(&auth, &out, client.hs.epoch);
	expect_refusal(&server, &auth, DS_REJECT_AUTH);
}

/* ---- Fields that a peer with the right key may still have wrong ---- */

struct field {
	const char *what;
	enum ds_reject reject;
	void (*set)(struct ds_hello *h);
};

static void set_page_size(struct ds_hello *h) { h->page_size = cpu_to_le32(65536); }
static void set_order(struct ds_hello *h) { h->order = 0x04030201; }
static void set_group(struct ds_hello *h) { h->group = cpu_to_le64(GROUP + (1ULL << 32)); }
static void set_no_node(struct ds_hello *h) { h->node = 0; }
static void set_big_node(struct ds_hello *h) { h->node = cpu_to_le32(65536); }
static void set_node_1(struct ds_hello *h) { h->node = cpu_to_le32(1); }
static void set_node_2(struct ds_hello *h) { h->node = cpu_to_le32(2); }
static void set_uuid_1(struct ds_hello *h) { memset(h->uuid, 0x41, sizeof(h->uuid)); }
static void set_uuid_2(struct ds_hello *h) { memset(h->uuid, 0x42, sizeof(h->uuid)); }
static void set_reserved_first(struct ds_hello *h) { h->reserved[0] = 1; }
static void set_reserved_last(struct ds_hello *h) { h->reserved[11] = 0x80; }
static void set_mac(struct ds_hello *h) { h->mac[31] = 1; }
static void set_incarnation(struct ds_hello *h) { h->incarnation = cpu_to_le64(5); }
static void set_domain(struct ds_hello *h) { h->domain = cpu_to_le32(DOMAIN + 1); }

static void server_checks_hello(void **state)
{
	static const struct field t[] = {
		{ "page size", DS_REJECT_PLATFORM, set_page_size },
		{ "byte order", DS_REJECT_PLATFORM, set_order },
		{ "group", DS_REJECT_GROUP, set_group },
		{ "no node number", DS_REJECT_NODE, set_no_node },
		{ "node number too large", DS_REJECT_NODE, set_big_node },
		{ "our node number", DS_REJECT_NODE, set_node_2 },
		{ "our uuid", DS_REJECT_NODE, set_uuid_2 },
		{ "reserved", DS_REJECT_MAGIC, set_reserved_first },
		{ "reserved", DS_REJECT_MAGIC, set_reserved_last },
		{ "a proof too early", DS_REJECT_MAGIC, set_mac },
		{ "not the epoch", DS_REJECT_MAGIC, set_incarnation },
		{ "domain", DS_REJECT_DOMAIN, set_domain },
	};
	struct wire_msg m;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		print_message("# %s\n", t[i].what);
		setup(NULL);
		hello(&client, &m);
		t[i].set(payload_of(&m));
		expect_refusal(&server, &m, t[i].reject);
	}
}

/* The same in a HELLO_REPLY with a correct proof. */
static void client_checks_reply(void **state)
{
	static const struct field t[] = {
		{ "nothing wrong", DS_REJECT_NONE, NULL },
		{ "page size", DS_REJECT_PLATFORM, set_page_size },
		{ "byte order", DS_REJECT_PLATFORM, set_order },
		{ "group", DS_REJECT_GROUP, set_group },
		{ "no node number", DS_REJECT_NODE, set_no_node },
		{ "node number too large", DS_REJECT_NODE, set_big_node },
		{ "our node number", DS_REJECT_NODE, set_node_1 },
		{ "our uuid", DS_REJECT_NODE, set_uuid_1 },
		{ "reserved", DS_REJECT_MAGIC, set_reserved_first },
		{ "reserved", DS_REJECT_MAGIC, set_reserved_last },
		{ "domain", DS_REJECT_DOMAIN, set_domain },
	};
	struct wire_msg m, reply, auth;
	u8 mac[DS_MAC_LEN];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		print_message("# %s\n", t[i].what);
		setup(NULL);
		hello(&client, &m);
		assert_int_equal(deliver(&server, &m, &reply), 0);
		if (t[i].set)
			t[i].set(payload_of(&reply));
		sign(client.key, payload_of(&m), payload_of(&reply), mac);
		if (t[i].set) {
			expect_refusal(&client, &reply, t[i].reject);
			continue;
		}
		assert_int_equal(deliver(&client, &reply, &auth), 0);
		assert_memory_equal(payload_of(&auth), mac, sizeof(mac));
	}
}

static void client_checks_auth_ok(void **state)
{
	static const struct { size_t at; u8 value; } t[] = {
		{ offsetof(struct ds_auth_ok, lanes), 0 },
		{ offsetof(struct ds_auth_ok, lanes), 1 },
		{ offsetof(struct ds_auth_ok, lanes), 3 },
		{ offsetof(struct ds_auth_ok, lanes) + 1, 1 },
		{ offsetof(struct ds_auth_ok, reserved), 1 },
		{ offsetof(struct ds_auth_ok, reserved) + 5, 1 },
		{ offsetof(struct ds_auth_ok, bulk) + 2 * 8, 1 },	/* a third cookie */
		{ offsetof(struct ds_auth_ok, bulk) + 32 * 8 - 1, 1 },
	};
	struct wire_msg m, sent[MSGS];
	struct ds_auth_ok *ok = payload_of(&m);
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t) + 2; i++) {
		setup(NULL);
		assert_int_equal(talk(&client, &server, 0, NULL, NULL, sent), 2);
		setup(NULL);
		hello(&client, &m);
		assert_int_equal(deliver(&client, &sent[MSG_REPLY], &m), 0);
		m = sent[MSG_AUTH_OK];
		if (i < ARRAY_SIZE(t))
			((u8 *)ok)[t[i].at] = t[i].value;
		else if (i == ARRAY_SIZE(t))
			ok->urgent = 0;
		else
			ok->bulk[1] = 0;
		expect_refusal(&client, &m, DS_REJECT_MAGIC);
	}
}

/* ---- Callbacks that fail, refusals, and order ---- */

static void callbacks_fail(void **state)
{
	struct wire_msg m, reply;
	int n;

	(void)state;
	for (n = 0; n < 3; n++) {	/* the first MAC, the second, the key */
		setup(NULL);
		server.hmac_fails_in = n < 2 ? n : -1;
		server.key_fails = n < 2 ? 0 : -ENOMEM;
		hello(&client, &m);
		assert_int_equal(deliver(&server, &m, &reply), -ENOMEM);
		assert_int_equal(reply.hdr.type, DS_MSG_REFUSE);
		assert_int_equal(le32_to_cpu(reply.hdr.status), DS_REJECT_BUSY);
		assert_int_equal(deliver(&client, &reply, &m), -ECONNREFUSED);
		assert_int_equal(client.hs.reject, DS_REJECT_BUSY);

		setup(NULL);
		client.hmac_fails_in = n < 2 ? n : -1;
		client.key_fails = n < 2 ? 0 : -ENOMEM;
		hello(&client, &m);
		assert_int_equal(deliver(&server, &m, &reply), 0);
		assert_int_equal(deliver(&client, &reply, &m), -ENOMEM);
		assert_int_equal(m.hdr.type, DS_MSG_REFUSE);
		assert_int_equal(m.size, sizeof(m.hdr));
	}
}

/* Put a host into the state in which it waits for message @waits_for. */
static struct host *host_waiting(int waits_for, struct wire_msg sent[MSGS])
{
	struct wire_msg reply;
	int i;

	setup(NULL);
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, sent), 2);
	setup(NULL);
	if (waits_for % 2)
		hello(&client, &reply);
	for (i = waits_for % 2; i < waits_for; i += 2)
		assert_in_range(deliver(i % 2 ? &client : &server, &sent[i], &reply), 0, 1);
	return waits_for % 2 ? &client : &server;
}

/* In each state each message but the right one is refused, and so is all after it. */
static void order(void **state)
{
	struct wire_msg sent[MSGS];
	int waits_for, given;

	(void)state;
	for (waits_for = 0; waits_for < MSGS + 2; waits_for++)	/* 4 and 5: up */
		for (given = 0; given < MSGS; given++) {
			struct host *h = host_waiting(waits_for, sent);

			if (given == waits_for)
				continue;
			expect_refusal(h, &sent[given], DS_REJECT_MAGIC);
			if (waits_for < MSGS)
				expect_refusal(h, &sent[waits_for], DS_REJECT_MAGIC);
		}
	setup(NULL);		/* a client that has not begun */
	for (given = 0; given < MSGS; given++)
		expect_refusal(&client, &sent[given], DS_REJECT_MAGIC);
}

static void other_messages_are_refused(void **state)
{
	struct wire_msg sent[MSGS], m;
	struct ds_hs_out out = { 0 };
	int waits_for, type;

	(void)state;
	for (waits_for = 0; waits_for < MSGS; waits_for++)
		for (type = DS_MSG_REQUEST; type <= DS_MSG_CREDIT; type++) {
			struct host *h = host_waiting(waits_for, sent);

			out.type = type;
			msg_pack(&m, &out, client.hs.epoch);
			expect_refusal(h, &m, DS_REJECT_MAGIC);
		}
}

static void epoch_must_stay(void **state)
{
	struct wire_msg sent[MSGS];
	int waits_for;

	(void)state;
	for (waits_for = 0; waits_for < MSGS; waits_for++) {
		struct host *h = host_waiting(waits_for, sent);

		sent[waits_for].hdr.epoch ^= cpu_to_le64(1ULL << 63);
		expect_refusal(h, &sent[waits_for], DS_REJECT_MAGIC);
	}
}

static void refusal_from_the_peer(void **state)
{
	struct ds_hs_out out = { .type = DS_MSG_REFUSE };
	struct wire_msg sent[MSGS], m, reply;
	int waits_for;

	(void)state;
	for (waits_for = 0; waits_for < MSGS; waits_for++)
		for (out.status = 0; out.status < 12; out.status++) {
			struct host *h = host_waiting(waits_for, sent);
			bool known = out.status && out.status <= DS_REJECT_NODE;

			msg_pack(&m, &out, 0);
			assert_int_equal(deliver(h, &m, &reply), -ECONNREFUSED);
			assert_int_equal(h->hs.reject, known ? out.status : DS_REJECT_MAGIC);
			assert_int_equal(reply.size, 0);	/* no answer to it */
			expect_refusal(h, &sent[waits_for], DS_REJECT_MAGIC);
		}
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_come_up),
		TEST(proofs_are_what_the_wire_says),
		TEST(nonces_are_fresh),
		TEST(lanes),
		TEST(host_and_itself),
		TEST(cookies_are_not_zero),
		TEST(domain_without_key),
		TEST(client_lost_its_key),
		TEST(client_with_another_key),
		TEST(rogue_client_with_another_key),
		TEST(server_checks_hello),
		TEST(client_checks_reply),
		TEST(client_checks_auth_ok),
		TEST(callbacks_fail),
		TEST(order),
		TEST(other_messages_are_refused),
		TEST(epoch_must_stay),
		TEST(refusal_from_the_peer),
	};

	return cmocka_run_group_tests_name("core_handshake", tests, NULL, NULL);
}

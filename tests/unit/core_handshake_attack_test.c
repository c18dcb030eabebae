// SPDX-License-Identifier: Apache-2.0
/* The handshake between the fingers of an attacker who has no key. */
#include "core_handshake.h"

static struct host client, server;

static int setup(void **state)
{
	(void)state;
	host_make(&client, 1, false);
	host_make(&server, 2, true);
	return 0;
}

struct flip {
	u32 byte;
	u8 mask;
};

static void flip(struct wire_msg *m, void *arg)
{
	const struct flip *f = arg;

	m->bytes[f->byte] ^= f->mask;
}

/* Credits are the message layer's; nothing but them may change unnoticed. */
static bool is_credit(u32 byte)
{
	return byte / sizeof(__le16) == offsetof(struct ds_msg_hdr, credits) / sizeof(__le16);
}

/*
 * AUTH_OK has no MAC. A client cannot see that a cookie was changed; the server
 * then does not know it and refuses the queue pair.
 */
static bool is_cookie(int which, u32 byte)
{
	u32 first = sizeof(struct ds_msg_hdr) + offsetof(struct ds_auth_ok, urgent);

	return which == MSG_AUTH_OK && byte >= first && byte < first + 3 * sizeof(__le64);
}

static void each_bit_of_each_message(void **state)
{
	struct wire_msg sent[MSGS];
	int which, bit, refused = 0;
	struct flip f;

	(void)state;
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, sent), 2);
	for (which = 0; which < MSGS; which++)
		for (f.byte = 0; f.byte < sent[which].size; f.byte++)
			for (bit = 0; bit < 8; bit++) {
				bool up;

				setup(NULL);
				f.mask = 1u << bit;
				up = talk(&client, &server, which, flip, &f, NULL) == 2;
				if (up != (is_credit(f.byte) || is_cookie(which, f.byte)))
					fail_msg("message %d, byte %u, bit %d", which, f.byte, bit);
				refused += !up;
				if (is_cookie(which, f.byte))
					assert_memory_not_equal(&client.hs.auth_ok,
								&server.hs.auth_ok,
								sizeof(server.hs.auth_ok));
			}
	print_message("# %d changed messages refused\n", refused);
}

static void cut(struct wire_msg *m, void *arg)
{
	m->size = *(u32 *)arg;
}

static void cut_and_say_so(struct wire_msg *m, void *arg)
{
	m->size = *(u32 *)arg;
	m->hdr.length = cpu_to_le32(m->size - sizeof(m->hdr));
}

static void each_length_of_each_message(void **state)
{
	struct wire_msg sent[MSGS];
	int which, honest;
	u32 size;

	(void)state;
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, sent), 2);
	for (which = 0; which < MSGS; which++)
		for (size = 0; size < sent[which].size + 8; size++)
			for (honest = 0; honest < 2; honest++) {
				if (size == sent[which].size)
					continue;
				setup(NULL);
				assert_in_range(talk(&client, &server, which,
						     honest ? cut_and_say_so : cut, &size, NULL),
						0, 1);
			}
}

/* A whole handshake was recorded; its parts are played to hosts that start anew. */
static void replay_to_server(void **state)
{
	struct wire_msg sent[MSGS], reply;

	(void)state;
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, sent), 2);
	host_start(&server, true);	/* its random numbers go on */
	assert_int_equal(deliver(&server, &sent[MSG_HELLO], &reply), 0);
	expect_refusal(&server, &sent[MSG_AUTH], DS_REJECT_AUTH);
	expect_refusal(&server, &sent[MSG_AUTH], DS_REJECT_MAGIC);

	host_start(&server, true);
	expect_refusal(&server, &sent[MSG_AUTH], DS_REJECT_MAGIC);
}

static void replay_to_client(void **state)
{
	struct wire_msg sent[MSGS], m;

	(void)state;
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, sent), 2);
	host_start(&client, false);
	hello(&client, &m);
	expect_refusal(&client, &sent[MSG_REPLY], DS_REJECT_AUTH);

	host_start(&client, false);
	hello(&client, &m);
	expect_refusal(&client, &sent[MSG_AUTH_OK], DS_REJECT_MAGIC);
}

/* A host's own messages sent back to it, under each type. */
static void reflected(void **state)
{
	struct wire_msg m, reply;

	(void)state;
	hello(&client, &m);
	expect_refusal(&client, &m, DS_REJECT_MAGIC);
	setup(NULL);
	hello(&client, &m);
	m.hdr.type = DS_MSG_HELLO_REPLY;
	expect_refusal(&client, &m, DS_REJECT_NODE);

	setup(NULL);
	hello(&client, &m);
	assert_int_equal(deliver(&server, &m, &reply), 0);
	expect_refusal(&server, &reply, DS_REJECT_MAGIC);
}

/* The server's proof is not a client's proof. */
static void servers_proof_as_clients(void **state)
{
	struct ds_hs_out out = { .type = DS_MSG_AUTH, .length = sizeof(struct ds_auth) };
	struct wire_msg m, reply, auth;
	struct ds_hello *h = payload_of(&reply);

	(void)state;
	hello(&client, &m);
	assert_int_equal(deliver(&server, &m, &reply), 0);
	memcpy(out.payload.auth.mac, h->mac, sizeof(h->mac));
	msg_pack(&auth, &out, client.hs.epoch);
	expect_refusal(&server, &auth, DS_REJECT_AUTH);
}

/*
 * One host is client and server at once. The attacker stands in as its server
 * and lets its own server half make the proof.
 */
static void host_made_to_talk_to_itself(void **state)
{
	struct wire_msg m;

	(void)state;
	host_make(&server, 1, true);
	hello(&client, &m);
	expect_refusal(&server, &m, DS_REJECT_NODE);
}

/* A connection to the own address that ends at another host, on either side. */
static void another_host_at_the_own_address(void **state)
{
	struct wire_msg m, reply;

	(void)state;
	server.hs.to_self = true;
	hello(&client, &m);
	expect_refusal(&server, &m, DS_REJECT_NODE);

	setup(NULL);
	client.hs.to_self = true;
	hello(&client, &m);
	assert_int_equal(deliver(&server, &m, &reply), 0);
	expect_refusal(&client, &reply, DS_REJECT_NODE);

	/* The node number alone does not make it this host, nor does the uuid. */
	setup(NULL);
	server.self.node = client.self.node;
	host_start(&server, true);
	server.hs.to_self = true;
	hello(&client, &m);
	expect_refusal(&server, &m, DS_REJECT_NODE);

	setup(NULL);
	memcpy(server.self.uuid, client.self.uuid, sizeof(server.self.uuid));
	host_start(&server, true);
	server.hs.to_self = true;
	hello(&client, &m);
	expect_refusal(&server, &m, DS_REJECT_NODE);
}

/* A proof made for one identity is not good for another. */
static void reply_in_another_name(void **state)
{
	struct wire_msg m, reply;
	struct ds_hello *h = payload_of(&reply);

	(void)state;
	hello(&client, &m);
	assert_int_equal(deliver(&server, &m, &reply), 0);
	h->node = cpu_to_le32(9);
	expect_refusal(&client, &reply, DS_REJECT_AUTH);
}

/* Bytes that look like a message, to hosts in any state: none comes up. */
static void noise(void **state)
{
	struct wire_msg sent[MSGS], m, reply;
	u64 r = 1;
	int i, j;

	(void)state;
	assert_int_equal(talk(&client, &server, 0, NULL, NULL, sent), 2);
	for (i = 0; i < 200000; i++) {
		if (!(i % 4)) {
			setup(NULL);
			client.seed = server.seed = i + 1;
			hello(&client, &m);
			deliver(&server, &m, &reply);
			if (i % 8)
				host_start(&server, true);
		}
		m = sent[i / 4 % MSGS];
		for (j = 0; j < 4; j++) {
			r = r * 6364136223846793005ULL + 1442695040888963407ULL;
			if (r >> 63)
				m.bytes[sizeof(m.hdr) + (r >> 40) % 280] ^= r >> 32;
		}
		m.hdr.type = 1 + (r >> 33) % 6;
		m.size = sizeof(m.hdr) + le32_to_cpu(m.hdr.length);
		assert_true(deliver(&server, &m, &reply) <= 0);
		assert_true(deliver(&client, &m, &reply) <= 0);
	}
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_bit_of_each_message),
		TEST(each_length_of_each_message),
		TEST(replay_to_server),
		TEST(replay_to_client),
		TEST(reflected),
		TEST(servers_proof_as_clients),
		TEST(host_made_to_talk_to_itself),
		TEST(another_host_at_the_own_address),
		TEST(reply_in_another_name),
		TEST(noise),
	};

	return cmocka_run_group_tests_name("core_handshake_attack", tests, NULL, NULL);
}

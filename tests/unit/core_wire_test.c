// SPDX-License-Identifier: Apache-2.0
/* Private data of the connection manager and headers of messages: each field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "handshake.h"

#define GROUP	0x1122334455667788ULL
#define COOKIE	0x99aabbccddeeff00ULL

/* The bytes in a heap block of their own size, so that reading on is seen. */
static enum ds_reject check_req(const void *data, u32 len, struct ds_cm_req *req)
{
	u8 *copy = malloc(len + 1);
	enum ds_reject reject;

	assert_non_null(copy);
	memcpy(copy + 1, data, len);	/* and at an odd address */
	reject = ds_hs_check_req(copy + 1, len, GROUP, req);
	free(copy);
	return reject;
}

static enum ds_reject check_rep(const void *data, u32 len)
{
	u8 *copy = malloc(len + 1);
	enum ds_reject reject;

	assert_non_null(copy);
	memcpy(copy + 1, data, len);
	reject = ds_hs_check_rep(copy + 1, len);
	free(copy);
	return reject;
}

static void req_is_what_the_wire_says(void **state)
{
	static const u8 bytes[40] = {
		0, 0, 0x53, 0x44, 2, 2, 1, 3,
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99,
		31, 0,
	};
	struct ds_cm_req r, got;

	(void)state;
	memset(&r, 0xff, sizeof(r));
	ds_hs_make_req(&r, DS_ROLE_BULK, 3, GROUP, COOKIE, 31);
	assert_memory_equal(&r, bytes, sizeof(bytes));
	assert_int_equal(check_req(&r, sizeof(r), &got), DS_REJECT_MAGIC);	/* one NIC pair */
	r.nic = 0;
	assert_int_equal(check_req(&r, sizeof(r), &got), DS_REJECT_NONE);
	assert_memory_equal(&got, &r, sizeof(got));
}

static void req_length(void **state)
{
	struct ds_cm_req got, before;
	u8 padded[92] = { 0 };
	u32 len;

	(void)state;
	memset(&before, 0x5a, sizeof(before));
	got = before;
	ds_hs_make_req((struct ds_cm_req *)padded, DS_ROLE_CONTROL, 0, GROUP, 0, 0);
	for (len = 0; len < sizeof(got); len++)
		assert_int_equal(check_req(padded, len, &got), DS_REJECT_MAGIC);
	assert_memory_equal(&got, &before, sizeof(got));
	for (; len <= sizeof(padded); len++)
		assert_int_equal(check_req(padded, len, &got), DS_REJECT_NONE);
	for (len = sizeof(got); len < sizeof(padded); len++) {
		padded[len] = 1;
		assert_int_equal(check_req(padded, sizeof(padded), &got), DS_REJECT_MAGIC);
		padded[len] = 0;
	}
}

static void req_fields(void **state)
{
	static const struct {
		const char *what;
		u8 min, max, role;
		u64 group, cookie;
		u16 lane;
		enum ds_reject reject;
	} t[] = {
		{ "control", 2, 2, DS_ROLE_CONTROL, GROUP, 0, 0, DS_REJECT_NONE },
		{ "bulk", 2, 2, DS_ROLE_BULK, GROUP, 1, 31, DS_REJECT_NONE },
		{ "urgent", 2, 2, DS_ROLE_URGENT, GROUP, 1, 0, DS_REJECT_NONE },
		{ "newer, but speaks 2", 2, 255, DS_ROLE_CONTROL, GROUP, 0, 0, DS_REJECT_NONE },
		{ "older, but speaks 2", 0, 2, DS_ROLE_CONTROL, GROUP, 0, 0, DS_REJECT_NONE },
		{ "only newer", 3, 4, DS_ROLE_CONTROL, GROUP, 0, 0, DS_REJECT_VERSION },
		{ "only older", 1, 1, DS_ROLE_CONTROL, GROUP, 0, 0, DS_REJECT_VERSION },
		{ "empty range", 3, 2, DS_ROLE_CONTROL, GROUP, 0, 0, DS_REJECT_VERSION },
		{ "no such role", 2, 2, 3, GROUP, 1, 0, DS_REJECT_MAGIC },
		{ "no such role", 2, 2, 255, GROUP, 1, 0, DS_REJECT_MAGIC },
		{ "other group", 2, 2, DS_ROLE_CONTROL, GROUP + 1, 0, 0, DS_REJECT_GROUP },
		{ "other group", 2, 2, DS_ROLE_BULK, 0, 1, 0, DS_REJECT_GROUP },
		{ "control with cookie", 2, 2, DS_ROLE_CONTROL, GROUP, 1, 0, DS_REJECT_MAGIC },
		{ "control with lane", 2, 2, DS_ROLE_CONTROL, GROUP, 0, 1, DS_REJECT_MAGIC },
		{ "urgent with lane", 2, 2, DS_ROLE_URGENT, GROUP, 1, 1, DS_REJECT_MAGIC },
		{ "lane too high", 2, 2, DS_ROLE_BULK, GROUP, 1, 32, DS_REJECT_MAGIC },
		{ "bulk, no cookie", 2, 2, DS_ROLE_BULK, GROUP, 0, 0, DS_REJECT_COOKIE },
		{ "urgent, no cookie", 2, 2, DS_ROLE_URGENT, GROUP, 0, 0, DS_REJECT_COOKIE },
	};
	struct ds_cm_req r, got;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		ds_hs_make_req(&r, t[i].role, 0, t[i].group, t[i].cookie, t[i].lane);
		r.version_min = t[i].min;
		r.version_max = t[i].max;
		if (check_req(&r, sizeof(r), &got) != t[i].reject)
			fail_msg("%s", t[i].what);
	}
}

static void req_magic_and_reserved(void **state)
{
	struct ds_cm_req r, got;
	size_t i;

	(void)state;
	ds_hs_make_req(&r, DS_ROLE_CONTROL, 0, GROUP, 0, 0);
	r.magic ^= 1;
	assert_int_equal(check_req(&r, sizeof(r), &got), DS_REJECT_MAGIC);
	r.magic ^= 0x101;
	assert_int_equal(check_req(&r, sizeof(r), &got), DS_REJECT_MAGIC);
	r.magic ^= 0x100;
	for (i = 0; i < sizeof(r.reserved); i++) {
		r.reserved[i] = 0x80;
		assert_int_equal(check_req(&r, sizeof(r), &got), DS_REJECT_MAGIC);
		r.reserved[i] = 0;
	}
	r.cma_reserved[0] = 0x40;	/* the connection manager's */
	assert_int_equal(check_req(&r, sizeof(r), &got), DS_REJECT_NONE);
}

static void rep(void **state)
{
	u8 padded[148] = { 0 };
	struct ds_cm_rep *r = (struct ds_cm_rep *)padded;
	u32 reason, len;

	(void)state;
	for (reason = DS_REJECT_NONE; reason <= DS_REJECT_NODE; reason++) {
		memset(r, 0xff, sizeof(*r));
		ds_hs_make_rep(r, reason);
		assert_int_equal(check_rep(padded, sizeof(padded)), reason);
		assert_int_equal(check_rep(padded, sizeof(*r)), reason);
		for (len = 0; len < sizeof(*r); len++)
			assert_int_equal(check_rep(padded, len), DS_REJECT_MAGIC);
	}
	r->reason = DS_REJECT_NODE + 1;
	assert_int_equal(check_rep(padded, sizeof(padded)), DS_REJECT_MAGIC);

	ds_hs_make_rep(r, DS_REJECT_NONE);
	r->version = 3;
	assert_int_equal(check_rep(padded, sizeof(padded)), DS_REJECT_VERSION);
	r->reason = DS_REJECT_BUSY;	/* a refuser names its newest */
	assert_int_equal(check_rep(padded, sizeof(padded)), DS_REJECT_BUSY);

	for (len = 0; len < sizeof(r->reserved); len++) {
		ds_hs_make_rep(r, DS_REJECT_NONE);
		r->reserved[len] = 1;
		assert_int_equal(check_rep(padded, sizeof(padded)), DS_REJECT_MAGIC);
	}
	ds_hs_make_rep(r, DS_REJECT_NONE);
	r->magic = 0;
	assert_int_equal(check_rep(padded, sizeof(padded)), DS_REJECT_MAGIC);
	ds_hs_make_rep(r, DS_REJECT_NONE);
	padded[sizeof(padded) - 1] = 1;
	assert_int_equal(check_rep(padded, sizeof(padded)), DS_REJECT_MAGIC);
}

static struct ds_msg_hdr hdr_of(u8 type, u32 length)
{
	return (struct ds_msg_hdr){
		.magic = cpu_to_le16(DS_WIRE_MAGIC), .version = DS_WIRE_VERSION,
		.type = type, .length = cpu_to_le32(length),
		.credits = cpu_to_le16(7), .epoch = cpu_to_le64(~0ULL),
	};
}

static void hdr_type(void **state)
{
	struct ds_msg_hdr h;
	u32 type;

	(void)state;
	for (type = 0; type < 256; type++) {
		h = hdr_of(type, 0);
		assert_int_equal(ds_msg_check_hdr(&h, sizeof(h)),
				 type >= DS_MSG_HELLO && type <= DS_MSG_CREDIT ? 0 : -EPROTO);
	}
}

static void hdr_length(void **state)
{
	struct ds_msg_hdr h = hdr_of(DS_MSG_REQUEST, DS_MSG_MAX_PAYLOAD);
	u8 few[sizeof(h)] = { 0 };
	u32 n;

	(void)state;
	assert_int_equal(ds_msg_check_hdr(&h, sizeof(h) + DS_MSG_MAX_PAYLOAD), 0);
	assert_int_equal(ds_msg_check_hdr(&h, sizeof(h) + DS_MSG_MAX_PAYLOAD + 1), -EPROTO);
	assert_int_equal(ds_msg_check_hdr(&h, sizeof(h) + DS_MSG_MAX_PAYLOAD - 1), -EPROTO);
	h = hdr_of(DS_MSG_REQUEST, DS_MSG_MAX_PAYLOAD + 1);
	assert_int_equal(ds_msg_check_hdr(&h, sizeof(h) + DS_MSG_MAX_PAYLOAD + 1), -EPROTO);
	h = hdr_of(DS_MSG_REQUEST, UINT32_MAX);		/* what 31 bytes would give */
	assert_int_equal(ds_msg_check_hdr(&h, sizeof(h) - 1), -EPROTO);
	for (n = 0; n < sizeof(h); n++) {
		u8 *some = malloc(n ? n : 1);

		/* Must not be looked at: there are not enough bytes. */
		memcpy(some, few, n);
		assert_int_equal(ds_msg_check_hdr((void *)some, n), -EPROTO);
		free(some);
	}
}

static void hdr_magic_and_version(void **state)
{
	struct ds_msg_hdr h = hdr_of(DS_MSG_CREDIT, 0);

	(void)state;
	h.magic = cpu_to_le16(0x5344);
	assert_int_equal(ds_msg_check_hdr(&h, sizeof(h)), -EPROTO);
	h = hdr_of(DS_MSG_CREDIT, 0);
	h.version = 0;
	assert_int_equal(ds_msg_check_hdr(&h, sizeof(h)), -EPROTO);
	h.version = 3;
	assert_int_equal(ds_msg_check_hdr(&h, sizeof(h)), -EPROTO);
}

/* Which type may have what; a field that does not apply is zero. */
static void hdr_fields(void **state)
{
	static const struct {
		u8 type;
		bool payload, service, status, seq;
	} t[] = {
		{ DS_MSG_HELLO, true, false, false, false },
		{ DS_MSG_HELLO_REPLY, true, false, false, false },
		{ DS_MSG_AUTH, true, false, false, false },
		{ DS_MSG_AUTH_OK, true, false, false, false },
		{ DS_MSG_REFUSE, false, false, true, false },
		{ DS_MSG_REQUEST, true, true, false, true },
		{ DS_MSG_RESPONSE, true, true, true, true },
		{ DS_MSG_ONE_WAY, true, true, false, false },
		{ DS_MSG_CREDIT, false, false, false, false },
	};
	struct ds_msg_hdr h;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		h = hdr_of(t[i].type, 1);
		assert_int_equal(ds_msg_check_hdr(&h, sizeof(h) + 1), t[i].payload ? 0 : -EPROTO);
		h = hdr_of(t[i].type, 0);
		h.service = cpu_to_le16(0x8000);
		assert_int_equal(ds_msg_check_hdr(&h, sizeof(h)), t[i].service ? 0 : -EPROTO);
		h = hdr_of(t[i].type, 0);
		h.status = cpu_to_le32(1u << 31);
		assert_int_equal(ds_msg_check_hdr(&h, sizeof(h)), t[i].status ? 0 : -EPROTO);
		h = hdr_of(t[i].type, 0);
		h.seq = cpu_to_le64(1ULL << 63);
		assert_int_equal(ds_msg_check_hdr(&h, sizeof(h)), t[i].seq ? 0 : -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(req_is_what_the_wire_says),
		cmocka_unit_test(req_length),
		cmocka_unit_test(req_fields),
		cmocka_unit_test(req_magic_and_reserved),
		cmocka_unit_test(rep),
		cmocka_unit_test(hdr_type),
		cmocka_unit_test(hdr_length),
		cmocka_unit_test(hdr_magic_and_version),
		cmocka_unit_test(hdr_fields),
	};

	return cmocka_run_group_tests_name("core_wire", tests, NULL, NULL);
}

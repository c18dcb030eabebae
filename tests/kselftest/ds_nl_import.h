/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the import of objects of other users of the first device, for tests. Included after
 * ds_nl.h.
 */
#ifndef DS_NL_IMPORT_H
#define DS_NL_IMPORT_H

#include <ds/token.h>

/* ---- the device ---- */

static char device[64];

static inline void note_device(void *ctx)
{
	(void)ctx;
	if (!device[0])
		snprintf(device, sizeof(device), "%s", (const char *)nl_data(nl_find(DS_A_DEVICE)));
}

static inline void find_device(void)
{
	EXPECT_EQ(0, nl_dump(DS_CMD_DEV_GET, note_device, NULL, NULL));
	ASSERT(device[0]);
}

static inline bool is_of_device(void)
{
	const struct nlattr *name = nl_find(DS_A_DEVICE);

	return name && !strcmp(nl_data(name), device);
}

/* ---- importing ---- */

struct import {
	struct nl_request head;
	char more[DS_TOKEN_OBJECTS_MAX * sizeof(struct ds_token_object) + 4096];
};

static struct import message;

/* The request for a part of an import, of @length bytes; the next one takes its place. */
static inline const struct nl_request *import_request(const char *name, const void *objects,
						      size_t length, uint32_t part, uint32_t parts)
{
	struct nl_request *r = &message.head;
	struct nlattr *attr;

	nl_begin(r, DS_CMD_TOKEN_IMPORT, NLM_F_ACK);
	nl_put(r, DS_A_DEVICE, name, strlen(name) + 1);
	nl_put_u32(r, DS_A_PART, part);
	nl_put_u32(r, DS_A_PARTS, parts);
	attr = (struct nlattr *)((char *)r + r->head.nlmsg_len);
	attr->nla_type = DS_A_OBJECTS;
	attr->nla_len = NLA_HDRLEN + length;
	memcpy((char *)attr + NLA_HDRLEN, objects, length);
	r->head.nlmsg_len += NLA_ALIGN(attr->nla_len);
	return r;
}

/* Have it done on the socket @fd. Return 0 or a negative errno. */
static inline int import_on(int fd, const char *name, const void *objects, size_t length,
			    uint32_t part, uint32_t parts)
{
	return nl_talk(fd, import_request(name, objects, length, part, parts), NULL, NULL, NULL);
}

static inline int import(const struct ds_token_object *objects, size_t count, uint32_t part,
			 uint32_t parts)
{
	return import_on(nl_socket(), device, objects, count * sizeof(*objects), part, parts);
}

static inline int forget(const char *name)
{
	struct nl_request r;

	nl_begin(&r, DS_CMD_TOKEN_FORGET, 0);
	nl_put(&r, DS_A_DEVICE, name, strlen(name) + 1);
	return nl_call(&r);
}

#define PD(n)	{ .type = DS_TOKEN_PD, .number = (n), .pd = DS_TOKEN_NO_PD }

#endif

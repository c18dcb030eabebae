// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: wire version 1 of the packet service.
 */
#include "packet1.h"

/* A data unit more than the longest READ or WRITE needs is none of ours. */
#define DS_PACKET1_MAX_DATA	DS_PACKET_MAX_LENGTH

static u32 ds_packet1_units(u64 bytes)
{
	return (bytes + DS_PACKET1_UNIT - 1) / DS_PACKET1_UNIT;
}

u32 ds_packet1_size(u32 data)
{
	return DS_PACKET1_DATA_AT + ds_packet1_units(data) * DS_PACKET1_UNIT;
}

/* Whole units behind the headers? */
static bool ds_packet1_whole(u32 length, u32 *data)
{
	if (length < DS_PACKET1_DATA_AT ||
	    (length - DS_PACKET1_DATA_AT) % DS_PACKET1_UNIT)
		return false;
	*data = length - DS_PACKET1_DATA_AT;
	return *data <= DS_PACKET1_MAX_DATA;
}

static void ds_packet1_read_header(const u8 *payload, struct app_rdma_header *h)
{
	memcpy(h, payload + DS_PACKET1_HEADER_AT, sizeof(*h));
}

/* A WRITE has as many units as its length needs, all others have none. */
static u16 ds_packet1_check(const struct ds_packet *p, u32 data)
{
	switch (p->op) {
	case DS_PACKET_ALLOC:
		return data || p->address ? DS_PACKET_MALFORMED : DS_PACKET_OK;
	case DS_PACKET_READ:
		if (data)
			return DS_PACKET_MALFORMED;
		break;
	default:
		if (p->length <= DS_PACKET_MAX_LENGTH &&
		    (u64)ds_packet1_units(p->length) * DS_PACKET1_UNIT != data)
			return DS_PACKET_MALFORMED;
		break;
	}
	if (!p->length || p->length > DS_PACKET_MAX_LENGTH)
		return DS_PACKET_LENGTH;
	return DS_PACKET_OK;
}

int ds_packet1_parse(const void *payload, u32 length, struct ds_packet *p)
{
	static const u8 ops[] = {
		[APP_RDMA_OPCODE_READ]			= DS_PACKET_READ,
		[APP_RDMA_OPCODE_WRITE]			= DS_PACKET_WRITE,
		[APP_RDMA_OPCODE_WRITE_PERSISTENT]	= DS_PACKET_WRITE_PERSISTENT,
		[APP_RDMA_OPCODE_ALLOC]			= DS_PACKET_ALLOC,
	};
	const u8 *bytes = payload;
	struct app_rdma_header h;
	u32 data = 0;
	bool whole;

	if (length < DS_PACKET1_DATA_AT)
		return -EBADMSG;
	ds_packet1_read_header(bytes, &h);
	if (h.opcode >= ARRAY_SIZE(ops))
		return -EBADMSG;

	whole = ds_packet1_whole(length, &data);
	memset(p, 0, sizeof(*p));
	p->op = ops[ds_array_index_nospec(h.opcode, ARRAY_SIZE(ops))];
	p->space = bytes[DS_PACKET1_APP_AT];
	p->address = le64_to_cpu(h.address);
	p->length = le64_to_cpu(h.length);
	p->status = whole ? ds_packet1_check(p, data) : DS_PACKET_MALFORMED;
	if (p->status || p->op == DS_PACKET_ALLOC)
		return 0;
	p->part = p->length;
	if (p->op != DS_PACKET_READ)
		p->data = bytes + DS_PACKET1_DATA_AT;
	return 0;
}

/* All but the data, and the data's padding. */
static u32 ds_packet1_put(u8 *payload, u8 opcode, const struct ds_packet *p, u64 length)
{
	struct app_rdma_header h = {
		.opcode		= opcode,
		.address	= cpu_to_le64(p->address),
		.length		= cpu_to_le64(length),
	};
	u32 size = ds_packet1_size(p->part);

	memset(payload, 0, DS_PACKET1_DATA_AT);
	payload[DS_PACKET1_APP_AT] = p->space;
	memcpy(payload + DS_PACKET1_HEADER_AT, &h, sizeof(h));
	memset(payload + DS_PACKET1_DATA_AT + p->part, 0, size - DS_PACKET1_DATA_AT - p->part);
	return size;
}

u32 ds_packet1_request(void *payload, const struct ds_packet *p)
{
	struct ds_packet request = *p;
	u8 opcode;

	switch (p->op) {
	case DS_PACKET_READ:
		opcode = APP_RDMA_OPCODE_READ;
		request.part = 0;
		break;
	case DS_PACKET_WRITE:
		opcode = APP_RDMA_OPCODE_WRITE;
		break;
	case DS_PACKET_WRITE_PERSISTENT:
		opcode = APP_RDMA_OPCODE_WRITE_PERSISTENT;
		break;
	case DS_PACKET_ALLOC:
		opcode = APP_RDMA_OPCODE_ALLOC;
		request.address = 0;
		request.part = 0;
		break;
	default:
		return 0;
	}
	if (request.part)
		memcpy((u8 *)payload + DS_PACKET1_DATA_AT, p->data, request.part);
	return ds_packet1_put(payload, opcode, &request, p->length);
}

static u8 ds_packet1_reply_opcode(const struct ds_packet *p)
{
	if (p->op == DS_PACKET_ALLOC)
		return p->status ? APP_RDMA_OPCODE_REPLY_ALLOC_ERROR : APP_RDMA_OPCODE_REPLY_ALLOC;
	if (p->status)
		return APP_RDMA_OPCODE_REPLY_READ_ERROR;
	return p->op == DS_PACKET_READ ? APP_RDMA_OPCODE_REPLY_READ : APP_RDMA_OPCODE_REPLY_WRITE;
}

u32 ds_packet1_reply(void *payload, const struct ds_packet *p, u64 counter)
{
	struct ds_packet reply = *p;
	__le64 count = cpu_to_le64(counter);
	u32 size;

	if (p->status || p->op != DS_PACKET_READ)
		reply.part = 0;
	size = ds_packet1_put(payload, ds_packet1_reply_opcode(p), &reply,
			      p->status ? p->status : p->length);
	memcpy((u8 *)payload + DS_PACKET1_COUNTER_AT, &count, sizeof(count));
	return size;
}

/* What a reply opcode answers, and whether it is an error. */
static const struct {
	u8	op;
	bool	error;
} ds_packet1_replies[] = {
	[APP_RDMA_OPCODE_REPLY_WRITE]		= { DS_PACKET_WRITE, false },
	[APP_RDMA_OPCODE_REPLY_ALLOC]		= { DS_PACKET_ALLOC, false },
	[APP_RDMA_OPCODE_REPLY_ALLOC_ERROR]	= { DS_PACKET_ALLOC, true },
	[APP_RDMA_OPCODE_REPLY_READ]		= { DS_PACKET_READ, false },
	[APP_RDMA_OPCODE_REPLY_READ_ERROR]	= { DS_PACKET_READ, true },
};

int ds_packet1_parse_reply(const void *payload, u32 length, struct ds_packet *p, u64 *counter)
{
	const u8 *bytes = payload;
	struct app_rdma_header h;
	__le64 count;
	u64 value;
	u32 data;

	if (!ds_packet1_whole(length, &data))
		return -EBADMSG;
	ds_packet1_read_header(bytes, &h);
	if (h.opcode < APP_RDMA_OPCODE_REPLY_WRITE || h.opcode >= ARRAY_SIZE(ds_packet1_replies))
		return -EBADMSG;

	value = le64_to_cpu(h.length);
	memcpy(&count, bytes + DS_PACKET1_COUNTER_AT, sizeof(count));
	*counter = le64_to_cpu(count);
	memset(p, 0, sizeof(*p));
	p->op = ds_packet1_replies[h.opcode].op;
	p->space = bytes[DS_PACKET1_APP_AT];
	p->address = le64_to_cpu(h.address);
	if (ds_packet1_replies[h.opcode].error) {
		if (data || !value || value >= DS_PACKET_STATUS_COUNT)
			return -EBADMSG;
		p->status = value;
		return 0;
	}
	p->length = value;
	if (p->op != DS_PACKET_READ)
		return data ? -EBADMSG : 0;
	if (!value || value > data || (u64)ds_packet1_units(value) * DS_PACKET1_UNIT != data)
		return -EBADMSG;
	p->part = value;
	p->data = bytes + DS_PACKET1_DATA_AT;
	return 0;
}

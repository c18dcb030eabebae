// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: wire version 2 of the packet service.
 */
#include "packet2.h"

#define DS_PACKET2_HEAD		((u32)sizeof(struct ds_packet2_header))
#define DS_PACKET2_MACED	((u32)offsetof(struct ds_packet2_header, crc))
#define DS_PACKET2_SUMMED	((u32)offsetof(struct ds_packet2_header, magic))

static_assert(sizeof(struct ds_packet2_header) == 80, "the header has no holes");
static_assert(offsetof(struct ds_packet2_header, session) == 40, "64-bit fields are aligned");
static_assert(offsetof(struct ds_packet2_header, crc) == 8, "the MAC covers all behind it");
static_assert(offsetof(struct ds_packet2_header, magic) == 12, "the CRC covers all behind it");

static u32 ds_packet2_crc(const u8 *packet, u32 size)
{
	return ~crc32c(~0u, packet + DS_PACKET2_SUMMED, size - DS_PACKET2_SUMMED);
}

static u64 ds_packet2_mac(const u8 *packet, u32 size, const u8 *key)
{
	return ds_siphash(packet + DS_PACKET2_MACED, size - DS_PACKET2_MACED, key);
}

/* Bytes of data behind the header. */
static u32 ds_packet2_data(u8 op, u32 part, bool reply)
{
	return op == DS_PACKET_READ && !reply ? 0 : part;
}

/* A part of a range: whole blocks, but for the end of the range. */
static u16 ds_packet2_check_part(const struct ds_packet *p)
{
	if (!p->length || p->length > DS_PACKET_MAX_LENGTH)
		return DS_PACKET_LENGTH;
	if (!p->part || p->offset >= p->length || p->part > p->length - p->offset)
		return DS_PACKET_MALFORMED;
	if (p->op == DS_PACKET_READ)
		return p->seq ? DS_PACKET_MALFORMED : DS_PACKET_OK;
	if (p->offset % DS_PACKET_BLOCK ||
	    (p->part % DS_PACKET_BLOCK && p->offset + p->part != p->length))
		return DS_PACKET_MALFORMED;
	return DS_PACKET_OK;
}

/* Do the fields of a request fit together? Those that mean nothing to it are 0. */
static u16 ds_packet2_check(const struct ds_packet *p)
{
	bool ok;

	switch (p->op) {
	case DS_PACKET_READ:
	case DS_PACKET_WRITE:
	case DS_PACKET_WRITE_PERSISTENT:
		return ds_packet2_check_part(p);
	case DS_PACKET_ALLOC:
	case DS_PACKET_FREE:
		ok = !p->part && !p->offset;
		break;
	case DS_PACKET_CAS:
	case DS_PACKET_FETCH_ADD:
		ok = p->part == sizeof(struct ds_packet2_operands) && !p->offset &&
		     p->length == sizeof(u64);
		break;
	case DS_PACKET_OPEN:
	case DS_PACKET_CLOSE:
		ok = !p->part && !p->offset && !p->address && !p->length;
		break;
	case DS_PACKET_PING:
		ok = !p->offset && !p->address && !p->length && !p->seq;
		break;
	default:
		return DS_PACKET_OPCODE;
	}
	return ok ? DS_PACKET_OK : DS_PACKET_MALFORMED;
}

static void ds_packet2_take(const struct ds_packet2_header *h, struct ds_packet *p)
{
	memset(p, 0, sizeof(*p));
	p->op = h->opcode;
	p->tag = le32_to_cpu(h->tag);
	p->tenant = le32_to_cpu(h->tenant);
	p->space = le32_to_cpu(h->space);
	p->part = le32_to_cpu(h->part);
	p->session = le64_to_cpu(h->session);
	p->seq = le64_to_cpu(h->seq);
	p->address = le64_to_cpu(h->address);
	p->length = le64_to_cpu(h->length);
	p->offset = le64_to_cpu(h->offset);
}

int ds_packet2_parse(const void *packet, u32 length, bool reply, struct ds_packet *p)
{
	struct ds_packet2_header h;
	u32 data;
	u16 status;

	if (length < DS_PACKET2_HEAD)
		return -EBADMSG;
	memcpy(&h, packet, sizeof(h));
	if (le16_to_cpu(h.magic) != DS_PACKET2_MAGIC || h.version != DS_PACKET2_VERSION ||
	    h.flags & ~(DS_PACKET2_REPLY | DS_PACKET2_MAC) || h.reserved || h.reserved2 ||
	    !(h.flags & DS_PACKET2_REPLY) == reply || (!(h.flags & DS_PACKET2_MAC) && h.mac))
		return -EBADMSG;
	data = ds_packet2_data(h.opcode, le32_to_cpu(h.part), reply);
	if (data > length - DS_PACKET2_HEAD ||
	    le32_to_cpu(h.crc) != ds_packet2_crc(packet, DS_PACKET2_HEAD + data))
		return -EBADMSG;

	status = le16_to_cpu(h.status);
	if (reply ? status >= DS_PACKET_STATUS_COUNT : status)
		return -EBADMSG;
	ds_packet2_take(&h, p);
	p->status = reply ? status : ds_packet2_check(p);
	if (data)
		p->data = (const u8 *)packet + DS_PACKET2_HEAD;
	return DS_PACKET2_HEAD + data;
}

bool ds_packet2_authentic(const void *packet, u32 size, const u8 *key)
{
	struct ds_packet2_header h;
	bool maced;

	memcpy(&h, packet, sizeof(h));
	maced = h.flags & DS_PACKET2_MAC;
	if (!key || !maced)
		return !key && !maced;
	/* One word: its comparison takes the same time whatever is in it. */
	return le64_to_cpu(h.mac) == ds_packet2_mac(packet, size, key);
}

u32 ds_packet2_build(void *packet, const struct ds_packet *p, bool reply, const u8 *key)
{
	u32 data = ds_packet2_data(p->op, p->part, reply);
	struct ds_packet2_header h = {
		.magic		= cpu_to_le16(DS_PACKET2_MAGIC),
		.version	= DS_PACKET2_VERSION,
		.opcode		= p->op,
		.flags		= (reply ? DS_PACKET2_REPLY : 0) | (key ? DS_PACKET2_MAC : 0),
		.status		= cpu_to_le16(reply ? p->status : 0),
		.tag		= cpu_to_le32(p->tag),
		.tenant		= cpu_to_le32(p->tenant),
		.space		= cpu_to_le32(p->space),
		.part		= cpu_to_le32(p->part),
		.session	= cpu_to_le64(p->session),
		.seq		= cpu_to_le64(p->seq),
		.address	= cpu_to_le64(p->address),
		.length		= cpu_to_le64(p->length),
		.offset		= cpu_to_le64(p->offset),
	};
	u8 *bytes = packet;
	u32 size = DS_PACKET2_HEAD + data;

	if (data && p->data)
		memcpy(bytes + DS_PACKET2_HEAD, p->data, data);
	memcpy(bytes, &h, sizeof(h));
	h.crc = cpu_to_le32(ds_packet2_crc(bytes, size));
	memcpy(bytes, &h, sizeof(h));
	if (key) {
		h.mac = cpu_to_le64(ds_packet2_mac(bytes, size, key));
		memcpy(bytes, &h, sizeof(h));
	}
	return size;
}

// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: a space of the packet service runs requests.
 */
#include "packet_space.h"
#include <ds/ioctl.h>

int ds_packet_space_init(struct ds_packet_space *s, const struct ds_packet_space_attr *attr,
			 const struct ds_packet_memory_ops *ops, void *pool)
{
	memset(s, 0, sizeof(*s));
	s->attr = *attr;
	s->ops = ops;
	s->pool = pool;
	ds_sessions_init(&s->sessions, s->attr.secret);
	return ds_vspace_create(&attr->map, &s->map);
}

void ds_packet_space_exit(struct ds_packet_space *s)
{
	ds_sessions_exit(&s->sessions);
	ds_vspace_destroy(s->map);
}

static u16 ds_packet_status(int error)
{
	switch (error) {
	case -EFAULT:
		return DS_PACKET_ADDRESS;
	case -EACCES:
		return DS_PACKET_PERMISSION;
	case -EINVAL:
		return DS_PACKET_LENGTH;
	case -ENOSPC:
		return DS_PACKET_FULL;
	default:
		return DS_PACKET_MEMORY;
	}
}

static u16 ds_packet_translate(struct ds_packet_space *s, u64 address, u64 length, u32 access,
			       struct ds_vspace_run runs[DS_VSPACE_RUNS], u32 *count)
{
	int n = ds_vspace_translate(s->map, address, length, access, runs), error = 0;

	if (n < 0)
		return ds_packet_status(n);
	*count = n;
	if (s->ops->check)
		error = s->ops->check(s->pool, runs, *count, access);
	return error ? ds_packet_status(error) : DS_PACKET_OK;
}

u16 ds_packet_find(struct ds_packet_space *s, u64 address, u64 length,
		   struct ds_vspace_run runs[DS_VSPACE_RUNS], u32 *count)
{
	return ds_packet_translate(s, address, length, DS_ACCESS_READ, runs, count);
}

void ds_packet_copy(struct ds_packet_space *s, const struct ds_vspace_run *runs, u64 from,
		    u8 *to, u32 length)
{
	u32 n;

	for (; length; runs++) {
		if (from >= runs->length) {
			from -= runs->length;
			continue;
		}
		n = min(length, runs->length - (u32)from);
		s->ops->read(s->pool, runs->offset + from, to, n);
		to += n;
		length -= n;
		from = 0;
	}
}

static u16 ds_packet_write(struct ds_packet_space *s, const struct ds_packet *p, const u8 *data)
{
	struct ds_vspace_run runs[DS_VSPACE_RUNS];
	u32 count = 0, i;
	u16 status;

	status = ds_packet_translate(s, p->address, p->length, DS_ACCESS_WRITE, runs, &count);
	if (status)
		return status;
	if (p->op == DS_PACKET_WRITE_PERSISTENT) {
		if (!s->ops->persist)
			return DS_PACKET_NOT_PERSISTENT;
		if (s->ops->persist(s->pool, runs, count, data))
			return DS_PACKET_IO;
	}
	for (i = 0; i < count; i++) {
		s->ops->write(s->pool, runs[i].offset, data, runs[i].length);
		data += runs[i].length;
	}
	s->counters.bytes_written += p->length;
	return DS_PACKET_OK;
}

static u16 ds_packet_atomic(struct ds_packet_space *s, const struct ds_packet *p, const u8 *data,
			    struct ds_packet *r)
{
	struct ds_vspace_run runs[DS_VSPACE_RUNS];
	struct ds_packet2_operands operands;
	u64 operand;
	u16 status;
	u32 count;

	memcpy(&operands, data, sizeof(operands));
	if (p->op == DS_PACKET_FETCH_ADD && operands.compare)
		return DS_PACKET_MALFORMED;
	if (p->address % sizeof(u64))
		return DS_PACKET_ALIGNMENT;
	status = ds_packet_translate(s, p->address, sizeof(u64), DS_ACCESS_ATOMIC, runs, &count);
	if (status)
		return status;
	operand = le64_to_cpu(operands.operand);
	if (p->op == DS_PACKET_CAS)
		r->length = s->ops->cas(s->pool, runs[0].offset, le64_to_cpu(operands.compare),
					operand);
	else
		r->length = s->ops->fetch_add(s->pool, runs[0].offset, operand);
	return DS_PACKET_OK;
}

static u16 ds_packet_alloc(struct ds_packet_space *s, const struct ds_packet *p,
			   struct ds_packet *r)
{
	struct ds_vspace_grant grant;
	int error;

	if (p->address & ~(u64)DS_ACCESS_ALL)
		return DS_PACKET_MALFORMED;
	error = ds_vspace_alloc(s->map, p->length, p->address, &grant);
	if (error)
		return ds_packet_status(error);
	r->address = grant.address;
	r->length = grant.offset;
	r->offset = grant.generation;
	return DS_PACKET_OK;
}

static u16 ds_packet_free(struct ds_packet_space *s, const struct ds_packet *p)
{
	int error = ds_vspace_free(s->map, p->address, p->length);

	return error ? ds_packet_status(error) : DS_PACKET_OK;
}

u16 ds_packet_run(struct ds_packet_space *s, const struct ds_packet *p, const u8 *data,
		  struct ds_packet *r)
{
	s->counters.ops[p->op]++;
	switch (p->op) {
	case DS_PACKET_WRITE:
	case DS_PACKET_WRITE_PERSISTENT:
		return ds_packet_write(s, p, data);
	case DS_PACKET_ALLOC:
		return ds_packet_alloc(s, p, r);
	case DS_PACKET_FREE:
		return ds_packet_free(s, p);
	default:
		return ds_packet_atomic(s, p, data, r);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: a space of the packet service: addresses (vspace.h), the memory behind them,
 * whom they belong to, and what was done with them. Runs requests; knows nothing of
 * packets.
 *
 * Not thread safe: the caller holds a lock around each call. May sleep.
 */
#ifndef DS_RDM_PACKET_SPACE_H
#define DS_RDM_PACKET_SPACE_H

#include "packet.h"
#include "session.h"
#include "vspace.h"

/**
 * struct ds_packet_memory_ops - how the pool's memory is reached
 * @read: copies out of the pool
 * @write: copies into it
 * @cas: stores @swap in the aligned word at @offset if it is @compare; returns what
 *	it was. Atomic among the callers of these operations
 * @fetch_add: adds to the aligned word; returns what it was
 * @persist: brings @data to stable storage, where the runs of it belong; 0 or a
 *	negative errno. NULL if there is no such storage. Does not write to the pool
 * @check: before any of the others: may a request have @access (DS_ACCESS_*) to these
 *	runs of the pool? 0 or a negative errno. NULL: it may
 *
 * Offsets and lengths lie within the pool.
 */
struct ds_packet_memory_ops {
	void (*read)(void *pool, u64 offset, void *to, u32 length);
	void (*write)(void *pool, u64 offset, const void *from, u32 length);
	u64 (*cas)(void *pool, u64 offset, u64 compare, u64 swap);
	u64 (*fetch_add)(void *pool, u64 offset, u64 operand);
	int (*persist)(void *pool, const struct ds_vspace_run *runs, u32 count,
		       const u8 *data);
	int (*check)(void *pool, const struct ds_vspace_run *runs, u32 count, u32 access);
};

/**
 * struct ds_packet_counters - what a space was asked for, ever
 * @ops: requests that were run, by enum ds_packet_op
 * @statuses: requests that ended so, run or refused, by enum ds_packet_status
 * @bytes_read: by READ
 * @bytes_written: by WRITE and WRITE_PERSISTENT
 * @repeated: requests that had been run before and got the answer of then
 * @parts: parts of WRITEs that came before their last
 */
struct ds_packet_counters {
	u64 ops[DS_PACKET_PING + 1];
	u64 statuses[DS_PACKET_STATUS_COUNT];
	u64 bytes_read;
	u64 bytes_written;
	u64 repeated;
	u64 parts;
};

/**
 * struct ds_packet_space_attr - what a space is
 * @map: its addresses
 * @tenant: whose it is
 * @keyed: requests need a MAC under @key
 * @key: of the MAC
 * @secret: random; makes the numbers of sessions
 */
struct ds_packet_space_attr {
	struct ds_vspace_attr map;
	u32 tenant;
	bool keyed;
	u8 key[DS_PACKET_KEY_LEN];
	u8 secret[DS_PACKET_KEY_LEN];
};

/**
 * struct ds_packet_space - a space
 * @attr: as made
 * @map: its addresses
 * @ops: see there
 * @pool: handed to @ops
 * @sessions: of its clients
 * @counters: see there
 */
struct ds_packet_space {
	struct ds_packet_space_attr attr;
	struct ds_vspace *map;
	const struct ds_packet_memory_ops *ops;
	void *pool;
	struct ds_sessions sessions;
	struct ds_packet_counters counters;
};

/**
 * ds_packet_space_init - begin to use a space
 * @s: filled; for ds_packet_space_exit()
 * @ops: must outlive the space, as @pool
 *
 * Return: 0, -EINVAL, -ENOMEM
 */
int ds_packet_space_init(struct ds_packet_space *s, const struct ds_packet_space_attr *attr,
			 const struct ds_packet_memory_ops *ops, void *pool);
void ds_packet_space_exit(struct ds_packet_space *s);

/* The key that its packets need, or NULL. */
static inline const u8 *ds_packet_space_key(const struct ds_packet_space *s)
{
	return s->attr.keyed ? s->attr.key : NULL;
}

/**
 * ds_packet_run - run a request that changes something, whole
 * @p: WRITE, WRITE_PERSISTENT, ALLOC, FREE, CAS or FETCH_ADD, of status DS_PACKET_OK
 * @data: all @p->length bytes of a WRITE; operands of atomics
 * @r: the reply: @address, @length and @offset are set
 *
 * What fails has changed no byte.
 *
 * Return: enum ds_packet_status
 */
u16 ds_packet_run(struct ds_packet_space *s, const struct ds_packet *p, const u8 *data,
		  struct ds_packet *r);

/**
 * ds_packet_find - may a range be read, and where is it?
 * @runs: filled with the whole range
 * @count: set to their number
 *
 * Return: enum ds_packet_status
 */
u16 ds_packet_find(struct ds_packet_space *s, u64 address, u64 length,
		   struct ds_vspace_run runs[DS_VSPACE_RUNS], u32 *count);

/* Copy @length bytes, from byte @from of a range that was found on, to @to. */
void ds_packet_copy(struct ds_packet_space *s, const struct ds_vspace_run *runs, u64 from,
		    u8 *to, u32 length);

#endif /* DS_RDM_PACKET_SPACE_H */

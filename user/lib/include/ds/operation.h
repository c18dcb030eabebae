/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: operations on remote memory, run while the caller waits. Part of
 * ds/ds.h; ds/async.h is for callers that do not.
 */
#ifndef DS_OPERATION_H
#define DS_OPERATION_H

#include <stddef.h>
#include <stdint.h>

#include <ds/buffer.h>
#include <ds/fabric.h>
#include <ds/ioctl.h>
#include <ds/space.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * Flag of struct ds_operation, beside DS_OP_CHAIN and DS_OP_FENCE: a WRITE that
 * may be done twice. Without it a WRITE with outcome DS_UNKNOWN is not tried
 * again.
 */
#define DS_OPERATION_IDEMPOTENT (1u << 16)

/**
 * struct ds_operation - one operation on remote memory
 * @opcode: enum ds_opcode
 * @lane: 0 to choose the queue pair by the address, else chains with the same
 *	number and the same server share a queue pair
 * @flags: DS_OP_CHAIN, DS_OP_FENCE, DS_OPERATION_IDEMPOTENT
 * @space: where, with @addr
 * @buffer: READ: destination; WRITE: source; else NULL
 * @addr: address in the space
 * @length: bytes, at least 1; 8 for CAS and FETCH_ADD
 * @buffer_offset: first byte within the buffer
 * @compare_add: CAS: value to compare with; FETCH_ADD: value to add
 * @swap: CAS: value to store
 *
 * A READ or WRITE that stands alone may cross servers and be of any length; the
 * library divides it, and its pieces run in no particular order.
 *
 * Operations with DS_OP_CHAIN are followed by the next one on the same queue
 * pair: they run in order, and when one fails the later ones do not run. All of
 * a chain must be on one server. A long operation in a chain is divided too,
 * and its pieces count towards ds_limits.max_chain.
 */
struct ds_operation {
    uint16_t opcode;
    uint16_t lane;
    uint32_t flags;
    struct ds_space *space;
    struct ds_buffer *buffer;
    uint64_t addr;
    uint64_t length;
    uint64_t buffer_offset;
    uint64_t compare_add;
    uint64_t swap;
};

/**
 * struct ds_result - how an operation ended
 * @status: 0 or a negative errno
 * @outcome: enum ds_outcome: whether it happened. A divided operation of which
 *	some pieces happened and some did not is DS_UNKNOWN
 * @value: CAS and FETCH_ADD: the word's old value, if @outcome is DS_EXECUTED;
 *	the swap happened if it equals compare_add
 * @length: bytes known to have been transferred
 * @node: node that refused or did not answer; if @status is 0, the node that served
 *	it (the last piece's); 0 if it is not known
 * @attempts: how often it was handed to the kernel, the most of any piece
 */
struct ds_result {
    int32_t status;
    uint32_t outcome;
    uint64_t value;
    uint64_t length;
    uint32_t node;
    uint32_t attempts;
};

/**
 * ds_execute() - run operations and wait until they have ended
 * @fabric: the fabric
 * @ops: the operations: one or more chains, which run at the same time
 * @count: their number, at least 1
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 * @results: array of @count, always written; may be NULL
 *
 * Within the time the library tries again what failed for a reason that may
 * pass (a peer that is not connected, a device that is gone), if that is safe:
 * operations that did not happen, READs whatever became of them, and WRITEs
 * with outcome DS_UNKNOWN if they are marked DS_OPERATION_IDEMPOTENT. Atomics with
 * outcome DS_UNKNOWN are never tried again. A chain goes on from its first
 * operation that did not happen, if all that is left of it may be tried again.
 *
 * After -ETIMEDOUT with DS_UNKNOWN the device may still write into the buffer;
 * do not use its bytes for something else before ds_buffer_free().
 *
 * Return: 0 if all operations happened, else the status of the first that did not.
 * If an argument is wrong (-EINVAL, -ERANGE, -E2BIG for a chain that is too long)
 * nothing is run; the results of all operations but the wrong one are -ECANCELED.
 */
int ds_execute(struct ds_fabric *fabric, const struct ds_operation *ops, size_t count,
               uint32_t timeout_ms, struct ds_result *results);

/**
 * ds_read() - READ, as ds_execute()
 * @space: from where
 * @addr: first address
 * @buffer: into this
 * @offset: first byte within the buffer
 * @length: bytes
 * @timeout_ms: longest wait, 0 for what ds_space_set_timeout() said
 * @result: written; may be NULL
 *
 * Return: as ds_execute().
 */
int ds_read(struct ds_space *space, uint64_t addr, struct ds_buffer *buffer, uint64_t offset,
            uint64_t length, uint32_t timeout_ms, struct ds_result *result);

/**
 * ds_write() - WRITE, as ds_execute(); for DS_OPERATION_IDEMPOTENT use that
 * @space: to where
 * @addr: first address
 * @buffer: from this
 * @offset: first byte within the buffer
 * @length: bytes
 * @timeout_ms: longest wait, 0 for what ds_space_set_timeout() said
 * @result: written; may be NULL
 *
 * Return: as ds_execute().
 */
int ds_write(struct ds_space *space, uint64_t addr, struct ds_buffer *buffer, uint64_t offset,
             uint64_t length, uint32_t timeout_ms, struct ds_result *result);

/**
 * ds_cas() - compare and swap an aligned 64-bit word, as ds_execute()
 * @space: where
 * @addr: of the word, a multiple of 8
 * @compare: value to compare with
 * @swap: value to store if it is equal
 * @timeout_ms: longest wait, 0 for what ds_space_set_timeout() said
 * @result: written; its value field is the old value; may be NULL
 *
 * Return: as ds_execute(); 0 also when the word was not equal.
 */
int ds_cas(struct ds_space *space, uint64_t addr, uint64_t compare, uint64_t swap,
           uint32_t timeout_ms, struct ds_result *result);

/**
 * ds_fetch_add() - add to an aligned 64-bit word, as ds_execute()
 * @space: where
 * @addr: of the word, a multiple of 8
 * @add: value to add, modulo 2^64
 * @timeout_ms: longest wait, 0 for what ds_space_set_timeout() said
 * @result: written; its value field is the old value; may be NULL
 *
 * Return: as ds_execute().
 */
int ds_fetch_add(struct ds_space *space, uint64_t addr, uint64_t add, uint32_t timeout_ms,
                 struct ds_result *result);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_OPERATION_H */

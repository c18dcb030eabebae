/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: a fabric, which is an open /dev/ds or a local file: opening it, its limits, its
 * counters, its clock, and whether other nodes are there. Part of ds/ds.h.
 */
#ifndef DS_FABRIC_H
#define DS_FABRIC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct ds_fabric;

#define DS_TIMEOUT_DEFAULT 30000 /* what a @timeout_ms of 0 means */

/**
 * struct ds_fabric_options - how to open a fabric
 * @size: sizeof(struct ds_fabric_options)
 * @ring_entries: completions that the kernel can hold for ds_submit(): a power of
 *	two up to 65536, on /dev/ds at least ds_limits.max_chain; 0 for 1024
 * @max_outstanding: operations that may be under way or wait in the library
 *	through ds_submit(); 0 for 65536. A large READ or WRITE counts once for
 *	each piece that it is divided into
 * @reserved: Must be 0
 * @device: device file, NULL for "/dev/ds"; "local:PATH" for a file that
 *	ds_local_create() made
 */
struct ds_fabric_options {
    uint32_t size;
    uint32_t ring_entries;
    uint32_t max_outstanding;
    uint32_t reserved;
    const char *device;
};

/**
 * ds_fabric_open() - open the device of ds.ko, or a local file
 * @options: NULL for the defaults
 * @fabric: result, for ds_fabric_close()
 *
 * Return: 0, or -ENODEV: ds.ko is not loaded; -EACCES: the caller may not open the
 * device; -ENOTTY: it is no device of ds.ko; -EOPNOTSUPP: the module is too old;
 * -EINVAL: a field of @options; -E2BIG: @options has fields that this library does not
 * know. Of a local file: as ds_local_describe().
 */
int ds_fabric_open(const struct ds_fabric_options *options, struct ds_fabric **fabric);

/**
 * ds_fabric_close() - end all requests and give the fabric back
 * @fabric: from ds_fabric_open(), or NULL
 *
 * What ds_submit() has not yet handed to the kernel ends with -ECANCELED,
 * DS_NOT_EXECUTED. For the rest it waits, up to 30 s; what has not ended then
 * is reported as -ETIMEDOUT, DS_UNKNOWN. All callbacks have run on return.
 */
void ds_fabric_close(struct ds_fabric *fabric);

/**
 * struct ds_limits - what the kernel module allows
 * @size: set by the caller to sizeof(struct ds_limits)
 * @node: this host's node number, 0 if none is set
 * @max_ops: most operations handed to the kernel at once; the library divides
 * @max_chain: most operations in one chain, after division
 * @max_op_bytes: longest piece of a READ or WRITE
 * @max_msg_bytes: longest payload of a message
 * @max_buf_bytes: longest buffer
 * @features: bit mask, 0 in this version
 */
struct ds_limits {
    uint32_t size;
    uint32_t node;
    uint32_t max_ops;
    uint32_t max_chain;
    uint32_t max_op_bytes;
    uint32_t max_msg_bytes;
    uint64_t max_buf_bytes;
    uint64_t features;
};

/**
 * ds_fabric_limits() - read the limits
 * @fabric: the fabric
 * @limits: filled, as far as its size field says
 *
 * Return: 0, or -EINVAL if the size field is too small to be filled.
 */
int ds_fabric_limits(struct ds_fabric *fabric, struct ds_limits *limits);

/**
 * struct ds_counters - what a fabric has done since it was opened
 * @size: set by the caller to sizeof(struct ds_counters)
 * @reserved: 0
 * @reads: READ operations that ended well, as the caller counts them
 * @writes: the same for WRITE
 * @atomics: the same for CAS and FETCH_ADD
 * @bytes_read: bytes that they moved
 * @bytes_written: bytes that they moved
 * @failed: operations that ended with DS_NOT_EXECUTED
 * @unknown: operations that ended with DS_UNKNOWN
 * @pieces: operations handed to the kernel: after division, with retries
 * @submits: system calls that handed them over
 * @refused: of these, how many found the ring or the queue pair full
 * @retries: chains that were handed over again
 * @messages_sent: messages and calls
 * @messages_received: messages to services of this fabric
 */
struct ds_counters {
    uint32_t size;
    uint32_t reserved;
    uint64_t reads;
    uint64_t writes;
    uint64_t atomics;
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t failed;
    uint64_t unknown;
    uint64_t pieces;
    uint64_t submits;
    uint64_t refused;
    uint64_t retries;
    uint64_t messages_sent;
    uint64_t messages_received;
};

/**
 * ds_fabric_counters() - read the counters
 * @fabric: the fabric
 * @counters: filled, as far as its size field says
 *
 * Each counter is exact; two of them are not read at the same instant.
 *
 * Return: 0, or -EINVAL if the size field is too small to be filled.
 */
int ds_fabric_counters(struct ds_fabric *fabric, struct ds_counters *counters);

/**
 * ds_fabric_now() - the fabric's clock
 * @fabric: the fabric
 *
 * Return: nanoseconds, monotonic.
 */
uint64_t ds_fabric_now(struct ds_fabric *fabric);

/**
 * ds_node_alive() - is another node reachable?
 * @fabric: the fabric
 * @node: its number
 *
 * The answer is the kernel's view and may be as old as its heartbeat.
 *
 * Return: 1 if a peer with this number is connected, 0 if one is configured and not
 * connected, -ENOENT if none is known; 1 for this host's own number.
 */
int ds_node_alive(struct ds_fabric *fabric, uint32_t node);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_FABRIC_H */

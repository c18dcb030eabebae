/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: memory of a host that serves it by packets (document 002;
 * docs/protocol.md has the formats). Part of ds/ds.h.
 *
 * The host's administrator makes address spaces with `dsctl rdm space add`. A
 * client reaches one of them by UDP, without a kernel module of its own, or by
 * messages of a connected peer. It allocates ranges of virtual addresses there,
 * and reads, writes and changes what is in them.
 *
 * Lost packets are sent again until the time of a request is over. By version 2 a
 * request is executed at most once, however often its packets arrive. Version 1,
 * the original's, cannot promise that: what is sent again may be executed again
 * (an ALLOC leaves a range that nobody knows), and a WRITE is not even answered
 * unless the server is told to.
 *
 * Threads: any may use an open client; its calls run one after the other.
 */
#ifndef DS_RDM_H
#define DS_RDM_H

#include <stddef.h>
#include <stdint.h>

#include <ds/fabric.h>
#include <ds/ioctl.h>
#include <ds/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct ds_rdm;

/**
 * enum ds_rdm_wire - how packets travel
 * @DS_RDM_WIRE_1: version 1 by UDP
 * @DS_RDM_WIRE_2: version 2 by UDP
 * @DS_RDM_WIRE_PEER: version 2 in messages to a connected peer
 */
enum ds_rdm_wire {
    DS_RDM_WIRE_1 = 1,
    DS_RDM_WIRE_2 = 2,
    DS_RDM_WIRE_PEER = 3,
};

/** Version 1: the server answers WRITE, and so a lost one is sent again. */
#define DS_RDM_WRITES_ANSWERED (1u << 0)

/**
 * struct ds_rdm_options - which space of which host
 * @size: sizeof(struct ds_rdm_options)
 * @wire: enum ds_rdm_wire
 * @ipv4: address of the host in network byte order; 0 with DS_RDM_WIRE_PEER
 * @port: its UDP port, 0 for the version's default; 0 with DS_RDM_WIRE_PEER
 * @fabric: DS_RDM_WIRE_PEER: what knows the peer; must outlive the client. Else NULL
 * @node: DS_RDM_WIRE_PEER: number of the peer. Else 0
 * @space: number of the space; with version 1 at most 255
 * @tenant: whose the space is; 0 with version 1
 * @timeout_ms: longest time of one request, of 64 KiB of a longer one; 0 for
 *	DS_TIMEOUT_DEFAULT
 * @flags: DS_RDM_WRITES_ANSWERED or 0
 * @reserved: 0
 * @key: DS_PACKET_KEY_LEN bytes, copied: the key of the space; NULL if it has none.
 *	NULL with version 1
 */
struct ds_rdm_options {
    uint32_t size;
    uint32_t wire;
    uint32_t ipv4;
    uint32_t port;
    struct ds_fabric *fabric;
    uint32_t node;
    uint32_t space;
    uint32_t tenant;
    uint32_t timeout_ms;
    uint32_t flags;
    uint32_t reserved;
    const uint8_t *key;
};

/**
 * ds_rdm_open() - make a client of a space
 * @options: which one
 * @rdm: result, for ds_rdm_close()
 *
 * Sends nothing: whether the host answers is seen at the first request.
 *
 * Return: 0, or -EINVAL: a field of @options; -E2BIG: it has fields that this library
 * does not know; -ENETUNREACH: no route to the host;
 * -EMSGSIZE: the route takes no packet that is of use.
 */
int ds_rdm_open(const struct ds_rdm_options *options, struct ds_rdm **rdm);

/**
 * ds_rdm_close() - give a client back
 * @rdm: from ds_rdm_open(), or NULL
 *
 * What it allocated stays allocated.
 */
void ds_rdm_close(struct ds_rdm *rdm);

/**
 * struct ds_rdm_request - what is asked of the server, and what came of it
 * @opcode: enum ds_packet_op but OPEN and CLOSE, which the library does by itself.
 *	Version 1 has READ, WRITE, WRITE_PERSISTENT and ALLOC only
 * @status: result: 0 or a negative errno
 * @reason: result: enum ds_packet_status, if it is the server that refused; else 0
 * @outcome: result: enum ds_outcome. DS_UNKNOWN: it may have happened, in part if it
 *	is a WRITE of more than 64 KiB; with @status 0 it was a WRITE that is not answered;
 *	with @reason the server has refused what was sent again, but perhaps not the first
 * @address: virtual; of an ALLOC the result
 * @length: bytes. READ and WRITE: any number but 0. PING: as many as a packet holds, may
 *	be 0. FREE: 0 or the length of the allocation. CAS and FETCH_ADD: 8
 * @data: READ: where they go; WRITE, WRITE_PERSISTENT and PING: what is sent; else NULL
 * @operand: CAS: the new value; FETCH_ADD: what is added; ALLOC: DS_ACCESS_* that the
 *	range is to have, 0 for all that the space has; else 0
 * @compare: CAS: the value that is replaced; else 0
 * @value: result: CAS and FETCH_ADD: what the word was; ALLOC: offset of the range in
 *	the pool
 * @generation: result: ALLOC: generation of the address, by version 2
 * @reserved: 0
 */
struct ds_rdm_request {
    uint32_t opcode;
    int32_t status;
    uint32_t reason;
    uint32_t outcome;
    uint64_t address;
    uint64_t length;
    void *data;
    uint64_t operand;
    uint64_t compare;
    uint64_t value;
    uint32_t generation;
    uint32_t reserved;
};

/**
 * ds_rdm_execute() - send requests and wait until all have ended
 * @rdm: the client
 * @requests: the requests; they run in no particular order unless @depth is 1
 * @count: their number
 * @depth: how many are under way at a time, each of at most 64 KiB; 0 for
 *	DS_PACKET_WINDOW, which is the most
 *
 * Return: 0 if all succeeded, else the status of the first in the array that did not.
 * Of requests: -EINVAL: a field; -EOPNOTSUPP: version 1 has no such request, or the
 * server does not know it, or cannot store lastingly; -EMSGSIZE: too long for a
 * packet of the route; -ENOENT: no such space, or it is another tenant's; -EACCES: not
 * allowed; -ERANGE: not within one allocation; -ENOSPC: the space is full; -ENOMEM,
 * -EIO: of the server; -EBUSY: it had no room for the request in all the time;
 * -ECONNRESET: the server restarted; -ETIMEDOUT: it did not answer; -ECONNREFUSED: it
 * does not serve packets; what ds_message_call() says.
 */
int ds_rdm_execute(struct ds_rdm *rdm, struct ds_rdm_request *requests, size_t count,
                   uint32_t depth);

/**
 * ds_rdm_alloc() - allocate memory of the space
 * @rdm: the client
 * @length: bytes
 * @access: DS_ACCESS_* that the range is to have, 0 for all that the space has
 * @address: result: its virtual address
 *
 * Return: as ds_rdm_execute(), as do all that follow.
 */
int ds_rdm_alloc(struct ds_rdm *rdm, uint64_t length, uint32_t access, uint64_t *address);

/**
 * ds_rdm_free() - give memory back
 * @rdm: the client
 * @address: from ds_rdm_alloc()
 */
int ds_rdm_free(struct ds_rdm *rdm, uint64_t address);

/**
 * ds_rdm_read() - copy from the space
 * @rdm: the client
 * @address: virtual
 * @data: where the bytes go
 * @length: their number
 */
int ds_rdm_read(struct ds_rdm *rdm, uint64_t address, void *data, uint64_t length);

/**
 * ds_rdm_write() - copy to the space
 * @rdm: the client
 * @address: virtual
 * @data: the bytes
 * @length: their number
 */
int ds_rdm_write(struct ds_rdm *rdm, uint64_t address, const void *data, uint64_t length);

/**
 * ds_rdm_write_persistent() - copy to the space, and wait until it is on stable storage
 * @rdm: the client
 * @address: virtual
 * @data: the bytes
 * @length: their number
 */
int ds_rdm_write_persistent(struct ds_rdm *rdm, uint64_t address, const void *data,
                            uint64_t length);

/**
 * ds_rdm_cas() - compare a word with a value and, if it is equal, replace it
 * @rdm: the client
 * @address: virtual, a multiple of 8
 * @compare: the value
 * @swap: what replaces it
 * @old: result: what the word was
 */
int ds_rdm_cas(struct ds_rdm *rdm, uint64_t address, uint64_t compare, uint64_t swap,
               uint64_t *old);

/**
 * ds_rdm_fetch_add() - add to a word
 * @rdm: the client
 * @address: virtual, a multiple of 8
 * @add: what is added
 * @old: result: what the word was
 */
int ds_rdm_fetch_add(struct ds_rdm *rdm, uint64_t address, uint64_t add, uint64_t *old);

/**
 * ds_rdm_ping() - send bytes to and fro
 * @rdm: the client
 * @data: the bytes, may be NULL if @length is 0
 * @length: as many as fit into a packet
 *
 * Return: also -EPROTO: others came back.
 */
int ds_rdm_ping(struct ds_rdm *rdm, const void *data, uint32_t length);

/**
 * struct ds_rdm_counts - what a client did since it was opened
 * @size: sizeof(struct ds_rdm_counts), set by the caller
 * @mtu: bytes of the longest packet to the server
 * @sent: packets sent, those sent again included
 * @resent: packets sent again
 * @received: packets that answered something
 * @ignored: packets that did not: broken, forged, late or doubled
 * @lost: times that an answer did not come in time; version 1: also replies that the
 *	server has counted and that never came
 * @bytes_out: in packets sent
 * @bytes_in: in packets received
 * @sessions: sessions opened
 * @rtt_ns: smoothed time of a request, 0 if none was answered
 */
struct ds_rdm_counts {
    uint32_t size;
    uint32_t mtu;
    uint64_t sent;
    uint64_t resent;
    uint64_t received;
    uint64_t ignored;
    uint64_t lost;
    uint64_t bytes_out;
    uint64_t bytes_in;
    uint64_t sessions;
    uint64_t rtt_ns;
};

/**
 * ds_rdm_counters() - read the counters
 * @rdm: the client
 * @counts: result
 *
 * Return: 0, or -EINVAL: @counts->size.
 */
int ds_rdm_counters(struct ds_rdm *rdm, struct ds_rdm_counts *counts);

/**
 * ds_rdm_strerror() - why the server refused
 * @reason: enum ds_packet_status
 *
 * Return: one sentence, static, never NULL.
 */
const char *ds_rdm_strerror(uint32_t reason);

/**
 * ds_rdm_remedy() - what to do about it
 * @reason: enum ds_packet_status
 *
 * Return: one sentence, static, never NULL, empty for DS_PACKET_OK.
 */
const char *ds_rdm_remedy(uint32_t reason);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_RDM_H */

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: memory of other hosts, from C.
 *
 * A fabric is an open /dev/ds. Through it a program opens spaces (remote
 * memory, named by addresses), makes buffers (local memory that the RDMA device
 * reads and writes) and runs operations between the two. docs/library.md is
 * the guide; ds/ds.hpp is the same for C++.
 *
 * Errors: a function that can fail returns a negative errno, and 0 or a
 * positive number if it succeeds; ds_strerror() and ds_remedy() have the
 * words. There is no error state anywhere else. An operation also has an
 * outcome: whether it happened is a question of its own (struct ds_result).
 *
 * Ownership: what a function makes through an out pointer is the caller's, to
 * be given back with the function named there. Spaces, buffers, services and
 * segments keep the open file alive, so they may be given back after
 * ds_fabric_close(), in any order.
 *
 * Threads: every function may be called by any thread at any time, except that
 * an object must not be in use by another call while it is given back.
 * Callbacks run only inside ds_fabric_poll() and ds_fabric_close(), on the
 * calling thread; the library has no threads of its own and holds no lock
 * while a callback runs.
 *
 * Times are milliseconds on the monotonic clock. Nothing waits for ever.
 */
#ifndef DS_DS_H
#define DS_DS_H

#include <stddef.h>
#include <stdint.h>

#include <ds/error.h>
#include <ds/ioctl.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct ds_fabric;
struct ds_space;
struct ds_buffer;
struct ds_service;
struct ds_segment;

/* ---- Fabric ---- */

#define DS_TIMEOUT_DEFAULT 30000 /* what a @timeout_ms of 0 means */

/**
 * struct ds_fabric_options - how to open a fabric
 * @size: sizeof(struct ds_fabric_options)
 * @ring_entries: completions that the kernel can hold for ds_submit(): a power of
 *	two up to 65536, 0 for 1024
 * @max_outstanding: operations that may be under way or wait in the library
 *	through ds_submit(); 0 for 65536. A large READ or WRITE counts once for
 *	each piece that it is divided into
 * @reserved: Must be 0
 * @device: device file, NULL for "/dev/ds"
 */
struct ds_fabric_options {
    uint32_t size;
    uint32_t ring_entries;
    uint32_t max_outstanding;
    uint32_t reserved;
    const char *device;
};

/**
 * ds_fabric_open() - open the device of ds.ko
 * @options: NULL for the defaults
 * @fabric: result, for ds_fabric_close()
 *
 * Return: 0, or -ENODEV: ds.ko is not loaded; -EACCES: the caller may not open the
 * device; -EOPNOTSUPP: the module is too old; -EINVAL: a field of @options.
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

/* ---- Spaces ---- */

/**
 * ds_space_open() - open a space for operations
 * @fabric: the fabric
 * @number: of the space
 * @access: DS_ACCESS_*
 * @space: result, for ds_space_close()
 *
 * Return: 0, or -ENOENT: no such space; -EACCES: a right in @access is not granted;
 * -EINVAL: @access is 0; -EOPNOTSUPP: it has unknown bits; -EDQUOT: too many handles.
 */
int ds_space_open(struct ds_fabric *fabric, uint32_t number, uint32_t access,
                  struct ds_space **space);

/**
 * ds_space_close() - give a space back
 * @space: from ds_space_open(), or NULL; no request may use it any more
 */
void ds_space_close(struct ds_space *space);

/**
 * struct ds_space_info - the shape of a space
 * @size: set by the caller to sizeof(struct ds_space_info)
 * @number: of the space
 * @servers: memory servers, attached or not
 * @server_shift: log2 of a server's bytes
 * @base: first address
 * @last: last address
 */
struct ds_space_info {
    uint32_t size;
    uint32_t number;
    uint32_t servers;
    uint32_t server_shift;
    uint64_t base;
    uint64_t last;
};

/**
 * ds_space_get_info() - read the shape of a space
 * @space: the space
 * @info: filled, as far as its size field says
 *
 * Return: 0, or -EINVAL if the size field is too small to be filled.
 */
int ds_space_get_info(const struct ds_space *space, struct ds_space_info *info);

/* ---- Buffers ---- */

/**
 * ds_buffer_alloc() - make a buffer of kernel pages, mapped into this process
 * @fabric: the fabric
 * @length: bytes, at least 1; rounded up to whole pages
 * @numa_node: NUMA node of the pages, -1 for the caller's
 * @buffer: result, zeroed, for ds_buffer_free()
 *
 * Return: 0, or -ENOMEM, -EDQUOT; -E2BIG: longer than ds_limits.max_buf_bytes.
 */
int ds_buffer_alloc(struct ds_fabric *fabric, size_t length, int numa_node,
                    struct ds_buffer **buffer);

/**
 * ds_buffer_pin() - use memory of this process as buffer
 * @fabric: the fabric
 * @start: first byte, on a page boundary; stays the caller's
 * @length: bytes, a multiple of 4096
 * @buffer: result, for ds_buffer_free()
 *
 * Counts in RLIMIT_MEMLOCK. The memory may be unmapped before the buffer is
 * freed; the pages stay until then.
 *
 * Return: 0, or -EINVAL: not on page boundaries; -EFAULT: not mapped or not writable;
 * -ENOMEM: RLIMIT_MEMLOCK reached.
 */
int ds_buffer_pin(struct ds_fabric *fabric, void *start, size_t length, struct ds_buffer **buffer);

/**
 * ds_buffer_free() - give a buffer back
 * @buffer: from ds_buffer_alloc() or ds_buffer_pin(), or NULL; no request may
 *	use it any more
 *
 * The memory of ds_buffer_alloc() is unmapped. The kernel keeps the pages while
 * an operation that timed out may still use them.
 */
void ds_buffer_free(struct ds_buffer *buffer);

/**
 * ds_buffer_data() - where the buffer is in this process
 * @buffer: the buffer
 *
 * Return: its first byte; valid until ds_buffer_free().
 */
void *ds_buffer_data(const struct ds_buffer *buffer);

/**
 * ds_buffer_length() - how long the buffer is
 * @buffer: the buffer
 *
 * Return: bytes.
 */
size_t ds_buffer_length(const struct ds_buffer *buffer);

/* ---- Operations ---- */

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
 * typedef ds_done_fn - called when the operations of one ds_submit() have ended
 * @arg: of ds_submit()
 * @status: 0 if all happened, else the status of the first that did not
 *
 * Context: inside ds_fabric_poll() or ds_fabric_close(). May call ds_submit(), not
 * ds_fabric_poll() or ds_fabric_close().
 */
typedef void (*ds_done_fn)(void *arg, int status);

/**
 * ds_submit() - run operations and be told when they have ended
 * @fabric: the fabric
 * @ops: as in ds_execute(); copied, so free to go after the return
 * @count: their number, at least 1
 * @timeout_ms: as in ds_execute(); what the kernel has taken ends by itself, so
 *	the end may come later than this
 * @results: array of @count, written before @done is called; may be NULL
 * @done: called once, not if ds_submit() fails
 * @arg: handed to @done
 *
 * Chains of one fabric are handed to the kernel in the order of the calls. When
 * the kernel has no room they wait in the library, in order.
 *
 * Return: 0, or as ds_execute() for wrong arguments; -EAGAIN: max_outstanding is
 * reached, call ds_fabric_poll() first.
 */
int ds_submit(struct ds_fabric *fabric, const struct ds_operation *ops, size_t count,
              uint32_t timeout_ms, struct ds_result *results, ds_done_fn done, void *arg);

/**
 * ds_fabric_poll() - run the callbacks of requests that have ended
 * @fabric: the fabric
 * @timeout_ms: how long to wait for one, 0 not to wait
 *
 * Also hands waiting chains to the kernel and tries failed ones again, so
 * requests make progress only while somebody calls this. Several threads may.
 *
 * Return: 1 if something happened, 0 if the time passed, -EINTR if a signal came.
 */
int ds_fabric_poll(struct ds_fabric *fabric, uint32_t timeout_ms);

/**
 * ds_fabric_outstanding() - requests of ds_submit() that have not ended
 * @fabric: the fabric
 *
 * Return: their number.
 */
size_t ds_fabric_outstanding(struct ds_fabric *fabric);

/**
 * ds_fabric_fd() - a file descriptor for an event loop
 * @fabric: the fabric; keeps the descriptor
 *
 * Return: a descriptor that is readable when ds_fabric_poll() has something to do.
 */
int ds_fabric_fd(struct ds_fabric *fabric);

/**
 * ds_read() - READ, as ds_execute()
 * @space: from where
 * @addr: first address
 * @buffer: into this
 * @offset: first byte within the buffer
 * @length: bytes
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
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
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
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
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
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
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 * @result: written; its value field is the old value; may be NULL
 *
 * Return: as ds_execute().
 */
int ds_fetch_add(struct ds_space *space, uint64_t addr, uint64_t add, uint32_t timeout_ms,
                 struct ds_result *result);

/* ---- Addresses ---- */

/**
 * struct ds_address - where an address of a pool lies (ds/layout.h)
 * @server: memory server, from 0
 * @region: enum ds_region
 * @offset: bytes from the start of the server
 * @offset_in_region: bytes from the start of the region
 */
struct ds_address {
    uint32_t server;
    uint32_t region;
    uint64_t offset;
    uint64_t offset_in_region;
};

/**
 * ds_addr_resolve() - explain an address
 * @addr: the address
 * @servers: memory servers of the pool, 1 to DS_LAYOUT_MAX_SERVERS
 * @k: log2 of a server's size, less 24; 0 to DS_LAYOUT_MAX_K
 * @out: result, written on success only
 *
 * Return: 0, or -ERANGE below the base or past the last server; -EINVAL: @servers or
 * @k out of range.
 */
int ds_addr_resolve(uint64_t addr, uint32_t servers, uint32_t k, struct ds_address *out);

/**
 * ds_addr_region_name() - name of a region for people
 * @region: enum ds_region
 *
 * Return: static string, "unknown" for a number that is no region.
 */
const char *ds_addr_region_name(uint32_t region);

/* ---- Messages ---- */

/**
 * struct ds_reply - the answer to ds_message_call()
 * @data: where the payload goes; NULL if @room is 0
 * @room: bytes there
 * @length: written: bytes of the reply, also with -EMSGSIZE
 * @status: written: status that the service replied with
 * @outcome: written: enum ds_outcome of the request, also if the call fails
 */
struct ds_reply {
    void *data;
    uint32_t room;
    uint32_t length;
    int32_t status;
    uint32_t outcome;
};

/**
 * ds_message_call() - send a message to a service and wait for its reply
 * @fabric: the fabric
 * @node: node of the service
 * @service: its port
 * @data: payload, may be NULL if @length is 0
 * @length: its bytes, at most ds_limits.max_msg_bytes
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 * @reply: the answer
 *
 * Never sent again by the library: a request whose outcome is DS_UNKNOWN may have
 * been served.
 *
 * Return: 0, or -ENOTCONN: no such connected peer; -ECONNREFUSED: nobody has bound
 * the service; -EBUSY: its queue is full; -EMSGSIZE: payload or reply too long;
 * -ETIMEDOUT.
 */
int ds_message_call(struct ds_fabric *fabric, uint32_t node, uint32_t service, const void *data,
                    uint32_t length, uint32_t timeout_ms, struct ds_reply *reply);

/**
 * ds_message_send() - send a message that wants no reply
 * @fabric: the fabric
 * @node: node of the service
 * @service: its port
 * @data: payload, may be NULL if @length is 0
 * @length: its bytes, at most ds_limits.max_msg_bytes
 * @timeout_ms: longest wait for room to send it, 0 for DS_TIMEOUT_DEFAULT
 *
 * Return: 0 if it is on its way, which does not mean that it arrives; else as
 * ds_message_call().
 */
int ds_message_send(struct ds_fabric *fabric, uint32_t node, uint32_t service, const void *data,
                    uint32_t length, uint32_t timeout_ms);

/**
 * ds_service_bind() - receive the messages to a port
 * @fabric: the fabric
 * @port: DS_SERVICE_USER_FIRST to DS_SERVICE_USER_LAST
 * @queue: messages that may wait, 1 to 1024; further ones are refused
 * @service: result, for ds_service_close()
 *
 * Return: 0, or -EADDRINUSE: the port is taken; -EINVAL: a number out of range.
 */
int ds_service_bind(struct ds_fabric *fabric, uint32_t port, uint32_t queue,
                    struct ds_service **service);

/**
 * ds_service_close() - give the port back
 * @service: from ds_service_bind(), or NULL; no thread may wait in it
 */
void ds_service_close(struct ds_service *service);

/**
 * struct ds_message - a message that was received
 * @cookie: for ds_service_reply()
 * @length: bytes of the payload, also with -EMSGSIZE
 * @node: node that sent it
 * @want_reply: 1 if the sender waits for a reply, else 0
 * @reserved: 0
 */
struct ds_message {
    uint64_t cookie;
    uint32_t length;
    uint32_t node;
    uint32_t want_reply;
    uint32_t reserved;
};

/**
 * ds_service_receive() - wait for a message
 * @service: the service
 * @timeout_ms: longest wait, 0 not to wait
 * @data: where the payload goes
 * @room: bytes there
 * @message: the message
 *
 * Return: 0, or -ETIMEDOUT: no message came in time; -EAGAIN: none is there and
 * @timeout_ms is 0; -EMSGSIZE: the message is longer than @room and stays in the
 * queue.
 */
int ds_service_receive(struct ds_service *service, uint32_t timeout_ms, void *data, uint32_t room,
                       struct ds_message *message);

/**
 * ds_service_reply() - answer a message
 * @service: the service
 * @cookie: of the message
 * @status: handed to the sender
 * @data: payload, may be NULL if @length is 0
 * @length: its bytes, at most ds_limits.max_msg_bytes
 *
 * Return: 0, or -ENOENT: the sender does not wait for a reply, or no longer.
 */
int ds_service_reply(struct ds_service *service, uint64_t cookie, int32_t status, const void *data,
                     uint32_t length);

/* ---- Segments ---- */

/**
 * struct ds_segment_options - memory to export
 * @size: sizeof(struct ds_segment_options)
 * @domain: trust domain that may attach it
 * @access: DS_ACCESS_* granted
 * @numa_node: NUMA node of the pages, -1 for the caller's; -1 with @start
 * @start: memory of this process, on a page boundary; NULL for kernel pages
 * @length: bytes, a multiple of 4096
 */
struct ds_segment_options {
    uint32_t size;
    uint32_t domain;
    uint32_t access;
    int32_t numa_node;
    void *start;
    uint64_t length;
};

/**
 * ds_segment_create() - export memory while this process keeps the segment
 * @fabric: the fabric
 * @options: what to export
 * @segment: result, for ds_segment_close()
 *
 * Return: 0, or -EINVAL: not on page boundaries; -ENOENT: no such domain; -EFAULT;
 * -ENOMEM; -EDQUOT.
 */
int ds_segment_create(struct ds_fabric *fabric, const struct ds_segment_options *options,
                      struct ds_segment **segment);

/**
 * ds_segment_number() - the number by which peers attach the segment
 * @segment: the segment
 *
 * Return: the number, never used twice by a host.
 */
uint64_t ds_segment_number(const struct ds_segment *segment);

/**
 * ds_segment_close() - export it no more
 * @segment: from ds_segment_create(), or NULL
 *
 * Returns when no peer can reach the memory any more.
 */
void ds_segment_close(struct ds_segment *segment);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_DS_H */

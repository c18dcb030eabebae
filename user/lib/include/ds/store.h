/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: an object store in pooled memory. Part of ds/ds.h.
 *
 * An object is bytes with a key. A put makes a new version of it and never
 * changes one that is there: a get sees the whole of one put, or an error, and
 * never a byte of anything else. docs/objstore.md says why, and what a store
 * does not do.
 *
 * The metadata are with a master, dsmasterd; the bytes go between this process
 * and the memory servers without it. While the master is away, calls wait for it
 * as long as their time allows. They end with -EXDEV if that of another store is in
 * its place.
 *
 * Threads: every function may be called by any thread at any time, except that
 * nothing may use a store while it is closed. Puts, gets and checks poll the fabric
 * (ds_fabric_poll()), so they are not for callbacks of ds_submit(), and may run those.
 *
 * Callbacks must not throw: an exception that leaves one ends the program.
 */
#ifndef DS_STORE_H
#define DS_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <ds/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct ds_store;

#define DS_STORE_PORT 512       /* service port of a master, if no other is named */
#define DS_STORE_MAX_KEY 1024   /* bytes of a key; at least 1, any values */
#define DS_STORE_MAX_REPLICAS 3 /* of an object, each on servers of its own */

/**
 * struct ds_store_options - which store
 * @size: sizeof(struct ds_store_options)
 * @space: number of its space, 0 for 1
 * @node: node of its master, 0 for 1
 * @port: service port of its master, 0 for DS_STORE_PORT
 * @timeout_ms: longest wait for the master, and for each access to the pool's own
 *	memory; 0 for DS_TIMEOUT_DEFAULT
 * @reserved: Must be 0
 */
struct ds_store_options {
    uint32_t size;
    uint32_t space;
    uint32_t node;
    uint32_t port;
    uint32_t timeout_ms;
    uint32_t reserved;
};

/**
 * ds_store_open() - use a store
 * @fabric: the fabric, which has to stay open; it becomes a client of the pool
 * @options: NULL for the defaults
 * @store: result, for ds_store_close()
 *
 * Return: 0, or -ECONNREFUSED: no master serves the port; -EXDEV: the space is not
 * that of the master's store; -ENOENT: no such space, or no store in it; -EBUSY: the
 * fabric is a client of the pool already; -EUSERS: the pool has no number for
 * another client; -EOPNOTSUPP: the master is of another version; -EINVAL: a field of
 * @options; -E2BIG: it has fields that this library does not know; -ETIMEDOUT.
 */
int ds_store_open(struct ds_fabric *fabric, const struct ds_store_options *options,
                  struct ds_store **store);

/**
 * ds_store_close() - end the use of a store
 * @store: from ds_store_open(), or NULL
 */
void ds_store_close(struct ds_store *store);

/**
 * typedef ds_store_progress_fn - told how far a put or get is
 * @arg: of the options
 * @done: bytes that are there, of the object or of what is read of it
 *
 * Context: within the call, on the calling thread, without locks.
 *
 * Return: 0 to go on; else the call ends with -EINTR.
 */
typedef int (*ds_store_progress_fn)(void *arg, uint64_t done);

#define DS_STORE_MUST_NOT_EXIST (1u << 0) /* put: -EEXIST if there is one */

/**
 * struct ds_store_put_options - how to put
 * @size: sizeof(struct ds_store_put_options)
 * @flags: DS_STORE_MUST_NOT_EXIST
 * @replicas: 1 to DS_STORE_MAX_REPLICAS, 0 for 1
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 * @progress: NULL for none
 * @arg: handed to @progress
 */
struct ds_store_put_options {
    uint32_t size;
    uint32_t flags;
    uint32_t replicas;
    uint32_t timeout_ms;
    ds_store_progress_fn progress;
    void *arg;
};

/**
 * ds_store_put() - store an object, as the newest version of its key
 * @store: the store
 * @key: any bytes
 * @key_length: their number, 1 to DS_STORE_MAX_KEY
 * @parts: where the object's bytes are, one part behind the other
 * @count: of parts; an object may have 0 bytes
 * @options: NULL for the defaults
 * @version: written: number of the version, greater than those of all earlier puts;
 *	0 if nothing was put. If the call fails and it is not 0, nobody knows: the
 *	master was not heard of again, or not before this client was fenced. May be NULL
 *
 * When it returns 0 the object outlives the end of this process and of the
 * master, as long as the memory servers of one replica live.
 *
 * Return: 0, or -EEXIST; -ENOSPC: no space for it, see ds_store_get_totals(); -EHOSTDOWN:
 * fewer servers are up than it shall have replicas; -EROFS:
 * the master cannot write its metadata; -EINVAL: wrong key, or more replicas than
 * the space has servers; -E2BIG: @options has fields that this library does not know;
 * -EFBIG: longer than an object can be; what a WRITE can fail with; -ESHUTDOWN: this
 * client was fenced; -ETIMEDOUT or -ECONNREFUSED: no master in time; -EINTR: @progress
 * said so.
 */
int ds_store_put(struct ds_store *store, const void *key, size_t key_length,
                 const struct iovec *parts, size_t count,
                 const struct ds_store_put_options *options, int64_t *version);

#define DS_STORE_CACHED (1u << 0) /* get: what was newest at an earlier call will do */

/**
 * struct ds_store_get_options - what to get
 * @size: sizeof(struct ds_store_get_options)
 * @flags: DS_STORE_CACHED
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 * @reserved: Must be 0
 * @offset: first byte of the object that is wanted
 * @min_version: a version before this will not do; 0 for any
 * @version: only this one will do; 0 for the newest
 * @progress: NULL for none
 * @arg: handed to @progress
 */
struct ds_store_get_options {
    uint32_t size;
    uint32_t flags;
    uint32_t timeout_ms;
    uint32_t reserved;
    uint64_t offset;
    int64_t min_version;
    int64_t version;
    ds_store_progress_fn progress;
    void *arg;
};

/**
 * struct ds_store_object - what is known of an object
 * @size: set by the caller to sizeof(struct ds_store_object)
 * @replicas: of it
 * @version: that is meant by the rest
 * @length: bytes
 * @time_ns: when its put began, nanoseconds since 1970, by the master's clock
 * @copied: get: bytes written to the caller's parts
 * @damaged: get: shards of replicas that were not as they were put, and were read
 *	from another replica; ds_store_check() finds them all
 * @reserved: 0
 */
struct ds_store_object {
    uint32_t size;
    uint32_t replicas;
    int64_t version;
    uint64_t length;
    uint64_t time_ns;
    uint64_t copied;
    uint32_t damaged;
    uint32_t reserved;
};

/**
 * ds_store_get() - read an object, or a part of it
 * @store: the store
 * @key: of the object
 * @key_length: its bytes
 * @parts: where the bytes go, one part behind the other; what is left of them when
 *	the object ends is not touched
 * @count: of parts
 * @options: NULL for the defaults
 * @object: filled, as far as its size field says; with -EAGAIN its version is the
 *	newest that could be had; may be NULL
 *
 * All bytes are of one version and as they were put: each shard's CRC is checked.
 * If the call fails, what is in the parts is not to be used.
 *
 * Return: 0, or -ENOENT: no such object; -EAGAIN: no version as late as
 * @min_version; -ESTALE: not, or no longer, that @version; -EBADMSG: it is damaged
 * in every replica; -EINVAL: wrong key, or a field of @options; -E2BIG: it has fields
 * that this library does not know; what a READ can fail with; -ETIMEDOUT or
 * -ECONNREFUSED: no master in time, or overwritten faster than it could be read; -EINTR.
 */
int ds_store_get(struct ds_store *store, const void *key, size_t key_length,
                 const struct iovec *parts, size_t count,
                 const struct ds_store_get_options *options, struct ds_store_object *object);

/**
 * ds_store_del() - delete an object
 * @store: the store
 * @key: of the object
 * @key_length: its bytes
 * @version: only if this is the newest one; 0 for any
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 *
 * What is deleted is the version that is the newest when the call begins, never one
 * that is put afterwards, also if a reply of the master was lost: it is asked first
 * which one that is, so a delete is two round trips.
 *
 * Return: 0: that version is gone; or -ENOENT: there was none; -ESTALE: another
 * version is the newest; -EROFS; -ETIMEDOUT or -ECONNREFUSED: no master in time, and
 * nobody knows whether it is deleted. If it was overwritten meanwhile, 0 means that the
 * delete came before that; if a reply was lost, that somebody else may have deleted it.
 */
int ds_store_del(struct ds_store *store, const void *key, size_t key_length, int64_t version,
                 uint32_t timeout_ms);

/**
 * ds_store_stat() - ask for an object without reading it
 * @store: the store
 * @key: of the object
 * @key_length: its bytes
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 * @object: filled, as far as its size field says
 *
 * Return: 0, or -ENOENT; -ETIMEDOUT or -ECONNREFUSED: no master in time.
 */
int ds_store_stat(struct ds_store *store, const void *key, size_t key_length, uint32_t timeout_ms,
                  struct ds_store_object *object);

/**
 * typedef ds_store_entry_fn - takes an object of a list
 * @arg: of ds_store_list()
 * @key: of the object, for the time of the call
 * @key_length: its bytes
 * @object: what is known of it
 *
 * Context: within ds_store_list(), on the calling thread, without locks.
 *
 * Return: 0 to go on; else the list ends.
 */
typedef int (*ds_store_entry_fn)(void *arg, const void *key, size_t key_length,
                                 const struct ds_store_object *object);

/**
 * ds_store_list() - the objects whose keys begin alike, in the order of their bytes
 * @store: the store
 * @prefix: what keys begin with
 * @prefix_length: its bytes, 0 for all keys
 * @after: a cursor: only keys behind this one
 * @after_length: its bytes, 0 to begin with the first
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 * @entry: called for each
 * @arg: handed to @entry
 *
 * Objects that come or go meanwhile may be in the list or not; the others are in
 * it exactly once.
 *
 * Return: 0, or -EINVAL: a length; -ETIMEDOUT or -ECONNREFUSED: no master in time.
 */
int ds_store_list(struct ds_store *store, const void *prefix, size_t prefix_length,
                  const void *after, size_t after_length, uint32_t timeout_ms,
                  ds_store_entry_fn entry, void *arg);

/**
 * struct ds_store_totals - how full a store is
 * @size: set by the caller to sizeof(struct ds_store_totals)
 * @servers: memory servers
 * @objects: number
 * @object_bytes: their lengths
 * @total: bytes of space; used + reserved + retired + free
 * @used: by objects, all replicas, seals and rounding included
 * @reserved: by puts under way, and by those whose client has not been declared dead
 * @retired: by versions that are gone, on their way back to @free
 * @free: for new objects
 * @largest: longest piece of @free on any server
 * @epoch: how often the master has been started
 * @reservations: puts under way, and extents of replicas that are made anew
 * @incomplete: objects of which a replica is lost or in doubt
 */
struct ds_store_totals {
    uint32_t size;
    uint32_t servers;
    uint64_t objects;
    uint64_t object_bytes;
    uint64_t total;
    uint64_t used;
    uint64_t reserved;
    uint64_t retired;
    uint64_t free;
    uint64_t largest;
    uint32_t epoch;
    uint32_t reservations;
    uint64_t incomplete;
};

/**
 * struct ds_store_server - how full a memory server is
 * @total: bytes of space
 * @free: for new objects
 * @largest: longest piece of @free
 * @down: 1: it does not answer the master, and nothing is put there; 0: it does
 * @reserved: 0
 */
struct ds_store_server {
    uint64_t total;
    uint64_t free;
    uint64_t largest;
    uint32_t down;
    uint32_t reserved;
};

/**
 * ds_store_get_totals() - ask how full the store is
 * @store: the store
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 * @totals: filled, as far as its size field says
 * @servers: filled for the first @count servers; NULL if @count is 0
 * @count: of @servers
 *
 * Return: 0, or -ETIMEDOUT or -ECONNREFUSED: no master in time.
 */
int ds_store_get_totals(struct ds_store *store, uint32_t timeout_ms, struct ds_store_totals *totals,
                        struct ds_store_server *servers, size_t count);

/**
 * struct ds_store_damage - a shard of a replica that cannot be read as it was put
 * @status: -EBADMSG: it is damaged; else what the READ failed with
 * @server: memory server, from 0
 * @addr: address of its first byte in the space
 * @offset: of its first byte in the object
 * @length: its bytes
 */
struct ds_store_damage {
    int32_t status;
    uint32_t server;
    uint64_t addr;
    uint64_t offset;
    uint64_t length;
};

/**
 * typedef ds_store_damage_fn - takes a damage
 * @arg: of ds_store_check()
 * @damage: what and where
 *
 * Context: within ds_store_check(), on the calling thread, without locks.
 */
typedef void (*ds_store_damage_fn)(void *arg, const struct ds_store_damage *damage);

/**
 * ds_store_check() - read all replicas of an object and compare them with their seals
 * @store: the store
 * @key: of the object
 * @key_length: its bytes
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 * @damage: called for each damage; may be NULL
 * @arg: handed to @damage
 * @object: filled, as far as its size field says: what was checked; may be NULL
 *
 * Return: 0: all replicas are whole; or -EBADMSG: a replica is not; -ENOENT;
 * -ETIMEDOUT or -ECONNREFUSED: no master in time.
 */
int ds_store_check(struct ds_store *store, const void *key, size_t key_length, uint32_t timeout_ms,
                   ds_store_damage_fn damage, void *arg, struct ds_store_object *object);

/**
 * ds_store_repair() - have lost or damaged replicas of an object made anew
 * @store: the store
 * @key: of the object
 * @key_length: its bytes
 * @timeout_ms: longest wait for the master, 0 for DS_TIMEOUT_DEFAULT
 *
 * For what ds_store_check() has found; what is lost with a server the master sees by
 * itself. The master reads all replicas, and writes new ones from one that is whole:
 * later, and if there is space on a server without a replica of it. While the object
 * is among the incomplete ones of ds_store_get_totals(), it is not done.
 *
 * Return: 0: the master knows; or -ENOENT; -ETIMEDOUT or -ECONNREFUSED: no master in
 * time.
 */
int ds_store_repair(struct ds_store *store, const void *key, size_t key_length,
                    uint32_t timeout_ms);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_STORE_H */

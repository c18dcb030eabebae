/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: B+trees in pooled memory. Part of ds/ds.h; docs/btree.md has the
 * format and the protocol.
 *
 * A pool (a space with the map of ds/layout.h) holds up to DS_TREE_MAX_ID
 * trees, each named by a number. A tree maps 64-bit keys to 64-bit values; every
 * key and every value is legal. Many clients on many hosts use a tree at once,
 * without a server program: they read and write its nodes in remote memory.
 * Each operation takes effect at one instant between its call and its return. A
 * client that dies in the middle of one does no harm: the next one that needs
 * what it held waits for a lease, has it fenced and repairs what it left.
 *
 * The open trees of a fabric are together one client of the pool. Any thread may
 * use an open tree; its calls run one after the other. To have many operations
 * under way there is ds_tree_execute(), or a tree opened by each thread. The space
 * may be closed before the tree, the fabric may not.
 *
 * Errors beside those named at the functions, of all that touch the memory:
 * -EBADMSG: a node is damaged (ds_tree_check() says which); -ETIMEDOUT: another client
 * holds a lock and neither goes on nor can be fenced; what ds_execute() says.
 */
#ifndef DS_TREE_H
#define DS_TREE_H

#include <stddef.h>
#include <stdint.h>

#include <ds/operation.h>
#include <ds/space.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct ds_tree;

#define DS_TREE_MAX_ID 31 /* ids run from 1 */
#define DS_TREE_CACHE_DEFAULT (16ull << 20)

/**
 * ds_tree_create() - make an empty tree
 * @space: the pool, opened with all rights; it becomes one if all of its first KiB is zero
 * @id: number of the tree, 1 to DS_TREE_MAX_ID
 *
 * Return: 0, or -EEXIST: there is one; -EBUSY: the space is an object store's;
 * -ENOENT: it holds something else; -EINVAL: @id, or it holds something else, such as a pool
 * of other servers; -EACCES: a right is missing; -ENOSPC: the pool is full; -EUSERS: it has
 * as many clients as it can have.
 */
int ds_tree_create(struct ds_space *space, uint32_t id);

/**
 * struct ds_tree_info - a tree of a pool
 * @id: its number
 * @height: levels, 1 for a tree that is one leaf
 * @version: of its format
 * @reserved: 0
 * @root: address of the root node
 */
struct ds_tree_info {
    uint32_t id;
    uint32_t height;
    uint32_t version;
    uint32_t reserved;
    uint64_t root;
};

/**
 * ds_tree_list() - which trees are there?
 * @space: the pool, opened with all rights: the caller becomes a client of it
 * @infos: array of DS_TREE_MAX_ID, filled from the start, by number
 *
 * Return: their number, or -ENOENT: the space holds no pool; -EINVAL: it holds something else,
 * such as a pool of other servers; -EACCES: a right is missing; -EUSERS: the pool has as many
 * clients as it can have.
 */
int ds_tree_list(struct ds_space *space, struct ds_tree_info *infos);

/**
 * struct ds_tree_options - how to open a tree
 * @size: sizeof(struct ds_tree_options)
 * @lease_ms: how long a lock is seen held by the same holder before that is fenced; 0
 *	for 1000. It must be longer than a holder may be delayed while it is well. One that
 *	has many operations under way waits with their locks for the slowest answer, for an
 *	eighth of its own lease at most, then only with those on the server that owes it: if
 *	that has fallen silent, until its connection is given up, after five heartbeats of the
 *	module (5 s) at the latest, or up to @timeout_ms. One that lost a server gives back
 *	what it held there with a later operation
 * @timeout_ms: longest wait of one operation, and of each access while the tree is
 *	opened; 0 for what ds_space_set_timeout() said of the space
 * @reserved: 0
 * @cache_bytes: memory for copies of nodes above the leaves. It has no default here: 0
 *	is no cache, and each get costs one round trip for each level. Set
 *	DS_TREE_CACHE_DEFAULT, which is what a NULL for the options gives: a tree of
 *	about ten million keys is cached
 */
struct ds_tree_options {
    uint32_t size;
    uint32_t lease_ms;
    uint32_t timeout_ms;
    uint32_t reserved;
    uint64_t cache_bytes;
};

/**
 * ds_tree_open() - open a tree
 * @space: the pool, opened with all rights
 * @id: number of the tree
 * @options: NULL for the defaults
 * @tree: result, for ds_tree_close()
 *
 * Return: 0, or -ENOENT: no such tree, or no pool; -EACCES: @space lacks a right;
 * -EINVAL: @id, a field of @options, or @space holds something else, such as a pool of other
 * servers; -E2BIG: @options has fields that this library does not know; -EOPNOTSUPP: its
 * format is newer than this library; -EUSERS: the pool has as many clients as it can have.
 */
int ds_tree_open(struct ds_space *space, uint32_t id, const struct ds_tree_options *options,
                 struct ds_tree **tree);

/**
 * ds_tree_close() - give a tree back, and its place as a client of the pool
 * @tree: from ds_tree_open(), or NULL
 *
 * Waits for what ds_tree_execute() may have left under way to a server that has not answered: until
 * it does, or its connection is given up (5 s, as above).
 */
void ds_tree_close(struct ds_tree *tree);

/**
 * ds_tree_get() - look a key up
 * @tree: the tree
 * @key: the key
 * @value: its value, written if it is there
 *
 * Return: 0, or -ENOENT.
 */
int ds_tree_get(struct ds_tree *tree, uint64_t key, uint64_t *value);

/**
 * ds_tree_put() - insert a key that is not there
 * @tree: the tree
 * @key: the key
 * @value: its value
 *
 * Return: 0, or -EEXIST; -ENOSPC: the pool is full.
 */
int ds_tree_put(struct ds_tree *tree, uint64_t key, uint64_t value);

/**
 * ds_tree_update() - change the value of a key that is there
 * @tree: the tree
 * @key: the key
 * @value: its new value
 *
 * Return: 0, or -ENOENT.
 */
int ds_tree_update(struct ds_tree *tree, uint64_t key, uint64_t value);

/**
 * ds_tree_upsert() - give a key a value, whether it is there or not
 * @tree: the tree
 * @key: the key
 * @value: its value from now on
 *
 * Return: 0, or -ENOSPC: the pool is full.
 */
int ds_tree_upsert(struct ds_tree *tree, uint64_t key, uint64_t value);

/**
 * enum ds_tree_opcode - what a struct ds_tree_op does
 */
enum ds_tree_opcode {
    DS_TREE_GET = 1,
    DS_TREE_PUT = 2,
    DS_TREE_UPDATE = 3,
    DS_TREE_UPSERT = 4,
};

/**
 * struct ds_tree_op - an operation on one key
 * @opcode: enum ds_tree_opcode
 * @status: result: 0 or a negative errno, as the function of this name
 * @outcome: result: enum ds_outcome. An operation that failed with DS_UNKNOWN may have
 *	taken effect, or may still do so until its client is fenced
 * @reserved: 0
 * @key: the key
 * @value: its value; of a get the result
 */
struct ds_tree_op {
    uint32_t opcode;
    int32_t status;
    uint32_t outcome;
    uint32_t reserved;
    uint64_t key;
    uint64_t value;
};

/**
 * ds_tree_execute() - run operations and wait until they have ended
 * @tree: the tree
 * @ops: the operations; they run in no particular order
 * @count: their number
 * @depth: how many are under way at a time; 0 for all, at most DS_TREE_MAX_DEPTH
 *
 * What all of them wait for goes out together: gets of any number of keys are
 * one round trip if the nodes above the leaves are cached and @depth allows it.
 * A memory server that is away, or that does not answer, holds up only the operations that need
 * it. One that has not answered in the time of one operation is waited for only briefly by those
 * that follow.
 *
 * Return: 0 if all succeeded, else the status of the first in the array that did
 * not; -EINVAL, without running any: an opcode; -ENOMEM: those that had not ended have
 * the status -ECANCELED.
 */
int ds_tree_execute(struct ds_tree *tree, struct ds_tree_op *ops, size_t count, uint32_t depth);

#define DS_TREE_MAX_DEPTH 1024

/**
 * struct ds_tree_entry - a key and its value
 */
struct ds_tree_entry {
    uint64_t key;
    uint64_t value;
};

/**
 * ds_tree_scan() - read keys in order
 * @tree: the tree
 * @first: smallest key wanted
 * @last: largest key wanted, at least @first
 * @entries: filled, by key
 * @limit: room in @entries, at least 1
 *
 * Complete: a key that is there during the whole call is found. It is not one
 * instant: keys that come or change meanwhile may be seen or not, each for itself.
 * If @limit is reached, go on from the last key found plus 1.
 *
 * Return: the number of entries (at most INT_MAX), or -EINVAL: @first above @last, or
 * @limit is 0.
 */
int ds_tree_scan(struct ds_tree *tree, uint64_t first, uint64_t last, struct ds_tree_entry *entries,
                 size_t limit);

/**
 * ds_tree_load() - fill an empty tree
 * @tree: the tree
 * @entries: sorted, each key once
 * @count: their number
 *
 * Nodes are written as a whole, many a round trip. All keys but the first appear at one
 * instant, and the first right behind them: a client that dies in between leaves the tree
 * without it. If the call fails there are none of them, unless it lost the server, or had no
 * memory, at that moment; the nodes that it had taken from the pool are lost to it. Once the keys
 * are there the call succeeds, also if the levels above could not be told: then searches are slow
 * until others have finished that.
 *
 * Return: 0, or -ENOTEMPTY: there are keys in the tree; -EINVAL: not sorted; -ENOSPC.
 */
int ds_tree_load(struct ds_tree *tree, const struct ds_tree_entry *entries, size_t count);

/**
 * struct ds_tree_stats - what a tree is made of
 * @size: set by the caller to sizeof(struct ds_tree_stats)
 * @height: levels
 * @keys: in the leaves
 * @leaves: their number
 * @inner: nodes above the leaves
 * @defects: number of calls of the report function that named a defect
 * @unfinished: nodes that the level above does not know yet: a client was killed,
 *	or works there at this moment. That is no defect: the next client that
 *	comes by finishes it
 * @locked: nodes whose lock is held
 */
struct ds_tree_stats {
    uint32_t size;
    uint32_t height;
    uint64_t keys;
    uint64_t leaves;
    uint64_t inner;
    uint64_t defects;
    uint64_t unfinished;
    uint64_t locked;
};

/**
 * typedef ds_tree_defect_fn - told of each defect that a check finds
 * @arg: of ds_tree_check()
 * @addr: address of the node
 * @what: a sentence, for this call only
 *
 * Context: within ds_tree_check(), on the calling thread. Must not throw: an exception
 * that leaves it ends the program.
 */
typedef void (*ds_tree_defect_fn)(void *arg, uint64_t addr, const char *what);

/**
 * ds_tree_check() - read the whole tree and look for defects
 * @tree: the tree
 * @report: called for each defect; may be NULL; must not use @tree
 * @arg: handed to @report
 * @stats: filled, as far as its size field says
 *
 * Other clients may go on meanwhile.
 *
 * Return: 0 if the whole tree was read and there is no defect; -EBADMSG if there are
 * some; -EINVAL if the size field is too small to be filled.
 */
int ds_tree_check(struct ds_tree *tree, ds_tree_defect_fn report, void *arg,
                  struct ds_tree_stats *stats);

/**
 * struct ds_tree_counts - what an open tree has done
 * @size: set by the caller to sizeof(struct ds_tree_counts)
 * @reserved: 0
 * @round_trips: requests handed to the fabric, each of them awaited
 * @work_requests: operations in them
 * @bytes_in: bytes read, 8 for each atomic
 * @bytes_out: bytes written, 16 for each CAS, 8 for each FETCH_ADD
 * @lock_retries: times that a lock was found held
 * @torn_retries: times that a node was found torn and read again
 * @stale_retries: times that a cached node led to the wrong node
 * @splits: nodes split by this client
 * @helped: splits of others that this client finished
 * @recovered: nodes taken over from clients that were fenced
 * @unfinished: own splits, and loads, that were left to others, for want of memory for example
 * @cached_nodes: nodes in the cache now
 * @cached_bytes: bytes of them
 * @damaged: address of the node that the last -EBADMSG spoke of
 */
struct ds_tree_counts {
    uint32_t size;
    uint32_t reserved;
    uint64_t round_trips;
    uint64_t work_requests;
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t lock_retries;
    uint64_t torn_retries;
    uint64_t stale_retries;
    uint64_t splits;
    uint64_t helped;
    uint64_t recovered;
    uint64_t unfinished;
    uint64_t cached_nodes;
    uint64_t cached_bytes;
    uint64_t damaged;
};

/**
 * ds_tree_counters() - read the counters
 * @tree: the tree
 * @counters: filled, as far as its size field says
 *
 * Return: 0, or -EINVAL if the size field is too small to be filled.
 */
int ds_tree_counters(struct ds_tree *tree, struct ds_tree_counts *counters);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_TREE_H */

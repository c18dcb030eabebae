// SPDX-License-Identifier: Apache-2.0
// What clients and the master of an object store say to each other: one message
// of the fabric for each request, one for its reply (docs/objstore.md).
//
// All numbers are little-endian. What is reserved is 0, and refused if it is not.
// Behind a fixed part come the variable parts, in the order in which their
// lengths are named, without gaps. A reply that is no success is a Head alone;
// the message's status is its negative errno. After -EAGAIN, nobody knows now, the
// client repeats its request.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ds::store::wire {

constexpr uint32_t magic = 0x424f5344;  // "DSOB"
constexpr uint16_t newest = 2;          // of this protocol; in 1 an abort named its version
constexpr size_t most_bytes = 4096;     // of a message: what every fabric carries

constexpr uint16_t max_key = 1024;
constexpr uint32_t max_replicas = 3;

/// Values are never renumbered.
enum Op : uint16_t {
    hello = 1,   ///< which store is this?            Head             -> Hello
    begin = 2,   ///< reserve space for a version     Begin, key       -> Placement
    commit = 3,  ///< make it the newest one          Named, key       -> Head
    abort = 4,   ///< a begin's space is not needed   Named, key       -> Head
    lookup = 5,  ///< where is it?                    Named, key       -> Placement
    remove = 6,  ///< delete the object               Named, key       -> Head
    list = 7,    ///< which objects are there?        List, keys       -> Listed, Entry...
    stat = 8,    ///< how full is the store?          Stat             -> Totals, Server...
    repair = 9,  ///< make lost replicas anew         Named, key       -> Head
};

/// The beginning of every message.
struct Head {
    uint32_t magic;
    uint16_t version;
    uint16_t op;
    uint32_t length;       ///< bytes of the message, Head included
    uint32_t epoch;        ///< reply: the master's; request: the latest that was seen
    uint64_t store;        ///< its number; 0 in a hello
    uint64_t request;      ///< the client's number for it, also repeated; abort: the begin's
    uint16_t client;       ///< who asks (pool/pool.hpp)
    uint16_t incarnation;  ///< of that client
    uint32_t reserved;
};
static_assert(sizeof(Head) == 40 && offsetof(Head, store) == 16 && offsetof(Head, client) == 32);

struct Hello {
    Head head;
    uint32_t space;
    uint32_t servers;
    uint32_t server_shift;
    uint32_t unit;          ///< bytes: space is given in multiples of it
    uint32_t max_replicas;  ///< that there can be: no more than there are servers
    uint32_t shard_shift;   ///< log2 of the bytes of data in a shard
};
static_assert(sizeof(Hello) == 64);

enum BeginFlags : uint16_t {
    must_not_exist = 1,  ///< else EEXIST, now or at the commit
};

struct Begin {
    Head head;
    uint64_t length;
    uint16_t key_length;
    uint16_t flags;
    uint8_t memory_replicas;
    uint8_t nvme_replicas;  ///< 0: there are none yet
    uint8_t flush;          ///< 0: to no slower store
    uint8_t reserved;
};
static_assert(sizeof(Begin) == 56 && offsetof(Begin, key_length) == 48);

/// An object, or a version of it.
struct Named {
    Head head;
    int64_t version;       ///< 0: the newest; not for a remove that may be repeated; abort: 0
    uint32_t first_shard;  ///< lookup: where the reply shall begin
    uint16_t key_length;
    uint16_t reserved;
};
static_assert(sizeof(Named) == 56 && offsetof(Named, key_length) == 52);

/// Where a version is. Behind it: a Location for each replica of shard
/// first_shard, then of the next one, as far as they fit: for @p count shards.
struct Placement {
    Head head;
    int64_t version;
    uint64_t length;
    uint64_t time_ns;  ///< of the begin, since 1970
    uint32_t shards;
    uint32_t first_shard;
    uint32_t count;
    uint16_t replicas;
    uint8_t shard_shift;
    uint8_t reserved;
};
static_assert(sizeof(Placement) == 80 && offsetof(Placement, shards) == 64);

/// server 16 | offset in it 48
using Location = uint64_t;
constexpr unsigned location_shift = 48;
constexpr uint32_t max_locations = (most_bytes - sizeof(Placement)) / sizeof(Location);

struct List {
    Head head;
    uint32_t limit;          ///< most entries that are wanted, at least 1
    uint16_t prefix_length;  ///< what keys shall begin with
    uint16_t after_length;   ///< the key behind which to begin
};
static_assert(sizeof(List) == 48);

struct Listed {
    Head head;
    uint32_t count;
    uint32_t more;  ///< 1: there are further ones, 0: there were none
};
static_assert(sizeof(Listed) == 48);

/// Followed by the key, and zeros up to a multiple of 8.
struct Entry {
    int64_t version;
    uint64_t length;
    uint64_t time_ns;
    uint16_t key_length;
    uint16_t replicas;
    uint32_t reserved;
};
static_assert(sizeof(Entry) == 32);

struct Stat {
    Head head;
    uint32_t first_server;
    uint32_t reserved;
};
static_assert(sizeof(Stat) == 48);

/// Bytes of space; total = used + reserved + retired + free.
struct Totals {
    Head head;
    uint64_t objects;
    uint64_t object_bytes;  ///< as their owners count them
    uint64_t total;
    uint64_t used;      ///< by objects, replicas included
    uint64_t reserved;  ///< by puts under way
    uint64_t retired;   ///< by versions that are gone, on their way back
    uint64_t free;
    uint32_t reservations;
    uint32_t servers;  ///< in all
    uint32_t first_server;
    uint32_t count;       ///< of Server behind it
    uint64_t incomplete;  ///< objects of which a replica is lost or in doubt
};
static_assert(sizeof(Totals) == 120);

struct Server {
    uint64_t total;
    uint64_t free;
    uint64_t largest;  ///< free bytes that are in one piece
    uint32_t down;     ///< 1: it does not answer, 0: it does
    uint32_t reserved;
};
static_assert(sizeof(Server) == 32);
constexpr uint32_t max_servers_at_once = (most_bytes - sizeof(Totals)) / sizeof(Server);

}  // namespace ds::store::wire

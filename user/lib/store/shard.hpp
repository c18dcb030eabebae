// SPDX-License-Identifier: Apache-2.0
// How an object lies in memory: divided into shards, each of which ends with a
// seal that says what it is.
//
//     extent:  data, zeros up to a multiple of 64 | Seal | up to a multiple of the unit
//
// A shard is on one server. The shards of an object are on different ones, as
// far as there are, and so are the replicas of a shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "fabric/crc32c.hpp"
#include "store/wire.hpp"

namespace ds::store {

/// A page: the least of which a key can be taken back.
constexpr uint32_t unit = 4096;
constexpr uint32_t shard_shift = 20;
constexpr uint64_t seal_align = 64;

/// {sign 0 | epoch 19 | sequence 44}, greater for later ones.
constexpr unsigned sequence_bits = 44;
constexpr int64_t make_version(uint32_t epoch, uint64_t sequence) {
    return static_cast<int64_t>(uint64_t{epoch} << sequence_bits | sequence);
}
constexpr uint32_t epoch_of(int64_t version) {
    return static_cast<uint32_t>(static_cast<uint64_t>(version) >> sequence_bits);
}
constexpr uint32_t max_epoch = (1u << 19) - 1;
constexpr uint64_t max_sequence = (uint64_t{1} << sequence_bits) - 1;

constexpr uint64_t round_up(uint64_t n, uint64_t to) {
    return (n + to - 1) / to * to;
}

/// The division of an object of this length. One of 0 bytes has a shard too.
struct Division {
    uint64_t length;
    unsigned shift;  ///< log2 of the data in a shard

    uint64_t shards() const { return length ? round_up(length, whole()) >> shift : 1; }
    uint64_t whole() const { return uint64_t{1} << shift; }
    uint64_t start(uint64_t shard) const { return shard << shift; }
    uint64_t data(uint64_t shard) const {
        return shard + 1 < shards() ? whole() : length - start(shard);
    }
    /// Where in its extent the seal of a shard is.
    uint64_t seal(uint64_t shard) const { return round_up(data(shard), seal_align); }
    /// Bytes of its extent.
    uint64_t extent(uint64_t shard) const;
    /// Bytes of all extents of one replica.
    uint64_t space() const;
    /// Of a shard as if it were an object: its extent is the same.
    Division alone(uint64_t shard) const { return {.length = data(shard), .shift = shift}; }
};

/// The longest object: its shards are counted in 32 bits.
constexpr uint64_t max_object = uint64_t{UINT32_MAX} << shard_shift;

constexpr wire::Location make_location(uint32_t server, uint64_t offset) {
    return uint64_t{server} << wire::location_shift | offset;
}
constexpr uint32_t server_of(wire::Location location) {
    return static_cast<uint32_t>(location >> wire::location_shift);
}
constexpr uint64_t offset_of(wire::Location location) {
    return location & ((uint64_t{1} << wire::location_shift) - 1);
}

/// In the place of a location: there is none any more.
constexpr wire::Location nowhere = UINT64_MAX;

/// The last thing written of a shard, and cleared before its space is used anew.
struct Seal {
    static constexpr uint64_t known = 0x314c414553005344;  // "DS", 0, "SEAL1"

    uint64_t magic;
    uint64_t store;
    uint64_t key_hash;
    int64_t version;
    uint64_t object_length;
    uint32_t shard;
    uint32_t shard_length;
    uint32_t data_crc;
    uint32_t reserved;
    uint32_t reserved2;
    uint32_t crc;  ///< CRC32C of all before it

    bool operator==(const Seal &) const = default;
};
static_assert(sizeof(Seal) == seal_align && offsetof(Seal, crc) == 60);

uint64_t hash_of(std::string_view key);

/// A version of an object: what all its seals have in common.
struct Identity {
    uint64_t store;
    uint64_t key_hash;
    int64_t version;
    Division division;
};

/// The CRC32C of the data of a shard, which may come piece by piece.
class Sum {
public:
    Sum() = default;
    Sum(std::span<const std::byte> data) { add(data); }
    void add(std::span<const std::byte> data) { state_ = crc32c_update(state_, data); }
    uint32_t value() const { return ~state_; }  ///< as iSCSI has it

private:
    uint32_t state_ = ~0u;
};

Seal seal_for(const Identity &object, uint64_t shard, Sum data);

/// What is wrong with a shard that was read.
enum class Flaw {
    none,
    seal,  ///< it is none, or that of something else
    data,  ///< the seal is right, the data are not what it speaks of
};
Flaw verify(const Identity &object, uint64_t shard, const Seal &seal, Sum data);

}  // namespace ds::store

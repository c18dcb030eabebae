// SPDX-License-Identifier: Apache-2.0
#include "store/shard.hpp"

namespace ds::store {
namespace {

// Of a seal with this data CRC.
Seal with_crc(const Identity &object, uint64_t shard, uint32_t data_crc) {
    Seal seal{
        .magic = Seal::known,
        .store = object.store,
        .key_hash = object.key_hash,
        .version = object.version,
        .object_length = object.division.length,
        .shard = static_cast<uint32_t>(shard),
        .shard_length = static_cast<uint32_t>(object.division.data(shard)),
        .data_crc = data_crc,
        .reserved = 0,
        .reserved2 = 0,
        .crc = 0,
    };
    seal.crc = Sum(std::as_bytes(std::span(&seal, 1)).first(offsetof(Seal, crc))).value();
    return seal;
}

}  // namespace

uint64_t Division::extent(uint64_t shard) const {
    return round_up(seal(shard) + sizeof(Seal), unit);
}

uint64_t Division::space() const {
    uint64_t last = shards() - 1;
    return (last ? last * extent(0) : 0) + extent(last);
}

// FNV-1a. It tells keys apart in a seal; the version alone would nearly do.
uint64_t hash_of(std::string_view key) {
    uint64_t hash = 0xcbf29ce484222325;
    for (char c : key)
        hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return hash;
}

Seal seal_for(const Identity &object, uint64_t shard, Sum data) {
    return with_crc(object, shard, data.value());
}

Flaw verify(const Identity &object, uint64_t shard, const Seal &seal, Sum data) {
    if (seal != with_crc(object, shard, seal.data_crc))
        return Flaw::seal;
    return data.value() == seal.data_crc ? Flaw::none : Flaw::data;
}

}  // namespace ds::store

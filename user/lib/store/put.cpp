// SPDX-License-Identifier: Apache-2.0
// ds::store::Store: put.
#include <algorithm>
#include <cerrno>

#include "fabric/crash_point.hpp"
#include "store/store.hpp"

namespace ds::store {
namespace {

// Also when the caller has no time left: space that is not given back is ours until we are gone.
constexpr uint32_t abort_patience_ms = 1000;

}  // namespace

int Store::put(std::string_view key, std::span<const iovec> parts,
               const ds_store_put_options &options, int64_t &version) {
    uint64_t deadline = link_.deadline(options.timeout_ms);
    uint64_t length;
    version = 0;
    if (!Scatter::length(parts, length))
        return -EFBIG;
    Place place;
    if (int rc = begin(key, length, options, deadline, place); rc < 0)
        return rc;
    crash_point("store_begun");

    Scatter source(parts);
    bool unknown = false;
    int rc = write(identity(key, place), place, source, options, deadline, unknown);
    if (rc == 0) {
        crash_point("store_written");
        rc = end_put(wire::commit, key, place.version, deadline);
        crash_point("store_committed");
        version = place.version;
        if (rc == 0) {
            places_.keep(std::string(key), std::make_shared<Place>(std::move(place)));
            return 0;
        }
        if (rc != -EEXIST && rc != -EROFS && rc != -ESHUTDOWN)
            return rc;
        version = 0;  // the master has said that it is not put
    }
    // Where a write may still be on its way the space stays ours, until we are gone.
    if (!unknown)
        end_put(wire::abort, key, place.version, link_.deadline(abort_patience_ms));
    return rc;
}

int Store::begin(std::string_view key, uint64_t length, const ds_store_put_options &options,
                 uint64_t deadline, Place &place) {
    wire::Begin begin{
        .head = {},
        .length = length,
        .key_length = static_cast<uint16_t>(key.size()),
        .flags =
            options.flags & DS_STORE_MUST_NOT_EXIST ? uint16_t{wire::must_not_exist} : uint16_t{0},
        .memory_replicas = static_cast<uint8_t>(options.replicas ? options.replicas : 1),
        .nvme_replicas = 0,
        .flush = 0,
        .reserved = 0,
    };
    Answer answer;
    if (int rc = link_.call(wire::begin, begin, {key}, deadline, answer); rc < 0)
        return rc;
    int rc = take_place(link_, bounds_, key, deadline, answer, place);
    if (rc == 0 && place.division.length != length)
        rc = -EPROTO;
    return rc;
}

int Store::end_put(wire::Op op, std::string_view key, int64_t version, uint64_t deadline) {
    wire::Named named{.head = {},
                      .version = version,
                      .first_shard = 0,
                      .key_length = static_cast<uint16_t>(key.size()),
                      .reserved = 0};
    Answer answer;
    return link_.call(op, named, {key}, deadline, answer);
}

// Fills a buffer, writes it to all replicas, fills it again.
int Store::write(const Identity &object, const Place &place, Scatter &source,
                 const ds_store_put_options &options, uint64_t deadline, bool &unknown) {
    const Division &division = place.division;
    Layout layout(division);
    Buffer buffer;
    if (int rc = borrow(division.shift, buffer); rc < 0)
        return rc;
    int rc = 0;
    for (uint64_t first = 0; rc == 0 && first < division.shards(); first += layout.shards) {
        uint64_t count = std::min(layout.shards, division.shards() - first);
        for (uint64_t shard = first; shard < first + count; shard++) {
            std::byte *at = buffer.bytes() + (shard - first) * layout.stride;
            uint64_t length = division.data(shard);
            source.gather(at, length);
            std::fill(at + length, at + division.seal(shard), std::byte{0});
            Seal seal = seal_for(object, shard, {at, length});
            std::memcpy(at + division.seal(shard), &seal, sizeof(seal));
        }
        rc = write_some(object, place, first, count, buffer, deadline, unknown);
        uint64_t done = std::min(division.length, division.start(first + count));
        if (rc == 0 && options.progress && options.progress(options.arg, done))
            rc = -EINTR;
    }
    // The device may still read what it has not told us the end of.
    if (!unknown)
        give_back(std::move(buffer));
    return rc;
}

// Each shard of each replica is a chain: its data, and behind them its seal.
int Store::write_some(const Identity &object, const Place &place, uint64_t first, uint64_t count,
                      const Buffer &buffer, uint64_t deadline, bool &unknown) {
    const Division &division = object.division;
    Layout layout(division);
    std::vector<ds_operation> ops;
    for (uint64_t shard = first; shard < first + count; shard++)
        for (uint32_t replica = 0; replica < place.replicas; replica++) {
            ds_operation op{};
            op.opcode = DS_OP_WRITE;
            op.flags = DS_OPERATION_IDEMPOTENT | DS_OP_CHAIN;
            op.space = space_;
            op.buffer = buffer.handle.get();
            op.addr = address(place.location(shard, replica));
            op.length = division.seal(shard);
            op.buffer_offset = (shard - first) * layout.stride;
            if (op.length > 0)
                ops.push_back(op);
            op.flags = DS_OPERATION_IDEMPOTENT;
            op.addr += division.seal(shard);
            op.buffer_offset += division.seal(shard);
            op.length = sizeof(Seal);
            ops.push_back(op);
        }
    std::vector<ds_result> results(ops.size());
    int rc = ds_execute(fabric_, ops.data(), ops.size(), link_.left(deadline), results.data());
    for (const ds_result &result : results)
        unknown |= result.outcome == DS_UNKNOWN;
    return rc;
}

}  // namespace ds::store

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
    uint64_t begun;
    if (int rc = begin(key, length, options, deadline, place, begun); rc < 0)
        return rc;
    crash_point("store_begun");

    Scatter source(parts);
    bool unknown = false;
    int rc = write(identity(key, place), place, source, options, deadline, unknown);
    if (rc == 0) {
        crash_point("store_written");
        Answer answer;
        rc = commit(key, place.version, deadline, answer);
        crash_point("store_committed");
        version = place.version;
        if (rc == 0) {
            places_.keep(std::string(key), std::make_shared<Place>(std::move(place)));
            return 0;
        }
        if (rc != -EEXIST && rc != -EROFS && rc != -ESHUTDOWN)
            return rc;
        // The master has said that it is not put. If it was asked before, it may be all the
        // same; but then there would be no reservation left to be refused with EEXIST.
        if (rc == -EEXIST || !answer.repeated)
            version = 0;
    }
    // Where a write may still be on its way the space stays ours, until we are gone.
    if (!unknown) {
        link_.give_back(begun, key);
        link_.settle(link_.deadline(abort_patience_ms));
    }
    return rc;
}

int Store::begin(std::string_view key, uint64_t length, const ds_store_put_options &options,
                 uint64_t deadline, Place &place, uint64_t &begun) {
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
    link_.settle(deadline);
    int rc = link_.call(wire::begin, begin, {key}, deadline, answer);
    bool may_have_space = rc == 0 || answer.repeated;
    begun = answer.request;
    if (rc == 0)
        rc = take_place(link_, bounds_, key, deadline, answer, place);
    if (rc == 0 && place.division.length != length)
        rc = -EPROTO;
    if (rc < 0 && may_have_space)
        link_.give_back(begun, key);
    return rc;
}

int Store::commit(std::string_view key, int64_t version, uint64_t deadline, Answer &answer) {
    wire::Named named{.head = {},
                      .version = version,
                      .first_shard = 0,
                      .key_length = static_cast<uint16_t>(key.size()),
                      .reserved = 0};
    return link_.call(wire::commit, named, {key}, deadline, answer);
}

// Some shards are under way while the next one is copied.
int Store::write(const Identity &object, const Place &place, Scatter &source,
                 const ds_store_put_options &options, uint64_t deadline, bool &unknown) {
    uint64_t shards = place.division.shards();
    std::deque<Sent> sent;
    int rc = 0;
    for (uint64_t next = 0; rc == 0 && (next < shards || !sent.empty());) {
        if (next < shards && sent.size() < window) {
            sent.push_back({.shard = next++});
            rc = send(object, place, source, deadline, sent.back());
            continue;
        }
        rc = land(sent.front(), deadline, unknown);
        uint64_t done =
            std::min(object.division.length, object.division.start(sent.front().shard + 1));
        sent.pop_front();
        if (rc == 0 && options.progress && options.progress(options.arg, done))
            rc = -EINTR;
    }
    // Before the space can be given back, the ends of all must be known.
    for (const Sent &rest : sent)
        land(rest, deadline, unknown);
    return rc;
}

// Each slice goes as soon as it is copied, to all replicas; in a chain with the last
// one the seal. The slices of a shard follow each other on one queue pair. One that
// has to be sent again may come behind the seal: nobody looks before the commit, and
// that waits for all.
int Store::send(const Identity &object, const Place &place, Scatter &source, uint64_t deadline,
                Sent &sent) {
    const Division &division = object.division;
    uint64_t length = division.data(sent.shard), seal_at = division.seal(sent.shard);
    std::shared_ptr<Room> room;
    if (int rc = borrow(division, room); rc < 0)
        return rc;
    std::byte *bytes = room->bytes();
    Sum sum;
    uint64_t from = 0, to;
    do {
        to = std::min(from + slice_bytes, length);
        source.gather(bytes + from, to - from);
        sum.add({bytes + from, to - from});
        Bytes data{from, to}, seal{};
        if (to == length) {
            std::fill(bytes + length, bytes + seal_at, std::byte{0});
            Seal made = seal_for(object, sent.shard, sum);
            std::memcpy(bytes + seal_at, &made, sizeof(made));
            data.to = seal_at;
            seal = seal_of(division, sent.shard);
        }
        for (uint32_t replica = 0; replica < place.replicas; replica++)
            sent.flights.push_back(transfer(DS_OP_WRITE, room, sent.shard,
                                            place.location(sent.shard, replica), {data, seal},
                                            deadline));
        from = to;
    } while (to < length);
    return 0;
}

// Until the ends of all that was sent of a shard are known. The first failure.
int Store::land(const Sent &sent, uint64_t deadline, bool &unknown) {
    int rc = 0;
    for (const std::shared_ptr<Flight> &flight : sent.flights) {
        int status = arrive(*flight, deadline);
        unknown |= flight->is_unknown();
        rc = rc ? rc : status;
    }
    return rc;
}

}  // namespace ds::store

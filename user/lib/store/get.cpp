// SPDX-License-Identifier: Apache-2.0
// ds::store::Store: get and check.
//
// A shard is read in one chain: its data, and behind them its seal. Space is used
// anew only after its old seals are cleared; so a seal that is still there when
// the data have been read says that they were not changed before. The CRC says it
// too, without a word about the order of reads.
#include <algorithm>
#include <cerrno>
#include <map>

#include "store/store.hpp"

namespace ds::store {
namespace {

// For a server that does not answer, while there are other replicas.
constexpr uint32_t replica_patience_ms = 1000;

// What a caller gets to know.
void describe(const Place &place, ds_store_object &object) {
    object.replicas = place.replicas;
    object.version = place.version;
    object.length = place.division.length;
    object.time_ns = place.time_ns;
}

// Of a version that is repaired a part is somewhere else.
bool same(const Place &a, const Place &b) {
    return a.version == b.version && a.locations == b.locations;
}

}  // namespace

int Store::get(std::string_view name, std::span<const iovec> parts,
               const ds_store_get_options &options, ds_store_object &object) {
    uint64_t deadline = link_.deadline(options.timeout_ms);
    std::string key(name);
    uint64_t room;
    object = {};
    if (!Scatter::length(parts, room))
        return -EFBIG;
    bool may_be_old = options.flags & DS_STORE_CACHED;
    std::shared_ptr<const Place> failed;  // what the last attempt found not to be whole
    int error = 0;
    for (;;) {
        std::shared_ptr<const Place> place;
        int rc = find(key, options, deadline, may_be_old, place);
        may_be_old = false;
        if (place)
            describe(*place, object);
        if (rc < 0)
            return rc;
        // It was there after it had been read: nobody was about to take it back.
        if (failed && same(*place, *failed))
            return error;
        Range range{.offset = options.offset, .length = 0};
        if (options.offset < place->division.length)
            range.length = std::min(room, place->division.length - options.offset);
        Scatter target(parts);
        uint32_t flaws = 0;
        rc = read_range(identity(key, *place), *place, range, target, options, deadline, flaws);
        if (rc == -EINTR)
            return rc;
        if (rc == 0) {
            object.copied = range.length;
            // A seal that is gone is no damage if the object was overwritten meanwhile,
            // or is somewhere else now.
            if (flaws > 0 && is_newest(key, *place, deadline))
                object.damaged = flaws;
            return 0;
        }
        places_.forget(key);
        failed = place;
        error = rc;
        if (link_.has_passed(deadline))
            return -ETIMEDOUT;
    }
}

int Store::find(const std::string &key, const ds_store_get_options &options, uint64_t deadline,
                bool may_be_old, std::shared_ptr<const Place> &place) {
    auto fits = [&](const Place &p) {
        return p.version >= options.min_version &&
               (options.version == 0 || p.version == options.version);
    };
    if (may_be_old) {
        place = places_.find(key);
        if (place && fits(*place))
            return 0;
    }
    auto found = std::make_shared<Place>();
    if (int rc = look_up(link_, bounds_, key, 0, deadline, *found); rc < 0) {
        place = nullptr;
        return rc;
    }
    place = found;
    if (place->version < options.min_version)
        return -EAGAIN;
    if (!fits(*place))
        return -ESTALE;
    places_.keep(key, place);
    return 0;
}

bool Store::is_newest(const std::string &key, const Place &place, uint64_t deadline) {
    Place now;
    return look_up(link_, bounds_, key, 0, deadline, now) == 0 && same(now, place);
}

// Reads whole shards, and hands on what is wanted of them.
int Store::read_range(const Identity &object, const Place &place, const Range &range,
                      Scatter &target, const ds_store_get_options &options, uint64_t deadline,
                      uint32_t &flaws) {
    const Division &division = place.division;
    // One that is empty, or of which nothing is wanted, is still looked at.
    uint64_t end = range.offset + range.length;
    uint64_t first = std::min(range.offset >> division.shift, division.shards() - 1);
    uint64_t last = range.length ? (end - 1) >> division.shift : first;
    Layout layout(division);
    Buffer buffer;
    if (int rc = borrow(division.shift, buffer); rc < 0)
        return rc;
    int rc = 0;
    for (; rc == 0 && first <= last; first += layout.shards) {
        uint64_t count = std::min(layout.shards, last - first + 1);
        rc = read_some(object, place, first, count, buffer, deadline, flaws);
        for (uint64_t shard = first; rc == 0 && shard < first + count; shard++) {
            uint64_t start = division.start(shard);
            uint64_t from = std::max(range.offset, start);
            uint64_t to = std::min(end, start + division.data(shard));
            if (from < to)
                target.scatter(buffer.bytes() + (shard - first) * layout.stride + (from - start),
                               to - from);
        }
        uint64_t done = std::min(end, division.start(first + count)) - range.offset;
        if (rc == 0 && options.progress && options.progress(options.arg, done))
            rc = -EINTR;
    }
    // After a time-out the device may still write into it: it is not used again.
    if (rc == 0 || rc == -EINTR || rc == -EBADMSG)
        give_back(std::move(buffer));
    return rc;
}

// Shards of one buffer, each from the first replica that has it whole.
int Store::read_some(const Identity &object, const Place &place, uint64_t first, uint64_t count,
                     const Buffer &buffer, uint64_t deadline, uint32_t &flaws) {
    std::vector<Reading> readings;
    for (uint64_t shard = first; shard < first + count; shard++)
        // So that not all readers of an object meet on one server.
        readings.push_back(
            {.shard = shard,
             .replica = (pool_->self().client + static_cast<uint32_t>(shard)) % place.replicas});
    int error = 0;
    for (uint32_t attempt = 1;; attempt++) {
        uint32_t patience = link_.left(deadline);
        if (attempt < place.replicas)
            patience = std::min(patience, replica_patience_ms);
        read_shards(object, place, first, readings, buffer, patience);
        std::erase_if(readings, [](const Reading &r) { return r.status == 0; });
        if (readings.empty())
            return 0;
        for (Reading &r : readings) {
            flaws += r.status == -EBADMSG;
            // That it is damaged says more than that a server was away.
            error = error == -EBADMSG ? error : r.status;
            r.replica = (r.replica + 1) % place.replicas;
        }
        if (attempt == place.replicas)
            return error;
    }
}

void Store::read_shards(const Identity &object, const Place &place, uint64_t first,
                        std::span<Reading> readings, const Buffer &buffer, uint32_t timeout_ms) {
    const Division &division = object.division;
    Layout layout(division);
    std::vector<ds_operation> ops;
    std::vector<size_t> ends;  // of each reading, in ops
    for (const Reading &r : readings) {
        ds_operation op{};
        op.opcode = DS_OP_READ;
        op.flags = DS_OP_CHAIN;
        op.space = space_;
        op.buffer = buffer.handle.get();
        op.addr = address(place.location(r.shard, r.replica));
        op.length = division.data(r.shard);
        op.buffer_offset = (r.shard - first) * layout.stride;
        if (op.length > 0)
            ops.push_back(op);
        op.flags = 0;
        op.addr += division.seal(r.shard);
        op.buffer_offset += division.seal(r.shard);
        op.length = sizeof(Seal);
        ops.push_back(op);
        ends.push_back(ops.size());
    }
    std::vector<ds_result> results(ops.size());
    ds_execute(fabric_, ops.data(), ops.size(), timeout_ms, results.data());
    for (size_t i = 0; i < readings.size(); i++) {
        Reading &r = readings[i];
        r.status = 0;
        for (size_t op = i ? ends[i - 1] : 0; op < ends[i] && r.status == 0; op++)
            r.status = results[op].status;
        if (r.status < 0)
            continue;
        const std::byte *at = buffer.bytes() + (r.shard - first) * layout.stride;
        Seal seal;
        std::memcpy(&seal, at + division.seal(r.shard), sizeof(seal));
        if (verify(object, r.shard, seal, {at, division.data(r.shard)}) != Flaw::none)
            r.status = -EBADMSG;
    }
}

int Store::check(std::string_view name, uint32_t timeout_ms, ds_store_damage_fn damage, void *arg,
                 ds_store_object &object) {
    uint64_t deadline = link_.deadline(timeout_ms);
    std::string key(name);
    object = {};
    for (;;) {
        Place place;
        if (int rc = look_up(link_, bounds_, key, 0, deadline, place); rc < 0)
            return rc;
        describe(place, object);
        Buffer buffer;
        if (int rc = borrow(place.division.shift, buffer); rc < 0)
            return rc;
        std::vector<Reading> bad;
        std::map<uint32_t, int> away;  // servers that have failed, and how
        for (uint64_t shard = 0; shard < place.division.shards(); shard++)
            for (uint32_t replica = 0; replica < place.replicas; replica++) {
                Reading reading{.shard = shard, .replica = replica};
                uint32_t server = server_of(place.location(shard, replica));
                if (away.contains(server))
                    reading.status = away[server];
                else
                    read_shards(identity(key, place), place, shard, {&reading, 1}, buffer,
                                std::min(link_.left(deadline), replica_patience_ms));
                if (reading.status < 0)
                    bad.push_back(reading);
                if (reading.status == 0 || reading.status == -EBADMSG || away.contains(server))
                    continue;
                away[server] = reading.status;
                // The device may still write into the buffer.
                buffer = {};
                if (int rc = borrow(place.division.shift, buffer); rc < 0)
                    return rc;
            }
        give_back(std::move(buffer));
        if (bad.empty())
            return 0;
        if (!is_newest(key, place, deadline)) {
            if (link_.has_passed(deadline))
                return -ETIMEDOUT;
            continue;  // overwritten or repaired meanwhile
        }
        object.damaged = static_cast<uint32_t>(bad.size());
        for (const Reading &r : bad) {
            ds_store_damage found{
                .status = r.status,
                .server = server_of(place.location(r.shard, r.replica)),
                .addr = address(place.location(r.shard, r.replica)),
                .offset = place.division.start(r.shard),
                .length = place.division.data(r.shard),
            };
            if (damage)
                damage(arg, &found);
        }
        return -EBADMSG;
    }
}

}  // namespace ds::store

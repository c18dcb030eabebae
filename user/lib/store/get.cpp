// SPDX-License-Identifier: Apache-2.0
// ds::store::Store: get and check.
//
// A shard's seal is read when its data have been: of a short one in the same chain.
// Space is used anew only after its old seals are cleared; so a seal that is still
// there when the data have been read says that they were not changed before. The CRC
// says it too, without a word about the order of reads.
#include <algorithm>
#include <cerrno>
#include <map>

#include "store/store.hpp"

namespace ds::store {
namespace {

// For a server that does not answer, while there are other replicas.
constexpr uint32_t replica_patience_ms = 1000;
constexpr uint32_t check_patience_ms = 5000;

uint32_t attempts(const Place &place) {
    return place.replicas == 1 ? 1 : place.replicas + 1;
}

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

// Reads whole shards, and hands on what is wanted of them. While one is looked at, the
// next ones are on their way.
int Store::read_range(const Identity &object, const Place &place, const Range &range,
                      Scatter &target, const ds_store_get_options &options, uint64_t deadline,
                      uint32_t &flaws) {
    const Division &division = place.division;
    // One that is empty, or of which nothing is wanted, is still looked at.
    uint64_t end = range.offset + range.length;
    uint64_t next = std::min(range.offset >> division.shift, division.shards() - 1);
    uint64_t last = range.length ? (end - 1) >> division.shift : next;
    std::deque<Reading> readings;
    int rc = 0;
    while (rc == 0 && (next <= last || !readings.empty())) {
        if (next <= last && readings.size() < window) {
            // So that not all readers of an object meet on one server.
            uint64_t turn = pool_->self().client + next;
            readings.push_back({.shard = next++,
                                .replica = static_cast<uint32_t>(turn % place.replicas),
                                .deadline = patience(place, 1, deadline)});
            rc = start(place, readings.back());
            continue;
        }
        rc = take_any(object, place, range, target, readings.front(), deadline, flaws);
        uint64_t read = division.start(readings.front().shard + 1);
        uint64_t done = std::clamp(read, range.offset, end) - range.offset;
        readings.pop_front();
        if (rc == 0 && options.progress && options.progress(options.arg, done))
            rc = -EINTR;
    }
    return rc;
}

// How long to wait for the attempt of this number at a shard: where there are several
// replicas, not long for any of them, but as long as there is time for the last attempt.
uint64_t Store::patience(const Place &place, uint32_t attempt, uint64_t deadline) const {
    return attempt < attempts(place) ? std::min(deadline, link_.deadline(replica_patience_ms))
                                     : deadline;
}

// A shard from the first replica that has it whole. Its reading is under way. Each
// replica is asked once; then one again that was away, best one that said nothing in
// time: a server that is slow must not be taken for one that is gone.
int Store::take_any(const Identity &object, const Place &place, const Range &range, Scatter &target,
                    Reading &reading, uint64_t deadline, uint32_t &flaws) {
    int error = 0, away = 0;
    uint32_t slow = 0;
    for (uint32_t attempt = 1;; attempt++) {
        Scatter after = target;
        int rc = take(object, place, range, after, reading);
        if (rc == 0) {
            target = after;
            return 0;
        }
        flaws += rc == -EBADMSG;
        // That it is damaged says more than that a server was away.
        error = error == -EBADMSG ? error : rc;
        if (rc == -ETIMEDOUT || (rc != -EBADMSG && away != -ETIMEDOUT)) {
            slow = reading.replica;
            away = rc;
        }
        if (attempt == attempts(place) || (attempt == place.replicas && away == 0))
            return error;
        reading = {
            .shard = reading.shard,
            .replica = attempt < place.replicas ? (reading.replica + 1) % place.replicas : slow,
            .deadline = patience(place, attempt + 1, deadline)};
        if (rc = start(place, reading); rc < 0)
            return rc;
    }
}

// Sends off the reads of a shard's data; if they are one slice, the seal's with them.
int Store::start(const Place &place, Reading &reading) {
    const Division &division = place.division;
    uint64_t length = division.data(reading.shard);
    if (int rc = borrow(division, reading.room); rc < 0)
        return rc;
    uint64_t from = 0, to;
    do {
        to = std::min(from + slice_bytes, length);
        Bytes seal{};
        if (to - from == length)
            seal = seal_of(division, reading.shard);
        reading.flights.push_back(read(place, reading, {Bytes{from, to}, seal}));
        from = to;
    } while (to < length);
    return 0;
}

std::shared_ptr<Flight> Store::read(const Place &place, const Reading &reading,
                                    std::initializer_list<Bytes> chain) {
    return transfer(DS_OP_READ, reading.room, reading.shard,
                    place.location(reading.shard, reading.replica), chain, reading.deadline);
}

// Sums up the slices in the order in which they come, and hands on what is wanted.
// What the caller has got by then is of no use if the seal says otherwise.
int Store::take(const Identity &object, const Place &place, const Range &range, Scatter &target,
                const Reading &reading) {
    const Division &division = place.division;
    uint64_t length = division.data(reading.shard), start = division.start(reading.shard);
    const std::byte *bytes = reading.room->bytes();
    std::shared_ptr<Flight> last;
    Sum sum;
    for (uint64_t from = 0; const std::shared_ptr<Flight> &flight : reading.flights) {
        if (int rc = arrive(*flight, reading.deadline); rc < 0)
            return rc;
        last = flight;
        if (flight == reading.flights.back() && reading.flights.size() > 1)
            last = read(place, reading, {seal_of(division, reading.shard)});
        uint64_t to = std::min(from + slice_bytes, length);
        sum.add({bytes + from, to - from});
        uint64_t first = std::max(range.offset, start + from);
        uint64_t end = std::min(range.offset + range.length, start + to);
        if (first < end)
            target.scatter(bytes + (first - start), end - first);
        from = to;
    }
    if (int rc = arrive(*last, reading.deadline); rc < 0)
        return rc;
    Seal seal;
    std::memcpy(&seal, bytes + division.seal(reading.shard), sizeof(seal));
    return verify(object, reading.shard, seal, sum) == Flaw::none ? 0 : -EBADMSG;
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
        std::vector<ds_store_damage> bad;
        std::map<uint32_t, int> away;  // servers that have failed, and how
        for (uint64_t shard = 0; shard < place.division.shards(); shard++)
            for (uint32_t replica = 0; replica < place.replicas; replica++) {
                uint32_t server = server_of(place.location(shard, replica));
                int status = away.contains(server) ? away[server]
                                                   : check_replica(identity(key, place), place,
                                                                   shard, replica, deadline);
                if (status == 0)
                    continue;
                if (status != -EBADMSG)
                    away[server] = status;
                bad.push_back({.status = status,
                               .server = server,
                               .addr = address(place.location(shard, replica)),
                               .offset = place.division.start(shard),
                               .length = place.division.data(shard)});
            }
        if (bad.empty())
            return 0;
        if (!is_newest(key, place, deadline)) {
            if (link_.has_passed(deadline))
                return -ETIMEDOUT;
            continue;  // overwritten or repaired meanwhile
        }
        object.damaged = static_cast<uint32_t>(bad.size());
        for (const ds_store_damage &found : bad)
            if (damage)
                damage(arg, &found);
        return -EBADMSG;
    }
}

int Store::check_replica(const Identity &object, const Place &place, uint64_t shard,
                         uint32_t replica, uint64_t deadline) {
    Scatter none({});
    Reading reading{.shard = shard,
                    .replica = replica,
                    .deadline = std::min(deadline, link_.deadline(check_patience_ms))};
    int rc = start(place, reading);
    return rc < 0 ? rc : take(object, place, {}, none, reading);
}

}  // namespace ds::store

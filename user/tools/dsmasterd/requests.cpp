// SPDX-License-Identifier: Apache-2.0
// The requests of store/wire.hpp. Each runs within a transaction; what it
// changes in memory goes to effects_ until that is on the disk.
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "master.hpp"
#include "pool/client_table.hpp"

namespace dsmasterd {
namespace {

namespace wire = ds::store::wire;
using ds::pool::ClientTable;
using ds::store::Division;
using ds::store::make_version;
using ds::store::round_up;
using ds::store::server_of;

using Bytes = std::span<const std::byte>;

// The fixed part of a request, if it is whole.
template <class T>
bool take(Bytes bytes, T &part) {
    if (bytes.size() < sizeof(part))
        return false;
    std::memcpy(&part, bytes.data(), sizeof(part));
    return true;
}

// The key behind it, which ends the request.
template <class T>
bool take_key(Bytes bytes, T &part, std::string &key) {
    if (!take(bytes, part) || part.key_length == 0 || part.key_length > wire::max_key ||
        part.reserved != 0 || bytes.size() != sizeof(part) + part.key_length)
        return false;
    key.assign(reinterpret_cast<const char *>(bytes.data()) + sizeof(part), part.key_length);
    return true;
}

template <class T>
void append(std::vector<std::byte> &to, const T &part) {
    auto bytes = std::as_bytes(std::span(&part, 1));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

Client client_of(const wire::Head &head) {
    return {.client = head.client, .incarnation = head.incarnation};
}

int64_t time_ns() {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int32_t Master::answer(const Request &request, Reply &reply) {
    wire::Head head;
    reply = {};
    if (!take(request.bytes, head) || head.magic != wire::magic)
        return -EPROTO;
    append(reply.bytes, head_for(head, sizeof(head)));
    if (head.version != wire::newest)
        return -EOPNOTSUPP;
    if (head.length != request.bytes.size() || head.reserved != 0)
        return -EPROTO;
    if (head.op != wire::hello && head.store != shape_.store)
        return -EXDEV;
    if (head.epoch > epoch_)
        return -ECONNABORTED;  // another master has taken over
    if (head.client != 0 && client_of(head) == self())
        return -EACCES;  // we ask nobody
    // Another master may have taken over; in that case we end.
    if (fenced_ && (head.op == wire::begin || head.op == wire::commit || head.op == wire::remove))
        return -EAGAIN;
    switch (head.op) {
    case wire::hello:
        return hello(head, reply);
    case wire::begin:
        return begin(request.bytes, reply);
    case wire::commit:
        return commit(request.bytes, reply);
    case wire::abort:
        return abort(request.bytes, reply);
    case wire::lookup:
        return lookup(request.bytes, reply);
    case wire::remove:
        return remove(request.bytes, reply);
    case wire::list:
        return list(request.bytes, reply);
    case wire::stat:
        return stat(request.bytes, reply);
    case wire::repair:
        return repair(request.bytes);
    default:
        return -EOPNOTSUPP;
    }
}

wire::Head Master::head_for(const wire::Head &request, size_t length) const {
    wire::Head head = request;
    head.version = wire::newest;
    head.length = static_cast<uint32_t>(length);
    head.epoch = epoch_;
    head.store = shape_.store;
    return head;
}

int32_t Master::hello(const wire::Head &head, Reply &reply) {
    wire::Hello hello{
        .head = head_for(head, sizeof(hello)),
        .space = shape_.space,
        .servers = shape_.servers,
        .server_shift = shape_.server_shift,
        .unit = ds::store::unit,
        .max_replicas = std::min(wire::max_replicas, shape_.servers),
        .shard_shift = ds::store::shard_shift,
    };
    reply.bytes.clear();
    append(reply.bytes, hello);
    return 0;
}

// ---- Put ----

int32_t Master::begin(Bytes bytes, Reply &reply) {
    wire::Begin begin;
    std::string key;
    if (!take_key(bytes, begin, key))
        return -EPROTO;
    if (begin.flags & ~wire::must_not_exist || begin.nvme_replicas || begin.flush)
        return -EOPNOTSUPP;
    Client client = client_of(begin.head);
    uint32_t replicas = begin.memory_replicas;
    if (!ClientTable::has(space_->info, client.client) || replicas == 0 ||
        replicas > std::min(wire::max_replicas, shape_.servers))
        return -EINVAL;
    if (begin.length > ds::store::max_object)
        return -EFBIG;
    if (auto before = catalogue_.find_reservation(client, begin.head.request)) {
        if (before->key != key || before->version.division.length != begin.length)
            return -EINVAL;
        place(begin.head, before->version, 0, reply);
        return 0;
    }
    if (begin.flags & wire::must_not_exist && catalogue_.find(key))
        return -EEXIST;
    Division division{.length = begin.length, .shift = ds::store::shard_shift};
    if (replicas > map_.up())
        return -EHOSTDOWN;
    auto locations = map_.take(division, replicas);
    if (!locations)
        return -ENOSPC;
    Reservation reservation{
        .version = {.version = make_version(epoch_, ++sequence_),
                    .division = division,
                    .replicas = replicas,
                    .time_ns = time_ns(),
                    .locations = std::move(*locations)},
        .client = client,
        .request = begin.head.request,
        .key = std::move(key),
        .must_not_exist = (begin.flags & wire::must_not_exist) != 0,
        .overtaken = false,
    };
    effects_.taken.push_back(reservation.version);
    catalogue_.add(reservation);
    effects_.account.reservations++;
    effects_.account.reserved += reservation.version.space();
    place(begin.head, reservation.version, 0, reply);
    return 0;
}

int32_t Master::commit(Bytes bytes, Reply &) {
    wire::Named named;
    std::string key;
    if (!take_key(bytes, named, key))
        return -EPROTO;
    auto reservation = catalogue_.find_reservation(named.version);
    if (!reservation)
        return without_reservation(named);
    if (reservation->client != client_of(named.head))
        return -EACCES;
    if (reservation->key != key)
        return -EINVAL;
    const Version &version = reservation->version;
    auto current = catalogue_.find(key);
    if (reservation->must_not_exist && (current || reservation->overtaken))
        return -EEXIST;
    catalogue_.remove_reservation(version.version);
    effects_.account.reservations--;
    effects_.account.reserved -= version.space();
    // A put that a later one has overtaken happened before that one.
    if (reservation->overtaken || (current && current->version > version.version))
        retire(version);
    else
        set_newest(key, version, current);
    for (wire::Location location : version.locations)
        if (may_be_lost(location, version.version))
            doubt(key);
    return 0;
}

void Master::set_newest(const std::string &key, const Version &version,
                        const std::optional<Version> &current) {
    catalogue_.set(key, version);
    effects_.account.objects++;
    effects_.account.object_bytes += version.division.length;
    effects_.account.used += version.space();
    if (!current)
        return;
    effects_.account.objects--;
    effects_.account.object_bytes -= current->division.length;
    effects_.account.used -= current->space();
    retire(*current);
}

void Master::retire(const Version &version) {
    catalogue_.retire(version);
    effects_.account.retired += version.space();
    effects_.retired.push_back(version);
}

// A reservation ends when it is committed, when it is given back, and when its
// client is gone. So if the client is there and repeats a request, it is because
// the reply was lost.
int32_t Master::without_reservation(const wire::Named &named) {
    if (named.version <= 0 || named.version > make_version(epoch_, sequence_))
        return -EINVAL;
    ds::fabric::Owner owner{.client = named.head.client, .incarnation = named.head.incarnation};
    ClientTable::Entry entry;
    if (servers_[0].silent_since)
        return -EAGAIN;  // the client table is away
    int rc = ClientTable(space_).load(owner.client, entry);
    heard(rc);
    if (rc < 0)
        return rc == -EINVAL ? rc : -EAGAIN;  // nobody knows now, be it that we are fenced
    return entry.word == ClientTable::word_of(owner) ? 0 : -ESHUTDOWN;
}

int32_t Master::abort(Bytes bytes, Reply &) {
    wire::Named named;
    std::string key;
    if (!take_key(bytes, named, key))
        return -EPROTO;
    auto reservation = catalogue_.find_reservation(client_of(named.head), named.head.request);
    if (!reservation) {
        cancel_waiting(named.head);
        return 0;
    }
    if (reservation->key != key)
        return -EINVAL;
    catalogue_.remove_reservation(reservation->version.version);
    effects_.account.reservations--;
    effects_.account.reserved -= reservation->version.space();
    effects_.given.push_back(std::move(reservation->version));
    return 0;
}

// A begin of the same batch that has found no space is not tried once more: nobody would
// give back what it finds then.
void Master::cancel_waiting(const wire::Head &abort) {
    for (Request &request : requests_) {
        wire::Head head;
        if (take(request.bytes, head) && head.op == wire::begin &&
            client_of(head) == client_of(abort) && head.request == abort.request)
            request.waited = true;
    }
}

// ---- Get, delete ----

void Master::place(const wire::Head &request, const Version &version, uint32_t first_shard,
                   Reply &reply) const {
    uint64_t shards = version.division.shards();
    uint64_t count =
        std::min<uint64_t>(shards - first_shard, wire::max_locations / version.replicas);
    size_t locations = count * version.replicas;
    wire::Placement placement{
        .head = head_for(request, sizeof(placement) + locations * sizeof(wire::Location)),
        .version = version.version,
        .length = version.division.length,
        .time_ns = static_cast<uint64_t>(version.time_ns),
        .shards = static_cast<uint32_t>(shards),
        .first_shard = first_shard,
        .count = static_cast<uint32_t>(count),
        .replicas = static_cast<uint16_t>(version.replicas),
        .shard_shift = static_cast<uint8_t>(version.division.shift),
        .reserved = 0,
    };
    reply.bytes.clear();
    append(reply.bytes, placement);
    auto part = std::as_bytes(
        std::span(version.locations).subspan(size_t{first_shard} * version.replicas, locations));
    reply.bytes.insert(reply.bytes.end(), part.begin(), part.end());
}

int32_t Master::lookup(Bytes bytes, Reply &reply) {
    wire::Named named;
    std::string key;
    if (!take_key(bytes, named, key))
        return -EPROTO;
    std::optional<Version> found = catalogue_.find(key);
    if (named.version == 0 && !found)
        return -ENOENT;
    if (named.version != 0 && (!found || found->version != named.version)) {
        // The later parts of what a begin was answered with.
        auto reservation = catalogue_.find_reservation(named.version);
        if (!reservation || reservation->key != key || reservation->client != client_of(named.head))
            return -ESTALE;
        found = std::move(reservation->version);
    }
    if (named.first_shard >= found->division.shards())
        return -EINVAL;
    place(named.head, *found, named.first_shard, reply);
    return 0;
}

int32_t Master::remove(Bytes bytes, Reply &) {
    wire::Named named;
    std::string key;
    if (!take_key(bytes, named, key))
        return -EPROTO;
    auto current = catalogue_.find(key);
    if (!current)
        return -ENOENT;
    if (named.version != 0 && named.version != current->version)
        return -ESTALE;
    catalogue_.remove(key);
    // What is being put now would otherwise appear with an older version than the
    // one that was there.
    catalogue_.overtake(key);
    effects_.account.objects--;
    effects_.account.object_bytes -= current->division.length;
    effects_.account.used -= current->space();
    retire(*current);
    return 0;
}

// ---- List, stat ----

int32_t Master::list(Bytes bytes, Reply &reply) {
    wire::List list;
    if (!take(bytes, list) || list.limit == 0 || list.prefix_length > wire::max_key ||
        list.after_length > wire::max_key ||
        bytes.size() != sizeof(list) + list.prefix_length + list.after_length)
        return -EPROTO;
    auto *keys = reinterpret_cast<const char *>(bytes.data()) + sizeof(list);
    wire::Listed listed{.head = {}, .count = 0, .more = 0};
    std::vector<std::byte> entries;
    catalogue_.list({keys, list.prefix_length}, {keys + list.prefix_length, list.after_length},
                    [&](const Catalogue::Listed &object) {
                        size_t length = sizeof(wire::Entry) + round_up(object.key.size(), 8);
                        listed.more = listed.count == list.limit ||
                                      sizeof(listed) + entries.size() + length > wire::most_bytes;
                        if (listed.more)
                            return false;
                        append(entries, wire::Entry{
                                            .version = object.version,
                                            .length = object.length,
                                            .time_ns = static_cast<uint64_t>(object.time_ns),
                                            .key_length = static_cast<uint16_t>(object.key.size()),
                                            .replicas = static_cast<uint16_t>(object.replicas),
                                            .reserved = 0,
                                        });
                        auto key = std::as_bytes(std::span(object.key));
                        entries.insert(entries.end(), key.begin(), key.end());
                        entries.resize(round_up(entries.size(), 8));
                        listed.count++;
                        return true;
                    });
    listed.head = head_for(list.head, sizeof(listed) + entries.size());
    reply.bytes.clear();
    append(reply.bytes, listed);
    reply.bytes.insert(reply.bytes.end(), entries.begin(), entries.end());
    return 0;
}

int32_t Master::stat(Bytes bytes, Reply &reply) {
    wire::Stat stat;
    if (!take(bytes, stat) || bytes.size() != sizeof(stat) || stat.reserved != 0)
        return -EPROTO;
    auto servers = map_.servers();
    if (stat.first_server >= servers.size())
        return -EINVAL;
    auto count = static_cast<uint32_t>(
        std::min<size_t>(servers.size() - stat.first_server, wire::max_servers_at_once));
    uint64_t total = map_.total();
    wire::Totals totals{
        .head = head_for(stat.head, sizeof(totals) + count * sizeof(wire::Server)),
        .objects = account_.objects,
        .object_bytes = account_.object_bytes,
        .total = total,
        .used = account_.used,
        .reserved = account_.reserved,
        .retired = account_.retired,
        .free = total - account_.used - account_.reserved - account_.retired,
        .reservations = static_cast<uint32_t>(account_.reservations),
        .servers = shape_.servers,
        .first_server = stat.first_server,
        .count = count,
        .incomplete = incomplete_.size(),
    };
    reply.bytes.clear();
    append(reply.bytes, totals);
    for (uint32_t i = stat.first_server; i < stat.first_server + count; i++)
        append(reply.bytes, wire::Server{
                                .total = servers[i].total(),
                                .free = servers[i].free(),
                                .largest = servers[i].largest(),
                                .down = map_.is_down(i),
                                .reserved = 0,
                            });
    return 0;
}

int32_t Master::repair(Bytes bytes) {
    wire::Named named;
    std::string key;
    if (!take_key(bytes, named, key))
        return -EPROTO;
    if (!catalogue_.find(key))
        return -ENOENT;
    doubt(key);
    return 0;
}

}  // namespace dsmasterd

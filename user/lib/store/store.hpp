// SPDX-License-Identifier: Apache-2.0
// ds::store::Store: what stands behind ds/store.h.
//
// put: begin, write data and seals, commit (put.cpp). get: look up, read,
// compare with the seals (get.cpp). Shards go in slices: while some are on their
// way, others are copied and summed up. No lock is held while anything waits.
#pragma once

#include <ds/store.h>

#include <cerrno>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pool/pool.hpp"
#include "store/link.hpp"
#include "store/placement.hpp"
#include "store/scatter.hpp"
#include "store/traffic.hpp"

struct ds_space;

namespace ds::store {

class Store {
public:
    static int open(ds_fabric *fabric, const ds_store_options &options,
                    std::unique_ptr<Store> &store);
    ~Store();

    int put(std::string_view key, std::span<const iovec> parts, const ds_store_put_options &options,
            int64_t &version);
    int get(std::string_view key, std::span<const iovec> parts, const ds_store_get_options &options,
            ds_store_object &object);
    int del(std::string_view key, int64_t version, uint32_t timeout_ms);
    int stat(std::string_view key, uint32_t timeout_ms, ds_store_object &object);
    int list(std::string_view prefix, std::string_view after, uint32_t timeout_ms,
             ds_store_entry_fn entry, void *arg);
    int totals(uint32_t timeout_ms, ds_store_totals &totals, std::span<ds_store_server> servers);
    int repair(std::string_view key, uint32_t timeout_ms);
    int check(std::string_view key, uint32_t timeout_ms, ds_store_damage_fn damage, void *arg,
              ds_store_object &object);

private:
    Store(ds_fabric *fabric, const ds_store_options &options);

    /// What is copied and summed up while others are on their way.
    static constexpr uint64_t slice_bytes = 256 << 10;
    /// Shards of a call that are under way at the same time.
    static constexpr size_t window = 4;

    int borrow(const Division &division, std::shared_ptr<Room> &room);
    /// Bytes of an extent, which are at the same place in the room.
    struct Bytes {
        uint64_t from, to;
    };
    static Bytes seal_of(const Division &division, uint64_t shard) {
        uint64_t at = division.seal(shard);
        return {at, at + sizeof(Seal)};
    }
    int arrive(const Flight &flight, uint64_t deadline) {
        return traffic_.wait(flight, deadline) ? flight.status : -ETIMEDOUT;
    }
    std::shared_ptr<Flight> transfer(uint16_t opcode, std::shared_ptr<Room> room, uint64_t shard,
                                     wire::Location location, std::initializer_list<Bytes> chain,
                                     uint64_t deadline);

    int find_newest(std::string_view key, uint64_t deadline, wire::Placement &newest);
    Identity identity(std::string_view key, const Place &place) const;
    uint64_t address(wire::Location location) const;

    // put.cpp
    int begin(std::string_view key, uint64_t length, const ds_store_put_options &options,
              uint64_t deadline, Place &place, uint64_t &begun);
    /// A shard of which all has been sent off.
    struct Sent {
        uint64_t shard;
        std::vector<std::shared_ptr<Flight>> flights{};  ///< one for each slice and replica
    };
    int write(const Identity &object, const Place &place, Scatter &source,
              const ds_store_put_options &options, uint64_t deadline, bool &unknown);
    int send(const Identity &object, const Place &place, Scatter &source, uint64_t deadline,
             Sent &sent);
    int land(const Sent &sent, uint64_t deadline, bool &unknown);
    int commit(std::string_view key, int64_t version, uint64_t deadline, Answer &answer);

    // get.cpp
    struct Range {
        uint64_t offset, length;  ///< of the object
    };
    /// A shard of a replica that is being read.
    struct Reading {
        uint64_t shard;
        uint32_t replica;
        uint64_t deadline;
        std::shared_ptr<Room> room{};
        std::vector<std::shared_ptr<Flight>> flights{};  ///< one for each slice of the data
    };
    int find(const std::string &key, const ds_store_get_options &options, uint64_t deadline,
             bool may_be_old, std::shared_ptr<const Place> &place);
    int read_range(const Identity &object, const Place &place, const Range &range, Scatter &target,
                   const ds_store_get_options &options, uint64_t deadline, uint32_t &flaws);
    uint64_t patience(const Place &place, uint32_t attempt, uint64_t deadline) const;
    int start(const Place &place, Reading &reading);
    std::shared_ptr<Flight> read(const Place &place, const Reading &reading,
                                 std::initializer_list<Bytes> chain);
    int take_any(const Identity &object, const Place &place, const Range &range, Scatter &target,
                 Reading &reading, uint64_t deadline, uint32_t &flaws);
    int take(const Identity &object, const Place &place, const Range &range, Scatter &target,
             const Reading &reading);
    int check_replica(const Identity &object, const Place &place, uint64_t shard, uint32_t replica,
                      uint64_t deadline);
    bool is_newest(const std::string &key, const Place &place, uint64_t deadline);

    ds_fabric *fabric_;
    ds_space *space_ = nullptr;
    Bounds bounds_{};
    uint64_t base_ = 0;
    Link link_;
    std::unique_ptr<pool::Pool> pool_;
    PlaceCache places_;
    std::shared_ptr<Rooms> rooms_;
    Traffic traffic_;
};

}  // namespace ds::store

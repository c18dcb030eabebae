// SPDX-License-Identifier: Apache-2.0
// ds::store::Store: what stands behind ds/store.h.
//
// put: begin, write data and seals, commit (put.cpp). get: look up, read,
// compare with the seals (get.cpp). No lock is held while anything waits.
#pragma once

#include <ds/store.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "pool/pool.hpp"
#include "store/link.hpp"
#include "store/placement.hpp"
#include "store/scatter.hpp"

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

    /// Memory for some shards, with their seals.
    struct Buffer {
        std::unique_ptr<ds_buffer, void (*)(ds_buffer *)> handle{nullptr, nullptr};
        std::byte *bytes() const;
    };
    static constexpr size_t buffer_bytes = 4 << 20;
    int borrow(unsigned shift, Buffer &buffer);
    void give_back(Buffer buffer);

    /// How the shards of a version lie in a buffer.
    struct Layout {
        explicit Layout(const Division &division);
        uint64_t stride;  ///< bytes from one shard to the next
        uint64_t shards;  ///< that fit
    };

    Identity identity(std::string_view key, const Place &place) const;
    uint64_t address(wire::Location location) const;

    // put.cpp
    int begin(std::string_view key, uint64_t length, const ds_store_put_options &options,
              uint64_t deadline, Place &place);
    int write(const Identity &object, const Place &place, Scatter &source,
              const ds_store_put_options &options, uint64_t deadline, bool &unknown);
    int write_some(const Identity &object, const Place &place, uint64_t first, uint64_t count,
                   const Buffer &buffer, uint64_t deadline, bool &unknown);
    int end_put(wire::Op op, std::string_view key, int64_t version, uint64_t deadline);

    // get.cpp
    struct Range {
        uint64_t offset, length;  ///< of the object
    };
    /// What became of reading one shard of one replica.
    struct Reading {
        uint64_t shard;
        uint32_t replica;
        int status = 0;  ///< -EBADMSG: it is not what its seal should say
    };
    int find(const std::string &key, const ds_store_get_options &options, uint64_t deadline,
             bool may_be_old, std::shared_ptr<const Place> &place);
    int read_range(const Identity &object, const Place &place, const Range &range, Scatter &target,
                   const ds_store_get_options &options, uint64_t deadline, uint32_t &flaws);
    int read_some(const Identity &object, const Place &place, uint64_t first, uint64_t count,
                  const Buffer &buffer, uint64_t deadline, uint32_t &flaws);
    void read_shards(const Identity &object, const Place &place, uint64_t first,
                     std::span<Reading> readings, const Buffer &buffer, uint32_t timeout_ms);
    bool is_newest(const std::string &key, const Place &place, uint64_t deadline);

    ds_fabric *fabric_;
    ds_space *space_ = nullptr;
    Bounds bounds_{};
    uint64_t base_ = 0;
    Link link_;
    std::unique_ptr<pool::Pool> pool_;
    PlaceCache places_;
    std::mutex buffers_lock_;
    std::vector<Buffer> buffers_;
};

}  // namespace ds::store

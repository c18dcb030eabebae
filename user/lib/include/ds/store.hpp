// SPDX-License-Identifier: Apache-2.0
// An object store for C++20, above ds/store.h, which has the full text on each call.
//
//     auto fabric = ds::Fabric::open();
//     auto store = ds::Store::open(*fabric);
//     store->put("key", std::as_bytes(std::span(text)), {.replicas = 2}).or_throw();
//     if (auto bytes = store->get("key"); bytes)
//         use(*bytes);
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ds/store.h>
#include <ds/ds.hpp>

namespace ds {

/// As struct ds_store_put_options.
struct Put {
    uint32_t replicas = 1;
    bool must_not_exist = false;
    Timeout timeout = default_timeout;
};

/// As struct ds_store_get_options.
struct Get {
    uint64_t offset = 0;
    int64_t min_version = 0;
    int64_t version = 0;
    bool cached = false;  ///< for get_into(); get() asks the master how long the object is
    Timeout timeout = default_timeout;
};

namespace detail {

/// The end of a call that is made of several.
class Deadline {
public:
    explicit Deadline(Timeout timeout) {
        uint32_t ms = milliseconds(timeout);
        at_ = Clock::now() + Timeout(ms ? ms : DS_TIMEOUT_DEFAULT);
    }
    Timeout left() const { return std::chrono::duration_cast<Timeout>(at_ - Clock::now()); }
    bool has_passed() const { return left() <= Timeout(0); }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point at_;
};

}  // namespace detail

/// The objects in a space. The fabric must stay open.
class Store {
public:
    static Result<Store> open(const Fabric &fabric, const ds_store_options *options = nullptr) {
        ds_store *handle;
        int rc = ds_store_open(fabric.get(), options, &handle);
        return rc < 0 ? Result<Store>(Error::from(rc)) : Result<Store>(Store(handle));
    }

    /// The version. Of an error that is unknown the put may have happened.
    Result<int64_t> put(std::string_view key, std::span<const iovec> parts,
                        const Put &how = {}) const {
        ds_store_put_options options{};
        options.size = sizeof(options);
        options.flags = how.must_not_exist ? DS_STORE_MUST_NOT_EXIST : 0;
        options.replicas = how.replicas;
        options.timeout_ms = detail::milliseconds(how.timeout);
        int64_t version;
        int rc = ds_store_put(handle_.get(), key.data(), key.size(), parts.data(), parts.size(),
                              &options, &version);
        if (rc == 0)
            return version;
        Error error = Error::from(rc);
        error.unknown = version != 0;
        return error;
    }
    Result<int64_t> put(std::string_view key, std::span<const std::byte> bytes,
                        const Put &how = {}) const {
        iovec part{const_cast<std::byte *>(bytes.data()), bytes.size()};
        return put(key, std::span<const iovec>(&part, 1), how);
    }

    /// Into memory of the caller.
    Result<ds_store_object> get_into(std::string_view key, std::span<const iovec> parts,
                                     const Get &how = {}) const {
        ds_store_get_options options{};
        options.size = sizeof(options);
        options.flags = how.cached ? DS_STORE_CACHED : 0;
        options.timeout_ms = detail::milliseconds(how.timeout);
        options.offset = how.offset;
        options.min_version = how.min_version;
        options.version = how.version;
        ds_store_object object{};
        object.size = sizeof(object);
        int rc = ds_store_get(handle_.get(), key.data(), key.size(), parts.data(), parts.size(),
                              &options, &object);
        return rc < 0 ? Result<ds_store_object>(Error::from(rc)) : Result<ds_store_object>(object);
    }

    /// From how.offset to the end. All of it within how.timeout; ETIMEDOUT also if the object
    /// is overwritten faster than it can be read.
    Result<std::vector<std::byte>> get(std::string_view key, Get how = {}) const {
        const detail::Deadline deadline(how.timeout);
        for (;;) {
            auto now = stat(key, deadline.left());
            if (!now)
                return now.error();
            Get exact = how;
            exact.timeout = deadline.left();
            exact.version = how.version ? how.version : now->version;
            std::vector<std::byte> bytes(now->length - std::min(how.offset, now->length));
            iovec part{bytes.data(), bytes.size()};
            auto got = get_into(key, std::span<const iovec>(&part, 1), exact);
            if (got)
                return bytes;
            // It was overwritten since it was looked at, and may be longer now.
            if (got.error().code != ESTALE || how.version)
                return got.error();
            if (deadline.has_passed())
                return Error::from(ETIMEDOUT);
        }
    }

    Result<void> del(std::string_view key, int64_t version = 0,
                     Timeout timeout = default_timeout) const {
        return detail::outcome(ds_store_del(handle_.get(), key.data(), key.size(), version,
                                            detail::milliseconds(timeout)));
    }

    Result<ds_store_object> stat(std::string_view key, Timeout timeout = default_timeout) const {
        ds_store_object object{};
        object.size = sizeof(object);
        int rc = ds_store_stat(handle_.get(), key.data(), key.size(), detail::milliseconds(timeout),
                               &object);
        return rc < 0 ? Result<ds_store_object>(Error::from(rc)) : Result<ds_store_object>(object);
    }

    using Take = std::function<bool(std::string_view key, const ds_store_object &object)>;

    /// Calls @p take for each object, in the order of keys, until it returns false. What it
    /// throws ends the list, and is thrown on.
    Result<void> list(std::string_view prefix, std::string_view after, Take take,
                      Timeout timeout = default_timeout) const {
        struct Listing {
            Take take;
            std::exception_ptr thrown;
        };
        Listing listing{std::move(take), nullptr};
        // No exception may pass the C function in between.
        auto entry = [](void *arg, const void *key, size_t length, const ds_store_object *object) {
            auto &list = *static_cast<Listing *>(arg);
            try {
                return list.take({static_cast<const char *>(key), length}, *object) ? 0 : 1;
            } catch (...) {
                list.thrown = std::current_exception();
                return 1;
            }
        };
        int rc = ds_store_list(handle_.get(), prefix.data(), prefix.size(), after.data(),
                               after.size(), detail::milliseconds(timeout), entry, &listing);
        if (listing.thrown)
            std::rethrow_exception(listing.thrown);
        return detail::outcome(rc);
    }

    Result<ds_store_totals> totals(Timeout timeout = default_timeout) const {
        ds_store_totals totals{};
        totals.size = sizeof(totals);
        int rc =
            ds_store_get_totals(handle_.get(), detail::milliseconds(timeout), &totals, nullptr, 0);
        return rc < 0 ? Result<ds_store_totals>(Error::from(rc)) : Result<ds_store_totals>(totals);
    }

private:
    explicit Store(ds_store *handle) : handle_(handle) {}
    detail::Handle<ds_store, ds_store_close> handle_;
};

}  // namespace ds

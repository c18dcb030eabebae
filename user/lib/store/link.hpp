// SPDX-License-Identifier: Apache-2.0
// ds::store::Link: requests to the master of a store. They are repeated until
// there is a reply, or no time left: each may be carried out twice without harm.
#pragma once

#include <ds/ds.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pool/pool.hpp"
#include "store/wire.hpp"

namespace ds::store {

/// A reply, and how it came.
struct Answer {
    std::vector<std::byte> bytes;
    uint64_t request = 0;   ///< its number
    bool repeated = false;  ///< the request may have been carried out before

    /// The fixed part, if the reply is long enough.
    template <class T>
    bool take(T &part) const {
        if (bytes.size() < sizeof(part))
            return false;
        std::memcpy(&part, bytes.data(), sizeof(part));
        return true;
    }
};

class Link {
public:
    Link(ds_fabric *fabric, uint32_t node, uint32_t port)
        : fabric_(fabric), node_(node), port_(port) {}

    /// From then on requests are for this store, of this client.
    void use(uint64_t store, pool::Owner self);
    uint64_t store() const { return store_; }

    /// The time (ns) at which a call with this limit has to end.
    uint64_t deadline(uint32_t timeout_ms) const;
    bool has_passed(uint64_t deadline) const { return ds_fabric_now(fabric_) >= deadline; }
    /// Milliseconds until then, at least 1.
    uint32_t left(uint64_t deadline) const;

    /// Sends T with its variable parts, and waits for the reply. The master's
    /// status, or -ETIMEDOUT, -ECONNREFUSED, ...: there was no reply.
    template <class T>
    int call(wire::Op op, const T &request, std::initializer_list<std::string_view> parts,
             uint64_t deadline, Answer &answer) {
        answer.request = next_request_++;
        return send(op, request, parts, deadline, answer);
    }

    /// The space that this begin may have reserved will not be written.
    void give_back(uint64_t begin, std::string_view key);
    /// Tells the master so of all of them, until it does not answer that it is done.
    void settle(uint64_t deadline);

private:
    /// A begin of which nobody needs the space.
    struct Begun {
        uint64_t request;
        std::string key;
    };

    template <class T>
    int send(wire::Op op, T request, std::initializer_list<std::string_view> parts,
             uint64_t deadline, Answer &answer) {
        size_t length = sizeof(request);
        for (std::string_view part : parts)
            length += part.size();
        request.head = head(op, length, answer.request);
        std::vector<std::byte> bytes;
        bytes.reserve(length);
        auto add = [&](std::span<const std::byte> part) {
            bytes.insert(bytes.end(), part.begin(), part.end());
        };
        add(std::as_bytes(std::span(&request, 1)));
        for (std::string_view part : parts)
            add(std::as_bytes(std::span(part)));
        return exchange(bytes, deadline, answer);
    }

    bool take_unwanted(Begun &begun);
    wire::Head head(wire::Op op, size_t length, uint64_t request) const;
    int exchange(std::vector<std::byte> &request, uint64_t deadline, Answer &answer);
    int accept(const std::vector<std::byte> &request, Answer &answer, int32_t status);

    ds_fabric *fabric_;
    const uint32_t node_, port_;
    uint64_t store_ = 0;
    pool::Owner self_{};
    std::atomic<uint64_t> next_request_{1};
    std::atomic<uint32_t> epoch_{0};  // the latest of a master that was heard
    std::mutex lock_;                 // guards what follows
    std::vector<Begun> unwanted_;
};

}  // namespace ds::store

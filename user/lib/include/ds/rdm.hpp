// SPDX-License-Identifier: Apache-2.0
// libdsuser for C++20: memory of a host that serves it by packets. Header only, above
// ds/rdm.h, which has the full text on each call.
//
//     ds_rdm_options options{};
//     options.size = sizeof(options);
//     options.wire = DS_RDM_WIRE_2;
//     options.ipv4 = inet_addr("10.77.0.2");
//     auto rdm = ds::Rdm::open(options);
//     uint64_t address = rdm->alloc(4096).or_throw();
//     rdm->write(address, std::as_bytes(std::span(text))).or_throw();
#pragma once

#include <cstdint>
#include <span>

#include <ds/rdm.h>
#include <ds/ds.hpp>

namespace ds {

class Rdm {
public:
    static Result<Rdm> open(const ds_rdm_options &options) {
        ds_rdm *handle;
        int rc = ds_rdm_open(&options, &handle);
        return rc < 0 ? Result<Rdm>(Error::from(rc)) : Result<Rdm>(Rdm(handle));
    }

    /// The address.
    Result<uint64_t> alloc(uint64_t length, uint32_t access = 0) const {
        auto request = request_of(DS_PACKET_ALLOC, 0, length);
        request.operand = access;
        return value_of(request, &ds_rdm_request::address);
    }
    Result<void> free(uint64_t address) const {
        return run(request_of(DS_PACKET_FREE, address, 0));
    }

    Result<void> read(uint64_t address, std::span<std::byte> to) const {
        return run(request_of(DS_PACKET_READ, address, to.size(), to.data()));
    }
    Result<void> write(uint64_t address, std::span<const std::byte> from) const {
        return run(request_of(DS_PACKET_WRITE, address, from.size(), from.data()));
    }
    Result<void> write_persistent(uint64_t address, std::span<const std::byte> from) const {
        return run(request_of(DS_PACKET_WRITE_PERSISTENT, address, from.size(), from.data()));
    }

    /// The old value; the swap happened if it equals @p compare.
    Result<uint64_t> cas(uint64_t address, uint64_t compare, uint64_t swap) const {
        auto request = request_of(DS_PACKET_CAS, address, sizeof(uint64_t));
        request.compare = compare;
        request.operand = swap;
        return value_of(request, &ds_rdm_request::value);
    }
    /// The old value.
    Result<uint64_t> fetch_add(uint64_t address, uint64_t add) const {
        auto request = request_of(DS_PACKET_FETCH_ADD, address, sizeof(uint64_t));
        request.operand = add;
        return value_of(request, &ds_rdm_request::value);
    }
    Result<void> ping(std::span<const std::byte> data = {}) const {
        return run(request_of(DS_PACKET_PING, 0, data.size(), data.data()));
    }

    /// Each request says how it ended.
    Result<void> execute(std::span<ds_rdm_request> requests, uint32_t depth = 0) const {
        return detail::outcome(ds_rdm_execute(get(), requests.data(), requests.size(), depth));
    }

    ds_rdm_counts counters() const {
        ds_rdm_counts counts{};
        counts.size = sizeof(counts);
        ::ds_rdm_counters(get(), &counts);
        return counts;
    }

    ds_rdm *get() const { return handle_.get(); }  ///< for the C functions

    /// The error of a request, in the server's words if it has refused.
    static Error explain(const ds_rdm_request &request) {
        Error error = Error::from(request.status);
        if (request.reason) {
            error.sentence = ds_rdm_strerror(request.reason);
            error.remedy = ds_rdm_remedy(request.reason);
        }
        error.unknown = request.outcome == DS_UNKNOWN;
        return error;
    }

private:
    explicit Rdm(ds_rdm *handle) : handle_(handle) {}

    static ds_rdm_request request_of(uint32_t opcode, uint64_t address, uint64_t length,
                                     const void *data = nullptr) {
        ds_rdm_request request{};
        request.opcode = opcode;
        request.address = address;
        request.length = length;
        request.data = const_cast<void *>(data);  // written to by a READ only
        return request;
    }
    Result<void> run(ds_rdm_request request) const {
        if (ds_rdm_execute(get(), &request, 1, 0) < 0)
            return explain(request);
        return {};
    }
    Result<uint64_t> value_of(ds_rdm_request request, uint64_t ds_rdm_request::*value) const {
        if (ds_rdm_execute(get(), &request, 1, 0) < 0)
            return explain(request);
        return request.*value;
    }

    detail::Handle<ds_rdm, ds_rdm_close> handle_;
};

}  // namespace ds

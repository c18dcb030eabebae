// SPDX-License-Identifier: Apache-2.0
// A space of remote memory, opened for the 'mem' commands (ds/ds.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ds/ds.h>

#include "call.hpp"
#include "map.hpp"

namespace dsctl {

// A buffer that the RDMA device reads and writes.
class Buffer {
public:
    Buffer(ds_fabric *fabric, size_t length);

    ds_buffer *get() const { return buffer_.get(); }
    std::span<std::byte> bytes() const;

private:
    std::unique_ptr<ds_buffer, decltype(&ds_buffer_free)> buffer_;
};

class Remote {
public:
    // Opens the space of --space with these rights (DS_ACCESS_*); --timeout is
    // the longest wait of each run().
    Remote(const Call &call, uint32_t access);
    // The same with the number of the space.
    Remote(const Call &call, uint32_t number, uint32_t access);

    const Map &map() const { return map_; }
    uint32_t timeout_ms() const { return timeout_ms_; }
    // Bytes of the largest buffer that this module makes for a program.
    uint64_t most_buffer() const;
    ds_fabric *fabric() const { return fabric_.get(); }
    ds_space *space() const { return space_.get(); }

    // Throws ERANGE if a byte of the range is outside of the space.
    void check_range(uint64_t address, uint64_t length) const;

    // Operations of this space; a WRITE is marked as idempotent where it says so.
    ds_operation read_op(uint64_t address, const Buffer &buffer, uint64_t offset,
                         uint64_t length) const;
    ds_operation write_op(uint64_t address, const Buffer &buffer, uint64_t offset, uint64_t length,
                          bool idempotent) const;
    ds_operation cas_op(uint64_t address, uint64_t compare, uint64_t swap) const;
    ds_operation add_op(uint64_t address, uint64_t add) const;

    // Runs them; throws the first failure. Results are in *results.
    void run(const std::vector<ds_operation> &ops, std::vector<ds_result> *results) const;

    // The failure of an operation: names the server and the node, and says
    // when it is not known whether the operation happened.
    Error failure(const ds_operation &op, const ds_result &result) const;

    // Puts the servers of the space that do not answer into an error of something that
    // stands on the space and does not know them. Asks each; false if all answer.
    bool name_absent(Error &error) const;

private:
    std::string who(uint32_t node, uint32_t server) const;
    std::string reason_of(const ds_operation &op, int errnum) const;
    std::string remedy_of(const ds_operation &op, int errnum) const;

    std::unique_ptr<ds_fabric, decltype(&ds_fabric_close)> fabric_;
    std::unique_ptr<ds_space, decltype(&ds_space_close)> space_;
    Map map_{};
    uint32_t number_;
    uint32_t timeout_ms_;
};

// "executed", "not-executed", "unknown"
const char *outcome_name(uint32_t outcome);

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
// What happened in a run, one JSON object a line.
#pragma once

#include <cstdint>
#include <string>

#include <ds/result.hpp>

#include "fabric/fd.hpp"

namespace ds::sim {

/// Lines are {"t_ns", "event", "token", "from", "to"}, from and to being tiers, 1 to 3; of a
/// threshold {"t_ns", "event": "threshold", "tier", "from", "to"}, from and to being its values.
class EventLog {
public:
    enum class Move : uint8_t { promote, demote, evict, expand, abort, expire, stage };

    /// Writes to @p path, from its beginning.
    static Result<EventLog> create(const std::string &path);

    EventLog(EventLog &&) = default;
    EventLog &operator=(EventLog &&) = delete;
    ~EventLog() { flush(); }

    void move(uint64_t t_ns, Move what, uint64_t token, unsigned from, unsigned to);
    void threshold(uint64_t t_ns, unsigned tier, uint64_t from, uint64_t to);

    /// Writes out what is buffered. The first error of any write since the beginning: behind it
    /// nothing was written.
    Result<void> finish();

private:
    explicit EventLog(fabric::Fd file, std::string path)
        : file_(std::move(file)), path_(std::move(path)) {}

    void flush();

    fabric::Fd file_;
    std::string path_;
    std::string buffer_;
    int error_ = 0;
};

}  // namespace ds::sim

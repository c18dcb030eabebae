// SPDX-License-Identifier: Apache-2.0
// What happened in a run, one JSON object a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "sim/ds_format.hpp"

namespace ds::sim {

/// Lines are {"t_ns", "event", "token", "from", "to"}, from and to being tiers, 1 to 3; of a
/// threshold {"t_ns", "event": "threshold", "tier", "from", "to"}, from and to being its values.
class EventLog {
public:
    enum class Move : uint8_t {
        promote,
        demote,
        evict,
        expand,
        abort,
        expire,
        cancel,
        stage,
        free
    };

    /// @p write is given whole lines, and may throw.
    explicit EventLog(WriteBytes write) : write_(std::move(write)) {}
    EventLog(const EventLog &) = delete;
    EventLog &operator=(const EventLog &) = delete;

    /// One of several: the lines that follow have its number first, as "run".
    void begin_run(size_t number) { head_ = "{\"run\":" + std::to_string(number) + ","; }

    /// These only add to a buffer: what write throws must not pass through the core, of which the
    /// caller may be a part.
    void move(uint64_t t_ns, Move what, uint64_t token, unsigned from, unsigned to);
    void threshold(uint64_t t_ns, unsigned tier, uint64_t from, uint64_t to);

    /// To be called again and again: writes out what is buffered, if that is enough.
    void relieve() {
        if (buffer_.size() >= buffer_bytes)
            finish();
    }

    /// Writes out what is buffered.
    void finish();

private:
    static constexpr size_t buffer_bytes = size_t(64) << 10;

    WriteBytes write_;
    std::string head_ = "{";
    std::string buffer_;
};

}  // namespace ds::sim

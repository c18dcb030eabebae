// SPDX-License-Identifier: Apache-2.0
// ds::pool::Scratch: a small buffer for the pool's own words and tables.
#pragma once

#include <ds/ds.h>

#include <cstring>
#include <memory>

#include "fabric/engine.hpp"
#include "fabric/handles.hpp"

namespace ds::pool {

class Scratch {
public:
    static constexpr uint64_t bytes = 64 << 10;

    /// @p timeout_ms: longest wait of an access, 0 for that of @p space.
    explicit Scratch(ds_space *space, uint32_t timeout_ms = 0)
        : space_(space), timeout_ms_(timeout_ms), buffer_(nullptr, ds_buffer_free) {}

    uint32_t timeout_ms() const { return timeout_ms_; }
    void set_timeout(uint32_t timeout_ms) { timeout_ms_ = timeout_ms; }

    /// Makes it, if it is not made yet. 0 or a negative errno.
    int open() {
        if (buffer_)
            return 0;
        fabric::BufferInfo info{};
        if (int rc = space_->engine->fabric().create_buffer(bytes, -1, info); rc < 0)
            return rc;
        buffer_.reset(new ds_buffer{space_->engine, info});
        return 0;
    }

    /// Copies @p length bytes, at most Scratch::bytes, from the space.
    int read(uint64_t addr, void *to, uint64_t length) {
        int rc = ds_read(space_, addr, buffer_.get(), 0, length, timeout_ms_, nullptr);
        if (rc == 0)
            std::memcpy(to, ds_buffer_data(buffer_.get()), length);
        return rc;
    }

    /// Copies them into the space.
    int write(uint64_t addr, const void *from, uint64_t length) {
        std::memcpy(ds_buffer_data(buffer_.get()), from, length);
        return ds_write(space_, addr, buffer_.get(), 0, length, timeout_ms_, nullptr);
    }

private:
    ds_space *space_;
    uint32_t timeout_ms_;
    std::unique_ptr<ds_buffer, decltype(&ds_buffer_free)> buffer_;
};

}  // namespace ds::pool

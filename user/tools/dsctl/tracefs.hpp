// SPDX-License-Identifier: Apache-2.0
// Tracepoints of the module, recorded in a trace buffer of our own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ring_page.hpp"

namespace dsctl {

// An instance of the kernel's tracing that is gone with the object, and with it what it has
// switched on. Others who trace are not disturbed.
class TraceInstance {
public:
    // Times are of the monotonic clock, so that they compare between processors. Throws.
    explicit TraceInstance(const std::string &event);
    ~TraceInstance();
    TraceInstance(const TraceInstance &) = delete;
    TraceInstance &operator=(const TraceInstance &) = delete;

    void start() { write(enable(), "1"); }
    // Also if the module is gone by now, and with it the tracepoint.
    void stop();

    // Takes what there is by now, processor by processor, but no more of one than keeps the
    // others waiting; events of this kind only. False: there was nothing.
    bool drain(const TakeEvent &take);

    // Where a field of that size begins in the event. Throws if there is none.
    size_t offset_of(const std::string &field, size_t size) const;

    // Events that were overwritten before they were read.
    uint64_t lost() const;

private:
    std::string enable() const { return "events/ds/" + event_ + "/enable"; }
    void open_pipes();
    void remove();
    void write(const std::string &file, const std::string &text) const;
    bool drain_pipe(int pipe, const TakeEvent &take) const;

    std::string event_;
    std::string path_;
    std::string format_;
    uint16_t id_ = 0;
    std::vector<int> pipes_;  // one a processor
};

}  // namespace dsctl

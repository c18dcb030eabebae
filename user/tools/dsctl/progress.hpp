// SPDX-License-Identifier: Apache-2.0
// Progress of a long command, on stderr from the second second on.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "output.hpp"

namespace dsctl {

class Progress {
public:
    enum class Unit { bytes, operations, requests, runs, milliseconds };

    // Shown if stderr is a terminal or --progress is given, and not with -q.
    Progress(const Settings &settings, std::string what, uint64_t total, Unit unit = Unit::bytes);
    ~Progress();
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    void update(uint64_t done);

    double seconds() const;

private:
    using Clock = std::chrono::steady_clock;

    std::string amount() const;
    std::string rate(uint64_t done) const;

    std::string what_;
    uint64_t total_;
    Unit unit_;
    bool shown_;
    bool terminal_;
    bool drawn_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_ = start_ + std::chrono::seconds(1);
};

}  // namespace dsctl

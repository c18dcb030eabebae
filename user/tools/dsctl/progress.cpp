// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "units.hpp"

namespace dsctl {

Progress::Progress(const Settings &settings, std::string what, uint64_t total, Unit unit)
    : what_(std::move(what)), total_(total), unit_(unit), terminal_(isatty(STDERR_FILENO)) {
    shown_ = !settings.quiet && (terminal_ || settings.progress);
}

Progress::~Progress() {
    if (drawn_ && terminal_)
        std::fputs("\r\033[K", stderr);
}

double Progress::seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
}

std::string Progress::amount() const {
    if (unit_ == Unit::bytes)
        return bytes_text(total_);
    if (unit_ == Unit::milliseconds)
        return format("%.0f s", static_cast<double>(total_) / 1000);
    return std::to_string(total_) + (unit_ == Unit::requests ? " requests"
                                     : unit_ == Unit::runs   ? " runs"
                                                             : " operations");
}

std::string Progress::rate(uint64_t done) const {
    double per_second = static_cast<double>(done) / seconds();

    if (unit_ == Unit::bytes)
        return ", " + rate_text(per_second);
    if (unit_ == Unit::operations || unit_ == Unit::requests)
        return format(", %.0f/s", per_second);
    return "";
}

void Progress::update(uint64_t done) {
    Clock::time_point now = Clock::now();

    if (!shown_ || now < next_)
        return;
    // A log need not be told as often as an eye.
    next_ = now + (terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(1000));
    drawn_ = true;

    done = std::min(done, total_);
    double share = total_ ? static_cast<double>(done) / static_cast<double>(total_) : 1;
    std::string text = format("%s: %.0f %% of %s%s", what_.c_str(), 100 * share, amount().c_str(),
                              rate(done).c_str());
    if (double spent = seconds(); share > 0)
        text += format(", %.0f s left", spent / share - spent);
    text = printable(text);
    // Only one row of a terminal is cleared again; its last column is left for the cursor.
    if (size_t width = terminal_ ? line_width(STDERR_FILENO) : 0; width > 1)
        text = cut(text, width - 1);
    std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", text.c_str());
    std::fflush(stderr);
}

}  // namespace dsctl

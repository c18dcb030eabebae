// SPDX-License-Identifier: Apache-2.0
#include "sim_events.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <span>

namespace dsctl {

void check_events(const Call &call, const std::string &trace) {
    struct stat log, other;

    if (!call.has("--events"))
        return;
    if (call.text("--events") == "-")
        throw usage("--events has no '-': standard output has the result", "name a file");
    if (is_stdout(call.text("--events")))
        throw usage("the file of --events is standard output, which has the result",
                    "choose another file");
    if (stat(call.text("--events").c_str(), &log) != 0 ||
        (trace == "-" ? fstat(STDIN_FILENO, &other) : stat(trace.c_str(), &other)) != 0)
        return;
    if (other.st_dev == log.st_dev && other.st_ino == log.st_ino)
        throw usage("the file of --events is the trace itself: '" + trace + "'",
                    "choose another file");
}

EventFile::EventFile(const Call &call) {
    if (!call.has("--events"))
        return;
    file_.emplace(call.text("--events"));
    log_.emplace([this](std::span<const std::byte> bytes) { file_->write(bytes); });
}

void EventFile::keep() {
    if (!log_)
        return;
    log_->finish();
    file_->keep();
}

}  // namespace dsctl

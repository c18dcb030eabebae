// SPDX-License-Identifier: Apache-2.0
#include "sim/event_log.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace ds::sim {
namespace {

constexpr size_t buffer_bytes = size_t(64) << 10;

std::string_view name_of(EventLog::Move what) {
    constexpr std::array<std::string_view, 7> names{"promote", "demote", "evict", "expand",
                                                    "abort",   "expire", "stage"};
    return names[static_cast<size_t>(what)];
}

}  // namespace

Result<EventLog> EventLog::create(const std::string &path) {
    fabric::Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));

    if (!file.open())
        return Error::from(errno,
                           "the event log '" + path + "' cannot be made: " + strerror(errno));
    return EventLog(std::move(file), path);
}

void EventLog::move(uint64_t t_ns, Move what, uint64_t token, unsigned from, unsigned to) {
    buffer_.append("{\"t_ns\":").append(std::to_string(t_ns));
    buffer_.append(",\"event\":\"").append(name_of(what));
    buffer_.append("\",\"token\":").append(std::to_string(token));
    buffer_.append(",\"from\":").append(std::to_string(from));
    buffer_.append(",\"to\":").append(std::to_string(to)).append("}\n");
    if (buffer_.size() >= buffer_bytes)
        flush();
}

void EventLog::threshold(uint64_t t_ns, unsigned tier, uint64_t from, uint64_t to) {
    buffer_.append("{\"t_ns\":").append(std::to_string(t_ns));
    buffer_.append(",\"event\":\"threshold\",\"tier\":").append(std::to_string(tier));
    buffer_.append(",\"from\":").append(std::to_string(from));
    buffer_.append(",\"to\":").append(std::to_string(to)).append("}\n");
    if (buffer_.size() >= buffer_bytes)
        flush();
}

void EventLog::flush() {
    std::string_view left = buffer_;

    while (!left.empty() && error_ == 0) {
        ssize_t n = write(file_.get(), left.data(), left.size());
        if (n >= 0)
            left.remove_prefix(static_cast<size_t>(n));
        else if (errno != EINTR)
            error_ = errno;
    }
    buffer_.clear();
}

Result<void> EventLog::finish() {
    flush();
    if (error_)
        return Error::from(
            error_, "the event log '" + path_ + "' could not be written: " + strerror(error_));
    return {};
}

}  // namespace ds::sim

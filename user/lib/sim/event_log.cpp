// SPDX-License-Identifier: Apache-2.0
#include "sim/event_log.hpp"

#include <array>
#include <span>
#include <string_view>

namespace ds::sim {
namespace {

std::string_view name_of(EventLog::Move what) {
    constexpr std::array<std::string_view, 9> names{"promote", "demote", "evict", "expand", "abort",
                                                    "expire",  "cancel", "stage", "free"};
    return names[static_cast<size_t>(what)];
}

}  // namespace

void EventLog::move(uint64_t t_ns, Move what, uint64_t token, unsigned from, unsigned to) {
    buffer_.append(head_).append("\"t_ns\":").append(std::to_string(t_ns));
    buffer_.append(",\"event\":\"").append(name_of(what));
    buffer_.append("\",\"token\":").append(std::to_string(token));
    buffer_.append(",\"from\":").append(std::to_string(from));
    buffer_.append(",\"to\":").append(std::to_string(to)).append("}\n");
}

void EventLog::threshold(uint64_t t_ns, unsigned tier, uint64_t from, uint64_t to) {
    buffer_.append(head_).append("\"t_ns\":").append(std::to_string(t_ns));
    buffer_.append(",\"event\":\"threshold\",\"tier\":").append(std::to_string(tier));
    buffer_.append(",\"from\":").append(std::to_string(from));
    buffer_.append(",\"to\":").append(std::to_string(to)).append("}\n");
}

void EventLog::finish() {
    if (!buffer_.empty())
        write_(std::as_bytes(std::span(buffer_)));
    buffer_.clear();
}

}  // namespace ds::sim

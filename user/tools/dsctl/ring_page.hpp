// SPDX-License-Identifier: Apache-2.0
// Pages of the kernel's trace buffer, as trace_pipe_raw gives them (include/linux/ring_buffer.h
// of the kernel; events/header_page and header_event of tracefs say the same).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace dsctl {

using TakeEvent = std::function<void(uint64_t time_ns, std::span<const std::byte> event)>;

// Calls take for each event of a page, with the event's fields (common_type first). Throws
// if the page is not of this form; events before that place are taken.
void each_event(std::span<const std::byte> page, const TakeEvent &take);

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
// CRC32C, by the processor's instruction where it has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ds {

/// Goes on from @p crc. No inversion, neither before nor after.
uint32_t crc32c_update(uint32_t crc, std::span<const std::byte> data);

/// The same by the portable core's table; what the other is tested against.
uint32_t crc32c_by_table(uint32_t crc, std::span<const std::byte> data);

}  // namespace ds

// SPDX-License-Identifier: Apache-2.0
// CRC32C, the fastest way that this machine has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ds {

/// Goes on from @p crc. No inversion, neither before nor after.
uint32_t crc32c_update(uint32_t crc, std::span<const std::byte> data);

using Crc32c = uint32_t (*)(uint32_t crc, std::span<const std::byte> data);

/// The ways that this processor can go, by tables first. All give the same.
std::vector<Crc32c> crc32c_ways();

}  // namespace ds

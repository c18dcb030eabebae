// SPDX-License-Identifier: Apache-2.0
// Our own format of traces: a header, then records, all little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace ds::sim {

struct DsHeader {
    static constexpr std::string_view magic_text = "DSTRACE1";

    char magic[8];
    uint32_t version;      ///< 1
    uint32_t record_size;  ///< sizeof(DsRecord)
};
static_assert(sizeof(DsHeader) == 16);

struct DsRecord {
    uint64_t time_ns;
    uint32_t handle;
    uint8_t operation;  ///< enum Operation
    uint8_t tier;       ///< that answered: 0 unknown, 1 to 3
    uint16_t zero;
};
static_assert(sizeof(DsRecord) == 16);

using WriteBytes = std::function<void(std::span<const std::byte>)>;

/// What stands before the first record.
void write_ds_header(const WriteBytes &write);

}  // namespace ds::sim

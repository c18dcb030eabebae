// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <ds/ds.h>

#include <cerrno>

#include "bytes.hpp"

namespace peer {

namespace {

constexpr std::uint64_t place = 0x10100000;  // in the first server of any space
constexpr std::size_t half = 2048;

}  // namespace

Memory::Memory(std::uint32_t space) {
    if (ds_fabric_open(nullptr, &fabric_) ||
        ds_space_open(fabric_, space, DS_ACCESS_ALL, &space_) ||
        ds_buffer_alloc(fabric_, 2 * half, -1, &buffer_))
        throw Broken("no access to space " + std::to_string(space));
}

Memory::~Memory() {
    ds_buffer_free(buffer_);
    ds_space_close(space_);
    ds_fabric_close(fabric_);
}

int Memory::read(std::uint32_t limit_ms) {
    return -ds_read(space_, place, buffer_, 0, 64, limit_ms, nullptr);
}

int Memory::check() {
    auto *bytes = static_cast<unsigned char *>(ds_buffer_data(buffer_));
    std::memset(bytes, 0x5a, half);
    std::memset(bytes + half, 0, half);
    int ret = ds_write(space_, place, buffer_, 0, half, 5000, nullptr);
    if (!ret)
        ret = ds_read(space_, place, buffer_, half, half, 5000, nullptr);
    if (ret)
        return -ret;
    return std::memcmp(bytes, bytes + half, half) ? EBADMSG : 0;
}

}  // namespace peer

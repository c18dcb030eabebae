// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Operations of this host on a space, by the library.
 */
#ifndef DSPEER_MEMORY_HPP
#define DSPEER_MEMORY_HPP

#include <cstdint>

struct ds_fabric;
struct ds_space;
struct ds_buffer;

namespace peer {

class Memory {
public:
    /** Open the space; Broken when that cannot be done. */
    explicit Memory(std::uint32_t space);
    ~Memory();
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    /** A READ of 64 bytes: 0 or an errno. */
    int read(std::uint32_t limit_ms = 1500);

    /** Write, read, compare: 0 or an errno. */
    int check();

private:
    ds_fabric *fabric_ = nullptr;
    ds_space *space_ = nullptr;
    ds_buffer *buffer_ = nullptr;
};

}  // namespace peer

#endif

// SPDX-License-Identifier: Apache-2.0
// What a client of the packet service counts; see struct ds_rdm_counts.
#pragma once

#include <cstdint>

namespace ds::rdm {

struct Counts {
    uint64_t sent = 0;
    uint64_t resent = 0;
    uint64_t received = 0;
    uint64_t ignored = 0;
    uint64_t lost = 0;
    uint64_t bytes_out = 0;
    uint64_t bytes_in = 0;
    uint64_t sessions = 0;
};

}  // namespace ds::rdm

// SPDX-License-Identifier: Apache-2.0
// enum ds_packet_status as an errno; the words are ds_rdm_strerror()'s.
#pragma once

#include <cstdint>

namespace ds::rdm {

/// 0 or a negative errno.
int errno_of(uint32_t reason);

}  // namespace ds::rdm

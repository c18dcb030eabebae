// SPDX-License-Identifier: Apache-2.0
// A request that is under way, or 64 KiB of a longer one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <ds/rdm.h>

#include "rdm/core.hpp"
#include "rdm/missing.hpp"

namespace ds::rdm {

struct Piece {
    size_t request = 0;  ///< index of it; of an OPEN of the library's own nothing
    ds_packet ask{};     ///< without part and offset, which a packet has
    uint8_t *into = nullptr;
    ds_packet2_operands operands{};
    Missing missing;  ///< of a READ
    uint64_t order = 0;
    uint64_t sent_ns = 0;
    uint64_t resend_ns = 0;
    uint64_t deadline_ns = 0;
    unsigned tries = 0;
    uint64_t cost = 0;     ///< of the window
    uint64_t message = 0;  ///< of the link, with its last packet
    bool whole = false;    ///< all its packets were sent at least once
    bool busy = false;     ///< the server had no room for it

    /// Does it change something?
    bool changes() const {
        return ask.op != DS_PACKET_READ && ask.op != DS_PACKET_PING && ask.op != DS_PACKET_OPEN &&
               ask.op != DS_PACKET_CLOSE;
    }
    bool writes() const {
        return ask.op == DS_PACKET_WRITE || ask.op == DS_PACKET_WRITE_PERSISTENT;
    }
};

/// Those under way. A tag names a place here, and who has it.
using Pieces = std::array<std::optional<Piece>, DS_PACKET_WINDOW>;

}  // namespace ds::rdm

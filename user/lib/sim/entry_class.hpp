// SPDX-License-Identifier: Apache-2.0
// What a NIC keeps of RDMA objects besides tokens (document 001): how large an entry is, and in
// which tiers it may be.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/random.hpp"

namespace ds::sim {

struct EntryClass {
    std::string_view name;
    uint32_t bytes;     ///< that an access or a move carries
    bool in_l1, in_l2;  ///< L3 is everybody's home
};

/// A token is narrow. A doorbell record is two words. A WQE is one basic block of 64 bytes, as is a
/// bucket of an index and a line of history. What a context of 232 bytes has beside its token of 16
/// are a QP's large fields.
constexpr std::array<EntryClass, 6> entry_classes{{{"token", 16, true, true},
                                                   {"doorbell", 8, true, false},
                                                   {"wqe", 64, true, true},
                                                   {"qp", 216, false, true},
                                                   {"index", 64, false, true},
                                                   {"history", 64, false, false}}};

/// Of which class objects are: each has one for its life, in shares of all objects.
class ClassShares {
public:
    /// All are tokens.
    ClassShares() = default;

    /// From "token:60,wqe:30,history:10": percentages, whose sum is 100. Throws Failure (EINVAL).
    static ClassShares parse(std::string_view text);

    /// Index in entry_classes.
    uint8_t of(const Random &random, uint32_t object) const;
    bool only_tokens() const { return ends_[0] == 100; }

    bool operator==(const ClassShares &) const = default;

private:
    std::array<uint8_t, entry_classes.size()> ends_{100, 100, 100, 100, 100, 100};  // percentiles
};

}  // namespace ds::sim

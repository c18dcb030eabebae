// SPDX-License-Identifier: Apache-2.0
// Of what kind the objects of a trace are, and what was found of each kind.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/entry_class.hpp"
#include "sim/random.hpp"
#include "sim/trace.hpp"

namespace ds::sim {

/// A kind of objects in a run.
struct Kind {
    std::string_view name;
    uint64_t objects = 0;
    std::array<uint64_t, 4> found{};  ///< accesses by the tier, 1 to 3, in which the token was

    uint64_t accesses() const { return found[1] + found[2] + found[3]; }
};

/// Of each object its place among the kinds; both are empty if nobody knows.
struct Kinds {
    std::vector<Kind> kinds;
    std::vector<uint8_t> of;

    /// Types of tokens (pd, mr, cq, qp), if the trace's keys are handles of tokens. Numbers that
    /// somebody gave are none: a handle has a generation that is not 0.
    static Kinds by_type(const Trace &trace);
    /// Classes of entries, in the order of entry_classes, in these shares.
    static Kinds by_class(const ClassShares &shares, const Random &random, uint32_t objects);
};

}  // namespace ds::sim

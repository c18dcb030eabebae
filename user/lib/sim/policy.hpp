// SPDX-License-Identifier: Apache-2.0
// What is kept in a cache of so many entries: the token cache's policy, and the references that it
// is compared with.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/trace.hpp"

namespace ds::sim {

class Policy {
public:
    virtual ~Policy() = default;

    /// One access to an object, as which it may come into the cache. True for a hit.
    virtual bool access(uint32_t id) = 0;
};

struct PolicyKind {
    std::string_view name;
    std::unique_ptr<Policy> (*make)(uint32_t capacity, uint32_t number, const Trace &trace);
    uint32_t number = 0;                 ///< default of the number that may stand behind the name
    uint32_t most = 0;                   ///< of it, from 1; 0: none may
    uint32_t most_objects = UINT32_MAX;  ///< of a trace
    uint32_t least_entries = 1;          ///< of the cache
    uint32_t most_entries = UINT32_MAX;
};

/// All of them. The last one is OPT, which knows the future.
std::span<const PolicyKind> policies();

/// A policy for one pass over a trace. Its name may have a number behind it: w-tinylfu:1 has a
/// window of 1 %, literal-001:2 has PROMOTE_TO_L1_THRESHOLD = 2. Throws Failure (EINVAL) for a name
/// that there is not, and a capacity that it cannot have; EBADMSG for a trace of too many objects.
std::unique_ptr<Policy> make_policy(std::string_view name, uint32_t capacity, const Trace &trace);

/// Of a policy by its name, as in make_policy().
ObjectLimit object_limit(std::string_view name);

/// Throws, as make_policy(), for a trace of too many objects, but needs no room for them.
void check_objects(std::string_view name, const Trace &trace);

/// Throws Failure (EINVAL) if two names, as in make_policy(), are of the same policy.
void check_each_once(std::span<const std::string> names);

/// How many of the trace's accesses hit in an empty cache.
uint64_t hits(Policy &policy, const Trace &trace);
inline uint64_t hits(std::string_view name, uint32_t capacity, const Trace &trace) {
    return hits(*make_policy(name, capacity, trace), trace);
}

// One file each.
std::unique_ptr<Policy> make_lru(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_fifo(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_clock(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_sieve(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_s3fifo(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_2q(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_arc(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_lirs(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_wtinylfu(uint32_t capacity, uint32_t window, const Trace &trace);
std::unique_ptr<Policy> make_lfu(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_ds(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_literal_001(uint32_t capacity, uint32_t threshold, const Trace &trace);
std::unique_ptr<Policy> make_adaptive_001(uint32_t capacity, uint32_t, const Trace &trace);
std::unique_ptr<Policy> make_literal_001(uint32_t capacity, uint32_t threshold, const Trace &trace,
                                         uint32_t alpha);  ///< which no name tells
std::unique_ptr<Policy> make_opt(uint32_t capacity, uint32_t, const Trace &trace);

}  // namespace ds::sim

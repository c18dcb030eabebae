// SPDX-License-Identifier: Apache-2.0
// Miss-ratio curves of LRU: the share of misses at every capacity, from one pass.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace ds::sim {

class MissRatioCurve {
public:
    /// @p hits: by stack distance, requests at that distance; @p requests: all, first ones too.
    MissRatioCurve(std::span<const uint64_t> hits, uint64_t requests);

    /// The share (0 to 1) of requests that a cache of @p entries would miss, first requests
    /// included. 1 for no entries; beyond the number of ids it falls no more.
    double at(uint64_t entries) const;

    /// Distinct ids: the capacity at which the curve ends.
    uint64_t uniques() const { return misses_.size() - 1; }

private:
    std::vector<double> misses_;  // by entries
};

/// How many requests are asked for their stack distance: a share of all, but not fewer than
/// `least`, or all if there are not so many.
struct Sampling {
    double rate = 0.01;      ///< above 0, at most 1
    uint64_t least = 65536;  ///< a standard deviation of 0.2 points at most
    uint64_t seed = 1;

    /// Of so many requests; 1 or more: of all.
    double share_of(uint64_t requests) const;
};

/// Both take dense ids, below 2^31: memory is up to 40 bytes for each id below the largest.
/// @p progress counts the requests that were looked at.
MissRatioCurve exact_mrc(std::span<const uint32_t> ids, std::atomic<uint64_t> *progress = nullptr);

/// Requests are sampled, not ids as SHARDS does (Waldspurger et al., FAST 2015). That is slower,
/// about half the exact curve's time, but what is sampled has its exact distance: hot ids and
/// loops, with which 1 % of the ids is more than ten points off somewhere, do no harm. Requests are
/// in strata by how many requests ago their id was asked for, which is known of all of them; in a
/// stratum distances differ little. First requests are not sampled but counted. Deterministic for
/// a seed.
MissRatioCurve sampled_mrc(std::span<const uint32_t> ids, const Sampling &sampling,
                           std::atomic<uint64_t> *progress = nullptr);

}  // namespace ds::sim

// SPDX-License-Identifier: Apache-2.0
// A NIC's rate of READs against the number of QPs that share it: metadata that no longer fits
// into its on-chip memory is fetched from the host again and again.
#pragma once

#include <cstdint>
#include <optional>

namespace ds::sim {

/// In which order a benchmark uses its QPs.
enum class Access : uint8_t {
    random,       ///< each time any of them
    round_robin,  ///< one after the other
};

/// A set-associative LRU cache of what the NIC must know of a QP.
struct NicCache {
    double entries;     ///< QPs that fit
    double miss_ns;     ///< to fetch what one QP needs
    unsigned ways = 8;  ///< entries in a set

    /// The share of look-ups that miss when @p qps QPs, spread over the sets by a hash, are used
    /// for ever.
    double miss_ratio(uint32_t qps, Access access) const;
};

/// READs of one size go through `parallel` equal engines. Each takes `work_ns`, and longer if a
/// cache misses. The link has its own limit, and so has one QP alone.
struct NicModel {
    double line_mpps;      ///< READs in a us that the link carries
    double qp_ns;          ///< from one READ of a QP to its next, at least
    double work_ns;        ///< of a READ whose metadata is at hand
    double parallel;       ///< READs worked on at a time
    NicCache context;      ///< QP contexts
    NicCache translation;  ///< WQEs, keys and address translation (MTT)
    Access access = Access::random;

    /// READs in a us (Mpps) with @p qps QPs, 1 or more.
    double rate(uint32_t qps) const;

    /// Likewise, if each QP only waits for itself.
    double asked_for(uint32_t qps) const;
};

constexpr uint32_t most_qps = 1 << 24;

/// The largest number of QPs that still has @p share (0 to 1) of the highest rate; none if there
/// is more than that with `most_qps`.
std::optional<uint32_t> knee(const NicModel &model, double share = 0.9);

constexpr double context_bytes = 232;  // mlx5's qpc (mlx5_ifc.h)
constexpr double token_bytes = 16;     // a narrow QP token

/// The same NIC with tokens in the bytes that held contexts of context_bytes. A miss costs what it
/// cost, and translation is as it was.
NicModel with_tokens(const NicModel &model);

}  // namespace ds::sim

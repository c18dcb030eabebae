// SPDX-License-Identifier: Apache-2.0
// The NIC model fitted to a measured curve.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ds/result.hpp>

#include "sim/nic_model.hpp"

namespace ds::sim {

struct NicPoint {
    uint32_t qps;
    double mpps;
};

struct NicCurve {
    std::vector<NicPoint> points;  ///< sorted by QPs
    std::string doubt;             ///< what makes it likely that rates come first, or empty
    bool may_be_cut = false;       ///< its last line has no end
};

/// Lines `qps,mpps`, in any order, with or without a line of names first; blank ones are skipped.
/// EINVAL with the number of the line for one that is not two numbers, for 0 or more than most_qps
/// QPs, for a rate that is not above 0, for the same QPs twice; and if there are fewer points than
/// parameters.
Result<NicCurve> parse_nic_curve(std::string_view csv);

/// Of the model that are fitted.
constexpr size_t nic_parameters = 7;

enum class NicPart : uint8_t { link, one_qp, work, contexts, translations };

struct NicFit {
    struct Error {
        uint32_t qps;
        double measured, model;  ///< Mpps
        double relative;         ///< (model - measured) / measured
    };

    NicModel model;
    std::vector<Error> errors;     ///< a point each, by QPs
    std::vector<NicPart> unseen;   ///< on what no point's rate depends: it could be otherwise
    std::vector<NicPart> stopped;  ///< as far as they can go: they would fit better beyond that
    bool one_drop;      ///< both caches are too small at once: which one it is, is not known
    double mean_error;  ///< of the absolute values of the relative ones
    double max_error;   ///< likewise
};

/// The curve tells times in proportion to each other and not in ns: with the same rates, all times
/// and `parallel` may be doubled. What sets the scale is this: a missing context costs one DMA read
/// of host memory.
constexpr double context_miss_ns = 580;

/// Fits all parameters but context.miss_ns and the ways, for the access that fits better. Nor does
/// the curve tell what a cache holds: the smaller one is taken for that of contexts, as in csRNA,
/// which has 50 to 300 contexts and 50,000 translations. No parameter goes beyond
/// what a NIC can be: the link's rate and the time of one QP are within ten times what was
/// measured, other times are 1e-3 to 1e9 ns, entries 1 to most_qps. Deterministic. Takes some
/// milliseconds a point. @p progress goes from 0 to fit_steps.
NicFit fit_nic(const std::vector<NicPoint> &points, std::atomic<uint64_t> *progress = nullptr);

/// Of a simplex each. There may be some fewer, or more, which are not counted.
constexpr uint64_t fit_steps = 60;

/// The largest number of QPs measured with at least @p share of the highest rate.
uint32_t measured_knee(const std::vector<NicPoint> &points, double share = 0.9);

}  // namespace ds::sim

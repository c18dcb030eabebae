// SPDX-License-Identifier: Apache-2.0
#include "sim/nic_model.hpp"

#include <algorithm>
#include <cmath>

namespace ds::sim {
namespace {

/// The chance that fewer than @p limit of @p qps QPs are in one set, each with chance @p p.
double fewer_than(unsigned limit, double qps, double p) {
    double term = std::exp(qps * std::log1p(-p));
    double sum = 0;

    for (unsigned i = 0; i < limit && term > 0; i++) {
        sum += term;
        term *= (qps - i) / (i + 1) * (p / (1 - p));
    }
    return std::min(sum, 1.0);
}

/// The last number of QPs that is good, if all to it are, and none beyond; @p low if none is.
template <typename IsGood>
uint32_t last_with(uint32_t low, IsGood is_good) {
    uint32_t bad = most_qps + 1;

    while (bad - low > 1) {
        uint32_t middle = low + (bad - low) / 2;
        (is_good(middle) ? low : bad) = middle;
    }
    return low;
}

}  // namespace

double NicCache::miss_ratio(uint32_t qps, Access access) const {
    double p = ways / entries;  // of a QP to be in a given set
    double others = qps - 1.0;

    if (p >= 1)  // one set
        return qps <= entries ? 0 : access == Access::round_robin ? 1 : 1 - entries / qps;
    // A QP whose set is shared by fewer than `ways` others stays. In a set of more, round robin
    // evicts each before its turn, while at random a share of ways/(others + 1) is there:
    // E[ways / (1 + B); B >= ways] is closed for a binomial B of `others` trials.
    double fits = fewer_than(ways, others, p);
    if (access == Access::round_robin)
        return 1 - fits;
    double part = ways * (1 - fewer_than(ways + 1, qps, p)) / (qps * p);
    return std::max(0.0, 1 - fits - part);
}

double NicModel::asked_for(uint32_t qps) const {
    return 1000.0 * qps / qp_ns;
}

double NicModel::rate(uint32_t qps) const {
    double work = work_ns + context.miss_ratio(qps, access) * context.miss_ns +
                  translation.miss_ratio(qps, access) * translation.miss_ns;

    return std::min({line_mpps, asked_for(qps), 1000 * parallel / work});
}

std::optional<uint32_t> knee(const NicModel &model, double share) {
    // The rate rises as long as QPs get all that they ask for, then never again.
    uint32_t top =
        last_with(1, [&](uint32_t qps) { return model.rate(qps) >= model.asked_for(qps); });
    if (top < most_qps && model.rate(top + 1) > model.rate(top))
        top++;
    double least = share * model.rate(top);
    uint32_t last = last_with(top, [&](uint32_t qps) { return model.rate(qps) >= least; });
    if (last == most_qps)
        return std::nullopt;
    return last;
}

NicModel with_tokens(const NicModel &model) {
    NicModel tokens = model;

    tokens.context.entries *= context_bytes / token_bytes;
    return tokens;
}

}  // namespace ds::sim

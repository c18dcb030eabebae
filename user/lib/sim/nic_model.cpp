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

double NicModel::rate(uint32_t qps) const {
    double work = work_ns + context.miss_ratio(qps, access) * context.miss_ns +
                  translation.miss_ratio(qps, access) * translation.miss_ns;

    return std::min({line_mpps, 1000 * qps / qp_ns, 1000 * parallel / work});
}

std::optional<uint32_t> knee(const NicModel &model, double share) {
    uint32_t low = 1;

    // The rate rises as long as QPs wait for themselves, then never again.
    while (low < most_qps && model.rate(low + 1) > model.rate(low))
        low++;
    double least = share * model.rate(low);
    uint32_t high = low;
    while (high < most_qps && model.rate(high) >= least)
        high = std::min(2 * high, most_qps);
    if (model.rate(high) >= least)
        return std::nullopt;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        (model.rate(middle) >= least ? low : high) = middle;
    }
    return low;
}

NicModel with_tokens(const NicModel &model) {
    NicModel tokens = model;

    tokens.context.entries *= context_bytes / token_bytes;
    return tokens;
}

}  // namespace ds::sim

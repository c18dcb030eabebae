// SPDX-License-Identifier: Apache-2.0
#include "sim/latency.hpp"

#include <cerrno>
#include <cmath>
#include <string>

namespace ds::sim {
namespace {

constexpr double z99 = 2.3263478740408408;  // P99 of the normal distribution

// The z that a share @p above of the normal distribution exceeds, by bisection.
double normal_above(double above) {
    double low = -10, high = 10;

    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        (std::erfc(middle / std::sqrt(2)) / 2 > above ? low : high) = middle;
    }
    return low;
}

}  // namespace

// Of the standard normal distribution. The first and the last, which are infinite, are taken from
// the middle of their part.
const std::vector<double> &Latency::normal_quantiles() {
    static const std::vector<double> quantiles = [] {
        const double part = 1.0 / double(shares), small = part * part;
        std::vector<double> z{normal_above(1 - part / 2)};
        for (uint64_t share = 1; share + 1 < shares; share++)
            z.push_back(normal_above(1 - double(share) * part));
        for (uint64_t share = 0; share < shares; share++)
            z.push_back(normal_above(double(shares - share) * small));
        z.push_back(normal_above(small / 2));
        return z;
    }();
    return quantiles;
}

Result<Latency> Latency::lognormal(uint64_t median_ns, uint64_t p99_ns) {
    if (median_ns == 0 || p99_ns < median_ns || p99_ns > most_ns ||
        p99_ns > median_ns * most_spread)
        return Error{EINVAL,
                     "no latency has a median of " + std::to_string(median_ns) + " and a P99 of " +
                         std::to_string(p99_ns) + " ns here",
                     "take 1 <= median <= P99 <= " + std::to_string(most_ns) +
                         ", the P99 at most " + std::to_string(most_spread) + " medians"};

    double sigma = std::log(double(p99_ns) / double(median_ns)) / z99;
    Quantiles values;
    for (double z : normal_quantiles())
        values.push_back(
            static_cast<uint64_t>(std::llround(double(median_ns) * std::exp(sigma * z))));
    return Latency(median_ns, std::make_shared<const Quantiles>(std::move(values)));
}

}  // namespace ds::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/percentiles.hpp"

namespace ds::sim {

uint64_t Percentiles::at(uint32_t per_100000) const {
    auto share = static_cast<unsigned __int128>(count_) * std::min<uint32_t>(per_100000, 100'000);

    return ranked(static_cast<uint64_t>((share + 99'999) / 100'000));
}

uint64_t Percentiles::quantile(double q) const {
    double exact = std::clamp(q, 0.0, 1.0) * static_cast<double>(count_);
    uint64_t rank = static_cast<uint64_t>(exact);

    return ranked(std::min(count_, rank + (static_cast<double>(rank) < exact)));
}

uint64_t Percentiles::ranked(uint64_t rank) const {
    uint64_t seen = 0;

    rank = std::max<uint64_t>(1, rank);
    for (size_t i = 0; i < counts_.size(); i++) {
        seen += counts_[i];
        if (seen >= rank)
            return std::clamp(last_of(i), min_, max_);
    }
    return 0;
}

uint64_t Percentiles::last_of(size_t bucket) {
    if (bucket >> (sub_bits + 1) == 0)
        return bucket;
    unsigned shift = static_cast<unsigned>(bucket >> sub_bits) - 1;
    uint64_t top = (bucket & ((size_t(1) << sub_bits) - 1)) + (size_t(1) << sub_bits);
    return (top << shift) + ((uint64_t(1) << shift) - 1);
}

}  // namespace ds::sim

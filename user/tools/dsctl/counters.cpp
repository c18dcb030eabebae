// SPDX-License-Identifier: Apache-2.0
#include "counters.hpp"

namespace dsctl {

Counters read_counters(Kernel &kernel) {
    Counters counters;

    for (const nl::Message &counter : kernel.dump(DS_CMD_STAT_GET, "read the counters"))
        counters.push_back(
            {{counter.get_or(attr::object, "module"), counter.get_or(attr::name, "?")},
             counter.get_or(attr::value, 0)});
    return counters;
}

std::optional<uint64_t> growth(const CounterMap &before, const CounterKey &key, uint64_t value) {
    auto old = before.find(key);

    if (old == before.end() || old->second > value)
        return std::nullopt;
    return value - old->second;
}

}  // namespace dsctl

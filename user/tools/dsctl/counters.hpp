// SPDX-License-Identifier: Apache-2.0
// Counters of ds.ko, and how fast they grow.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel.hpp"

namespace dsctl {

using CounterKey = std::pair<std::string, std::string>;  // object, counter
using Counters = std::vector<std::pair<CounterKey, uint64_t>>;
using CounterMap = std::map<CounterKey, uint64_t>;

// All counters, in the module's order.
Counters read_counters(Kernel &kernel);

// How much a counter grew; nothing for one that is new or began again.
std::optional<uint64_t> growth(const CounterMap &before, const CounterKey &key, uint64_t value);

}  // namespace dsctl

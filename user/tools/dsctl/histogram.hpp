// SPDX-License-Identifier: Apache-2.0
// Quantiles of many 64-bit values in bounded memory, at most 0.8 % above the exact ones.
#pragma once

#include "sim/percentiles.hpp"

namespace dsctl {

using Histogram = ds::sim::Percentiles;

}  // namespace dsctl

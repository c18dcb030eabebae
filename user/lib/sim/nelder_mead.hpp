// SPDX-License-Identifier: Apache-2.0
// A minimum of a function of a few variables, without derivatives.
#pragma once

#include <functional>
#include <vector>

namespace ds::sim {

using Point = std::vector<double>;

struct Minimum {
    Point at;
    double value;
};

/// The downhill simplex of Nelder and Mead (1965) from @p start, whose neighbours are @p step
/// away along each axis, until the values of the simplex differ by less than @p tolerance or
/// @p most_steps are made. Deterministic; finds the minimum next to the start.
Minimum nelder_mead(const std::function<double(const Point &)> &f, const Point &start, double step,
                    double tolerance, unsigned most_steps);

}  // namespace ds::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/nelder_mead.hpp"

#include <algorithm>

namespace ds::sim {
namespace {

using Function = std::function<double(const Point &)>;

class Simplex {
public:
    Simplex(const Function &f, const Point &start, double step) : f_(f) {
        corners_.push_back({start, f(start)});
        for (size_t axis = 0; axis < start.size(); axis++) {
            Point at = start;
            at[axis] += step;
            corners_.push_back({at, f(at)});
        }
        sort();
    }

    const Minimum &best() const { return corners_.front(); }
    double spread() const { return corners_.back().value - corners_.front().value; }

    void step() {
        const double second_worst = corners_[corners_.size() - 2].value;
        Minimum reflected = along(-1);

        if (reflected.value < best().value)
            replace(better(along(-2), reflected));
        else if (reflected.value < second_worst)
            replace(reflected);
        else
            contract(reflected);
        sort();
    }

private:
    static const Minimum &better(const Minimum &a, const Minimum &b) {
        return a.value < b.value ? a : b;
    }

    /// On the line through the worst corner (1) and the centre of the others (0).
    Minimum along(double place) const {
        const Point &worst = corners_.back().at;
        Point at(worst.size());

        for (size_t axis = 0; axis < at.size(); axis++) {
            double centre = 0;
            for (size_t i = 0; i + 1 < corners_.size(); i++)
                centre += corners_[i].at[axis];
            centre /= static_cast<double>(at.size());
            at[axis] = centre + place * (worst[axis] - centre);
        }
        return {at, f_(at)};
    }

    void contract(const Minimum &reflected) {
        Minimum inner = along(reflected.value < corners_.back().value ? -0.5 : 0.5);

        if (inner.value < std::min(reflected.value, corners_.back().value))
            replace(inner);
        else
            shrink();
    }

    void shrink() {
        for (size_t i = 1; i < corners_.size(); i++) {
            for (size_t axis = 0; axis < best().at.size(); axis++)
                corners_[i].at[axis] = (corners_[i].at[axis] + best().at[axis]) / 2;
            corners_[i].value = f_(corners_[i].at);
        }
    }

    void replace(const Minimum &corner) { corners_.back() = corner; }
    void sort() { std::ranges::stable_sort(corners_, {}, &Minimum::value); }

    const Function &f_;
    std::vector<Minimum> corners_;  // best first
};

}  // namespace

Minimum nelder_mead(const Function &f, const Point &start, double step, double tolerance,
                    unsigned most_steps) {
    Simplex simplex(f, start, step);

    for (unsigned i = 0; i < most_steps && simplex.spread() > tolerance; i++)
        simplex.step();
    return simplex.best();
}

}  // namespace ds::sim

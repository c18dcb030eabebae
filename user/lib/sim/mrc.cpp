// SPDX-License-Identifier: Apache-2.0
#include "sim/mrc.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/random.hpp"
#include "sim/reuse_distance.hpp"
#include "sim/step.hpp"

namespace ds::sim {
namespace {

// Requests whose ids were last asked for about as many requests ago, to 1/16.
constexpr unsigned sub_bits = 4;
constexpr size_t strata = size_t(65 - sub_bits) << sub_bits;

size_t stratum_of(uint64_t ago) {
    unsigned shift = std::max(static_cast<int>(std::bit_width(ago)) - 1 - int(sub_bits), 0);
    return (size_t(shift) << sub_bits) + (ago >> shift);
}

uint32_t ids_of(std::span<const uint32_t> ids) {
    return ids.empty() ? 0 : *std::ranges::max_element(ids) + 1;
}

/// Which requests of a stratum are asked for their distance: the stratum is cut into equal runs,
/// and one request of each, at random, stands for its run.
class Stratum {
public:
    void count() { size_++; }

    /// To be called when all are counted. @p number: the stratum's own, for the random numbers.
    void cut(double share, size_t number) {
        auto wanted = static_cast<uint64_t>(share * static_cast<double>(size_));

        number_ = number;
        runs_ = std::min(std::max(wanted, least_runs), size_);
    }

    /// The next request of the stratum: how many requests it stands for, mostly 0.
    uint64_t next(const Random &random) {
        if (place_ == end_) {
            end_ = end_of(run_);
            size_of_run_ = end_ - place_;
            chosen_ = place_ + random.below(size_of_run_, number_, run_++);
        }
        return place_++ == chosen_ ? size_of_run_ : 0;
    }

private:
    static constexpr uint64_t least_runs = 16;

    /// size * (run + 1) / runs, without the large product.
    uint64_t end_of(uint64_t run) const {
        return size_ / runs_ * (run + 1) + size_ % runs_ * (run + 1) / runs_;
    }

    uint64_t size_ = 0, runs_ = 0, number_ = 0;
    uint64_t place_ = 0;          // in the stratum
    uint64_t run_ = 0, end_ = 0;  // the next run, the end of this one
    uint64_t size_of_run_ = 0, chosen_ = 0;
};

/// When ids were last asked for.
class LastUse {
public:
    explicit LastUse(uint32_t ids) : last_(ids) {}

    /// How many requests ago @p id was asked for before, 0 if never.
    uint64_t ago(uint32_t id) {
        uint64_t before = std::exchange(last_[id], ++now_);
        return before ? now_ - before : 0;
    }

private:
    std::vector<uint64_t> last_;
    uint64_t now_ = 0;
};

}  // namespace

MissRatioCurve::MissRatioCurve(std::span<const uint64_t> hits, uint64_t requests) : misses_{1} {
    uint64_t left = requests;

    misses_.reserve(hits.size() + 1);
    for (uint64_t count : hits) {
        left -= count;
        misses_.push_back(static_cast<double>(left) / static_cast<double>(requests));
    }
}

double MissRatioCurve::at(uint64_t entries) const {
    return misses_[std::min<uint64_t>(entries, uniques())];
}

double Sampling::share_of(uint64_t requests) const {
    return std::max(
        rate, static_cast<double>(least) / static_cast<double>(std::max<uint64_t>(requests, 1)));
}

MissRatioCurve exact_mrc(std::span<const uint32_t> ids, std::atomic<uint64_t> *progress) {
    ReuseDistance order(ids_of(ids));
    std::vector<uint64_t> hits(ids_of(ids));

    for (Step step(progress); uint32_t id : ids) {
        step.next();
        if (order.seen(id))
            hits[order.distance(id)]++;
        order.touch(id);
    }
    return {hits, ids.size()};
}

MissRatioCurve sampled_mrc(std::span<const uint32_t> ids, const Sampling &sampling,
                           std::atomic<uint64_t> *progress) {
    const uint32_t most = ids_of(ids);
    const Random random(sampling.seed);
    double share = sampling.share_of(ids.size());
    std::vector<Stratum> part(strata);

    for (LastUse last(most); uint32_t id : ids)
        if (uint64_t ago = last.ago(id))
            part[stratum_of(ago)].count();
    for (size_t i = 0; i < strata; i++)
        part[i].cut(share, i);

    ReuseDistance order(most);
    std::vector<uint64_t> hits(most);
    Step step(progress);
    for (LastUse last(most); uint32_t id : ids) {
        step.next();
        uint64_t ago = last.ago(id);
        if (uint64_t stands_for = ago ? part[stratum_of(ago)].next(random) : 0)
            hits[order.distance(id)] += stands_for;
        order.touch(id);
    }
    return {hits, ids.size()};
}

}  // namespace ds::sim

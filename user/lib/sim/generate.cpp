// SPDX-License-Identifier: Apache-2.0
#include "sim/generate.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "sim/builder.hpp"
#include "sim/step.hpp"

namespace ds::sim {
namespace {

/// The distributions of the standard library differ between libraries; the engine does not.
class Draws {
public:
    explicit Draws(uint64_t seed) : engine_(seed) {}

    uint32_t below(uint32_t bound) {
        return static_cast<uint32_t>((engine_() >> 32) * uint64_t(bound) >> 32);
    }
    /// 0 or more, below 1.
    double share() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
    bool chance(double share) { return this->share() < share; }

private:
    std::mt19937_64 engine_;
};

/// Ranks from 0, the n-th with a weight of 1 / n^alpha.
class Zipf {
public:
    static constexpr uint64_t object_bytes = sizeof(double);

    Zipf(uint32_t count, double alpha) : sums_(count) {
        double sum = 0;
        for (uint32_t n = 0; n < count; n++)
            sums_[n] = sum += std::pow(n + 1, -alpha);
    }

    uint32_t operator()(Draws &draws) const {
        auto at = std::upper_bound(sums_.begin(), sums_.end(), draws.share() * sums_.back());
        return static_cast<uint32_t>(std::min(at, sums_.end() - 1) - sums_.begin());
    }

private:
    std::vector<double> sums_;
};

class Generator {
public:
    Generator(const Recipe &recipe, std::atomic<uint64_t> *progress)
        : recipe_(recipe),
          draws_(recipe.seed),
          builder_("generated", {.memory = recipe.memory - table_bytes(recipe)},
                   "Choose fewer requests"),
          step_(progress) {}

    void zipf() {
        Zipf rank(recipe_.objects, recipe_.alpha);
        while (left())
            add(rank(draws_));
    }

    void scan() {
        while (left())
            add(made_);
    }

    void loop() {
        while (left())
            add(made_ % recipe_.objects);
    }

    /// Each working set has as many objects, and none of them in common with another.
    void phases() {
        Zipf rank(recipe_.objects, recipe_.alpha);
        while (left()) {
            uint64_t phase = made_ * recipe_.phases / recipe_.requests;
            add(phase * recipe_.objects + rank(draws_));
        }
    }

    /// Scans over objects that nobody asks for again, each at most as long as a quarter of the
    /// others. All requests that they are due are shared out among them, one scan somewhere in each
    /// of as many equal parts of the trace.
    void mixture() {
        constexpr uint64_t usual_scans = 10;
        Zipf rank(recipe_.objects, recipe_.alpha);
        auto due = static_cast<uint64_t>(
            std::llround(recipe_.scans * static_cast<double>(recipe_.requests)));
        uint64_t longest = std::max(1u, recipe_.objects / 4), others = recipe_.requests - due;
        uint64_t scans =
            std::max((due + longest - 1) / longest, std::min<uint64_t>(due, usual_scans));
        uint64_t scanned = 0, next = recipe_.objects;

        for (uint64_t scan = 0; scan < scans; scan++) {
            double place = (static_cast<double>(scan) + draws_.share()) /
                           static_cast<double>(scans) * static_cast<double>(others);
            while (made_ - scanned < static_cast<uint64_t>(place))
                add(rank(draws_));
            for (; scanned < due * (scan + 1) / scans; scanned++)
                add(next++);
        }
        while (left())
            add(rank(draws_));
    }

    /// A request of a QP touches its own token, its CQ's, its PD's and one of its four MRs':
    /// two QPs share a CQ, four a PD, as in QP:MR:CQ:PD = 4:16:2:1.
    void fanout() {
        for (uint64_t number = 0; left(); number++) {
            uint32_t qp = recipe_.random ? draws_.below(recipe_.objects)
                                         : static_cast<uint32_t>(number % recipe_.objects);
            for (uint64_t handle : {token(3, qp), token(2, qp / 2), token(0, qp / 4),
                                    token(1, 4 * qp + draws_.below(4))})
                if (left())
                    add(handle);
        }
    }

    /// Of what is made besides the trace, which is as large from the beginning.
    static uint64_t table_bytes(const Recipe &recipe) {
        bool zipf = recipe.kind == "zipf" || recipe.kind == "phases" || recipe.kind == "mixture";
        return zipf ? recipe.objects * Zipf::object_bytes : 0;
    }

    /// That it has for sure; 0 if that is chance.
    static uint64_t objects_of(const Recipe &recipe) {
        return recipe.kind == "scan"   ? recipe.requests
               : recipe.kind == "loop" ? std::min<uint64_t>(recipe.requests, recipe.objects)
                                       : 0;
    }

    Trace finish() && { return std::move(builder_).finish(Format::ds); }

private:
    bool left() const { return made_ < recipe_.requests; }

    void add(uint64_t key) {
        bool write = recipe_.writes > 0 && draws_.chance(recipe_.writes);
        builder_.add(key, write ? Operation::write : Operation::read);
        made_++;
        step_.next();
    }

    /// As a handle is: two bits of type, eight of generation, the index.
    static uint64_t token(uint32_t type, uint32_t index) { return uint64_t(type) << 30 | index; }

    const Recipe &recipe_;
    Draws draws_;
    Builder builder_;
    Step step_;
    uint64_t made_ = 0;
};

struct Maker {
    std::string_view kind;
    void (Generator::*make)();
};
constexpr Maker makers[] = {
    {"zipf", &Generator::zipf},       {"scan", &Generator::scan},
    {"loop", &Generator::loop},       {"phases", &Generator::phases},
    {"mixture", &Generator::mixture}, {"fanout", &Generator::fanout},
};

// The names are those of dsctl's options.
void require(bool right, const std::string &sentence) {
    if (!right)
        throw Failure({EINVAL, sentence, "Choose a number in this range.", false});
}

void check(const Recipe &r) {
    constexpr uint64_t most_qps = 1 << 20;  // four MRs of a QP then have 22 bits
    constexpr uint64_t most_handles = uint64_t(1) << 32;

    require(r.requests >= 1 && r.requests <= most_requests, "--requests is 1 to 1073741824.");
    require(r.objects >= 1 && r.objects <= (r.kind == "fanout" ? most_qps : most_requests),
            r.kind == "fanout" ? "--objects of the kind 'fanout' is 1 to 1048576."
                               : "--objects is 1 to 1073741824.");
    require(r.alpha >= 0 && r.alpha <= 10, "--alpha is 0 to 10.");
    require(r.phases >= 1 && r.phases <= 1000, "--phases is 1 to 1000.");
    require(r.scans >= 0 && r.scans < 1, "--scans is 0 to 99 percent.");
    require(r.writes >= 0 && r.writes <= 1, "--writes is 0 to 100 percent.");
    if (r.kind == "phases" && uint64_t(r.objects) * r.phases > most_handles)
        throw Failure({EINVAL,
                       "The phases have more than 2^32 objects: each has those of --objects.",
                       "Choose fewer objects, or fewer phases.", false});
    if (uint64_t needed = Generator::table_bytes(r); needed > r.memory)
        throw Failure({ENOMEM,
                       "The shares of " + std::to_string(r.objects) + " objects need " +
                           std::to_string(needed >> 20) + " MiB of memory, and " +
                           std::to_string(r.memory >> 20) + " MiB are free.",
                       "Choose at most " + std::to_string(r.memory / Zipf::object_bytes) +
                           " objects, or use a machine with more memory.",
                       false});
    if (uint64_t needed = Generator::table_bytes(r) + Builder::request_bytes * r.requests +
                          Builder::object_bytes * Generator::objects_of(r);
        needed > r.memory)
        throw Failure({ENOMEM,
                       std::to_string(r.requests) + " requests need " +
                           std::to_string(needed >> 20) + " MiB of memory, and " +
                           std::to_string(r.memory >> 20) + " MiB are free.",
                       "Choose fewer requests, or use a machine with more memory.", false});
}

/// "zipf, scan, ... or fanout".
std::string kind_names() {
    std::string names;

    for (const Maker &maker : makers) {
        bool is_last = &maker == std::end(makers) - 1;
        names += (names.empty() ? "" : is_last ? " or " : ", ") + std::string(maker.kind);
    }
    return names;
}

}  // namespace

std::vector<std::string_view> recipe_kinds() {
    std::vector<std::string_view> kinds;

    for (const Maker &maker : makers)
        kinds.push_back(maker.kind);
    return kinds;
}

Trace generate(const Recipe &recipe, std::atomic<uint64_t> *progress) {
    check(recipe);
    for (const Maker &maker : makers) {
        if (maker.kind != recipe.kind)
            continue;
        Generator generator(recipe, progress);
        (generator.*maker.make)();
        return std::move(generator).finish();
    }
    throw Failure({EINVAL, "There is no kind '" + recipe.kind + "' of traces.",
                   "Choose " + kind_names() + ".", false});
}

}  // namespace ds::sim

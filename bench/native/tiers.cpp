// SPDX-License-Identifier: Apache-2.0
//
// How long the simulation of three tiers takes beside LRU as a program would write it for the
// numbers of which the trace's file consists: std::list and std::unordered_map. (The simulator
// itself numbers objects from 0 when it reads a trace, and has an array; see dsctl sim run
// --timing.) A line of JSON, seconds of this thread's processor time in each round.
//
//   tiers TRACE POLICY ROUNDS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/policy.hpp"
#include "sim/run.hpp"
#include "sim/trace.hpp"

namespace {

using ds::sim::Trace;

class Lru {
public:
    explicit Lru(size_t capacity) : capacity_(capacity) { places_.reserve(capacity); }

    bool access(uint64_t key) {
        auto found = places_.find(key);
        if (found != places_.end()) {
            order_.splice(order_.begin(), order_, found->second);
            return true;
        }
        if (places_.size() == capacity_) {
            places_.erase(order_.back());
            order_.pop_back();
        }
        order_.push_front(key);
        places_.emplace(key, order_.begin());
        return false;
    }

private:
    size_t capacity_;
    std::list<uint64_t> order_;  // the one who was used last is the first
    std::unordered_map<uint64_t, std::list<uint64_t>::iterator> places_;
};

uint64_t lru_hits(const Trace &trace, uint32_t capacity) {
    Lru lru(capacity);
    uint64_t hits = 0;

    for (ds::sim::Request request : trace.requests)
        if (request.access())
            hits += lru.access(trace.keys[request.id]);
    return hits;
}

double processor_seconds() {
    timespec time{};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void print(const char *name, const std::vector<double> &seconds, const char *end) {
    std::printf("\"%s\": [", name);
    for (size_t i = 0; i < seconds.size(); i++)
        std::printf("%s%.6f", i ? ", " : "", seconds[i]);
    std::printf("]%s", end);
}

int measure(const Trace &trace, const ds::sim::RunOptions &options, int rounds) {
    const uint64_t hits = ds::sim::hits("lru", options.l1, trace);
    std::vector<double> run_s, lru_s;

    for (int round = 0; round < rounds; round++) {
        double start = processor_seconds();
        bool right = lru_hits(trace, options.l1) == hits;
        double middle = processor_seconds();
        ds::sim::run(trace, options);
        double end = processor_seconds();
        if (!right) {
            std::fputs("tiers: the two kinds of LRU do not hit alike\n", stderr);
            return 1;
        }
        lru_s.push_back(middle - start);
        run_s.push_back(end - middle);
    }
    std::printf("{");
    print("run_s", run_s, ", ");
    print("lru_s", lru_s, "}\n");
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    const int rounds = argc == 4 ? std::atoi(argv[3]) : 0;

    if (rounds < 1) {
        std::fputs("usage: tiers TRACE POLICY ROUNDS\n", stderr);
        return 1;
    }
    try {
        ds::sim::RunOptions options;
        options.policy = argv[2];
        return measure(ds::sim::read_trace(argv[1]), options, rounds);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "tiers: %s\n", error.what());
        return 1;
    }
}

// SPDX-License-Identifier: Apache-2.0
// Random numbers that are a function of where they are used, not of how many were drawn before:
// the same for any number of threads and any order of work.
#pragma once

#include <cstdint>

namespace ds::sim {

class Random {
public:
    explicit Random(uint64_t seed) : key_(mix(seed)) {}

    /// 64 random bits, the same each time for the same (seed, stream, place).
    uint64_t bits(uint64_t stream, uint64_t place) const {
        return this->stream(stream).bits(place);
    }

    /// The numbers of one stream, in which a place takes half the time.
    class Stream {
    public:
        uint64_t bits(uint64_t place) const { return mix(key_ + place); }

    private:
        friend class Random;
        explicit Stream(uint64_t key) : key_(key) {}

        uint64_t key_;
    };
    Stream stream(uint64_t number) const { return Stream(mix(key_ + number)); }

    /// Uniform in [0, limit), 0 if there is no limit.
    uint64_t below(uint64_t limit, uint64_t stream, uint64_t place) const {
        auto product = static_cast<unsigned __int128>(bits(stream, place)) * limit;
        return static_cast<uint64_t>(product >> 64);
    }

private:
    // The output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    static uint64_t mix(uint64_t z) {
        z += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    uint64_t key_;
};

}  // namespace ds::sim

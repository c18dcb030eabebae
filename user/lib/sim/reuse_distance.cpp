// SPDX-License-Identifier: Apache-2.0
#include "sim/reuse_distance.hpp"

#include <algorithm>
#include <bit>

namespace ds::sim {
namespace {

// Times in a word, a block, a group, as powers of two.
constexpr unsigned word_bits = 6, block_bits = 9, group_bits = 16;

constexpr size_t parts(size_t times, unsigned bits) {
    return (times >> bits) + 1;
}

// The first time of the part that follows the one with @p time in it.
constexpr size_t next(size_t time, unsigned bits) {
    return ((time >> bits) + 1) << bits;
}

}  // namespace

// Twice as many times as ids: renumbering, linear in the ids, is then paid for by as many touches.
ReuseDistance::ReuseDistance(uint32_t ids)
    : last_(ids),
      owner_(2 * size_t(ids) + 1),
      bits_(parts(owner_.size(), word_bits)),
      blocks_(parts(owner_.size(), block_bits)),
      groups_(parts(owner_.size(), group_bits)) {}

uint32_t ReuseDistance::distance(uint32_t id) const {
    size_t time = last_[id];
    size_t words_end = std::min(next(time, block_bits), next(now_, word_bits)) >> word_bits;
    size_t blocks_end = std::min(next(time, group_bits), next(now_, block_bits)) >> block_bits;
    uint32_t sum = 0;

    // Shifted twice, because 64 at once is undefined.
    sum += std::popcount(bits_[time >> word_bits] >> (time & 63) >> 1);
    for (size_t word = (time >> word_bits) + 1; word < words_end; word++)
        sum += std::popcount(bits_[word]);
    for (size_t block = (time >> block_bits) + 1; block < blocks_end; block++)
        sum += blocks_[block];
    for (size_t group = (time >> group_bits) + 1; group <= now_ >> group_bits; group++)
        sum += groups_[group];
    return sum;
}

void ReuseDistance::touch(uint32_t id) {
    if (now_ + size_t(1) == owner_.size())
        renumber();
    if (last_[id])
        clear(last_[id]);
    last_[id] = ++now_;
    owner_[now_] = id;
    mark(now_);
}

void ReuseDistance::mark(uint32_t time) {
    bits_[time >> word_bits] |= uint64_t(1) << (time & 63);
    blocks_[time >> block_bits]++;
    groups_[time >> group_bits]++;
}

void ReuseDistance::clear(uint32_t time) {
    bits_[time >> word_bits] &= ~(uint64_t(1) << (time & 63));
    blocks_[time >> block_bits]--;
    groups_[time >> group_bits]--;
}

// Keeps the order of last uses, without the gaps.
void ReuseDistance::renumber() {
    uint32_t live = 0;

    for (uint32_t time = 1; time <= now_; time++) {
        uint32_t id = owner_[time];
        if (last_[id] != time)
            continue;
        last_[id] = ++live;
        owner_[live] = id;
    }
    std::ranges::fill(bits_, 0);
    std::ranges::fill(blocks_, 0);
    std::ranges::fill(groups_, 0);
    now_ = live;
    for (uint32_t time = 1; time <= live; time++)
        mark(time);
}

}  // namespace ds::sim

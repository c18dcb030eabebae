// SPDX-License-Identifier: Apache-2.0
// What is to happen in virtual time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace ds::sim {

/// Events in the order of their times; of equal times, in the order in which they were added.
/// Mostly a handful is to happen, and most are added among the next ones: these are kept sorted,
/// and what is behind them in a heap, so that it does not matter if there are a million.
class Agenda {
public:
    struct Event {
        uint64_t time;
        uint64_t order;
        uint32_t what;

        bool operator>(const Event &other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    bool empty() const { return soon_count_ == 0; }
    /// Is the next one to have happened at @p now?
    bool due(uint64_t now) const { return !empty() && soon_[soon_count_ - 1].time <= now; }

    void add(uint64_t time, uint32_t what) {
        Event event{time, added_++, what};

        if (!later_.empty() && time >= later_.front().time)
            postpone(event);
        else if (soon_count_ < soon_.size())
            insert(event);
        else
            add_to_many(event);
    }

    /// The next one, which must be there.
    Event take() {
        Event event = soon_[--soon_count_];

        if (soon_count_ == 0 && !later_.empty()) [[unlikely]]
            approach();
        return event;
    }

private:
    static constexpr size_t soon_most = 32;

    void insert(Event event) {
        size_t place = soon_count_++;

        for (; place > 0 && soon_[place - 1].time <= event.time; place--)
            soon_[place] = soon_[place - 1];
        soon_[place] = event;
    }

    void postpone(Event event) {
        later_.push_back(event);
        std::ranges::push_heap(later_, std::greater());
    }

    /// Room is made for many at once.
    void add_to_many(Event event) {
        constexpr size_t half = soon_most / 2;

        std::for_each_n(soon_.begin(), half, [this](const Event &last) { postpone(last); });
        std::copy(soon_.begin() + half, soon_.end(), soon_.begin());
        soon_count_ -= half;
        if (event.time >= later_.front().time)
            postpone(event);
        else
            insert(event);
    }

    void approach() {
        soon_count_ = std::min(later_.size(), soon_most / 2);
        for (size_t place = soon_count_; place-- > 0;) {
            soon_[place] = later_.front();
            std::ranges::pop_heap(later_, std::greater());
            later_.pop_back();
        }
    }

    std::array<Event, soon_most> soon_;  // the next one is the last
    size_t soon_count_ = 0;              // 0 only if there are none later
    std::vector<Event> later_;           // a heap
    uint64_t added_ = 0;
};

}  // namespace ds::sim

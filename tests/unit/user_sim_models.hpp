// SPDX-License-Identifier: Apache-2.0
// Slow models of the reference policies, written as their papers read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/sketch.hpp"

namespace simtest {

using ds::sim::Sketch;
using Ids = std::list<uint32_t>;  // the newest first

inline bool in(const Ids &list, uint32_t id) {
    return std::find(list.begin(), list.end(), id) != list.end();
}
inline uint32_t take_last(Ids &list) {
    uint32_t id = list.back();
    list.pop_back();
    return id;
}
inline void renew(Ids &list, uint32_t id) {
    list.remove(id);
    list.push_front(id);
}

struct Model {
    explicit Model(size_t capacity) : capacity(capacity) {}
    virtual ~Model() = default;
    virtual bool access(uint32_t id) = 0;

    const size_t capacity;
};

struct LruModel : Model {
    using Model::Model;
    Ids all;

    bool access(uint32_t id) override {
        bool hit = in(all, id);
        renew(all, id);
        if (all.size() > capacity)
            all.pop_back();
        return hit;
    }
};

struct FifoModel : Model {
    using Model::Model;
    Ids all;

    bool access(uint32_t id) override {
        if (in(all, id))
            return true;
        all.push_front(id);
        if (all.size() > capacity)
            all.pop_back();
        return false;
    }
};

/// A ring of places and a hand, as a clock is drawn.
struct ClockModel : Model {
    using Model::Model;
    struct Place {
        uint32_t id;
        bool used;
    };
    std::vector<Place> ring;
    size_t hand = 0;

    bool access(uint32_t id) override {
        for (Place &place : ring)
            if (place.id == id)
                return place.used = true;
        if (ring.size() < capacity) {
            ring.push_back({id, false});
            return false;
        }
        for (; ring[hand].used; hand = (hand + 1) % capacity)
            ring[hand].used = false;
        ring[hand] = {id, false};
        hand = (hand + 1) % capacity;
        return false;
    }
};

struct SieveModel : Model {
    using Model::Model;
    Ids all;
    std::set<uint32_t> used;
    Ids::iterator hand = all.end();  // all.end(): begin at the tail

    bool access(uint32_t id) override {
        if (in(all, id)) {
            used.insert(id);
            return true;
        }
        if (all.size() == capacity) {
            if (hand == all.end())
                hand = std::prev(all.end());
            while (used.erase(*hand))
                hand = hand == all.begin() ? std::prev(all.end()) : std::prev(hand);
            auto victim = hand;
            hand = hand == all.begin() ? all.end() : std::prev(hand);
            all.erase(victim);
        }
        all.push_front(id);
        return false;
    }
};

struct S3FifoModel : Model {
    explicit S3FifoModel(size_t capacity)
        : Model(capacity), small_size(std::max<size_t>(1, capacity / 10)) {}
    const size_t small_size;
    Ids small, main, ghost;
    std::map<uint32_t, int> freq;

    bool access(uint32_t id) override {
        if (in(small, id) || in(main, id)) {
            freq[id] = std::min(freq[id] + 1, 3);
            return true;
        }
        while (small.size() + main.size() >= capacity)
            if (small.size() >= small_size || main.empty())
                evict_small();
            else
                evict_main();
        (in(ghost, id) ? main : small).push_front(id);
        ghost.remove(id);
        freq[id] = 0;
        return false;
    }
    void evict_small() {
        for (bool evicted = false; !evicted && !small.empty();) {
            uint32_t id = take_last(small);
            if (freq[id] > 1) {
                freq[id] = 0;
                main.push_front(id);
                continue;
            }
            ghost.push_front(id);
            if (ghost.size() > capacity - small_size)
                ghost.pop_back();
            evicted = true;
        }
    }
    void evict_main() {
        for (;;) {
            uint32_t id = take_last(main);
            if (freq[id]-- == 0)
                return;
            main.push_front(id);
        }
    }
};

struct TwoQModel : Model {
    using Model::Model;
    Ids a1in, a1out, am;

    bool access(uint32_t id) override {
        if (in(am, id)) {
            renew(am, id);
            return true;
        }
        if (in(a1in, id))
            return true;
        // It keeps its place in A1out until there is room for it.
        bool remembered = in(a1out, id);
        if (a1in.size() + am.size() == capacity) {
            if (a1in.size() > capacity / 4) {
                a1out.push_front(take_last(a1in));
                if (a1out.size() > capacity / 2)
                    a1out.pop_back();
            } else {
                am.pop_back();
            }
        }
        a1out.remove(id);
        (remembered ? am : a1in).push_front(id);
        return false;
    }
};

struct ArcModel : Model {
    using Model::Model;
    Ids t1, t2, b1, b2;
    double p = 0;

    void replace(bool of_b2) {
        auto once = static_cast<double>(t1.size());

        if (once > 0 && (once > p || (of_b2 && once == p)))
            b1.push_front(take_last(t1));
        else
            b2.push_front(take_last(t2));
    }
    bool access(uint32_t id) override {
        if (in(t1, id) || in(t2, id)) {
            t1.remove(id);
            renew(t2, id);
            return true;
        }
        if (in(b1, id)) {
            p = std::min<double>(capacity, p + std::max(1.0, 1.0 * b2.size() / b1.size()));
            replace(false);
            b1.remove(id);
            t2.push_front(id);
        } else if (in(b2, id)) {
            p = std::max(0.0, p - std::max(1.0, 1.0 * b1.size() / b2.size()));
            replace(true);
            b2.remove(id);
            t2.push_front(id);
        } else {
            if (t1.size() + b1.size() == capacity) {
                if (t1.size() < capacity) {
                    b1.pop_back();
                    replace(false);
                } else {
                    t1.pop_back();
                }
            } else if (t1.size() + t2.size() + b1.size() + b2.size() >= capacity) {
                if (t1.size() + t2.size() + b1.size() + b2.size() == 2 * capacity)
                    b2.pop_back();
                replace(false);
            }
            t1.push_front(id);
        }
        return false;
    }
};

struct LirsModel : Model {
    explicit LirsModel(size_t capacity)
        : Model(capacity), most_lir(capacity - std::max<size_t>(1, capacity / 100)) {}
    const size_t most_lir;
    Ids stack;   // LIR, and HIR resident or not
    Ids queue;   // resident HIR
    Ids ghosts;  // HIR that are not resident, in the order in which they left
    std::set<uint32_t> lir;

    bool access(uint32_t id) override {
        bool near = in(stack, id), hit = lir.count(id) || in(queue, id);
        if (!hit && !lir.count(id) && lir.size() < most_lir && queue.empty()) {
            lir.insert(id);
            ghosts.remove(id);
        } else if (!lir.count(id)) {
            if (!hit && lir.size() + queue.size() == capacity)
                evict();
            queue.remove(id);
            ghosts.remove(id);
            if (near)
                lir.insert(id);
            else
                queue.push_front(id);
        }
        renew(stack, id);
        prune();
        if (lir.size() > most_lir) {
            uint32_t demoted = take_last(stack);
            lir.erase(demoted);
            queue.push_front(demoted);
            prune();
        }
        return hit;
    }
    void evict() {
        uint32_t id = take_last(queue);
        if (!in(stack, id))
            return;
        ghosts.push_front(id);
        if (ghosts.size() > 2 * capacity)
            stack.remove(take_last(ghosts));
    }
    void prune() {
        while (!stack.empty() && !lir.count(stack.back()))
            ghosts.remove(take_last(stack));
    }
};

struct WTinyLfuModel : Model {
    WTinyLfuModel(size_t capacity, size_t percent)
        : Model(capacity),
          window_size(std::max<size_t>(1, capacity * percent / 100)),
          sketch(static_cast<uint32_t>(capacity)) {}
    const size_t window_size;
    Sketch sketch;
    Ids window, probation, guarded;

    bool access(uint32_t id) override {
        sketch.add(id);
        if (in(window, id)) {
            renew(window, id);
            return true;
        }
        if (in(guarded, id) || in(probation, id)) {
            probation.remove(id);
            renew(guarded, id);
            if (guarded.size() > (capacity - window_size) * 8 / 10)
                probation.push_front(take_last(guarded));
            return true;
        }
        window.push_front(id);
        if (window.size() > window_size)
            probation.push_front(take_last(window));
        if (window.size() + probation.size() + guarded.size() > capacity)
            compete();
        return false;
    }
    /// The newcomer of probation against the oldest there, or else of the guarded ones.
    void compete() {
        uint32_t newcomer = probation.front();
        Ids &from = probation.size() > 1 || guarded.empty() ? probation : guarded;
        bool wins = from.back() != newcomer && sketch.count(newcomer) > sketch.count(from.back());
        if (wins)
            from.pop_back();
        else
            probation.pop_front();
    }
};

struct LfuModel : Model {
    using Model::Model;
    struct Entry {
        int uses;
        uint64_t last;
    };
    std::map<uint32_t, Entry> all;
    uint64_t now = 0;

    bool access(uint32_t id) override {
        if (++now % (10 * capacity) == 0)
            for (auto &[other, entry] : all)
                entry.uses /= 2;
        bool hit = all.count(id);
        if (!hit && all.size() == capacity)
            all.erase(std::min_element(all.begin(), all.end(), [](const auto &a, const auto &b) {
                return std::pair(a.second.uses, a.second.last) <
                       std::pair(b.second.uses, b.second.last);
            }));
        all[id] = {hit ? std::min(all[id].uses + 1, 255) : 1, now};
        return hit;
    }
};

}  // namespace simtest

// SPDX-License-Identifier: Apache-2.0
// Each reference policy beside a slow model that is written as its paper reads; OPT beside all
// that could have been done.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>
#include <list>
#include <map>
#include <random>
#include <set>

#include "sim/compare.hpp"
#include "sim/sketch.hpp"
#include "user_sim.hpp"

namespace {

using namespace simtest;

using Ids = std::list<uint32_t>;  // the newest first

bool in(const Ids &list, uint32_t id) {
    return std::find(list.begin(), list.end(), id) != list.end();
}
uint32_t take_last(Ids &list) {
    uint32_t id = list.back();
    list.pop_back();
    return id;
}
void renew(Ids &list, uint32_t id) {
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
    size_t p = 0;

    void replace(bool of_b2) {
        if (!t1.empty() && (t1.size() > p || (of_b2 && t1.size() == p)))
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
            p = std::min(capacity, p + std::max<size_t>(1, b2.size() / b1.size()));
            replace(false);
            b1.remove(id);
            t2.push_front(id);
        } else if (in(b2, id)) {
            size_t less = std::max<size_t>(1, b1.size() / b2.size());
            p = p > less ? p - less : 0;
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

using Make = std::function<std::unique_ptr<Model>(size_t capacity)>;

template <class M>
std::unique_ptr<Model> plain(size_t capacity) {
    return std::make_unique<M>(capacity);
}

std::unique_ptr<Model> with_window(size_t capacity, size_t percent) {
    return std::make_unique<WTinyLfuModel>(capacity, percent);
}

const std::pair<const char *, Make> models[] = {
    {"lru", plain<LruModel>},
    {"fifo", plain<FifoModel>},
    {"clock", plain<ClockModel>},
    {"sieve", plain<SieveModel>},
    {"s3-fifo", plain<S3FifoModel>},
    {"2q", plain<TwoQModel>},
    {"arc", plain<ArcModel>},
    {"lirs", plain<LirsModel>},
    {"w-tinylfu", [](size_t c) { return with_window(c, 20); }},
    {"w-tinylfu:1", [](size_t c) { return with_window(c, 1); }},
    {"w-tinylfu:50", [](size_t c) { return with_window(c, 50); }},
    {"w-tinylfu:99", [](size_t c) { return with_window(c, 99); }},
    {"lfu", plain<LfuModel>},
};

/// Few objects more often than others, loops and scans, in turn.
std::vector<uint32_t> random_ids(std::mt19937 &random, uint32_t objects, size_t count) {
    std::vector<uint32_t> ids;

    while (ids.size() < count) {
        uint32_t kind = random() % 4, begin = random() % objects, length = 1 + random() % 60;
        for (uint32_t i = 0; i < length; i++) {
            uint32_t far = random() % objects;
            ids.push_back(kind == 0   ? far
                          : kind == 1 ? (begin + i) % objects
                          : kind == 2 ? (begin + i % 7) % objects
                                      : far % (1 + random() % objects));
        }
    }
    return ids;
}

void names(void **) {
    Trace trace = trace_of({1});
    auto refused = [&](const char *name, uint32_t capacity = 1) {
        auto error = error_of([&] { make_policy(name, capacity, trace); });
        return error.code == EINVAL && !error.remedy.empty();
    };

    for (const char *name : {"", "LRU", "lru:", "lru:5", "w-tinylfu:", "w-tinylfu:0",
                             "w-tinylfu:100", "w-tinylfu:1x", "w-tinylfu:-1", "opt:1", ":"})
        assert_true(refused(name));
    assert_true(refused("lru", 0));
    for (const PolicyKind &kind : policies())
        assert_false(make_policy(kind.name, 1, trace)->access(0));
}

void each_does_what_its_model_does(void **) {
    for (const auto &[name, make] : models) {
        std::mt19937 random(1);
        for (int round = 0; round < 60; round++) {
            uint32_t objects = 2 + random() % (round % 2 ? 300 : 40);
            uint32_t capacity = 1 + random() % (round % 3 ? 20 : 150);
            Trace trace = trace_of(random_ids(random, objects, 3000));
            auto policy = make_policy(name, capacity, trace);
            auto model = make(capacity);
            for (size_t i = 0; i < trace.requests.size(); i++) {
                uint32_t id = trace.requests[i].id;
                if (policy->access(id) != model->access(id))
                    fail_msg("%s differs from its model: round %d, capacity %u, access %zu", name,
                             round, capacity, i);
            }
        }
    }
}

void what_fits_is_missed_once(void **) {
    std::mt19937 random(2);
    Trace trace = trace_of(random_ids(random, 100, 5000));
    std::set<uint32_t> seen;

    for (Request r : trace.requests)
        seen.insert(r.id);
    uint64_t most = trace.requests.size() - seen.size();
    for (const PolicyKind &kind : policies())
        assert_int_equal(hits(kind.name, 100, trace), most);
}

void ends_of_a_life_are_no_accesses(void **) {
    Trace trace = trace_of({0, 0, 0, 0});

    trace.requests[0].op = Operation::create;
    trace.requests[2].op = Operation::write;
    trace.requests[3].op = Operation::free;
    for (const PolicyKind &kind : policies())
        assert_int_equal(hits(kind.name, 1, trace), 1);
}

/// The most hits that any choice of what to keep gives, for up to 8 objects.
uint64_t most_hits(const Trace &trace, int capacity) {
    std::map<unsigned, uint64_t> states{{0, 0}};  // objects kept: hits

    for (Request r : trace.requests) {
        std::map<unsigned, uint64_t> next;
        for (auto [kept, count] : states) {
            unsigned wanted = kept | 1u << r.id;
            uint64_t more = count + (kept >> r.id & 1);
            for (unsigned subset = wanted;; subset = (subset - 1) & wanted) {
                if (__builtin_popcount(subset) <= capacity)
                    next[subset] = std::max(next[subset], more);
                if (subset == 0)
                    break;
            }
        }
        states = std::move(next);
    }
    uint64_t most = 0;
    for (auto [kept, count] : states)
        most = std::max(most, count);
    return most;
}

void opt_is_the_most_there_is(void **) {
    std::mt19937 random(3);

    for (int round = 0; round < 150; round++) {
        int capacity = 1 + static_cast<int>(random() % 4);
        Trace trace = trace_of(random_ids(random, 2 + random() % 6, 40));
        assert_int_equal(hits("opt", static_cast<uint32_t>(capacity), trace),
                         most_hits(trace, capacity));
    }
}

void nobody_beats_opt(void **) {
    std::mt19937 random(4);

    for (int round = 0; round < 30; round++) {
        Trace trace = trace_of(random_ids(random, 20 + random() % 300, 5000));
        uint32_t capacity = 1 + random() % 100;
        uint64_t most = hits("opt", capacity, trace);
        for (const auto &[name, make] : models)
            assert_true(hits(name, capacity, trace) <= most);
    }
}

void a_sketch_never_forgets_too_much(void **) {
    std::mt19937 random(5);
    Sketch sketch(1000);
    std::map<uint32_t, uint32_t> exact;
    uint32_t too_high = 0;

    for (int i = 0; i < 4000; i++) {
        uint32_t id = random() % 500;
        sketch.add(id);
        exact[id] = std::min(15u, exact[id] + 1);
    }
    for (auto [id, count] : exact) {
        assert_true(sketch.count(id) >= count);
        too_high += sketch.count(id) > count;
    }
    assert_true(too_high < 25);
    // All is halved after ten times its entries.
    Sketch few(1);
    for (int i = 0; i < 9; i++)
        few.add(7);
    assert_int_equal(few.count(7), 9);
    few.add(7);
    assert_int_equal(few.count(7), 5);
}

void comparisons(void **) {
    std::mt19937 random(6);
    std::vector<Trace> traces;
    std::vector<std::string> names{"fifo", "lru", "opt", "s3-fifo", "lru"};
    const uint32_t capacities[] = {10, 51, 100};

    for (uint32_t objects : {100, 200})
        traces.push_back(trace_of(random_ids(random, objects, 1900)));
    std::atomic<uint64_t> progress = 0;
    Comparison one = compare(traces, capacities, names, 1, &progress);
    assert_int_equal(progress, 2 * 3 * 5);
    for (unsigned threads : {2, 3, 64}) {
        Comparison other = compare(traces, capacities, names, threads);
        for (size_t i = 0; i < one.cells.size(); i++) {
            assert_true(one.cells[i].hits == other.cells[i].hits);
            assert_true(one.cells[i].ranks == other.cells[i].ranks);
        }
        assert_true(one.mean_ranks == other.mean_ranks);
    }

    assert_int_equal(one.cells.size(), 6);
    double sum = 0, ranked = 0;
    for (size_t i = 0; i < 6; i++) {
        const Cell &cell = one.cells[i];
        uint32_t capacity = capacities[i % 3];
        assert_true(cell.trace == i / 3 && cell.capacity == capacity);
        assert_true(cell.ranked == (2 * capacity <= traces[cell.trace].uniques &&
                                    20 * capacity <= traces[cell.trace].requests.size()));
        for (size_t p = 0; p < names.size(); p++)
            assert_int_equal(cell.hits[p], hits(names[p], capacity, traces[cell.trace]));
        // Both LRUs share their rank; OPT has none, and the others 1 to 4.
        assert_true(cell.ranks[1] == cell.ranks[4] && !cell.ranks[2]);
        assert_true(*cell.ranks[0] + *cell.ranks[1] + *cell.ranks[3] + *cell.ranks[4] == 10);
        assert_true(cell.best != 2 && cell.best != 4);
        for (size_t p : {0, 1, 3})
            assert_true(cell.hits[p] <= cell.hits[cell.best]);
        sum += cell.ranked ? *cell.ranks[0] : 0;
        ranked += cell.ranked;
    }
    assert_true(ranked >= 2 && ranked < 6);
    assert_true(std::abs(*one.mean_ranks[0] - sum / ranked) < 1e-9);
    assert_false(one.mean_ranks[2].has_value());

    const std::string opt[] = {"opt"}, wrong[] = {"lru", "frob"};
    assert_int_equal(compare(traces, capacities, opt, 2).cells[0].best, 0);
    assert_int_equal(error_of([&] { compare(traces, capacities, wrong, 2); }).code, EINVAL);
    const uint32_t none[] = {0};
    assert_int_equal(error_of([&] { compare(traces, none, names, 2); }).code, EINVAL);
}

/// Hit ratios that another implementation had on the same files.
void real_traces(void **) {
    const char *const columns[] = {"lru",  "sieve",       "s3-fifo",   "2q",           "arc",
                                   "lirs", "w-tinylfu:1", "w-tinylfu", "w-tinylfu:50", "opt"};
    struct {
        const char *name;
        uint32_t capacity;
        double ratio[10];
    } const known[] = {
        {"OLTP.lis.zst", 512, {.237, .209, .330, .336, .308, .272, .293, .345, .338, .467}},
        {"OLTP.lis.zst", 2048, {.428, .410, .472, .467, .463, .428, .423, .472, .469, .606}},
        {"OLTP.lis.zst", 8192, {.589, .581, .608, .607, .596, .581, .576, .604, .612, .717}},
        {"multi3.trace.gz", 512, {.328, .332, .378, .360, .364, .455, .425, .398, .365, .491}},
        {"multi3.trace.gz", 2048, {.446, .467, .551, .534, .467, .628, .608, .590, .535, .691}},
        {"web12.trace.xz", 512, {.561, .597, .611, .598, .587, .567, .579, .614, .603, .720}},
        {"web12.trace.xz", 2048, {.728, .752, .757, .748, .747, .743, .740, .755, .749, .825}},
        {"scarab-recs.trace.xz",
         2048,
         {.327, .392, .410, .408, .391, .380, .389, .412, .397, .512}},
        {"scarab-recs.trace.xz",
         8192,
         {.464, .498, .517, .510, .504, .501, .503, .512, .504, .645}},
        {"orm-busy.trace.xz", 2048, {.815, .802, .820, .824, .816, .785, .722, .809, .824, .874}},
    };

    if (real_trace("OLTP.lis.zst").empty()) {
        print_message("DS_TRACES is not the folder of the traces: skipped\n");
        skip();
    }
    std::string file;
    Trace trace;
    for (const auto &row : known) {
        if (file != row.name)
            trace = read_trace(real_trace(file = row.name));
        for (size_t i = 0; i < std::size(columns); i++) {
            double ratio = static_cast<double>(hits(columns[i], row.capacity, trace)) /
                           static_cast<double>(trace.accesses());
            // Those with a sketch depend on its hash, and ARC and LIRS have choices of detail.
            bool exact = i < 4 || i == 9;
            if (std::abs(ratio - row.ratio[i]) > (exact ? 0.001 : 0.01))
                fail_msg("%s at %u: %s has %.4f, not %.3f", row.name, row.capacity, columns[i],
                         ratio, row.ratio[i]);
        }
    }
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(each_does_what_its_model_does),
        cmocka_unit_test(what_fits_is_missed_once),
        cmocka_unit_test(ends_of_a_life_are_no_accesses),
        cmocka_unit_test(opt_is_the_most_there_is),
        cmocka_unit_test(nobody_beats_opt),
        cmocka_unit_test(a_sketch_never_forgets_too_much),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(real_traces),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// The log of a run's events.
#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "sim/core.hpp"
#include "user_sim_run.hpp"

namespace {

using namespace simtest;

void events_are_counted(void **) {
    Trace trace = generate(
        {.kind = "phases", .requests = 200'000, .objects = 300, .writes = 0.5, .seed = seed});
    for (const char *policy : {"default", "adaptive-001"}) {
        RunOptions options;
        options.l1 = 200;
        options.policy = policy;
        if (options.policy == "adaptive-001")
            options.set("PROMOTE_TO_L1_THRESHOLD", 64);  // from which it comes down
        std::string text;
        EventLog log(to(text));
        RunResult r = run(trace, options, &log);
        log.finish();

        std::map<std::string, uint64_t> counts;
        std::istringstream lines(text);
        uint64_t last = 0;
        for (std::string line; std::getline(lines, line);) {
            uint64_t time = 0;
            char event[20], rest[100];
            assert_int_equal(sscanf(line.c_str(), "{\"t_ns\":%lu,\"event\":\"%19[a-z]\",%99s",
                                    &time, event, rest),
                             3);
            assert_true(time >= last);
            last = time;
            counts[event]++;
        }
        assert_int_equal(counts["promote"] + counts["evict"] + counts["demote"],
                         r.moved[1] + r.moved[2] + r.moved[3]);
        assert_true(counts["promote"] >= r.moved[1]);
        assert_int_equal(counts["abort"], r.aborts);
        assert_int_equal(counts["threshold"], r.threshold_changes);
        assert_true(counts["expand"] > 0);
        assert_true(numbers(r) == numbers(run(trace, options)));
        if (options.policy == "adaptive-001")
            assert_true(r.threshold_changes > 0 && counts["demote"] > 0);
        else
            assert_int_equal(r.threshold_changes + counts["demote"], 0);
    }
}

/// Wherever the engine is then, it goes no further, and nothing of it is left.
void a_log_that_cannot_be_written(void **) {
    Trace trace = zipf(3000, 200'000, 0.2);

    for (auto [handlers, batch] : {std::pair(0, 0), {0, 16}, {2, 0}}) {
        RunOptions options;
        options.l1 = 100;
        if (handlers)
            options.handlers = handlers;
        if (batch)
            options.set("PREFETCH_BATCH_THRESHOLD", static_cast<uint64_t>(batch));
        std::atomic<uint64_t> begun = 0;
        int writes = 0;
        EventLog log([&](std::span<const std::byte>) {
            if (++writes == 2)
                throw ds::Failure(ds::Error::from(ENOSPC));
        });
        assert_int_equal(error_of([&] { run(trace, options, &log, &begun); }).code, ENOSPC);
        assert_int_equal(writes, 2);
        assert_true(begun < trace.requests.size() / 2);
    }
}

/// Where tokens are, as the log says.
class Residents {
public:
    /// A line; one that moves nothing says where the token is.
    void apply(const std::string &line) {
        uint64_t time = 0, token = 0;
        unsigned from = 0, to = 0;
        char event[20];
        assert_int_equal(
            sscanf(line.c_str(),
                   "{\"t_ns\":%lu,\"event\":\"%19[a-z]\",\"token\":%lu,\"from\":%u,\"to\":%u}",
                   &time, event, &token, &from, &to),
            5);
        note_asked(event, token);
        unsigned &tier = tiers_.try_emplace(token, 3).first->second;
        assert_int_equal(from, tier);
        if (has("expand abort expire cancel", event))
            return;
        tier = to;
        count_[from]--;
        count_[to]++;
        assert_true((to < from) == has("promote stage", event));
    }

    int64_t in(unsigned tier) const { return count_.at(tier); }

    /// The host was asked for it, and what became of that is not yet known.
    bool is_any_asked_for() const { return !asked_.empty(); }

private:
    void note_asked(const std::string &event, uint64_t token) {
        if (event == "expand")
            assert_true(asked_.insert(token).second);
        else if (has("promote abort expire cancel", event))
            asked_.erase(token);
    }

    std::set<uint64_t> asked_;
    std::map<uint64_t, unsigned> tiers_;  // by token; L3 if there is none
    std::array<int64_t, 4> count_{};      // since the beginning
};

/// Of no more than the log: also when objects end, in whatever tier they are.
void events_tell_where_tokens_are(void **) {
    Trace trace = zipf(3000, 60'000, 0.3);
    for (size_t i = 0; i < trace.requests.size(); i++)
        if (i % 29 == 0)
            trace.requests[i].op = i % 2 ? Operation::create : Operation::free;

    for (const char *policy : {"default", "literal-001"})
        for (Mode mode : {Mode::optimistic, Mode::blocking})
            for (auto [handlers, batch] : {std::pair(0, 0), {0, 16}, {2, 0}}) {
                RunOptions options;
                options.policy = policy;
                options.mode = mode;
                options.l1 = 100;
                options.l2 = 1;
                if (handlers)
                    options.handlers = handlers;
                if (batch)
                    options.set("PREFETCH_BATCH_THRESHOLD", static_cast<uint64_t>(batch));
                if (options.policy == "literal-001")
                    options.set("PROMOTE_TO_L2_THRESHOLD", 2);
                std::string text;
                EventLog log(to(text));
                RunResult r = run(trace, options, &log);
                log.finish();
                assert_conserved(trace, r);

                Residents residents;
                uint64_t cancels = 0;
                std::istringstream lines(text);
                for (std::string line; std::getline(lines, line);) {
                    residents.apply(line);
                    cancels += has(line, "\"cancel\"");
                    // Who leaves is written down before who comes.
                    assert_true(residents.in(1) >= 0 && residents.in(1) <= 100);
                    assert_true(residents.in(2) >= 0 && residents.in(2) <= DS_L2_PAGE_SLOTS);
                }
                assert_false(residents.is_any_asked_for());
                assert_true(residents.in(2) > 0);
                assert_true(has(text, "\"event\":\"free\""));
                assert_true(cancels == r.cancels && cancels > 0);
            }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(events_are_counted),
        cmocka_unit_test(a_log_that_cannot_be_written),
        cmocka_unit_test(events_tell_where_tokens_are),
    };

    print_message("# seed %lu\n", seed);
    return cmocka_run_group_tests_name("user_sim_events", tests, nullptr, nullptr);
}

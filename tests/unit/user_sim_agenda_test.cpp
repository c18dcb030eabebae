// SPDX-License-Identifier: Apache-2.0
// The simulator's agenda, beside a set of all that is to happen.
#include <set>
#include <utility>

#include "sim/agenda.hpp"
#include "sim/random.hpp"
#include "user_sim.hpp"

namespace {

using namespace simtest;

/// An agenda and what it should say: times, and the numbers of what was added.
struct Pair {
    Agenda agenda;
    std::set<std::pair<uint64_t, uint32_t>> model;
    uint32_t added = 0;

    void add(uint64_t time) {
        agenda.add(time, added);
        model.emplace(time, added++);
    }

    void take() {
        auto [time, order, what] = agenda.take();
        assert_int_equal(order, what);
        assert_true(std::pair(time, what) == *model.begin());
        model.erase(model.begin());
        assert_int_equal(agenda.empty(), model.empty());
    }

    void take_all() {
        while (!model.empty())
            take();
    }
};

void what_is_due(void **) {
    Agenda agenda;

    assert_true(agenda.empty());
    assert_false(agenda.due(UINT64_MAX));
    agenda.add(5, 1);
    assert_false(agenda.empty());
    assert_false(agenda.due(4));
    assert_true(agenda.due(5));
    agenda.add(3, 2);
    assert_true(agenda.due(3));
    assert_int_equal(agenda.take().what, 2);
    assert_false(agenda.due(3));
    assert_int_equal(agenda.take().what, 1);
    assert_false(agenda.due(UINT64_MAX));
}

// In whichever order they are added: one after the other, from the last, all at once.
void many_come_in_order(void **) {
    for (uint32_t count : {1u, 2u, 31u, 32u, 33u, 48u, 49u, 1000u}) {
        Pair up, down, same, both;
        for (uint32_t i = 0; i < count; i++) {
            up.add(i);
            down.add(count - i);
            same.add(7);
            both.add(i % 2 ? i : 2 * count - i);
        }
        for (Pair *pair : {&up, &down, &same, &both})
            pair->take_all();
    }
}

// While time goes on, with few and with many under way; equal times are common.
void as_in_a_run(void **) {
    Random random(3);
    uint64_t place = 0;

    for (uint64_t under_way : {1, 5, 30, 40, 300}) {
        for (uint64_t spread : {4, 100, 100'000}) {
            Pair pair;
            uint64_t now = 0;
            for (uint32_t i = 0; i < 20'000; i++) {
                bool add = pair.model.empty() ||
                           random.below(2 * under_way, 0, place++) >= pair.model.size();
                if (add) {
                    pair.add(now + random.below(spread, 0, place++));
                } else {
                    now = pair.model.begin()->first;
                    assert_true(pair.agenda.due(now));
                    assert_true(now == 0 || !pair.agenda.due(now - 1));
                    pair.take();
                }
            }
            pair.take_all();
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_due),
        cmocka_unit_test(many_come_in_order),
        cmocka_unit_test(as_in_a_run),
    };

    return cmocka_run_group_tests_name("user_sim_agenda", tests, nullptr, nullptr);
}

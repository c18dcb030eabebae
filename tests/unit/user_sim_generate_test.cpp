// SPDX-License-Identifier: Apache-2.0
// Traces that are made have the form that their kind promises, and are always
// the same.
#include <cerrno>
#include <cmath>
#include <map>
#include <set>

#include "sim/generate.hpp"
#include "sim/policy.hpp"
#include "user_sim.hpp"

namespace {

using namespace simtest;

uint64_t key_of(const Trace &trace, size_t i) {
    return trace.keys[trace.requests[i].id];
}

void what_is_out_of_range(void **) {
    auto refused = [](auto &&change) {
        Recipe recipe{.requests = 10, .objects = 10};
        change(recipe);
        auto error = error_of([&] { generate(recipe); });
        return error.code == EINVAL && !error.remedy.empty();
    };

    assert_true(refused([](Recipe &r) { r.kind = ""; }));
    assert_true(refused([](Recipe &r) { r.kind = "zip"; }));
    assert_true(refused([](Recipe &r) { r.requests = 0; }));
    assert_true(refused([](Recipe &r) { r.requests = most_requests + 1; }));
    assert_true(refused([](Recipe &r) { r.objects = 0; }));
    assert_true(refused([](Recipe &r) { r.objects = most_requests + 1; }));
    assert_true(refused([](Recipe &r) { r.kind = "fanout", r.objects = (1 << 20) + 1; }));
    for (double wrong : {-0.1, 10.1, std::nan(""), HUGE_VAL})
        assert_true(refused([&](Recipe &r) { r.alpha = wrong; }));
    for (double wrong : {-0.1, 1.1, std::nan("")}) {
        assert_true(refused([&](Recipe &r) { r.writes = wrong; }));
        assert_true(refused([&](Recipe &r) { r.scans = wrong; }));
    }
    assert_true(refused([](Recipe &r) { r.scans = 1; }));
    assert_true(refused([](Recipe &r) { r.phases = 0; }));
    assert_true(refused([](Recipe &r) { r.phases = 1001; }));
    assert_string_equal(error_of([] { generate({.kind = "zip"}); }).remedy.c_str(),
                        "Choose zipf, scan, loop, phases, mixture or fanout.");
    // More objects than there are handles.
    assert_true(refused([](Recipe &r) { r.kind = "phases", r.objects = 1 << 26, r.phases = 65; }));
}

/// Of zipf each object takes 8 bytes, before there is a request.
void what_memory_has_no_room_for(void **) {
    for (const char *kind : {"zipf", "phases", "mixture"}) {
        Recipe recipe{.kind = kind, .requests = 10, .objects = 1 << 20, .memory = (8 << 20) - 1};
        auto error = error_of([&] { generate(recipe); });
        assert_int_equal(error.code, ENOMEM);
        assert_true(has(error.sentence, "1048576 objects need 8 MiB of memory, and 7 MiB are"));
        assert_true(has(error.remedy, "at most 1048575 objects"));
        recipe.memory = (8 << 20) + 4096;
        assert_int_equal(generate(recipe).requests.size(), 10);
        // The requests need some as well.
        recipe.requests = 1000;
        error = error_of([&] { generate(recipe); });
        assert_int_equal(error.code, ENOMEM);
        assert_true(has(error.remedy, "Choose fewer requests"));
    }
    Recipe loop{.kind = "loop", .requests = 10, .objects = 1 << 20, .memory = 4096};
    assert_int_equal(generate(loop).requests.size(), 10);
    // How many objects a scan and a loop have is known before there is one.
    for (const char *kind : {"scan", "loop"}) {
        std::atomic<uint64_t> made = 0;
        Recipe recipe{
            .kind = kind, .requests = 100'000, .objects = 100'000, .memory = 68 * 100'000 - 1};
        auto error = error_of([&] { generate(recipe, &made); });
        assert_int_equal(error.code, ENOMEM);
        assert_true(has(error.sentence, "100000 requests need 6 MiB of memory, and 6 MiB are"));
        assert_int_equal(made, 0);
        recipe.memory++;
        assert_int_equal(generate(recipe).requests.size(), 100'000);
    }
}

void the_same_recipe_the_same_trace(void **) {
    for (std::string_view kind : recipe_kinds()) {
        Recipe recipe{.kind = std::string(kind), .requests = 5001, .objects = 100, .writes = 0.3};
        Trace one = generate(recipe), again = generate(recipe);
        assert_int_equal(one.requests.size(), 5001);
        assert_true(one.requests == again.requests && one.keys == again.keys);
        recipe.seed = 2;
        Trace other = generate(recipe);
        assert_false(one.requests == other.requests);
        assert_in_range(one.writes(), 1300, 1700);
        recipe.writes = 0;
        assert_int_equal(generate(recipe).writes(), 0);
        recipe.writes = 1;
        assert_int_equal(generate(recipe).writes(), 5001);
    }
}

/// The first numbers, so that no other machine or library makes another trace.
void known_numbers(void **) {
    Trace trace = generate({.requests = 8, .objects = 1000});
    const uint64_t known[] = {1, 1, 17, 0, 7, 526, 19, 0};

    for (size_t i = 0; i < std::size(known); i++)
        assert_int_equal(key_of(trace, i), known[i]);
}

void zipf_has_its_shares(void **) {
    std::map<uint64_t, double> count;
    Trace trace = generate({.requests = 200'000, .objects = 50, .alpha = 1.2});
    double sum = 0;

    for (size_t i = 0; i < trace.requests.size(); i++)
        count[key_of(trace, i)]++;
    for (int n = 1; n <= 50; n++)
        sum += std::pow(n, -1.2);
    assert_int_equal(count.size(), 50);
    for (int n = 1; n <= 50; n++) {
        double expected = 200'000 * std::pow(n, -1.2) / sum;
        assert_true(std::abs(count[static_cast<uint64_t>(n - 1)] - expected) <
                    5 * std::sqrt(expected));
    }
    assert_int_equal(generate({.requests = 100, .objects = 1}).uniques, 1);
}

void scans_and_loops(void **) {
    Trace scan = generate({.kind = "scan", .requests = 1000, .objects = 10});
    Trace loop = generate({.kind = "loop", .requests = 1000, .objects = 10});

    assert_int_equal(scan.uniques, 1000);
    assert_int_equal(loop.uniques, 10);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(key_of(loop, i), i % 10);
    assert_int_equal(hits("opt", 999, scan), 0);
    assert_int_equal(hits("lru", 9, loop), 0);
    assert_int_equal(hits("lru", 10, loop), 990);
}

void phases_have_nothing_in_common(void **) {
    Trace trace = generate({.kind = "phases", .requests = 1000, .objects = 20, .phases = 4});

    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(key_of(trace, i) / 20, i / 250);
}

void scans_have_their_share(void **) {
    for (uint64_t requests : {1, 10, 99, 1000, 12'345, 400'000})
        for (uint32_t objects : {1, 10, 1000, 100'000})
            for (int percent : {0, 1, 20, 50, 99}) {
                Trace trace = generate({.kind = "mixture",
                                        .requests = requests,
                                        .objects = objects,
                                        .scans = percent / 100.0,
                                        .seed = requests});
                uint64_t scanned = 0, last = objects - 1, longest = 0, length = 0;
                for (size_t i = 0; i < trace.requests.size(); i++) {
                    uint64_t key = key_of(trace, i);
                    if (key < objects) {
                        length = 0;
                        continue;
                    }
                    assert_int_equal(key, last + 1);  // never again
                    last = key;
                    scanned++;
                    longest = std::max(longest, ++length);
                }
                assert_int_equal(trace.requests.size(), requests);
                double off =
                    static_cast<double>(scanned) - static_cast<double>(requests) * percent / 100;
                assert_true(std::abs(off) <= 0.5);
                // Two scans may meet, and where there are few others, many.
                if (percent <= 20)
                    assert_true(longest <= 2 * std::max(1u, objects / 4) || objects < 100);
                // Each tenth of a trace has its own.
                assert_true(longest <= scanned / 4 || scanned < 100 || percent > 20);
            }
}

void a_fanout_touches_four_tokens(void **) {
    for (bool random : {false, true}) {
        Trace trace =
            generate({.kind = "fanout", .requests = 40'000, .objects = 64, .random = random});
        std::map<uint64_t, std::set<uint64_t>> by_type;
        for (size_t i = 0; i < trace.requests.size(); i += 4) {
            uint64_t qp = key_of(trace, i) - (uint64_t(3) << 30);
            assert_true(qp < 64);
            if (!random)
                assert_int_equal(qp, i / 4 % 64);
            assert_int_equal(key_of(trace, i + 1), uint64_t(2) << 30 | qp / 2);
            assert_int_equal(key_of(trace, i + 2), qp / 4);
            assert_int_equal((key_of(trace, i + 3) - (1 << 30)) / 4, qp);
            for (size_t j = 0; j < 4; j++)
                by_type[key_of(trace, i + j) >> 30].insert(key_of(trace, i + j));
        }
        assert_int_equal(by_type[3].size(), 64);
        assert_int_equal(by_type[2].size(), 32);
        assert_int_equal(by_type[1].size(), 256);
        assert_int_equal(by_type[0].size(), 16);
    }
    Trace most = generate({.kind = "fanout", .requests = 8, .objects = 1 << 20});
    write_trace(most, [](auto) {});  // all handles have 32 bits
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_out_of_range),
        cmocka_unit_test(what_memory_has_no_room_for),
        cmocka_unit_test(the_same_recipe_the_same_trace),
        cmocka_unit_test(known_numbers),
        cmocka_unit_test(zipf_has_its_shares),
        cmocka_unit_test(scans_and_loops),
        cmocka_unit_test(phases_have_nothing_in_common),
        cmocka_unit_test(scans_have_their_share),
        cmocka_unit_test(a_fanout_touches_four_tokens),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

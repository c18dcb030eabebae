// SPDX-License-Identifier: Apache-2.0
// The simulator's random numbers, latencies, links, percentiles and its log of events.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "sim/bandwidth_server.hpp"
#include "sim/event_log.hpp"
#include "sim/latency.hpp"
#include "sim/percentiles.hpp"
#include "user_sim.hpp"

namespace {

using namespace simtest;

bool near(double a, double b, double part) {
    return std::abs(a - b) <= part * std::abs(b);
}

// ---- Random numbers

void golden_numbers(void **) {
    // SplitMix64's own first numbers from seeds 0 and 1 are 0xe220a8397b1dcdaf and
    // 0x910a2dec89025cc1; these follow from them and must never change: runs are repeated by seed.
    Random random(1);

    assert_true(random.bits(0, 0) == 0xb18a02f46d8d86c3);
    assert_true(random.bits(0, 1) == 0x6c5795e14b3b7e33);
    assert_true(random.bits(1, 0) == 0xd5159b73432a2795);
    assert_true(Random(2).bits(0, 0) == 0x1956ecd1a275ec95);
}

void numbers_are_even(void **) {
    Random random(7);
    std::vector<uint64_t> counts(10);
    double sum = 0;

    for (uint64_t stream = 0; stream < 100; stream++)
        for (uint64_t place = 0; place < 10'000; place++) {
            sum += double(random.bits(stream, place)) * 0x1p-64;
            counts.at(random.below(10, stream, place))++;
        }
    assert_true(near(sum / 1e6, 0.5, 0.002));
    for (uint64_t count : counts)
        assert_true(near(double(count), 1e5, 0.01));
    assert_int_equal(random.below(0, 1, 1), 0);
    assert_int_equal(random.below(1, 1, 1), 0);
}

// ---- Latencies

void bad_latencies(void **) {
    for (auto [median, p99] : {std::pair<uint64_t, uint64_t>{0, 0},
                               {0, 10},
                               {10, 9},
                               {10, 1001},
                               {1, Latency::most_ns},
                               {1'000'000'000, 1'000'000'001},
                               {UINT64_MAX, UINT64_MAX}}) {
        auto latency = Latency::lognormal(median, p99);
        assert_false(latency.ok());
        assert_int_equal(latency.error().code, EINVAL);
        assert_false(latency.error().remedy.empty());
    }
    assert_true(Latency::lognormal(1, 1).ok());
    assert_true(Latency::lognormal(10'000'000, Latency::most_ns).ok());
}

void constant_is_constant(void **) {
    Random random(1);

    for (uint64_t place = 0; place < 1000; place++)
        assert_int_equal(Latency::constant(5).draw(random.stream(1), place), 5);
    assert_int_equal(Latency::constant(0).draw(random.stream(1), 1), 0);
    // A log-normal one without spread is the same.
    Latency still = Latency::lognormal(170, 170).or_throw();
    for (uint64_t place = 0; place < 1000; place++)
        assert_int_equal(still.draw(random.stream(1), place), 170);
}

void lognormal_has_its_quantiles_and_mean(void **) {
    Random random(3);

    for (auto [median, p99] :
         {std::pair<uint64_t, uint64_t>{1000, 2000}, {580, 1160}, {2000, 10'000}}) {
        Latency latency = Latency::lognormal(median, p99).or_throw();
        std::vector<uint64_t> values;
        double sum = 0;
        for (uint64_t place = 0; place < 4'000'000; place++) {
            values.push_back(latency.draw(random.stream(0), place));
            sum += double(values.back());
        }
        std::sort(values.begin(), values.end());
        double sigma = std::log(double(p99) / double(median)) / 2.32635;
        auto quantile = [&](double q) { return double(values[size_t(q * double(values.size()))]); };

        assert_int_equal(latency.median_ns(), median);
        assert_true(near(quantile(0.5), double(median), 0.005));
        assert_true(near(quantile(0.99), double(p99), 0.01));
        // P1, P84, P99.9, P99.99: z of -2.326, 1, 3.09, 3.719.
        assert_true(near(quantile(0.01), double(median * median) / double(p99), 0.01));
        assert_true(near(quantile(0.8413447), double(median) * std::exp(sigma), 0.01));
        assert_true(near(quantile(0.999), double(median) * std::exp(3.0902 * sigma), 0.02));
        assert_true(near(quantile(0.9999), double(median) * std::exp(3.719 * sigma), 0.05));
        assert_true(near(sum / 4e6, double(median) * std::exp(sigma * sigma / 2), 0.005));
    }
}

void draws_depend_on_the_place_alone(void **) {
    Latency latency = Latency::lognormal(1000, 5000).or_throw();
    Random one(1), two(2);
    std::vector<uint64_t> forth, back;
    size_t as_other_seed = 0, as_other_stream = 0;

    for (uint64_t place = 0; place < 1000; place++) {
        forth.push_back(latency.draw(one.stream(5), place));
        as_other_seed += forth.back() == latency.draw(two.stream(5), place);
        as_other_stream += forth.back() == latency.draw(one.stream(6), place);
    }
    for (uint64_t place = 1000; place-- > 0;)
        back.push_back(latency.draw(Random(1).stream(5), place));
    std::reverse(back.begin(), back.end());
    assert_true(forth == back);
    assert_true(as_other_seed < 20 && as_other_stream < 20);
}

void the_defaults_stand_in_order(void **) {
    Latencies tiers;

    assert_true(tiers.l1.median_ns() < tiers.l2.median_ns());
    assert_true(tiers.l2.median_ns() < tiers.l3_write.median_ns());
    assert_true(tiers.l3_write.median_ns() < tiers.l3_read.median_ns());
    assert_true(tiers.l3_read.median_ns() < tiers.expand.median_ns());
}

// ---- Links

void transfers_wait_for_each_other(void **) {
    BandwidthServer link(2);

    assert_int_equal(link.serve(100, 20), 110);
    assert_int_equal(link.serve(100, 20), 120);
    assert_int_equal(link.serve(105, 2), 121);
    assert_int_equal(link.serve(121, 2), 122);
    assert_int_equal(link.serve(1000, 1), 1001);  // half a ns, rounded up
    assert_int_equal(link.serve(1000, 1), 1001);  // and the other half
    assert_int_equal(link.serve(1000, 1), 1002);
    assert_int_equal(link.serve(2000, 0), 2000);
}

void parts_of_a_ns_add_up(void **) {
    BandwidthServer cxl(cxl_bytes_per_ns);
    uint64_t end = 0;

    for (int i = 0; i < 1'000'000; i++)
        end = cxl.serve(0, 64);
    assert_true(near(double(end), 64e6 / 37, 0.001));
}

// ---- Percentiles

uint64_t exact_at(const std::vector<uint64_t> &sorted, uint32_t per_100000) {
    uint64_t rank = (sorted.size() * per_100000 + 99'999) / 100'000;
    return sorted[std::max<uint64_t>(rank, 1) - 1];
}

void percentiles_are_at_most_a_128th_too_high(void **) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        Latency latency = Latency::lognormal(100 * seed, 10'000 * seed).or_throw();
        std::vector<uint64_t> values;
        Percentiles percentiles;
        double sum = 0;
        for (uint64_t place = 0; place < 1 + seed * 997; place++) {
            values.push_back(latency.draw(Random(seed).stream(0), place));
            percentiles.record(values.back());
            sum += double(values.back());
        }
        std::sort(values.begin(), values.end());
        for (uint32_t per_100000 :
             {0u, 1u, 1000u, 50'000u, 99'000u, 99'900u, 99'999u, 100'000u, 200'000u}) {
            uint64_t exact = exact_at(values, std::min(per_100000, 100'000u));
            uint64_t got = percentiles.at(per_100000);
            assert_true(got >= exact && got - exact <= exact / 128);
        }
        assert_int_equal(percentiles.p50(), percentiles.at(50'000));
        assert_int_equal(percentiles.p99(), percentiles.at(99'000));
        assert_int_equal(percentiles.p999(), percentiles.at(99'900));
        assert_int_equal(percentiles.min(), values.front());
        assert_int_equal(percentiles.max(), values.back());
        assert_true(near(percentiles.mean(), sum / double(values.size()), 1e-12));
    }
}

void ends_of_the_scale(void **) {
    Percentiles none, ends;

    assert_int_equal(none.count() + none.min() + none.max() + none.p50() + none.p999(), 0);
    assert_true(none.mean() == 0);
    ends.record(0);
    ends.record(UINT64_MAX);
    ends.record(UINT64_MAX);
    assert_int_equal(ends.min(), 0);
    assert_int_equal(ends.at(33'333), 0);
    assert_true(ends.at(33'334) == UINT64_MAX && ends.max() == UINT64_MAX);
    assert_true(near(ends.mean(), 2.0 / 3 * 0x1p64, 1e-12));
    // Each value is the first of a bucket or follows the one before in its bucket.
    for (unsigned shift = 0; shift < 64; shift++)
        for (uint64_t value : {uint64_t(1) << shift, (uint64_t(1) << shift) - 1}) {
            Percentiles one;
            one.record(value);
            one.record(UINT64_MAX);
            assert_true(one.at(50'000) >= value && one.at(50'000) - value <= value / 128);
        }
}

// ---- Event log

void events_are_lines_of_json(void **) {
    std::string text;
    EventLog log(to(text));

    log.move(0, EventLog::Move::promote, 7, 3, 2);
    log.move(1, EventLog::Move::demote, 0, 1, 2);
    log.move(2, EventLog::Move::evict, 4'294'967'295, 1, 3);
    log.move(3, EventLog::Move::expand, 8, 3, 1);
    log.move(UINT64_MAX, EventLog::Move::abort, 9, 2, 1);
    log.threshold(5, 1, 16, 32);
    log.finish();
    assert_string_equal(
        text.c_str(),
        "{\"t_ns\":0,\"event\":\"promote\",\"token\":7,\"from\":3,\"to\":2}\n"
        "{\"t_ns\":1,\"event\":\"demote\",\"token\":0,\"from\":1,\"to\":2}\n"
        "{\"t_ns\":2,\"event\":\"evict\",\"token\":4294967295,\"from\":1,\"to\":3}\n"
        "{\"t_ns\":3,\"event\":\"expand\",\"token\":8,\"from\":3,\"to\":1}\n"
        "{\"t_ns\":18446744073709551615,\"event\":\"abort\",\"token\":9,\"from\":2,\"to\":1}\n"
        "{\"t_ns\":5,\"event\":\"threshold\",\"tier\":1,\"from\":16,\"to\":32}\n");
}

void a_long_log_is_whole(void **) {
    std::string text, expected;
    EventLog log(to(text));

    for (uint32_t i = 0; i < 20'000; i++) {
        log.move(i, EventLog::Move::promote, i, 2, 1);
        log.relieve();
        expected += "{\"t_ns\":" + std::to_string(i) +
                    ",\"event\":\"promote\",\"token\":" + std::to_string(i) +
                    ",\"from\":2,\"to\":1}\n";
        // The buffer is bounded.
        assert_true(text.size() + 100'000 > expected.size());
    }
    assert_true(text.size() < expected.size());
    log.finish();
    assert_true(text == expected);
    log.finish();  // there is no more
    assert_true(text == expected);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(golden_numbers),
        cmocka_unit_test(numbers_are_even),
        cmocka_unit_test(bad_latencies),
        cmocka_unit_test(constant_is_constant),
        cmocka_unit_test(lognormal_has_its_quantiles_and_mean),
        cmocka_unit_test(draws_depend_on_the_place_alone),
        cmocka_unit_test(the_defaults_stand_in_order),
        cmocka_unit_test(transfers_wait_for_each_other),
        cmocka_unit_test(parts_of_a_ns_add_up),
        cmocka_unit_test(percentiles_are_at_most_a_128th_too_high),
        cmocka_unit_test(ends_of_the_scale),
        cmocka_unit_test(events_are_lines_of_json),
        cmocka_unit_test(a_long_log_is_whole),
    };

    return cmocka_run_group_tests_name("user_sim_latency", tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// dsctl's histogram against quantiles computed from all values.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

#include <algorithm>
#include <random>
#include <vector>

#include "../../user/tools/dsctl/histogram.hpp"

using dsctl::Histogram;

namespace {

// The smallest value that at least the share q of all values does not exceed.
uint64_t exact_quantile(std::vector<uint64_t> values, double q) {
    std::sort(values.begin(), values.end());
    double rank = q * static_cast<double>(values.size());
    size_t index = static_cast<size_t>(rank);

    if (static_cast<double>(index) < rank)
        index++;
    return values[std::max<size_t>(index, 1) - 1];
}

void check_quantiles(const Histogram &histogram, const std::vector<uint64_t> &values) {
    for (double q : {0.0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
        uint64_t exact = exact_quantile(values, q);
        uint64_t got = histogram.quantile(q);
        // Never below, and above by at most one part in 2^sub_bits.
        assert_true(got >= exact);
        assert_true(got - exact <= exact >> Histogram::sub_bits);
    }
}

std::vector<uint64_t> latencies(uint64_t seed, size_t count) {
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> body(10, 2);
    std::vector<uint64_t> values;

    for (size_t i = 0; i < count; i++)
        values.push_back(static_cast<uint64_t>(body(random)));
    return values;
}

void empty(void **) {
    Histogram histogram;

    assert_int_equal(histogram.count(), 0);
    assert_int_equal(histogram.quantile(0.5), 0);
    assert_int_equal(histogram.min(), 0);
    assert_int_equal(histogram.max(), 0);
    assert_true(histogram.mean() == 0);
}

void buckets_are_a_partition(void **) {
    // Each bucket begins right behind the one before it.
    size_t last = Histogram::bucket_of(UINT64_MAX);

    assert_int_equal(Histogram::bucket_of(0), 0);
    for (size_t bucket = 0; bucket < last; bucket++) {
        uint64_t end = Histogram::last_of(bucket);
        assert_int_equal(Histogram::bucket_of(end), bucket);
        assert_int_equal(Histogram::bucket_of(end + 1), bucket + 1);
    }
    assert_true(Histogram::last_of(last) == UINT64_MAX);
}

void extremes(void **) {
    Histogram histogram;

    histogram.record(0);
    histogram.record(UINT64_MAX);
    assert_int_equal(histogram.count(), 2);
    assert_int_equal(histogram.min(), 0);
    assert_true(histogram.max() == UINT64_MAX);
    assert_int_equal(histogram.quantile(0.5), 0);
    assert_true(histogram.quantile(1) == UINT64_MAX);
}

void small_values_are_exact(void **) {
    Histogram histogram;

    for (uint64_t value = 0; value < 128; value++)
        histogram.record(value);
    for (uint64_t percent = 1; percent <= 100; percent++)
        assert_int_equal(histogram.quantile(static_cast<double>(percent) / 100),
                         (percent * 128 + 99) / 100 - 1);
}

void quantiles_against_exact(void **) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        std::vector<uint64_t> values = latencies(seed, 1 + seed * 997);
        Histogram histogram;
        double sum = 0;
        for (uint64_t value : values) {
            histogram.record(value);
            sum += static_cast<double>(value);
        }
        check_quantiles(histogram, values);
        assert_int_equal(histogram.min(), *std::min_element(values.begin(), values.end()));
        assert_int_equal(histogram.max(), *std::max_element(values.begin(), values.end()));
        double mean = sum / static_cast<double>(values.size());
        assert_true(histogram.mean() > mean * 0.999999 && histogram.mean() < mean * 1.000001);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(empty),
        cmocka_unit_test(buckets_are_a_partition),
        cmocka_unit_test(extremes),
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(quantiles_against_exact),
    };

    return cmocka_run_group_tests_name("dsctl_histogram", tests, nullptr, nullptr);
}

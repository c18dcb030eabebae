// SPDX-License-Identifier: Apache-2.0
// Stack distances and miss-ratio curves against LRU lists, and sampled ones
// against exact ones. With DS_TRACES set to the folder of the recorded traces,
// also on those.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/mrc.hpp"
#include "sim/reuse_distance.hpp"
#include "user_cmocka.hpp"

namespace {

using namespace ds::sim;
using Ids = std::vector<uint32_t>;

// ---- Traces

// Numbers the ids 0, 1, 2... as they come.
template <class T>
Ids dense(const std::vector<T> &names) {
    std::unordered_map<T, uint32_t> number;
    Ids ids;

    for (const T &name : names)
        ids.push_back(number.try_emplace(name, static_cast<uint32_t>(number.size())).first->second);
    return ids;
}

Ids uniform(uint64_t seed, size_t requests, uint32_t uniques) {
    std::mt19937_64 random(seed);
    std::vector<uint32_t> ids;

    for (size_t i = 0; i < requests; i++)
        ids.push_back(static_cast<uint32_t>(random() % uniques));
    return dense(ids);
}

Ids zipf(uint64_t seed, size_t requests, uint32_t uniques, double exponent) {
    std::mt19937_64 random(seed);
    std::vector<double> below;
    std::vector<uint32_t> ids;
    double sum = 0;

    for (uint32_t rank = 1; rank <= uniques; rank++)
        below.push_back(sum += std::pow(rank, -exponent));
    for (size_t i = 0; i < requests; i++) {
        double at = double(random() >> 11) * 0x1p-53 * sum;
        ids.push_back(uint32_t(std::lower_bound(below.begin(), below.end(), at) - below.begin()));
    }
    return dense(ids);
}

Ids loop(size_t requests, uint32_t uniques) {
    Ids ids;

    for (size_t i = 0; i < requests; i++)
        ids.push_back(static_cast<uint32_t>(i % uniques));
    return ids;
}

// ---- Stack distances

void distances_are_places_in_an_lru_list(void **) {
    for (uint32_t uniques : {1u, 2u, 31u, 32u, 33u, 300u, 2000u}) {
        Ids ids = uniform(uniques, 20'000, uniques);
        ReuseDistance order(uniques);
        std::list<uint32_t> lru;

        for (uint32_t id : ids) {
            auto at = std::find(lru.begin(), lru.end(), id);
            assert_int_equal(order.seen(id), at != lru.end());
            if (at != lru.end()) {
                assert_int_equal(order.distance(id), std::distance(lru.begin(), at));
                lru.erase(at);
            }
            order.touch(id);
            lru.push_front(id);
        }
    }
}

// Distances that span words, blocks and groups of times, before and after
// renumbering.
void far_distances(void **) {
    constexpr uint32_t uniques = 200'000;
    ReuseDistance order(uniques);

    for (int round = 0; round < 5; round++)
        for (uint32_t id = 0; id < uniques; id++) {
            if (round)
                assert_int_equal(order.distance(id), uniques - 1);
            order.touch(id);
        }
    for (uint32_t id = 0; id < uniques; id++)
        assert_int_equal(order.distance(id), uniques - 1 - id);
    for (uint32_t id = uniques; id-- > 0;) {
        order.touch(id);
        assert_int_equal(order.distance(id), 0);
        if (id)
            assert_int_equal(order.distance(id - 1), uniques - id);
    }
}

// ---- Curves

// A cache of so many entries, run.
double lru_misses(const Ids &ids, size_t entries) {
    std::list<uint32_t> lru;
    size_t misses = 0;

    for (uint32_t id : ids) {
        auto at = std::find(lru.begin(), lru.end(), id);
        misses += at == lru.end();
        if (at != lru.end())
            lru.erase(at);
        lru.push_front(id);
        if (lru.size() > entries)
            lru.pop_back();
    }
    return double(misses) / double(ids.size());
}

void a_curve_is_the_caches_run(void **) {
    Ids ids = zipf(1, 20'000, 400, 0.9);
    MissRatioCurve curve = exact_mrc(ids);

    for (size_t entries : {0u, 1u, 2u, 7u, 64u, 200u, 399u, 400u, 1000u})
        assert_true(curve.at(entries) == lru_misses(ids, entries));
    assert_int_equal(curve.uniques(), *std::max_element(ids.begin(), ids.end()) + 1);
}

void small_traces(void **) {
    for (const Sampling &sampling : {Sampling{}, Sampling{.rate = 0.01, .least = 0}}) {
        for (const Ids &ids : {Ids{}, Ids{0}, Ids{0, 1, 2}}) {
            for (uint64_t entries : {0u, 1u, 5u}) {
                assert_true(exact_mrc(ids).at(entries) == 1);
                assert_true(sampled_mrc(ids, sampling).at(entries) == 1);
            }
            assert_int_equal(sampled_mrc(ids, sampling).uniques(), ids.size());
        }
        Ids again{0, 0, 0, 0};
        assert_true(exact_mrc(again).at(1) == 0.25);
        assert_true(sampled_mrc(again, sampling).at(1) == 0.25);
        assert_true(sampled_mrc(again, sampling).at(0) == 1);
    }
}

// From 64 entries to all.
double worst(const MissRatioCurve &a, const MissRatioCurve &b) {
    double most = 0;

    assert_int_equal(a.uniques(), b.uniques());
    for (uint64_t entries = 64; entries <= a.uniques(); entries++)
        most = std::max(most, std::abs(a.at(entries) - b.at(entries)));
    return most;
}

void all_sampled_is_exact(void **) {
    Ids ids = zipf(2, 30'000, 5000, 0.8);

    assert_true(worst(sampled_mrc(ids, {.rate = 1, .least = 0}), exact_mrc(ids)) == 0);
    assert_true(worst(sampled_mrc(ids, {.rate = 1e-6, .least = ids.size()}), exact_mrc(ids)) == 0);
    assert_true((Sampling{.rate = 1e-6, .least = ids.size()}.share_of(ids.size()) == 1));
    assert_true((Sampling{.rate = 0.25, .least = 1}.share_of(ids.size()) == 0.25));
}

void within_half_a_point(const char *name, const Ids &ids, const Sampling &sampling) {
    MissRatioCurve exact = exact_mrc(ids);
    double most = 0;

    for (uint64_t seed = 1; seed <= 3; seed++) {
        Sampling seeded = sampling;
        seeded.seed = seed;
        MissRatioCurve curve = sampled_mrc(ids, seeded);
        most = std::max(most, worst(curve, exact));
        // What is counted and not sampled.
        assert_true(curve.at(curve.uniques()) == exact.at(exact.uniques()));
    }
    print_message("%s: %zu requests, %llu ids: %.2f points at most, seeds 1 to 3\n", name,
                  ids.size(), static_cast<unsigned long long>(exact.uniques()), 100 * most);
    assert_true(most <= 0.005);
}

void sampled_is_near_exact(void **) {
    const Sampling bare{.rate = 0.01, .least = 0};

    within_half_a_point("zipf 0.8", zipf(3, 600'000, 50'000, 0.8), bare);
    within_half_a_point("zipf 0.99", zipf(4, 600'000, 100'000, 0.99), bare);
    within_half_a_point("zipf 1.2", zipf(5, 600'000, 100'000, 1.2), bare);
    within_half_a_point("loop", loop(300'000, 20'000), bare);
    within_half_a_point("short", zipf(6, 30'000, 5000, 0.9), {});

    // A cliff amid other use: the loop's ids come with a popular one in between.
    Ids mixed, hot = zipf(7, 300'000, 1000, 1);
    for (size_t i = 0; i < hot.size(); i++) {
        mixed.push_back(1000 + static_cast<uint32_t>(i % 10'000));
        mixed.push_back(hot[i]);
    }
    within_half_a_point("mixed", dense(mixed), bare);
}

void a_sample_is_a_function_of_its_seed(void **) {
    Ids ids = zipf(8, 200'000, 20'000, 0.9);
    const Sampling one{.rate = 0.01, .least = 0, .seed = 1},
        two{.rate = 0.01, .least = 0, .seed = 2};

    assert_true(worst(sampled_mrc(ids, one), sampled_mrc(ids, one)) == 0);
    assert_true(worst(sampled_mrc(ids, one), sampled_mrc(ids, two)) > 0);
    // It is a sample.
    assert_true(worst(sampled_mrc(ids, one), exact_mrc(ids)) > 0);
}

// ---- Recorded traces

std::string output_of(const std::string &command) {
    std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen(command.c_str(), "r"), pclose);
    std::array<char, 1 << 16> buffer;
    std::string bytes;

    assert_non_null(pipe.get());
    while (size_t n = fread(buffer.data(), 1, buffer.size(), pipe.get()))
        bytes.append(buffer.data(), n);
    return bytes;
}

// Fields of @p bytes at @p offset in records of @p stride.
template <class T>
Ids ids_in(const std::string &bytes, size_t offset, size_t stride) {
    std::vector<T> names;

    for (size_t at = offset; at + sizeof(T) <= bytes.size(); at += stride) {
        T name;
        memcpy(&name, bytes.data() + at, sizeof(T));
        names.push_back(name);
    }
    return dense(names);
}

// Of the ARC paper: start, count, and two more that do not matter.
Ids ids_in_lis(const std::string &text) {
    std::istringstream lines(text);
    std::vector<uint64_t> names;
    uint64_t start, count, ignored, number;

    while (lines >> start >> count >> ignored >> number)
        for (uint64_t i = 0; i < count; i++)
            names.push_back(start + i);
    return dense(names);
}

void recorded_traces(void **) {
    const std::string folder = getenv("DS_TRACES") ? getenv("DS_TRACES") : "";

    if (folder.empty()) {
        print_message("skipped: DS_TRACES is no folder with recorded traces\n");
        skip();
    }
    Ids cloud =
        ids_in<uint64_t>(output_of("cat " + folder + "/cloudPhysicsIO.oracleGeneral.bin"), 4, 24);
    Ids orm = ids_in<uint32_t>(output_of("xz -dc " + folder + "/orm-busy.trace.xz"), 0, 4);
    Ids scarab = ids_in<uint64_t>(output_of("xz -dc " + folder + "/scarab-recs.trace.xz"), 0, 8);
    Ids oltp = ids_in_lis(output_of("zstd -dc " + folder + "/OLTP.lis.zst"));

    assert_int_equal(cloud.size(), 113'872);
    assert_int_equal(orm.size(), 5'000'000);
    assert_int_equal(scarab.size(), 1'245'184);
    assert_int_equal(oltp.size(), 914'145);
    within_half_a_point("cloudPhysicsIO", cloud, {});
    within_half_a_point("orm-busy", orm, {});
    within_half_a_point("scarab-recs", scarab, {});
    within_half_a_point("OLTP", oltp, {});
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_places_in_an_lru_list),
        cmocka_unit_test(far_distances),
        cmocka_unit_test(a_curve_is_the_caches_run),
        cmocka_unit_test(small_traces),
        cmocka_unit_test(all_sampled_is_exact),
        cmocka_unit_test(sampled_is_near_exact),
        cmocka_unit_test(a_sample_is_a_function_of_its_seed),
        cmocka_unit_test(recorded_traces),
    };

    return cmocka_run_group_tests_name("user_sim_mrc", tests, nullptr, nullptr);
}

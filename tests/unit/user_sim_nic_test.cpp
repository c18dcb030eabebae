// SPDX-License-Identifier: Apache-2.0
// The NIC model and its fit. With DS_TRACES set to the folder of nic_qp_cliff.csv, also against
// that measured curve.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "sim/nelder_mead.hpp"
#include "sim/nic_fit.hpp"
#include "user_cmocka.hpp"

namespace {

using namespace ds::sim;

const NicModel nic{.line_mpps = 1.5,
                   .qp_ns = 800,
                   .work_ns = 2050,
                   .parallel = 3.1,
                   .context = {.entries = 40, .miss_ns = context_miss_ns},
                   .translation = {.entries = 700, .miss_ns = 2500}};

bool near(double a, double b, double part) {
    return std::abs(a - b) <= part * std::abs(b);
}

std::vector<NicPoint> curve_of(const NicModel &model) {
    std::vector<NicPoint> points;

    for (uint32_t qps = 1; qps <= 2000; qps += qps < 64 ? 1 : 64)
        points.push_back({qps, model.rate(qps)});
    return points;
}

// ---- Points

const std::string good =
    "qp_count,read_mpps\n1,1.4\n2,1.5\n3,1.5\n4,1.5\n5,1.5\n6,1.5\n7,1.4\n8,1.3\n";

void bad_lines(void **) {
    for (const char *line : {"9",
                             "9,",
                             ",1.2",
                             "9;1.2",
                             "9,1.2,3",
                             "nine,1.2",
                             "9,fast",
                             "9,1 2",
                             "-9,1.2",
                             "+9,1.2",
                             "9.5,1.2",
                             "0x9,1.2",
                             "0,1.2",
                             "16777217,1.2",
                             "4294967296,1.2",
                             "9,0",
                             "9,-1.2",
                             "9,nan",
                             "9,inf",
                             "9,1e999",
                             "9,1.2x",
                             "qp_count,read_mpps"}) {
        auto points = parse_nic_curve(good + line + "\n10,1.1\n");
        if (points.ok())
            fail_msg("'%s' is taken for a point", line);
        assert_int_equal(points.error().code, EINVAL);
        assert_non_null(strstr(points.error().sentence.c_str(), "line 10 "));
        assert_false(points.error().remedy.empty());
    }
}

void the_same_qps_twice(void **) {
    auto points = parse_nic_curve(good + "4,1.5\n");

    assert_false(points.ok());
    assert_string_equal(points.error().sentence.c_str(),
                        "line 10 of the curve has the QPs of line 5");
}

void too_few_points(void **) {
    for (const char *csv : {"", "qp_count,read_mpps\n", "1,1\n2,1\n3,1\n4,1\n5,1\n6,1\n7,1\n"}) {
        auto points = parse_nic_curve(csv);
        assert_false(points.ok());
        assert_non_null(strstr(points.error().sentence.c_str(), "7 parameters"));
    }
}

void good_lines(void **) {
    auto points = parse_nic_curve(good).or_throw().points;
    assert_int_equal(points.size(), 8);

    // Without names, backwards, with CR LF, without an end of the last line. As programs write it,
    // with a byte order mark, blanks, and names of any kind.
    for (const char *text :
         {"16777216,1e-3\r\n7,7\r\n6,6\n5,5\n4,4\n3,3\n2,2\n1,1",
          "\xef\xbb\xbfQPs, Rate (Mpps)\n16777216, 0.001\n7 ,7\n "
          "6,6\n5,5\n4,4\n3,3\n2,2\n1,1\n\n",
          "\n \r\nqps,mpps\n16777216,0.001\n7,7\n6,6\n\n5,5\n4,4\n3,3\n2,2\n1,1\n\n\t\n"}) {
        points = parse_nic_curve(text).or_throw().points;
        assert_int_equal(points.size(), 8);
        assert_int_equal(points.front().qps, 1);
        assert_true(points[6].mpps == 7);
        assert_int_equal(points.back().qps, most_qps);
        assert_true(points.back().mpps == 0.001);
    }
    assert_false(parse_nic_curve(good).or_throw().may_be_cut);
    assert_true(parse_nic_curve(good + "9,1.5").or_throw().may_be_cut);
}

// The numbers alone may be those of either column.
void names_of_the_other_column(void **) {
    const std::string lines = "1,1\n2,2\n3,3\n4,4\n5,5\n6,6\n7,7\n8,8\n";

    for (auto [names, reversed] : {std::pair("qp_count,read_mpps\n", false),
                                   {"QPs, Rate (Mpps)\n", false},
                                   {"a,b\n", false},
                                   {"", false},
                                   {"mpps,qps\n", true},
                                   {"\xef\xbb\xbf\nRate (Mpps), n\r\n", true},
                                   {"rate,QP count\n", true}}) {
        NicCurve curve = parse_nic_curve(names + lines).or_throw();
        assert_int_equal(curve.points.size(), 8);
        assert_int_equal(!curve.doubt.empty(), reversed);
        assert_false(curve.may_be_cut);
    }
}

// ---- Model

// LRU sets of QPs, placed at random, once and again.
double simulated_misses(const NicCache &cache, uint32_t qps, Access access, uint64_t seed) {
    const auto sets = static_cast<size_t>(cache.entries / cache.ways);
    const uint32_t warm = 5 * qps, measured = 10 * qps, times = qps < 100 ? 1000 : 200;
    std::mt19937_64 random(seed);
    uint64_t misses = 0;

    for (uint32_t time = 0; time < times; time++) {
        std::vector<std::vector<uint32_t>> lru(sets);
        std::vector<size_t> set_of(qps);
        for (size_t &set : set_of)
            set = random() % sets;
        for (uint32_t i = 0; i < warm + measured; i++) {
            uint32_t qp = access == Access::random ? random() % qps : i % qps;
            auto &set = lru[set_of[qp]];
            auto at = std::find(set.begin(), set.end(), qp);
            misses += at == set.end() && i >= warm;
            if (at != set.end() || set.size() == cache.ways)
                set.erase(at == set.end() ? set.begin() : at);
            set.push_back(qp);
        }
    }
    return double(misses) / (double(times) * measured);
}

void misses_are_those_of_lru_sets(void **) {
    for (Access access : {Access::random, Access::round_robin})
        for (unsigned ways : {1u, 4u, 8u, 64u})
            for (uint32_t qps : {1u, 8u, 40u, 64u, 65u, 100u, 400u}) {
                NicCache cache{.entries = 64, .miss_ns = 1, .ways = ways};
                double model = cache.miss_ratio(qps, access);
                double lru = simulated_misses(cache, qps, access, 1);
                if (std::abs(model - lru) > 0.015)
                    fail_msg("access %d, %u ways, %u QPs: %f by the model, %f by LRU", int(access),
                             ways, qps, model, lru);
            }
}

void misses_grow_from_none_to_all(void **) {
    for (Access access : {Access::random, Access::round_robin}) {
        NicCache cache{.entries = 100, .miss_ns = 1};
        double before = 0;
        assert_true(cache.miss_ratio(1, access) < 1e-12);
        for (uint32_t qps = 1; qps < most_qps; qps += 1 + qps / 8) {
            double now = cache.miss_ratio(qps, access);
            assert_true(now >= before - 1e-12 && now <= 1);
            before = now;
        }
        assert_true(before > 0.9999);
    }
}

void rates_have_their_bounds(void **) {
    assert_true(near(nic.rate(1), 1.25, 1e-12));  // one QP: 1 in 800 ns
    assert_true(near(nic.rate(2), 1.5, 1e-12));   // the line
    // All miss: 3.1 at a time, each 2050 + 580 + 2500 ns.
    assert_true(near(nic.rate(most_qps), 3100.0 / 5130, 1e-3));
    // QPs that ask for little: twice as many get twice as much, to the last.
    NicModel idle = nic;
    idle.qp_ns = 1e12;
    assert_true(near(idle.rate(most_qps), most_qps / 1e9, 1e-12));
    assert_true(near(idle.rate(most_qps / 4 + 1), (most_qps / 4 + 1) / 1e9, 1e-12));
}

void knee_is_the_last_above(void **) {
    for (double share : {0.5, 0.8, 0.9, 0.99}) {
        uint32_t at = knee(nic, share).value();
        assert_true(nic.rate(at) >= share * 1.5);
        assert_true(nic.rate(at + 1) < share * 1.5);
    }
    // Always above: there is none.
    assert_false(knee(nic, 0.4).has_value());
    NicModel fast = nic;
    fast.context.miss_ns = fast.translation.miss_ns = 1;
    assert_false(knee(fast).has_value());
    // Not far below the most.
    NicModel large = nic;
    large.context.entries = 9'000'000;
    large.translation.entries = 1e9;
    uint32_t last = knee(large, 0.9).value();
    assert_true(last > most_qps / 2 && last < most_qps);
    assert_true(large.rate(last) >= 0.9 * 1.5 && large.rate(last + 1) < 0.9 * 1.5);
    // The rate rises to the last one.
    NicModel idle = nic;
    idle.qp_ns = 1e12;
    assert_false(knee(idle).has_value());
    // Never above the rate of one QP.
    NicModel one = nic;
    one.qp_ns = 1e-3;
    one.context.entries = one.translation.entries = 1;
    one.context.ways = one.translation.ways = 1;
    assert_int_equal(knee(one).value(), 1);
}

void tokens_take_the_bytes_of_contexts(void **) {
    NicModel tokens = with_tokens(nic);

    assert_true(
        near(tokens.context.entries * token_bytes, nic.context.entries * context_bytes, 1e-12));
    assert_true(tokens.translation.entries == nic.translation.entries);
    assert_true(tokens.context.miss_ns == nic.context.miss_ns);
    // Without translation in the way, 14.5 times as many QPs.
    NicModel bare = nic;
    bare.translation.miss_ns = 1e-6;
    bare.context.miss_ns = 2500;
    bare.qp_ns = 1e-3;
    double moved = double(knee(with_tokens(bare)).value()) / knee(bare).value();
    assert_true(near(moved, 14.5, 0.05));
}

// ---- Fit

// Whose cache the smaller one is no rate tells. Tokens help if it is that of contexts.
void caches_may_be_swapped(void **) {
    const double scale = context_miss_ns / nic.translation.miss_ns;
    NicModel swapped = nic;

    swapped.work_ns *= scale;
    swapped.parallel *= scale;
    swapped.context.entries = nic.translation.entries;
    swapped.translation = {.entries = nic.context.entries, .miss_ns = context_miss_ns * scale};
    for (uint32_t qps = 1; qps <= 4000; qps++)
        assert_true(near(swapped.rate(qps), nic.rate(qps), 1e-9));
    assert_true(near(knee(swapped).value(), knee(nic).value(), 0.01));
    assert_true(knee(with_tokens(nic)).value() > 2 * knee(nic).value());
    assert_true(near(knee(with_tokens(swapped)).value(), knee(nic).value(), 0.01));
}

void nelder_mead_finds_a_bent_valley(void **) {
    // Rosenbrock's.
    auto valley = [](const Point &x) {
        return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
    };
    Minimum found = nelder_mead(valley, {-1.2, 1}, 0.5, 1e-14, 1000);

    assert_true(near(found.at[0], 1, 1e-4) && near(found.at[1], 1, 1e-4));
    assert_true(found.value == valley(found.at));
    // No step, no way.
    assert_true(nelder_mead(valley, {-1.2, 1}, 1e-9, 0, 0).value > 24.1);
}

void known_parameters_are_found(void **) {
    for (Access access : {Access::random, Access::round_robin}) {
        NicModel known = nic;
        known.access = access;
        NicFit fit = fit_nic(curve_of(known));

        assert_true(fit.mean_error < 0.002);
        assert_true(fit.model.access == access);
        assert_true(near(fit.model.line_mpps, known.line_mpps, 0.01));
        assert_true(near(fit.model.qp_ns, known.qp_ns, 0.01));
        assert_true(near(fit.model.context.entries, known.context.entries, 0.15));
        assert_true(near(fit.model.translation.entries, known.translation.entries, 0.05));
        assert_true(near(fit.model.translation.miss_ns / fit.model.parallel,
                         known.translation.miss_ns / known.parallel, 0.05));
        assert_true(near(knee(fit.model).value(), knee(known).value(), 0.05));
        assert_true(
            near(knee(with_tokens(fit.model)).value(), knee(with_tokens(known)).value(), 0.1));
    }
}

void errors_are_of_the_points(void **) {
    auto points = curve_of(nic);
    points[5].mpps *= 2;
    std::atomic<uint64_t> progress = 0;
    NicFit fit = fit_nic(points), again = fit_nic(points, &progress);
    assert_int_equal(progress, fit_steps);
    double sum = 0, most = 0;

    assert_int_equal(fit.errors.size(), points.size());
    for (size_t i = 0; i < points.size(); i++) {
        const NicFit::Error &error = fit.errors[i];
        assert_int_equal(error.qps, points[i].qps);
        assert_true(error.measured == points[i].mpps);
        assert_true(error.model == fit.model.rate(error.qps));
        assert_true(near(error.measured * (1 + error.relative), error.model, 1e-9));
        sum += std::abs(error.relative);
        most = std::max(most, std::abs(error.relative));
        assert_true(error.model == again.errors[i].model);
    }
    assert_true(near(fit.mean_error, sum / double(points.size()), 1e-9));
    assert_true(fit.max_error == most && most > 0.4);
}

void a_curve_without_a_cliff(void **) {
    std::vector<NicPoint> points;

    for (uint32_t qps = 1; qps <= 8; qps++)
        points.push_back({qps, 1});
    NicFit fit = fit_nic(points);
    assert_true(fit.mean_error < 0.01);
    assert_int_equal(measured_knee(points), 8);
}

bool is_unseen(const NicFit &fit, NicPart part) {
    return std::ranges::count(fit.unseen, part) > 0;
}

void no_parameter_is_impossible(void **) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> noise(-6, 6);
    std::vector<NicPoint> step, linear;
    std::vector<std::vector<NicPoint>> curves;

    for (uint32_t qps = 1; qps <= 2000; qps += qps < 200 ? 1 : 9)
        step.push_back({qps, qps < 100 ? 5.0 : 1.0});
    for (uint32_t qps = 1; qps <= 40; qps++)
        linear.push_back({qps, qps * 0.1});
    curves = {step, linear};
    for (int i = 0; i < 8; i++) {
        curves.emplace_back();
        for (uint32_t qps = 1; qps <= most_qps; qps *= 2)
            curves.back().push_back({qps, std::pow(10, noise(random))});
    }
    for (const auto &points : curves) {
        NicFit fit = fit_nic(points);
        const NicModel &m = fit.model;
        double top = std::ranges::max(points, {}, &NicPoint::mpps).mpps;
        assert_true(std::isfinite(fit.mean_error));
        assert_true(m.line_mpps >= 0.099 * top && m.line_mpps <= 10.01 * top);
        assert_true(m.qp_ns >= 1e-3 && m.qp_ns < 1e18);
        assert_true(m.work_ns >= 1e-3 && m.work_ns <= 1e9);
        assert_true(m.parallel >= 1e-3 && m.parallel <= 1e6);
        assert_true(m.context.entries >= 1 && m.context.entries <= m.translation.entries);
        assert_true(m.translation.entries <= most_qps);
        assert_true(m.translation.miss_ns >= 1e-3 && m.translation.miss_ns <= 1e9);
    }
    // Where rates fall at once a READ takes nearly nothing but for misses.
    auto stops = [&](NicPart part) { return std::ranges::count(fit_nic(step).stopped, part) > 0; };
    assert_false(stops(NicPart::work) || stops(NicPart::contexts));
    std::erase_if(step, [](const NicPoint &point) { return point.qps >= 200; });
    for (uint32_t qps = 200; qps < 500; qps++)
        step.push_back({qps, 1});
    assert_true(stops(NicPart::work) && !stops(NicPart::contexts));
    // However well it fits: of a straight line no link is seen, nor what work takes.
    NicFit fit = fit_nic(linear);
    assert_true(fit.mean_error < 0.01);
    assert_true(!is_unseen(fit, NicPart::one_qp) && is_unseen(fit, NicPart::link));
    assert_true(is_unseen(fit, NicPart::contexts) && is_unseen(fit, NicPart::translations));
    assert_true(is_unseen(fit_nic(step), NicPart::one_qp));
    assert_true(fit_nic(curve_of(nic)).unseen.empty());
    assert_false(fit_nic(curve_of(nic)).one_drop);
    // One cache, of 100 contexts: it could be that of translations.
    std::vector<NicPoint> one;
    for (uint32_t qps = 1; qps < 6000; qps += 1 + qps / 8)
        one.push_back({qps, std::min(2.0, 0.3 / (0.05 + std::max(0.0, 1 - 100.0 / qps) * 0.58))});
    assert_true(fit_nic(one).one_drop);
}

// Rates counted in another unit are of the same NIC.
void the_unit_does_not_matter(void **) {
    const std::vector<NicPoint> points = {{1, 0.5},  {2, 0.9},  {4, 1.5},   {8, 1.5},   {16, 1.5},
                                          {32, 1.4}, {64, 1.2}, {128, 1.0}, {256, 0.7}, {512, 0.6}};
    NicFit fit = fit_nic(points);

    for (double unit : {1e-3, 20.0, 1e3}) {
        std::vector<NicPoint> others = points;
        for (NicPoint &point : others)
            point.mpps *= unit;
        NicFit other = fit_nic(others);
        assert_true(near(other.mean_error, fit.mean_error, 0.02));
        assert_true(near(other.model.line_mpps, unit * fit.model.line_mpps, 0.01));
        assert_true(near(knee(other.model).value(), knee(fit.model).value(), 0.05));
        assert_true(near(knee(with_tokens(other.model)).value(),
                         knee(with_tokens(fit.model)).value(), 0.05));
    }
}

void the_measured_curve(void **) {
    const char *folder = getenv("DS_TRACES");
    std::ifstream file;

    if (folder && *folder)
        file.open(std::string(folder) + "/nic_qp_cliff.csv");
    if (!file.is_open()) {
        print_message("skipped: DS_TRACES is no folder with nic_qp_cliff.csv\n");
        skip();
    }
    std::string csv{std::istreambuf_iterator<char>(file), {}};
    auto points = parse_nic_curve(csv).or_throw().points;
    assert_int_equal(points.size(), 94);
    NicFit fit = fit_nic(points);
    uint32_t now = knee(fit.model).value(), then = knee(with_tokens(fit.model)).value();
    print_message(
        "error %.2f %% on average, %.2f %% at most; knee %u measured, %u by the model, %u "
        "with tokens\n",
        100 * fit.mean_error, 100 * fit.max_error, measured_knee(points), now, then);
    assert_true(fit.mean_error <= 0.0135 && fit.unseen.empty());
    assert_true(fit.max_error <= 0.1);
    assert_true(near(now, measured_knee(points), 0.15));
    assert_true(then >= 8 * now);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(bad_lines),
        cmocka_unit_test(the_same_qps_twice),
        cmocka_unit_test(too_few_points),
        cmocka_unit_test(good_lines),
        cmocka_unit_test(names_of_the_other_column),
        cmocka_unit_test(misses_are_those_of_lru_sets),
        cmocka_unit_test(misses_grow_from_none_to_all),
        cmocka_unit_test(rates_have_their_bounds),
        cmocka_unit_test(knee_is_the_last_above),
        cmocka_unit_test(tokens_take_the_bytes_of_contexts),
        cmocka_unit_test(caches_may_be_swapped),
        cmocka_unit_test(nelder_mead_finds_a_bent_valley),
        cmocka_unit_test(known_parameters_are_found),
        cmocka_unit_test(errors_are_of_the_points),
        cmocka_unit_test(a_curve_without_a_cliff),
        cmocka_unit_test(no_parameter_is_impossible),
        cmocka_unit_test(the_unit_does_not_matter),
        cmocka_unit_test(the_measured_curve),
    };

    return cmocka_run_group_tests_name("user_sim_nic", tests, nullptr, nullptr);
}

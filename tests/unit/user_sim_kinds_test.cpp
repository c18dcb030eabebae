// SPDX-License-Identifier: Apache-2.0
// Kinds of objects in runs: classes of entries, and types of tokens.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <ds/token.h>

#include "user_sim_run.hpp"

namespace {

using namespace simtest;

// ---- Classes

void bad_classes(void **) {
    for (const char *text :
         {"", "frob:100", "token", "token:", "token:0", "token:101", "token:99", "token:60,wqe:41",
          "token:100,wqe:1", "token:100,", "token:1e2", "token:300,wqe:56", ":100"}) {
        auto error = error_of([&] { ClassShares::parse(text); });
        assert_int_equal(error.code, EINVAL);
        assert_true(has(error.remedy, "doorbell"));
    }
    assert_true(ClassShares::parse("token:100").only_tokens());
    assert_false(ClassShares::parse("wqe:100").only_tokens());
}

void classes_keep_to_their_tiers(void **) {
    Trace trace = zipf(500, 100'000, 0.2);
    RunOptions options;
    options.l1 = 100;
    options.l2 = 1;
    for (const EntryClass &kind : entry_classes) {
        options.classes = ClassShares::parse(std::string(kind.name) + ":100");
        RunOptions with_batch = options;
        with_batch.set("PREFETCH_BATCH_THRESHOLD", 4);
        RunResult r;
        for (const RunOptions &each : {with_batch, options}) {
            r = run(trace, each);
            assert_conserved(trace, r);
            assert_int_equal(r.found[1] > 0, kind.in_l1);
            assert_int_equal(r.moved[1] > 0, kind.in_l1);
            assert_int_equal(r.found[2] > 0, kind.in_l2);
            assert_int_equal(r.moved[2] > 0, kind.in_l2);
            // All tokens are what they are without classes.
            size_t place = static_cast<size_t>(&kind - entry_classes.data());
            assert_int_equal(r.kinds.empty(), place == 0);
            assert_true(place == 0 || (r.kinds[place].name == kind.name &&
                                       r.kinds[place].objects == trace.uniques &&
                                       r.kinds[place].found == r.found));
        }
        assert_int_equal(r.pcie.bytes, uint64_t(kind.bytes) * r.pcie.operations);
        assert_int_equal(r.cxl.bytes, uint64_t(kind.bytes) * r.cxl.operations);
    }
    // Side by side: whoever moves is of a class that may be there.
    options.classes = ClassShares::parse("token:30,doorbell:10,wqe:10,qp:20,index:10,history:20");
    std::string text;
    EventLog log(to(text));
    RunResult r = run(trace, options, &log);
    log.finish();
    assert_conserved(trace, r);
    std::map<uint64_t, uint32_t> object_of;
    for (uint32_t object = 0; object < trace.uniques; object++)
        object_of[trace.keys.empty() ? object : trace.keys[object]] = object;
    std::istringstream lines(text);
    std::array<uint64_t, 4> moved{};
    for (std::string line; std::getline(lines, line);) {
        uint64_t token = 0;
        unsigned to = 0;
        if (has(line, "expand"))
            continue;
        assert_int_equal(sscanf(line.c_str() + line.find("\"token\""),
                                "\"token\":%lu,\"from\":%*u,\"to\":%u", &token, &to),
                         2);
        const EntryClass &kind =
            entry_classes.at(options.classes.of(Random(options.seed), object_of.at(token)));
        assert_true(to == 3 || (to == 2 ? kind.in_l2 : kind.in_l1));
        moved.at(to)++;
    }
    assert_true(moved == r.moved);
    assert_true(moved[1] > 0 && moved[2] > 0 && moved[3] > 0);
}

void shares_of_classes(void **) {
    ClassShares shares = ClassShares::parse("token:50,qp:30,history:20");
    std::array<uint64_t, entry_classes.size()> counts{};
    Random random(seed);

    for (uint32_t object = 0; object < 100'000; object++)
        counts.at(shares.of(random, object))++;
    assert_true(std::llabs(int64_t(counts[0]) - 50'000) < 600);
    assert_true(std::llabs(int64_t(counts[3]) - 30'000) < 600);
    assert_true(std::llabs(int64_t(counts[5]) - 20'000) < 600);
    assert_int_equal(counts[1] + counts[2] + counts[4], 0);
}

// ---- Types

uint64_t handle(ds_token_type type, uint32_t index, uint32_t generation = 1) {
    return uint64_t(type) << DS_TOKEN_TYPE_OFF | uint64_t(generation) << DS_TOKEN_GEN_OFF | index;
}

// One PD, which is asked for once, two QPs, and a skew of MRs.
Trace of_tokens() {
    Trace trace = zipf(50, 20'000);

    trace.keys.clear();
    for (uint32_t object = 0; object < trace.uniques; object++)
        trace.keys.push_back(handle(DS_TOKEN_MR, object));
    for (uint32_t i = 0; i < 3; i++) {
        trace.requests.emplace_back(trace.uniques++, Operation::read);
        trace.keys.push_back(handle(i ? DS_TOKEN_QP : DS_TOKEN_PD, 100 + i, 255));
    }
    for (uint32_t i = 0; i < 6; i++)
        trace.requests.emplace_back(trace.uniques - 1, Operation::write);
    trace.format = Format::ds;
    return trace;
}

void types_of_tokens(void **) {
    const Trace trace = of_tokens();
    RunOptions optimistic, blocking, batch;
    optimistic.l1 = 16;
    optimistic.l2 = 0;
    blocking = batch = optimistic;
    blocking.mode = Mode::blocking;
    batch.set("PREFETCH_BATCH_THRESHOLD", 4);

    for (const RunOptions &options : {optimistic, blocking, batch}) {
        RunResult r = run(trace, options);
        assert_conserved(trace, r);
        assert_int_equal(r.kinds.size(), 4);
        const Kind &pd = r.kinds[0], &mr = r.kinds[1], &cq = r.kinds[2], &qp = r.kinds[3];
        assert_true(pd.name == "pd" && mr.name == "mr" && cq.name == "cq" && qp.name == "qp");
        assert_true(pd.objects == 1 && mr.objects == 50 && cq.objects == 0 && qp.objects == 2);
        assert_true(pd.found[3] == 1 && pd.accesses() == 1);
        assert_true(mr.accesses() == 20'000 && mr.found[1] > 5'000 && mr.found[2] == 0);
        assert_true(cq.accesses() == 0);
        assert_true(qp.accesses() == 8 && qp.found[3] >= 2);
    }
}

void who_has_no_type(void **) {
    Trace trace = of_tokens();
    RunOptions options;

    assert_false(run(trace, options).kinds.empty());
    trace.keys[7] = handle(DS_TOKEN_MR, 7, 0);
    assert_true(run(trace, options).kinds.empty());
    trace.keys[7] = handle(DS_TOKEN_MR, 7) | uint64_t(1) << 32;
    assert_true(run(trace, options).kinds.empty());
    trace = of_tokens();
    trace.format = Format::csv;
    assert_true(run(trace, options).kinds.empty());
    trace.format = Format::ds;
    trace.keys.clear();
    assert_true(run(trace, options).kinds.empty());
    // Classes come first: they say what the entries are.
    trace = of_tokens();
    options.classes = ClassShares::parse("token:50,wqe:50");
    assert_true(run(trace, options).kinds.at(0).name == "token");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(bad_classes),       cmocka_unit_test(classes_keep_to_their_tiers),
        cmocka_unit_test(shares_of_classes), cmocka_unit_test(types_of_tokens),
        cmocka_unit_test(who_has_no_type),
    };

    print_message("# seed %lu\n", seed);
    return cmocka_run_group_tests_name("user_sim_kinds", tests, nullptr, nullptr);
}

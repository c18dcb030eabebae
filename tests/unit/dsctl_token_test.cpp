// SPDX-License-Identifier: Apache-2.0
// When dsctl takes a device's counters for those of one that has come back; what it says of
// parameters.
#include "../../user/tools/dsctl/token.hpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

using dsctl::TokenCounters;

namespace {

TokenCounters counters() {
    TokenCounters counters{{{"hits_l1", 500}, {"hits_l3", 900}, {"foreign", 7}, {"tokens_l1", 9}},
                           {{"look_ns_l1", {}}}};

    counters.times["look_ns_l1"].fill(5);
    return counters;
}

void counts_that_go_on(void **) {
    TokenCounters before = counters(), now = counters();

    assert_false(dsctl::has_begun_anew(before, now));
    now.values["hits_l1"]++;
    now.times["look_ns_l1"][3]++;
    now.values["another"] = 1;
    assert_false(dsctl::has_begun_anew(before, now));
    // How many there are now is no counter.
    now.values["foreign"] = 0;
    now.values["tokens_l1"] = 8;
    assert_false(dsctl::has_begun_anew(before, now));
    assert_false(dsctl::has_begun_anew({}, now));
    assert_false(dsctl::has_begun_anew(before, {}));
}

/// All others may have grown.
void one_has_fallen(void **) {
    TokenCounters now = counters();

    for (auto &[name, value] : now.values)
        value += 1000;
    now.values["hits_l3"] = 899;
    assert_true(dsctl::has_begun_anew(counters(), now));
    now.values["hits_l3"] = 900;
    assert_false(dsctl::has_begun_anew(counters(), now));
    now.times["look_ns_l1"].fill(6);
    now.times["look_ns_l1"].back() = 4;
    assert_true(dsctl::has_begun_anew(counters(), now));
}

/// Who is no administrator gets no note of a share from the module; there may be many shares.
void a_share_says_whose_it_is(void **) {
    dsctl::nl::Message parameter(DS_CMD_TOKEN_PARAM_GET);

    parameter.put(dsctl::attr::name, "SHARE_MIN").put(dsctl::attr::setting, uint64_t{50});
    assert_string_equal(dsctl::parameter_note(parameter).c_str(), "");
    parameter.put(dsctl::attr::domain, uint32_t{7});
    assert_string_equal(dsctl::parameter_note(parameter).c_str(), "domain 7");
    parameter.put(dsctl::attr::reason, "domain 7 has 5 slots");
    assert_string_equal(dsctl::parameter_note(parameter).c_str(), "domain 7 has 5 slots");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(counts_that_go_on),
        cmocka_unit_test(one_has_fallen),
        cmocka_unit_test(a_share_says_whose_it_is),
    };

    return cmocka_run_group_tests_name("dsctl_token", tests, nullptr, nullptr);
}

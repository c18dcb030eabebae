// SPDX-License-Identifier: Apache-2.0
// Traces that are too large for who wants them.
#include <cerrno>

#include "user_sim_files.hpp"

namespace {

using namespace simtest;

/// A line of requests is known to need too much before it is expanded; and others, when they do.
void little_memory(void **) {
    Folder folder;
    auto code = [&](const std::string &content, uint64_t memory) {
        return refused(folder.file(content), {.memory = memory}).code;
    };

    assert_int_equal(code("0 1000000000 0 0\n", uint64_t(40) << 30), ENOMEM);
    assert_int_equal(code("1\n2\n3\n4\n", 100), ENOMEM);
    assert_int_equal(code("1,r,1\n1,r,2\n1,r,3\n1,r,4\n", 100), ENOMEM);
    // Objects that come again take no room again.
    std::string again = folder.file("0 1000 0 0\n0 1000 0 0\n");
    assert_int_equal(read_trace(again, {.memory = 85'000}).uniques, 1000);
    assert_int_equal(refused(again, {.memory = 75'000}).code, ENOMEM);
}

void too_many_objects(void **) {
    Folder folder;
    ReadOptions two{.objects = {2, "the test", "Take fewer."}};

    assert_int_equal(read_trace(folder.file("7\n9\n7\n"), two).uniques, 2);
    for (const char *content : {"7\n9\n8\n", "7\n9\n8\nx\n", "7 3 0 0\nx\n"}) {
        auto error = refused(folder.file(content), two);
        assert_int_equal(error.code, EBADMSG);
        assert_true(has(error.sentence, "more than 2 objects, for which the test has no indices"));
        assert_true(error.remedy == "Take fewer.");
    }
    // Of a line of requests that is known before one is read.
    ReadOptions little = two;
    little.memory = 100;
    assert_int_equal(refused(folder.file("7 1000 0 0\n"), little).code, EBADMSG);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(little_memory),
        cmocka_unit_test(too_many_objects),
    };

    return cmocka_run_group_tests_name("user_sim_limits", tests, nullptr, nullptr);
}

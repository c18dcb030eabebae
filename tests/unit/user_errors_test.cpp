// SPDX-License-Identifier: Apache-2.0
// The table of errors has words for every errno that DS can return: those of
// the contract in include/uapi, and those that the kernel module's code names.
// That commands and parameters in them exist is dsctl_words_test's business.
#include <ds/error.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "abi/errors.hpp"
#include "user_cmocka.hpp"

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path &path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

bool is_name(char c) {
    return isupper(c) || isdigit(c);
}

// Names such as EINVAL that stand behind one of `before`, in .c and .h files.
std::set<std::string> find(const fs::path &folder, std::string_view before) {
    std::set<std::string> found;
    for (auto &entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() != ".h" && entry.path().extension() != ".c")
            continue;
        std::string text = read(entry.path());
        for (size_t at = text.find('E', 1); at != text.npos; at = text.find('E', at + 1)) {
            auto end = std::find_if_not(text.begin() + at, text.end(), is_name);
            std::string name(text.begin() + at, end);
            bool whole = end == text.end() || (*end != '_' && !islower(*end));
            if (name.size() >= 3 && whole && before.find(text[at - 1]) != before.npos)
                found.insert(name);
        }
    }
    return found;
}

std::set<std::string> names_in_table() {
    std::set<std::string> names;
    for (int code = 1; code < 4096; code++)
        names.insert(ds_errname(code));
    return names;
}

void expect_all(const std::set<std::string> &used) {
    std::set<std::string> table = names_in_table();
    for (auto &name : used)
        if (!table.count(name))
            fail_msg("%s is returned and has no words in user/lib/abi/errors.cpp", name.c_str());
}

void the_contract_is_covered(void **) {
    // " *  - EINVAL: ..." and " * -EEXIST ..." in comments.
    auto used = find(UNIT_SOURCE_DIR "/include/uapi/ds", "- (");
    used.erase("EPOLLIN");
    assert_true(used.count("EDQUOT") && used.count("ESTALE") && used.count("ECONNREFUSED"));
    expect_all(used);
}

void the_module_is_covered(void **) {
    auto used = find(UNIT_SOURCE_DIR "/kernel", "-");
    assert_true(used.count("EINVAL"));
    used.erase("ERESTARTSYS");  // the kernel's own, never seen by a program
    expect_all(used);
}

void every_entry_reads_well(void **) {
    int entries = 0;
    for (int code = 1; code < 4096; code++) {
        if (!strcmp(ds_errname(code), "UNKNOWN"))
            continue;
        entries++;
        for (const char *text : {ds_strerror(code), ds_remedy(code)}) {
            size_t length = strlen(text);
            assert_in_range(length, 10, 200);
            assert_int_equal(text[length - 1], '.');
            assert_false(islower(text[0]) && strncmp(text, "errno", 5));
        }
        // The name is the number's.
        assert_string_equal(ds_errname(code), strerrorname_np(code));
    }
    assert_true(entries >= 35);
}

void signs_and_strangers(void **) {
    assert_string_equal(ds_strerror(-EBADF), ds_strerror(EBADF));
    assert_string_equal(ds_remedy(-EBADF), ds_remedy(EBADF));
    assert_string_equal(ds_errname(-EBADF), "EBADF");
    assert_string_equal(ds_strerror(0), "Success.");
    assert_string_equal(ds_remedy(0), "");
    assert_string_equal(ds_errname(3999), "UNKNOWN");
    assert_true(strlen(ds_strerror(3999)) > 0);
    assert_true(strlen(ds_remedy(INT32_MIN)) > 0);
}

void what_may_pass(void **) {
    for (int code : {ENOTCONN, ENODEV, ETIMEDOUT, ECANCELED, EAGAIN, EBUSY})
        assert_true(ds::is_transient(-code));
    for (int code : {0, EINVAL, EACCES, ERANGE, ESTALE, EBADF, EREMOTEIO, ENOENT, 3999})
        assert_false(ds::is_transient(-code));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_contract_is_covered),
        cmocka_unit_test(the_module_is_covered),
        cmocka_unit_test(every_entry_reads_well),
        cmocka_unit_test(signs_and_strangers),
        cmocka_unit_test(what_may_pass),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// dsctl's JSON values as text.
#include <cmath>
#include <limits>

#include "../../user/tools/dsctl/json.cpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// Last: it makes a macro of the word "fail".
extern "C" {
#include <cmocka.h>
}

using dsctl::Json;

namespace {

#define expect(json, text) assert_string_equal(Json(json).dump().c_str(), text)

void scalars(void **) {
    expect(nullptr, "null");
    expect(true, "true");
    expect(false, "false");
    expect(0, "0");
    expect(-1, "-1");
    expect(UINT64_MAX, "18446744073709551615");
    expect(INT64_MIN, "-9223372036854775808");
    expect(uint8_t{65}, "65");
    expect(0.5, "0.5");
    expect(1e300, "1e+300");
    expect(std::nan(""), "null");
    expect(-std::numeric_limits<double>::infinity(), "null");
    expect("text", "\"text\"");
    expect(std::string("text"), "\"text\"");
}

void containers(void **) {
    Json array = Json::array();
    assert_true(array.empty());
    expect(array, "[]");
    expect(Json::object(), "{}");
    array.push_back(1);
    array.push_back({{"a", 2}});
    array.push_back(Json::array());
    assert_false(array.empty());
    expect(array, "[1,{\"a\":2},[]]");
    assert_string_equal(array.dump(true).c_str(), "[\n  1,\n  {\n    \"a\": 2\n  },\n  []\n]");
}

void members_keep_their_order(void **) {
    Json object{{"z", 1}, {"a", "x"}};
    object["m"] = nullptr;
    object["z"] = 2;
    expect(object, "{\"z\":2,\"a\":\"x\",\"m\":null}");
    object.update({{"a", 5}, {"new", true}});
    expect(object, "{\"z\":2,\"a\":5,\"m\":null,\"new\":true}");
    assert_int_equal(object.members().size(), 4);
    assert_int_equal(Json(7).members().size(), 0);
    assert_string_equal(object["new"].text().c_str(), "true");
    assert_string_equal(Json("plain").text().c_str(), "plain");
}

void strings_are_escaped(void **) {
    expect("a\"b\\c", "\"a\\\"b\\\\c\"");
    expect(
        "line\nnull\x01"
        "del\x7f",
        "\"line\\u000anull\\u0001del\\u007f\"");
    expect(std::string("\0x", 2), "\"\\u0000x\"");
    // C1 commands a terminal as C0 does.
    expect("\xc2\x80\xc2\x9b[2J\xc2\x9f\xc2\xa0", "\"\\u0080\\u009b[2J\\u009f\xc2\xa0\"");
    expect("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa7",
           "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa7\"");
    expect((Json{{"a\"b", 1}}), "{\"a\\\"b\":1}");
}

void what_is_not_utf8_is_replaced(void **) {
#define BAD "\xef\xbf\xbd"
    expect("\xff", "\"" BAD "\"");
    expect("a\x80z", "\"a" BAD "z\"");
    expect("cut\xe2\x82", "\"cut" BAD BAD "\"");
    expect("\xc0\xaf", "\"" BAD BAD "\"");                  // overlong
    expect("\xe0\x80\xaf", "\"" BAD BAD BAD "\"");          // overlong
    expect("\xf0\x80\x80\xaf", "\"" BAD BAD BAD BAD "\"");  // overlong
    expect("\xed\xa0\x80", "\"" BAD BAD BAD "\"");          // surrogate
    expect("\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\"");  // above U+10FFFF
    expect("\xc3(", "\"" BAD "(\"");
    expect("\xed\x9f\xbf\xf4\x8f\xbf\xbf", "\"\xed\x9f\xbf\xf4\x8f\xbf\xbf\"");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(scalars),
        cmocka_unit_test(containers),
        cmocka_unit_test(members_keep_their_order),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(what_is_not_utf8_is_replaced),
    };

    return cmocka_run_group_tests_name("dsctl_json", tests, nullptr, nullptr);
}

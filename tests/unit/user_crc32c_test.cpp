// SPDX-License-Identifier: Apache-2.0
// CRC32C: the values of RFC 3720, and each way against the portable core's.
#include "user_cmocka.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "fabric/crc32c.hpp"

extern "C" {
#include <shim.h>
}

namespace {

using Bytes = std::vector<std::byte>;

uint32_t reference(uint32_t crc, std::span<const std::byte> data) {
    return crc32c(crc, data.data(), static_cast<unsigned>(data.size()));
}

void values_of_the_standard(void **) {
    Bytes zeros(32), ones(32, std::byte{0xff}), digits;
    for (char c : {'1', '2', '3', '4', '5', '6', '7', '8', '9'})
        digits.push_back(static_cast<std::byte>(c));
    auto ways = ds::crc32c_ways();
    ways.push_back(ds::crc32c_update);
    for (ds::Crc32c crc : ways) {
        assert_int_equal(~crc(~0u, zeros), 0x8a9136aa);
        assert_int_equal(~crc(~0u, ones), 0x62a8ab43);
        assert_int_equal(~crc(~0u, digits), 0xe3069283);
        assert_int_equal(crc(77, {}), 77);
    }
}

void all_are_the_same_at_any_length_and_place(void **) {
    std::mt19937_64 random(1);
    Bytes bytes(300);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
    for (size_t skip = 0; skip < 9; skip++)
        for (size_t length = 0; length < 200; length++) {
            auto part = std::span(bytes).subspan(skip, length);
            auto seed = static_cast<uint32_t>(random());
            auto head = part.first(length / 3), tail = part.subspan(length / 3);
            for (ds::Crc32c crc : ds::crc32c_ways()) {
                assert_int_equal(crc(seed, part), reference(seed, part));
                assert_int_equal(crc(crc(seed, head), tail), crc(seed, part));
            }
        }
}

// Those that are long are taken in three lanes.
void long_ones(void **) {
    std::mt19937_64 random(2);
    Bytes bytes(5 * 3 * 4096 + 11);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
    for (size_t length : {3 * 4096 - 1, 3 * 4096, 3 * 4096 + 9, 6 * 4096 + 1, 5 * 3 * 4096 + 5})
        for (size_t skip : {0, 1, 6}) {
            auto part = std::span(bytes).subspan(skip, length);
            auto seed = static_cast<uint32_t>(random());
            for (ds::Crc32c crc : ds::crc32c_ways())
                assert_int_equal(crc(seed, part), reference(seed, part));
        }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(values_of_the_standard),
        cmocka_unit_test(all_are_the_same_at_any_length_and_place),
        cmocka_unit_test(long_ones),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

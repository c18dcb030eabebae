// SPDX-License-Identifier: Apache-2.0
// dsctl's arithmetic: where the bytes of a file lie, sizes, the fill pattern.
#include <cerrno>
#include <map>
#include <set>
#include <vector>

#include "../../user/tools/dsctl/error.cpp"
#include "../../user/tools/dsctl/extent.cpp"
#include "../../user/tools/dsctl/json.cpp"
#include "../../user/tools/dsctl/map.cpp"
#include "../../user/tools/dsctl/pattern.hpp"
#include "../../user/tools/dsctl/units.cpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// Last: it makes a macro of the word "fail".
extern "C" {
#include <cmocka.h>
}

using namespace dsctl;

namespace {

constexpr uint64_t mib = 1 << 20;
constexpr Map two{2, 24};  // two servers of 16 MiB
constexpr Map three{3, 24};

// The errno that the constructor throws, 0 if it throws none.
int refused(const Map &map, uint64_t start, uint64_t length, uint64_t stripe) {
    try {
        Extent extent(map, start, length, stripe);
        return 0;
    } catch (const Error &error) {
        return error.errnum;
    }
}

// Walks a run in pieces and checks that no byte of the space is used twice,
// that each piece is on one server, and that the pieces add up.
void walk(const Map &map, uint64_t start, uint64_t length, uint64_t stripe, uint64_t max) {
    Extent extent(map, start, length, stripe);
    std::map<uint64_t, uint64_t> used;  // end of a piece -> its start
    uint64_t done = 0;

    while (done < length) {
        Extent::Piece piece = extent.piece(done, max);
        assert_true(piece.length > 0 && piece.length <= max);
        assert_int_equal(map.place(piece.address).server,
                         map.place(piece.address + piece.length - 1).server);
        auto next = used.upper_bound(piece.address);
        assert_true(next == used.end() || next->second >= piece.address + piece.length);
        used[piece.address + piece.length] = piece.address;
        done += piece.length;
    }
    assert_int_equal(done, length);
}

void contiguous_crosses_servers(void **) {
    Extent extent(two, two.base() + 15 * mib, 3 * mib, 0);

    Extent::Piece piece = extent.piece(0, 8 * mib);
    assert_int_equal(piece.address, two.base() + 15 * mib);
    assert_int_equal(piece.length, mib);
    piece = extent.piece(mib, 8 * mib);
    assert_int_equal(piece.address, two.base(1));
    assert_int_equal(piece.length, 2 * mib);
    walk(two, two.base() + 15 * mib + 7, 3 * mib + 5, 0, 4096);
}

void contiguous_fits_exactly(void **) {
    assert_int_equal(refused(two, two.base(), 32 * mib, 0), 0);
    assert_int_equal(refused(two, two.base(), 32 * mib + 1, 0), ERANGE);
    assert_int_equal(refused(two, two.last(), 1, 0), 0);
    assert_int_equal(refused(two, two.last(), 2, 0), ERANGE);
    assert_int_equal(refused(two, two.base() - 1, 1, 0), ERANGE);
    assert_int_equal(refused(two, two.last() + 1, 1, 0), ERANGE);
    assert_int_equal(refused(two, two.base() + 1, UINT64_MAX, 0), ERANGE);
}

void stripes_go_round(void **) {
    // Stripe n is on server n % 3, at row n / 3.
    Extent extent(three, three.base() + 0x200000, 10 * 65536 + 100, 65536);

    for (uint64_t n = 0; n <= 10; n++) {
        Extent::Piece piece = extent.piece(n * 65536, mib);
        assert_int_equal(piece.address,
                         three.base(static_cast<uint32_t>(n % 3)) + 0x200000 + n / 3 * 65536);
        assert_int_equal(piece.length, n < 10 ? 65536 : 100);
    }
    Extent::Piece middle = extent.piece(3 * 65536 + 10, mib);
    assert_int_equal(middle.address, three.base() + 0x200000 + 65536 + 10);
    assert_int_equal(middle.length, 65536 - 10);
    walk(three, three.base() + 0x200000, 5 * mib + 3, 65536, mib);
    walk(three, three.base(), 48 * mib, mib, 4 * mib);
}

void stripes_begin_at_any_server(void **) {
    Extent extent(three, three.base(2) + 4096, 4 * mib, mib);

    assert_int_equal(extent.piece(0, mib).address, three.base(2) + 4096);
    assert_int_equal(extent.piece(mib, mib).address, three.base(0) + 4096);
    assert_int_equal(extent.piece(3 * mib, mib).address, three.base(2) + 4096 + mib);
    walk(three, three.base(2) + 4096, 9 * mib, mib, mib);
}

void stripes_fit_exactly(void **) {
    assert_int_equal(refused(three, three.base(), 48 * mib, mib), 0);
    assert_int_equal(refused(three, three.base(), 48 * mib + 1, mib), ERANGE);
    // From 1 MiB on each server has room for 15 stripes of 1 MiB, 7 of 2 MiB.
    assert_int_equal(refused(three, three.base() + mib, 45 * mib, mib), 0);
    assert_int_equal(refused(three, three.base() + mib, 45 * mib + 1, mib), ERANGE);
    assert_int_equal(refused(three, three.base() + mib, 42 * mib, 2 * mib), 0);
    assert_int_equal(refused(three, three.base() + mib, 42 * mib + 1, 2 * mib), ERANGE);
    assert_int_equal(refused(three, three.base() + 1, 1, 16 * mib), ERANGE);
}

void sizes(void **) {
    assert_true(parse_size("4096") == 4096);
    assert_true(parse_size("0x1000") == 4096);
    assert_true(parse_size("64K") == 65536);
    assert_true(parse_size("64k") == 65536);
    assert_true(parse_size("1Mi") == mib);
    assert_true(parse_size("1GiB") == 1024 * mib);
    assert_true(parse_size("5B") == 5);
    assert_true(parse_size("16777215T") == 16777215 * (mib << 20));
    for (const char *wrong : {"", "K", "1.5G", "1KB", "-1", "0x", "1 K", "16777216T", "1P", "1Kx",
                              "18446744073709551616", "0x1K"})
        assert_false(parse_size(wrong).has_value());
}

void numbers_and_times(void **) {
    assert_true(parse_number("0xffffffffffffffff") == UINT64_MAX);
    assert_false(parse_number("0x10000000000000000").has_value());
    assert_false(parse_number("-1").has_value());
    assert_false(parse_number("+1").has_value());
    assert_true(parse_word("-1") == UINT64_MAX);
    assert_true(parse_word("-9223372036854775808") == uint64_t(1) << 63);
    assert_false(parse_word("-9223372036854775809").has_value());
    assert_false(parse_word("--1").has_value());
    assert_true(parse_duration("250") == 250);
    assert_true(parse_duration("10s") == 10000);
    assert_true(parse_duration("2m") == 120000);
    assert_false(parse_duration("2h").has_value());
    assert_false(parse_duration("18446744073709551615s").has_value());
    assert_string_equal(bytes_text(16 * mib).c_str(), "16 MiB");
    assert_string_equal(bytes_text(1536).c_str(), "1.5 KiB");
    assert_string_equal(bytes_text(0).c_str(), "0 B");
}

void pattern_of_any_part(void **) {
    std::vector<std::byte> whole(1000), part(1000);

    pattern_fill(7, 0x10000003, whole);
    for (size_t from : {0, 1, 5, 13, 64, 999}) {
        size_t length = whole.size() - from;
        pattern_fill(7, 0x10000003 + from, std::span(part).first(length));
        assert_memory_equal(part.data(), whole.data() + from, length);
    }
    // The bytes of the words, lowest first.
    pattern_fill(7, 0x10000000, part);
    for (size_t i = 0; i < part.size(); i++)
        assert_int_equal(static_cast<uint8_t>(part[i]),
                         pattern_word(7, 0x10000000 + i / 8 * 8) >> (i % 8 * 8) & 0xff);
    // Another seed, or another address, gives other bytes.
    pattern_fill(8, 0x10000003, part);
    assert_memory_not_equal(part.data(), whole.data(), part.size());
    pattern_fill(7, 0x10000003 + 8, part);
    assert_memory_not_equal(part.data(), whole.data(), part.size());
}

void exits_of_errnos(void **) {
    assert_true(exit_of(ENOENT) == Exit::not_found);
    assert_true(exit_of(EEXIST) == Exit::exists);
    assert_true(exit_of(EBUSY) == Exit::exists);
    assert_true(exit_of(EPERM) == Exit::permission);
    assert_true(exit_of(EACCES) == Exit::permission);
    assert_true(exit_of(EOPNOTSUPP) == Exit::unsupported);
    assert_true(exit_of(ETIMEDOUT) == Exit::timeout);
    assert_true(exit_of(ENOTCONN) == Exit::unreachable);
    assert_true(exit_of(ENODEV) == Exit::unreachable);
    assert_true(exit_of(EINVAL) == Exit::failed);
    assert_true(exit_of(0) == Exit::failed);
    assert_string_equal(from_errno("KRN", ENOENT, "x").code.c_str(), "DS-KRN-002");
    assert_true(from_errno("KRN", ENOENT, "x").remedy.size() > 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(contiguous_crosses_servers),
        cmocka_unit_test(contiguous_fits_exactly),
        cmocka_unit_test(stripes_go_round),
        cmocka_unit_test(stripes_begin_at_any_server),
        cmocka_unit_test(stripes_fit_exactly),
        cmocka_unit_test(sizes),
        cmocka_unit_test(numbers_and_times),
        cmocka_unit_test(pattern_of_any_part),
        cmocka_unit_test(exits_of_errnos),
    };

    return cmocka_run_group_tests_name("dsctl_extent", tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// dsmasterd's map of free space: against a plain one, and at its limits.
#include "space_map.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "user_cmocka.hpp"

namespace {

using ds::store::Division;
using ds::store::offset_of;
using ds::store::server_of;
using ds::store::wire::Location;
using dsmasterd::FreeExtents;
using dsmasterd::SpaceMap;

constexpr uint64_t unit = 4096, first = 16 * unit, end = 272 * unit;

void pieces_join_again(void **) {
    FreeExtents free(first, end);
    assert_int_equal(free.total(), end - first);
    std::vector<uint64_t> taken;
    while (auto offset = free.take(unit))
        taken.push_back(*offset);
    assert_int_equal(taken.size(), 256);
    assert_int_equal(free.free(), 0);
    assert_int_equal(free.largest(), 0);
    std::shuffle(taken.begin(), taken.end(), std::mt19937_64(1));
    for (uint64_t offset : taken)
        free.give(offset, unit);
    assert_int_equal(free.largest(), free.total());
    assert_int_equal(free.free(), free.total());
}

void the_smallest_that_fits(void **) {
    FreeExtents free(first, end);
    assert_true(free.take_at(first + 2 * unit, unit));  // leaves 2 and the rest
    assert_int_equal(*free.take(2 * unit), first);
    assert_false(free.take(end - first).has_value());
    assert_false(free.take_at(first, unit));
    assert_false(free.take_at(first - unit, unit));
    assert_false(free.take_at(end, unit));
    assert_false(free.take_at(end - unit, 2 * unit));
    assert_false(free.take_at(UINT64_MAX, 2));
    assert_true(free.take_at(end - unit, unit));
}

void against_a_plain_map(void **) {
    std::mt19937_64 random(7);
    FreeExtents free(first, end);
    std::vector<bool> used(end / unit, false);
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (int i = 0; i < 100000; i++) {
        if (random() % 2 && !taken.empty()) {
            std::swap(taken[random() % taken.size()], taken.back());
            auto [offset, length] = taken.back();
            taken.pop_back();
            free.give(offset, length);
            std::fill_n(used.begin() + static_cast<long>(offset / unit), length / unit, false);
            continue;
        }
        uint64_t length = (1 + random() % 20) * unit;
        auto offset = free.take(length);
        uint64_t longest = 0, run = 0, sum = 0;
        for (uint64_t u = first / unit; u < end / unit; u++) {
            run = used[u] ? 0 : run + 1;
            longest = std::max(longest, run);
            sum += !used[u];
        }
        assert_int_equal(offset.has_value(), longest * unit >= length);
        if (!offset)
            continue;
        assert_true(*offset >= first && *offset + length <= end);
        for (uint64_t u = *offset / unit; u < (*offset + length) / unit; u++) {
            assert_false(used[u]);
            used[u] = true;
        }
        assert_int_equal(free.free(), sum * unit - length);
        taken.emplace_back(*offset, length);
    }
}

void replicas_are_on_different_servers(void **) {
    SpaceMap map(4, 24, 0x10000);
    Division object{.length = (5 << 20) + 1, .shift = 20};
    for (uint32_t replicas = 1; replicas <= 3; replicas++) {
        auto locations = map.take(object, replicas);
        assert_true(locations.has_value());
        assert_int_equal(locations->size(), 6 * replicas);
        for (size_t shard = 0; shard < 6; shard++) {
            std::set<uint32_t> servers;
            for (size_t r = 0; r < replicas; r++)
                servers.insert(server_of((*locations)[shard * replicas + r]));
            assert_int_equal(servers.size(), replicas);
        }
        assert_int_equal(map.free(), map.total() - object.space() * replicas);
        map.give(object, replicas, *locations);
        assert_true(map.take_at(object, replicas, *locations));
        assert_false(map.take_at(object, replicas, *locations));
        map.give(object, replicas, *locations);
        assert_int_equal(map.free(), map.total());
    }
}

void servers_fill_alike(void **) {
    SpaceMap map(3, 24, 0x10000);
    Division object{.length = 100, .shift = 20};
    while (map.take(object, 1)) {
        auto [least, most] = std::minmax_element(
            map.servers().begin(), map.servers().end(),
            [](const FreeExtents &a, const FreeExtents &b) { return a.free() < b.free(); });
        assert_true(most->free() - least->free() <= unit);
    }
    assert_int_equal(map.free(), 0);
}

void what_does_not_fit_takes_nothing(void **) {
    SpaceMap map(2, 24, 0x10000);
    Division object{.length = 10 << 20, .shift = 20};
    assert_true(map.take(object, 2).has_value());
    uint64_t free = map.free();
    assert_false(map.take(object, 2).has_value());
    assert_false(map.take({.length = 11 << 20, .shift = 20}, 1).has_value());  // in 1 MiB pieces
    assert_int_equal(map.free(), free);
    assert_false(map.take(object, 3).has_value());  // as many servers there are not
    assert_int_equal(map.free(), free);
}

void locations_that_are_not_the_stores(void **) {
    SpaceMap map(2, 24, 0x10000);
    Division object{.length = 1, .shift = 20};
    auto at = [&](uint32_t server, uint64_t offset) {
        Location location = ds::store::make_location(server, offset);
        return map.take_at(object, 1, {&location, 1});
    };
    assert_false(at(2, 0x10000));
    assert_false(at(0, 0));
    assert_false(at(0, 1 << 24));
    assert_true(at(0, 0x10000));
    assert_false(map.take_at(object, 1, {}));
    assert_false(map.take_at(object, 0, {}));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(pieces_join_again),
        cmocka_unit_test(the_smallest_that_fits),
        cmocka_unit_test(against_a_plain_map),
        cmocka_unit_test(replicas_are_on_different_servers),
        cmocka_unit_test(servers_fill_alike),
        cmocka_unit_test(what_does_not_fit_takes_nothing),
        cmocka_unit_test(locations_that_are_not_the_stores),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

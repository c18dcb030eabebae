// SPDX-License-Identifier: Apache-2.0
// How objects lie in memory: division, seals, checksums; and what a master's
// answer may say.
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "store/placement.hpp"
#include "store/scatter.hpp"
#include "store/shard.hpp"
#include "user_cmocka.hpp"

namespace {

using namespace ds::store;

std::span<const std::byte> bytes(const std::string &text) {
    return std::as_bytes(std::span(text));
}

void versions_grow_with_epoch_and_sequence(void **) {
    assert_true(make_version(1, max_sequence) < make_version(2, 0));
    assert_true(make_version(max_epoch, max_sequence) == INT64_MAX);
    assert_int_equal(epoch_of(make_version(77, 5)), 77);
}

void divisions(void **) {
    struct {
        uint64_t length, shards, last, space;
    } const golden[] = {
        {0, 1, 0, 4096},
        {1, 1, 1, 4096},
        {4032, 1, 4032, 4096},
        {4033, 1, 4033, 8192},
        {1 << 20, 1, 1 << 20, (1 << 20) + 4096},
        {(1 << 20) + 1, 2, 1, (1 << 20) + 2 * 4096},
        {3 << 20, 3, 1 << 20, 3 * ((1 << 20) + 4096)},
        {max_object, UINT32_MAX, 1 << 20, uint64_t{UINT32_MAX} * ((1 << 20) + 4096)},
    };
    for (auto &g : golden) {
        Division d{.length = g.length, .shift = 20};
        assert_int_equal(d.shards(), g.shards);
        assert_int_equal(d.data(g.shards - 1), g.last);
        assert_int_equal(d.space(), g.space);
        assert_int_equal(d.start(g.shards - 1) + g.last, g.length);
        assert_true(d.seal(0) + sizeof(Seal) <= d.extent(0));
    }
}

// Each bit of a seal counts, and each byte of the data.
void a_seal_is_for_one_shard_only(void **) {
    Identity object{.store = 1,
                    .key_hash = hash_of("key"),
                    .version = make_version(3, 4),
                    .division = {.length = 3 * 4096 - 5, .shift = 12}};
    std::string data(4096, 'd');
    Seal seal = seal_for(object, 1, bytes(data));
    assert_int_equal(verify(object, 1, seal, bytes(data)), Flaw::none);
    for (size_t bit = 0; bit < 8 * sizeof(seal); bit++) {
        Seal changed = seal;
        reinterpret_cast<uint8_t *>(&changed)[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        assert_int_not_equal(verify(object, 1, changed, bytes(data)), Flaw::none);
    }
    for (size_t i = 0; i < data.size(); i += 13) {
        std::string changed = data;
        changed[i] ^= 4;
        assert_int_equal(verify(object, 1, seal, bytes(changed)), Flaw::data);
    }
    assert_int_equal(verify(object, 0, seal, bytes(data)), Flaw::seal);
    for (int what = 0; what < 4; what++) {
        Identity other = object;
        (what == 0   ? other.store
         : what == 1 ? other.key_hash
         : what == 2 ? other.division.length
                     : reinterpret_cast<uint64_t &>(other.version))++;
        assert_int_equal(verify(other, 1, seal, bytes(data)), Flaw::seal);
    }
    assert_int_equal(verify(object, 1, Seal{}, bytes(data)), Flaw::seal);
}

void keys_have_hashes_of_their_own(void **) {
    std::set<uint64_t> hashes;
    for (int i = 0; i < 100000; i++)
        hashes.insert(hash_of(std::to_string(i)));
    assert_int_equal(hashes.size(), 100000);
}

void scatter_lists(void **) {
    char a[3], b[1], c[10];
    iovec parts[] = {{a, 3}, {nullptr, 0}, {b, 1}, {c, 10}};
    uint64_t length;
    assert_true(Scatter::length(parts, length));
    assert_int_equal(length, 14);
    Scatter out(parts);
    out.scatter(reinterpret_cast<const std::byte *>("01"), 2);
    out.scatter(reinterpret_cast<const std::byte *>("23456789abcd"), 12);
    std::string back(14, '\0');
    Scatter in(parts);
    in.gather(reinterpret_cast<std::byte *>(back.data()), 5);
    in.gather(reinterpret_cast<std::byte *>(back.data()) + 5, 9);
    assert_string_equal(back.c_str(), "0123456789abcd");
    iovec huge[] = {{a, SIZE_MAX}, {a, 2}};
    assert_false(Scatter::length(huge, length));
}

// ---- the master's answers ----

// As one that is right, but for what @p change does.
template <class Change>
int take(Change &&change) {
    struct {
        wire::Placement p;
        wire::Location locations[4];
    } whole{};
    whole.p.version = make_version(1, 1);
    whole.p.length = (1 << 20) + 5;
    whole.p.shards = 2;
    whole.p.count = 2;
    whole.p.replicas = 2;
    whole.p.shard_shift = 20;
    whole.locations[0] = make_location(0, 0x10000);
    whole.locations[1] = make_location(1, 0x10000);
    whole.locations[2] = make_location(1, 0xfff000);
    whole.locations[3] = make_location(0, 0x800000);
    size_t length = sizeof(whole);
    change(whole.p, whole.locations, length);
    Answer answer;
    answer.bytes.resize(sizeof(whole) + 8);
    std::memcpy(answer.bytes.data(), &whole, sizeof(whole));
    answer.bytes.resize(length);
    Link link(nullptr, 1, 512);
    Place place;
    return take_place(link, {.servers = 2, .server_shift = 24}, "key", 0, answer, place);
}

void answers_that_cannot_be(void **) {
    using P = wire::Placement;
    using L = wire::Location *;
    assert_int_equal(take([](P &, L, size_t &) {}), 0);
    for (size_t length :
         {size_t{0}, sizeof(P) - 1, sizeof(P), sizeof(P) + 31, sizeof(P) + 33, sizeof(P) + 40})
        assert_int_equal(take([&](P &, L, size_t &n) { n = length; }), -EPROTO);
    assert_int_equal(take([](P &p, L, size_t &) { p.version = 0; }), -EPROTO);
    assert_int_equal(take([](P &p, L, size_t &) { p.version = -1; }), -EPROTO);
    assert_int_equal(take([](P &p, L, size_t &) { p.length = 1 << 20; }), -EPROTO);
    assert_int_equal(take([](P &p, L, size_t &) { p.length = UINT64_MAX; }), -EPROTO);
    assert_int_equal(take([](P &p, L, size_t &) { p.shards = 3; }), -EPROTO);
    assert_int_equal(take([](P &p, L, size_t &) { p.count = 0; }), -EPROTO);
    assert_int_equal(take([](P &p, L, size_t &) { p.count = 3; }), -EPROTO);
    assert_int_equal(take([](P &p, L, size_t &) { p.first_shard = 1; }), -EPROTO);
    assert_int_equal(take([](P &p, L, size_t &) { p.replicas = 0; }), -EPROTO);
    assert_int_equal(take([](P &p, L, size_t &) { p.replicas = 4; }), -EPROTO);
    for (uint8_t shift : {0, 11, 23, 63, 64, 255})
        assert_int_equal(take([&](P &p, L, size_t &) { p.shard_shift = shift; }), -EPROTO);
    assert_int_equal(take([](P &, L l, size_t &) { l[1] = make_location(2, 0x10000); }), -EPROTO);
    assert_int_equal(take([](P &, L l, size_t &) { l[0] = make_location(0, 0xf00000); }), -EPROTO);
    assert_int_equal(take([](P &, L l, size_t &) { l[0] = make_location(0, 0x1000000); }), -EPROTO);
    assert_int_equal(take([](P &, L l, size_t &) { l[0] = make_location(0, 0x10001); }), -EPROTO);
}

void the_cache_forgets(void **) {
    PlaceCache cache;
    auto place = [](int64_t version) {
        return std::make_shared<const Place>(Place{version, 0, 1, {0, 20}, {0}});
    };
    assert_null(cache.find("a").get());
    cache.forget("a");
    cache.keep("a", place(2));
    cache.keep("a", place(1));  // older: no
    assert_int_equal(cache.find("a")->version, 2);
    for (int i = 0; i < 5000; i++) {
        cache.keep(std::to_string(i), place(i + 1));
        cache.find("a");
    }
    assert_int_equal(cache.find("a")->version, 2);  // used all the time
    assert_null(cache.find("0").get());
    assert_int_equal(cache.find("4999")->version, 5000);
    cache.forget("a");
    assert_null(cache.find("a").get());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(versions_grow_with_epoch_and_sequence),
        cmocka_unit_test(divisions),
        cmocka_unit_test(a_seal_is_for_one_shard_only),
        cmocka_unit_test(keys_have_hashes_of_their_own),
        cmocka_unit_test(scatter_lists),
        cmocka_unit_test(answers_that_cannot_be),
        cmocka_unit_test(the_cache_forgets),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

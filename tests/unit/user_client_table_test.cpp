// SPDX-License-Identifier: Apache-2.0
// ds::pool::ClientTable: those who are slow or die between two steps of coming
// and going, on the local fabric.
#include "pool/client_table.hpp"

#include <unistd.h>

#include <cerrno>

#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "pool/pool.hpp"
#include "user_pool.hpp"

namespace {

using ds::pool::ClientTable;
using ds::pool::Owner;
using ds::pool::Pool;
using local::Client;
using local::Formatted;

/// One who goes through the steps by hand.
struct Stepper : Client {
    explicit Stepper(const std::string &path) : Client(path), table(space) {}

    ClientTable::Entry entry(uint32_t client) {
        ClientTable::Entry entry;
        assert_int_equal(table.load(client, entry), 0);
        return entry;
    }

    Owner claim(uint32_t client) {
        Owner owner{};
        assert_int_equal(table.claim(client, entry(client), owner), 0);
        return owner;
    }

    ClientTable table;
};

void joined(const Stepper &s, std::unique_ptr<Pool> &pool, Owner wanted) {
    assert_int_equal(Pool::join(s.space, pool), 0);
    assert_true(pool->self() == wanted);
}

constexpr uint64_t some_place = ds::fabric::place_of(1, 77);

void there_is_no_such_number(void **) {
    Formatted file(1);
    Stepper s(file.file());
    ClientTable::Entry entry;
    assert_int_equal(s.table.load(0, entry), -EINVAL);
    assert_int_equal(s.table.load(1024, entry), -EINVAL);
    assert_int_equal(s.table.load(1023, entry), 0);
    assert_int_equal(entry.word, 0);
    assert_int_equal(entry.place, 0);
}

void who_comes_and_goes_leaves_nothing(void **) {
    Formatted file(1);
    Stepper s(file.file());
    std::unique_ptr<Pool> pool;
    joined(s, pool, {1, 1});
    ClientTable::Entry entry = s.entry(1);
    assert_true(ClientTable::held(entry.word));
    assert_int_equal(static_cast<uint32_t>(entry.place), getpid());
    pool.reset();
    entry = s.entry(1);
    assert_false(ClientTable::held(entry.word));
    assert_true(ClientTable::is_bar(entry.place));
}

void two_want_one_number(void **) {
    Formatted file(1);
    Stepper s(file.file());
    ClientTable::Entry before = s.entry(1);
    Owner first{}, second{};
    assert_int_equal(s.table.claim(1, before, first), 0);
    assert_int_equal(s.table.claim(1, before, second), -EAGAIN);
    assert_int_equal(s.table.note(first, before.place, some_place), 0);
    assert_int_equal(s.table.note(first, before.place, some_place + 1), -ESHUTDOWN);
    assert_int_equal(s.entry(1).place, some_place);
}

// Word and place are of two moments: it was free, and then somebody came.
void whose_place_is_seen_too_early_keeps_it(void **) {
    Formatted file(1);
    Stepper s(file.file());
    ClientTable::Entry torn = s.entry(1);
    std::unique_ptr<Pool> pool;
    joined(s, pool, {1, 1});
    ClientTable::Entry entry = s.entry(1);
    torn.place = entry.place;
    Owner other{};
    assert_int_equal(s.table.claim(1, torn, other), -EAGAIN);
    assert_true(s.entry(1) == entry);
    assert_int_equal(s.table.claim(1, entry, other), -EAGAIN);
    assert_int_equal(s.table.settle(1, torn), 0);
    assert_true(torn == entry);
    assert_true(s.entry(1) == entry);
    assert_int_equal(pool->is_gone({1, 1}), 0);
}

// Nobody can know whether he lives, so the number goes on without him.
void a_claimant_without_a_place(void **) {
    Formatted file(1);
    Stepper slow(file.file()), s(file.file());
    uint64_t seen = s.entry(1).place;
    Owner mine = slow.claim(1);
    std::unique_ptr<Pool> pool;
    joined(s, pool, {1, 2});
    ClientTable::Entry entry = s.entry(1);
    assert_int_equal(slow.table.note(mine, seen, some_place), -ESHUTDOWN);
    assert_true(s.entry(1) == entry);
    // Nor does he take the number with him.
    assert_int_equal(slow.table.release(mine, some_place), 0);
    assert_true(s.entry(1) == entry);
}

// Barred, and the number is another's before he comes to note his place.
void a_claimant_who_is_very_slow(void **) {
    Formatted file(1);
    Stepper slow(file.file()), next(file.file());
    uint64_t seen = next.entry(1).place;
    Owner mine = slow.claim(1);
    assert_int_equal(next.table.bar(mine, seen), 0);
    uint64_t bar = next.entry(1).place;
    assert_int_equal(bar, ClientTable::bar_of(mine));
    assert_int_equal(next.table.bar(mine, seen), 0);
    assert_int_equal(next.table.bar(mine, bar), 0);
    assert_int_equal(next.table.release(mine, bar), 0);
    Owner theirs = next.claim(1);

    assert_int_equal(slow.table.note(mine, seen, some_place), -ESHUTDOWN);
    assert_int_equal(next.entry(1).place, bar);
    assert_int_equal(next.table.note(theirs, bar, some_place + 1), 0);
}

// One who has seen a claimant without a place bars him when another has the number.
void a_bar_that_comes_late(void **) {
    Formatted file(1);
    Stepper slow(file.file()), s(file.file());
    uint64_t seen = slow.entry(1).place;
    Owner first = s.claim(1);
    assert_int_equal(s.table.note(first, seen, some_place), 0);
    assert_int_equal(s.table.release(first, some_place), 0);
    Owner second = s.claim(1);
    uint64_t bar = s.entry(1).place;
    assert_int_equal(slow.table.bar(first, seen), 0);  // he is barred, by himself
    assert_int_equal(s.table.note(second, bar, some_place + 1), 0);
    assert_int_equal(slow.table.bar(first, seen), -EAGAIN);
    assert_int_equal(slow.table.release(first, some_place), 0);
    assert_int_equal(s.entry(1).place, some_place + 1);
    assert_int_equal(s.entry(1).word, ClientTable::word_of(second));
}

void one_with_a_place_cannot_be_barred(void **) {
    Formatted file(1);
    Stepper s(file.file());
    uint64_t seen = s.entry(1).place;
    Owner mine = s.claim(1);
    assert_int_equal(s.table.note(mine, seen, some_place), 0);
    assert_int_equal(s.table.bar(mine, seen), -EAGAIN);
    assert_int_equal(s.entry(1).place, some_place);
}

// He died when his place was gone and his number was not.
void a_leaver_who_died_half_way(void **) {
    Formatted file(1);
    Stepper s(file.file());
    uint64_t seen = s.entry(1).place;
    Owner dead = s.claim(1);
    assert_int_equal(s.table.note(dead, seen, some_place), 0);
    uint64_t place = ClientTable::address(s.space->info) + 16 + 8;
    ds_result r;
    assert_int_equal(ds_cas(s.space, place, some_place, ClientTable::bar_of(dead), 0, &r), 0);
    assert_int_equal(r.value, some_place);
    std::unique_ptr<Pool> pool;
    joined(s, pool, {1, 2});
}

// A number that is free with the place of one who came too late can be claimed.
void a_place_that_was_left(void **) {
    Formatted file(1);
    Stepper s(file.file());
    uint64_t place = ClientTable::address(s.space->info) + 16 + 8;
    assert_int_equal(ds_cas(s.space, place, 0, some_place, 0, nullptr), 0);
    Owner other{};
    assert_int_equal(s.table.claim(1, s.entry(1), other), -EAGAIN);
    std::unique_ptr<Pool> pool;
    joined(s, pool, {1, 1});
    assert_true(s.entry(1).place != some_place);
    assert_int_equal(pool->is_gone({1, 1}), 0);
    assert_int_equal(pool->is_gone({1, 7}), 1);
    assert_int_equal(pool->is_gone({2, 1}), 1);
    assert_int_equal(pool->is_gone({0, 1}), -EINVAL);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(there_is_no_such_number),
        cmocka_unit_test(who_comes_and_goes_leaves_nothing),
        cmocka_unit_test(two_want_one_number),
        cmocka_unit_test(whose_place_is_seen_too_early_keeps_it),
        cmocka_unit_test(a_claimant_without_a_place),
        cmocka_unit_test(a_claimant_who_is_very_slow),
        cmocka_unit_test(a_bar_that_comes_late),
        cmocka_unit_test(one_with_a_place_cannot_be_barred),
        cmocka_unit_test(a_leaver_who_died_half_way),
        cmocka_unit_test(a_place_that_was_left),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

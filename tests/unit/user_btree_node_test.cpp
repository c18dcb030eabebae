// SPDX-License-Identifier: Apache-2.0
// The tree's words and its node: limits, order, what a damaged byte, a torn
// copy and a half-done change look like.
#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "btree/node.hpp"
#include "btree/word.hpp"
#include "user_cmocka.hpp"

using namespace ds::btree;

namespace {

constexpr Map map{.base = 0x10000000, .servers = 1024, .shift = 24};
constexpr uint64_t addr = 0x12300400;
constexpr Expected leaf{.addr = addr, .generation = 7, .tree = 31, .level = 0};

Node empty(const Expected &what = leaf, uint64_t low = 0, uint64_t high = 0) {
    Node node;
    std::memset(static_cast<void *>(&node), 0xa5, sizeof(node));
    node.head.lock = 42;
    HeadBody body{};
    body.low = low;
    body.high = high;
    body.last = high == 0;
    body.tree = what.tree;
    body.level = what.level;
    make(node, what, body);
    return node;
}

Node filled(unsigned entries) {
    Node node = empty();
    for (unsigned i = 0; i < entries; i++)
        set(node, addr, find_free(node), {i * 10, i});
    return node;
}

uint8_t *bytes(Node &node) {
    return reinterpret_cast<uint8_t *>(&node);
}

// Changes line 0 or a data line of `node` to that of `from`, as a WRITE does.
void copy_line(Node &node, const Node &from, unsigned line) {
    size_t skip = line ? 0 : lock_size;
    std::memcpy(bytes(node) + line * line_size + skip,
                reinterpret_cast<const uint8_t *>(&from) + line * line_size + skip,
                line_size - skip);
}

// ---- Words ----

void pointers_keep_their_parts(void **) {
    struct {
        unsigned level;
        uint32_t server;
        uint64_t offset;
        uint16_t generation;
    } cases[] = {{0, 0, 0x200000, 1},
                 {15, 1023, 0xfffc00, 0xffff},
                 {1, 513, 0x40000, 0},
                 {7, 1, 0x10000, 0x8000}};
    for (auto &c : cases) {
        uint64_t at = map.base + (uint64_t{c.server} << map.shift) + c.offset;
        Pointer p = Pointer::make(map, c.level, at, c.generation);
        assert_int_equal(p.level(), c.level);
        assert_int_equal(p.server(), c.server);
        assert_int_equal(p.offset(), c.offset);
        assert_int_equal(p.generation(), c.generation);
        assert_int_equal(p.addr(map), at);
        assert_true(p.valid(map));
    }
    // The last node of a pool with the longest servers.
    Map large{.base = 0x10000000, .servers = 1024, .shift = 40};
    uint64_t last = large.base + (1024ull << 40) - 1024;
    Pointer p = Pointer::make(large, 15, last, 0xffff);
    assert_int_equal(p.addr(large), last);
    assert_int_equal(p.word, 0xfffffffffffffff0);
}

void wild_pointers_are_not_valid(void **) {
    Map two{.base = 0x10000000, .servers = 2, .shift = 24};
    assert_false(Pointer{}.valid(two));
    assert_false(Pointer{uint64_t{2} << 50 | 16}.valid(two));              // server
    assert_false(Pointer{uint64_t{1} << 24 >> 6}.valid(two));              // past its end
    assert_false(Pointer{(uint64_t{1} << 34) - 1}.valid(two));             // far past it
    assert_false(Pointer{0x200040 >> 6}.valid(two));                       // within a node
    assert_true((Pointer{uint64_t{1} << 50 | 0xfffc00 >> 6}).valid(two));  // the last node
}

void lock_words_keep_their_parts(void **) {
    LockWord w = LockWord::make(LockWord::repair, 0x1fff, 0xffff, 0xffffffff);
    assert_true(w.held());
    assert_int_equal(w.mode(), LockWord::repair);
    assert_int_equal(w.client(), 0x1fff);
    assert_int_equal(w.incarnation(), 0xffff);
    assert_int_equal(w.sequence(), 0xffffffff);
    LockWord least = LockWord::make(LockWord::change, 1, 1, 0);
    assert_int_equal(least.word, 0x8001000100000000);
    assert_false(LockWord{}.held());
}

// ---- Nodes ----

void a_new_node_is_empty_and_sound(void **) {
    Node node = empty();
    assert_true(check(node, leaf).ok());
    assert_int_equal(node.head.lock, 42);
    assert_int_equal(bytes(node)[8], 7);  // where the memory server looks for it
    assert_int_equal(bytes(node)[10], 0xb7);
    assert_int_equal(bytes(node)[11], 0xd5);
    assert_int_equal(entries_of(node).count, 0);
    assert_false(find(node, 0).line);
    assert_int_equal(redo(node, addr), -1);
}

void all_keys_and_values_are_legal(void **) {
    Node node = empty();
    const uint64_t odd[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 63, (1ull << 63) - 1};
    for (uint64_t key : odd)
        set(node, addr, find_free(node), {key, ~key});
    assert_true(check(node, leaf).ok());
    for (uint64_t key : odd) {
        Place place = find(node, key);
        assert_true(place.line);
        assert_int_equal(node.line(place.line).entries[place.slot].value, ~key);
    }
    assert_false(find(node, 2).line);
    // In a node that has no entry the bytes of its places are no key 0.
    assert_false(find(empty(), 0).line);
    Entries sorted = entries_of(node);
    assert_int_equal(sorted.count, 6);
    assert_int_equal(sorted.list[0].key, 0);
    assert_int_equal(sorted.list[5].key, UINT64_MAX);
}

void it_takes_its_capacity_and_no_more(void **) {
    Node node = filled(capacity);
    assert_false(find_free(node).line);
    assert_int_equal(entries_of(node).count, capacity);
    for (unsigned i = 0; i < capacity; i++)
        assert_true(find(node, i * 10).line);
    assert_true(find_free(filled(capacity - 1)).line);
}

void fences_are_where_they_say(void **) {
    Node node = empty(leaf, 10, 20);
    assert_true(node.covers(10) && node.covers(19));
    assert_false(node.covers(9) || node.covers(20));
    assert_true(node.is_right_of(9) && !node.is_right_of(10));
    assert_true(node.is_left_of(20) && !node.is_left_of(19));
    Node last = empty(leaf, 10);
    assert_true(last.covers(UINT64_MAX));
    assert_false(last.is_left_of(UINT64_MAX));
}

void a_split_moves_entries_away_by_the_head_alone(void **) {
    Node node = filled(capacity);
    node.head.body.high = 210;
    node.head.body.last = 0;
    node.head.body.version++;
    seal_head(node, addr);
    assert_true(check(node, leaf).ok());
    Entries rest = entries_of(node);
    assert_int_equal(rest.count, 21);
    assert_int_equal(rest.list[20].key, 200);
    // Their places are free again, one by one.
    for (unsigned i = 0; i < 21; i++)
        set(node, addr, find_free(node), {i * 10 + 5, 0});
    assert_false(find_free(node).line);
    assert_int_equal(entries_of(node).count, capacity);
    for (unsigned i = 0; i < 21; i++)
        assert_true(find(node, i * 10) && find(node, i * 10 + 5));
}

void entries_are_kept_in_order(void **) {
    Entries e = entries_of(filled(0));
    const uint64_t keys[] = {5, UINT64_MAX, 0, 7, 6};
    for (uint64_t key : keys)
        e.insert({key, 1});
    assert_int_equal(e.count, 5);
    for (unsigned i = 1; i < e.count; i++)
        assert_true(e.list[i - 1].key < e.list[i].key);
    assert_int_equal(e.up_to(5), 2);
    assert_int_equal(e.up_to(4), 1);
    assert_int_equal(e.up_to(UINT64_MAX), 5);
}

void every_damaged_byte_is_found(void **) {
    Node sound = filled(30);
    make_journal(sound.journal(), sound, addr, 3);
    for (size_t at = lock_size; at < node_size; at++)
        for (int value = 1; value < 256; value += at % 64 < 16 ? 1 : 51) {
            Node node = sound;
            bytes(node)[at] ^= static_cast<uint8_t>(value);
            if (at / line_size == journal_line) {
                assert_true(check(node, leaf).ok());     // readers do not look there
                assert_int_equal(redo(node, addr), -1);  // and it brings back nothing
            } else {
                Verdict verdict = check(node, leaf);
                assert_int_equal(verdict.fault, Fault::crc);
                assert_int_equal(verdict.line, at / line_size);
            }
        }
}

void the_lock_word_is_in_no_crc(void **) {
    Node node = filled(3);
    node.head.lock = ~0ull;
    assert_true(check(node, leaf).ok());
}

void a_node_of_another_place_is_found(void **) {
    Node node = filled(30);
    Expected what = leaf;
    what.addr += node_size;
    assert_int_equal(check(node, what).fault, Fault::crc);
    what = leaf;
    what.generation++;
    assert_int_equal(check(node, what).fault, Fault::generation);
    what = leaf;
    what.tree--;
    assert_int_equal(check(node, what).fault, Fault::foreign);
    what = leaf;
    what.level++;
    assert_int_equal(check(node, what).fault, Fault::foreign);
    assert_false(check(node, what).passes());
    // A line of another generation, whole in itself, or at the place of another
    // line.
    Expected newer = leaf;
    newer.generation++;
    Node other = empty(newer);
    node = filled(30);
    copy_line(node, other, 5);
    assert_int_equal(check(node, leaf).fault, Fault::mixed);
    node = filled(30);
    node.line(5) = node.line(6);
    assert_int_equal(check(node, leaf).fault, Fault::crc);
    // Zeros are no node.
    Node zero{};
    assert_false(check(zero, leaf).ok());
}

void lines_from_after_a_split_do_not_pass_with_the_head_from_before(void **) {
    Node before = filled(capacity);
    Node after = before;
    after.head.body.high = 210;
    after.head.body.last = 0;
    after.head.body.version++;
    seal_head(after, addr);
    Place place = find_free(after);
    set(after, addr, place, {55, 1});
    Node torn = before;
    copy_line(torn, after, place.line);
    Verdict verdict = check(torn, leaf);
    assert_int_equal(verdict.fault, Fault::mixed);
    assert_true(verdict.passes());
    // The other way round all is well: what has not changed is as it was.
    torn = before;
    copy_line(torn, after, 0);
    assert_true(check(torn, leaf).ok());
}

void versions_may_wrap(void **) {
    Node node = filled(capacity);
    node.head.body.version = UINT32_MAX;
    seal_head(node, addr);
    set(node, addr, {1, 0}, {0, 9});
    Node before = node;
    node.head.body.version++;
    seal_head(node, addr);
    assert_true(check(node, leaf).ok());
    set(node, addr, {1, 0}, {0, 10});
    copy_line(before, node, 1);
    assert_int_equal(check(before, leaf).fault, Fault::mixed);
}

// ---- The journal ----

// Writes the journal and then a line, up to `done` bytes of both, and takes
// over.
void recover(const Node &before, const Node &after, unsigned line, size_t done) {
    Node node = before;
    auto *from = reinterpret_cast<const uint8_t *>(&after);
    size_t skip = line ? 0 : lock_size;
    size_t first = std::min(done, line_size), second = std::min(done - first, line_size - skip);
    std::memcpy(bytes(node) + journal_line * line_size, from + journal_line * line_size, first);
    std::memcpy(bytes(node) + line * line_size + skip, from + line * line_size + skip, second);
    redo(node, addr);
    assert_true(check(node, leaf).ok());
    auto same = [&](const Node &a) {
        return std::memcmp(bytes(node) + lock_size,
                           reinterpret_cast<const uint8_t *>(&a) + lock_size,
                           journal_line * line_size - lock_size) == 0;
    };
    // All of the change or nothing; all of it once its image was there.
    assert_true(done < line_size ? same(before) || same(after) : same(after));
}

void a_change_cut_off_at_any_byte_is_repaired(void **) {
    for (unsigned entries : {0u, 1u, 29u, capacity - 1}) {
        Node before = filled(entries), after = before;
        Place place = find_free(after);
        set(after, addr, place, {7777, 8888});
        make_journal(after.journal(), after, addr, place.line);
        for (size_t done = 0; done <= 2 * line_size; done++)
            recover(before, after, place.line, done);
    }
    Node before = filled(capacity), after = before;
    set(after, addr, find(after, 210), {210, 4711});
    make_journal(after.journal(), after, addr, find(after, 210).line);
    for (size_t done = 0; done <= 2 * line_size; done++)
        recover(before, after, find(after, 210).line, done);
}

void a_split_cut_off_at_any_byte_is_repaired(void **) {
    Node before = filled(capacity), after = before;
    after.head.body.high = 210;
    after.head.body.last = 0;
    after.head.body.sibling = 0x123456;
    after.head.body.version++;
    seal_head(after, addr);
    make_journal(after.journal(), after, addr, 0);
    for (size_t done = 0; done <= 2 * line_size - lock_size; done++)
        recover(before, after, 0, done);
}

// The same with each word new or old by chance, as copies in any order leave
// it.
void a_change_torn_in_any_order_is_repaired(void **) {
    std::mt19937_64 random(7);
    Node before = filled(29), after = before;
    Place place = find_free(after);
    set(after, addr, place, {7777, 8888});
    make_journal(after.journal(), after, addr, place.line);
    for (int run = 0; run < 10000; run++) {
        Node node = before;
        unsigned line = run % 2 ? journal_line : place.line;
        if (line != journal_line)
            copy_line(node, after, journal_line);
        for (size_t word = 0; word < line_size; word += 8)
            if (random() & 1)
                std::memcpy(bytes(node) + line * line_size + word,
                            bytes(after) + line * line_size + word, 8);
        redo(node, addr);
        assert_true(check(node, leaf).ok());
        assert_int_equal(entries_of(node).count, find(node, 7777) ? 30 : 29);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(pointers_keep_their_parts),
        cmocka_unit_test(wild_pointers_are_not_valid),
        cmocka_unit_test(lock_words_keep_their_parts),
        cmocka_unit_test(a_new_node_is_empty_and_sound),
        cmocka_unit_test(all_keys_and_values_are_legal),
        cmocka_unit_test(it_takes_its_capacity_and_no_more),
        cmocka_unit_test(fences_are_where_they_say),
        cmocka_unit_test(a_split_moves_entries_away_by_the_head_alone),
        cmocka_unit_test(entries_are_kept_in_order),
        cmocka_unit_test(every_damaged_byte_is_found),
        cmocka_unit_test(the_lock_word_is_in_no_crc),
        cmocka_unit_test(a_node_of_another_place_is_found),
        cmocka_unit_test(lines_from_after_a_split_do_not_pass_with_the_head_from_before),
        cmocka_unit_test(versions_may_wrap),
        cmocka_unit_test(a_change_cut_off_at_any_byte_is_repaired),
        cmocka_unit_test(a_split_cut_off_at_any_byte_is_repaired),
        cmocka_unit_test(a_change_torn_in_any_order_is_repaired),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

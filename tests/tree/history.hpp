// SPDX-License-Identifier: Apache-2.0
// Histories of operations on keys, and whether they are linearizable: whether
// there is one order of them, in which each stands between its call and its
// return, that a plain map would have answered in the same way.
//
// Keys are independent of each other, so each is judged alone (a history is
// linearizable if those of its parts are), as Wing and Gong search, with a
// memory of what was tried (Lowe). An operation of a process that died may have
// happened at any time after its call, or never.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tree_test {

struct Event {
    enum Kind : uint8_t { get, put, update, upsert };

    static constexpr uint64_t never = UINT64_MAX;

    Kind kind;
    int8_t result;  // 1: done, or found; 0: refused, or not found; -1: never answered
    uint16_t process;
    uint64_t key;
    uint64_t value;  // written, or found
    uint64_t call;   // ns
    uint64_t answer = never;
};

/// Is the history of one key, which is absent at first, linearizable?
bool linearizable(std::vector<Event> events);

/// The same for all keys; @p why gets the history of one that is not.
bool all_linearizable(const std::vector<Event> &events, std::string &why);

}  // namespace tree_test

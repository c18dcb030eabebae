// SPDX-License-Identifier: Apache-2.0
#include "store/label.hpp"

#include <ds/ds.h>

#include <cerrno>

namespace ds::store {
namespace {

constexpr uint64_t label_offset = 512;
constexpr uint64_t memory_offset = 520;
constexpr uint64_t term_offset = 528;

uint64_t address(ds_space *space, uint32_t server, uint64_t offset) {
    struct ds_space_info info {};
    info.size = sizeof(info);
    ds_space_get_info(space, &info);
    return info.base + (uint64_t{server} << info.server_shift) + offset;
}

}  // namespace

// A CAS that changes nothing reads.
int read_label(ds_space *space, uint64_t &store) {
    ds_result result;
    int rc = ds_cas(space, address(space, 0, label_offset), 0, 0, 0, &result);
    store = result.value;
    if (rc < 0)
        return rc;
    return store ? 0 : -ENOENT;
}

int write_label(ds_space *space, uint64_t store) {
    ds_result result;
    int rc = ds_cas(space, address(space, 0, label_offset), 0, store, 0, &result);
    if (rc < 0)
        return rc;
    return result.value == 0 ? 0 : -EEXIST;
}

int read_term(ds_space *space, Term &term) {
    return swap_term(space, {}, {}, term);
}

int swap_term(ds_space *space, Term from, Term to, Term &found) {
    ds_result result;
    int rc = ds_cas(space, address(space, 0, term_offset), from.word(), to.word(), 0, &result);
    found = Term::of(result.value);
    return rc;
}

uint64_t memory_address(ds_space *space, uint32_t server) {
    return address(space, server, memory_offset);
}

}  // namespace ds::store

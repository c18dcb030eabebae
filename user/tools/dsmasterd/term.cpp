// SPDX-License-Identifier: Apache-2.0
#include "term.hpp"

#include <cerrno>

#include "error.hpp"
#include "fabric/crash_point.hpp"

namespace dsmasterd {

using ds::store::Term;

namespace {

constexpr uint32_t fence_patience_ms = 3000;  // a server waits 2.5 s for the host

[[noreturn]] void refuse_folder() {
    throw Refused("the store was served from another folder since; one of the two is a copy",
                  "start with that one; what was put since is not in this one", 5);
}

// On the disk first: a word of which no folder knows would be nobody's for ever.
int change(ds_space *space, Catalogue &catalogue, Term from, Term to) {
    Term found;
    catalogue.set_term(to, from);
    ds::crash_point("master_term");
    int rc = ds::store::swap_term(space, from, to, found);
    if (rc == 0 && found != from)
        refuse_folder();
    return rc;
}

}  // namespace

int begin_term(ds_space *space, ds::pool::Pool &pool, Catalogue &catalogue, uint32_t &epoch) {
    Term found;
    if (int rc = ds::store::read_term(space, found); rc < 0)
        return rc;
    if (found != Term{} && found != catalogue.term() && found != catalogue.term_before())
        refuse_folder();
    ds::pool::Owner last{.client = found.client, .incarnation = found.incarnation};
    int alive = pool.is_alive(last);
    if (alive < 0)
        return alive;
    if (alive)
        throw Refused("another dsmasterd serves the store, with a copy of the folder",
                      "use that one, or stop it first", 5);
    // It may be cut off, and come back. While a server is away nobody can be fenced; then its
    // host has said that it is gone, or is away itself.
    if (last.client != 0 && pool.fence(last, fence_patience_ms) == -ETIMEDOUT)
        return -ETIMEDOUT;
    epoch = catalogue.epoch() + 1;
    if (epoch > ds::store::max_epoch)
        throw Refused("this store has been started as often as can be counted",
                      "copy the objects to a new store");
    return change(
        space, catalogue, found,
        {.epoch = epoch, .client = pool.self().client, .incarnation = pool.self().incarnation});
}

void end_term(ds_space *space, Catalogue &catalogue) {
    Term term = catalogue.term();
    try {
        change(space, catalogue, term, {.epoch = term.epoch});
    } catch (const Full &) {
    }
}

}  // namespace dsmasterd

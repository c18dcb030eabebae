// SPDX-License-Identifier: Apache-2.0
// ds::pool::look_at() on the local fabric.
#include "pool/usage.hpp"

#include <cerrno>
#include <memory>

#include "pool/pool.hpp"
#include "user_local.hpp"

namespace {

using ds::pool::look_at;
using ds::pool::Pool;
using ds::pool::Usage;
using local::Client;
using local::Folder;

// A file of two servers, without a pool.
class Space : public Folder {
public:
    Space() {
        ds_local_options options = local::shape(2, 24);
        assert_int_equal(ds_local_create(file().c_str(), &options), 0);
    }
};

void no_pool(void **) {
    Space space;
    Client c(space.file());
    Usage usage;
    uint64_t word = 1;

    assert_int_equal(look_at(c.space, usage), -ENOENT);
    memcpy(c.bytes, &word, sizeof(word));
    assert_int_equal(ds_write(c.space, DS_LAYOUT_BASE + 64, c.buffer, 0, 8, 0, nullptr), 0);
    assert_int_equal(look_at(c.space, usage), -EINVAL);
}

void the_right_to_read_is_enough(void **) {
    Space space;
    Client maker(space.file());
    assert_int_equal(Pool::format(maker.space), 0);
    Client reader(space.file(), DS_ACCESS_READ);
    Usage usage;
    assert_int_equal(look_at(reader.space, usage), 0);
    assert_int_equal(usage.clients, 0);
    assert_int_equal(usage.most_clients, 1023);
    assert_int_equal(usage.servers.size(), 2);
}

void clients_and_extents(void **) {
    Space space;
    Client one(space.file()), two(space.file()), looker(space.file());
    Usage usage;
    assert_int_equal(Pool::format(one.space), 0);

    std::unique_ptr<Pool> first, second;
    assert_int_equal(Pool::join(one.space, first), 0);
    assert_int_equal(Pool::join(two.space, second), 0);
    ds::pool::NodeAddress node;
    for (int i = 0; i < 2; i++)  // one on each server
        assert_int_equal(first->alloc_node(0, node), 0);
    assert_int_equal(look_at(looker.space, usage), 0);
    assert_int_equal(usage.clients, 2);
    for (const ds_extent_tally &tally : usage.servers) {
        assert_int_equal(tally.owned, 1);
        assert_int_equal(tally.free, 1391);
    }

    // Each gives back what it has begun to use.
    first.reset();
    second.reset();
    assert_int_equal(look_at(looker.space, usage), 0);
    assert_int_equal(usage.clients, 0);
    for (const ds_extent_tally &tally : usage.servers) {
        assert_int_equal(tally.owned, 0);
        assert_int_equal(tally.part, 1);
        assert_int_equal(tally.full, 0);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(no_pool),
        cmocka_unit_test(the_right_to_read_is_enough),
        cmocka_unit_test(clients_and_extents),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// What tests of pools share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "pool/pool.hpp"
#include "user_local.hpp"

namespace local {

/// A file with a formatted pool.
class Formatted : public Folder {
public:
    explicit Formatted(uint32_t servers, uint32_t shift = 24) {
        ds_local_options options = shape(servers, shift);
        assert_int_equal(ds_local_create(file().c_str(), &options), 0);
        Client c(file());
        assert_int_equal(ds::pool::Pool::format(c.space), 0);
    }
};

/// A client that has joined.
class Member : public Client {
public:
    explicit Member(const std::string &path) : Client(path) {
        if (int rc = ds::pool::Pool::join(space, pool); rc < 0) {
            fprintf(stderr, "join: %s\n", ds_errname(rc));
            std::abort();
        }
    }
    ~Member() { pool.reset(); }

    ds::pool::NodeAddress node(unsigned height = 0) const {
        ds::pool::NodeAddress node{};
        assert_int_equal(pool->alloc_node(height, node), 0);
        return node;
    }

    // As the tree writes it.
    void write(const ds::pool::NodeAddress &node) const {
        uint16_t mark[2] = {node.generation, 0xd5b7};
        memcpy(bytes, mark, sizeof(mark));
        assert_int_equal(ds_write(space, node.addr + 8, buffer, 0, 1016, 0, nullptr), 0);
    }

    std::unique_ptr<ds::pool::Pool> pool;
};

/// A word of the pool; the last 8 bytes of the client's buffer are used for it.
inline uint64_t word(const Client &c, uint64_t addr) {
    assert_int_equal(ds_read(c.space, addr, c.buffer, (8 << 20) - 8, 8, 0, nullptr), 0);
    uint64_t value;
    memcpy(&value, c.bytes + (8 << 20) - 8, 8);
    return value;
}

}  // namespace local

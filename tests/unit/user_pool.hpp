// SPDX-License-Identifier: Apache-2.0
// What tests of pools share.
#pragma once

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

}  // namespace local

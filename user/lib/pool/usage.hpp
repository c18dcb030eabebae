// SPDX-License-Identifier: Apache-2.0
// ds::pool::Usage: what of a pool is in use, for people.
#pragma once

#include <cstdint>
#include <vector>

#include "pool/extent_table.hpp"

namespace ds::pool {

struct Usage {
    uint32_t clients;                      ///< client numbers that are held
    uint32_t most_clients;                 ///< as many as there can be
    std::vector<ds_extent_tally> servers;  ///< by number
};

/// Looks at the pool without joining it; @p space needs the right to read. As others work on,
/// the parts are of slightly different times. -ENOENT: not formatted; -EINVAL: something
/// else is there; -EOPNOTSUPP: of a newer version.
int look_at(ds_space *space, Usage &usage);

}  // namespace ds::pool

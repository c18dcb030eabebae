// SPDX-License-Identifier: Apache-2.0
#include "pool/usage.hpp"

#include <algorithm>

#include "pool/client_table.hpp"
#include "pool/superblock.hpp"

namespace ds::pool {

int look_at(ds_space *space, Usage &usage) {
    std::vector<uint64_t> words;
    Scratch scratch(space);

    if (int rc = check_superblock(space); rc < 0)
        return rc;
    if (int rc = scratch.open(); rc < 0)
        return rc;
    if (int rc = ClientTable(space).load(words); rc < 0)
        return rc;
    usage = {.clients = static_cast<uint32_t>(std::ranges::count_if(words, ClientTable::held)),
             .most_clients = static_cast<uint32_t>(words.size() - 1),
             .servers = {}};
    for (uint32_t server = 0; server < space->info.servers; server++) {
        ds_extent_tally tally;
        if (int rc = ExtentTable(space, server, scratch).count(tally); rc < 0)
            return rc;
        usage.servers.push_back(tally);
    }
    return 0;
}

}  // namespace ds::pool

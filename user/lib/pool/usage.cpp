// SPDX-License-Identifier: Apache-2.0
#include "pool/usage.hpp"

#include <algorithm>

#include "pool/client_table.hpp"
#include "pool/superblock.hpp"

namespace ds::pool {

int look_at(ds_space *space, Usage &usage) {
    std::vector<ClientTable::Entry> entries;
    Scratch scratch(space);

    if (int rc = check_superblock(space); rc < 0)
        return rc;
    if (int rc = scratch.open(); rc < 0)
        return rc;
    if (int rc = ClientTable(space).load(entries); rc < 0)
        return rc;
    auto held = std::ranges::count_if(entries, ClientTable::held, &ClientTable::Entry::word);
    usage = {.clients = static_cast<uint32_t>(held),
             .most_clients = static_cast<uint32_t>(entries.size() - 1),
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

// SPDX-License-Identifier: Apache-2.0
#include "pool/pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "pool/client_table.hpp"
#include "pool/superblock.hpp"

namespace ds::pool {
namespace {

using fabric::Fabric;

constexpr uint64_t fence_patience = 1'000'000'000;  // ns

Fabric &fabric_of(const ds_space *space) {
    return space->engine->fabric();
}

uint32_t region_for(unsigned height) {
    switch (height) {
    case 0:
        return DS_REGION_LEAF;
    case 1:
        return DS_REGION_LEVEL3;
    case 2:
        return DS_REGION_LEVEL2;
    default:
        return DS_REGION_LEVEL1;
    }
}

// Gives back all that a client had that is fenced, its number last.
int clear(ds_space *space, Owner owner) {
    Scratch scratch(space);
    if (int rc = scratch.open(); rc < 0)
        return rc;
    for (uint32_t server = 0; server < space->info.servers; server++)
        if (int rc = ExtentTable(space, server, scratch).reclaim(owner); rc < 0)
            return rc;
    return ClientTable(space).release(owner);
}

// Fences the holder of a number, which is all that the caller needs: what cannot
// be cleared now is cleared by the next one who finds the number held by the dead.
int retire(ds_space *space, Owner owner) {
    Fabric &fabric = fabric_of(space);
    if (int rc = fabric.fence(space->info, owner, fabric.now_ns() + fence_patience); rc < 0)
        return rc;
    int rc = clear(space, owner);
    return rc == -ESHUTDOWN ? rc : 0;
}

// Retires all whose process is gone.
int sweep(ds_space *space) {
    std::vector<uint64_t> words;
    if (int rc = ClientTable(space).load(words); rc < 0)
        return rc;
    for (uint64_t word : words) {
        if (!ClientTable::held(word))
            continue;
        Owner owner = ClientTable::holder(word);
        int alive = fabric_of(space).client_alive(space->info, owner);
        if (alive < 0)
            return alive;
        if (alive == 0)
            if (int rc = retire(space, owner); rc < 0)
                return rc;
    }
    return 0;
}

// Claims a number and enrolls under it.
int enroll(ds_space *space, Owner &owner) {
    ClientTable table(space);
    std::vector<uint64_t> words;
    if (int rc = table.load(words); rc < 0)
        return rc;
    for (uint32_t client = 1; client < words.size(); client++) {
        if (ClientTable::held(words[client]))
            continue;
        int rc = table.claim(client, words[client], owner);
        if (rc == -EAGAIN)
            continue;  // somebody was faster
        if (rc < 0)
            return rc;
        rc = fabric_of(space).enroll(space->info, owner);
        if (rc == 0) {
            // For people to read: without it nothing is wrong.
            table.note(owner, fabric_of(space).limits().node, static_cast<uint32_t>(getpid()));
            return 0;
        }
        // Somebody who swept took us for dead, and retires the number.
        if (rc == -ESHUTDOWN)
            continue;
        table.release(owner);
        return rc;
    }
    return -EUSERS;
}

}  // namespace

int Pool::format(ds_space *space) {
    return format_superblock(space);
}

int Pool::join(ds_space *space, std::unique_ptr<Pool> &pool) {
    if (int rc = check_superblock(space); rc < 0)
        return rc;
    if (int rc = sweep(space); rc < 0)
        return rc;
    Owner self;
    if (int rc = enroll(space, self); rc < 0)
        return rc;
    std::unique_ptr<Pool> joined(new Pool(space, self));
    if (int rc = joined->open(); rc < 0)
        return rc;
    pool = std::move(joined);
    return 0;
}

// Clients begin at different servers, so that short ones do not all meet on one.
Pool::Pool(ds_space *space, Owner self) : space_(space), self_(self), scratch_(space) {
    for (Region &region : regions_) {
        region.held.resize(servers());
        region.full.resize(servers());
        region.turn = (self.client + self.incarnation) % servers();
    }
}

int Pool::open() {
    for (uint32_t server = 0; server < servers(); server++)
        servers_.push_back(std::make_unique<ExtentTable>(space_, server, scratch_));
    return scratch_.open();
}

Pool::~Pool() {
    for (Region &region : regions_)
        for (uint32_t server = 0; server < servers(); server++)
            give_back(region, server);
    // The number is free only when nothing can be done under it any more.
    if (fabric_of(space_).withdraw(space_->info) == 0)
        ClientTable(space_).release(self_);
}

uint32_t Pool::servers() const {
    return space_->info.servers;
}

int Pool::alloc_node(unsigned height, NodeAddress &node) {
    uint32_t number = region_for(height);
    Region &region = regions_[number];
    std::lock_guard guard(lock_);
    if (!region.spare.empty()) {
        node = region.spare.back();
        region.spare.pop_back();
        return 0;
    }
    int rc = take(region, number, node);
    if (rc != -ENOSPC)
        return rc;
    // Others may have left something, the dead too.
    if (int swept = sweep(space_); swept < 0)
        return swept;
    region.full.assign(servers(), false);
    return take(region, number, node);
}

void Pool::free_node(unsigned height, NodeAddress node) {
    std::lock_guard guard(lock_);
    regions_[region_for(height)].spare.push_back(node);
}

int Pool::fence(Owner owner) {
    uint64_t word;
    if (int rc = ClientTable(space_).load(owner.client, word); rc < 0)
        return rc;
    if (word != ClientTable::word_of(owner))
        return 0;  // it has left, or somebody has done it
    return retire(space_, owner);
}

int Pool::take(Region &region, uint32_t number, NodeAddress &node) {
    for (uint32_t i = 0; i < servers(); i++) {
        uint32_t server = (region.turn + i) % servers();
        if (region.full[server])
            continue;
        int rc = take_from(region, number, server, node);
        if (rc == -ENOSPC) {
            region.full[server] = true;
            continue;
        }
        if (rc == 0)
            region.turn = (server + 1) % servers();
        return rc;
    }
    return -ENOSPC;
}

int Pool::take_from(Region &region, uint32_t number, uint32_t server, NodeAddress &node) {
    std::optional<Held> &held = region.held[server];
    if (held && held->next == held->extent.nodes) {
        int rc = servers_[server]->give_back(held->extent.index, self_, held->next);
        held.reset();
        if (rc < 0)
            return rc;
    }
    if (!held) {
        Extent extent;
        if (int rc = servers_[server]->take(number, self_, extent); rc < 0)
            return rc;
        held = Held{.extent = extent, .next = extent.used};
    }
    node = {.addr = held->extent.addr + uint64_t{held->next} * DS_LAYOUT_NODE_SIZE,
            .generation = held->extent.generation};
    held->next++;
    return 0;
}

// With what was not handed out, and spare nodes right before that. A spare node
// further in front stays lost until the extent is wholly free.
void Pool::give_back(Region &region, uint32_t server) {
    std::optional<Held> &held = region.held[server];
    if (!held)
        return;
    auto is_spare = [&](uint64_t addr) {
        return std::ranges::any_of(region.spare,
                                   [&](const NodeAddress &node) { return node.addr == addr; });
    };
    const Extent &extent = held->extent;
    while (held->next > extent.used &&
           is_spare(extent.addr + uint64_t{held->next - 1} * DS_LAYOUT_NODE_SIZE))
        held->next--;
    // If we are fenced it is the server's already.
    servers_[server]->give_back(extent.index, self_, held->next);
    held.reset();
}

}  // namespace ds::pool

// SPDX-License-Identifier: Apache-2.0
#include "pool/pool.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

#include "abi/errors.hpp"
#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "pool/client_table.hpp"
#include "pool/superblock.hpp"

namespace ds::pool {
namespace {

using fabric::Fabric;

constexpr uint32_t clear_patience_ms = 1000;
constexpr uint32_t silent_patience_ms = 100;  // with one that did not answer the last time

Fabric &fabric_of(const ds_space *space) {
    return space->engine->fabric();
}

uint64_t deadline_of(const ds_space *space, uint32_t timeout_ms) {
    return space->engine->deadline(timeout_ms ? timeout_ms : space->timeout_ms);
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

// Gives back all that a client had that is fenced, its number last. Whoever joins may
// have to do this, so a server that is away does not hold it up for long.
int clear(ds_space *space, Owner owner, uint64_t place) {
    Scratch scratch(space, clear_patience_ms);
    if (int rc = scratch.open(); rc < 0)
        return rc;
    for (uint32_t server = 0; server < space->info.servers; server++)
        if (int rc = ExtentTable(space, server, scratch).reclaim(owner); rc < 0)
            return rc;
    return ClientTable(space, clear_patience_ms).release(owner, place);
}

// Fences the holder of a number, which is all that the caller needs: what cannot
// be cleared now is cleared by the next one who finds the number held by the dead.
int retire(ds_space *space, Owner owner, uint64_t place, uint64_t deadline) {
    int rc = ClientTable::is_bar(place)
                 ? ClientTable(space).bar(owner, place)
                 : fabric_of(space).fence(space->info, owner, place, deadline);
    if (rc < 0)
        return rc;
    rc = clear(space, owner, place);
    return rc == -ESHUTDOWN ? rc : 0;
}

// Is the process gone? One without a place is, for all it can still do.
int is_gone(ds_space *space, Owner owner, uint64_t place, uint64_t deadline) {
    return ClientTable::is_bar(place) ||
           fabric_of(space).client_alive(space->info, owner, place, deadline) == 0;
}

// Retires the holder of a number if his process is gone.
int retire_dead(ds_space *space, ClientTable &table, uint32_t client, uint64_t deadline) {
    ClientTable::Entry entry;
    if (int rc = table.load(client, entry); rc < 0)
        return rc;
    if (!ClientTable::held(entry.word))
        return 0;
    Owner owner = ClientTable::holder(entry.word);
    if (!is_gone(space, owner, entry.place, deadline))
        return 0;
    int rc = retire(space, owner, entry.place, deadline);
    return rc == -EAGAIN ? 0 : rc;  // he has come to life
}

// Retires all whose process is gone, as far as there is time, from number @p from on.
// That is then the one to go on with. Returns the first failure.
int sweep(ds_space *space, uint32_t timeout_ms, uint32_t &from) {
    uint64_t deadline = deadline_of(space, timeout_ms);
    ClientTable table(space, timeout_ms);
    std::vector<ClientTable::Entry> entries;
    if (int rc = table.load(entries); rc < 0)
        return rc;
    int failed = 0;
    for (size_t i = 0; i < entries.size(); i++, from++) {
        from %= entries.size();
        if (from == 0 || !ClientTable::held(entries[from].word))
            continue;
        if (fabric_of(space).now_ns() >= deadline)
            return failed ? failed : -ETIMEDOUT;
        int rc = retire_dead(space, table, from, deadline);
        failed = failed ? failed : rc;
    }
    return failed;
}

// Enrolls under a number that is claimed, and lets it go if that fails.
int enroll_as(ds_space *space, Owner owner, uint64_t bar, uint64_t &place) {
    ClientTable table(space);
    Fabric &fabric = fabric_of(space);
    int rc = fabric.enroll(space->info, owner, place);
    if (rc < 0) {
        table.release(owner, bar);
        return rc;
    }
    rc = table.note(owner, bar, place);
    if (rc < 0) {
        fabric.withdraw(space->info);
        table.release(owner, place);  // it may be there although we were not told
    }
    return rc;
}

// Claims a number and enrolls under it.
int enroll(ds_space *space, Owner &owner, uint64_t &place) {
    ClientTable table(space);
    std::vector<ClientTable::Entry> entries;
    if (int rc = table.load(entries); rc < 0)
        return rc;
    for (uint32_t client = 1; client < entries.size(); client++) {
        ClientTable::Entry &entry = entries[client];
        if (ClientTable::held(entry.word))
            continue;
        int rc = ClientTable::is_bar(entry.place) ? 0 : table.settle(client, entry);
        if (rc == 0)
            rc = table.claim(client, entry, owner);
        if (rc == 0)
            rc = enroll_as(space, owner, entry.place, place);
        // Somebody was faster, or has swept and taken us for dead.
        if (rc != -EAGAIN && rc != -ESHUTDOWN)
            return rc;
    }
    return -EUSERS;
}

int become_client(ds_space *space, Owner &self, uint64_t &place) {
    std::lock_guard guard(space->engine->membership());
    if (int rc = check_superblock(space); rc < 0)
        return rc;
    uint32_t from = 0;
    int swept = sweep(space, 0, from);
    int rc = enroll(space, self, place);
    return rc == -EUSERS && swept < 0 ? swept : rc;
}

}  // namespace

int Pool::format(ds_space *space) {
    return format_superblock(space);
}

int Pool::join(ds_space *space, std::unique_ptr<Pool> &pool) {
    Owner self;
    uint64_t place;
    if (int rc = become_client(space, self, place); rc < 0)
        return rc;
    std::unique_ptr<Pool> joined(new Pool(space, self, place));
    if (int rc = joined->open(); rc < 0)
        return rc;
    pool = std::move(joined);
    return 0;
}

// Clients begin at different servers, so that short ones do not all meet on one.
Pool::Pool(ds_space *space, Owner self, uint64_t place)
    : space_(space), self_(self), place_(place), scratch_(space), silent_(space->info.servers) {
    for (Region &region : regions_) {
        region.held.resize(servers());
        region.full.resize(servers());
        region.spare.resize(servers());
        region.turn = (self.client + self.incarnation) % servers();
    }
}

int Pool::open() {
    for (uint32_t server = 0; server < servers(); server++)
        servers_.push_back(std::make_unique<ExtentTable>(space_, server, scratch_));
    return scratch_.open();
}

Pool::~Pool() {
    std::lock_guard guard(space_->engine->membership());
    bool all = true;
    scratch_.set_timeout(clear_patience_ms);
    for (uint32_t server = 0; server < servers(); server++)
        all &= give_back_all(server) == 0;
    // The number is free only when nothing can be done under it any more, and nothing
    // is held under it. One who is fenced leaves both to whoever clears after him.
    if (fabric_of(space_).withdraw(space_->info) < 0 || !all)
        return;
    for (const auto &server : servers_)
        if (server->unsure() && server->reclaim(self_) < 0)
            return;
    ClientTable(space_, clear_patience_ms).release(self_, place_);
}

uint32_t Pool::servers() const {
    return space_->info.servers;
}

int Pool::alloc_node(unsigned height, NodeAddress &node, uint32_t timeout_ms) {
    uint32_t number = region_for(height);
    Region &region = regions_[number];
    if (take_spare(region, node))
        return 0;
    std::lock_guard guard(lock_);
    int rc = take(region, number, timeout_ms, node);
    if (rc != -ENOSPC)
        return rc;
    // Others may have left something, the dead too.
    int swept = sweep(space_, timeout_ms, sweep_from_);
    region.full.assign(servers(), false);
    rc = take(region, number, timeout_ms, node);
    return rc == -ENOSPC && swept < 0 ? swept : rc;
}

bool Pool::node_at_hand(unsigned height, NodeAddress &node) {
    Region &region = regions_[region_for(height)];
    if (take_spare(region, node))
        return true;
    std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard)
        return false;
    auto passed_over = [&](uint32_t server) { return region.full[server] || silent_[server]; };
    uint32_t server = region.turn;
    for (uint32_t i = 1; i < servers() && passed_over(server); i++)
        server = (server + 1) % servers();
    const std::optional<Held> &held = region.held[server];
    if (passed_over(server) || !held || held->next == held->extent.nodes ||
        take_from(region, region_for(height), server, node) < 0)
        return false;
    region.turn = (server + 1) % servers();
    return true;
}

// Perhaps because its server is down: so that is asked before it gives another one.
void Pool::free_node(unsigned height, NodeAddress node) noexcept {
    uint32_t server = server_of(node);
    silent_[server] = true;
    std::lock_guard guard(spare_lock_);
    try {
        regions_[region_for(height)].spare[server].push_back(node);
    } catch (const std::bad_alloc &) {
    }
}

int Pool::fence(Owner owner, uint32_t timeout_ms) {
    uint64_t deadline = deadline_of(space_, timeout_ms);
    ClientTable::Entry entry;
    int rc;
    do {
        rc = ClientTable(space_).load(owner.client, entry);
        if (rc == 0 && entry.word != ClientTable::word_of(owner))
            return 0;  // it has left, or somebody has done it
        if (rc == 0)
            rc = retire(space_, owner, entry.place, deadline);
    } while (rc == -EAGAIN);
    return rc;
}

int Pool::is_gone(Owner owner, uint32_t timeout_ms) {
    ClientTable::Entry entry;
    if (int rc = ClientTable(space_, timeout_ms).load(owner.client, entry); rc < 0)
        return rc;
    if (entry.word != ClientTable::word_of(owner))
        return 1;
    return pool::is_gone(space_, owner, entry.place, deadline_of(space_, timeout_ms));
}

int Pool::is_alive(Owner owner) {
    ClientTable::Entry entry;
    if (!ClientTable::has(space_->info, owner.client))
        return 0;
    if (int rc = ClientTable(space_).load(owner.client, entry); rc < 0)
        return rc;
    return entry.word == ClientTable::word_of(owner) && !ClientTable::is_bar(entry.place) &&
           fabric_of(space_).client_alive(space_->info, owner, entry.place,
                                          deadline_of(space_, 0)) == 1;
}

uint32_t Pool::server_of(NodeAddress node) const {
    return static_cast<uint32_t>((node.addr - space_->info.base) >> space_->info.server_shift);
}

bool Pool::take_spare(Region &region, uint32_t server, NodeAddress &node) {
    std::lock_guard guard(spare_lock_);
    std::vector<NodeAddress> &spare = region.spare[server];
    if (spare.empty())
        return false;
    node = spare.back();
    spare.pop_back();
    return true;
}

bool Pool::has_spare(const Region &region, uint32_t server) {
    std::lock_guard guard(spare_lock_);
    return !region.spare[server].empty();
}

// Of a server that answers, as far as is known.
bool Pool::take_spare(Region &region, NodeAddress &node) {
    for (uint32_t server = 0; server < servers(); server++)
        if (!silent_[server] && take_spare(region, server, node))
            return true;
    return false;
}

// Does it answer?
int Pool::look(uint32_t server) {
    uint64_t word;
    return scratch_.read(space_->info.base + (uint64_t{server} << space_->info.server_shift), &word,
                         sizeof(word));
}

int Pool::take(Region &region, uint32_t number, uint32_t timeout_ms, NodeAddress &node) {
    int passed_over = -ENOSPC;
    for (uint32_t i = 0; i < servers(); i++) {
        uint32_t server = (region.turn + i) % servers();
        if (region.full[server] && !has_spare(region, server))
            continue;
        scratch_.set_timeout(silent_[server] ? silent_patience_ms : timeout_ms);
        int rc = silent_[server] ? look(server) : 0;
        if (rc == 0 && !take_spare(region, server, node)) {
            rc = take_from(region, number, server, node);
            region.full[server] = rc == -ENOSPC;
        }
        silent_[server] = is_transient(rc);
        if (silent_[server]) {
            passed_over = rc;
        } else if (rc != -ENOSPC) {
            if (rc == 0)
                region.turn = (server + 1) % servers();
            return rc;
        }
    }
    return passed_over;
}

int Pool::take_from(Region &region, uint32_t number, uint32_t server, NodeAddress &node) {
    std::optional<Held> &held = region.held[server];
    if (held && held->next >= held->extent.nodes) {
        int rc = servers_[server]->give_back(held->extent.index, self_, held->next);
        if (is_transient(rc))
            return rc;  // it may still be ours
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
int Pool::give_back(Region &region, uint32_t server) {
    std::optional<Held> &held = region.held[server];
    if (!held)
        return 0;
    auto is_spare = [&](uint64_t addr) {
        std::lock_guard guard(spare_lock_);
        return std::ranges::any_of(region.spare[server],
                                   [&](const NodeAddress &node) { return node.addr == addr; });
    };
    const Extent &extent = held->extent;
    while (held->next > extent.used &&
           is_spare(extent.addr + uint64_t{held->next - 1} * DS_LAYOUT_NODE_SIZE))
        held->next--;
    int rc = servers_[server]->give_back(extent.index, self_, held->next);
    held.reset();
    return rc;
}

// Ends at the first failure: the others would wait as long.
int Pool::give_back_all(uint32_t server) {
    for (Region &region : regions_)
        if (int rc = give_back(region, server); rc < 0)
            return rc;
    return 0;
}

}  // namespace ds::pool

// SPDX-License-Identifier: Apache-2.0
// A local fabric whose memory servers can die, in all processes that share the
// switches: what it is asked of one that is dead does not happen, and ends as on
// /dev/ds when a node is not connected.
#pragma once

#include <ds/ds.h>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "fabric/local_fabric.hpp"
#include "user_fabric_above.hpp"

namespace mortal {

using namespace ds::fabric;

constexpr uint32_t servers = 4, shift = 24;
constexpr uint64_t base = 0x10000000;

struct Server {
    std::atomic<bool> dead;
    std::atomic<bool> silent;         ///< WRITEs happen, and nobody hears of it
    std::atomic<bool> silent_of_cas;  ///< so do CASes
    std::atomic<bool> stuck;          ///< of the first one: nobody can withdraw
    std::atomic<uint16_t> hung;       ///< of the first one: the client that nobody can fence
};

/// The switches.
class Servers {
public:
    Servers()
        : servers_(static_cast<Server *>(
              mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
    Servers(const Servers &) = delete;
    Servers &operator=(const Servers &) = delete;
    ~Servers() { munmap(servers_, bytes); }
    Server &operator[](uint64_t server) const { return servers_[server]; }

private:
    static constexpr size_t bytes = servers * sizeof(Server);
    Server *servers_;
};

class MortalFabric final : public FabricAbove {
public:
    MortalFabric(std::unique_ptr<Fabric> local, const Servers &servers)
        : FabricAbove(std::move(local)), servers_(servers) {}

    void execute(std::span<const ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms) override {
        for (size_t first = 0, end; first < ops.size(); first = end) {
            for (end = first; ops[end++].flags & DS_OP_CHAIN;) {
            }
            auto chain = ops.subspan(first, end - first);
            auto its_ends = ends.subspan(first, end - first);
            Server &server = server_of(chain[0]);
            if (!server.dead)
                below->execute(chain, its_ends, timeout_ms);
            if (server.dead)
                std::ranges::fill(its_ends, ended(-ENOTCONN, DS_NOT_EXECUTED));
            else if ((server.silent && chain[0].opcode == DS_OP_WRITE) ||
                     (server.silent_of_cas && chain[0].opcode == DS_OP_CAS))
                std::ranges::fill(its_ends, ended(-ETIMEDOUT, DS_UNKNOWN));
        }
    }

    // What has to wait is held here: its server may die meanwhile.
    void submit(std::span<Chain *const> chains) override {
        std::lock_guard guard(lock_);
        held_.insert(held_.end(), chains.begin(), chains.end());
    }

    int poll(uint32_t timeout_ms) override {
        std::vector<Chain *> begun, lost;
        {
            std::lock_guard guard(lock_);
            uint64_t now = now_ns();
            std::erase_if(held_, [&](Chain *chain) {
                bool due = chain->not_before <= now || chain->deadline <= now;
                if (due)
                    (server_of(chain->ops[0]).dead ? lost : begun).push_back(chain);
                return due;
            });
        }
        below->submit(begun);
        for (Chain *chain : lost) {
            std::fill_n(chain->ends, chain->ops.size(), ended(-ENOTCONN, DS_NOT_EXECUTED));
            chain->starts++;
            chain->done(*chain);
        }
        int rc = below->poll(lost.empty() ? std::min(timeout_ms, 5u) : 0);
        return rc < 0 ? rc : rc + static_cast<int>(lost.size());
    }

    void drain(uint64_t deadline) override {
        for (Chain *chain : std::exchange(held_, {})) {
            std::fill_n(chain->ends, chain->ops.size(), ended(-ECANCELED, DS_NOT_EXECUTED));
            chain->done(*chain);
        }
        below->drain(deadline);
    }

    int withdraw(const SpaceInfo &space) override {
        return servers_[0].stuck ? -ETIMEDOUT : below->withdraw(space);
    }

    int fence(const SpaceInfo &space, Owner owner, uint64_t place, uint64_t deadline) override {
        if (servers_[0].hung != owner.client)
            return below->fence(space, owner, place, deadline);
        sleep_until(deadline);
        return -ETIMEDOUT;
    }

private:
    Server &server_of(const ds_op &op) const { return servers_[(op.addr - base) >> shift]; }

    const Servers &servers_;
    std::mutex lock_;
    std::vector<Chain *> held_;
};

/// Opens a pool's file so. For ds_fabric_close().
inline ds_fabric *open(const std::string &path, const Servers &servers) {
    std::unique_ptr<Fabric> local;
    if (LocalFabric::open(path.c_str(), local) < 0)
        std::abort();
    auto fabric = std::make_unique<MortalFabric>(std::move(local), servers);
    return new ds_fabric{std::make_shared<Engine>(std::move(fabric), 1024)};
}

}  // namespace mortal

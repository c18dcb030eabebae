// SPDX-License-Identifier: Apache-2.0
#include "fabric/liveness.hpp"

#include <cerrno>

namespace ds::fabric {

int Liveness::node(uint32_t number) {
    using namespace netlink;
    std::lock_guard guard(lock_);
    if (!client_) {
        auto client = Client::open();
        if (!client)
            return -client.error().code;
        client_ = std::move(*client);
    }
    auto peers = client_->dump(DS_CMD_PEER_GET);
    if (!peers)
        return -peers.error().code;
    // A node may be there twice: we connected to it, and it to us.
    int alive = -ENOENT;
    for (const Message &peer : *peers)
        if (peer.get(attr::node) == number)
            alive = alive == 1 || peer.get(attr::state) == DS_PEER_UP;
    return alive;
}

}  // namespace ds::fabric

// SPDX-License-Identifier: Apache-2.0
// ds::fabric::LocalSender: messages to ports of the local fabric, the sending end.
//
// A request has a connection of its own while it is under way, and leaves it to
// the next one if it ended with a reply. One that was given up closes it, so that
// nobody takes a late reply for his.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include <ds/ioctl.h>

#include "fabric/local_message.hpp"

namespace ds::fabric {

class LocalSender {
public:
    LocalSender(const PortFolder &folder, uint32_t nodes) : folder_(folder), nodes_(nodes) {}

    /// As DS_IOC_MSG_SEND.
    int send(ds_ioc_msg_send &message);

private:
    int connect(uint32_t port, Fd &connection) const;
    int start(const ds_ioc_msg_send &message, uint64_t deadline, Fd &connection);
    static int finish(ds_ioc_msg_send &message, uint64_t deadline, const Fd &connection);
    bool take_idle(uint32_t port, Fd &connection);
    void keep(uint32_t port, Fd connection);

    const PortFolder &folder_;
    const uint32_t nodes_;

    std::mutex lock_;
    std::map<uint32_t, std::vector<Fd>> idle_;  // by port
};

}  // namespace ds::fabric

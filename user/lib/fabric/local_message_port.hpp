// SPDX-License-Identifier: Apache-2.0
// ds::fabric::LocalPort: a service port of the local fabric, the receiving end.
//
// There is no thread that takes messages in: receive() does, for all. So a
// message for which the queue has no room is refused when the service receives
// the next time, not before.
//
// Lock: lock_ guards all but the descriptors that are watched; nothing waits
// under it.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <ds/ioctl.h>

#include "fabric/local_file.hpp"
#include "fabric/local_message.hpp"

namespace ds::fabric {

class LocalPort {
public:
    /// As ds_service_bind(), and -EACCES: the pool may only be read.
    static int bind(const LocalFile &file, const PortFolder &folder, uint32_t port, uint32_t queue,
                    std::unique_ptr<LocalPort> &bound);

    LocalPort(const LocalPort &) = delete;
    LocalPort &operator=(const LocalPort &) = delete;
    ~LocalPort();

    int receive(ds_ioc_msg_recv &message);
    int reply(const ds_ioc_msg_reply &message);

private:
    struct Connection {
        explicit Connection(Fd fd) : fd(std::move(fd)) {}
        Fd fd;
    };
    struct Message {
        std::shared_ptr<Connection> from;
        bool want_reply;
        std::vector<std::byte> payload;
    };

    LocalPort(const LocalFile &file, uint32_t port, uint32_t limit)
        : file_(file), port_(port), limit_(limit) {}

    int lock(short type) const;
    int listen(const PortFolder &folder);
    int watch(int fd) const;

    // With lock_ held.
    int gather();
    int accept();
    void take_from(int fd);
    void drop(int fd);
    int hand_out(ds_ioc_msg_recv &message);
    void tell(bool any);

    const LocalFile &file_;
    const uint32_t port_;
    const size_t limit_;
    bool locked_ = false;
    Fd folder_, listener_, epoll_;
    Fd queued_;  // an event that is there as long as something is in the queue

    std::mutex lock_;
    std::map<int, std::shared_ptr<Connection>> connections_;
    std::deque<Message> queue_;
    bool told_ = false;                                      // that event is there
    std::map<uint64_t, std::weak_ptr<Connection>> pending_;  // by cookie
};

}  // namespace ds::fabric

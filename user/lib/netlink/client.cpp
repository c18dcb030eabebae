// SPDX-License-Identifier: Apache-2.0
#include <linux/netlink.h>
#include <poll.h>

#include <cerrno>
#include <climits>

#include "netlink/socket.hpp"

namespace ds::netlink {
namespace {

// A dump races with whoever changes the objects; this many rounds lost in a
// row mean that they change all the time.
constexpr int dump_attempts = 8;

}  // namespace

Client::Client(std::unique_ptr<Socket> socket) : socket_(std::move(socket)) {}
Client::Client(Client &&) noexcept = default;
Client &Client::operator=(Client &&) noexcept = default;
Client::~Client() = default;

Result<Client> Client::open() {
    auto socket = Socket::open();
    if (!socket)
        return socket.error();
    return Client(std::move(*socket));
}

Result<Message> Client::call(const Message &request) {
    Message reply(request.command());
    auto ended = socket_->exchange(request, NLM_F_ACK, [&](Message m) { reply = std::move(m); });
    if (!ended)
        return ended.error();
    return reply;
}

Result<std::vector<Message>> Client::dump(const Message &request) {
    for (int i = 0; i < dump_attempts; i++) {
        std::vector<Message> objects;
        auto ended = socket_->exchange(request, NLM_F_DUMP,
                                       [&](Message m) { objects.push_back(std::move(m)); });
        if (!ended)
            return ended.error();
        if (!socket_->interrupted())
            return objects;
    }
    return Error::from(EAGAIN, "The list changed while it was read, several times in a row.");
}

Events::Events(std::unique_ptr<Socket> socket) : socket_(std::move(socket)) {}
Events::Events(Events &&) noexcept = default;
Events &Events::operator=(Events &&) noexcept = default;
Events::~Events() = default;

Result<Events> Events::open() {
    auto socket = Socket::open();
    if (!socket)
        return socket.error();
    if (auto joined = (*socket)->join(DS_GENL_GROUP); !joined)
        return joined.error();
    return Events(std::move(*socket));
}

int Events::fd() const {
    return socket_->fd();
}

Result<std::optional<Message>> Events::next(std::chrono::milliseconds timeout) {
    if (queue_.empty()) {
        pollfd readable{fd(), POLLIN, 0};
        int ms = timeout.count() > INT_MAX ? INT_MAX : static_cast<int>(timeout.count());
        int rc = poll(&readable, 1, ms);
        if (rc < 0)
            return Error::from(errno);
        if (rc == 0)
            return std::optional<Message>();
        auto got = socket_->receive([&](Message m) { queue_.push_back(std::move(m)); });
        if (!got)
            return got.error();
        if (queue_.empty())
            return std::optional<Message>();
    }
    std::optional<Message> event(std::move(queue_.front()));
    queue_.erase(queue_.begin());
    return event;
}

}  // namespace ds::netlink

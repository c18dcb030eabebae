// SPDX-License-Identifier: Apache-2.0
#include "fabric/local_message_port.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "fabric/clock.hpp"

namespace ds::fabric {
namespace {

constexpr uint64_t ms = 1'000'000;  // ns

// Those of /dev/ds.
constexpr uint32_t max_queue = 1024;
constexpr size_t max_pending = 1024;

// Far behind the pool's end, and behind the clients' (fabric/local_clients.cpp).
constexpr off_t locks_offset = off_t{1} << 61;

// One sender must not keep us from the others.
constexpr int most_at_once = 64;

int random_cookie(uint64_t &cookie) {
    return getrandom(&cookie, sizeof(cookie), 0) == sizeof(cookie) ? 0 : -EIO;
}

// Those by which a kernel refuses; nobody would know who says so.
bool is_refusal(int status) {
    return status == -ECONNREFUSED || status == -EBUSY || status == -ECONNRESET;
}

// Who has closed his end waits for no reply any more.
bool is_closed(int fd) {
    pollfd end{fd, 0, 0};
    return poll(&end, 1, 0) > 0 && end.revents & POLLHUP;
}

}  // namespace

int LocalPort::bind(const LocalFile &file, const PortFolder &folder, uint32_t port, uint32_t queue,
                    std::unique_ptr<LocalPort> &bound) {
    if (port < DS_SERVICE_USER_FIRST || port > DS_SERVICE_USER_LAST || queue == 0 ||
        queue > max_queue)
        return -EINVAL;
    if (!file.writable())
        return -EACCES;
    std::unique_ptr<LocalPort> made(new LocalPort(file, port, queue));
    if (int rc = made->lock(F_WRLCK); rc < 0)
        return rc;
    made->locked_ = true;
    if (int rc = made->listen(folder); rc < 0)
        return rc;
    bound = std::move(made);
    return 0;
}

// The lock, which ends with the process, says whether the port is taken. A
// socket without it is what a dead process has left.
int LocalPort::lock(short type) const {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = locks_offset + port_;
    lock.l_len = 1;
    if (fcntl(file_.fd(), F_OFD_SETLK, &lock) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? -EADDRINUSE : -errno;
}

int LocalPort::listen(const PortFolder &folder) {
    struct stat status;
    if (fstat(file_.fd(), &status) < 0)
        return -errno;
    if (int rc = folder.make(status.st_mode, folder_); rc < 0)
        return rc;
    std::string name = PortFolder::socket_of(folder_, port_);
    if (unlink(name.c_str()) < 0 && errno != ENOENT)
        return -errno;
    if (int rc = make_socket(listener_); rc < 0)
        return rc;
    if (int rc = bind_to(listener_, name); rc < 0)
        return rc;
    if (chmod(name.c_str(), status.st_mode & 0666) < 0 ||
        ::listen(listener_.get(), static_cast<int>(limit_)) < 0)
        return -errno;
    epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    queued_ = Fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!epoll_.open() || !queued_.open())
        return -errno;
    if (int rc = watch(queued_.get()); rc < 0)
        return rc;
    return watch(listener_.get());
}

LocalPort::~LocalPort() {
    for (const Message &message : queue_)
        if (message.want_reply)
            send_frame(message.from->fd.get(), {.type = Frame::refusal, .status = -ECONNREFUSED},
                       {});
    if (listener_.open())
        unlink(PortFolder::socket_of(folder_, port_).c_str());
    if (locked_)
        lock(F_UNLCK);
}

int LocalPort::watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

// ---- What has come ----

// That there is no room for one more connection holds up none that is there; and those
// that have ended make room.
int LocalPort::gather() {
    std::array<epoll_event, 64> events;
    int failed = 0;
    int n = epoll_wait(epoll_.get(), events.data(), events.size(), 0);
    for (int i = 0; i < n; i++) {
        int fd = events[i].data.fd;
        if (fd == queued_.get())
            continue;
        if (fd != listener_.get())
            take_from(fd);
        else
            failed = accept();
    }
    return failed;
}

int LocalPort::accept() {
    for (;;) {
        Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd.open())
            return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
        int number = fd.get();
        if (int rc = watch(number); rc < 0)
            return rc;
        connections_[number] = std::make_shared<Connection>(std::move(fd));
        take_from(number);
    }
}

void LocalPort::take_from(int fd) {
    for (int i = 0; i < most_at_once; i++) {
        Frame frame;
        std::vector<std::byte> payload(local_max_payload);
        ssize_t length = receive_frame(fd, frame, payload);
        if (length == -EAGAIN || length == -EINTR)
            return;
        if (length < 0 || (frame.type != Frame::request && frame.type != Frame::one_way))
            return drop(fd);
        bool want_reply = frame.type == Frame::request;
        // Given up unread. What he has sent since, by another connection, may have been read.
        if (want_reply && is_closed(fd))
            return drop(fd);
        payload.resize(static_cast<size_t>(length));
        if (queue_.size() < limit_)
            queue_.push_back({connections_.at(fd), want_reply, std::move(payload)});
        else if (want_reply)
            send_frame(fd, {.type = Frame::refusal, .status = -EBUSY}, {});
    }
}

// It closes when no message of it is left in the queue.
void LocalPort::drop(int fd) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    connections_.erase(fd);
    std::erase_if(pending_, [](const auto &waiting) { return waiting.second.expired(); });
}

// ---- What the service does ----

int LocalPort::receive(ds_ioc_msg_recv &message) {
    uint64_t deadline = monotonic_ns() + message.timeout_ms * ms;
    for (;;) {
        {
            std::lock_guard guard(lock_);
            int gathered = gather();
            if (!queue_.empty()) {
                int rc = hand_out(message);
                tell(!queue_.empty());
                return rc;
            }
            if (gathered < 0)
                return gathered;
        }
        if (message.timeout_ms == 0)
            return -EAGAIN;
        if (int rc = wait_for(epoll_.get(), POLLIN, deadline); rc < 0)
            return rc;
    }
}

// Another one who is about to wait does not see in the sockets what is in the queue by now.
void LocalPort::tell(bool any) {
    eventfd_t one = 1;
    if (any == told_)
        return;
    if ((any ? eventfd_write(queued_.get(), one) : eventfd_read(queued_.get(), &one)) == 0)
        told_ = any;
}

int LocalPort::hand_out(ds_ioc_msg_recv &message) {
    Message &first = queue_.front();
    message.out_length = static_cast<uint32_t>(first.payload.size());
    message.out_node = 1;  // all nodes of the pool are this host
    message.out_want_reply = first.want_reply;
    if (message.out_length > message.data_size)
        return -EMSGSIZE;
    if (first.want_reply) {
        if (pending_.size() >= max_pending)
            return -EDQUOT;
        uint64_t cookie;
        if (int rc = random_cookie(cookie); rc < 0)
            return rc;
        message.out_cookie = cookie;
        pending_[message.out_cookie] = first.from;
    }
    if (!first.payload.empty())
        std::memcpy(reinterpret_cast<void *>(message.data),
                    first.payload.data(),  // NOLINT(performance-no-int-to-ptr)
                    first.payload.size());
    queue_.pop_front();
    return 0;
}

int LocalPort::reply(const ds_ioc_msg_reply &message) {
    if (message.length > local_max_payload)
        return -E2BIG;
    if (is_refusal(message.status))
        return -EINVAL;
    std::lock_guard guard(lock_);
    auto waiting = pending_.extract(message.cookie);
    std::shared_ptr<Connection> to = waiting ? waiting.mapped().lock() : nullptr;
    if (!to)
        return -ENOENT;
    Frame frame{.type = Frame::reply, .status = message.status};
    auto *data =
        reinterpret_cast<const std::byte *>(message.data);  // NOLINT(performance-no-int-to-ptr)
    // It waits for this one, so there is room for it, or it is gone.
    return send_frame(to->fd.get(), frame, {data, message.length}) < 0 ? -ENOENT : 0;
}

}  // namespace ds::fabric

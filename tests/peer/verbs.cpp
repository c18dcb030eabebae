// SPDX-License-Identifier: Apache-2.0
#include "verbs.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace peer {

namespace {

constexpr std::size_t data_size = 65536;
constexpr Millis operation_limit = 20s;

// Completions are told apart by their number: receive and send slots from
// these on, and the one one-sided operation.
constexpr std::uint64_t receive_base = 0x10000;
constexpr std::uint64_t send_base = 0x20000;
constexpr std::uint64_t data_wr = 0x30000;

[[noreturn]] void broken(const char *what) {
    throw Broken(std::string(what) + ": " + std::strerror(errno));
}

void set_nonblocking(int fd) {
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
        broken("fcntl");
}

int millis_until(Clock::time_point until) {
    auto left = std::chrono::ceil<Millis>(until - Clock::now()).count();
    return static_cast<int>(std::clamp<long>(left, 0, 60000));
}

}  // namespace

sockaddr_in socket_address(const std::string &host, std::uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (!host.empty() && inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
        throw Broken(host + " is no IPv4 address");
    return address;
}

rdma_conn_param connection_parameters(const Bytes &private_data, std::uint8_t depth,
                                      const QpSizes &sizes) {
    rdma_conn_param param = {};
    param.private_data = private_data.data();
    param.private_data_len = static_cast<std::uint8_t>(private_data.size());
    param.initiator_depth = depth;
    param.responder_resources = depth;
    param.retry_count = 7;
    param.rnr_retry_count = sizes.rnr_retries;
    return param;
}

// ---- events ----

CmChannel::CmChannel() : channel_(rdma_create_event_channel()) {
    if (!channel_)
        broken("no connection manager; is rdma_ucm loaded?");
    set_nonblocking(channel_->fd);
}

std::optional<CmEvent> CmChannel::next(Clock::time_point until) {
    for (;;) {
        rdma_cm_event *event;
        if (!rdma_get_cm_event(channel_.get(), &event)) {
            CmEvent taken = {event->event, event->status, event->id, {}};
            const auto &conn = event->param.conn;
            if (conn.private_data_len && conn.private_data) {
                auto *data = static_cast<const std::uint8_t *>(conn.private_data);
                taken.data.assign(data, data + conn.private_data_len);
            }
            rdma_ack_cm_event(event);
            return taken;
        }
        if (errno != EAGAIN)
            broken("rdma_get_cm_event");
        pollfd p = {channel_->fd, POLLIN, 0};
        if (::poll(&p, 1, millis_until(until)) <= 0)
            return {};
    }
}

// ---- queue pair ----

Qp::Qp(rdma_cm_id *id, const QpSizes &sizes, ibv_pd *pd)
    : id_(id),
      sizes_(sizes),
      shared_(pd),
      pd_(pd ? pd : ibv_alloc_pd(id->verbs)),
      memory_((sizes.receives + sizes.sends) * buffer_size + data_size) {
    events_ = pd_ ? ibv_create_comp_channel(id->verbs) : nullptr;
    if (!events_)
        broken("no protection domain or completion channel");
    set_nonblocking(events_->fd);
    cq_ = ibv_create_cq(id->verbs, static_cast<int>(sizes.sends + sizes.receives + 4), nullptr,
                        events_, 0);
    mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE);
    if (!cq_ || !mr_ || ibv_req_notify_cq(cq_, 0))
        broken("no completion queue or memory region");
    ibv_qp_init_attr attr = {};
    attr.send_cq = attr.recv_cq = cq_;
    attr.qp_type = IBV_QPT_RC;
    attr.sq_sig_all = 1;
    attr.cap = {sizes.sends + 1, std::max(1u, sizes.receives), 1, 1, 0};
    if (rdma_create_qp(id, pd_, &attr)) {
        int error = errno;
        release();
        if (error == EINVAL)
            throw Withdrawn("no queue pair for a connection that is gone");
        errno = error;
        broken("no queue pair");
    }
    for (unsigned i = 0; i < sizes.receives; i++)
        post_receive(i);
    for (unsigned i = 0; i < sizes.sends; i++)
        free_.push_back(i);
}

Qp::~Qp() {
    rdma_destroy_qp(id_);
    release();
}

void Qp::release() {
    ibv_dereg_mr(mr_);
    ibv_destroy_cq(cq_);
    ibv_destroy_comp_channel(events_);
    if (!shared_)
        ibv_dealloc_pd(pd_);
}

void Qp::start_receiving() {
    receiving_ = true;
    for (std::uint64_t slot : std::exchange(unposted_, {}))
        post_receive(slot);
}

void Qp::post_receive(std::uint64_t slot) {
    if (!receiving_) {
        unposted_.push_back(slot);
        return;
    }
    ibv_sge sge = {reinterpret_cast<std::uint64_t>(&memory_[slot * buffer_size]), buffer_size,
                   mr_->lkey};
    ibv_recv_wr wr = {}, *bad;
    wr.wr_id = receive_base + slot;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_post_recv(id_->qp, &wr, &bad);  // fails when the connection is closed: no more to receive
}

bool Qp::poll() {
    std::array<ibv_wc, 16> done;
    int count = ibv_poll_cq(cq_, done.size(), done.data());
    for (int i = 0; i < count; i++) {
        const ibv_wc &wc = done[i];
        if (wc.wr_id == data_wr) {
            data_status_ = wc.status;
        } else if (wc.wr_id >= send_base) {
            free_.push_back(wc.wr_id - send_base);
            if (wc.status != IBV_WC_SUCCESS && bad_ == IBV_WC_SUCCESS)
                bad_ = wc.status;
        } else if (wc.status == IBV_WC_SUCCESS) {
            auto *start = &memory_[(wc.wr_id - receive_base) * buffer_size];
            arrived_.emplace_back(start, start + wc.byte_len);
            post_receive(wc.wr_id - receive_base);
        }
    }
    return count > 0;
}

// Wait for completions; false when there was none until then.
bool Qp::wait(Clock::time_point until) {
    for (;;) {
        if (poll())
            return true;
        ibv_cq *cq;
        void *context;
        if (!ibv_get_cq_event(events_, &cq, &context))
            ibv_ack_cq_events(cq, 1);
        if (ibv_req_notify_cq(cq_, 0))
            broken("ibv_req_notify_cq");
        if (poll())
            return true;
        pollfd p = {events_->fd, POLLIN, 0};
        if (Clock::now() >= until || ::poll(&p, 1, millis_until(until)) <= 0)
            return poll();
    }
}

bool Qp::send(std::span<const std::uint8_t> message, ibv_wr_opcode opcode, std::uint32_t rkey) {
    auto until = Clock::now() + operation_limit;
    while (free_.empty() && bad_ == IBV_WC_SUCCESS)
        if (!wait(until))
            return false;
    if (bad_ != IBV_WC_SUCCESS || message.size() > buffer_size)
        return false;
    auto slot = free_.back();
    auto *start = &memory_[(sizes_.receives + slot) * buffer_size];
    std::copy(message.begin(), message.end(), start);
    ibv_sge sge = {reinterpret_cast<std::uint64_t>(start),
                   static_cast<std::uint32_t>(message.size()), mr_->lkey};
    ibv_send_wr wr = {}, *bad;
    wr.wr_id = send_base + slot;
    wr.sg_list = &sge;
    wr.num_sge = message.empty() ? 0 : 1;
    wr.opcode = opcode;
    wr.invalidate_rkey = rkey;
    if (ibv_post_send(id_->qp, &wr, &bad))
        return false;
    free_.pop_back();
    return true;
}

bool Qp::try_send(std::span<const std::uint8_t> message) {
    poll();
    return !free_.empty() && send(message);
}

std::optional<Bytes> Qp::receive(Clock::time_point until) {
    while (arrived_.empty())
        if (!wait(until))
            return {};
    Bytes message = std::move(arrived_.front());
    arrived_.pop_front();
    return message;
}

ibv_wc_status Qp::sent(Clock::time_point until) {
    while (free_.size() < sizes_.sends && wait(until)) {
    }
    return free_.size() < sizes_.sends ? IBV_WC_RESP_TIMEOUT_ERR : bad_;
}

int Qp::one_sided(ibv_send_wr &wr, std::size_t length) {
    if (length > data_size)
        throw Broken("an operation longer than its buffer");
    auto *start = &memory_[memory_.size() - data_size];
    ibv_sge sge = {reinterpret_cast<std::uint64_t>(start), static_cast<std::uint32_t>(length),
                   mr_->lkey};
    ibv_send_wr *bad;
    wr.wr_id = data_wr;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    data_status_.reset();
    if (ibv_post_send(id_->qp, &wr, &bad))
        return IBV_WC_GENERAL_ERR;
    auto until = Clock::now() + operation_limit;
    while (!data_status_)
        if (!wait(until))
            return -1;
    return *data_status_;
}

int Qp::write(std::uint64_t address, std::uint32_t rkey, std::span<const std::uint8_t> data) {
    ibv_send_wr wr = {};
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma = {address, rkey};
    std::copy(data.begin(), data.end(), memory_.end() - data_size);
    return one_sided(wr, data.size());
}

int Qp::read(std::uint64_t address, std::uint32_t rkey, std::span<std::uint8_t> data) {
    ibv_send_wr wr = {};
    wr.opcode = IBV_WR_RDMA_READ;
    wr.wr.rdma = {address, rkey};
    int status = one_sided(wr, data.size());
    std::copy_n(memory_.end() - data_size, data.size(), data.begin());
    return status;
}

int Qp::compare_swap(std::uint64_t address, std::uint32_t rkey, std::uint64_t compare,
                     std::uint64_t swap, std::uint64_t &old) {
    ibv_send_wr wr = {};
    wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    wr.wr.atomic = {address, compare, swap, rkey};
    int status = one_sided(wr, sizeof(old));
    std::memcpy(&old, &memory_[memory_.size() - data_size], sizeof(old));
    return status;
}

int Qp::fetch_add(std::uint64_t address, std::uint32_t rkey, std::uint64_t add,
                  std::uint64_t &old) {
    ibv_send_wr wr = {};
    wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    wr.wr.atomic = {address, add, 0, rkey};
    int status = one_sided(wr, sizeof(old));
    std::memcpy(&old, &memory_[memory_.size() - data_size], sizeof(old));
    return status;
}

// ---- connecting side ----

Lane::Lane(const Address &to, const QpSizes &sizes) : sizes_(sizes) {
    if (rdma_create_id(channel_.raw(), &id_, nullptr, RDMA_PS_TCP))
        broken("rdma_create_id");
    try {
        resolve(to);
        qp_ = std::make_unique<Qp>(id_, sizes);
    } catch (...) {
        rdma_destroy_id(id_);
        throw;
    }
}

Lane::~Lane() {
    rdma_disconnect(id_);
    qp_.reset();
    rdma_destroy_id(id_);
}

void Lane::resolve(const Address &to) {
    sockaddr_in from = socket_address(to.from, 0), address = socket_address(to.host, to.port);
    if (rdma_resolve_addr(id_, to.from.empty() ? nullptr : reinterpret_cast<sockaddr *>(&from),
                          reinterpret_cast<sockaddr *>(&address), 5000))
        broken("rdma_resolve_addr");
    auto event = channel_.next(Clock::now() + 6s);
    if (!event || event->type != RDMA_CM_EVENT_ADDR_RESOLVED)
        throw Broken("the address " + to.host + " leads to no RDMA device");
    if (rdma_resolve_route(id_, 5000))
        broken("rdma_resolve_route");
    event = channel_.next(Clock::now() + 6s);
    if (!event || event->type != RDMA_CM_EVENT_ROUTE_RESOLVED)
        throw Broken("no route to " + to.host);
}

Answer Lane::connect(const Bytes &private_data, std::uint8_t depth, Millis limit) {
    auto param = connection_parameters(private_data, depth, sizes_);
    if (rdma_connect(id_, &param))
        broken("rdma_connect");
    auto event = channel_.next(Clock::now() + limit);
    if (!event)
        return {Answer::silent, 0, {}};
    switch (event->type) {
    case RDMA_CM_EVENT_ESTABLISHED:
        return {Answer::accepted, 0, event->data};
    case RDMA_CM_EVENT_REJECTED:
        return {Answer::refused, event->status, event->data};
    default:
        return {Answer::failed, event->status, {}};
    }
}

bool Lane::closed(Clock::time_point until) {
    while (!closed_) {
        auto event = channel_.next(until);
        if (!event)
            break;
        // A host that closes before it has seen our RTU does it by a rejection.
        closed_ =
            event->type == RDMA_CM_EVENT_DISCONNECTED || event->type == RDMA_CM_EVENT_REJECTED;
    }
    return closed_;
}

std::optional<Bytes> Lane::receive(Clock::time_point until) {
    for (;;) {
        auto message = qp_->receive(Clock::now());
        if (message || closed(Clock::now()) || Clock::now() >= until)
            return message ? message : qp_->receive(Clock::now());
        pollfd p[] = {{channel_.fd(), POLLIN, 0}, {qp_->fd(), POLLIN, 0}};
        ::poll(p, 2, millis_until(until));
    }
}

void Lane::disconnect() {
    rdma_disconnect(id_);
}

}  // namespace peer

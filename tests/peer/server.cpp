// SPDX-License-Identifier: Apache-2.0
#include "server.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace peer {

namespace {

constexpr int backlog = 32;
constexpr std::uint32_t all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

bool has_cookie(const ds_auth_ok &ok, std::uint64_t cookie) {
    for (unsigned i = 0; i < ok.lanes && i < DS_MAX_LANES; i++)
        if (ok.bulk[i] == cookie)
            return true;
    return ok.urgent == cookie;
}

Message message_of(const ds_hs_out &out, std::uint64_t epoch) {
    auto *payload = reinterpret_cast<const std::uint8_t *>(&out.payload);
    Message message =
        make_message(ds_msg_type(out.type), Bytes(payload, payload + out.length), 0, 0, epoch);
    message.hdr.status = out.status;
    return message;
}

}  // namespace

// ---- one connection ----

Session::Session(rdma_cm_id *id, const Identity &self, const HandshakeFault &fault, ibv_pd *pd)
    : self_(self),
      fault_(fault),
      pd_(pd),
      id_(id),
      control_(std::make_unique<Qp>(id, QpSizes{64, 80, 7})) {
    ds_hs_init(&hs_, true, &self_.host, &identity_ops, &self_);
}

Session::~Session() {
    rdma_disconnect(id_);
    control_.reset();
    rdma_destroy_id(id_);
    for (auto &[id, qp] : lanes_) {
        rdma_disconnect(id);
        qp.reset();
        rdma_destroy_id(id);
    }
}

bool Session::owns(const rdma_cm_id *id) const {
    for (const auto &lane : lanes_)
        if (lane.first == id)
            return true;
    return id == id_;
}

void Session::add_lane(rdma_cm_id *id) {
    lanes_.emplace_back(id, std::make_unique<Qp>(id, QpSizes{1, 0, 7}, pd_));
}

void Session::run_timers() {
    for (auto timer = timers_.begin(); timer != timers_.end();) {
        if (timer->at > Clock::now()) {
            ++timer;
            continue;
        }
        control_->try_send(timer->message);
        timer = timers_.erase(timer);
    }
}

void Session::take(const Bytes &bytes) {
    Message in = {struct_of<ds_msg_hdr>(bytes),
                  Bytes(bytes.begin() + sizeof(ds_msg_hdr), bytes.end())};
    if (ds_msg_check_hdr(&in.hdr, static_cast<u32>(bytes.size())))
        throw Failed("the host under test sent a malformed message");
    if (in.hdr.type < DS_MSG_REQUEST)
        handshake_step(in);
    else if (in.hdr.type == DS_MSG_REQUEST)
        request(in);
}

void Session::handshake_step(const Message &in) {
    if (in.hdr.type == DS_MSG_HELLO && in.payload.size() == sizeof(hello_))
        hello_ = struct_of<ds_hello>(in.payload);
    ds_hs_out out;
    ds_hs_input(&hs_, &in.hdr, in.payload.data(), &out);
    std::vector<Message> answers;
    if (out.type)
        answers.push_back(message_of(out, hs_.epoch));
    if (fault_.handshake)
        fault_.handshake(*this, answers);
    for (const Message &answer : answers) {
        believe(answer);
        send(answer);
    }
}

// A client that takes a wrong HELLO_REPLY shall get through, so that the test sees it.
void Session::believe(const Message &answer) {
    if (answer.hdr.type != DS_MSG_HELLO_REPLY || answer.payload.size() != sizeof(ds_hello))
        return;
    Mac mac = proof(self_.key, "client", hello_, struct_of<ds_hello>(answer.payload));
    std::copy(mac.begin(), mac.end(), hs_.expect);
}

void Session::respond(const Message &in, int status, const Bytes &payload) {
    Message answer =
        make_message(DS_MSG_RESPONSE, payload, in.hdr.service, in.hdr.seq, in.hdr.epoch);
    answer.hdr.status = static_cast<std::uint32_t>(status);
    answer.hdr.credits = 1;
    send(answer);
}

void Session::request(const Message &in) {
    if (in.hdr.service == DS_SERVICE_SEGMENT)
        segment_request(in);
    else if (in.hdr.service == DS_SERVICE_FENCE)
        missed(in);
    else if (in.hdr.service != DS_SERVICE_LINK)
        respond(in, -ECONNREFUSED);
    else if (fault_.answers_heartbeats)
        respond(in, 0);
}

void Session::segment_request(const Message &in) {
    if (in.payload.size() != sizeof(ds_seg_req))
        return respond(in, -EINVAL);
    auto req = struct_of<ds_seg_req>(in.payload);
    if (req.verb == DS_SEG_ATTACH)
        attach(in, req);
    else
        respond(in, req.verb == DS_SEG_DETACH ? 0 : -EOPNOTSUPP);
}

void Session::attach(const Message &in, const ds_seg_req &req) {
    AttachAnswer a = {req.first, 0, {}, 0, {}, {}, 0ms, true, false, {}};
    a.head.length = good_length;
    a.head.access = 7;
    a.head.chunk_shift = DS_CHUNK_SHIFT;
    a.head.first = req.first;
    a.rkeys.assign(good_length / DS_CHUNK_SIZE, good_key_);
    a.head.count = static_cast<std::uint32_t>(a.rkeys.size());
    std::uint64_t fault = req.segment - fault_segments;
    if (req.segment != good_segment && fault >= segment_faults().size())
        return respond(in, -ENOENT);
    if (req.segment != good_segment)
        segment_faults()[fault].change(*this, a);

    Bytes payload;
    if (!a.status) {
        payload.resize(sizeof(a.head) + a.rkeys.size() * sizeof(a.rkeys[0]));
        std::memcpy(payload.data(), &a.head, sizeof(a.head));
        std::memcpy(&payload[sizeof(a.head)], a.rkeys.data(), payload.size() - sizeof(a.head));
        payload.resize(payload.size() - a.cut);
    }
    for (const Bytes &message : a.before)
        control_->try_send(message);
    if (a.delay > 0ms) {
        Message late =
            make_message(DS_MSG_RESPONSE, payload, in.hdr.service, in.hdr.seq, in.hdr.epoch);
        timers_.push_back({Clock::now() + a.delay, pack(late)});
    } else if (a.send) {
        respond(in, a.status, payload);
    }
    for (const Bytes &message : a.after)
        control_->try_send(message);
    closing_ = a.close;
}

// A host asks this before each ATTACH.
void Session::missed(const Message &in) {
    if (in.payload.size() != sizeof(ds_fence_req))
        return respond(in, -EINVAL);
    auto req = struct_of<ds_fence_req>(in.payload);
    if (req.verb != DS_FENCE_MISSED)
        return respond(in, -EOPNOTSUPP);
    std::uint64_t fault = req.segment - fault_segments;
    MissedAnswer a;
    if (fault < segment_faults().size())
        a = segment_faults()[fault].missed;
    ds_fenced head = {};
    head.count = static_cast<std::uint32_t>(a.tokens.size()) + a.count;
    head.all = a.all;
    Bytes payload(sizeof(head) + a.tokens.size() * sizeof(a.tokens[0]));
    std::memcpy(payload.data(), &head, sizeof(head));
    std::memcpy(&payload[sizeof(head)], a.tokens.data(), payload.size() - sizeof(head));
    payload.resize(payload.size() - a.cut);
    respond(in, a.status, payload);
}

// ---- all of them ----

namespace {

class Server {
public:
    Server(const Identity &self, const Identity &other, std::uint16_t port)
        : self_(self), other_(other), port_(port) {
        for (std::size_t i = 0; i <= handshake_faults().size(); i++)
            listen(static_cast<std::uint16_t>(port + i));
    }

    [[noreturn]] void run() {
        for (;;) {
            wait();
            while (auto event = channel_.next(Clock::now()))
                take(*event);
            for (auto &session : sessions_) {
                while (auto bytes = session->control().receive(Clock::now()))
                    session->take(*bytes);
                session->run_timers();
            }
            end([](const Session &session) { return session.closing(); });
        }
    }

private:
    void listen(std::uint16_t port) {
        rdma_cm_id *id;
        sockaddr_in any = socket_address({}, port);
        if (rdma_create_id(channel_.raw(), &id, nullptr, RDMA_PS_TCP) ||
            rdma_bind_addr(id, reinterpret_cast<sockaddr *>(&any)) || rdma_listen(id, backlog))
            throw Broken("no listener on port " + std::to_string(port) + ": " +
                         std::strerror(errno));
    }

    // End the sessions for which this is true. A host may be about to use their cookies.
    void end(const std::function<bool(const Session &)> &which) {
        sessions_.remove_if([&](const auto &session) {
            if (!which(*session))
                return false;
            ended_.push_back(session->cookies());
            return true;
        });
    }

    void wait() {
        std::vector<pollfd> fds = {{channel_.fd(), POLLIN, 0}};
        for (auto &session : sessions_)
            fds.push_back({session->control().fd(), POLLIN, 0});
        ::poll(fds.data(), fds.size(), 50);
    }

    void take(const CmEvent &event) {
        switch (event.type) {
        case RDMA_CM_EVENT_CONNECT_REQUEST:
            return connect_request(event);
        case RDMA_CM_EVENT_DISCONNECTED:
        case RDMA_CM_EVENT_REJECTED:
        case RDMA_CM_EVENT_CONNECT_ERROR:
        case RDMA_CM_EVENT_UNREACHABLE:
            return end([&](const Session &session) { return session.owns(event.id); });
        default:
            return;
        }
    }

    void connect_request(const CmEvent &event) {
        ds_cm_req req;
        if (ds_hs_check_req(event.data.data(), static_cast<u32>(event.data.size()),
                            self_.host.group, &req))
            throw Failed("the host under test sent a malformed connection request");
        need_memory(event.id->verbs);
        try {
            if (req.role == DS_ROLE_CONTROL)
                control(event.id);
            else
                lane(event.id, req.cookie);
        } catch (const Withdrawn &) {
            rdma_destroy_id(event.id);
        }
    }

    void control(rdma_cm_id *id) {
        auto index = static_cast<std::size_t>(ntohs(rdma_get_src_port(id)) - port_);
        bool other = index == handshake_faults().size();
        const HandshakeFault &fault = handshake_faults()[other ? 0 : index];
        Acceptance answer = good_answer();
        if (fault.control)
            fault.control(answer);
        auto session = std::make_unique<Session>(id, other ? other_ : self_, fault, pd_);
        session->set_good_key(mr_->rkey);
        if (!send(id, answer))
            return;
        for (const Message &message : fault.early)
            session->control().try_send(pack(message));
        sessions_.push_back(std::move(session));
    }

    void lane(rdma_cm_id *id, std::uint64_t cookie) {
        for (auto &session : sessions_) {
            if (!has_cookie(session->cookies(), cookie))
                continue;
            Acceptance answer = good_answer();
            if (session->fault().lane)
                session->fault().lane(answer);
            session->add_lane(id);
            send(id, answer);
            return;
        }
        for (const ds_auth_ok &ended : ended_)
            if (has_cookie(ended, cookie))
                throw Withdrawn("the lane's connection has ended");
        throw Failed("the host under test connected a lane with a wrong cookie");
    }

    // True when there is a connection to come.
    bool send(rdma_cm_id *id, const Acceptance &answer) {
        auto param = connection_parameters(answer.data, answer.depth, {});
        if (answer.what == Acceptance::accept)
            return !rdma_accept(id, &param);
        if (answer.what == Acceptance::reject)
            rdma_reject(id, answer.data.data(), static_cast<std::uint8_t>(answer.data.size()));
        return answer.what == Acceptance::silence;
    }

    static Acceptance good_answer() {
        ds_cm_rep rep;
        ds_hs_make_rep(&rep, DS_REJECT_NONE);
        return {.data = bytes_of(rep)};
    }

    // A region whose addresses are offsets in the segment, as the protocol wants.
    void need_memory(ibv_context *context) {
        if (pd_)
            return;
        pd_ = ibv_alloc_pd(context);
        mr_ = pd_ ? ibv_reg_mr_iova(pd_, memory_.get(), good_length, 0, all_access) : nullptr;
        if (!mr_)
            throw Broken("no memory region");
    }

    Identity self_, other_;
    std::uint16_t port_;
    CmChannel channel_;
    struct Free {
        void operator()(void *memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Free> memory_{std::aligned_alloc(4096, good_length)};
    ibv_pd *pd_ = nullptr;
    ibv_mr *mr_ = nullptr;
    std::list<std::unique_ptr<Session>> sessions_;
    std::vector<ds_auth_ok> ended_;  // cookies of sessions that are gone
};

}  // namespace

void serve(const Identity &self, const Identity &other, std::uint16_t port) {
    Server server(self, other, port);
    std::cout << "serving" << std::endl;
    server.run();
}

}  // namespace peer

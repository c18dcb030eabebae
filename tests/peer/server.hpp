// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * A DS host's accepting side: good as long as no fault is asked for.
 *
 * A fault is asked for by where a host connects or what it attaches: each
 * handshake fault has a port of its own, each segment fault a segment. So one
 * process serves all of them, and the host under test does what it always does.
 */
#ifndef DSPEER_SERVER_HPP
#define DSPEER_SERVER_HPP

#include <functional>
#include <list>
#include <memory>
#include <span>

#include "client.hpp"

namespace peer {

class Session;

/** What a server answers to a connection request. */
struct Acceptance {
    enum { accept, reject, silence } what = accept;
    Bytes data;  // private data
    std::uint8_t depth = 16;  // READs and atomics under way
};

/** How a host misbehaves while it is connected. An empty function changes nothing. */
struct HandshakeFault {
    const char *name;
    int wanted;  // errno of the host's attempt to connect, 0 when it succeeds
    std::function<void(Acceptance &)> control;
    std::function<void(Session &, std::vector<Message> &)> handshake;  // what is sent at each step
    std::function<void(Acceptance &)> lane;
    bool answers_heartbeats = true;
    std::vector<Message> early = {};  // sent before anything has arrived
};

/** An answer to ATTACH that is about to be sent. */
struct AttachAnswer {
    std::uint32_t first;  // that was asked for
    int status;
    std::vector<std::uint32_t> rkeys;
    std::size_t cut;                   // bytes left out at the end
    std::vector<Bytes> before, after;  // other messages
    Millis delay;
    bool send, close;
    ds_seg_keys head;  // the last, for it ends in an array without length
};

/** An answer to the question before ATTACH: which clients were fenced? */
struct MissedAnswer {
    int status = 0;
    std::uint32_t count = 0;  // that it says, beyond those in tokens
    std::uint32_t all = 0;
    std::vector<std::uint64_t> tokens = {};
    std::size_t cut = 0;  // bytes left out at the end
};

struct SegmentFault {
    const char *name;
    int wanted;  // errno of the host's attempt to attach, 0 when it succeeds
    std::function<void(Session &, AttachAnswer &)> change;
    int used = 0;  // errno of a READ when ATTACH succeeds
    MissedAnswer missed = {};
};

std::span<const HandshakeFault> handshake_faults();  // the first is the good server
std::span<const SegmentFault> segment_faults();      // of segments from fault_segments on
constexpr std::uint64_t good_segment = 1, fault_segments = 100;
constexpr std::uint64_t good_length = 4 << 20;

/** One control connection and its lanes. */
class Session {
public:
    Session(rdma_cm_id *id, const Identity &self, const HandshakeFault &fault, ibv_pd *pd);
    ~Session();

    void take(const Bytes &bytes);
    bool owns(const rdma_cm_id *id) const;
    void add_lane(rdma_cm_id *id);
    void run_timers();

    Qp &control() { return *control_; }
    const HandshakeFault &fault() const { return fault_; }
    const Identity &self() const { return self_; }
    ds_hs &handshake() { return hs_; }
    const ds_auth_ok &cookies() const { return hs_.auth_ok; }
    const ds_hello &clients_hello() const { return hello_; }
    std::uint64_t epoch() const { return hs_.epoch; }
    bool closing() const { return closing_; }
    void close() { closing_ = true; }
    std::uint32_t good_key() const { return good_key_; }
    void set_good_key(std::uint32_t key) { good_key_ = key; }

private:
    void handshake_step(const Message &in);
    void believe(const Message &answer);
    void request(const Message &in);
    void segment_request(const Message &in);
    void attach(const Message &in, const ds_seg_req &req);
    void missed(const Message &in);
    void respond(const Message &in, int status, const Bytes &payload = {});
    void send(const Message &message) { control_->try_send(pack(message)); }

    struct Timer {
        Clock::time_point at;
        Bytes message;
    };
    Identity self_;
    const HandshakeFault &fault_;
    ds_hs hs_ = {};
    ds_hello hello_ = {};
    ibv_pd *pd_;
    rdma_cm_id *id_;
    std::unique_ptr<Qp> control_;
    std::list<std::pair<rdma_cm_id *, std::unique_ptr<Qp>>> lanes_;
    std::list<Timer> timers_;
    std::uint32_t good_key_ = 0;
    bool closing_ = false;
};

/**
 * Serve on @p port and, for the faults, on the ports behind it, until killed. On the last
 * one it is @p other.
 */
[[noreturn]] void serve(const Identity &self, const Identity &other, std::uint16_t port);

}  // namespace peer

#endif

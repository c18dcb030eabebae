// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * A DS host's connecting side: each step alone, so that an attack can do some
 * of them well and then one badly.
 */
#ifndef DSPEER_CLIENT_HPP
#define DSPEER_CLIENT_HPP

#include <memory>
#include <optional>
#include <vector>

#include "identity.hpp"
#include "verbs.hpp"

namespace peer {

/** A control message, taken apart. */
struct Message {
    ds_msg_hdr hdr;
    Bytes payload;
};

/** A message with a right header for @p payload; then change what shall be wrong. */
Message make_message(ds_msg_type type, const Bytes &payload = {}, std::uint16_t service = 0,
                     std::uint64_t seq = 0, std::uint64_t epoch = 0);
Bytes pack(const Message &message);

/** A RESPONSE: @p status 0 or a negative errno. */
struct Reply {
    int status;
    Bytes payload;
};

/** The answer to an ATTACH request, taken apart. */
struct Keys {
    std::uint64_t length;
    std::uint32_t access, chunk_shift, first;
    std::vector<std::uint32_t> rkeys;
    std::uint64_t chunk_size() const { return 1ULL << chunk_shift; }
};

/** How a connection ended, if it did. */
struct Ending {
    bool closed;
    std::optional<unsigned> reason;  // of a REFUSE that came before
};

class Client {
public:
    Client(const Address &to, const Identity &self,
           const QpSizes &sizes = {.sends = 16, .receives = 16});

    // The steps of a connection. Each throws Failed when an honest host's would fail;
    // the first one Busy if it may be tried again.
    void connect();
    ds_hello hello();       // makes HELLO, does not send it
    Message hello_reply();  // sends HELLO, gives HELLO_REPLY
    void shake_hands();     // all of the handshake
    void open_lanes();
    void open();  // all of the above

    /** The private data for a lane of this connection. */
    Bytes lane_request(ds_role role, std::uint64_t cookie, std::uint16_t index) const;

    void send(const Message &message);
    void send_raw(const Bytes &bytes);
    /** Send if there is room, without waiting. */
    bool try_send(const Message &message) { return control_->qp().try_send(pack(message)); }
    std::optional<Message> receive(Millis limit = 5s);

    /** Take messages until the connection is closed or @p limit passes. */
    Ending ending(Millis limit = 3s);

    Reply request(std::uint16_t service, const Bytes &payload, Millis limit = 5s);
    Reply segment_request(std::uint32_t verb, std::uint64_t segment, std::uint32_t first = 0,
                          std::uint64_t knows = 0);
    Keys attach(std::uint64_t segment, std::uint32_t first = 0, std::uint64_t knows = 0);
    void detach(std::uint64_t segment);

    /** Throws Failed unless the connection still answers a heartbeat. */
    void heartbeat();

    Lane &control() { return *control_; }
    Qp &bulk(std::size_t index = 0) { return bulk_.at(index)->qp(); }
    Lane &bulk_lane(std::size_t index = 0) { return *bulk_.at(index); }
    Qp &urgent() { return urgent_->qp(); }
    std::size_t lanes() const { return bulk_.size(); }
    const ds_auth_ok &auth_ok() const { return hs_.auth_ok; }
    ds_hs &handshake() { return hs_; }
    const Address &address() const { return to_; }
    const Identity &self() const { return self_; }
    std::uint64_t next_seq() { return ++seq_; }
    std::uint64_t epoch() const { return self_.host.incarnation; }

private:
    void step(const Message &in, ds_hs_out &out, int wanted);

    Address to_;
    Identity self_;
    QpSizes sizes_;
    ds_hs hs_ = {};
    std::uint64_t seq_ = 0;
    std::uint16_t owed_ = 0;  // receive buffers posted again and not yet told
    std::unique_ptr<Lane> control_;
    std::vector<std::unique_ptr<Lane>> bulk_;
    std::unique_ptr<Lane> urgent_;
};

/** "accepted", "refused: COOKIE", ... for the messages of failed tests. */
/** Whether this private data refuses a connection for this reason. */
bool refuses_for(const Bytes &data, unsigned reason);

std::string describe(const Answer &answer);
std::string describe(const Ending &ending);

}  // namespace peer

#endif

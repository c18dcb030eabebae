// SPDX-License-Identifier: Apache-2.0
// ds/rdm.h.
#include <ds/rdm.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include <ds/message.h>

#include "abi/guard.hpp"
#include "fabric/handles.hpp"
#include "rdm/client.hpp"
#include "rdm/peer_link.hpp"
#include "rdm/udp_link.hpp"

using namespace ds::rdm;
using ds::abi::fill;
using ds::abi::guard;
using ds::abi::take;

struct ds_rdm {
    std::mutex lock;  // its calls run one after the other
    std::unique_ptr<Client> client;
};

namespace {

constexpr uint32_t last_space_of_wire1 = 255;

bool is_valid(const ds_rdm_options &o) {
    bool peer = o.wire == DS_RDM_WIRE_PEER;

    if (o.wire < DS_RDM_WIRE_1 || o.wire > DS_RDM_WIRE_PEER || o.reserved ||
        o.flags & ~DS_RDM_WRITES_ANSWERED || o.space >= DS_PACKET_SPACES || o.port > UINT16_MAX)
        return false;
    if (o.wire == DS_RDM_WIRE_1 ? o.space > last_space_of_wire1 || o.tenant || o.key : o.flags)
        return false;
    if (peer)
        return o.fabric && o.node && !o.ipv4 && !o.port;
    return !o.fabric && !o.node && o.ipv4;
}

// The copy of the handle keeps the open file alive.
PeerLink::Exchange exchange_with(const ds_rdm_options &o) {
    return [fabric = *o.fabric, node = o.node, timeout_ms = o.timeout_ms](
               Bytes message, std::span<uint8_t> room) mutable {
        ds_reply reply{room.data(), static_cast<uint32_t>(room.size()), 0, 0, DS_NOT_EXECUTED};
        int rc = ds_message_call(&fabric, node, PeerLink::service, message.data(),
                                 static_cast<uint32_t>(message.size()), timeout_ms, &reply);
        if (rc == 0)
            rc = std::min(reply.status, 0);
        return PeerLink::Answer{rc, reply.length, reply.outcome != DS_NOT_EXECUTED};
    };
}

int make_link(const ds_rdm_options &o, std::unique_ptr<Link> &link) {
    uint32_t usual = o.wire == DS_RDM_WIRE_1 ? DS_PACKET1_PORT : DS_PACKET2_PORT;

    if (o.wire != DS_RDM_WIRE_PEER)
        return UdpLink::open(o.ipv4, static_cast<uint16_t>(o.port ? o.port : usual), link);
    ds_limits limits{};
    limits.size = sizeof(limits);
    if (int rc = ds_fabric_limits(o.fabric, &limits); rc < 0)
        return rc;
    link = std::make_unique<PeerLink>(exchange_with(o), limits.max_msg_bytes);
    return 0;
}

Space space_of(const ds_rdm_options &o) {
    Space space{.number = o.space, .tenant = o.tenant, .key = {}};
    if (o.key)
        std::copy_n(o.key, DS_PACKET_KEY_LEN, space.key.emplace().begin());
    return space;
}

int run(ds_rdm *rdm, ds_rdm_request &request) {
    return ds_rdm_execute(rdm, &request, 1, 0);
}

ds_rdm_request request_of(uint32_t opcode, uint64_t address, uint64_t length,
                          const void *data = nullptr) {
    ds_rdm_request request{};
    request.opcode = opcode;
    request.address = address;
    request.length = length;
    request.data = const_cast<void *>(data);  // written to by a READ only
    return request;
}

int word(ds_rdm *rdm, ds_rdm_request request, uint64_t *old) {
    int rc = run(rdm, request);
    if (rc == 0)
        *old = request.value;
    return rc;
}

}  // namespace

int ds_rdm_open(const ds_rdm_options *options, ds_rdm **rdm) {
    ds_rdm_options o;
    if (int rc = take(options, o); rc < 0)
        return rc;
    if (!is_valid(o))
        return -EINVAL;
    if (o.timeout_ms == 0)
        o.timeout_ms = DS_TIMEOUT_DEFAULT;
    return guard([&] {
        std::unique_ptr<Link> link;
        if (int rc = make_link(o, link); rc < 0)
            return rc;
        auto made = std::make_unique<ds_rdm>();
        made->client = std::make_unique<Client>(std::move(link), o.timeout_ms);
        if (o.wire == DS_RDM_WIRE_1)
            made->client->use_wire1(o.space, o.flags & DS_RDM_WRITES_ANSWERED);
        else
            made->client->use_wire2(space_of(o));
        *rdm = made.release();
        return 0;
    });
}

void ds_rdm_close(ds_rdm *rdm) {
    delete rdm;
}

int ds_rdm_execute(ds_rdm *rdm, ds_rdm_request *requests, size_t count, uint32_t depth) {
    if (depth == 0 || depth > DS_PACKET_WINDOW)
        depth = DS_PACKET_WINDOW;
    return guard([&] {
        std::lock_guard lock(rdm->lock);
        return rdm->client->execute({requests, count}, depth);
    });
}

int ds_rdm_alloc(ds_rdm *rdm, uint64_t length, uint32_t access, uint64_t *address) {
    ds_rdm_request request = request_of(DS_PACKET_ALLOC, 0, length);
    request.operand = access;
    int rc = run(rdm, request);
    if (rc == 0)
        *address = request.address;
    return rc;
}

int ds_rdm_free(ds_rdm *rdm, uint64_t address) {
    ds_rdm_request request = request_of(DS_PACKET_FREE, address, 0);
    return run(rdm, request);
}

int ds_rdm_read(ds_rdm *rdm, uint64_t address, void *data, uint64_t length) {
    ds_rdm_request request = request_of(DS_PACKET_READ, address, length, data);
    return run(rdm, request);
}

int ds_rdm_write(ds_rdm *rdm, uint64_t address, const void *data, uint64_t length) {
    ds_rdm_request request = request_of(DS_PACKET_WRITE, address, length, data);
    return run(rdm, request);
}

int ds_rdm_write_persistent(ds_rdm *rdm, uint64_t address, const void *data, uint64_t length) {
    ds_rdm_request request = request_of(DS_PACKET_WRITE_PERSISTENT, address, length, data);
    return run(rdm, request);
}

int ds_rdm_cas(ds_rdm *rdm, uint64_t address, uint64_t compare, uint64_t swap, uint64_t *old) {
    ds_rdm_request request = request_of(DS_PACKET_CAS, address, sizeof(uint64_t));
    request.operand = swap;
    request.compare = compare;
    return word(rdm, request, old);
}

int ds_rdm_fetch_add(ds_rdm *rdm, uint64_t address, uint64_t add, uint64_t *old) {
    ds_rdm_request request = request_of(DS_PACKET_FETCH_ADD, address, sizeof(uint64_t));
    request.operand = add;
    return word(rdm, request, old);
}

int ds_rdm_ping(ds_rdm *rdm, const void *data, uint32_t length) {
    ds_rdm_request request = request_of(DS_PACKET_PING, 0, length, data);
    return run(rdm, request);
}

int ds_rdm_counters(ds_rdm *rdm, ds_rdm_counts *counts) {
    std::lock_guard lock(rdm->lock);
    const Counts &c = rdm->client->counts();
    return fill(counts, ds_rdm_counts{.size = 0,
                                      .mtu = rdm->client->mtu(),
                                      .sent = c.sent,
                                      .resent = c.resent,
                                      .received = c.received,
                                      .ignored = c.ignored,
                                      .lost = c.lost,
                                      .bytes_out = c.bytes_out,
                                      .bytes_in = c.bytes_in,
                                      .sessions = c.sessions,
                                      .rtt_ns = rdm->client->rtt_ns()});
}

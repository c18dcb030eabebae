// SPDX-License-Identifier: Apache-2.0
// A server of the packet service for the tests of its client: the core that ds.ko runs,
// over memory of the test; and a network that loses, doubles, delays and breaks packets.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <ds/rdm.h>

#include "fabric/clock.hpp"
#include "fabric/fd.hpp"
#include "rdm/client.hpp"
#include "rdm/link.hpp"

extern "C" {
#include <rdm/packet1.h>
#include <rdm/packet2.h>
#include <rdm/serve.h>
}

namespace rdmtest {

using Packet = std::vector<uint8_t>;
using Bytes = ds::rdm::Bytes;
using Deliver = std::function<void(const Packet &)>;

constexpr uint32_t space_number = 5;
constexpr uint32_t tenant = 9;
constexpr uint64_t peer = 1;
constexpr uint8_t key[DS_PACKET_KEY_LEN] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/// One space. Not thread safe.
class Server {
public:
    explicit Server(uint64_t size = 16 << 20, const uint8_t *key = nullptr,
                    uint32_t access = DS_ACCESS_ALL)
        : memory_(size) {
        ds_packet_space_attr attr{};
        attr.map = {.kind = DS_PACKET_HASH,
                    .page_shift = DS_PACKET_PAGE_SHIFT_MIN,
                    .access = access,
                    .size = size,
                    .seed = 1};
        attr.tenant = tenant;
        attr.keyed = key;
        if (key)
            memcpy(attr.key, key, sizeof(attr.key));
        if (ds_packet_space_init(&space, &attr, &ops, memory_.data()))
            std::abort();
    }
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server() { ds_packet_space_exit(&space); }

    /// Answers one packet of version 1 or 2; no answer is longer than @p room.
    void serve(Bytes packet, unsigned version, uint32_t room, const Deliver &answer) {
        Out out{};
        Packet reply(room);
        ds_packet p;

        out.out = {.packet = reply.data(), .room = room, .emit = emit};
        out.answer = &answer;
        auto size = static_cast<uint32_t>(packet.size());
        if (forgetful && ++served_ % 64 == 0)
            for (size_t page = 0; page < memory_.size(); page += 4096)
                memory_[page] ^= 1;
        if (version == 1) {
            bool ours = ds_packet1_parse(packet.data(), size, &p) == 0;
            if (ours)
                ds_packet_serve1(p.space == space_number ? &space : nullptr, &p, answer_writes,
                                 &replies_, &out.out);
            return;
        }
        if (ds_packet2_parse(packet.data(), size, false, &p) < 0)
            return;
        if (ds_packet2_authentic(packet.data(), size, ds_packet_space_key(&space)))
            ds_packet_serve2(p.space == space_number ? &space : nullptr, peer, &p, &out.out);
    }

    /// As after a restart: nobody has a session.
    void forget_sessions() {
        ds_sessions_exit(&space.sessions);
        ds_sessions_init(&space.sessions, space.attr.secret);
        space.attr.secret[0]++;
    }

    ds_packet_space space{};
    std::atomic<bool> answer_writes{true};
    std::atomic<bool> forgetful{false};  // now and then the memory changes by itself

private:
    struct Out {
        ds_packet_out out;  // first: emit() is called with it
        const Deliver *answer;
    };

    static void emit(ds_packet_out *out, u32 length) {
        auto *self = reinterpret_cast<Out *>(out);
        (*self->answer)(Packet(out->packet, out->packet + length));
    }

    static uint8_t *at(void *pool, u64 offset) { return static_cast<uint8_t *>(pool) + offset; }
    static u64 change(void *pool, u64 offset, const std::function<u64(u64)> &value) {
        u64 old, fresh;
        memcpy(&old, at(pool, offset), sizeof(old));
        fresh = value(old);
        memcpy(at(pool, offset), &fresh, sizeof(fresh));
        return old;
    }
    static constexpr ds_packet_memory_ops ops = {
        .read = [](void *pool, u64 offset, void *to,
                   u32 length) { memcpy(to, at(pool, offset), length); },
        .write = [](void *pool, u64 offset, const void *from,
                    u32 length) { memcpy(at(pool, offset), from, length); },
        .cas = [](void *pool, u64 offset, u64 compare, u64 swap) -> u64 {
            return change(pool, offset, [&](u64 old) { return old == compare ? swap : old; });
        },
        .fetch_add = [](void *pool, u64 offset, u64 operand) -> u64 {
            return change(pool, offset, [&](u64 old) { return old + operand; });
        },
        .persist = nullptr,
        .check = nullptr,
    };

    std::vector<uint8_t> memory_;
    u64 replies_ = 0;
    uint64_t served_ = 0;
};

/// What befalls packets, each with a probability of so many in 1000.
struct Weather {
    unsigned lost = 0;
    unsigned doubled = 0;
    unsigned late = 0;    // arrives after some of those that follow it
    unsigned broken = 0;  // a bit, or its end
};

class Network {
public:
    Network(Weather weather, uint64_t seed) : weather_(weather), random_(seed) {}

    void pass(Packet packet, const Deliver &deliver) {
        while (!held_.empty() && chance(100)) {
            Packet old = std::move(held_.front());
            held_.pop_front();
            deliver(old);
        }
        if (chance(weather_.lost))
            return;
        if (chance(weather_.broken))
            damage(packet);
        if (chance(weather_.late)) {
            held_.push_back(std::move(packet));
            return;
        }
        deliver(packet);
        if (chance(weather_.doubled))
            deliver(packet);
    }

    void clear_up() { weather_ = {}; }

private:
    bool chance(unsigned of_1000) { return random_() % 1000 < of_1000; }
    void damage(Packet &packet) {
        if (random_() % 4 == 0)
            packet.resize(random_() % packet.size());
        else
            packet[random_() % packet.size()] ^= static_cast<uint8_t>(1 << random_() % 8);
    }

    Weather weather_;
    std::mt19937_64 random_;
    std::deque<Packet> held_;
};

/// A link to a server in the same thread, by such a network in both directions.
class NetworkLink : public ds::rdm::Link {
public:
    NetworkLink(Server &server, unsigned version, uint32_t most, Weather weather, uint64_t seed)
        : server_(server),
          version_(version),
          most_(most),
          out_(weather, seed),
          in_(weather, ~seed) {}

    uint32_t most() const override { return most_; }
    uint32_t most_reply() const override { return UINT32_MAX; }
    int send(Bytes packet, uint32_t) override {
        out_.pass(Packet(packet.begin(), packet.end()), [&](const Packet &arrived) {
            server_.serve(arrived, version_, most_, [&](const Packet &reply) {
                in_.pass(reply, [&](const Packet &came) { inbox_.push_back(came); });
            });
        });
        return 0;
    }
    int flush() override { return 0; }
    int receive(uint64_t ns, Bytes &bytes) override {
        bytes = {};
        if (inbox_.empty()) {
            ds::fabric::sleep_until_monotonic(ns);
            return 0;
        }
        taken_ = std::move(inbox_.front());
        inbox_.pop_front();
        bytes = taken_;
        return 0;
    }
    int renew() override {
        inbox_.clear();
        return 0;
    }
    int error() const override { return 0; }

private:
    Server &server_;
    unsigned version_;
    uint32_t most_;
    Network out_, in_;
    std::deque<Packet> inbox_;
    Packet taken_;
};

/// A server with a UDP port of this host.
class UdpServer {
public:
    explicit UdpServer(Server &server, unsigned version = 2, Weather weather = {},
                       uint64_t seed = 1)
        : server_(server), version_(version), in_(weather, seed), out_(weather, ~seed) {
        sockaddr_in address{};
        socklen_t size = sizeof(address);
        timeval wait{0, 20'000};

        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socket_ = ds::fabric::Fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (bind(socket_.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) ||
            getsockname(socket_.get(), reinterpret_cast<sockaddr *>(&address), &size) ||
            setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)))
            std::abort();
        port = ntohs(address.sin_port);
        thread_ = std::thread([this] { run(); });
    }
    UdpServer(const UdpServer &) = delete;
    UdpServer &operator=(const UdpServer &) = delete;
    ~UdpServer() {
        stop_ = true;
        thread_.join();
    }

    uint16_t port;

private:
    void run() {
        Packet room(65536);
        while (!stop_) {
            sockaddr_in from;
            socklen_t size = sizeof(from);
            auto *address = reinterpret_cast<sockaddr *>(&from);
            ssize_t got = recvfrom(socket_.get(), room.data(), room.size(), 0, address, &size);
            if (got < 0)
                continue;
            in_.pass(Packet(room.begin(), room.begin() + got), [&](const Packet &arrived) {
                server_.serve(arrived, version_, 65507, [&](const Packet &reply) {
                    out_.pass(reply, [&](const Packet &p) {
                        sendto(socket_.get(), p.data(), p.size(), 0, address, size);
                    });
                });
            });
        }
    }

    Server &server_;
    unsigned version_;
    Network in_, out_;
    ds::fabric::Fd socket_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// Options of a client of that server.
inline ds_rdm_options options_for(const UdpServer &server, uint32_t wire = DS_RDM_WIRE_2) {
    ds_rdm_options o{};
    o.size = sizeof(o);
    o.wire = wire;
    o.ipv4 = htonl(INADDR_LOOPBACK);
    o.port = server.port;
    o.space = space_number;
    o.tenant = wire == DS_RDM_WIRE_1 ? 0 : tenant;
    o.timeout_ms = 20'000;
    return o;
}

/// A client of version 2 by @p link.
inline std::unique_ptr<ds::rdm::Client> client_on(std::unique_ptr<ds::rdm::Link> link,
                                                  uint32_t timeout_ms,
                                                  const uint8_t *with_key = nullptr) {
    auto client = std::make_unique<ds::rdm::Client>(std::move(link), timeout_ms);
    std::optional<std::array<uint8_t, DS_PACKET_KEY_LEN>> copy;

    if (with_key)
        memcpy(copy.emplace().data(), with_key, copy->size());
    client->use_wire2({.number = space_number, .tenant = tenant, .key = copy});
    return client;
}

inline ds_rdm_request request_of(uint32_t opcode, uint64_t address = 0, uint64_t length = 0,
                                 void *data = nullptr) {
    ds_rdm_request r{};
    r.opcode = opcode;
    r.address = address;
    r.length = length;
    r.data = data;
    return r;
}

}  // namespace rdmtest

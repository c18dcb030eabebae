// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * The other end of the faults: an honest host's commands and operations against
 * a server that misbehaves. Each must end in time with the errno that is right.
 */
#include "endure.hpp"

#include <arpa/inet.h>

#include <cerrno>
#include <ds/netlink.hpp>
#include <functional>
#include <thread>

#include "attack.hpp"
#include "memory.hpp"
#include "server.hpp"
#include "tap.hpp"

namespace peer {

namespace {

namespace nl = ds::netlink;
namespace attr = ds::netlink::attr;

constexpr std::uint32_t fault_space = 2, revoke_space = 3, server_shift = 24;

std::string name_of(int code) {
    return code ? strerrorname_np(code) : "success";
}

/** ds.ko of this host, by netlink; each call is an errno, 0 for success. */
class Host {
public:
    Host() : client_(nl::Client::open().or_throw()) {}

    int add_peer(const Address &server, std::uint32_t wait_ms,
                 std::uint32_t domain = Target::domain) {
        return call(with(nl::Message(DS_CMD_PEER_ADD), server)
                        .put(attr::domain, domain)
                        .put(attr::timeout_ms, wait_ms));
    }
    int delete_peer(const Address &server) {
        return call(with(nl::Message(DS_CMD_PEER_DEL), server));
    }
    int add_space(std::uint32_t number) {
        return call(nl::Message(DS_CMD_SPACE_ADD)
                        .put(attr::space, number)
                        .put(attr::domain, Target::domain)
                        .put(attr::servers, 1)
                        .put(attr::server_shift, server_shift));
    }
    int delete_space(std::uint32_t number) {
        return call(nl::Message(DS_CMD_SPACE_DEL).put(attr::space, number));
    }
    int attach(std::uint32_t space, std::uint32_t node, std::uint64_t segment,
               std::uint32_t wait_ms) {
        return call(nl::Message(DS_CMD_ATTACH_ADD)
                        .put(attr::space, space)
                        .put(attr::server, 0)
                        .put(attr::node, node)
                        .put(attr::segment, segment)
                        .put(attr::timeout_ms, wait_ms));
    }
    int detach(std::uint32_t space) {
        return call(nl::Message(DS_CMD_ATTACH_DEL).put(attr::space, space).put(attr::server, 0));
    }

    /** Whether the connection to the peer gets into this state by @p until. */
    bool becomes(const Address &server, bool up, Clock::time_point until) {
        while (is_up(server) != up) {
            if (Clock::now() > until)
                return false;
            std::this_thread::sleep_for(50ms);
        }
        return true;
    }

private:
    static nl::Message with(nl::Message message, const Address &server) {
        sockaddr_in address = socket_address(server.host, server.port);
        return message.put(attr::ipv4, address.sin_addr.s_addr).put(attr::port, server.port);
    }

    int call(const nl::Message &request) {
        auto reply = client_.call(request);
        return reply ? 0 : reply.error().code;
    }

    bool is_up(const Address &server) {
        std::uint32_t address = socket_address(server.host, 0).sin_addr.s_addr;
        auto peers = client_.dump(DS_CMD_PEER_GET).or_throw();
        for (const nl::Message &m : peers)
            if (m.get(attr::ipv4) == address && m.get(attr::port) == server.port)
                return m.get(attr::state) == DS_PEER_UP;
        return false;
    }

    nl::Client client_;
};

void expect_errno(int got, int wanted, const std::string &what) {
    expect(got == wanted, what + " ended with " + name_of(got) + ", not " + name_of(wanted));
}

// The server on node 3 and the honest one, as node 1 sees them.
class Endurance {
public:
    explicit Endurance(const Target &target) : target_(target) {}

    bool run() {
        std::size_t count = handshake_faults().size() + segment_faults().size() + 4;
        tap_.plan(count);
        for (std::size_t i = 0; i < handshake_faults().size(); i++)
            handshake(handshake_faults()[i], at(i));
        if (host_.add_peer(at(0), 5000) || host_.add_space(fault_space))
            throw Broken("no connection to the good server, or no space");
        tap_.test("the good server's segment: written and read", [&] { good_memory(); });
        for (std::size_t i = 0; i < segment_faults().size(); i++)
            segment(segment_faults()[i], fault_segments + i);
        tap_.test("a REVOKE by an honest server while another does not answer: in time",
                  [&] { revoke_meanwhile(); });
        tap_.test("the same host with the key of another domain: no memory of it is used",
                  [&] { impostor(); });
        tap_.test("after all of it: the good server's segment is served", [&] { good_memory(); });
        host_.delete_peer(at(0));
        host_.delete_space(fault_space);
        return tap_.all_ok();
    }

private:
    Address at(std::size_t fault) const {
        Address server = target_.address;
        server.port = static_cast<std::uint16_t>(server.port + fault);
        return server;
    }

    void handshake(const HandshakeFault &fault, const Address &server) {
        tap_.test("server with " + std::string(fault.name) + ": " + name_of(fault.wanted), [&] {
            int got = host_.add_peer(server, fault.wanted == ETIMEDOUT ? 700 : 5000);
            bool lives =
                got || fault.answers_heartbeats || host_.becomes(server, false, Clock::now() + 9s);
            host_.delete_peer(server);
            expect_errno(got, fault.wanted, "the attempt to connect");
            expect(lives, "the connection stayed up without heartbeats");
        });
    }

    void segment(const SegmentFault &fault, std::uint64_t number) {
        tap_.test("segment with " + std::string(fault.name) + ": " + name_of(fault.wanted), [&] {
            if (!host_.becomes(at(0), true, Clock::now() + 10s))
                throw Broken("the connection to the server does not come back");
            int used = 0, got = host_.attach(fault_space, Target::self_node, number, 2000);
            if (!got) {
                Memory memory(fault_space);
                // What the server sent behind its answer has its effect soon.
                for (auto until = Clock::now() + 2s;
                     (used = memory.read()) != fault.used && Clock::now() < until;)
                    std::this_thread::sleep_for(20ms);
                host_.detach(fault_space);
                // A refused access ends the connection, a moment after the READ.
                if (used == EREMOTEIO)
                    host_.becomes(at(0), false, Clock::now() + 1s);
            }
            expect_errno(got, fault.wanted, "ATTACH");
            expect_errno(used, fault.used, "a READ");
        });
    }

    void good_memory() {
        expect(host_.becomes(at(0), true, Clock::now() + 10s), "no connection to the server");
        expect_errno(host_.attach(fault_space, Target::self_node, good_segment, 2000), 0, "ATTACH");
        int used = Memory(fault_space).check();
        host_.detach(fault_space);
        expect_errno(used, 0, "WRITE and READ");
    }

    // Until it serves: a connection that the last fault broke may still count as up.
    void wait_for_server() {
        auto end = Clock::now() + 10s;
        while (host_.attach(fault_space, Target::self_node, good_segment, 2000)) {
            expect(Clock::now() < end, "the server does not come back");
            std::this_thread::sleep_for(100ms);
        }
        host_.detach(fault_space);
    }

    // Node 2 takes a segment away while node 3 lets an ATTACH of this host hang.
    void revoke_meanwhile() {
        expect_errno(host_.add_space(revoke_space), 0, "a space for the honest server");
        expect_errno(host_.attach(revoke_space, target_.node, Target::revoked, 2000), 0, "ATTACH");
        Memory honest(revoke_space);
        expect_errno(honest.read(), 0, "a READ");
        wait_for_server();
        int hung = 0;
        std::jthread hang([&] {
            Host other;
            hung = other.attach(fault_space, Target::self_node, silent_segment(), 9000);
        });
        std::this_thread::sleep_for(300ms);
        auto start = Clock::now();
        target_.run("dsctl seg revoke " + std::to_string(Target::revoked));
        auto took = std::chrono::duration_cast<Millis>(Clock::now() - start);
        int used = honest.read();
        hang.join();
        expect_errno(hung, ETIMEDOUT, "the ATTACH that hangs");
        host_.delete_space(revoke_space);
        expect_errno(used, EKEYREVOKED, "a READ after the revoke");
        expect(took < 6s, "the revoke took " + std::to_string(took.count()) + " ms");
    }

    // Node number and incarnation are only said; the domain is what is proved.
    void impostor() {
        const Address other = at(handshake_faults().size());
        wait_for_server();
        expect_errno(host_.attach(fault_space, Target::self_node, good_segment, 2000), 0, "ATTACH");
        Memory memory(fault_space);
        expect_errno(memory.read(), 0, "a READ");
        expect_errno(host_.delete_peer(at(0)), 0, "the end of the connection");
        expect_errno(host_.add_peer(other, 5000, Target::other_domain), 0, "the other connection");
        for (auto until = Clock::now() + 1s; Clock::now() < until;) {
            expect_errno(memory.read(), ENOTCONN, "a READ of memory of another domain");
            std::this_thread::sleep_for(50ms);
        }
        host_.delete_peer(other);
        expect_errno(host_.add_peer(at(0), 5000), 0, "the connection of before");
        for (auto until = Clock::now() + 5s; memory.read() && Clock::now() < until;)
            std::this_thread::sleep_for(50ms);
        expect_errno(memory.read(), 0, "a READ as before");
        host_.detach(fault_space);
    }

    static std::uint64_t silent_segment() {
        auto faults = segment_faults();
        for (std::size_t i = 0; i < faults.size(); i++)
            if (faults[i].name == std::string("no answer"))
                return fault_segments + i;
        throw Broken("no fault without an answer");
    }

    Target target_;
    Host host_;
    Tap tap_;
};

}  // namespace

bool endure(const Target &target) {
    return Endurance(target).run();
}

}  // namespace peer

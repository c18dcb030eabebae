// SPDX-License-Identifier: Apache-2.0
// ds::netlink against a kernel inside the test program: sendmsg(), recvmsg(),
// poll() and setsockopt() are interposed for netlink sockets.
#include <ds/netlink.hpp>

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "user_cmocka.hpp"

using namespace ds::netlink;

namespace {

constexpr uint16_t family = 0x21;
constexpr uint32_t group = 13;

using Datagram = std::vector<uint8_t>;

// ---- The kernel's side ----

struct Request {
    nlmsghdr header;
    uint8_t command;
    std::vector<uint8_t> bytes;

    const nlattr *attr(uint16_t id) const {
        for (size_t at = NLMSG_HDRLEN + GENL_HDRLEN; at + NLA_HDRLEN <= bytes.size();) {
            auto *a = reinterpret_cast<const nlattr *>(bytes.data() + at);
            if ((a->nla_type & NLA_TYPE_MASK) == id)
                return a;
            at += NLA_ALIGN(a->nla_len);
        }
        return nullptr;
    }
    uint32_t offset(uint16_t id) const {
        return static_cast<uint32_t>(reinterpret_cast<const uint8_t *>(attr(id)) - bytes.data());
    }
};

struct Kernel {
    bool loaded = true;
    std::deque<Datagram> answers;
    std::vector<Request> requests;
    std::function<void(const Request &)> on_request;
    std::set<int> options;  // of level SOL_NETLINK that were set
    uint32_t joined = 0;
    int receive_errno = EAGAIN;  // when there is no answer
} kernel;

void append(Datagram &to, const void *data, size_t length) {
    auto *bytes = static_cast<const uint8_t *>(data);
    to.insert(to.end(), bytes, bytes + length);
    to.resize(NLMSG_ALIGN(to.size()));
}

Datagram attribute(uint16_t id, const void *data, size_t length) {
    Datagram d;
    nlattr a{static_cast<uint16_t>(NLA_HDRLEN + length), id};
    append(d, &a, sizeof(a));
    append(d, data, length);
    return d;
}
template <class T>
Datagram attribute(uint16_t id, T value) {
    return attribute(id, &value, sizeof(value));
}
Datagram text(uint16_t id, const char *string) {
    return attribute(id, string, strlen(string) + 1);
}

Datagram operator+(Datagram a, const Datagram &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Datagram packet(const Request &to, uint16_t type, uint16_t flags, const Datagram &payload) {
    nlmsghdr h{};
    h.nlmsg_len = static_cast<uint32_t>(NLMSG_HDRLEN + payload.size());
    h.nlmsg_type = type;
    h.nlmsg_flags = flags;
    h.nlmsg_seq = to.header.nlmsg_seq;
    h.nlmsg_pid = to.header.nlmsg_pid;
    Datagram d;
    append(d, &h, sizeof(h));
    return d + payload;
}

Datagram object(const Request &to, const Datagram &attrs, uint16_t flags = 0,
                uint16_t type = family) {
    genlmsghdr g{to.command, DS_GENL_VERSION, 0};
    Datagram payload;
    append(payload, &g, sizeof(g));
    return packet(to, type, flags, payload + attrs);
}

// An error with the request's head only, as NETLINK_CAP_ACK asks for.
Datagram error(const Request &to, int code, const Datagram &tlvs = {}, bool capped = true) {
    nlmsgerr e{};
    e.error = code;
    e.msg = to.header;
    Datagram payload;
    append(payload, &e, sizeof(e));
    if (!capped)
        payload.insert(payload.end(), to.bytes.begin() + NLMSG_HDRLEN, to.bytes.end());
    uint16_t flags =
        static_cast<uint16_t>((capped ? NLM_F_CAPPED : 0) | (tlvs.empty() ? 0 : NLM_F_ACK_TLVS));
    return packet(to, NLMSG_ERROR, flags, payload + tlvs);
}

Datagram done(const Request &to, int code = 0, const Datagram &tlvs = {}) {
    Datagram payload;
    append(payload, &code, sizeof(code));
    uint16_t flags = static_cast<uint16_t>(NLM_F_MULTI | (tlvs.empty() ? 0 : NLM_F_ACK_TLVS));
    return packet(to, NLMSG_DONE, flags, payload + tlvs);
}

void answer(const Datagram &d) {
    kernel.answers.push_back(d);
}

void answer_controller(const Request &request) {
    if (!kernel.loaded)
        return answer(error(request, -ENOENT));
    Datagram member = text(CTRL_ATTR_MCAST_GRP_NAME, DS_GENL_GROUP) +
                      attribute<uint32_t>(CTRL_ATTR_MCAST_GRP_ID, group);
    Datagram members = attribute(1, member.data(), member.size());
    answer(object(request,
                  text(CTRL_ATTR_FAMILY_NAME, DS_GENL_NAME) +
                      attribute<uint16_t>(CTRL_ATTR_FAMILY_ID, family) +
                      attribute(CTRL_ATTR_MCAST_GROUPS, members.data(), members.size()),
                  0, GENL_ID_CTRL));
    if (request.header.nlmsg_flags & NLM_F_ACK)
        answer(error(request, 0));
}

void take(const msghdr *msg) {
    Request r;
    for (size_t i = 0; i < msg->msg_iovlen; i++) {
        auto *bytes = static_cast<uint8_t *>(msg->msg_iov[i].iov_base);
        r.bytes.insert(r.bytes.end(), bytes, bytes + msg->msg_iov[i].iov_len);
    }
    memcpy(&r.header, r.bytes.data(), sizeof(r.header));
    r.command = r.bytes[NLMSG_HDRLEN];
    if (r.header.nlmsg_type == GENL_ID_CTRL)
        return answer_controller(r);
    kernel.requests.push_back(r);
    kernel.on_request(r);
}

ssize_t give(msghdr *msg, int flags) {
    if (kernel.answers.empty())
        return errno = kernel.receive_errno, -1;
    const Datagram &d = kernel.answers.front();
    size_t room = msg->msg_iov[0].iov_len;
    memcpy(msg->msg_iov[0].iov_base, d.data(), std::min(room, d.size()));
    msg->msg_flags = room < d.size() ? MSG_TRUNC : 0;
    msg->msg_controllen = 0;
    sockaddr_nl from{};
    from.nl_family = AF_NETLINK;
    memcpy(msg->msg_name, &from, sizeof(from));
    msg->msg_namelen = sizeof(from);
    ssize_t length = static_cast<ssize_t>(flags & MSG_TRUNC ? d.size() : std::min(room, d.size()));
    if (!(flags & MSG_PEEK))
        kernel.answers.pop_front();
    return length;
}

bool is_netlink(int fd) {
    int domain = 0;
    socklen_t length = sizeof(domain);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_NETLINK;
}

}  // namespace

extern "C" {

ssize_t sendmsg(int fd, const msghdr *msg, int flags) {
    if (!is_netlink(fd))
        return syscall(SYS_sendmsg, fd, msg, flags);
    take(msg);
    return 1;
}

ssize_t recvmsg(int fd, msghdr *msg, int flags) {
    return is_netlink(fd) ? give(msg, flags) : syscall(SYS_recvmsg, fd, msg, flags);
}

// The C library declares that poll() only writes to *fds, which is not so.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
int poll(pollfd *fds, nfds_t count, int timeout) {
    if (count == 1 && is_netlink(fds[0].fd)) {
        bool something = !kernel.answers.empty() || kernel.receive_errno != EAGAIN;
        fds[0].revents = something ? POLLIN : 0;
        return something;
    }
    return static_cast<int>(syscall(SYS_poll, fds, count, timeout));
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length) noexcept {
    if (level != SOL_NETLINK)
        return static_cast<int>(syscall(SYS_setsockopt, fd, level, name, value, length));
    kernel.options.insert(name);
    if (name == NETLINK_ADD_MEMBERSHIP)
        memcpy(&kernel.joined, value, sizeof(kernel.joined));
    return 0;
}

}  // extern "C"

namespace {

int setup(void **) {
    kernel = Kernel();
    kernel.on_request = [](const Request &r) { answer(error(r, 0)); };
    return 0;
}

Client client() {
    return Client::open().or_throw();
}

// What the next call fails with.
ds::Error failing(Client &c, const Message &request, std::function<Datagram(const Request &)> how) {
    kernel.on_request = [how](const Request &r) { answer(how(r)); };
    auto reply = c.call(request);
    assert_false(reply.ok());
    return reply.error();
}

// ---- The table ----

void attributes_have_names_and_types(void **) {
    assert_int_equal(attributes().size(), DS_A_MAX - DS_A_NODE + 1);
    std::set<std::string_view> names;
    for (const AttrInfo &info : attributes()) {
        names.insert(info.name);
        assert_ptr_equal(find_attr(info.id), &info);
        assert_ptr_equal(find_attr(info.name), &info);
    }
    assert_int_equal(names.size(), attributes().size());
    assert_null(find_attr(DS_A_UNSPEC));
    assert_null(find_attr(DS_A_PAD));
    assert_null(find_attr(DS_A_MAX + 1));
    assert_null(find_attr("nonsense"));
    assert_int_equal(find_attr("numa_node")->type, Type::S32);
    assert_int_equal(find_attr("port")->type, Type::U16);
    assert_int_equal(find_attr("rtt_ns")->type, Type::U64);
    assert_int_equal(find_attr("key")->type, Type::Binary);
}

void states_have_words(void **) {
    auto state = [](uint8_t command, uint32_t number) {
        return std::string(Message(command).put(attr::state, number).state_name());
    };
    assert_string_equal(state(DS_CMD_PEER_GET, DS_PEER_UP).c_str(), "up");
    assert_string_equal(state(DS_CMD_PEER_GET, 4).c_str(), "unknown");
    assert_string_equal(state(DS_CMD_DEV_GET, DS_DEV_REFUSED).c_str(), "refused");
    assert_string_equal(state(DS_CMD_ATTACH_GET, DS_ATTACH_REVOKED).c_str(), "revoked");
    assert_true(Message(DS_CMD_PEER_GET).state_name().empty());
    Message event(DS_CMD_EVENT);
    event.put(attr::event, DS_EVENT_ATTACH_STATE).put(attr::state, DS_ATTACH_LOST);
    assert_string_equal(std::string(event.event_name()).c_str(), "attach-state");
    assert_string_equal(std::string(event.state_name()).c_str(), "lost");
    assert_string_equal(
        std::string(Message(DS_CMD_EVENT).put(attr::event, 99u).event_name()).c_str(), "unknown");
}

// ---- Calls ----

void without_the_module(void **) {
    kernel.loaded = false;
    auto c = Client::open();
    assert_false(c.ok());
    assert_int_equal(c.error().code, ENOENT);
    assert_non_null(strstr(c.error().sentence.c_str(), "\"ds\""));
    assert_non_null(strstr(c.error().remedy.c_str(), "Load the module"));
}

void asks_for_extended_acknowledgements(void **) {
    client();
    assert_true(kernel.options.count(NETLINK_EXT_ACK) && kernel.options.count(NETLINK_CAP_ACK));
}

void sends_and_receives_every_type(void **) {
    Client c = client();
    Bytes key(DS_DOMAIN_KEY_LEN, 0xab);
    Message request(DS_CMD_SEG_ADD);
    request.put(attr::passive, 200)
        .put(attr::port, 65535)
        .put(attr::node, 70000)
        .put(attr::numa_node, -1)
        .put(attr::length, 1ull << 40)
        .put(attr::name, "a segment")
        .put(attr::key, key)
        .put(attr::node, 70001);                // replaces
    kernel.on_request = [](const Request &r) {  // send it back
        Datagram attrs(r.bytes.begin() + NLMSG_HDRLEN + GENL_HDRLEN, r.bytes.end());
        answer(object(r, attrs));
        answer(error(r, 0));
    };
    auto reply = c.call(request);
    assert_true(reply.ok());
    assert_int_equal(kernel.requests[0].header.nlmsg_type, family);
    assert_int_equal(kernel.requests[0].header.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
    assert_int_equal(kernel.requests[0].command, DS_CMD_SEG_ADD);
    assert_int_equal(kernel.requests[0].attr(DS_A_PORT)->nla_len, NLA_HDRLEN + 2);
    assert_int_equal(reply->fields().size(), 7);
    assert_int_equal(*reply->get(attr::passive), 200);
    assert_int_equal(*reply->get(attr::port), 65535);
    assert_int_equal(*reply->get(attr::node), 70001);
    assert_int_equal(*reply->get(attr::numa_node), -1);
    assert_int_equal(*reply->get(attr::length), 1ull << 40);
    assert_string_equal(reply->get(attr::name)->c_str(), "a segment");
    assert_true(*reply->get(attr::key) == key);
    assert_false(reply->get(attr::segment).has_value());
    assert_int_equal(reply->get_or(attr::segment, 5), 5);
}

void an_acknowledgement_alone_is_an_empty_reply(void **) {
    Client c = client();
    auto reply = c.call(Message(DS_CMD_NODE_SET).put(attr::node, 1));
    assert_true(reply.ok());
    assert_int_equal(reply->fields().size(), 0);
}

void skips_what_newer_kernels_say(void **) {
    Client c = client();
    kernel.on_request = [](const Request &r) {
        answer(object(r, attribute<uint64_t>(DS_A_MAX + 7, 1) + attribute<uint32_t>(DS_A_NODE, 3)));
        answer(error(r, 0));
    };
    auto reply = c.call(Message(DS_CMD_NODE_GET));
    assert_int_equal(reply->fields().size(), 1);
    assert_int_equal(*reply->get(attr::node), 3);
}

void refuses_malformed_attributes(void **) {
    Client c = client();
    kernel.on_request = [](const Request &r) {
        answer(object(r, attribute<uint16_t>(DS_A_NODE, 3)));
        answer(error(r, 0));
    };
    auto reply = c.call(Message(DS_CMD_NODE_GET));
    assert_int_equal(reply.error().code, EPROTO);
    assert_non_null(strstr(reply.error().sentence.c_str(), "node"));
    // And is not confused by what is left of that answer.
    kernel.on_request = [](const Request &r) {
        answer(object(r, attribute<uint32_t>(DS_A_NODE, 4)));
        answer(error(r, 0));
    };
    assert_int_equal(*c.call(Message(DS_CMD_NODE_GET))->get(attr::node), 4);
}

// ---- Errors ----

void errors_carry_the_kernels_sentence(void **) {
    Client c = client();
    Message request(DS_CMD_SPACE_ADD);
    request.put(attr::space, 1).put(attr::servers, 2000);
    auto plain = failing(c, request, [](const Request &r) { return error(r, -EBUSY); });
    assert_int_equal(plain.code, EBUSY);
    assert_string_equal(plain.sentence.c_str(), ds_strerror(EBUSY));
    assert_string_equal(plain.remedy.c_str(), ds_remedy(EBUSY));

    for (bool capped : {true, false}) {
        auto full = failing(c, request, [=](const Request &r) {
            return error(r, -EINVAL,
                         text(NLMSGERR_ATTR_MSG, "too many servers") +
                             attribute(NLMSGERR_ATTR_OFFS, r.offset(DS_A_SERVERS)),
                         capped);
        });
        assert_int_equal(full.code, EINVAL);
        assert_string_equal(full.sentence.c_str(), "too many servers (attribute servers)");
    }
    auto missing = failing(c, request, [](const Request &r) {
        return error(r, -EINVAL,
                     text(NLMSGERR_ATTR_MSG, "what shall it be") +
                         attribute<uint32_t>(NLMSGERR_ATTR_MISS_TYPE, DS_A_DOMAIN));
    });
    assert_string_equal(missing.sentence.c_str(), "what shall it be (attribute domain is missing)");
}

void survives_nonsense_in_errors(void **) {
    Client c = client();
    Message request(DS_CMD_NODE_GET);
    for (uint32_t offset : {0xffffffffu, 20u, 1000u, 18u}) {
        auto e = failing(c, request, [=](const Request &r) {
            return error(r, -EINVAL, attribute(NLMSGERR_ATTR_OFFS, offset));
        });
        assert_string_equal(e.sentence.c_str(), ds_strerror(EINVAL));
    }
    auto short_offset = failing(c, request, [](const Request &r) {
        return error(r, -EINVAL, attribute<uint16_t>(NLMSGERR_ATTR_OFFS, 20));
    });
    assert_int_equal(short_offset.code, EINVAL);
    auto unterminated = failing(c, request, [](const Request &r) {
        return error(r, -EINVAL, attribute(NLMSGERR_ATTR_MSG, "abcd", 4));
    });
    assert_string_equal(unterminated.sentence.c_str(), "abcd");
    auto broken = failing(c, request, [](const Request &r) {
        Datagram tlv = text(NLMSGERR_ATTR_MSG, "long");
        tlv[0] = 200;  // a length beyond the message
        return error(r, -EINVAL, tlv);
    });
    assert_string_equal(broken.sentence.c_str(), ds_strerror(EINVAL));
}

void a_lost_answer_is_a_timeout(void **) {
    Client c = client();
    kernel.on_request = [](const Request &) {};
    auto reply = c.call(Message(DS_CMD_NODE_GET));
    assert_int_equal(reply.error().code, ETIMEDOUT);
    // The late answer is not taken for that of the next request.
    Request late = kernel.requests.back();
    kernel.on_request = [=](const Request &r) {
        answer(object(late, attribute<uint32_t>(DS_A_NODE, 1)));
        answer(error(late, 0));
        answer(object(r, attribute<uint32_t>(DS_A_NODE, 2)));
        answer(error(r, 0));
    };
    assert_int_equal(*c.call(Message(DS_CMD_NODE_GET))->get(attr::node), 2);
}

// ---- Dumps ----

Datagram node(const Request &r, uint32_t number, uint16_t flags = 0) {
    return object(r, attribute(DS_A_NODE, number), static_cast<uint16_t>(NLM_F_MULTI | flags));
}

void dumps_are_lists(void **) {
    Client c = client();
    kernel.on_request = [](const Request &r) {  // two objects in a datagram
        answer(node(r, 1) + node(r, 2));
        answer(node(r, 3));
        answer(done(r));
    };
    auto list = c.dump(DS_CMD_PEER_GET);
    assert_int_equal(kernel.requests[0].header.nlmsg_flags, NLM_F_REQUEST | NLM_F_DUMP);
    assert_int_equal(list->size(), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(*(*list)[i].get(attr::node), i + 1);
    kernel.on_request = [](const Request &r) { answer(done(r)); };
    assert_int_equal(c.dump(DS_CMD_PEER_GET)->size(), 0);
}

void interrupted_dumps_are_made_again(void **) {
    Client c = client();
    kernel.on_request = [](const Request &r) {
        answer(node(r, 1, kernel.requests.size() < 3 ? NLM_F_DUMP_INTR : 0));
        answer(done(r));
    };
    auto list = c.dump(DS_CMD_PEER_GET);
    assert_int_equal(list->size(), 1);
    assert_int_equal(kernel.requests.size(), 3);

    kernel.requests.clear();
    kernel.on_request = [](const Request &r) {
        answer(node(r, 1, NLM_F_DUMP_INTR));
        answer(done(r));
    };
    assert_int_equal(c.dump(DS_CMD_PEER_GET).error().code, EAGAIN);
    assert_in_range(kernel.requests.size(), 2, 20);
}

void dumps_fail_at_the_start_and_at_the_end(void **) {
    Client c = client();
    kernel.on_request = [](const Request &r) { answer(error(r, -EOPNOTSUPP)); };
    assert_int_equal(c.dump(DS_CMD_PEER_GET).error().code, EOPNOTSUPP);
    kernel.on_request = [](const Request &r) {
        answer(node(r, 1));
        answer(done(r, -ENOMEM, text(NLMSGERR_ATTR_MSG, "half way")));
    };
    auto late = c.dump(DS_CMD_PEER_GET);
    assert_int_equal(late.error().code, ENOMEM);
    assert_string_equal(late.error().sentence.c_str(), "half way");
}

// ---- Events ----

void events_come_from_the_group(void **) {
    Events events = Events::open().or_throw();
    assert_int_equal(kernel.joined, group);
    assert_true(events.fd() >= 0);
    auto none = events.next(std::chrono::milliseconds(0));
    assert_true(none.ok() && !none->has_value());

    Request multicast{};
    multicast.command = DS_CMD_EVENT;
    Datagram up = object(multicast, attribute<uint32_t>(DS_A_EVENT, DS_EVENT_PEER_UP) +
                                        attribute<uint32_t>(DS_A_NODE, 5));
    Datagram down = object(multicast, attribute<uint32_t>(DS_A_EVENT, DS_EVENT_PEER_DOWN));
    answer(up + down);  // two in a datagram
    auto first = events.next(std::chrono::milliseconds(10)).or_throw();
    assert_int_equal(first->get_or(attr::node, 0), 5);
    assert_string_equal(std::string(first->event_name()).c_str(), "peer-up");
    auto second = events.next(std::chrono::milliseconds(10)).or_throw();
    assert_string_equal(std::string(second->event_name()).c_str(), "peer-down");
    assert_false(events.next(std::chrono::milliseconds(0))->has_value());

    kernel.receive_errno = ENOBUFS;
    auto lost = events.next(std::chrono::milliseconds(10));
    assert_int_equal(lost.error().code, ENOBUFS);
    kernel.receive_errno = EAGAIN;
    answer(up);
    assert_true(events.next(std::chrono::milliseconds(10))->has_value());
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup(f, setup)
    const CMUnitTest tests[] = {
        TEST(attributes_have_names_and_types),
        TEST(states_have_words),
        TEST(without_the_module),
        TEST(asks_for_extended_acknowledgements),
        TEST(sends_and_receives_every_type),
        TEST(an_acknowledgement_alone_is_an_empty_reply),
        TEST(skips_what_newer_kernels_say),
        TEST(refuses_malformed_attributes),
        TEST(errors_carry_the_kernels_sentence),
        TEST(survives_nonsense_in_errors),
        TEST(a_lost_answer_is_a_timeout),
        TEST(dumps_are_lists),
        TEST(interrupted_dumps_are_made_again),
        TEST(dumps_fail_at_the_start_and_at_the_end),
        TEST(events_come_from_the_group),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// SPDX-License-Identifier: Apache-2.0
// ds::netlink: client of the generic netlink family "ds" (ds/netlink.h).
//
// Internal: used by dsctl and by the library's liveness; not installed.
// Objects are not thread safe; use one per thread.
//
//     auto client = ds::netlink::Client::open();
//     auto reply  = client->call(Message(DS_CMD_SEG_ADD).put(attr::length, 4096)
//                                                       .put(attr::domain, 1));
//     if (!reply) fail(reply.error());
//     uint64_t segment = reply->get(attr::segment).value_or(0);
//     for (const Message &m : *client->dump(DS_CMD_PEER_GET)) ...
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <ds/netlink.h>
#include <ds/result.hpp>

struct nl_msg;
struct nlmsghdr;

namespace ds::netlink {

using Bytes = std::vector<uint8_t>;

enum class Type : uint8_t { U8, U16, U32, S32, U64, String, Binary };

/// One row of the table of attributes. The name is also the JSON name.
struct AttrInfo {
    uint16_t id;  ///< enum ds_attr
    std::string_view name;
    Type type;
};

/// An attribute whose C++ type is known when the program is compiled.
template <class T>
struct Attr {
    uint16_t id;
};

template <class T>
constexpr Type type_of() {
    if constexpr (std::is_same_v<T, uint8_t>)
        return Type::U8;
    else if constexpr (std::is_same_v<T, uint16_t>)
        return Type::U16;
    else if constexpr (std::is_same_v<T, uint32_t>)
        return Type::U32;
    else if constexpr (std::is_same_v<T, int32_t>)
        return Type::S32;
    else if constexpr (std::is_same_v<T, uint64_t>)
        return Type::U64;
    else if constexpr (std::is_same_v<T, std::string>)
        return Type::String;
    else {
        static_assert(std::is_same_v<T, Bytes>, "no netlink attribute has this type");
        return Type::Binary;
    }
}

// The one table of attributes: X(enum suffix, name, type), in the order of
// enum ds_attr. netlink/attrs.cpp checks that it is complete.
#define DS_NETLINK_ATTRS(X)                 \
    X(NODE, node, uint32_t)                 \
    X(UUID, uuid, Bytes)                    \
    X(INCARNATION, incarnation, uint64_t)   \
    X(GROUP, group, uint64_t)               \
    X(DOMAIN, domain, uint32_t)             \
    X(KEY, key, Bytes)                      \
    X(DEVICE, device, std::string)          \
    X(REASON, reason, std::string)          \
    X(IPV4, ipv4, uint32_t)                 \
    X(IPV6, ipv6, Bytes)                    \
    X(PORT, port, uint16_t)                 \
    X(STATE, state, uint32_t)               \
    X(PASSIVE, passive, uint8_t)            \
    X(TIMEOUT_MS, timeout_ms, uint32_t)     \
    X(SEGMENT, segment, uint64_t)           \
    X(LENGTH, length, uint64_t)             \
    X(ACCESS, access, uint32_t)             \
    X(NUMA_NODE, numa_node, int32_t)        \
    X(NAME, name, std::string)              \
    X(SPACE, space, uint32_t)               \
    X(SERVERS, servers, uint32_t)           \
    X(SERVER_SHIFT, server_shift, uint32_t) \
    X(SERVER, server, uint32_t)             \
    X(UID, uid, uint32_t)                   \
    X(PID, pid, uint32_t)                   \
    X(COMM, comm, std::string)              \
    X(OBJECT, object, std::string)          \
    X(VALUE, value, uint64_t)               \
    X(EVENT, event, uint32_t)               \
    X(ATTACHED, attached, uint32_t)         \
    X(FLAGS, flags, uint32_t)               \
    X(VERSION, version, std::string)        \
    X(LANES, lanes, uint32_t)               \
    X(RTT_NS, rtt_ns, uint64_t)             \
    X(MTU, mtu, uint32_t)                   \
    X(BUFS, bufs, uint32_t)                 \
    X(CHUNKS, chunks, uint32_t)             \
    X(RDM_SPACE, rdm_space, uint32_t)       \
    X(TENANT, tenant, uint32_t)             \
    X(KIND, kind, uint32_t)                 \
    X(PAGE_SHIFT, page_shift, uint32_t)     \
    X(MAC_KEY, mac_key, Bytes)              \
    X(KEYED, keyed, uint8_t)                \
    X(WIRE, wire, uint32_t)                 \
    X(FD, fd, uint32_t)                     \
    X(ALLOCATIONS, allocations, uint64_t)   \
    X(FREE, free, uint64_t)                 \
    X(LARGEST, largest, uint64_t)           \
    X(GENERATION, generation, uint32_t)     \
    X(TABLE, table, uint64_t)               \
    X(SESSIONS, sessions, uint32_t)         \
    X(PASSED, passed, uint64_t)             \
    X(FAILED, failed, uint64_t)             \
    X(SETTING, setting, uint64_t)           \
    X(OBJECTS, objects, Bytes)              \
    X(PART, part, uint32_t)                 \
    X(PARTS, parts, uint32_t)               \
    X(TOKEN, token, uint32_t)               \
    X(TYPE, type, uint32_t)                 \
    X(TIER, tier, uint32_t)                 \
    X(SLOT, slot, uint32_t)                 \
    X(USES, uses, uint32_t)                 \
    X(WORD_VERSION, word_version, uint32_t) \
    X(NUMBER, number, uint32_t)             \
    X(PD, pd, uint32_t)                     \
    X(LKEY, lkey, uint32_t)                 \
    X(RKEY, rkey, uint32_t)                 \
    X(IOVA, iova, uint64_t)                 \
    X(IB_ACCESS, ib_access, uint32_t)       \
    X(ENTRIES, entries, uint32_t)           \
    X(VECTOR, vector, uint32_t)             \
    X(QP_TYPE, qp_type, uint32_t)           \
    X(SCQ, scq, uint32_t)                   \
    X(RCQ, rcq, uint32_t)                   \
    X(POSTED, posted, uint32_t)             \
    X(HISTOGRAM, histogram, Bytes)          \
    X(LEAST, least, uint64_t)               \
    X(MOST, most, uint64_t)                 \
    X(DEFAULT, normal, uint64_t)            \
    X(LAYOUT, layout, uint32_t)             \
    X(PAGES, pages, uint64_t)               \
    X(CQ_FLAGS, cq_flags, uint32_t)         \
    X(SRQ, srq, uint8_t)

/// attr::node, attr::segment, ...: typed names for Message::put() and get().
namespace attr {
#define X(id, name, type) inline constexpr Attr<type> name{DS_A_##id};
DS_NETLINK_ATTRS(X)
#undef X
}  // namespace attr

/// All attributes, in the order of their numbers.
std::span<const AttrInfo> attributes();
const AttrInfo *find_attr(uint16_t id);            ///< nullptr if not known
const AttrInfo *find_attr(std::string_view name);  ///< nullptr if not known

/// Unsigned attributes are widened to uint64_t, signed ones to int64_t.
using Value = std::variant<uint64_t, int64_t, std::string, Bytes>;

/// A request, a reply, one object of a dump, or an event.
class Message {
public:
    struct Field {
        const AttrInfo *info;
        Value value;
    };

    explicit Message(uint8_t command) : command_(command) {}

    uint8_t command() const { return command_; }

    /// Adds an attribute; a second put() of the same one replaces the first.
    template <class T>
    Message &put(Attr<T> a, std::type_identity_t<T> value) {
        if constexpr (std::is_unsigned_v<T>)
            return set(a.id, uint64_t{value});
        else if constexpr (std::is_signed_v<T>)
            return set(a.id, int64_t{value});
        else
            return set(a.id, std::move(value));
    }

    /// The attribute's value, or nothing if the message does not have it.
    template <class T>
    std::optional<T> get(Attr<T> a) const {
        const Value *value = find(a.id);
        if (!value)
            return std::nullopt;
        if constexpr (std::is_unsigned_v<T>)
            return static_cast<T>(std::get<uint64_t>(*value));
        else if constexpr (std::is_signed_v<T>)
            return static_cast<T>(std::get<int64_t>(*value));
        else
            return std::get<T>(*value);
    }

    template <class T>
    T get_or(Attr<T> a, std::type_identity_t<T> otherwise) const {
        return get(a).value_or(std::move(otherwise));
    }

    /// All attributes, in the order of the message; for printers.
    const std::vector<Field> &fields() const { return fields_; }

    /// Word for DS_A_STATE as this message's command or event means it, such
    /// as "up"; "unknown" for a number that this library does not know; empty
    /// if the message has no DS_A_STATE.
    std::string_view state_name() const;

    /// Word for DS_A_EVENT, such as "peer-up"; otherwise as state_name().
    std::string_view event_name() const;

    /// Wire form. encode() appends the attributes to a libnl message and
    /// returns 0 or a negative errno. decode() skips attributes of kernels
    /// newer than this library and fails with EPROTO when one that it knows has the wrong length.
    int encode(nl_msg *msg) const;
    static Result<Message> decode(nlmsghdr *header);

private:
    Message &set(uint16_t id, Value value);
    const Value *find(uint16_t id) const;

    uint8_t command_;
    std::vector<Field> fields_;
};

class Socket;  // libnl socket with extended acknowledgements, netlink/socket.hpp

/// Sends commands and dumps to ds.ko. Errors carry the kernel's sentence and
/// name the attribute at fault.
class Client {
public:
    /// ENOENT: ds.ko is not loaded.
    static Result<Client> open();

    Client(Client &&) noexcept;
    Client &operator=(Client &&) noexcept;
    ~Client();

    /// A do command: returns the reply, or a Message without attributes if the
    /// kernel only acknowledged. Waits as long as the kernel does, which is
    /// bounded by DS_A_TIMEOUT_MS.
    Result<Message> call(const Message &request);

    /// A GET command: one Message an object. A dump that the kernel marks as
    /// interrupted is made again, a few times; then EAGAIN.
    Result<std::vector<Message>> dump(const Message &request);
    Result<std::vector<Message>> dump(uint8_t command) { return dump(Message(command)); }

private:
    explicit Client(std::unique_ptr<Socket> socket);
    std::unique_ptr<Socket> socket_;
};

/// The multicast group "events", on a socket of its own.
class Events {
public:
    static Result<Events> open();

    Events(Events &&) noexcept;
    Events &operator=(Events &&) noexcept;
    ~Events();

    /// The next event, or nothing when @p timeout has passed. ENOBUFS: events
    /// were lost because the reader was too slow; dump again and go on.
    /// Negative @p timeout waits until a signal arrives (EINTR).
    Result<std::optional<Message>> next(std::chrono::milliseconds timeout);

    int fd() const;  ///< for poll(2): readable when next() has something

private:
    explicit Events(std::unique_ptr<Socket> socket);
    std::unique_ptr<Socket> socket_;
    std::vector<Message> queue_;
};

}  // namespace ds::netlink

// SPDX-License-Identifier: Apache-2.0
#include "kernel.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>

#include <ds/ioctl.h>

#include "fabric_choice.hpp"
#include "units.hpp"

namespace dsctl {

uint32_t kernel_wait(uint64_t ms) {
    return static_cast<uint32_t>(std::min<uint64_t>(ms, max_kernel_wait_ms));
}

Error not_loaded() {
    return Error(
        Exit::unreachable, "DS-KRN-000", "the kernel module ds is not loaded",
        "load it with 'modprobe ds' or 'insmod ds.ko'; 'dsctl doctor' finds what it lacks");
}

// What to do when a command fails so, where it can be said better than for the
// errno in general.
constexpr struct {
    uint8_t command;
    int errnum;
    const char *remedy;
} remedies[] = {
    {DS_CMD_NODE_SET, EBUSY, "set the number before all else: delete all peers and domains first"},
    {DS_CMD_DOMAIN_ADD, EEXIST, "delete it first with 'dsctl node domain del ID'"},
    {DS_CMD_DOMAIN_DEL, ENOENT, "list the domains with 'dsctl node domain show'"},
    {DS_CMD_DOMAIN_DEL, EBUSY,
     "see who uses it: 'dsctl peer show', 'dsctl seg show', 'dsctl space show'"},
    {DS_CMD_PEER_ADD, EEXIST, "look at 'dsctl peer show'; 'dsctl peer del ADDR' removes it"},
    {DS_CMD_PEER_ADD, ENOENT, "add the domain first with 'dsctl node domain add'"},
    {DS_CMD_PEER_ADD, ETIMEDOUT,
     "see that the host runs DS and answers ping; 'dsctl peer show' has the reason, "
     "'dsctl peer del ADDR' ends the tries"},
    {DS_CMD_PEER_ADD, ECONNREFUSED,
     "compare node number, group, domain and key on both hosts; if the other one has no room, "
     "load ds.ko there with a larger max_peers; its 'dmesg' says more"},
    {DS_CMD_PEER_DEL, ENOENT, "list the peers with 'dsctl peer show'"},
    {DS_CMD_SEG_ADD, ENOENT, "add the domain first with 'dsctl node domain add'"},
    {DS_CMD_SEG_ADD, ENOMEM, "export less, free memory, or raise the memory cgroup's limit"},
    {DS_CMD_SEG_ADD, EDQUOT, "export less, or load the module with a larger max_seg_mb"},
    {DS_CMD_SEG_ADD, ETIMEDOUT, "try again when the storage answers; 'dmesg' may say what ails it"},
    {DS_CMD_SEG_DEL, ENOENT, "list the segments with 'dsctl seg show'"},
    {DS_CMD_SEG_DEL, EAGAIN, "try again when the storage answers; 'dmesg' may say what ails it"},
    {DS_CMD_SEG_REVOKE, ENOENT, "list the segments with 'dsctl seg show'"},
    {DS_CMD_SPACE_ADD, EEXIST, "choose another number, or 'dsctl space del ID' first"},
    {DS_CMD_SPACE_ADD, ENOENT, "add the domain first with 'dsctl node domain add'"},
    {DS_CMD_SPACE_DEL, ENOENT, "list the spaces with 'dsctl space show'"},
    {DS_CMD_ATTACH_ADD, ENOENT,
     "compare with 'dsctl seg show' on the other node and 'dsctl space show' here"},
    {DS_CMD_ATTACH_ADD, EEXIST,
     "detach it first with 'dsctl seg detach', or choose another --server"},
    {DS_CMD_ATTACH_ADD, ENOTCONN, "connect to the node first with 'dsctl peer add ADDR'"},
    {DS_CMD_ATTACH_ADD, EACCES, "the segment and the space must be of one trust domain"},
    {DS_CMD_ATTACH_ADD, EFBIG, "make a space of larger servers: --size as long as the segment"},
    {DS_CMD_ATTACH_ADD, EDQUOT,
     "detach what is not needed with 'dsctl seg detach', or load ds.ko on the other node with a "
     "larger max_attaches"},
    {DS_CMD_ATTACH_DEL, ENOENT, "list the servers with 'dsctl space show'"},
    {DS_CMD_RDM_SPACE_ADD, ENOENT, "list the segments with 'dsctl seg show'"},
    {DS_CMD_RDM_SPACE_ADD, EEXIST, "choose another number, or 'dsctl rdm space del ID' first"},
    {DS_CMD_RDM_SPACE_ADD, EAGAIN,
     "try again when the storage answers; 'dmesg' may say what ails it"},
    {DS_CMD_RDM_SPACE_DEL, ENOENT, "list the spaces with 'dsctl rdm space show'"},
    {DS_CMD_RDM_LISTEN_ADD, EADDRINUSE, "choose another port, as ADDR:PORT"},
    {DS_CMD_RDM_LISTEN_ADD, EADDRNOTAVAIL, "list this host's addresses with 'ip address'"},
    {DS_CMD_RDM_LISTEN_DEL, ENOENT, "list where packets are received with 'dsctl rdm listen show'"},
    {DS_CMD_RDM_PEER_ADD, EEXIST, "delete it first with 'dsctl rdm peer del ADDR'"},
    {DS_CMD_RDM_PEER_DEL, ENOENT, "list the hosts with 'dsctl rdm peer show'"},
    {DS_CMD_TOKEN_SET, ENOENT, "list the parameters with 'dsctl token set'"},
    {DS_CMD_TOKEN_SET, ERANGE, "see the range with 'dsctl token set'"},
    {DS_CMD_TOKEN_SET, EINVAL,
     "see what there is, and of which trust domain, with 'dsctl token set'"},
    {DS_CMD_TOKEN_SET, ENOSPC,
     "lower SHARE_MIN of another domain, or take its share away (SHARE_MIN=0, then SHARE_MAX to "
     "L1_CAPACITY): see 'dsctl token set'"},
    {DS_CMD_TOKEN_IMPORT, ENODEV, "list the RDMA devices with 'dsctl dev'"},
    {DS_CMD_TOKEN_IMPORT, ESTALE, "import it again when the other import is done"},
    {DS_CMD_TOKEN_IMPORT, EDQUOT,
     "forget what was imported before, of this device or another, with 'dsctl token import DEV "
     "--forget'"},
    {DS_CMD_TOKEN_FORGET, ENODEV, "list the RDMA devices with 'dsctl dev'"},
    {DS_CMD_TOKEN_FORGET, ENOENT, "import it first with 'dsctl token import'"},
    {DS_CMD_TOKEN_PIN, EBADF, "list the tokens with 'dsctl token show'"},
    {DS_CMD_TOKEN_PIN, ESTALE, "list the tokens that there are with 'dsctl token show'"},
    {DS_CMD_TOKEN_PIN, EOPNOTSUPP, "pin a token that 'dsctl token show' does not call foreign"},
    {DS_CMD_TOKEN_PIN, EBUSY, "try again"},
    {DS_CMD_TOKEN_PIN, EDQUOT, "see who is pinned with 'dsctl token show --tier 1'"},
    {DS_CMD_TOKEN_UNPIN, EBADF, "list the tokens with 'dsctl token show'"},
    {DS_CMD_TOKEN_UNPIN, ESTALE, "nothing is to be done: a pin ends with its token"},
    {DS_CMD_TOKEN_UNPIN, EOPNOTSUPP, "nothing is to be done: imported tokens are never pinned"},
    {DS_CMD_TOKEN_UNPIN, EBUSY, "nothing is to be done: it moves, and so is not pinned"},
};

static const char *remedy_of(uint8_t command, int errnum) {
    for (const auto &entry : remedies)
        if (entry.command == command && entry.errnum == errnum)
            return entry.remedy;
    return "";
}

Error kernel_error(const ds::Error &error, const std::string &what, const std::string &remedy) {
    return from_errno("KRN", error.code, "cannot " + what + ": " + clause(error.sentence),
                      remedy.empty() ? clause(error.remedy) : remedy);
}

static nl::Client open_client() {
    auto client = nl::Client::open();

    if (client)
        return std::move(*client);
    if (client.error().code == ENOENT)
        throw not_loaded();
    throw kernel_error(client.error(), "talk to the kernel");
}

Kernel::Kernel() : client_(open_client()) {}

Kernel::Kernel(const Call &call) : client_((need_module(call), open_client())) {}

nl::Message Kernel::call(const nl::Message &request, const std::string &what) {
    auto reply = client_.call(request);

    if (!reply)
        throw kernel_error(reply.error(), what, remedy_of(request.command(), reply.error().code));
    return std::move(*reply);
}

std::vector<nl::Message> Kernel::dump(uint8_t command, const std::string &what) {
    auto list = client_.dump(command);

    if (!list)
        throw kernel_error(list.error(), what);
    return std::move(*list);
}

uint32_t Kernel::domain(const Call &call, std::string_view option) {
    std::string list;

    if (auto chosen = call.maybe(option))
        return static_cast<uint32_t>(*chosen);
    auto domains = dump(DS_CMD_DOMAIN_GET, "list the trust domains");
    if (domains.size() == 1)
        return domains[0].get_or(attr::domain, 0);
    if (domains.empty())
        throw Error(Exit::not_found, "DS-DOM-001", "this host has no trust domain",
                    "set one: 'dsctl node keygen FILE', then "
                    "'dsctl node domain add 1 --key FILE' on each host");
    for (const nl::Message &message : domains)
        list += (list.empty() ? "" : ", ") + std::to_string(message.get_or(attr::domain, 0));
    throw usage("this host has several trust domains: " + list,
                "say which one with " + std::string(option) + " N");
}

std::string address_of(const nl::Message &message) {
    char text[INET6_ADDRSTRLEN] = "";

    if (auto ipv4 = message.get(attr::ipv4)) {
        in_addr address{*ipv4};
        inet_ntop(AF_INET, &address, text, sizeof(text));
    } else if (auto ipv6 = message.get(attr::ipv6); ipv6 && ipv6->size() == 16) {
        inet_ntop(AF_INET6, ipv6->data(), text, sizeof(text));
    }
    return text;
}

void put_address(nl::Message &message, const std::string &host, int family) {
    addrinfo hints = {};
    addrinfo *found = nullptr;

    hints.ai_family = family;
    hints.ai_socktype = SOCK_DGRAM;
    int rc = getaddrinfo(host.c_str(), nullptr, &hints, &found);
    if (rc != 0)
        throw Error(Exit::not_found, "DS-NET-001",
                    "no address of host '" + host + "': " + clause(gai_strerror(rc)),
                    std::string(family == AF_INET ? "give an IPv4 address"
                                                  : "give an IPv4 or IPv6 address") +
                        ", or a name that this host can resolve");
    if (found->ai_family == AF_INET) {
        sockaddr_in address;
        std::memcpy(&address, found->ai_addr, sizeof(address));
        message.put(attr::ipv4, address.sin_addr.s_addr);
    } else {
        sockaddr_in6 address;
        std::memcpy(&address, found->ai_addr, sizeof(address));
        message.put(attr::ipv6,
                    nl::Bytes(address.sin6_addr.s6_addr, address.sin6_addr.s6_addr + 16));
    }
    freeaddrinfo(found);
}

std::string access_text(uint32_t access) {
    std::string text;

    if (access & DS_ACCESS_READ)
        text += 'r';
    if (access & DS_ACCESS_WRITE)
        text += 'w';
    if (access & DS_ACCESS_ATOMIC)
        text += 'a';
    return text.empty() ? "-" : text;
}

uint32_t parse_access(const std::string &text) {
    uint32_t access = 0;

    for (char letter : text) {
        if (letter == 'r')
            access |= DS_ACCESS_READ;
        else if (letter == 'w')
            access |= DS_ACCESS_WRITE;
        else if (letter == 'a')
            access |= DS_ACCESS_ATOMIC;
        else
            access = 0;
        if (!access)
            break;
    }
    if (!access)
        throw usage("--access is made of r (read), w (write) and a (atomics), not '" + text + "'");
    return access;
}

std::string user_name(uint32_t uid) {
    const passwd *entry = getpwuid(uid);

    return entry ? entry->pw_name : std::to_string(uid);
}

Style state_style(std::string_view state) {
    if (state == "up" || state == "used" || state == "peer-up")
        return Style::good;
    if (state == "lost" || state == "refused" || state == "revoked" || state == "peer-down")
        return Style::bad;
    return Style::warning;
}

static std::string hex_bytes(const nl::Bytes &bytes, bool uuid) {
    std::string text;

    for (size_t i = 0; i < bytes.size(); i++) {
        if (uuid && (i == 4 || i == 6 || i == 8 || i == 10))
            text += '-';
        text += format("%02x", bytes[i]);
    }
    return text;
}

static Json plain(const nl::Value &value) {
    if (auto *number = std::get_if<uint64_t>(&value))
        return *number;
    if (auto *number = std::get_if<int64_t>(&value))
        return *number;
    if (auto *text = std::get_if<std::string>(&value))
        return *text;
    return hex_bytes(std::get<nl::Bytes>(value), false);
}

Json to_json(const nl::Message &message) {
    Json object = Json::object();

    for (const nl::Message::Field &field : message.fields()) {
        std::string name(field.info->name);
        switch (field.info->id) {
        case DS_A_IPV4:
        case DS_A_IPV6:
            object["address"] = address_of(message);
            break;
        case DS_A_STATE:
            object[name] = message.state_name();
            break;
        case DS_A_EVENT:
            object[name] = message.event_name();
            break;
        case DS_A_ACCESS:
            object[name] = access_text(message.get_or(attr::access, 0));
            break;
        case DS_A_UUID:
            object[name] = hex_bytes(std::get<nl::Bytes>(field.value), true);
            break;
        case DS_A_INCARNATION:
            // More bits than a JSON number keeps in most readers.
            object[name] = hex(std::get<uint64_t>(field.value));
            break;
        default:
            object[name] = plain(field.value);
        }
    }
    return object;
}

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
// Names of attributes, states and events.
#include <algorithm>
#include <array>

#include <ds/netlink.hpp>

namespace ds::netlink {
namespace {

constexpr std::array table{
#define X(id, name, type) AttrInfo{DS_A_##id, #name, type_of<type>()},
    DS_NETLINK_ATTRS(X)
#undef X
};

constexpr bool complete() {
    for (size_t i = 0; i < table.size(); i++)
        if (table[i].id != DS_A_NODE + i)
            return false;
    return table.back().id == DS_A_MAX;
}
static_assert(complete(), "DS_NETLINK_ATTRS misses an attribute of ds/netlink.h");

template <size_t N>
std::string_view word(const std::array<std::string_view, N> &words, uint32_t number) {
    return number < N && !words[number].empty() ? words[number] : "unknown";
}

constexpr std::array<std::string_view, 4> peer_states{"connecting", "up", "refused", "closing"};
constexpr std::array<std::string_view, 2> dev_states{"used", "refused"};
constexpr std::array<std::string_view, 4> attach_states{"down", "up", "lost", "revoked"};
constexpr std::array<std::string_view, 7> qp_states{"reset", "init", "rtr", "rts",
                                                    "sqd",   "sqe",  "err"};
constexpr std::array<std::string_view, 9> events{
    "",          "dev-added",   "dev-removed", "peer-up",      "peer-down",
    "seg-added", "seg-removed", "seg-revoked", "attach-state",
};

}  // namespace

std::span<const AttrInfo> attributes() {
    return table;
}

const AttrInfo *find_attr(uint16_t id) {
    if (id < DS_A_NODE || id > DS_A_MAX)
        return nullptr;
    return &table[id - DS_A_NODE];
}

const AttrInfo *find_attr(std::string_view name) {
    auto it = std::ranges::find(table, name, &AttrInfo::name);
    return it == table.end() ? nullptr : &*it;
}

std::string_view Message::state_name() const {
    auto state = get(attr::state);
    if (!state)
        return {};
    switch (command_) {
    case DS_CMD_DEV_GET:
        return word(dev_states, *state);
    case DS_CMD_PEER_ADD:
    case DS_CMD_PEER_GET:
        return word(peer_states, *state);
    case DS_CMD_ATTACH_ADD:
    case DS_CMD_ATTACH_GET:
        return word(attach_states, *state);
    case DS_CMD_TOKEN_GET:
        return word(qp_states, *state);
    case DS_CMD_EVENT:
        if (get(attr::event) == DS_EVENT_DEV_ADDED)
            return word(dev_states, *state);
        if (get(attr::event) == DS_EVENT_ATTACH_STATE)
            return word(attach_states, *state);
        return "unknown";
    default:
        return "unknown";
    }
}

std::string_view Message::event_name() const {
    auto event = get(attr::event);
    return event ? word(events, *event) : std::string_view{};
}

}  // namespace ds::netlink

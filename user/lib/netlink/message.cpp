// SPDX-License-Identifier: Apache-2.0
// ds::netlink::Message: attributes to and from the wire.
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <ds/netlink.hpp>

namespace ds::netlink {
namespace {

template <class T>
Value widen(const nlattr *attr) {
    T value;
    std::memcpy(&value, nla_data(attr), sizeof(value));
    if constexpr (std::is_signed_v<T>)
        return int64_t{value};
    else
        return uint64_t{value};
}

int wire_length(Type type) {
    switch (type) {
    case Type::U8:
        return 1;
    case Type::U16:
        return 2;
    case Type::U32:
    case Type::S32:
        return 4;
    case Type::U64:
        return 8;
    case Type::String:
    case Type::Binary:
        break;
    }
    return -1;
}

Value value_of(const AttrInfo &info, const nlattr *attr) {
    auto *data = static_cast<const uint8_t *>(nla_data(attr));
    auto length = static_cast<size_t>(nla_len(attr));
    switch (info.type) {
    case Type::U8:
        return widen<uint8_t>(attr);
    case Type::U16:
        return widen<uint16_t>(attr);
    case Type::U32:
        return widen<uint32_t>(attr);
    case Type::S32:
        return widen<int32_t>(attr);
    case Type::U64:
        return widen<uint64_t>(attr);
    case Type::String: {
        auto *text = reinterpret_cast<const char *>(data);
        return std::string(text, strnlen(text, length));
    }
    case Type::Binary:
        break;
    }
    return Bytes(data, data + length);
}

int append(nl_msg *msg, const Message::Field &field) {
    int id = field.info->id;
    switch (field.info->type) {
    case Type::U8:
        return nla_put_u8(msg, id, static_cast<uint8_t>(std::get<uint64_t>(field.value)));
    case Type::U16:
        return nla_put_u16(msg, id, static_cast<uint16_t>(std::get<uint64_t>(field.value)));
    case Type::U32:
        return nla_put_u32(msg, id, static_cast<uint32_t>(std::get<uint64_t>(field.value)));
    case Type::S32:
        return nla_put_s32(msg, id, static_cast<int32_t>(std::get<int64_t>(field.value)));
    case Type::U64:
        return nla_put_u64(msg, id, std::get<uint64_t>(field.value));
    case Type::String:
        return nla_put_string(msg, id, std::get<std::string>(field.value).c_str());
    case Type::Binary: {
        auto &bytes = std::get<Bytes>(field.value);
        return nla_put(msg, id, static_cast<int>(bytes.size()), bytes.data());
    }
    }
    return -1;
}

}  // namespace

Message &Message::set(uint16_t id, Value value) {
    for (Field &field : fields_) {
        if (field.info->id == id) {
            field.value = std::move(value);
            return *this;
        }
    }
    fields_.push_back({find_attr(id), std::move(value)});
    return *this;
}

const Value *Message::find(uint16_t id) const {
    for (const Field &field : fields_)
        if (field.info->id == id)
            return &field.value;
    return nullptr;
}

int Message::encode(nl_msg *msg) const {
    for (const Field &field : fields_)
        if (append(msg, field) < 0)
            return -EMSGSIZE;
    return 0;
}

Result<Message> Message::decode(nlmsghdr *header) {
    if (!genlmsg_valid_hdr(header, 0))
        return Error::from(EPROTO, "The kernel sent a truncated netlink message.");
    auto *genl = static_cast<genlmsghdr *>(nlmsg_data(header));
    Message message(genl->cmd);
    int left = genlmsg_attrlen(genl, 0);
    for (nlattr *a = genlmsg_attrdata(genl, 0); nla_ok(a, left); a = nla_next(a, &left)) {
        const AttrInfo *info = find_attr(static_cast<uint16_t>(nla_type(a)));
        if (!info)
            continue;
        int expected = wire_length(info->type);
        if (expected >= 0 && nla_len(a) != expected)
            return Error::from(EPROTO, "The kernel sent attribute " + std::string(info->name) +
                                           " with a wrong length.");
        message.set(info->id, value_of(*info, a));
    }
    return message;
}

}  // namespace ds::netlink

// SPDX-License-Identifier: Apache-2.0
// dsctl token import: objects of all users of a device, as the kernel lists them.
#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "rdma_netlink.hpp"
#include "token.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

// What tells an object of a device from the others, as far as a token says it: a memory
// region by its local key.
using Identity = std::pair<uint32_t, uint32_t>;

Identity identity_of(const ds_token_object &object) {
    return {object.type, object.type == DS_TOKEN_MR ? object.lkey : object.number};
}

// Of the objects of the device that ds.ko has made.
std::set<Identity> own_objects(Kernel &kernel, const std::string &device) {
    std::set<Identity> own;

    for (const nl::Message &token : kernel.dump(DS_CMD_TOKEN_GET, "list the tokens")) {
        uint32_t type = token.get_or(attr::type, 0);
        if (token.get_or(attr::flags, 0) & DS_TOKEN_FOREIGN ||
            token.get_or(attr::device, "") != device)
            continue;
        auto number = type == DS_TOKEN_MR ? token.get(attr::lkey) : token.get(attr::number);
        if (number && (type != DS_TOKEN_MR || *number))  // else it is memory of another host
            own.insert({type, *number});
    }
    return own;
}

nl::Bytes bytes_of(const std::vector<ds_token_object> &objects, size_t from, size_t count) {
    nl::Bytes bytes(count * sizeof(ds_token_object));

    std::memcpy(bytes.data(), objects.data() + from, bytes.size());
    return bytes;
}

// All of them, in as many messages as it takes: one at least, for there may be none.
void hand_over(Kernel &kernel, const std::string &device,
               const std::vector<ds_token_object> &objects) {
    size_t parts =
        std::max<size_t>(1, (objects.size() + DS_TOKEN_OBJECTS_MAX - 1) / DS_TOKEN_OBJECTS_MAX);

    for (size_t part = 0; part < parts; part++) {
        size_t from = part * DS_TOKEN_OBJECTS_MAX;
        size_t count = std::min<size_t>(DS_TOKEN_OBJECTS_MAX, objects.size() - from);
        nl::Message request(DS_CMD_TOKEN_IMPORT);
        request.put(attr::device, device)
            .put(attr::part, static_cast<uint32_t>(part + 1))
            .put(attr::parts, static_cast<uint32_t>(parts))
            .put(attr::objects, bytes_of(objects, from, count));
        kernel.call(request, "import the objects of " + device);
    }
}

std::string object_text(const ds_token_object &object) {
    switch (object.type) {
    case DS_TOKEN_MR:
        return bytes_text(object.length);
    case DS_TOKEN_CQ:
        return format("%u entries", object.entries);
    case DS_TOKEN_QP: {
        nl::Message token(DS_CMD_TOKEN_GET);
        token.put(attr::state, object.state);
        return qp_type_name(object.qp_type) + " " + std::string(token.state_name());
    }
    default:
        return "";
    }
}

std::vector<RdmaObject> objects_of(const std::string &device) {
    auto objects = list_objects(device);

    if (!objects)
        throw Error(Exit::not_found, "DS-TOK-002",
                    "the kernel lists no objects of an RDMA device '" + device + "'",
                    "list the RDMA devices with 'dsctl dev'");
    return std::move(*objects);
}

struct Stock {
    std::vector<RdmaObject> all;
    std::set<Identity> own;
};

bool are_same(const std::vector<RdmaObject> &some, const std::vector<RdmaObject> &others) {
    return std::ranges::equal(some, others, {}, &RdmaObject::key, &RdmaObject::key);
}

// All objects, and which of them are ds.ko's. It makes and ends some meanwhile, and a number
// that is free is soon another one's: so until it had the same before and after. And until two
// lists are the same: where an object ends while the kernel gives a long one, it leaves others
// out. Where objects come and go all the time that may never be; then what was ds.ko's own before
// or after is.
Stock take_stock(Call &call, Kernel &kernel, const std::string &device) {
    constexpr int tries = 16;
    Stock stock{objects_of(device), own_objects(kernel, device)};

    for (int i = 0; i < tries; i++) {
        auto listed = std::exchange(stock.all, objects_of(device));
        auto before = std::exchange(stock.own, own_objects(kernel, device));
        if (stock.own == before && are_same(stock.all, listed))
            return stock;
        if (i == tries - 1)
            stock.own.merge(before);
    }
    call.out.warn("objects of '" + device +
                  "' come and go all the time: some may be missing until the next import");
    return stock;
}

// Some have no token yet, or no longer; and a program's may have the number of one that has ended.
bool is_own(const Stock &stock, const RdmaObject &found) {
    return found.maker == Maker::ds ||
           (found.maker == Maker::other && stock.own.contains(identity_of(found.object)));
}

Exit forget(Call &call) {
    nl::Message request(DS_CMD_TOKEN_FORGET);
    std::string device = call.text("DEV");

    request.put(attr::device, device);
    Kernel(call).call(request, "forget what was imported of " + device);
    call.out.done("what was imported of " + device + " is forgotten");
    return Exit::ok;
}

}  // namespace

Exit token_import(Call &call) {
    if (call.has("--forget"))
        return forget(call);
    Kernel kernel(call);
    std::string device = call.text("DEV");
    std::vector<ds_token_object> foreign;
    std::vector<Row> rows;
    Stock stock = take_stock(call, kernel, device);

    for (const RdmaObject &found : stock.all) {
        bool ours = is_own(stock, found);
        std::string type = token_type_name(found.object.type);
        if (!ours)
            foreign.push_back(found.object);
        call.out.respond(
            {{"type", type}, {"number", found.number}, {"owner", found.owner}, {"own", ours}});
        rows.push_back({type, std::to_string(found.number), object_text(found.object), found.owner,
                        ours ? "own" : "foreign"});
    }
    hand_over(kernel, device, foreign);
    call.out.table({{"TYPE"}, {"NUMBER", true}, {"OBJECT"}, {"OWNER", false, true}, {"TOKEN"}},
                   rows);
    call.out.done(format("%zu objects of %s: %zu of ds.ko, %zu imported", stock.all.size(),
                         device.c_str(), stock.all.size() - foreign.size(), foreign.size()));
    return Exit::ok;
}

}  // namespace dsctl

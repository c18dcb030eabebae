// SPDX-License-Identifier: Apache-2.0
#include "store.hpp"

#include <cerrno>

#include "units.hpp"

namespace dsctl {

namespace {

// Without --timeout nobody waits long for a master that is not there.
constexpr uint32_t connect_ms = 3000;

}  // namespace

Store::Store(const Call &call)
    : remote_(call, DS_ACCESS_ALL),
      master_(format("at port %s of node %s", call.text("--port").c_str(),
                     call.text("--node").c_str())),
      store_(nullptr, ds_store_close) {
    ds_store_options options{};
    ds_store *store = nullptr;

    options.size = sizeof(options);
    options.space = static_cast<uint32_t>(call.number("--space"));
    options.node = static_cast<uint32_t>(call.number("--node"));
    options.port = static_cast<uint32_t>(call.number("--port"));
    options.timeout_ms = call.timeout_ms(connect_ms);
    int rc = ds_store_open(remote_.fabric(), &options, &store);
    if (rc == -ENOENT)
        throw from_errno("OBJ", ENOENT, "there is no store in space " + call.text("--space"),
                         "make one with dsmasterd, as its manual says");
    if (rc == -EXDEV)
        throw from_errno("OBJ", EXDEV,
                         "the master " + master_ + " serves another store than that of space " +
                             call.text("--space"),
                         "choose the space with --space, or the master with --node and --port");
    if (rc < 0)
        throw failure(rc, "cannot open the store");
    store_.reset(store);
}

Error Store::failure(int rc, const std::string &what) const {
    switch (rc) {
    case -ENOENT:
        return from_errno("OBJ", ENOENT, what + ": there is no such object",
                          "look at 'dsctl obj show'");
    case -ECONNREFUSED:
        return from_errno("OBJ", ECONNREFUSED, what + ": no master answers " + master_,
                          "start dsmasterd, or choose another one with --node and --port");
    case -ENOSPC: {
        ds_store_totals t = totals();
        return from_errno("OBJ", ENOSPC,
                          what + ": there is not enough space, " + bytes_text(t.free) +
                              " are free, at most " + bytes_text(t.largest) + " in one piece",
                          "delete objects, use fewer replicas, or make a larger store");
    }
    case -EHOSTDOWN:
        return from_errno("OBJ", EHOSTDOWN,
                          what + ": fewer memory servers are up than it shall have replicas",
                          "bring them back ('dsctl obj stat' shows which), or use fewer replicas");
    case -EROFS:
        return from_errno("OBJ", EROFS, what + ": the master cannot write its metadata",
                          "make room in the file system of dsmasterd's folder");
    case -EBADMSG:
        return from_errno("OBJ", EBADMSG, what + ": the data are damaged in every replica",
                          "store the object anew; 'dsctl obj check' shows what is damaged");
    default:
        return from_errno("OBJ", -rc, what + ": " + clause(ds_strerror(rc)));
    }
}

ds_store_totals Store::totals(std::vector<ds_store_server> *servers) const {
    ds_store_totals totals{};

    if (servers)
        servers->resize(remote_.map().servers);
    totals.size = sizeof(totals);
    if (int rc =
            ds_store_get_totals(get(), timeout_ms(), &totals, servers ? servers->data() : nullptr,
                                servers ? servers->size() : 0);
        rc < 0)
        throw failure(rc, "cannot ask for the space");
    return totals;
}

std::string key_of(const Call &call) {
    std::string key = call.text("KEY");

    if (key.empty() || key.size() > DS_STORE_MAX_KEY)
        throw usage(format("a key has 1 to %d bytes, not %zu", DS_STORE_MAX_KEY, key.size()));
    return key;
}

std::string version_text(int64_t version) {
    return hex(static_cast<uint64_t>(version));
}

Json object_json(const std::string &key, const ds_store_object &object) {
    return {{"key", key},
            {"version", object.version},
            {"length", object.length},
            {"replicas", object.replicas},
            {"time_ns", object.time_ns}};
}

}  // namespace dsctl

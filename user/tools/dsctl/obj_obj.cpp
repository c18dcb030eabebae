// SPDX-License-Identifier: Apache-2.0
// dsctl obj: the objects of a store in pooled memory.
#include <cerrno>

#include "progress.hpp"
#include "store.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

struct Entry {
    std::string key;
    ds_store_object object;
};

// The objects whose keys begin with a prefix.
std::vector<Entry> entries(const Store &store, const std::string &prefix, const std::string &after,
                           uint64_t most) {
    struct Taken {
        std::vector<Entry> entries;
        uint64_t most;
    } taken{{}, most};
    auto take = [](void *arg, const void *key, size_t length, const ds_store_object *object) {
        auto *t = static_cast<Taken *>(arg);
        t->entries.push_back({{static_cast<const char *>(key), length}, *object});
        return t->entries.size() >= t->most ? 1 : 0;
    };

    if (int rc = ds_store_list(store.get(), prefix.data(), prefix.size(), after.data(),
                               after.size(), store.timeout_ms(), take, &taken);
        rc < 0)
        throw store.failure(rc, "cannot list the objects");
    return std::move(taken.entries);
}

Exit list(Call &call) {
    Store store(call);
    std::vector<Row> rows;

    for (const Entry &e :
         entries(store, call.text("PREFIX"), call.text("--after"), call.number("--limit"))) {
        call.out.respond(object_json(e.key, e.object));
        rows.push_back({e.key, std::to_string(e.object.length), std::to_string(e.object.replicas),
                        version_text(e.object.version)});
    }
    call.out.table({{.header = "KEY", .shrinks = true},
                    {"BYTES", true},
                    {"REPLICAS", true},
                    {"VERSION", true}},
                   rows);
    return Exit::ok;
}

Exit del(Call &call) {
    std::string key = key_of(call);
    Store store(call);

    int rc = ds_store_del(store.get(), key.data(), key.size(), 0, store.timeout_ms());
    if (rc < 0)
        throw store.failure(rc, "cannot delete '" + key + "'");
    call.out.respond({{"key", key}});
    call.out.done("'" + key + "' is deleted");
    return Exit::ok;
}

Exit stat_object(Call &call, const Store &store) {
    std::string key = key_of(call);
    ds_store_object object{};

    object.size = sizeof(object);
    int rc = ds_store_stat(store.get(), key.data(), key.size(), store.timeout_ms(), &object);
    if (rc < 0)
        throw store.failure(rc, "cannot look at '" + key + "'");
    call.out.respond(object_json(key, object));
    call.out.fields({{"key", key},
                     {"length", bytes_text(object.length)},
                     {"replicas", std::to_string(object.replicas)},
                     {"version", version_text(object.version)}});
    return Exit::ok;
}

Exit stat(Call &call) {
    Store store(call);
    std::vector<ds_store_server> servers;
    std::vector<Row> rows;
    Json list = Json::array();

    if (call.has("KEY"))
        return stat_object(call, store);
    ds_store_totals t = store.totals(&servers);
    for (size_t i = 0; i < servers.size(); i++) {
        const ds_store_server &s = servers[i];
        list.push_back({{"server", uint64_t{i}},
                        {"total", s.total},
                        {"free", s.free},
                        {"largest", s.largest},
                        {"down", s.down != 0}});
        rows.push_back({std::to_string(i), bytes_text(s.total), bytes_text(s.free),
                        bytes_text(s.largest),
                        s.down ? Cell("down", Style::bad) : Cell("up", Style::good)});
    }
    call.out.respond({{"objects", t.objects},
                      {"object_bytes", t.object_bytes},
                      {"incomplete", t.incomplete},
                      {"total", t.total},
                      {"used", t.used},
                      {"reserved", t.reserved},
                      {"retired", t.retired},
                      {"free", t.free},
                      {"largest", t.largest},
                      {"reservations", t.reservations},
                      {"epoch", t.epoch},
                      {"servers", list}});
    call.out.fields({{"objects", std::to_string(t.objects)},
                     {"their bytes", std::to_string(t.object_bytes)},
                     {"incomplete", std::to_string(t.incomplete)},
                     {"space", std::to_string(t.total)},
                     {"used", std::to_string(t.used)},
                     {"reserved", std::to_string(t.reserved)},
                     {"retired", std::to_string(t.retired)},
                     {"free", std::to_string(t.free)},
                     {"epoch", std::to_string(t.epoch)}});
    call.out.line("");
    call.out.table(
        {{"SERVER", true}, {"SPACE", true}, {"FREE", true}, {"LARGEST", true}, {"STATE"}}, rows);
    return Exit::ok;
}

struct Damages {
    std::string key;
    Json list = Json::array();
    std::vector<Row> rows;
    uint64_t count = 0;
};

void take_damage(void *arg, const ds_store_damage *d) {
    auto *damages = static_cast<Damages *>(arg);

    damages->count++;
    damages->list.push_back({{"key", damages->key},
                             {"server", d->server},
                             {"address", d->addr},
                             {"offset", d->offset},
                             {"length", d->length},
                             {"error", ds_errname(d->status)}});
    damages->rows.push_back({damages->key,
                             std::to_string(d->server),
                             hex(d->addr),
                             std::to_string(d->offset),
                             std::to_string(d->length),
                             {ds_errname(d->status), Style::bad}});
}

// What the master knows of servers that it cannot reach: "server 1 is down; ".
std::string servers_down(const Store &store) {
    std::vector<ds_store_server> servers;
    std::string text;

    store.totals(&servers);
    for (size_t i = 0; i < servers.size(); i++)
        if (servers[i].down)
            text += "server " + std::to_string(i) + " is down; ";
    return text;
}

void repair(const Store &store, const std::string &key) {
    int rc = ds_store_repair(store.get(), key.data(), key.size(), store.timeout_ms());

    if (rc < 0 && rc != -ENOENT)
        throw store.failure(rc, "cannot have '" + key + "' repaired");
}

Exit check(Call &call) {
    Store store(call);
    std::vector<Entry> all = entries(store, call.text("PREFIX"), "", UINT64_MAX);
    Progress progress(call.settings, "check", all.size(), Progress::Unit::operations);
    Damages damages;
    uint64_t checked = 0, damaged = 0;

    for (size_t i = 0; i < all.size(); i++) {
        damages.key = all[i].key;
        int rc = ds_store_check(store.get(), all[i].key.data(), all[i].key.size(),
                                store.timeout_ms(), take_damage, &damages, nullptr);
        progress.update(i + 1);
        if (rc == -ENOENT)
            continue;  // deleted meanwhile
        if (rc < 0 && rc != -EBADMSG)
            throw store.failure(rc, "cannot check '" + all[i].key + "'");
        checked++;
        damaged += rc == -EBADMSG;
        if (rc == -EBADMSG && call.has("--repair"))
            repair(store, all[i].key);
    }
    call.out.respond({{"checked", checked}, {"damaged", damaged}, {"damages", damages.list}});
    if (damaged) {
        call.out.table({{.header = "KEY", .shrinks = true},
                        {"SERVER", true},
                        {"ADDRESS", true},
                        {"OFFSET", true},
                        {"LENGTH", true},
                        {"ERROR"}},
                       damages.rows);
        throw Error(Exit::failed, "DS-OBJ-900",
                    servers_down(store) +
                        format("%llu of %llu objects have replicas that are lost or damaged",
                               static_cast<unsigned long long>(damaged),
                               static_cast<unsigned long long>(checked)),
                    call.has("--repair")
                        ? "the master makes them anew, from replicas that are whole; check again"
                        : "have the master make them anew with 'dsctl obj check --repair'");
    }
    call.out.done(format("%llu objects are whole, in each replica",
                         static_cast<unsigned long long>(checked)));
    return Exit::ok;
}

constexpr Param key{.name = "KEY", .help = "key of the object, 1 to 1024 bytes"};
constexpr Param maybe_key{
    .name = "KEY", .help = "of an object; nothing: the store", .optional = true};
constexpr Param prefix{.name = "PREFIX", .help = "what keys begin with", .optional = true};
constexpr Param file{.name = "FILE", .kind = Kind::file, .help = "file, - for standard output"};
constexpr Param replicas{.name = "--replicas",
                         .value = "N",
                         .kind = Kind::number,
                         .help = "on different servers",
                         .fallback = "1",
                         .min = 1,
                         .max = DS_STORE_MAX_REPLICAS};
constexpr Param node{.name = "--node",
                     .value = "N",
                     .kind = Kind::number,
                     .help = "node of the master",
                     .fallback = "1",
                     .min = 1,
                     .max = UINT32_MAX};
constexpr Param port{.name = "--port",
                     .value = "P",
                     .kind = Kind::number,
                     .help = "service port of the master",
                     .fallback = "512",
                     .min = DS_SERVICE_USER_FIRST,
                     .max = DS_SERVICE_USER_LAST};

const Object object{
    .name = "obj",
    .summary = "objects in pooled memory",
    .verbs =
        {
            {
                .name = "put",
                .summary = "Store a file as the newest version of an object.",
                .params =
                    {key,
                     {.name = "FILE", .kind = Kind::file, .help = "file, - for standard input"},
                     replicas,
                     {.name = "--new", .help = "fail if there is such an object"},
                     space_option,
                     node,
                     port},
                .examples = {{"obj put kernel vmlinuz --replicas 2",
                              "on two servers, so that one may die"}},
                .run = object_put,
            },
            {
                .name = "get",
                .summary = "Read an object into a file.",
                .params = {key,
                           file,
                           {.name = "--offset",
                            .value = "BYTES",
                            .kind = Kind::size,
                            .help = "first byte that is wanted",
                            .fallback = "0"},
                           {.name = "--length",
                            .value = "BYTES",
                            .kind = Kind::size,
                            .help = "most bytes that are wanted"},
                           {.name = "--min-version",
                            .value = "V",
                            .kind = Kind::number,
                            .help = "fail if the newest version is earlier",
                            .fallback = "0",
                            .max = INT64_MAX},
                           space_option,
                           node,
                           port},
                .examples = {{"obj get kernel vmlinuz", "into the file vmlinuz"},
                             {"obj get kernel - --length 512", "its first 512 bytes"}},
                .run = object_get,
                .details = "The file is there as a whole or not at all, and of one version.",
            },
            {
                .name = "del",
                .summary = "Delete an object.",
                .params = {key, space_option, node, port},
                .examples = {{"obj del kernel", "delete it"}},
                .run = del,
            },
            {
                .name = "show",
                .summary = "List objects, in the order of the bytes of their keys.",
                .params = {prefix,
                           {.name = "--after",
                            .value = "KEY",
                            .help = "only keys behind this one, where an earlier list ended"},
                           {.name = "--limit",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "at most so many",
                            .fallback = "1000000",
                            .min = 1},
                           space_option,
                           node,
                           port},
                .examples = {{"obj show", "all of them"},
                             {"obj show models/ --limit 10", "ten that begin with models/"}},
                .run = list,
            },
            {
                .name = "stat",
                .summary = "Show an object, or how full the store is.",
                .params = {maybe_key, space_option, node, port},
                .examples = {{"obj stat", "space of the store and of its servers"},
                             {"obj stat kernel", "length and version of an object"}},
                .run = stat,
            },
            {
                .name = "check",
                .summary = "Read all replicas of objects and compare them with their checksums.",
                .params = {prefix,
                           {.name = "--repair",
                            .help = "have the master make replicas anew that are not whole"},
                           space_option,
                           node,
                           port},
                .examples = {{"obj check", "all objects"}},
                .run = check,
            },
            {
                .name = "bench",
                .summary = "Measure puts or gets: their rate, and quantiles of their times.",
                .params = {{.name = "--op",
                            .value = "OP",
                            .kind = Kind::choice,
                            .help = "put stores the objects bench/0, bench/1, ...; get reads them",
                            .fallback = "get",
                            .choices = "get|put"},
                           {.name = "--size",
                            .value = "BYTES",
                            .kind = Kind::size,
                            .help = "of an object",
                            .fallback = "1M",
                            .max = 1 << 30},
                           {.name = "--keys",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "objects of the bench",
                            .fallback = "16",
                            .min = 1,
                            .max = UINT32_MAX},
                           {.name = "--count",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "operations (default: --keys)",
                            .min = 1,
                            .max = UINT32_MAX},
                           {.name = "--depth",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "threads, each with an operation under way",
                            .fallback = "1",
                            .min = 1,
                            .max = 64},
                           {.name = "--cached",
                            .help = "get: ask the master only where the last answer will not do"},
                           replicas,
                           space_option,
                           node,
                           port},
                .examples = {{"obj bench --op put", "16 objects of 1 MiB, one at a time"},
                             {"obj bench --count 1000 --depth 4", "read them, four at a time"}},
                .run = object_bench,
                .details = "The objects stay; 'obj del' deletes them.",
            },
        },
};

const Register registered(object);

}  // namespace

}  // namespace dsctl

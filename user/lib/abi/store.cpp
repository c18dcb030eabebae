// SPDX-License-Identifier: Apache-2.0
// ds/store.h
#include <ds/store.h>

#include <cerrno>

#include "abi/guard.hpp"
#include "store/store.hpp"

using ds::abi::fill;
using ds::abi::guard;
using ds::abi::take;

struct ds_store {
    std::unique_ptr<ds::store::Store> store;
};

namespace {

bool is_key(size_t length) {
    return length >= 1 && length <= DS_STORE_MAX_KEY;
}

std::string_view text(const void *bytes, size_t length) {
    return {static_cast<const char *>(bytes), length};
}

// Of a call that failed the caller may want to know a part.
int finish(int rc, const ds_store_object &found, ds_store_object *object) {
    if (!object)
        return rc;
    int filled = fill(object, found);
    return rc < 0 ? rc : filled;
}

}  // namespace

int ds_store_open(ds_fabric *fabric, const ds_store_options *options, ds_store **store) {
    ds_store_options o{};
    if (options)
        if (int rc = take(options, o); rc < 0)
            return rc;
    if (o.reserved)
        return -EINVAL;
    return guard([&] {
        auto made = std::make_unique<ds_store>();
        int rc = ds::store::Store::open(fabric, o, made->store);
        if (rc == 0)
            *store = made.release();
        return rc;
    });
}

void ds_store_close(ds_store *store) {
    delete store;
}

int ds_store_put(ds_store *store, const void *key, size_t key_length, const iovec *parts,
                 size_t count, const ds_store_put_options *options, int64_t *version) {
    ds_store_put_options o{};
    int64_t made = 0;
    if (version)
        *version = 0;
    if (options)
        if (int rc = take(options, o); rc < 0)
            return rc;
    if (!is_key(key_length) || o.replicas > DS_STORE_MAX_REPLICAS)
        return -EINVAL;
    if (o.flags & ~DS_STORE_MUST_NOT_EXIST)
        return -EOPNOTSUPP;
    int rc = guard([&] {
        return store->store->put(text(key, key_length), {parts, count}, o, made);
    });
    if (version)
        *version = made;
    return rc;
}

int ds_store_get(ds_store *store, const void *key, size_t key_length, const iovec *parts,
                 size_t count, const ds_store_get_options *options, ds_store_object *object) {
    ds_store_get_options o{};
    if (options)
        if (int rc = take(options, o); rc < 0)
            return rc;
    if (!is_key(key_length) || o.reserved || o.min_version < 0 || o.version < 0)
        return -EINVAL;
    if (o.flags & ~DS_STORE_CACHED)
        return -EOPNOTSUPP;
    ds_store_object found{};
    int rc = guard([&] {
        return store->store->get(text(key, key_length), {parts, count}, o, found);
    });
    return finish(rc, found, object);
}

int ds_store_del(ds_store *store, const void *key, size_t key_length, int64_t version,
                 uint32_t timeout_ms) {
    if (!is_key(key_length) || version < 0)
        return -EINVAL;
    return guard([&] { return store->store->del(text(key, key_length), version, timeout_ms); });
}

int ds_store_stat(ds_store *store, const void *key, size_t key_length, uint32_t timeout_ms,
                  ds_store_object *object) {
    if (!is_key(key_length))
        return -EINVAL;
    ds_store_object found{};
    int rc = guard([&] { return store->store->stat(text(key, key_length), timeout_ms, found); });
    return finish(rc, found, object);
}

int ds_store_list(ds_store *store, const void *prefix, size_t prefix_length, const void *after,
                  size_t after_length, uint32_t timeout_ms, ds_store_entry_fn entry, void *arg) {
    if (prefix_length > DS_STORE_MAX_KEY || after_length > DS_STORE_MAX_KEY)
        return -EINVAL;
    return guard([&] {
        return store->store->list(text(prefix, prefix_length), text(after, after_length),
                                  timeout_ms, entry, arg);
    });
}

int ds_store_get_totals(ds_store *store, uint32_t timeout_ms, ds_store_totals *totals,
                        ds_store_server *servers, size_t count) {
    ds_store_totals found{};
    int rc = guard([&] { return store->store->totals(timeout_ms, found, {servers, count}); });
    return rc < 0 ? rc : fill(totals, found);
}

int ds_store_check(ds_store *store, const void *key, size_t key_length, uint32_t timeout_ms,
                   ds_store_damage_fn damage, void *arg, ds_store_object *object) {
    if (!is_key(key_length))
        return -EINVAL;
    ds_store_object found{};
    int rc = guard(
        [&] { return store->store->check(text(key, key_length), timeout_ms, damage, arg, found); });
    return finish(rc, found, object);
}

int ds_store_repair(ds_store *store, const void *key, size_t key_length, uint32_t timeout_ms) {
    if (!is_key(key_length))
        return -EINVAL;
    return guard([&] { return store->store->repair(text(key, key_length), timeout_ms); });
}

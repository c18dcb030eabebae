// SPDX-License-Identifier: Apache-2.0
// An object store, opened for the 'obj' commands (ds/store.h), and their verbs.
#pragma once

#include <ds/ds.h>

#include <memory>
#include <string>

#include "call.hpp"
#include "remote.hpp"

namespace dsctl {

class Store {
public:
    // Opens the store in --space, whose master is at --node and --port.
    explicit Store(const Call &call);

    ds_store *get() const { return store_.get(); }
    uint32_t timeout_ms() const { return remote_.timeout_ms(); }

    // The error of a call that failed: what could not be done, and why.
    Error failure(int rc, const std::string &what) const;

    ds_store_totals totals(std::vector<ds_store_server> *servers = nullptr) const;

private:
    Remote remote_;
    std::string master_;
    std::unique_ptr<ds_store, decltype(&ds_store_close)> store_;
};

// KEY, if it may be one.
std::string key_of(const Call &call);

// A version as people and scripts see it: 0x, then epoch and sequence.
std::string version_text(int64_t version);

Json object_json(const std::string &key, const ds_store_object &object);

// object_copy.cpp
Exit object_put(Call &call);
Exit object_get(Call &call);

// object_bench.cpp
Exit object_bench(Call &call);

}  // namespace dsctl

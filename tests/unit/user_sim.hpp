// SPDX-License-Identifier: Apache-2.0
// For tests of the simulator: files, and traces as lists of numbers.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "sim/trace.hpp"
#include "user_cmocka.hpp"

namespace simtest {

using namespace ds::sim;

/// A folder that goes with its files.
class Folder {
public:
    Folder() {
        char name[] = "/tmp/ds-sim-XXXXXX";
        if (!mkdtemp(name))
            fail_msg("no folder in /tmp");
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;

    std::string file(const std::string &content, const std::string &name = "trace") const {
        std::ofstream(path_ / name, std::ios::binary) << content;
        return path(name);
    }
    std::string path(const std::string &name = "trace") const { return path_ / name; }

private:
    std::filesystem::path path_;
};

/// Accesses to these objects; their numbers need not be dense.
inline Trace trace_of(const std::vector<uint32_t> &ids) {
    Trace trace;
    for (uint32_t id : ids) {
        trace.requests.emplace_back(id, Operation::read);
        trace.uniques = std::max(trace.uniques, id + 1);
    }
    return trace;
}

/// What is written is added to @p text.
inline WriteBytes to(std::string &text) {
    return [&](std::span<const std::byte> bytes) {
        text.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    };
}

/// Real traces, or "" if DS_TRACES is not their folder.
inline std::string real_trace(const std::string &name) {
    const char *folder = std::getenv("DS_TRACES");
    std::string path = folder && *folder ? std::string(folder) + "/" + name : "";
    return std::filesystem::exists(path) ? path : "";
}

/// The Failure that this throws; fails the test if it throws none.
template <class Action>
ds::Error error_of(Action &&action) {
    try {
        action();
    } catch (const ds::Failure &failure) {
        return failure.error();
    }
    fail_msg("it was not refused");
    return {};
}

inline bool has(const std::string &text, const std::string &part) {
    return text.find(part) != text.npos;
}

}  // namespace simtest

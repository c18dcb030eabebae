// SPDX-License-Identifier: Apache-2.0
// For tests of trace files: records of the binary formats, and files that are refused.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "sim/decode.hpp"
#include "user_sim.hpp"

namespace simtest {

template <class T>
inline std::string bytes_of(const T &value) {
    return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

inline std::string be32(std::initializer_list<uint32_t> words) {
    std::string bytes;
    for (uint32_t word : words)
        bytes += bytes_of(htobe32(word));
    return bytes;
}

inline std::string le64(std::initializer_list<uint64_t> words) {
    std::string bytes;
    for (uint64_t word : words)
        bytes += bytes_of(word);
    return bytes;
}

inline std::string ds_header(uint32_t version = 1, uint32_t size = 16) {
    return "DSTRACE1" + bytes_of(version) + bytes_of(size);
}

inline std::string ds_record(uint64_t time, uint32_t handle, uint8_t op, uint8_t tier = 0,
                             uint16_t zero = 0) {
    return bytes_of(time) + bytes_of(handle) + bytes_of(op) + bytes_of(tier) + bytes_of(zero);
}

inline std::string oracle(uint32_t seconds, uint64_t id, int64_t next) {
    return bytes_of(OracleRecord{seconds, id, 512, next});
}

inline size_t open_files() {
    auto files = std::filesystem::directory_iterator("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(files), end(files)));
}

inline ds::Error refused(const std::string &path, const ReadOptions &options = {}) {
    size_t before = open_files();
    ds::Error error = error_of([&] { read_trace(path, options); });

    assert_int_equal(open_files(), before);
    assert_true(has(error.sentence, path) && error.sentence.ends_with("."));
    assert_false(error.remedy.empty());
    return error;
}

}  // namespace simtest

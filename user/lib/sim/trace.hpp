// SPDX-License-Identifier: Apache-2.0
// Traces: who was asked for, in which order. Whatever the file's numbers are, in memory an
// object is a dense number, so that a simulation needs arrays only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ds/result.hpp>

#include "sim/ds_format.hpp"

namespace ds::sim {

enum class Operation : uint32_t { read = 0, write = 1, create = 2, free = 3 };

struct Request {
    Request(uint32_t id, Operation op) : id(id), op(op) {}

    uint32_t id : 30;  ///< dense: the n-th object to appear is n, from 0
    Operation op : 2;

    /// False for the two ends of an object's life, which no cache can hit or miss.
    bool access() const { return op == Operation::read || op == Operation::write; }
    bool operator==(const Request &other) const { return id == other.id && op == other.op; }
};

constexpr uint64_t most_requests = uint64_t(1) << 30;

enum class Format {
    guess,
    ds,        ///< our own: see ds_format.hpp
    csv,       ///< a column of objects, others of operations and times; see decode_text.cpp
    integers,  ///< a number a line
    lis,       ///< `start count ignored ignored`: start to start + count - 1
    address,   ///< `l|s 0xaddress number`: loads and stores, as blocks of memory
    u32be,
    u64le,
    oracle,  ///< libCacheSim's oracleGeneral: u32 seconds, u64 id, u32 size, i64 next
};

std::string_view name_of(Format format);
/// Throws Failure (EINVAL), which says the names that there are.
Format format_of(std::string_view name);
/// "ds|csv|..." of all that can be named.
std::string format_names();

struct Trace {
    Format format = Format::guess;
    uint32_t uniques = 0;
    std::vector<Request> requests;
    std::vector<uint64_t> keys;     ///< what the file calls an object, by its dense number
    std::vector<uint64_t> time_ns;  ///< of each request, as the file says; empty if unknown
    std::string doubt;              ///< what makes it likely that the file was cut, or empty
    bool may_be_other = false;      ///< the format was guessed, of a file without a header
    std::string ignored;            ///< a column that may say what was done, but is not read

    uint64_t accesses() const;
    uint64_t writes() const;
};

/// How many objects somebody has indices for.
struct ObjectLimit {
    uint64_t most = UINT64_MAX;
    std::string who = {};     ///< as "policy ds", for an error
    std::string remedy = {};  ///< likewise
};

struct ReadOptions {
    Format format = Format::guess;
    uint64_t most = most_requests;  ///< longer traces are refused with EFBIG; 1 to most_requests
    uint64_t memory = UINT64_MAX;   ///< bytes: what needs more is refused with ENOMEM
    ObjectLimit objects = {};       ///< more are refused with EBADMSG
    uint32_t block = 64;            ///< bytes that are one object in a trace of addresses
    std::function<void(uint64_t)> progress = {};  ///< if set, told the file's bytes that were read
};

/// The trace in a file, plain or compressed (gzip, xz, zstd: told by its first bytes); "-" is
/// standard input.
/// Throws Failure: ENOENT and the like, EBADMSG if it is damaged or of another format, with
/// the line or byte; as soon as it is known, EFBIG, ENOMEM, and EBADMSG for too many objects; also
/// std::bad_alloc. Nothing stays open or allocated.
Trace read_trace(const std::string &path, const ReadOptions &options = {});

/// The trace in our own format, piece by piece, with the objects' keys as handles; without times
/// a request happens each nanosecond. Throws Failure (EOVERFLOW) before the first piece if a key
/// is too large for a handle.
void write_trace(const Trace &trace, const WriteBytes &write);

}  // namespace ds::sim

// SPDX-License-Identifier: Apache-2.0
// Any bytes, read as a trace.
//
// The first byte of an input says which format they are said to have (0: none, it is to be
// guessed), and whether they are packed, too, which must come to the same; what was packed before
// is not, as what was packed twice is refused. What is read must be a trace: objects are numbered
// as they appear, and who has times has one for each request. All else must be refused with a
// sentence.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace.hpp"

namespace {

using ds::sim::Format;
using ds::sim::ReadOptions;
using ds::sim::Trace;

constexpr uint8_t packed = 128;  // bits of the first byte
constexpr uint8_t short_one = 64;
constexpr uint8_t formats = static_cast<uint8_t>(Format::oracle) + 1;
constexpr uint64_t memory = uint64_t(64) << 20;

void holds(bool condition, const char *what) {
    if (condition)
        return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::abort();
}

/// A file in memory, which has no name of its own.
class File {
public:
    void put(std::span<const uint8_t> bytes) {
        holds(!ftruncate(fd_, 0) &&
                  pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
              "the file can be written");
    }
    const std::string &path() const { return path_; }

private:
    int fd_ = memfd_create("trace", MFD_CLOEXEC);
    std::string path_ = "/proc/self/fd/" + std::to_string(fd_);
};

bool is_packed(std::span<const uint8_t> bytes) {
    const std::string_view begin(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    const bool skipped_by_zstd =
        !begin.empty() && (bytes[0] & 0xf0) == 0x50 && begin.substr(1).starts_with("\x2a\x4d\x18");

    return skipped_by_zstd || begin.starts_with("\x28\xb5\x2f\xfd") ||
           begin.starts_with("\xfd\x37\x7a\x58\x5a") || begin.starts_with("\x1f\x8b\x08");
}

std::vector<uint8_t> packed_by_gzip(std::span<const uint8_t> bytes) {
    constexpr int window_of_gzip = 15 + 16;
    z_stream stream{};
    std::vector<uint8_t> out(bytes.size() + 1024);

    holds(deflateInit2(&stream, 1, Z_DEFLATED, window_of_gzip, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          "there is memory to pack");
    stream.next_in = const_cast<uint8_t *>(bytes.data());
    stream.avail_in = static_cast<unsigned>(bytes.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<unsigned>(out.size());
    holds(deflate(&stream, Z_FINISH) == Z_STREAM_END, "all of it is packed");
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

void check(const Trace &trace) {
    std::vector<bool> seen(trace.uniques);
    uint32_t next = 0;

    holds(!trace.requests.empty(), "a trace has requests");
    holds(trace.keys.size() == trace.uniques, "each object has its key");
    holds(trace.time_ns.empty() || trace.time_ns.size() == trace.requests.size(),
          "each request has its time, or none has one");
    for (ds::sim::Request request : trace.requests) {
        holds(request.id < trace.uniques, "objects are as many as it says");
        if (!seen[request.id])
            holds(request.id == next++, "objects are numbered as they appear");
        seen[request.id] = true;
    }
    holds(next == trace.uniques, "each object appears");
}

std::optional<Trace> read(const std::string &path, const ReadOptions &options) {
    try {
        Trace trace = ds::sim::read_trace(path, options);
        check(trace);
        return trace;
    } catch (const ds::Failure &failure) {
        holds(!failure.error().sentence.empty() && failure.error().code > 0, "a refusal says why");
        return std::nullopt;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static File file;

    if (size == 0)
        return 0;
    const std::span<const uint8_t> bytes(data + 1, size - 1);
    const uint8_t how = data[0];
    const ReadOptions options{.format = static_cast<Format>(how % formats),
                              .most = how & short_one ? 50 : ds::sim::most_requests,
                              .memory = memory};

    file.put(bytes);
    std::optional<Trace> trace = read(file.path(), options);
    if (how & packed && trace && !is_packed(bytes)) {
        file.put(packed_by_gzip(bytes));
        std::optional<Trace> again = read(file.path(), options);
        holds(again && again->requests == trace->requests && again->keys == trace->keys &&
                  again->time_ns == trace->time_ns && again->format == trace->format,
              "what is packed is the same trace");
    }
    return 0;
}

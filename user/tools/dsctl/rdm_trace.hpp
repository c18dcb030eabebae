// SPDX-License-Identifier: Apache-2.0
// Traces of requests, as the original's workload tool takes them: a line is
//
//     batch_id timestamp_us signed_offset size_in_4K_pages
//
// An offset in bytes is where to write; with a minus sign, -0 included, where to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dsctl {

constexpr uint64_t trace_page = 4096;

struct TraceRequest {
    uint64_t batch;
    uint64_t timestamp_us;
    bool is_read;
    uint64_t offset;  // bytes
    uint64_t pages;

    uint64_t length() const { return pages * trace_page; }
};

// Throws, with the number of the line, if one is not of this form.
std::vector<TraceRequest> read_trace(const std::string &path);

// Random requests within a span: batches of 1 to 8, of 1 to 16 pages each.
std::vector<TraceRequest> make_trace(uint64_t seed, uint64_t count, uint64_t span);

void write_trace(const std::string &path, const std::vector<TraceRequest> &requests);

}  // namespace dsctl

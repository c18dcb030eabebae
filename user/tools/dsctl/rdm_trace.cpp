// SPDX-License-Identifier: Apache-2.0
#include "rdm_trace.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <sstream>

#include "error.hpp"
#include "file.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr uint64_t most_pages = uint64_t(1) << 18;   // of a request: 1 GiB
constexpr uint64_t most_offset = uint64_t(1) << 48;  // so that no sum wraps

std::optional<TraceRequest> request_of(const std::string &line) {
    std::istringstream words(line);
    std::array<std::string, 4> word;
    std::string more;

    words >> word[0] >> word[1] >> word[2] >> word[3];
    if (!words || words >> more)
        return std::nullopt;
    bool is_read = word[2].starts_with('-');
    auto batch = parse_number(word[0]), timestamp = parse_number(word[1]);
    auto offset = parse_number(word[2].substr(is_read)), pages = parse_number(word[3]);
    if (!batch || !timestamp || !offset || !pages || *offset > most_offset || *pages == 0 ||
        *pages > most_pages)
        return std::nullopt;
    return TraceRequest{*batch, *timestamp, is_read, *offset, *pages};
}

}  // namespace

std::vector<TraceRequest> read_trace(const std::string &path) {
    std::istringstream text(contents_of(path));
    std::vector<TraceRequest> requests;
    std::string line;

    for (size_t number = 1; std::getline(text, line); number++) {
        auto request = request_of(line);
        if (!request)
            throw usage(format("line %zu of '%s' is no request", number, path.c_str()),
                        "a line is: batch_id timestamp_us signed_offset size_in_4K_pages, the "
                        "size 1 to " +
                            std::to_string(most_pages));
        requests.push_back(*request);
    }
    if (requests.empty())
        throw usage("there is no request in '" + path + "'",
                    "make a trace with 'dsctl rdm trace FILE'");
    return requests;
}

std::vector<TraceRequest> make_trace(uint64_t seed, uint64_t count, uint64_t span) {
    std::mt19937_64 random(seed);
    uint64_t batch = 0, left = 0, now = 0, pages = span / trace_page;
    std::vector<TraceRequest> requests;

    for (uint64_t i = 0; i < count; i++) {
        if (left == 0) {
            batch++;
            left = 1 + random() % 8;
            now += random() % 100;
        }
        left--;
        // Half of them small, as in most workloads; not all offsets are a page's.
        uint64_t size = std::min(pages, random() % 2 ? 1 : 1 + random() % 16);
        uint64_t offset = random() % (span - size * trace_page + 1);
        if (random() % 2)
            offset -= offset % trace_page;
        requests.push_back({batch, now, random() % 2 == 0, offset, size});
    }
    return requests;
}

void write_trace(const std::string &path, const std::vector<TraceRequest> &requests) {
    NewFile file(path);
    std::string text;

    for (const TraceRequest &r : requests)
        text += format("%llu %llu %s%llu %llu\n", 0ULL + r.batch, 0ULL + r.timestamp_us,
                       r.is_read ? "-" : "", 0ULL + r.offset, 0ULL + r.pages);
    file.write(std::as_bytes(std::span(text)));
    file.keep();
}

}  // namespace dsctl

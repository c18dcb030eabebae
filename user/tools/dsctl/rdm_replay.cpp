// SPDX-License-Identifier: Apache-2.0
// rdm trace, replay: the requests of a file, and whether what is read is what was written.
#include <algorithm>
#include <cstring>

#include "file.hpp"
#include "interrupt.hpp"
#include "pattern.hpp"
#include "progress.hpp"
#include "rdm.hpp"
#include "rdm_trace.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr uint64_t most_at_once = 32 << 20;  // bytes of requests that are under way

struct Tally {
    uint64_t requests = 0;
    uint64_t reads = 0;
    uint64_t bytes_read = 0;
    uint64_t bytes_written = 0;
    uint64_t different = 0;  // reads
    uint64_t different_bytes = 0;
    std::optional<uint64_t> first;  // offset of the first byte that differs
};

bool overlap(const TraceRequest &a, const TraceRequest &b) {
    return a.offset < b.offset + b.length() && b.offset < a.offset + a.length();
}

class Replay {
public:
    Replay(Call &call, const RdmClient &client, const std::vector<TraceRequest> &trace)
        : client_(client),
          trace_(trace),
          depth_(static_cast<uint32_t>(call.number("--depth"))),
          seed_(call.number("--seed")),
          size_(size_of(trace)),
          range_(call, client, size_),
          progress_(call.settings, "replay", trace.size(), Progress::Unit::operations) {
        if (call.has("--check"))
            begin_check();
    }

    Tally run() {
        start_ = progress_.seconds();
        for (size_t next = 0; next < trace_.size() && !interrupted();) {
            size_t count = together(next);
            run(std::span(trace_).subspan(next, count));
            next += count;
            progress_.update(next);
        }
        return tally_;
    }

    double seconds() const { return progress_.seconds() - start_; }
    uint64_t size() const { return size_; }

private:
    static uint64_t size_of(const std::vector<TraceRequest> &trace) {
        uint64_t size = 0;

        for (const TraceRequest &r : trace)
            size = std::max(size, r.offset + r.length());
        return size;
    }

    // What nobody has written reads as zero, here and there.
    void begin_check() {
        model_.resize(size_);
        for (uint64_t at = 0; at < size_; at += most_at_once)
            client_.run(rdm_request(DS_PACKET_WRITE, range_.address() + at,
                                    std::min(most_at_once, size_ - at), model_.data() + at),
                        "write of zeros");
    }

    // How many may be under way at once: of one batch, and none of them writes what
    // another one touches, for nobody knows which is first.
    size_t together(size_t first) const {
        uint64_t bytes = 0;
        size_t next = first;

        for (; next < trace_.size() && trace_[next].batch == trace_[first].batch; next++) {
            const TraceRequest &r = trace_[next];
            bytes += r.length();
            bool free = std::all_of(
                trace_.begin() + static_cast<long>(first), trace_.begin() + static_cast<long>(next),
                [&](const TraceRequest &o) { return (o.is_read && r.is_read) || !overlap(o, r); });
            if (next > first && (!free || bytes > most_at_once))
                break;
        }
        return next - first;
    }

    void run(std::span<const TraceRequest> part) {
        std::vector<std::vector<std::byte>> data;
        std::vector<ds_rdm_request> requests;

        for (const TraceRequest &r : part) {
            data.emplace_back(r.length());
            if (!r.is_read)
                // Each write has bytes of its own.
                pattern_fill(seed_ + tally_.requests + data.size(), r.offset, data.back());
            requests.push_back(rdm_request(r.is_read ? DS_PACKET_READ : DS_PACKET_WRITE,
                                           range_.address() + r.offset, r.length(),
                                           data.back().data()));
        }
        client_.run(requests, depth_,
                    format("request %llu of the trace or one of the next %zu",
                           0ULL + tally_.requests + 1, part.size()));
        for (size_t i = 0; i < part.size(); i++)
            count(part[i], data[i]);
    }

    void count(const TraceRequest &r, const std::vector<std::byte> &data) {
        tally_.requests++;
        tally_.reads += r.is_read;
        (r.is_read ? tally_.bytes_read : tally_.bytes_written) += r.length();
        if (model_.empty())
            return;
        std::byte *model = model_.data() + r.offset;
        if (!r.is_read)
            std::copy(data.begin(), data.end(), model);
        else if (std::memcmp(model, data.data(), data.size()) != 0)
            note_difference(r, data, model);
    }

    void note_difference(const TraceRequest &r, const std::vector<std::byte> &data,
                         const std::byte *model) {
        tally_.different++;
        for (size_t i = 0; i < data.size(); i++) {
            if (data[i] == model[i])
                continue;
            tally_.different_bytes++;
            if (!tally_.first)
                tally_.first = r.offset + i;
        }
    }

    const RdmClient &client_;
    const std::vector<TraceRequest> &trace_;
    uint32_t depth_;
    uint64_t seed_;
    uint64_t size_;
    RdmRange range_;
    Progress progress_;
    std::vector<std::byte> model_;
    Tally tally_;
    double start_ = 0;
};

}  // namespace

Exit rdm_trace(Call &call) {
    uint64_t count = call.number("--count"), span = call.number("--span");

    call.check_output("FILE", "the trace");
    write_trace(call.text("FILE"), make_trace(call.number("--seed"), count, span));
    call.out.respond({{"file", call.text("FILE")}, {"requests", count}, {"span", span}});
    if (!is_stdout(call.text("FILE")))
        call.out.done(format("%llu requests within ", 0ULL + count) + bytes_text(span) +
                      " are in " + call.text("FILE"));
    return Exit::ok;
}

Exit rdm_replay(Call &call) {
    std::vector<TraceRequest> trace = read_trace(call.text("FILE"));
    RdmClient client(call);

    watch_interrupts();
    Replay replay(call, client, trace);
    Tally tally = replay.run();
    double seconds = replay.seconds(), rate = static_cast<double>(tally.requests) / seconds;
    ds_rdm_counts counts = client.counts();

    call.out.respond({{"requests", tally.requests},
                      {"reads", tally.reads},
                      {"writes", tally.requests - tally.reads},
                      {"bytes_read", tally.bytes_read},
                      {"bytes_written", tally.bytes_written},
                      {"span", replay.size()},
                      {"checked", call.has("--check")},
                      {"different", tally.different},
                      {"seconds", seconds},
                      {"ops_per_second", rate},
                      {"packets_sent", counts.sent},
                      {"packets_resent", counts.resent},
                      {"lost", counts.lost}});
    call.out.fields({{"requests", std::to_string(tally.requests)},
                     {"read", bytes_text(tally.bytes_read)},
                     {"written", bytes_text(tally.bytes_written)},
                     {"differences", call.has("--check") ? std::to_string(tally.different)
                                                         : std::string("not checked")},
                     {"rate", format("%.0f requests/s", rate)},
                     {"packets sent again", std::to_string(counts.resent)}});
    if (tally.different)
        throw Error(
            Exit::failed, "DS-RDM-002",
            format("%llu of %llu reads differ from what was written, in %llu bytes, the "
                   "first at offset ",
                   0ULL + tally.different, 0ULL + tally.reads, 0ULL + tally.different_bytes) +
                hex(*tally.first),
            "see that nobody else writes to the range");
    return interrupted() ? Exit::interrupted : Exit::ok;
}

}  // namespace dsctl

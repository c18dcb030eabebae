// SPDX-License-Identifier: Apache-2.0
// token record: which tokens are used, as a trace for the simulator.
#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <vector>

#include <ds/token.h>

#include "fabric_choice.hpp"
#include "file.hpp"
#include "interrupt.hpp"
#include "kernel.hpp"
#include "progress.hpp"
#include "sim/trace.hpp"
#include "sysfs.hpp"
#include "token.hpp"
#include "tracefs.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using ds::sim::DsRecord;
using ds::sim::Operation;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

static_assert(DS_TOKEN_OP_READ == int(Operation::read) &&
              DS_TOKEN_OP_WRITE == int(Operation::write) &&
              DS_TOKEN_OP_CREATE == int(Operation::create) &&
              DS_TOKEN_OP_FREE == int(Operation::free));

// Between two looks: the buffer of a processor, more than a MiB, lasts for 50,000 events.
constexpr milliseconds period(20);

// Where the fields of an event are.
class Form {
public:
    explicit Form(const TraceInstance &trace)
        : token_(trace.offset_of("token", sizeof(DsRecord::handle))),
          op_(trace.offset_of("op", sizeof(DsRecord::operation))),
          tier_(trace.offset_of("tier", sizeof(DsRecord::tier))),
          size_(std::max({token_ + sizeof(DsRecord::handle), op_ + 1, tier_ + 1})) {}

    DsRecord record(uint64_t time, std::span<const std::byte> event) const {
        DsRecord record{.time_ns = time, .handle = 0, .operation = 0, .tier = 0, .zero = 0};

        if (event.size() < size_)
            throw Error(Exit::failed, "DS-TOK-904", "an event of the trace is too short",
                        "report it, with the version of the kernel");
        std::memcpy(&record.handle, &event[token_], sizeof(record.handle));
        record.operation = uint8_t(event[op_]);
        record.tier = uint8_t(event[tier_]);
        return record;
    }

private:
    size_t token_, op_, tier_, size_;
};

struct Recording {
    std::vector<DsRecord> records;
    uint64_t lost;
};

// Until the time is over, there are enough, or somebody interrupts.
Recording record(const Settings &settings, milliseconds time, uint64_t count) {
    TraceInstance trace("ds_token_access");
    Form form(trace);
    Recording taken{};
    auto drain = [&] {
        return trace.drain([&](uint64_t when, std::span<const std::byte> event) {
            taken.records.push_back(form.record(when, event));
        });
    };

    watch_interrupts();
    trace.start();
    Progress progress(settings, "record", static_cast<uint64_t>(time.count()),
                      Progress::Unit::milliseconds);
    auto end = Clock::now() + time;
    while (!interrupted() && Clock::now() < end && taken.records.size() < count) {
        sleep_until(std::min(end, Clock::now() + period));
        drain();
        progress.update(static_cast<uint64_t>(1000 * progress.seconds()));
    }
    trace.stop();
    while (drain())
        continue;
    taken.lost = trace.lost();
    return taken;
}

// In the order of time, which begins with the first, and no more than there are to be.
void put_in_order(std::vector<DsRecord> &records, uint64_t count) {
    std::stable_sort(records.begin(), records.end(),
                     [](const DsRecord &a, const DsRecord &b) { return a.time_ns < b.time_ns; });
    if (records.size() > count)
        records.resize(count);
    for (uint64_t first = records.front().time_ns; DsRecord & r : records)
        r.time_ns -= first;
}

size_t tokens_of(const std::vector<DsRecord> &records) {
    std::unordered_set<uint32_t> tokens;

    for (const DsRecord &r : records)
        tokens.insert(r.handle);
    return tokens.size();
}

Exit run(Call &call) {
    std::string path = call.text("FILE");
    uint64_t count = call.number("--count");

    call.check_output("FILE", "the trace");
    need_module(call);
    if (!exists("/sys/module/ds"))
        throw not_loaded();
    NewFile file(path);
    auto [records, lost] = record(call.settings, milliseconds(call.number("--seconds")), count);
    if (records.empty())
        throw Error(Exit::failed, "DS-TOK-905", "no token was used meanwhile",
                    "let a program read or write remote memory while it is recorded");
    put_in_order(records, count);
    ds::sim::write_ds_header([&](std::span<const std::byte> bytes) { file.write(bytes); });
    file.write(std::as_bytes(std::span(records)));
    file.keep();
    size_t tokens = tokens_of(records);
    call.out.respond({{"file", path},
                      {"requests", uint64_t(records.size())},
                      {"tokens", uint64_t(tokens)},
                      {"lost", lost},
                      {"duration_ns", records.back().time_ns}});
    if (lost > 0)
        call.out.warn(format("%llu uses were not recorded: they came too fast", 0ULL + lost));
    if (!is_stdout(path))
        call.out.done(format("%zu uses of %zu tokens within %s are in ", records.size(), tokens,
                             ns_text(double(records.back().time_ns)).c_str()) +
                      path);
    return Exit::ok;
}

}  // namespace

Verb token_record_verb() {
    return {
        .name = "record",
        .summary = "Record which tokens are used, as a trace for simulations.",
        .params = {{.name = "FILE",
                    .kind = Kind::file,
                    .help = "file to write, in the format 'ds'"},
                   {.name = "--seconds",
                    .value = "SECONDS",
                    .kind = Kind::seconds,
                    .help = "how long",
                    .fallback = "10",
                    .min = 1,
                    .max = 86'400'000},
                   {.name = "--count",
                    .value = "N",
                    .kind = Kind::number,
                    .help = "end after so many uses",
                    .fallback = "10000000",
                    .min = 1,
                    .max = ds::sim::most_requests}},
        .examples = {{"token record uses.trace", "ten seconds of what programs do"},
                     {"token record uses.trace --seconds 60 --count 1000",
                      "a minute, or less if that many come earlier"}},
        .run = run,
        .details =
            "Ctrl-C ends it early; what was recorded until then is kept. It uses the "
            "tracepoint ds_token_access in a trace buffer of its own, and so needs root.",
    };
}

}  // namespace dsctl

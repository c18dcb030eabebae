// SPDX-License-Identifier: Apache-2.0
// rdm bench: how many requests a second the packet service answers.
#include <algorithm>

#include "clock.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "rdm.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr uint64_t rounds = 64;  // of requests under way, between two looks at the progress

struct Plan {
    uint32_t opcode;
    uint64_t size;
    uint32_t depth;
    uint64_t count;
};

Plan plan_of(const Call &call) {
    std::string op = call.text("--op");

    return {.opcode = op == "ping"    ? DS_PACKET_PING
                      : op == "write" ? DS_PACKET_WRITE
                                      : DS_PACKET_READ,
            .size = call.number("--size"),
            .depth = static_cast<uint32_t>(call.number("--depth")),
            .count = call.number("--count")};
}

// Each of those under way has bytes of its own, there and here.
std::vector<ds_rdm_request> requests_of(const Plan &plan, uint64_t base,
                                        std::vector<std::byte> &data) {
    std::vector<ds_rdm_request> requests;

    for (uint64_t i = 0; i < plan.depth * rounds; i++) {
        uint64_t at = i % plan.depth * plan.size;
        uint64_t address = plan.opcode == DS_PACKET_PING ? 0 : base + at;
        requests.push_back(rdm_request(plan.opcode, address, plan.size, data.data() + at));
    }
    return requests;
}

}  // namespace

Exit rdm_bench(Call &call) {
    Plan plan = plan_of(call);
    RdmClient client(call);
    std::optional<RdmRange> range;
    std::vector<std::byte> data(plan.size * plan.depth);
    uint64_t done = 0;

    watch_interrupts();
    if (plan.opcode != DS_PACKET_PING)
        range.emplace(call, client, data.size());
    auto requests = requests_of(plan, range ? range->address() : 0, data);
    ds_rdm_counts before = client.counts();
    double cpu = cpu_seconds();
    Progress progress(call.settings, "bench", plan.count, Progress::Unit::operations);
    while (done < plan.count && !interrupted()) {
        uint64_t part = std::min<uint64_t>(requests.size(), plan.count - done);
        client.run(std::span(requests).first(part), plan.depth, call.text("--op"));
        done += part;
        progress.update(done);
    }
    double seconds = progress.seconds(), rate = static_cast<double>(done) / seconds;
    ds_rdm_counts after = client.counts();

    call.out.respond({{"op", call.text("--op")},
                      {"size", plan.size},
                      {"depth", plan.depth},
                      {"count", done},
                      {"seconds", seconds},
                      {"cpu_seconds", cpu_seconds() - cpu},
                      {"ops_per_second", rate},
                      {"bytes_per_second", rate * static_cast<double>(plan.size)},
                      {"rtt_ns", after.rtt_ns},
                      {"packets_sent", after.sent - before.sent},
                      {"packets_resent", after.resent - before.resent},
                      {"packets_received", after.received - before.received},
                      {"lost", after.lost - before.lost}});
    call.out.fields({{"requests", std::to_string(done)},
                     {"rate", format("%.0f requests/s, %s", rate,
                                     rate_text(rate * static_cast<double>(plan.size)).c_str())},
                     {"round trip", ns_text(static_cast<double>(after.rtt_ns))},
                     {"packets sent", std::to_string(after.sent - before.sent)},
                     {"of them again", std::to_string(after.resent - before.resent)}});
    return interrupted() ? Exit::interrupted : Exit::ok;
}

}  // namespace dsctl

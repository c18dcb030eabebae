// SPDX-License-Identifier: Apache-2.0
// rdm alloc, free, read, write, cas, fetch-add, ping: one request each.
#include <algorithm>
#include <chrono>

#include "data.hpp"
#include "file.hpp"
#include "histogram.hpp"
#include "kernel.hpp"
#include "rdm.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr uint64_t chunk = 4 << 20;  // read at once

}  // namespace

Exit rdm_alloc(Call &call) {
    RdmClient client(call);
    ds_rdm_request request = rdm_request(DS_PACKET_ALLOC, 0, call.number("LEN"));

    if (call.has("--access"))
        request.operand = parse_access(call.text("--access"));
    request = client.run(request, "alloc");
    call.out.respond({{"address", request.address},
                      {"length", call.number("LEN")},
                      {"offset", request.value},
                      {"generation", request.generation}});
    call.out.done(bytes_text(call.number("LEN")) + " are allocated at " + hex(request.address),
                  hex(request.address));
    return Exit::ok;
}

Exit rdm_free(Call &call) {
    RdmClient client(call);
    uint64_t address = call.number("ADDR");

    client.run(rdm_request(DS_PACKET_FREE, address), "free of " + hex(address));
    call.out.respond({{"address", address}});
    call.out.done("what was allocated at " + hex(address) + " is free");
    return Exit::ok;
}

Exit rdm_read(Call &call) {
    uint64_t address = call.number("ADDR"), length = call.number("LEN");
    bool to_file = call.has("--out");

    check_read(call);
    RdmClient client(call);
    std::vector<std::byte> bytes(std::min(length, chunk));
    std::optional<NewFile> file;
    if (to_file)
        file.emplace(call.text("--out"));
    for (uint64_t at = 0; at < length; at += chunk) {
        uint64_t part = std::min(chunk, length - at);
        client.run(rdm_request(DS_PACKET_READ, address + at, part, bytes.data()),
                   "read at " + hex(address + at));
        if (file)
            file->write(std::span(bytes).first(part));
    }
    if (file)
        file->keep();
    answer_read(call, bytes);
    return Exit::ok;
}

Exit rdm_write(Call &call) {
    uint64_t address = call.number("ADDR");
    bool persistent = call.has("--persistent");
    std::vector<std::byte> bytes = data_to_write(call);

    if (bytes.empty())
        throw usage("there is nothing to write");
    RdmClient client(call);
    ds_rdm_request done =
        client.run(rdm_request(persistent ? DS_PACKET_WRITE_PERSISTENT : DS_PACKET_WRITE, address,
                               bytes.size(), bytes.data()),
                   "write at " + hex(address));
    bool answered = done.outcome == DS_EXECUTED;
    call.out.respond({{"address", address},
                      {"length", bytes.size()},
                      {"persistent", persistent},
                      {"answered", answered}});
    call.out.done(bytes_text(bytes.size()) +
                  (answered ? " are written at " : " are sent, without an answer, to ") +
                  hex(address));
    return Exit::ok;
}

Exit rdm_cas(Call &call) {
    uint64_t address = call.number("ADDR");
    RdmClient client(call);
    ds_rdm_request request = rdm_request(DS_PACKET_CAS, address, sizeof(uint64_t));

    request.compare = call.number("OLD");
    request.operand = call.number("NEW");
    answer_cas(call, client.run(request, "cas at " + hex(address)).value);
    return Exit::ok;
}

Exit rdm_fetch_add(Call &call) {
    uint64_t address = call.number("ADDR");
    RdmClient client(call);
    ds_rdm_request request = rdm_request(DS_PACKET_FETCH_ADD, address, sizeof(uint64_t));

    request.operand = call.number("N");
    answer_add(call, client.run(request, "fetch-add at " + hex(address)).value);
    return Exit::ok;
}

Exit rdm_ping(Call &call) {
    using Clock = std::chrono::steady_clock;
    uint64_t count = call.number("--count");
    std::vector<std::byte> bytes(call.number("--size"), std::byte{0x55});
    RdmClient client(call);
    Histogram times;

    for (uint64_t i = 0; i < count; i++) {
        auto start = Clock::now();
        client.run(rdm_request(DS_PACKET_PING, 0, bytes.size(), bytes.data()), "ping");
        times.record(static_cast<uint64_t>((Clock::now() - start) / std::chrono::nanoseconds(1)));
    }
    ds_rdm_counts counts = client.counts();
    call.out.respond({{"count", count},
                      {"size", bytes.size()},
                      {"mtu", counts.mtu},
                      {"resent", counts.resent},
                      {"min_ns", times.min()},
                      {"mean_ns", times.mean()},
                      {"max_ns", times.max()}});
    auto time = [](uint64_t ns) { return ns_text(static_cast<double>(ns)); };
    call.out.fields({{"pings", std::to_string(count)},
                     {"sent again", std::to_string(counts.resent)},
                     {"longest packet", bytes_text(counts.mtu)},
                     {"min", time(times.min())},
                     {"mean", ns_text(times.mean())},
                     {"max", time(times.max())}});
    return Exit::ok;
}

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
// rdm alloc, free, read, write, cas, fetch-add, ping: one request each.
#include <fcntl.h>
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

constexpr uint64_t max_shown = 1 << 20;  // bytes that are shown as text
constexpr uint64_t chunk = 4 << 20;      // read at once

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

    if (call.out.json() && call.text("--out") == "-")
        throw usage("standard output cannot take both the data and the JSON document");
    if (!to_file && length > max_shown)
        throw usage("more than " + bytes_text(max_shown) + " are not shown as text",
                    "write them to a file with --out FILE");
    RdmClient client(call);
    std::vector<std::byte> bytes(std::min(length, chunk));
    std::optional<File> file;
    if (to_file)
        file.emplace(call.text("--out"), O_WRONLY | O_CREAT | O_TRUNC);
    for (uint64_t at = 0; at < length; at += chunk) {
        uint64_t part = std::min(chunk, length - at);
        client.run(rdm_request(DS_PACKET_READ, address + at, part, bytes.data()),
                   "read at " + hex(address + at));
        if (file)
            file->write(bytes.data(), part);
    }
    if (file)
        file->close();
    Json row{{"address", address}, {"length", length}};
    if (to_file)
        row["file"] = call.text("--out");
    else
        row["data"] = hex_of(bytes);
    call.out.respond(row);
    if (to_file && call.text("--out") != "-")
        call.out.done(bytes_text(length) + " are in " + call.text("--out"));
    if (!to_file && !call.out.json())
        dump(call.out, address, bytes);
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
    uint64_t expected = call.number("OLD"), desired = call.number("NEW");
    RdmClient client(call);
    ds_rdm_request request = rdm_request(DS_PACKET_CAS, address, sizeof(uint64_t));

    request.compare = expected;
    request.operand = desired;
    request = client.run(request, "cas at " + hex(address));
    bool swapped = request.value == expected;
    call.out.respond({{"address", address},
                      {"expected", expected},
                      {"found", request.value},
                      {"new", desired},
                      {"swapped", swapped}});
    if (!swapped)
        throw Error(
            Exit::failed, "DS-CAS-001",
            format("the word at %s is %llu (%s), not %s: nothing was changed", hex(address).c_str(),
                   0ULL + request.value, hex(request.value).c_str(), call.text("OLD").c_str()),
            "try again with the value that is there");
    call.out.done(format("the word at %s was %s and is %s", hex(address).c_str(),
                         call.text("OLD").c_str(), call.text("NEW").c_str()),
                  std::to_string(request.value));
    return Exit::ok;
}

Exit rdm_fetch_add(Call &call) {
    uint64_t address = call.number("ADDR"), number = call.number("N");
    RdmClient client(call);
    ds_rdm_request request = rdm_request(DS_PACKET_FETCH_ADD, address, sizeof(uint64_t));

    request.operand = number;
    request = client.run(request, "fetch-add at " + hex(address));
    call.out.respond(
        {{"address", address}, {"old", request.value}, {"new", request.value + number}});
    call.out.done(format("the word at %s was %llu and is %llu", hex(address).c_str(),
                         0ULL + request.value, 0ULL + request.value + number),
                  std::to_string(request.value));
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

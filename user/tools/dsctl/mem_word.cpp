// SPDX-License-Identifier: Apache-2.0
// mem read, write, cas, add: small pieces of remote memory.
#include <algorithm>

#include "data.hpp"
#include "file.hpp"
#include "mem.hpp"
#include "remote.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr uint64_t chunk = 1 << 20;  // read at once

uint64_t word_address(const Call &call) {
    uint64_t address = call.number("ADDR");

    if (address % 8)
        throw usage("ADDR of a word is a multiple of 8, not " + call.text("ADDR"));
    return address;
}

ds_result run_one(const Remote &remote, const ds_operation &op) {
    std::vector<ds_result> results;

    remote.run({op}, &results);
    return results[0];
}

}  // namespace

Exit mem_read(Call &call) {
    uint64_t address = call.number("ADDR");
    uint64_t length = call.number("LEN");
    bool to_file = call.has("--out");

    check_read(call, ", or use 'dsctl mem get'");
    Remote remote(call, DS_ACCESS_READ);
    remote.check_range(address, length);
    Buffer buffer(remote.fabric(), std::min(length, chunk));
    std::vector<std::byte> shown;
    std::optional<NewFile> file;
    if (to_file)
        file.emplace(call.text("--out"));

    for (uint64_t at = 0; at < length; at += chunk) {
        uint64_t part = std::min(chunk, length - at);
        run_one(remote, remote.read_op(address + at, buffer, 0, part));
        auto bytes = buffer.bytes().first(part);
        if (file)
            file->write(bytes);
        else
            shown.insert(shown.end(), bytes.begin(), bytes.end());
    }
    if (file)
        file->keep();
    answer_read(call, shown);
    return Exit::ok;
}

Exit mem_write(Call &call) {
    uint64_t address = call.number("ADDR");
    std::vector<std::byte> bytes = data_to_write(call);

    if (bytes.empty())
        throw usage("there is nothing to write");
    Remote remote(call, DS_ACCESS_WRITE);
    remote.check_range(address, bytes.size());
    Buffer buffer(remote.fabric(), bytes.size());
    std::copy(bytes.begin(), bytes.end(), buffer.bytes().begin());
    ds_result result = run_one(remote, remote.write_op(address, buffer, 0, bytes.size(), false));

    call.out.respond({{"address", address}, {"length", bytes.size()}, {"node", result.node}});
    call.out.done(bytes_text(bytes.size()) + " are written at " + hex(address));
    return Exit::ok;
}

Exit mem_cas(Call &call) {
    uint64_t address = word_address(call);
    Remote remote(call, DS_ACCESS_ATOMIC);

    remote.check_range(address, 8);
    ds_result result =
        run_one(remote, remote.cas_op(address, call.number("OLD"), call.number("NEW")));
    answer_cas(call, result.value, {{"node", result.node}});
    return Exit::ok;
}

Exit mem_add(Call &call) {
    uint64_t address = word_address(call);
    Remote remote(call, DS_ACCESS_ATOMIC);

    remote.check_range(address, 8);
    ds_result result = run_one(remote, remote.add_op(address, call.number("N")));
    answer_add(call, result.value, {{"node", result.node}});
    return Exit::ok;
}

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
#include "sim.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <thread>

#include "memory.hpp"
#include "progress.hpp"
#include "units.hpp"

namespace dsctl {

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts(1);

    for (char c : text) {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

std::vector<std::string> list_of(const Call &call, std::string_view option) {
    std::string text = call.text(option);
    std::vector<std::string> parts = split(text, ',');

    if (std::ranges::any_of(parts, [](const std::string &part) { return part.empty(); }))
        throw usage("option '" + std::string(option) + "' is a list, as a,b,c, not '" + text + "'");
    return parts;
}

double decimal_of(const Call &call, std::string_view option) {
    std::string text = call.text(option);
    double value = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);

    if (error != std::errc() || stop != text.data() + text.size())
        throw usage("option '" + std::string(option) + "' is a number, as 0.99, not '" + text +
                    "'");
    return value;
}

unsigned threads_of(const Call &call) {
    return static_cast<unsigned>(
        call.maybe("--threads").value_or(std::max(1u, std::thread::hardware_concurrency())));
}

std::vector<uint32_t> capacities_of(const Call &call) {
    constexpr uint64_t most_entries = ds::sim::most_requests;
    std::vector<uint32_t> capacities;

    for (const std::string &text : list_of(call, "--capacity")) {
        auto capacity = parse_number(text);
        if (!capacity || *capacity < 1 || *capacity > most_entries)
            throw usage("a capacity is 1 to " + std::to_string(most_entries) + " entries, not '" +
                        text + "'");
        if (std::ranges::count(capacities, *capacity) > 0)
            throw usage("--capacity names " + text + " twice", "name it once");
        capacities.push_back(static_cast<uint32_t>(*capacity));
    }
    return capacities;
}

ds::sim::Trace read_of(const Call &call, const std::string &path,
                       const ds::sim::ObjectLimit &objects) {
    std::error_code none;
    uint64_t size = std::filesystem::file_size(path, none);
    // How long a pipe will be nobody knows.
    Progress progress(call.settings, "read " + last_part(path), none ? 0 : size);

    try {
        return or_error([&] {
            return ds::sim::read_trace(path,
                                       {.format = ds::sim::format_of(call.text("--format")),
                                        .most = call.number("--most"),
                                        .memory = memory_at_hand(),
                                        .objects = objects,
                                        .block = static_cast<uint32_t>(call.number("--block")),
                                        .progress = [&](uint64_t bytes) {
                                            if (!none)
                                                progress.update(bytes);
                                        }});
        });
    } catch (Error &error) {
        throw std::move(error).with("file", path);
    }
}

std::vector<std::string> traces_of(const Call &call) {
    std::vector<std::string> files = call.list("TRACE...");

    if (std::ranges::count(files, "-") > 1)
        throw usage("standard input is named twice, and can be read once", "name '-' once");
    return files;
}

ds::sim::Trace trace_of(Call &call, const std::string &path, const ds::sim::ObjectLimit &objects) {
    ds::sim::Trace trace = read_of(call, path, objects);

    if (call.has("--block") && trace.format != ds::sim::Format::address)
        call.out.warn("--block means nothing for '" + path + "', which is no trace of addresses");
    if (trace.may_be_other)
        call.out.warn("'" + path + "' has no header, and was taken for " +
                      std::string(ds::sim::name_of(trace.format)) +
                      ": name its format with --format");
    if (!trace.doubt.empty())
        call.out.warn("'" + path + "' may have been cut: " + trace.doubt);
    if (!trace.ignored.empty())
        call.out.warn("column '" + trace.ignored + "' of '" + path +
                      "' is ignored, and all requests read: if it says what they do, name it "
                      "'operation'");
    return trace;
}

ds::sim::Trace accesses_of(Call &call, const std::string &path,
                           const ds::sim::ObjectLimit &objects) {
    ds::sim::Trace trace = trace_of(call, path, objects);

    if (!trace.accesses())
        throw from_errno("SIM", EBADMSG,
                         "'" + path + "' has no access: all its requests create or free",
                         "choose a trace with reads or writes");
    return trace;
}

bool wants_csv(const Call &call) {
    if (call.has("--csv") && call.out.json())
        throw usage("--csv and --json exclude each other");
    return call.has("--csv");
}

std::string last_part(const std::string &path) {
    return path.substr(path.find_last_of('/') + 1);
}

std::string label_of(const std::string &path, const std::vector<std::string> &files) {
    std::string label = last_part(path);

    return std::ranges::count(files, label, last_part) > 1 ? path : label;
}

std::string quoted(const std::string &text) {
    std::string result = "\"";

    if (text.find_first_of(",\"\r\n") == text.npos)
        return text;
    for (char c : text)
        result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
}

}  // namespace dsctl

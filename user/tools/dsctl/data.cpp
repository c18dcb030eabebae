// SPDX-License-Identifier: Apache-2.0
#include "data.hpp"

#include <fcntl.h>
#include <algorithm>
#include <cctype>

#include "file.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr uint64_t max_shown = 1 << 20;     // bytes that are shown as text
constexpr uint64_t max_written = 16 << 20;  // bytes of one 'write'

std::vector<std::byte> bytes_of_text(std::string_view text) {
    auto bytes = std::as_bytes(std::span(text));

    return {bytes.begin(), bytes.end()};
}

// @p name: where the text is from.
std::vector<std::byte> bytes_of_hex(const std::string &text, const std::string &name) {
    constexpr size_t most_quoted = 40;
    std::string quoted = "'" + text.substr(0, most_quoted) + "'";
    std::vector<std::byte> bytes;

    if (text.size() > most_quoted)
        quoted = format("%zu that begin with ", text.size()) + quoted;
    for (size_t i = 0; i < text.size(); i += 2) {
        auto byte = parse_number("0x" + text.substr(i, 2));
        if (text.size() % 2 || !byte)
            throw usage("with --hex " + name + " is an even number of hexadecimal digits, not " +
                        quoted);
        bytes.push_back(static_cast<std::byte>(*byte));
    }
    return bytes;
}

std::string text_of_file(const std::string &path) {
    File file(path, O_RDONLY);
    std::string text(max_written + 1, 0);

    text.resize(file.read(text.data(), text.size()));
    if (text.size() > max_written)
        throw usage("'" + path + "' has more than " + bytes_text(max_written),
                    "use 'dsctl mem put' for large files");
    return text;
}

}  // namespace

std::string hex_of(std::span<const std::byte> bytes) {
    std::string text;

    for (std::byte byte : bytes)
        text += format("%02x", static_cast<unsigned>(byte));
    return text;
}

void dump(Output &out, uint64_t address, std::span<const std::byte> bytes) {
    for (size_t at = 0; at < bytes.size(); at += 16) {
        auto part = bytes.subspan(at, std::min<size_t>(16, bytes.size() - at));
        std::string numbers, text;
        for (size_t i = 0; i < part.size(); i++) {
            unsigned char c = static_cast<unsigned char>(part[i]);
            numbers += format("%s%02x", i == 8 ? "  " : " ", c);
            text += std::isprint(c) ? static_cast<char>(c) : '.';
        }
        out.line(format("%s %-49s |%s|", hex(address + at).c_str(), numbers.c_str(), text.c_str()));
    }
}

void check_read(const Call &call, const std::string &other) {
    call.check_output("--out", "the data");
    if (!call.has("--out") && call.number("LEN") > max_shown)
        throw usage("more than " + bytes_text(max_shown) + " are not shown as text",
                    "write them to a file with --out FILE" + other);
}

void answer_read(Call &call, std::span<const std::byte> shown) {
    uint64_t address = call.number("ADDR"), length = call.number("LEN");
    bool to_file = call.has("--out");
    Json row{{"address", address}, {"length", length}};

    if (to_file)
        row["file"] = call.text("--out");
    else
        row["data"] = hex_of(shown);
    call.out.respond(row);
    if (to_file && !is_stdout(call.text("--out")))
        call.out.done(bytes_text(length) + " are in " + call.text("--out"));
    if (!to_file && !call.out.json())
        dump(call.out, address, shown);
}

void answer_cas(Call &call, uint64_t found, const Json &more) {
    std::string address = hex(call.number("ADDR"));
    bool swapped = found == call.number("OLD");
    Json row{{"address", call.number("ADDR")},
             {"expected", call.number("OLD")},
             {"found", found},
             {"new", call.number("NEW")},
             {"swapped", swapped}};

    row.update(more);
    call.out.respond(row);
    if (!swapped)
        throw Error(
            Exit::failed, "DS-CAS-001",
            format("the word at %s is %llu (%s), not %s: nothing was changed", address.c_str(),
                   0ULL + found, hex(found).c_str(), call.text("OLD").c_str()),
            "try again with the value that is there");
    call.out.done(format("the word at %s was %s and is %s", address.c_str(),
                         call.text("OLD").c_str(), call.text("NEW").c_str()),
                  std::to_string(found));
}

void answer_add(Call &call, uint64_t old, const Json &more) {
    uint64_t sum = old + call.number("N");
    Json row{{"address", call.number("ADDR")}, {"old", old}, {"new", sum}};

    row.update(more);
    call.out.respond(row);
    call.out.done(format("the word at %s was %llu and is %llu", hex(call.number("ADDR")).c_str(),
                         0ULL + old, 0ULL + sum),
                  std::to_string(old));
}

std::vector<std::byte> data_to_write(Call &call) {
    std::string text = call.text("DATA"), name = "DATA";
    bool hex = call.has("--hex");

    if (call.has("--file") && call.has("DATA"))
        throw usage("DATA and --file are both given");
    if (!call.has("DATA") || text == "-") {
        std::string path = call.has("--file") ? call.text("--file") : "-";
        text = text_of_file(path);
        name = path == "-" ? "standard input" : "'" + path + "'";
        if (hex)
            text.erase(text.find_last_not_of(" \t\r\n") + 1);
    }
    return hex ? bytes_of_hex(text, name) : bytes_of_text(text);
}

}  // namespace dsctl

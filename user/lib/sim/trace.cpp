// SPDX-License-Identifier: Apache-2.0
#include "sim/trace.hpp"

#include <algorithm>
#include <cerrno>

#include "sim/decode.hpp"
#include "sim/foreign.hpp"

namespace ds::sim {
namespace {

constexpr struct {
    Format format;
    std::string_view name;
} formats[] = {
    {Format::guess, "guess"},       {Format::ds, "ds"},       {Format::csv, "csv"},
    {Format::integers, "integers"}, {Format::lis, "lis"},     {Format::address, "address"},
    {Format::u32be, "u32be"},       {Format::u64le, "u64le"}, {Format::oracle, "oracle"},
};

void decode(Source &source, Builder &builder, Format format, const ReadOptions &options) {
    switch (format) {
    case Format::ds:
        return decode_ds(source, builder);
    case Format::csv:
        return decode_csv(source, builder);
    case Format::integers:
        return decode_integers(source, builder);
    case Format::lis:
        return decode_lis(source, builder);
    case Format::address:
        return decode_address(source, builder, options.block);
    case Format::u32be:
        return decode_u32be(source, builder);
    case Format::u64le:
        return decode_u64le(source, builder);
    case Format::oracle:
        return decode_oracle(source, builder);
    case Format::guess:
        break;
    }
}

}  // namespace

std::string_view name_of(Format format) {
    for (const auto &row : formats)
        if (row.format == format)
            return row.name;
    return "";
}

Format format_of(std::string_view name) {
    for (const auto &row : formats)
        if (row.name == name)
            return row.format;
    throw Failure({EINVAL, "There is no trace format '" + std::string(name) + "'.",
                   "Choose from " + format_names() + ".", false});
}

std::string format_names() {
    std::string names;

    for (const auto &row : formats)
        names += (names.empty() ? "" : "|") + std::string(row.name);
    return names;
}

uint64_t Trace::accesses() const {
    return static_cast<uint64_t>(
        std::count_if(requests.begin(), requests.end(), [](Request r) { return r.access(); }));
}

uint64_t Trace::writes() const {
    return static_cast<uint64_t>(std::count_if(requests.begin(), requests.end(),
                                               [](Request r) { return r.op == Operation::write; }));
}

Trace read_trace(const std::string &path, const ReadOptions &options) {
    Source source(path, options.progress);
    Builder builder(path, options);
    Guess is{options.format};

    try {
        if (is.format == Format::guess) {
            is = guess(source);
            source.is_guessed(name_of(is.format));
        } else {
            refuse_packed(path, source.peek(Source::longest_peek));
        }
        decode(source, builder, is.format, options);
        if (source.is_in_line())
            builder.doubt("its last line has no end");
    } catch (const Failure &wrong) {
        if (wrong.error().code == EBADMSG)
            source.check_packing();
        throw;
    }
    Trace trace = std::move(builder).finish(is.format);
    trace.may_be_other = is.may_be_wrong;
    return trace;
}

void write_ds_header(const WriteBytes &write) {
    DsHeader header{{}, 1, sizeof(DsRecord)};

    DsHeader::magic_text.copy(header.magic, sizeof(header.magic));
    write(std::as_bytes(std::span(&header, 1)));
}

void write_trace(const Trace &trace, const WriteBytes &write) {
    constexpr size_t piece = 4096;
    std::vector<DsRecord> records;

    for (uint64_t key : trace.keys)
        if (key > UINT32_MAX)
            throw Failure({EOVERFLOW,
                           "Object " + std::to_string(key) + " has no handle of 32 bits.",
                           "Number the objects of the trace anew.", false});
    write_ds_header(write);
    for (size_t i = 0; i < trace.requests.size(); i++) {
        Request r = trace.requests[i];
        records.push_back({trace.time_ns.empty() ? i : trace.time_ns[i],
                           static_cast<uint32_t>(trace.keys[r.id]), static_cast<uint8_t>(r.op), 0,
                           0});
        if (records.size() < piece && i + 1 < trace.requests.size())
            continue;
        write(std::as_bytes(std::span(records)));
        records.clear();
    }
}

}  // namespace ds::sim

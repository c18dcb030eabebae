// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/decode.hpp"

namespace ds::sim {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t ns_per_second = 1'000'000'000;

/// Calls @p take with each record; a part of one at the end is an error.
template <class Record, class Take>
void each(Source &source, Take &&take) {
    for (;;) {
        auto bytes = source.peek(sizeof(Record));
        if (bytes.empty())
            return;
        if (bytes.size() < sizeof(Record))
            source.fail_byte("ends in the middle of a record");
        Record record;
        std::memcpy(&record, bytes.data(), sizeof(record));
        take(record);
        source.skip(sizeof(Record));
    }
}

}  // namespace

void decode_u32be(Source &source, Builder &builder) {
    each<uint32_t>(source, [&](uint32_t word) { builder.add(be32toh(word), Operation::read); });
}

void decode_u64le(Source &source, Builder &builder) {
    each<uint64_t>(source, [&](uint64_t word) { builder.add(word, Operation::read); });
}

void decode_oracle(Source &source, Builder &builder) {
    int64_t number = 0, announced = 0;

    each<OracleRecord>(source, [&](const OracleRecord &r) {
        if (r.next < -1 || (r.next != -1 && r.next <= number))
            source.fail_byte("has no record of this format");
        number++;
        if (r.next != INT64_MAX)
            announced = std::max(announced, r.next);
        builder.add(r.id, Operation::read, r.seconds * ns_per_second);
    });
    if (announced > number)
        builder.doubt("it has " + std::to_string(number) + " requests and speaks of number " +
                      std::to_string(announced));
}

void decode_ds(Source &source, Builder &builder) {
    auto bytes = source.peek(sizeof(DsHeader));
    DsHeader header;

    if (bytes.size() < sizeof(header))
        source.fail_byte("ends in the middle of its header");
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (std::string_view(header.magic, sizeof(header.magic)) != DsHeader::magic_text)
        source.fail_byte("has another magic than " + std::string(DsHeader::magic_text));
    source.skip(offsetof(DsHeader, version));
    if (header.version != 1)
        source.fail_byte("is of version " + std::to_string(header.version) +
                         ", not 1, by its header");
    source.skip(sizeof(header.version));
    if (header.record_size != sizeof(DsRecord))
        source.fail_byte("has records of " + std::to_string(header.record_size) + " bytes, not " +
                         std::to_string(sizeof(DsRecord)) + ", by its header");
    source.skip(sizeof(header.record_size));
    each<DsRecord>(source, [&](const DsRecord &r) {
        if (r.operation > static_cast<uint8_t>(Operation::free) || r.tier > 3 || r.zero != 0)
            source.fail_byte("has a record of no known kind");
        builder.add(r.handle, static_cast<Operation>(r.operation), r.time_ns);
    });
}

}  // namespace ds::sim

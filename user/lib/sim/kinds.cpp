// SPDX-License-Identifier: Apache-2.0
#include "sim/kinds.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "sim/core.hpp"

namespace ds::sim {
namespace {

constexpr std::array<std::string_view, 4> types{"pd", "mr", "cq", "qp"};

bool is_handle(uint64_t key) {
    return key <= UINT32_MAX && ds_token_gen(static_cast<u32>(key)) != 0;
}

Kinds with(std::span<const std::string_view> names, std::vector<uint8_t> of) {
    Kinds result;

    for (std::string_view name : names)
        result.kinds.push_back({name});
    for (uint8_t kind : of)
        result.kinds[kind].objects++;
    result.of = std::move(of);
    return result;
}

}  // namespace

Kinds Kinds::by_type(const Trace &trace) {
    std::vector<uint8_t> of;

    if (trace.format != Format::ds || trace.keys.empty() ||
        !std::ranges::all_of(trace.keys, is_handle))
        return {};
    for (uint64_t key : trace.keys)
        of.push_back(static_cast<uint8_t>(ds_token_type_of(static_cast<u32>(key))));
    return with(types, std::move(of));
}

Kinds Kinds::by_class(const ClassShares &shares, const Random &random, uint32_t objects) {
    std::vector<std::string_view> names;
    std::vector<uint8_t> of;

    for (const EntryClass &kind : entry_classes)
        names.push_back(kind.name);
    for (uint32_t object = 0; object < objects; object++)
        of.push_back(shares.of(random, object));
    return with(names, std::move(of));
}

}  // namespace ds::sim

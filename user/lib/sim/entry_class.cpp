// SPDX-License-Identifier: Apache-2.0
#include "sim/entry_class.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <ds/result.hpp>

namespace ds::sim {
namespace {

constexpr uint64_t stream = 0xc1a55;

Failure refused(std::string_view text, const std::string &why) {
    std::string names;

    for (const EntryClass &kind : entry_classes)
        names += " " + std::string(kind.name);
    return Failure({EINVAL, "'" + std::string(text) + "' is no list of classes: " + why + ".",
                    "Give percentages whose sum is 100, as token:60,wqe:40, of:" + names + ".",
                    false});
}

}  // namespace

ClassShares ClassShares::parse(std::string_view text) {
    std::array<unsigned, entry_classes.size()> shares{};
    std::string_view left = text;

    for (bool more = true; more;) {
        std::string_view part = left.substr(0, left.find(','));
        size_t colon = part.find(':');
        more = part.size() < left.size();
        left.remove_prefix(std::min(part.size() + 1, left.size()));
        auto kind = std::ranges::find(entry_classes, part.substr(0, colon), &EntryClass::name);
        if (kind == entry_classes.end())
            throw refused(text, "there is no class '" + std::string(part.substr(0, colon)) + "'");
        if (shares.at(size_t(kind - entry_classes.begin())))
            throw refused(text, "it has '" + std::string(kind->name) + "' twice");
        unsigned &share = shares.at(size_t(kind - entry_classes.begin()));
        const char *end = part.data() + part.size();
        auto [stop, error] = std::from_chars(
            part.data() + std::min(part.size(), colon == part.npos ? part.size() : colon + 1), end,
            share);
        if (error != std::errc() || stop != end || share < 1 || share > 100)
            throw refused(text, "'" + std::string(part) + "' has no share of 1 to 100");
    }

    ClassShares result;
    unsigned sum = 0;
    for (size_t i = 0; i < shares.size(); i++)
        result.ends_.at(i) = static_cast<uint8_t>(std::min(sum += shares.at(i), 101u));
    if (sum != 100)
        throw refused(text, "the sum is " + std::to_string(sum));
    return result;
}

uint8_t ClassShares::of(const Random &random, uint32_t object) const {
    auto percentile = static_cast<uint8_t>(random.below(100, stream, object));

    return static_cast<uint8_t>(std::ranges::upper_bound(ends_, percentile) - ends_.begin());
}

}  // namespace ds::sim

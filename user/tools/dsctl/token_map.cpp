// SPDX-License-Identifier: Apache-2.0
// dsctl token map: how many tokens of each type are where, as the mapped directory says.
#include <array>
#include <cerrno>

#include <ds/token_directory.hpp>

#include "fabric_choice.hpp"
#include "token.hpp"

namespace dsctl {

namespace {

// Of tokens of a type, or of all.
struct Count {
    std::array<uint64_t, 3> tiers{};
    uint64_t used = 0, moving = 0, pinned = 0, dirty = 0;

    void add(ds::TokenWord word) {
        tiers[word.tier() - 1]++;
        used += word.uses() > 0;
        moving += word.moving();
        pinned += word.pinned();
        dirty += word.dirty();
    }
};

using Counts = std::array<Count, DS_TOKEN_TYPES>;

ds::TokenDirectory open_directory() {
    auto directory = ds::TokenDirectory::open();

    if (directory)
        return std::move(*directory);
    int code = directory.error().code;
    if (code == ENODEV)
        throw not_loaded();
    throw kernel_error(directory.error(), "map the token directory",
                       code == EPERM || code == EACCES ? "run it as root" : "");
}

Counts count(const ds::TokenDirectory &directory) {
    Counts counts;

    directory.each([&](uint32_t, ds::TokenWord word) { counts[word.type()].add(word); });
    return counts;
}

}  // namespace

Exit token_map(Call &call) {
    need_module(call);
    std::vector<Row> rows;
    Counts counts = count(open_directory());

    for (size_t i = 0; i < counts.size(); i++) {
        const Count &c = counts[i];
        call.out.respond({{"type", std::string(token_types[i])},
                          {"l1", c.tiers[0]},
                          {"l2", c.tiers[1]},
                          {"l3", c.tiers[2]},
                          {"used", c.used},
                          {"moving", c.moving},
                          {"pinned", c.pinned},
                          {"dirty", c.dirty}});
        rows.push_back({std::string(token_types[i])});
        for (uint64_t n : {c.tiers[0], c.tiers[1], c.tiers[2], c.used, c.moving, c.pinned, c.dirty})
            rows.back().push_back(std::to_string(n));
    }
    call.out.table({{"TYPE"},
                    {"L1", true},
                    {"L2", true},
                    {"L3", true},
                    {"USED", true},
                    {"MOVING", true},
                    {"PINNED", true},
                    {"DIRTY", true}},
                   rows);
    return Exit::ok;
}

}  // namespace dsctl

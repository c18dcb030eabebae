// SPDX-License-Identifier: Apache-2.0
// Which bytes of a READ have not come yet.
#pragma once

#include <cstdint>
#include <vector>

namespace ds::rdm {

class Missing {
public:
    struct Range {
        uint64_t from;
        uint64_t to;  // behind the last byte
    };

    Missing() = default;
    explicit Missing(uint64_t length) : ranges_{{0, length}} {}

    bool empty() const { return ranges_.empty(); }
    const std::vector<Range> &ranges() const { return ranges_; }

    /// False if nothing of it was missing.
    bool remove(uint64_t from, uint64_t to) {
        std::vector<Range> left;
        bool found = false;

        for (const Range &range : ranges_) {
            if (to <= range.from || range.to <= from) {
                left.push_back(range);
                continue;
            }
            found = true;
            if (range.from < from)
                left.push_back({range.from, from});
            if (to < range.to)
                left.push_back({to, range.to});
        }
        ranges_ = std::move(left);
        return found;
    }

private:
    std::vector<Range> ranges_;
};

}  // namespace ds::rdm

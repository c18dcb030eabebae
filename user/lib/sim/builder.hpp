// SPDX-License-Identifier: Apache-2.0
// Makes a trace of the keys that a decoder finds.
#pragma once

#include <cerrno>

#include "sim/trace.hpp"

namespace ds::sim {

/// Numbers keys in the order of their first appearance: a hash table, open, linear.
class DenseIds {
public:
    DenseIds() : slots_(1 << 10, empty) {}

    uint32_t id_of(uint64_t key) {
        size_t at = slot_of(key);

        if (slots_[at] != empty)
            return slots_[at];
        slots_[at] = static_cast<uint32_t>(keys_.size());
        keys_.push_back(key);
        if (2 * keys_.size() > slots_.size())
            grow();
        return static_cast<uint32_t>(keys_.size() - 1);
    }

    std::vector<uint64_t> keys() && { return std::move(keys_); }

private:
    static constexpr uint32_t empty = UINT32_MAX;

    size_t slot_of(uint64_t key) const {
        // Finalizer of SplitMix64: each bit of the key moves each bit of the hash.
        uint64_t hash = key;
        hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
        hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
        size_t at = (hash ^ (hash >> 31)) & (slots_.size() - 1);
        while (slots_[at] != empty && keys_[slots_[at]] != key)
            at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    void grow() {
        slots_.assign(2 * slots_.size(), empty);
        for (size_t id = 0; id < keys_.size(); id++)
            slots_[slot_of(keys_[id])] = static_cast<uint32_t>(id);
    }

    std::vector<uint32_t> slots_;
    std::vector<uint64_t> keys_;
};

class Builder {
public:
    Builder(std::string path, const ReadOptions &options)
        : path_(std::move(path)), most_(options.most) {}

    /// Throws Failure (EFBIG) if so many more make the trace too long.
    void expect(uint64_t count) const {
        if (count > most_ - trace_.requests.size())
            throw Failure(
                {EFBIG, "'" + path_ + "' has more than " + std::to_string(most_) + " requests.",
                 most_ < most_requests ? "Allow more, or cut the trace." : "Cut the trace.",
                 false});
    }
    void add(uint64_t key, Operation op) {
        expect(1);
        trace_.requests.push_back({ids_.id_of(key), op});
    }
    void add(uint64_t key, Operation op, uint64_t time_ns) {
        add(key, op);
        trace_.time_ns.push_back(time_ns);
    }

    /// The file seems to have been cut: @p why.
    void doubt(std::string why) { trace_.doubt = std::move(why); }

    /// Throws Failure (EBADMSG) if there is no request.
    Trace finish(Format format) && {
        if (trace_.requests.empty())
            throw Failure({EBADMSG, "There is no request in '" + path_ + "'.",
                           "Check the file, or name its format.", false});
        trace_.format = format;
        trace_.keys = std::move(ids_).keys();
        trace_.uniques = static_cast<uint32_t>(trace_.keys.size());
        return std::move(trace_);
    }

private:
    std::string path_;
    uint64_t most_;
    DenseIds ids_;
    Trace trace_;
};

}  // namespace ds::sim

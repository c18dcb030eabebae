// SPDX-License-Identifier: Apache-2.0
// Makes a trace of the keys that a decoder finds.
#pragma once

#include <algorithm>
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

    size_t count() const { return keys_.size(); }

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
    /// @p less: how it would need less memory.
    Builder(std::string path, const ReadOptions &options, std::string less = "Cut the trace")
        : path_(std::move(path)),
          less_(std::move(less)),
          most_(options.most),
          memory_(options.memory),
          objects_(options.objects) {}

    /// Throws Failure if so many more, each of another object, make the trace too long.
    void expect(uint64_t count) const {
        if (count > most_ - trace_.requests.size())
            throw Failure(
                {EFBIG, "'" + path_ + "' has more than " + std::to_string(most_) + " requests.",
                 most_ < most_requests ? "Allow more, or cut the trace." : "Cut the trace.",
                 false});
        check_objects(count);
        check_memory(trace_.requests.size() + count, std::max<uint64_t>(ids_.count(), count));
    }
    void add(uint64_t key, Operation op) {
        expect(1);
        trace_.requests.push_back({ids_.id_of(key), op});
        check_objects(ids_.count());
    }
    void add(uint64_t key, Operation op, uint64_t time_ns) {
        add(key, op);
        trace_.time_ns.push_back(time_ns);
    }

    /// The file seems to have been cut: @p why.
    void doubt(std::string why) { trace_.doubt = std::move(why); }

    /// This column has another name than one of operations, though it may be one.
    void ignore(std::string column) { trace_.ignored = std::move(column); }

    /// Throws Failure (EBADMSG) if there is no request.
    Trace finish(Format format) && {
        if (trace_.requests.empty())
            throw Failure({EBADMSG, "There is no request in '" + path_ + "'.",
                           "Check the file, or name another format with --format.", false});
        trace_.format = format;
        trace_.keys = std::move(ids_).keys();
        trace_.uniques = static_cast<uint32_t>(trace_.keys.size());
        return std::move(trace_);
    }

    // At most, while an array is copied to where it has room for twice as many; or, with what was
    // not used of that, for one pass.
    static constexpr uint64_t request_bytes = 12, time_bytes = 24, object_bytes = 56;

private:
    void check_objects(uint64_t count) const {
        if (count > objects_.most)
            throw Failure({EBADMSG,
                           "'" + path_ + "' has more than " + std::to_string(objects_.most) +
                               " objects, for which " + objects_.who + " has no indices.",
                           objects_.remedy, false});
    }

    void check_memory(uint64_t requests, uint64_t objects) const {
        uint64_t times = trace_.time_ns.empty() ? 0 : requests;
        uint64_t needed = request_bytes * requests + time_bytes * times + object_bytes * objects;

        if (needed > memory_)
            throw Failure({ENOMEM,
                           "'" + path_ + "' has " + std::to_string(requests) + " requests of " +
                               std::to_string(objects) + " objects, if not more, which need " +
                               std::to_string(needed >> 20) + " MiB of memory, and " +
                               std::to_string(memory_ >> 20) + " MiB are free.",
                           less_ + ", or use a machine with more memory.", false});
    }

    std::string path_, less_;
    uint64_t most_, memory_;
    ObjectLimit objects_;
    DenseIds ids_;
    Trace trace_;
};

}  // namespace ds::sim

// SPDX-License-Identifier: Apache-2.0
#include "ring_page.hpp"

#include <cstring>

#include "error.hpp"

namespace dsctl {

namespace {

constexpr uint64_t commit_mask = (1u << 27) - 1;    // above: flags of events that were lost
constexpr uint32_t type_bits = 5, delta_bits = 27;  // of an event's first word

// Types of events; 1 to 28 is a number of words of data.
enum : uint32_t { long_data = 0, padding = 29, time_extend = 30, time_stamp = 31 };

class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    bool ended() const { return bytes_.empty(); }

    std::span<const std::byte> take(size_t size) {
        if (size > bytes_.size())
            throw Error(Exit::failed, "DS-TOK-901",
                        "a page of the trace buffer ends within an event",
                        "report it, with the version of the kernel");
        auto taken = bytes_.first(size);
        bytes_ = bytes_.subspan(size);
        return taken;
    }

    template <class Number>
    Number number() {
        Number value;
        std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
        return value;
    }

private:
    std::span<const std::byte> bytes_;
};

}  // namespace

void each_event(std::span<const std::byte> page, const TakeEvent &take) {
    Reader header(page);
    auto time = header.number<uint64_t>();
    uint64_t commit = header.number<uint64_t>() & commit_mask;
    Reader events(header.take(commit));

    while (!events.ended()) {
        auto word = events.number<uint32_t>();
        uint32_t type = word & ((1u << type_bits) - 1);
        uint64_t delta = word >> type_bits;

        if (type == padding && delta == 0)
            return;  // nothing up to the end
        uint64_t more = 0;
        if (type == long_data || type >= padding)
            more = events.number<uint32_t>();
        if (type == time_stamp)
            time = delta | more << delta_bits;
        else
            time += type == time_extend ? delta | more << delta_bits : delta;
        if (type >= time_extend)
            continue;
        // The length of data counts the word that says it.
        size_t size = type == long_data || type == padding ? more - sizeof(uint32_t)
                                                           : type * sizeof(uint32_t);
        auto event = events.take(size);
        if (type != padding)
            take(time, event);
    }
}

}  // namespace dsctl

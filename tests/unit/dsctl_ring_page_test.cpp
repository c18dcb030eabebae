// SPDX-License-Identifier: Apache-2.0
// Pages of the kernel's trace buffer: what is in them, and what cannot be.
#include <algorithm>
#include <string>
#include <vector>

#include "../../user/tools/dsctl/error.cpp"
#include "../../user/tools/dsctl/json.cpp"
#include "../../user/tools/dsctl/ring_page.cpp"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// Last: it makes a macro of the word "fail".
extern "C" {
#include <cmocka.h>
}

using namespace dsctl;

namespace {

constexpr uint64_t begin = 0x123456789abcdef;
constexpr uint64_t missed = 3ULL << 30;  // flags of the commit

// A page as the kernel writes it.
class Page {
public:
    Page() { put<uint64_t>(begin).put<uint64_t>(0); }

    template <class Number>
    Page &put(Number number) {
        auto *bytes = reinterpret_cast<const std::byte *>(&number);
        bytes_.insert(bytes_.end(), bytes, bytes + sizeof(number));
        return *this;
    }
    Page &event(uint32_t type, uint32_t delta) { return put<uint32_t>(type | delta << 5); }

    // With the commit that belongs to it; more than that is not to be read.
    std::vector<std::byte> done(uint64_t flags = 0, int shorter = 0) const {
        std::vector<std::byte> page = bytes_;
        uint64_t commit = (page.size() - 16 - static_cast<size_t>(shorter)) | flags;
        std::memcpy(&page[8], &commit, sizeof(commit));
        return page;
    }

private:
    std::vector<std::byte> bytes_;
};

struct Event {
    uint64_t after;  // since the page's time
    std::vector<uint32_t> words;
    bool operator==(const Event &) const = default;
};

std::vector<Event> events_of(std::span<const std::byte> page) {
    std::vector<Event> events;

    each_event(page, [&](uint64_t time, std::span<const std::byte> data) {
        Event event{time - begin, std::vector<uint32_t>(data.size() / 4)};
        assert_int_equal(data.size() % 4, 0);
        std::memcpy(event.words.data(), data.data(), data.size());
        events.push_back(event);
    });
    return events;
}

bool refused(const std::vector<std::byte> &page) {
    try {
        events_of(page);
    } catch (const Error &error) {
        return error.code == "DS-TOK-901";
    }
    return false;
}

void what_is_no_page(void **) {
    assert_true(refused({}));
    assert_true(refused(std::vector<std::byte>(15)));
    auto page = Page().event(2, 5).put(7u).put(8u).done();
    for (size_t size = 0; size < page.size(); size++)
        assert_true(refused({page.begin(), page.begin() + static_cast<ptrdiff_t>(size)}));
    assert_true(refused(Page().event(2, 5).put(7u).done()));
    assert_true(refused(Page().event(0, 5).done()));
    assert_true(refused(Page().event(0, 5).put(3u).done()));  // shorter than the length itself
    assert_true(refused(Page().event(0, 5).put(12u).put(1u).done()));
    assert_true(refused(Page().event(0, 5).put(~0u).put(1u).done()));
    assert_true(refused(Page().event(30, 5).done()));
    assert_true(refused(Page().event(29, 5).put(400u).done()));
}

void an_empty_page(void **) {
    assert_true(events_of(Page().done()).empty());
    assert_true(events_of(Page().done(missed)).empty());
}

void events_with_their_times(void **) {
    Page page;

    page.event(2, 5).put(7u).put(8u).event(1, 0).put(9u).event(28, (1u << 27) - 1);
    for (uint32_t i = 0; i < 28; i++)
        page.put(i);
    auto events = events_of(page.done(missed));
    assert_int_equal(events.size(), 3);
    assert_true(events[0] == (Event{5, {7, 8}}));
    assert_true(events[1] == (Event{5, {9}}));
    assert_int_equal(events[2].after, 5 + (1u << 27) - 1);
    assert_int_equal(events[2].words.size(), 28);
}

void a_long_event(void **) {
    assert_true(events_of(Page().event(0, 3).put(12u).put(1u).put(2u).event(1, 4).put(3u).done()) ==
                (std::vector<Event>{{3, {1, 2}}, {7, {3}}}));
}

void gaps_in_time(void **) {
    assert_true(events_of(Page().event(30, 5).put(2u).event(1, 4).put(3u).done()) ==
                (std::vector<Event>{{(2ULL << 27) + 5 + 4, {3}}}));
    uint64_t now = begin + 1000;
    assert_true(events_of(Page()
                              .event(1, 9)
                              .put(1u)
                              .event(31, now & ((1u << 27) - 1))
                              .put(uint32_t(now >> 27))
                              .event(1, 4)
                              .put(3u)
                              .done()) == (std::vector<Event>{{9, {1}}, {1004, {3}}}));
}

void what_was_discarded(void **) {
    assert_true(events_of(Page().event(29, 5).put(8u).put(77u).event(1, 4).put(3u).done()) ==
                (std::vector<Event>{{9, {3}}}));
    // Nothing more up to the end, whatever is there.
    assert_true(events_of(Page().event(1, 4).put(3u).event(29, 0).put(99u).put(99u).done()) ==
                (std::vector<Event>{{4, {3}}}));
    // And what is behind the end was written for an earlier reader.
    assert_true(events_of(Page().event(1, 4).put(3u).event(2, 1).done(0, 4)) ==
                (std::vector<Event>{{4, {3}}}));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_page),
        cmocka_unit_test(an_empty_page),
        cmocka_unit_test(events_with_their_times),
        cmocka_unit_test(a_long_event),
        cmocka_unit_test(gaps_in_time),
        cmocka_unit_test(what_was_discarded),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

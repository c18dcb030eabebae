// SPDX-License-Identifier: Apache-2.0
#include "history.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

namespace tree_test {
namespace {

using State = std::optional<uint64_t>;  // of one key

// What a map would do; false if it would not have answered like that.
bool answers_so(const Event &event, State &state) {
    const bool answered = event.result >= 0;
    const bool done = event.result == 1;
    switch (event.kind) {
    case Event::get:
        return !answered || (done ? state == event.value : !state);
    case Event::put:
        if (answered && done == state.has_value())
            return false;
        if (!state)
            state = event.value;
        return true;
    case Event::update:
        if (answered && done != state.has_value())
            return false;
        if (state)
            state = event.value;
        return true;
    case Event::upsert:
        state = event.value;
        return true;
    }
    return false;
}

// The calls and answers that are not yet in the order, as a list in time.
class Open {
public:
    explicit Open(const std::vector<Event> &events) {
        std::vector<Point> points;
        for (size_t i = 0; i < events.size(); i++) {
            points.push_back({events[i].call, i, true});
            if (events[i].answer != Event::never)
                points.push_back({events[i].answer, i, false});
        }
        // At the same instant calls first: they may have been at the same time.
        std::sort(points.begin(), points.end(), [](const Point &a, const Point &b) {
            return a.time != b.time ? a.time < b.time : a.is_call && !b.is_call;
        });
        nodes_.resize(points.size() + 1);  // the last one is the end and the beginning
        call_.resize(events.size());
        answer_.assign(events.size(), end());
        for (size_t i = 0; i < points.size(); i++) {
            nodes_[i] = {points[i].event, points[i].is_call, i == 0 ? end() : i - 1, i + 1};
            (points[i].is_call ? call_ : answer_)[points[i].event] = i;
        }
        nodes_[end()] = {0, false, points.empty() ? end() : end() - 1, points.empty() ? end() : 0};
        answers_ = points.size() - events.size();
    }

    size_t end() const { return nodes_.size() - 1; }
    size_t first() const { return nodes_[end()].next; }
    size_t next(size_t i) const { return nodes_[i].next; }
    size_t event(size_t i) const { return nodes_[i].event; }
    bool is_call(size_t i) const { return nodes_[i].is_call; }
    size_t call_of(size_t event) const { return call_[event]; }
    size_t answers() const { return answers_; }

    void take(size_t event) {
        unlink(call_[event]);
        if (answer_[event] != end())
            unlink(answer_[event]), answers_--;
    }
    void put_back(size_t event) {  // in the reverse order of take()
        if (answer_[event] != end())
            link(answer_[event]), answers_++;
        link(call_[event]);
    }

private:
    struct Point {
        uint64_t time;
        size_t event;
        bool is_call;
    };
    struct Node {
        size_t event;
        bool is_call;
        size_t before, next;
    };

    void unlink(size_t i) {
        nodes_[nodes_[i].before].next = nodes_[i].next;
        nodes_[nodes_[i].next].before = nodes_[i].before;
    }
    void link(size_t i) {
        nodes_[nodes_[i].before].next = i;
        nodes_[nodes_[i].next].before = i;
    }

    std::vector<Node> nodes_;
    std::vector<size_t> call_, answer_;
    size_t answers_;
};

}  // namespace

bool linearizable(std::vector<Event> events) {
    // A get that was never answered says nothing.
    std::erase_if(events, [](const Event &e) { return e.kind == Event::get && e.result < 0; });
    struct Step {
        size_t event;
        State before;
    };
    Open open(events);
    std::vector<Step> order;
    std::vector<bool> taken(events.size());
    std::set<std::pair<std::vector<bool>, State>> tried;
    State state;
    size_t at = open.first();
    while (open.answers() > 0) {
        if (at != open.end() && open.is_call(at)) {
            size_t event = open.event(at);
            State after = state;
            taken[event] = true;
            if (answers_so(events[event], after) && tried.emplace(taken, after).second) {
                order.push_back({event, state});
                state = after;
                open.take(event);
                at = open.first();
                continue;
            }
            taken[event] = false;
            at = open.next(at);
            continue;
        }
        // An answer whose operation is not in the order yet, or the end: go back.
        if (order.empty())
            return false;
        Step step = order.back();
        order.pop_back();
        state = step.before;
        taken[step.event] = false;
        open.put_back(step.event);
        at = open.next(open.call_of(step.event));
    }
    return true;
}

bool all_linearizable(const std::vector<Event> &events, std::string &why) {
    std::map<uint64_t, std::vector<Event>> by_key;
    for (const Event &event : events)
        by_key[event.key].push_back(event);
    for (auto &[key, history] : by_key) {
        if (linearizable(history))
            continue;
        std::sort(history.begin(), history.end(),
                  [](const Event &a, const Event &b) { return a.call < b.call; });
        static const char *const names[] = {"get", "put", "update", "upsert"};
        for (const Event &e : history) {
            char line[200];
            std::snprintf(
                line, sizeof(line), "# %12llu .. %-20lld process %2u %-6s %d %llx\n",
                static_cast<unsigned long long>(e.call - history[0].call),
                e.answer == Event::never ? -1 : static_cast<long long>(e.answer - history[0].call),
                e.process, names[e.kind], e.result, static_cast<unsigned long long>(e.value));
            why += line;
        }
        why = "# key " + std::to_string(key) + "\n" + why;
        return false;
    }
    return true;
}

}  // namespace tree_test

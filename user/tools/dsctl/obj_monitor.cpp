// SPDX-License-Identifier: Apache-2.0
// dsctl monitor: events as they happen.
#include <cerrno>
#include <cstdio>

#include "clock.hpp"
#include "fabric_choice.hpp"
#include "interrupt.hpp"
#include "kernel.hpp"

namespace dsctl {

namespace {

nl::Events open_events() {
    auto events = nl::Events::open();

    if (events)
        return std::move(*events);
    if (events.error().code == ENOENT)
        throw not_loaded();
    throw kernel_error(events.error(), "listen for events");
}

// "2031-02-03T04:05:06.789Z peer-up node=2 passive=0"
void print(Call &call, const Json &event, bool json) {
    std::string text;

    for (const auto &[name, value] : event.members()) {
        if (name == "schema")
            continue;
        bool bare = name == "time" || name == "event";
        text += (text.empty() ? "" : " ") + (bare ? "" : name + "=") + printable(value.text());
    }
    std::printf("%s\n", json ? event.dump().c_str() : text.c_str());
    call.out.flush();
}

Json event_json(const nl::Message &message) {
    Json event{{"schema", "dsctl/monitor-event/v1"}, {"time", timestamp()}, {"event", "unknown"}};

    event.update(to_json(message));
    // An event of a newer module keeps its number.
    if (event["event"].text() == "unknown")
        event["number"] = message.get_or(attr::event, 0);
    return event;
}

Exit run(Call &call) {
    need_module(call);
    nl::Events events = open_events();
    bool json = call.has("--json-lines") || call.out.json();
    uint64_t left = call.maybe("--count").value_or(UINT64_MAX);

    call.out.no_document();
    watch_interrupts();
    while (left > 0 && !interrupted()) {
        auto next = events.next(std::chrono::milliseconds(500));
        if (!next && next.error().code == EINTR)
            continue;
        if (!next && next.error().code == ENOBUFS) {
            print(call,
                  {{"schema", "dsctl/monitor-event/v1"}, {"time", timestamp()}, {"event", "lost"}},
                  json);
            continue;
        }
        if (!next)
            throw kernel_error(next.error(), "read events");
        if (!*next)
            continue;
        print(call, event_json(**next), json);
        left--;
    }
    return interrupted() ? Exit::interrupted : Exit::ok;
}

const Object object{
    .name = "monitor",
    .summary = "events as they happen: devices, peers, segments, servers",
    .verbs = {{
        .name = "run",
        .summary = "Print events, one a line, until Ctrl-C.",
        .params =
            {
                {.name = "--json-lines", .help = "each line is a JSON object (also with -j)"},
                {.name = "--count",
                 .value = "N",
                 .kind = Kind::number,
                 .help = "end after N events",
                 .min = 1},
            },
        .examples =
            {
                {"monitor", "watch peers and devices come and go"},
                {"monitor --json-lines --count 1", "wait for one event, for a script"},
            },
        .run = run,
        .details = "When events come faster than they are read, a line with the event 'lost' says "
                   "so: look at the state anew with 'show'.",
    }},
};

const Register registered(object);

}  // namespace

}  // namespace dsctl

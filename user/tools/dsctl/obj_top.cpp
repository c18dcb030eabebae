// SPDX-License-Identifier: Apache-2.0
// dsctl top: what happens on this host, again and again.
#include <unistd.h>

#include "fabric_choice.hpp"
#include "interrupt.hpp"
#include "top.hpp"

namespace dsctl {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

void print(Output &out, const TopSource &source, Order order, bool first) {
    View view = source.view(order);

    out.respond(source.json());
    if (out.json())
        return;
    if (!first)
        out.line("");
    out.fields(view.fields);
    for (const Panel &panel : view.panels) {
        out.line("\n" + panel.title);
        out.table(panel.columns, panel.rows);
    }
}

Exit batch(Call &call, TopSource &source, milliseconds period, uint64_t count) {
    Order order = call.has("--sort") ? Order::by_traffic : Order::by_number;
    Clock::time_point last = Clock::now();

    watch_interrupts();
    source.sample();
    for (uint64_t done = 0; done < count; done++) {
        sleep_until(last + period);
        if (interrupted())
            return Exit::interrupted;
        last = Clock::now();
        source.sample();
        print(call.out, source, order, done == 0);
        call.out.flush_document();
    }
    return Exit::ok;
}

}  // namespace

std::vector<Param> top_params(std::string_view sort_help) {
    return {
        {.name = "--batch",
         .help = "plain text, one sample behind the other, instead of a screen",
         .letter = 'b'},
        {.name = "--count",
         .value = "N",
         .kind = Kind::number,
         .help = "end after N samples",
         .letter = 'n',
         .min = 1},
        {.name = "--delay",
         .value = "SECONDS",
         .kind = Kind::seconds,
         .help = "time between two samples, and that rates are of; 5, or 500ms",
         .fallback = "1",
         .letter = 'd',
         .min = 100,
         .max = 86400000},
        {.name = "--sort", .help = sort_help, .letter = 's'},
    };
}

static bool wants_text(const Call &call) {
    return call.has("--batch") || call.out.json();
}

void need_terminal(const Call &call) {
    if (!wants_text(call) && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
        throw usage("this command draws on a terminal, and there is none",
                    "add --batch for plain text, or --json for a program");
}

Exit run_top(Call &call, TopSource &source) {
    milliseconds period(call.number("--delay"));
    uint64_t count = call.maybe("--count").value_or(UINT64_MAX);

    if (wants_text(call))
        return batch(call, source, period, count);
    return show_on_screen(call, source, period, count);
}

namespace {

Exit show(Call &call) {
    need_terminal(call);
    auto path = local_file(call.settings);
    auto source = path ? watch_file(call, *path) : watch_host(call);
    return run_top(call, *source);
}

const Object object{
    .name = "top",
    .summary = "what happens on this host, as it happens",
    .verbs = {{
        .name = "show",
        .summary = "Show peers, traffic, segments, spaces, memory and programs, again and again.",
        .params = top_params("peers with the most traffic first"),
        .examples =
            {
                {"top", "watch this host; q ends it"},
                {"top -b -n 1", "what happens in one second, as text"},
                {"top -d 10 --json", "a sample each 10 seconds, for a program"},
            },
        .run = show,
        .details =
            "Keys: q ends it, s sorts the peers by their traffic or by their number. Rates are "
            "of the time since the sample before. Of connections that other hosts made (in) only "
            "messages are counted: what those hosts read and write here passes this host's "
            "processors by. With --fabric local:PATH it shows the pool in a file. With --json each "
            "sample is a document of its own, in one line.",
    }},
};

const Register registered(object);

}  // namespace

}  // namespace dsctl
